//! Where an operator writes rules: one file and, over it, the files of a few directories.

use std::path::{Path, PathBuf};
use std::sync::Mutex;
use std::time::SystemTime;

use serde_json::Value;

use super::check::Check;

/// Rules are written by hand; anything larger is not a policy file.
const MAX_FILE_BYTES: u64 = 4 * 1024 * 1024;

#[derive(Debug, thiserror::Error)]
pub enum PolicyFileError {
    #[error("cannot read policy file {}", path.display())]
    Read { path: PathBuf, source: std::io::Error },
    #[error("policy file {} is larger than {MAX_FILE_BYTES} bytes", path.display())]
    TooLarge { path: PathBuf },
    #[error("policy file {}, line {line}: expected one rule, such as \"name\": \"check\"", path.display())]
    NotARule { path: PathBuf, line: usize },
}

#[derive(Debug)]
pub(super) struct RuleFiles {
    file: Option<PathBuf>,
    directories: Vec<PathBuf>,
    seen: Mutex<Seen>,
}

/// What the last look found, so that neither rules nor an error are told twice.
#[derive(Debug, Default)]
struct Seen {
    versions: Option<Vec<Version>>,
    failure: Option<String>,
}

/// What tells that a file is another one than before.
#[derive(Clone, Debug, PartialEq, Eq)]
struct Version {
    path: PathBuf,
    modified: Option<SystemTime>,
    length: u64,
}

impl RuleFiles {
    pub fn new(file: Option<PathBuf>, directories: Vec<PathBuf>) -> Self {
        Self {
            file,
            directories,
            seen: Mutex::default(),
        }
    }

    /// All rules, later ones over earlier ones; nothing if no file has changed since they were last read.
    pub fn read_if_changed(&self) -> Result<Option<Vec<(String, Check)>>, PolicyFileError> {
        let mut seen = self.seen.lock().unwrap_or_else(std::sync::PoisonError::into_inner);
        let versions = match self.versions() {
            Ok(versions) => versions,
            Err(error) => {
                let failure = Some(error.to_string());
                let is_known = seen.failure == failure;
                *seen = Seen {
                    versions: None,
                    failure,
                };
                return if is_known { Ok(None) } else { Err(error) };
            }
        };
        if seen.versions.as_ref() == Some(&versions) {
            return Ok(None);
        }
        seen.versions = Some(versions.clone());
        seen.failure = None;
        let mut rules = Vec::new();
        for version in versions {
            rules.extend(read_rules(&version)?);
        }
        Ok(Some(rules))
    }

    fn versions(&self) -> Result<Vec<Version>, PolicyFileError> {
        let mut paths: Vec<PathBuf> = self.file.iter().cloned().collect();
        for directory in &self.directories {
            paths.extend(files_of(directory)?);
        }
        let mut versions = Vec::new();
        for path in paths {
            versions.extend(version_of(path)?);
        }
        Ok(versions)
    }
}

/// What is not there says nothing; what is there and cannot be read might have forbidden something.
fn unless_missing<T>(path: &Path, outcome: std::io::Result<T>) -> Result<Option<T>, PolicyFileError> {
    match outcome {
        Ok(found) => Ok(Some(found)),
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => Ok(None),
        Err(source) => Err(PolicyFileError::Read {
            path: path.to_owned(),
            source,
        }),
    }
}

fn files_of(directory: &Path) -> Result<Vec<PathBuf>, PolicyFileError> {
    let is_hidden = |path: &Path| {
        path.file_name()
            .is_none_or(|name| name.to_string_lossy().starts_with('.'))
    };
    let mut paths = Vec::new();
    for entry in unless_missing(directory, std::fs::read_dir(directory))?
        .into_iter()
        .flatten()
    {
        let Some(entry) = unless_missing(directory, entry)? else {
            continue;
        };
        let path = entry.path();
        if path.is_file() && !is_hidden(&path) {
            paths.push(path);
        }
    }
    paths.sort();
    Ok(paths)
}

fn version_of(path: PathBuf) -> Result<Option<Version>, PolicyFileError> {
    let metadata = unless_missing(&path, std::fs::metadata(&path))?;
    Ok(metadata.map(|metadata| Version {
        path,
        modified: metadata.modified().ok(),
        length: metadata.len(),
    }))
}

fn read_rules(version: &Version) -> Result<Vec<(String, Check)>, PolicyFileError> {
    let path = &version.path;
    if version.length > MAX_FILE_BYTES {
        return Err(PolicyFileError::TooLarge { path: path.clone() });
    }
    let text = std::fs::read_to_string(path).map_err(|source| PolicyFileError::Read {
        path: path.clone(),
        source,
    })?;
    parse_rules(&text).map_err(|line| PolicyFileError::NotARule {
        path: path.clone(),
        line,
    })
}

/// JSON, or the lines of a flat YAML map, which is what policy files are. The error is the number of the line that is
/// neither.
fn parse_rules(text: &str) -> Result<Vec<(String, Check)>, usize> {
    if let Ok(Value::Object(rules)) = serde_json::from_str(text) {
        return Ok(rules
            .into_iter()
            .map(|(name, rule)| (name, Check::parse_value(&rule)))
            .collect());
    }
    logical_lines(text)?
        .into_iter()
        .map(|(number, line)| parse_line(&line).ok_or(number))
        .collect()
}

/// Each entry of the map on one line, with the number of its first line: what is indented goes on with what is above.
fn logical_lines(text: &str) -> Result<Vec<(usize, String)>, usize> {
    let mut lines: Vec<(usize, String)> = Vec::new();
    for (index, line) in text.lines().enumerate() {
        let trimmed = line.trim();
        if trimmed.is_empty() || trimmed == "---" || trimmed == "{}" || trimmed.starts_with('#') {
            continue;
        }
        if !line.starts_with([' ', '\t']) {
            lines.push((index + 1, trimmed.to_owned()));
            continue;
        }
        let (_, above) = lines.last_mut().ok_or(index + 1)?;
        continue_line(above, trimmed);
    }
    Ok(lines)
}

fn continue_line(above: &mut String, line: &str) {
    // A folded or literal block has its text below the key alone.
    for indicator in [": >", ": >-", ": |", ": |-"] {
        if above.ends_with(indicator) {
            above.truncate(above.len() - indicator.len() + 1);
        }
    }
    // Inside double quotes a line may end, and go on, with a backslash where it was cut.
    match above.strip_suffix('\\') {
        Some(cut) => *above = cut.to_owned(),
        None => above.push(' '),
    }
    above.push_str(line.strip_prefix('\\').unwrap_or(line));
}

fn parse_line(line: &str) -> Option<(String, Check)> {
    let (name, rest) = scalar(line, true)?;
    let rest = rest
        .strip_prefix(':')
        .filter(|rest| rest.is_empty() || rest.starts_with(' '))?
        .trim_start();
    let (rule, rest) = scalar(rest, false)?;
    let rest = rest.trim_start();
    (rest.is_empty() || rest.starts_with('#')).then(|| (name, Check::parse(&rule)))
}

/// One plain or quoted scalar and what follows it.
fn scalar(text: &str, is_key: bool) -> Option<(String, &str)> {
    match text.chars().next() {
        Some('"') => quoted(&text[1..], '"', '\\'),
        Some('\'') => quoted(&text[1..], '\'', '\''),
        // Indented, or the start of something that is not plain text.
        Some(' ' | '\t' | '[' | ']' | '{' | '}' | '|' | '>' | '&' | '*' | '%' | '@' | '`' | ',') => None,
        Some('!') if is_key => None,
        _ => {
            let end = if is_key {
                text.find(": ")
                    .or_else(|| text.ends_with(':').then(|| text.len() - 1))?
            } else {
                text.find(" #").unwrap_or(text.len())
            };
            Some((text[..end].trim_end().to_owned(), &text[end..]))
        }
    }
}

fn quoted(text: &str, quote: char, escape: char) -> Option<(String, &str)> {
    let mut value = String::new();
    let mut characters = text.char_indices().peekable();
    while let Some((index, character)) = characters.next() {
        let next = characters.peek().map(|(_, next)| *next);
        if character == escape && matches!(next, Some(next) if next == quote || (escape == '\\' && next == escape)) {
            value.extend(next);
            characters.next();
        } else if character == quote {
            return Some((value, &text[index + quote.len_utf8()..]));
        } else {
            value.push(character);
        }
    }
    None
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_policy_file_is_a_flat_map() {
        let text = "---\n# \"x\": \"@\"\n\"resource_types:OS::Nova::Flavor\": \"role:admin or role:ops\"\n\nplain: rule:a # why\n'it''s': '!'\nempty: \"\"\n";
        assert_eq!(
            parse_rules(text).unwrap(),
            [
                (
                    "resource_types:OS::Nova::Flavor".to_owned(),
                    Check::Any(vec![Check::Role("admin".into()), Check::Role("ops".into())])
                ),
                ("plain".to_owned(), Check::Rule("a".into())),
                ("it's".to_owned(), Check::False),
                ("empty".to_owned(), Check::True),
            ]
        );
        assert_eq!(parse_rules(r#"{"a": "!", "b": []}"#).unwrap().len(), 2);
    }

    #[test]
    fn long_rules_go_on_below() {
        let expected = Check::Any(vec![Check::Role("x".into()), Check::Role("y".into())]);
        for text in [
            "a: role:x or\n  role:y\n",
            "\"a\": \"role:x\n  or role:y\"\n",
            "a: \"role:x or\\\n  \\ role:y\"\n",
            "a: >-\n  role:x\n  # why\n  or role:y\n",
            "a: |\n  role:x or role:y\n",
        ] {
            assert_eq!(
                parse_rules(text),
                Ok(vec![("a".to_owned(), expected.clone())]),
                "{text}"
            );
        }
    }

    #[test]
    fn what_is_not_a_rule_is_named_by_its_line() {
        assert_eq!(parse_rules("a: role:x\nb: [\"role:y\"]\n"), Err(2));
        assert_eq!(parse_rules("  a: role:x\n"), Err(1));
        assert_eq!(parse_rules("nonsense\n"), Err(1));
    }
}
