//! Where heat.conf is when nobody says: oslo.config's places for the project `heat` and the program `heat-engine`.

use std::path::{Path, PathBuf};

use super::layers::ConfigSource;

const PROJECT: &str = "heat";
/// The Python program, not ours: an existing heat-engine.conf keeps its meaning.
const PROGRAM: &str = "heat-engine";

/// The directories in which oslo.config looks, the first one first.
pub fn usual_directories() -> Vec<PathBuf> {
    let mut directories = Vec::new();
    if let Some(home) = std::env::home_dir() {
        directories.push(home.join(format!(".{PROJECT}")));
        directories.push(home);
    }
    directories.push(Path::new("/etc").join(PROJECT));
    directories.push(PathBuf::from("/etc"));
    for variable in ["SNAP_COMMON", "SNAP"] {
        if let Some(root) = std::env::var_os(variable).filter(|root| !root.is_empty()) {
            directories.push(Path::new(&root).join("etc").join(PROJECT));
        }
    }
    directories
}

/// heat.conf and heat-engine.conf, each from the first directory that has it.
pub fn default_files() -> Vec<ConfigSource> {
    find_in(&usual_directories(), ".conf")
        .into_iter()
        .map(ConfigSource::File)
        .collect()
}

/// heat.conf.d and heat-engine.conf.d, each from the first directory that has it.
pub fn default_directories() -> Vec<ConfigSource> {
    find_in(&usual_directories(), ".conf.d")
        .into_iter()
        .map(|path| ConfigSource::Directory {
            path,
            must_exist: false,
        })
        .collect()
}

fn find_in(directories: &[PathBuf], extension: &str) -> Vec<PathBuf> {
    [PROJECT, PROGRAM]
        .iter()
        .filter_map(|name| {
            directories
                .iter()
                .map(|directory| directory.join(format!("{name}{extension}")))
                .find(|path| path.exists())
        })
        .collect()
}

/// `~` and `~/…` as a shell would read them; a relative path from where we are.
pub fn expand(path: &Path) -> PathBuf {
    let expanded = match (path.strip_prefix("~"), std::env::home_dir()) {
        (Ok(rest), Some(home)) => home.join(rest),
        _ => path.to_owned(),
    };
    std::path::absolute(&expanded).unwrap_or(expanded)
}
