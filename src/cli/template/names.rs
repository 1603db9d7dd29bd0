//! What the names in a template and in errors about it mean.

use serde_json::{Map, Value};

use super::near;
use super::problem::{Problem, Severity};
use super::source::Source;
use crate::template::error::dotted_path;
use crate::template::{Template, TemplateError};

/// The names that a template may speak of, to tell what a misspelt one means.
pub struct Names {
    words: Vec<String>,
}

impl Names {
    pub fn of(template: &Template) -> Self {
        let keywords = template.keywords();
        let mut words: Vec<String> = template.version().sections().into_iter().map(str::to_owned).collect();
        for section in [
            keywords.parameters,
            keywords.conditions,
            keywords.resources,
            keywords.outputs,
        ] {
            let definitions = template.body().get(section).and_then(Value::as_object);
            words.extend(definitions.into_iter().flat_map(Map::keys).cloned());
        }
        words.extend(keywords.of_definitions().into_iter().map(str::to_owned));
        words.extend(
            crate::template::parameters::schema_words(template.version())
                .into_iter()
                .map(str::to_owned),
        );
        Self { words }
    }

    /// An error of the language as a problem at its place, which may be more exact than what is known already.
    pub fn problem(&self, source: &Source, place: &str, error: &TemplateError) -> Problem {
        let (path, message) = match error {
            TemplateError::StackValidationFailed { error, path, message } if !path.is_empty() => {
                let inner = dotted_path(path);
                let path = if inner.starts_with(place) {
                    inner
                } else {
                    place.to_owned()
                };
                let heading = if error.is_empty() {
                    String::new()
                } else {
                    format!("{error}: ")
                };
                (path, format!("{heading}{message}"))
            }
            other => (place.to_owned(), other.to_string()),
        };
        let help = self.help(&message);
        Problem::at(source, Severity::Error, path, message).with_help(help)
    }

    /// What the first name in a message that nobody knows may mean.
    pub fn help(&self, message: &str) -> Option<String> {
        // The usage of a function, which quotes much.
        if message.contains("syntax should be") {
            return None;
        }
        let words = || self.words.iter().map(String::as_str);
        quoted(message)
            .into_iter()
            .filter(|name| !words().any(|word| word == *name))
            .find_map(|name| near::question(name, words()))
    }
}

/// What a message quotes: `"x"`, `'x'`, `(x)`, and what stands after its last colon.
fn quoted(message: &str) -> Vec<&str> {
    let mut found = Vec::new();
    for (open, close) in [('"', '"'), ('\'', '\''), ('(', ')')] {
        let mut rest = message;
        while let Some((_, after)) = rest.split_once(open) {
            let Some((inside, behind)) = after.split_once(close) else {
                break;
            };
            found.push(inside.split_whitespace().next().unwrap_or_default());
            rest = behind;
        }
    }
    found.extend(message.rsplit(": ").next());
    found
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_in_messages_are_found() {
        assert_eq!(
            quoted("Invalid key 'x' for parameter (y) in \"z\""),
            ["z", "x", "y", "Invalid key 'x' for parameter (y) in \"z\""]
        );
        assert_eq!(quoted("Unknown section: reources"), ["reources"]);
    }
}
