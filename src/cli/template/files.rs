//! The files that a template leads to.

use std::path::{Path, PathBuf};

use serde_json::{Map, Value};

use super::source::{Source, ensure_file};

/// Whether a type or its mapping is the name of a template.
pub fn is_file_name(name: &str) -> bool {
    name.ends_with(".yaml") || name.ends_with(".template")
}

/// Whether a template has to be fetched.
pub fn is_remote(name: &str) -> bool {
    ["http://", "https://", "swift://"]
        .iter()
        .any(|scheme| name.starts_with(scheme))
}

/// Short where it can be, for messages.
pub fn path_of(name: &str, directory: &Path) -> PathBuf {
    let path = directory.join(name.trim_start_matches("file://"));
    let here = std::env::current_dir().unwrap_or_default();
    path.strip_prefix(here).map(Path::to_owned).unwrap_or(path)
}

/// The names that a function is called with, where they can be read from the template.
pub fn constant_arguments<'a>(function: &str, value: &'a Value, found: &mut Vec<(String, &'a str)>, path: &str) {
    match value {
        Value::Array(items) => {
            for (index, item) in items.iter().enumerate() {
                constant_arguments(function, item, found, &format!("{path}[{index}]"));
            }
        }
        Value::Object(entries) => {
            for (key, value) in entries {
                let path = if path.is_empty() {
                    key.clone()
                } else {
                    format!("{path}.{key}")
                };
                match value {
                    Value::String(name) if key == function && entries.len() == 1 => found.push((path, name)),
                    value => constant_arguments(function, value, found, &path),
                }
            }
        }
        _ => {}
    }
}

/// The files that `get_file` names, and what is wrong with the others.
pub fn files_of(body: &Map<String, Value>, directory: &Path) -> (Map<String, Value>, Vec<(String, String)>) {
    let body = Value::Object(body.clone());
    let mut names = Vec::new();
    constant_arguments("get_file", &body, &mut names, "");
    let mut files = Map::new();
    let mut unreadable = Vec::new();
    for (path, name) in names {
        if is_remote(name) {
            files.insert(name.to_owned(), Value::from(format!("(the content of {name})")));
            continue;
        }
        let path_of_file = path_of(name, directory);
        match ensure_file(&path_of_file).and_then(|()| std::fs::read(&path_of_file)) {
            Ok(content) => {
                let content = String::from_utf8_lossy(&content).into_owned();
                files.insert(name.to_owned(), Value::String(content));
            }
            Err(error) => {
                unreadable.push((path, format!("cannot read {name}: {error}")));
                // So that it is not told missing once more.
                files.insert(name.to_owned(), Value::from(""));
            }
        }
    }
    (files, unreadable)
}

/// The nested templates that a template leads to, by the names that it uses, for what all of them may say together.
pub fn template_files(body: &Map<String, Value>, directory: &Path) -> Map<String, Value> {
    let mut files = Map::new();
    let sections = ["resources", "Resources"]
        .into_iter()
        .filter_map(|section| body.get(section));
    for resource in sections.filter_map(Value::as_object).flat_map(Map::values) {
        let written = resource.get("type").or_else(|| resource.get("Type"));
        if let Some(name) = written
            .and_then(Value::as_str)
            .filter(|name| is_file_name(name) && !is_remote(name))
            && let Ok(source) = Source::read_named(&path_of(name, directory))
        {
            files.insert(name.to_owned(), Value::String(source.text));
        }
    }
    files
}
