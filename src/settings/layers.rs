//! Everything that may set an option, in order: files (a later one wins), environment, command line.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use super::error::{Origin, SettingsError};
use super::ini::IniFile;
use super::option::{GroupSpec, Kind, OptionSpec};

/// A file or a directory of files that the daemon is told to read.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ConfigSource {
    File(PathBuf),
    /// Its `*.conf`, sorted by name.
    Directory {
        path: PathBuf,
        /// A directory that was found by itself may be gone; one that the operator named may not.
        must_exist: bool,
    },
}

/// An option of the command line that sets one of heat.conf.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Override {
    pub group: &'static str,
    pub option: &'static str,
    pub value: String,
    /// As the operator wrote it: `--log-file`.
    pub flag: String,
}

/// Where settings come from. `Default` is: from nowhere, all defaults.
#[derive(Clone, Debug, Default)]
pub struct SettingsSources {
    /// A later one wins.
    pub files: Vec<ConfigSource>,
    pub overrides: Vec<Override>,
    pub environment: BTreeMap<String, String>,
}

/// A value as somebody wrote it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RawValue {
    pub text: String,
    pub origin: Origin,
}

/// The sources, read.
#[derive(Clone, Debug)]
pub struct Layers {
    files: Vec<IniFile>,
    overrides: Vec<Override>,
    environment: BTreeMap<String, String>,
}

impl Layers {
    /// What can be read, and an error for each file that cannot.
    pub fn read(sources: &SettingsSources) -> (Self, Vec<SettingsError>) {
        let (mut files, mut problems) = (Vec::new(), Vec::new());
        for source in &sources.files {
            let paths = paths_of(source).unwrap_or_else(|problem| {
                problems.push(problem);
                Vec::new()
            });
            for path in paths {
                match IniFile::read(&path) {
                    Ok(file) => files.push(file),
                    Err(problem) => problems.push(problem),
                }
            }
        }
        let layers = Layers {
            files,
            overrides: sources.overrides.clone(),
            environment: sources.environment.clone(),
        };
        (layers, problems)
    }

    pub fn files(&self) -> impl Iterator<Item = &Path> {
        self.files.iter().map(|file| file.path.as_path())
    }

    /// What is said about an option: nothing, one value, or all values of a repeated one.
    pub fn find(&self, group: &str, option: &OptionSpec) -> Vec<RawValue> {
        if let Some(found) = self
            .overrides
            .iter()
            .rfind(|it| it.group == group && it.option == option.name)
        {
            let origin = Origin::CommandLine {
                option: found.flag.clone(),
            };
            return vec![RawValue {
                text: found.value.clone(),
                origin,
            }];
        }
        if let Some(found) = self.environment_value(group, option.name) {
            return vec![found];
        }
        match option.kind {
            Kind::Repeated => self
                .files
                .iter()
                .flat_map(|file| all_values(file, group, option))
                .collect(),
            _ => self
                .files
                .iter()
                .rev()
                .find_map(|file| last_value(file, group, option))
                .into_iter()
                .collect(),
        }
    }

    /// An option of which no table knows: for `$group.name` in a value.
    pub fn find_unknown(&self, group: &str, name: &str) -> Option<RawValue> {
        self.environment_value(group, name).or_else(|| {
            self.files.iter().rev().find_map(|file| {
                let last = file.values(group, name).last()?;
                Some(RawValue {
                    text: last.text.clone(),
                    origin: Origin::file(&file.path, last.line),
                })
            })
        })
    }

    /// Old names that the files still use, each with the present one.
    pub fn former_names_in_use(&self, group: &str, option: &OptionSpec) -> Vec<(Origin, String)> {
        let mut found = Vec::new();
        for file in &self.files {
            for former in option.formerly {
                let former_group = former.group.unwrap_or(group);
                for value in file.values(former_group, former.name) {
                    let name = format!("[{former_group}] {}", former.name);
                    found.push((Origin::file(&file.path, value.line), name));
                }
            }
        }
        found
    }

    /// What is set in a group under a name that is none of its options'.
    pub fn unknown_names(&self, group: &GroupSpec) -> Vec<(Origin, String)> {
        let mut found = Vec::new();
        for file in &self.files {
            let assignments = file.assignments(group.name);
            let unknown = assignments.into_iter().filter(|(_, name)| group.option(name).is_none());
            found.extend(unknown.map(|(line, name)| (Origin::file(&file.path, line), name.to_owned())));
        }
        let prefix = variable_of(group.name, "");
        for variable in self.environment.keys() {
            let Some(name) = variable.strip_prefix(&prefix) else {
                continue;
            };
            if !group
                .options()
                .any(|option| variable_of(group.name, option.name) == *variable)
            {
                let variable = variable.clone();
                found.push((Origin::Environment { variable }, name.to_lowercase()));
            }
        }
        found
    }

    fn environment_value(&self, group: &str, name: &str) -> Option<RawValue> {
        let variable = variable_of(group, name);
        let text = self.environment.get(&variable)?.clone();
        Some(RawValue {
            text,
            origin: Origin::Environment { variable },
        })
    }
}

/// The environment variable that sets an option.
fn variable_of(group: &str, option: &str) -> String {
    format!("OS_{}__{}", group.to_uppercase(), option.to_uppercase())
}

fn all_values(file: &IniFile, group: &str, option: &OptionSpec) -> Vec<RawValue> {
    let mut values = Vec::new();
    for former in option.formerly.iter().rev() {
        values.extend(file.values(former.group.unwrap_or(group), former.name));
    }
    values.extend(file.values(group, option.name));
    values
        .into_iter()
        .map(|value| RawValue {
            text: value.text.clone(),
            origin: Origin::file(&file.path, value.line),
        })
        .collect()
}

/// In one file the present name wins over former ones, wherever it stands.
fn last_value(file: &IniFile, group: &str, option: &OptionSpec) -> Option<RawValue> {
    let former = option
        .formerly
        .iter()
        .map(|former| (former.group.unwrap_or(group), former.name));
    std::iter::once((group, option.name))
        .chain(former)
        .find_map(|(group, name)| {
            let last = file.values(group, name).last()?;
            Some(RawValue {
                text: last.text.clone(),
                origin: Origin::file(&file.path, last.line),
            })
        })
}

fn paths_of(source: &ConfigSource) -> Result<Vec<PathBuf>, SettingsError> {
    match source {
        ConfigSource::File(path) => Ok(vec![path.clone()]),
        ConfigSource::Directory { path, must_exist } => match std::fs::read_dir(path) {
            Ok(entries) => conf_files(path, entries),
            Err(error) if error.kind() == std::io::ErrorKind::NotFound && !must_exist => Ok(Vec::new()),
            Err(error) if error.kind() == std::io::ErrorKind::NotFound => {
                Err(SettingsError::NoSuchDirectory { path: path.clone() })
            }
            Err(source) => Err(SettingsError::Unreadable {
                path: path.clone(),
                source,
            }),
        },
    }
}

fn conf_files(directory: &Path, entries: std::fs::ReadDir) -> Result<Vec<PathBuf>, SettingsError> {
    let mut paths = Vec::new();
    for entry in entries {
        let entry = entry.map_err(|source| SettingsError::Unreadable {
            path: directory.to_owned(),
            source,
        })?;
        let name = entry.file_name();
        let name = name.to_string_lossy();
        if name.ends_with(".conf") && !name.starts_with('.') {
            paths.push(entry.path());
        }
    }
    paths.sort();
    Ok(paths)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::settings::reference;

    fn layers(texts: &[&str]) -> Layers {
        let files = texts
            .iter()
            .map(|text| IniFile::parse(Path::new("x.conf"), text).expect("sound"))
            .collect();
        Layers {
            files,
            overrides: Vec::new(),
            environment: BTreeMap::new(),
        }
    }

    fn found(layers: &Layers, group: &str, name: &str) -> Vec<String> {
        let option = reference::group(group)
            .and_then(|group| group.option(name))
            .expect("an option of the reference");
        layers.find(group, option).into_iter().map(|value| value.text).collect()
    }

    #[test]
    fn command_line_environment_and_later_files_win_in_this_order() {
        let mut layers = layers(&["[DEFAULT]\nhost=a\n", "[DEFAULT]\nhost=b\n"]);
        assert_eq!(found(&layers, "DEFAULT", "host"), ["b"]);
        layers.environment.insert("OS_DEFAULT__HOST".to_owned(), "c".to_owned());
        assert_eq!(found(&layers, "DEFAULT", "host"), ["c"]);
        let flag = "--host".to_owned();
        layers.overrides.push(Override {
            group: "DEFAULT",
            option: "host",
            value: "d".to_owned(),
            flag,
        });
        assert_eq!(found(&layers, "DEFAULT", "host"), ["d"]);
    }

    #[test]
    fn a_former_name_in_a_later_file_wins() {
        let layers = layers(&[
            "[DEFAULT]\nexecutor_thread_pool_size=4\n",
            "[DEFAULT]\nrpc_thread_pool_size=3\n",
        ]);
        assert_eq!(found(&layers, "DEFAULT", "executor_thread_pool_size"), ["3"]);
    }

    #[test]
    fn a_directory_gives_its_conf_files_by_name() {
        let path = std::env::temp_dir().join(format!("heat-engine-rs-layers-{}", std::process::id()));
        std::fs::create_dir_all(&path).expect("temporary directory");
        for (name, host) in [("20.conf", "b"), ("10.conf", "a"), (".30.conf", "c"), ("40.txt", "d")] {
            std::fs::write(path.join(name), format!("[DEFAULT]\nhost={host}\n")).expect("temporary file");
        }
        let files = vec![ConfigSource::Directory {
            path: path.clone(),
            must_exist: true,
        }];
        let (layers, problems) = Layers::read(&SettingsSources {
            files,
            ..SettingsSources::default()
        });
        std::fs::remove_dir_all(&path).expect("cleanup");
        assert!(problems.is_empty(), "{problems:?}");
        assert_eq!(found(&layers, "DEFAULT", "host"), ["b"]);
        assert_eq!(layers.files().count(), 2);
    }
}
