//! Functions that are none: Heat takes a misspelt one for a map, and nobody hears of it before a service complains.

use serde_json::Value;

use super::near;
use super::problem::{Problem, Severity};
use super::source::Source;
use crate::template::{TemplateVersion, VERSIONS, functions_of};

pub struct Vocabulary {
    version_name: String,
    known: Vec<&'static str>,
    /// Those of other versions, with the first that has them.
    elsewhere: Vec<(&'static str, &'static str)>,
}

impl Vocabulary {
    pub fn of(version: TemplateVersion, version_name: &str) -> Self {
        let known: Vec<&str> = functions_of(version, true)
            .iter()
            .map(|function| function.name)
            .collect();
        let mut elsewhere: Vec<(&str, &str)> = Vec::new();
        for (_, value, other) in VERSIONS
            .iter()
            .filter(|(_, _, other)| other.is_hot() == version.is_hot())
        {
            for function in functions_of(*other, true) {
                let is_new = elsewhere.iter().all(|(name, _)| *name != function.name);
                if is_new && !known.contains(&function.name) {
                    elsewhere.push((function.name, value));
                }
            }
        }
        Self {
            version_name: version_name.to_owned(),
            known,
            elsewhere,
        }
    }

    /// Looks through a part of a template for maps that look like calls.
    pub fn look_through(&self, source: &Source, path: &str, value: &Value, problems: &mut Vec<Problem>) {
        match value {
            Value::Array(items) => {
                for (index, item) in items.iter().enumerate() {
                    self.look_through(source, &format!("{path}[{index}]"), item, problems);
                }
            }
            Value::Object(entries) => {
                for (key, value) in entries {
                    let path = format!("{path}.{key}");
                    if entries.len() == 1
                        && let Some(problem) = self.suspicious(source, &path, key)
                    {
                        problems.push(problem);
                    }
                    self.look_through(source, &path, value, problems);
                }
            }
            _ => {}
        }
    }

    fn suspicious(&self, source: &Source, path: &str, key: &str) -> Option<Problem> {
        if self.known.contains(&key) {
            return None;
        }
        if let Some((name, since)) = self.elsewhere.iter().find(|(name, _)| *name == key) {
            let message = format!(
                "{name} is no function in version {}, and taken for plain text",
                self.version_name
            );
            let help = Some(format!("version {since} has it"));
            return Some(Problem::at(source, Severity::Warning, path, message).with_help(help));
        }
        // Short words without a mark of functions are names of something else too often.
        let is_marked = |name: &&&str| name.contains(['_', ':']) || name.eq_ignore_ascii_case(key);
        let marked = self.known.iter().filter(is_marked).copied();
        let help = near::question(key, marked)?;
        let message = format!("{key} is no function, and taken for plain text");
        Some(Problem::at(source, Severity::Warning, path, message).with_help(Some(help)))
    }
}
