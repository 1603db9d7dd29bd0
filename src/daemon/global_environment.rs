//! Reads what the operator has set for all stacks.

use std::path::{Path, PathBuf};

use crate::template::environment::GlobalEnvironment;

/// The files of a directory as one environment, in the order of their names. What cannot be read is left out, as in the
/// Python engine: a typing error in one file is no reason to serve nobody.
pub fn read(directory: &Path) -> GlobalEnvironment {
    let mut environment = GlobalEnvironment::default();
    for path in files_of(directory) {
        match std::fs::read_to_string(&path) {
            Ok(text) => match environment.load(&text) {
                Ok(()) => tracing::info!("read the environment {}", path.display()),
                Err(error) => tracing::error!("the environment {} is left out: {error}", path.display()),
            },
            Err(error) => tracing::error!("the environment {} is left out: {error}", path.display()),
        }
    }
    environment
}

/// No directory is as good as an empty one. Hidden files are not meant.
fn files_of(directory: &Path) -> Vec<PathBuf> {
    let entries = match std::fs::read_dir(directory) {
        Ok(entries) => entries,
        Err(error) => {
            tracing::info!("no environment for all stacks from {}: {error}", directory.display());
            return Vec::new();
        }
    };
    let is_hidden = |path: &PathBuf| {
        let name = path.file_name().unwrap_or_default();
        name.as_encoded_bytes().starts_with(b".")
    };
    let mut files: Vec<PathBuf> = entries
        .filter_map(|entry| Some(entry.ok()?.path()))
        .filter(|path| !is_hidden(path))
        .collect();
    files.sort();
    files
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::template::RegisteredType;

    #[test]
    fn files_are_read_in_order_and_bad_ones_left_out() {
        let directory = std::env::temp_dir().join(format!("environment.d-{}", std::process::id()));
        std::fs::create_dir_all(&directory).unwrap();
        for (name, text) in [
            ("b.yaml", "resource_registry: {T: Second}"),
            ("a.yaml", "resource_registry: {T: First, U: First}"),
            ("c.yaml", "nonsense: here"),
            (".hidden", "resource_registry: {U: Hidden}"),
        ] {
            std::fs::write(directory.join(name), text).unwrap();
        }
        let registry = read(&directory).into_registry();
        let is_plugin = |name: &str| ["First", "Second", "Hidden"].contains(&name);
        let resolve = |name: &str| registry.resolve(name, None, &is_plugin);
        assert_eq!(resolve("T"), Ok(RegisteredType::Plugin("Second".to_owned())));
        assert_eq!(resolve("U"), Ok(RegisteredType::Plugin("First".to_owned())));
        std::fs::remove_dir_all(&directory).unwrap();
        assert!(read(&directory).into_registry().resolve("T", None, &is_plugin).is_err());
    }
}
