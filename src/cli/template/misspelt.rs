//! Functions that are none: Heat takes a misspelt one for a map, and nobody hears of it before a service complains.

use serde_json::Value;

use super::hints;
use super::near;
use super::problem::{Problem, Severity};
use super::source::Source;
use crate::template::{TemplateVersion, VERSIONS, condition_functions, functions_of, was_removed};

/// The functions that a part of a template may call.
pub struct Vocabulary {
    version: TemplateVersion,
    version_name: String,
    known: Vec<&'static str>,
    /// Those of other versions, with the first that has them.
    elsewhere: Vec<(&'static str, &'static str)>,
    /// Short words without a mark of functions are names of something else too often, unless nothing else can be meant.
    are_short_words_functions: bool,
}

impl Vocabulary {
    pub fn of(version: TemplateVersion, version_name: &str) -> Self {
        let names = |version| {
            let functions = functions_of(version, true).into_iter();
            functions.map(|function| function.name).collect()
        };
        Self::with(version, version_name, names, false)
    }

    /// The functions of conditions.
    pub fn of_conditions(version: TemplateVersion, version_name: &str) -> Self {
        Self::with(version, version_name, condition_functions, true)
    }

    fn with(
        version: TemplateVersion,
        version_name: &str,
        names: impl Fn(TemplateVersion) -> Vec<&'static str>,
        are_short_words_functions: bool,
    ) -> Self {
        let known = names(version);
        let mut elsewhere: Vec<(&str, &str)> = Vec::new();
        for (_, value, other) in VERSIONS
            .iter()
            .filter(|(_, _, other)| other.is_hot() == version.is_hot())
        {
            for name in names(*other) {
                if !known.contains(&name) && elsewhere.iter().all(|(met, _)| *met != name) {
                    elsewhere.push((name, value));
                }
            }
        }
        Self {
            version,
            version_name: version_name.to_owned(),
            known,
            elsewhere,
            are_short_words_functions,
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
                    let suspicious = match entries.len() {
                        1 => self.suspicious(source, &path, key),
                        _ => self.not_alone(source, &path, key),
                    };
                    problems.extend(suspicious);
                    self.look_through(source, &path, value, problems);
                }
            }
            _ => {}
        }
    }

    /// A function beside other keys is called by nobody.
    fn not_alone(&self, source: &Source, path: &str, key: &str) -> Option<Problem> {
        // In a condition nothing else than a call makes sense, and the error is told.
        if self.are_short_words_functions || !is_marked(key) || !self.known.contains(&key) {
            return None;
        }
        let message = format!("{key} is taken for plain text, since other keys stand beside it");
        let help = Some("a function stands alone in its map".to_owned());
        Some(Problem::at(source, Severity::Warning, path, message).with_help(help))
    }

    fn suspicious(&self, source: &Source, path: &str, key: &str) -> Option<Problem> {
        // One that the version refuses is an error already.
        if self.known.contains(&key) || was_removed(self.version, key) {
            return None;
        }
        let warn = |message: String, help: String| {
            Some(Problem::at(source, Severity::Warning, path, message).with_help(Some(help)))
        };
        let no_function = || {
            format!(
                "{key} is no function in version {}, and taken for plain text",
                self.version_name
            )
        };
        if let Some((_, since)) = self.elsewhere.iter().find(|(name, _)| *name == key) {
            return warn(no_function(), format!("version {since} has it"));
        }
        if let Some(counterpart) = hints::counterpart(self.version, key).filter(|_| is_marked(key)) {
            return warn(no_function(), counterpart);
        }
        let may_be_meant =
            |name: &&&str| self.are_short_words_functions || is_marked(name) || name.eq_ignore_ascii_case(key);
        let help = near::question(key, self.known.iter().filter(may_be_meant).copied())?;
        warn(format!("{key} is no function, and taken for plain text"), help)
    }
}

/// Whether a name looks like that of a function wherever it stands.
fn is_marked(name: &str) -> bool {
    name.contains(['_', ':']) || name == "Ref"
}
