//! What the names in a template and in errors about it mean.

use serde_json::{Map, Value};

use super::hints;
use super::near;
use super::problem::{Problem, Severity};
use super::source::Source;
use super::words::in_words;
use crate::template::error::dotted_path;
use crate::template::{Template, TemplateError, functions_of};

/// The names that a template may speak of, to tell what a misspelt one means.
pub struct Names<'t> {
    template: &'t Template,
    words: Vec<&'t str>,
}

impl<'t> Names<'t> {
    pub fn of(template: &'t Template) -> Self {
        let keywords = template.keywords();
        let mut words = template.version().sections();
        for section in [
            keywords.parameters,
            keywords.conditions,
            keywords.resources,
            keywords.outputs,
        ] {
            words.extend(keys(template.body().get(section)));
        }
        let mappings = template.mappings().and_then(Value::as_object);
        for mapping in mappings.into_iter().flat_map(Map::values).chain(template.mappings()) {
            words.extend(keys(Some(mapping)));
            let entries = mapping.as_object().into_iter().flat_map(Map::values);
            words.extend(entries.flat_map(|entry| keys(Some(entry))));
        }
        words.extend(keywords.of_definitions());
        words.extend(["Delete", "Retain", "Snapshot"]);
        words.extend(crate::template::parameters::schema_words(template.version()));
        // Heat knows this section, and nobody else.
        words.retain(|word| !word.starts_with("__"));
        Self { template, words }
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
            // Heat does not tell a parameter without a value from one that nobody defines.
            TemplateError::UserParameterMissing { key } if !self.defines_parameter(key) => {
                (place.to_owned(), format!("there is no parameter \"{key}\""))
            }
            other => (place.to_owned(), other.to_string()),
        };
        let help = self.help(&path, &message);
        Problem::at(source, Severity::Error, path, message).with_help(help)
    }

    fn defines_parameter(&self, name: &str) -> bool {
        let section = self.template.body().get(self.template.keywords().parameters);
        section.is_some_and(|parameters| parameters.get(name).is_some())
    }

    /// What is meant by what the message at a place is about: a word of another version, a misspelt one, or the first name
    /// in the message that nobody knows.
    pub fn help(&self, path: &str, message: &str) -> Option<String> {
        hints::for_unknown_word(self.template.version(), message)
            .or_else(|| self.help_with_part(path, message))
            .or_else(|| self.help_with_call(path, message))
            .or_else(|| self.help_with_name(message))
    }

    /// What stands in the way where a field of a definition is a call, and has to be written out.
    fn help_with_call(&self, path: &str, message: &str) -> Option<String> {
        let step = in_words(message)
            .step
            .filter(|step| *step != self.template.keywords().condition)?;
        let field = hints::part_at(self.template, &format!("{path}.{step}"))?.as_object()?;
        let name = field.keys().next().filter(|_| field.len() == 1)?;
        let mut functions = functions_of(self.template.version(), true).into_iter();
        functions
            .any(|function| function.name == name)
            .then(|| "no functions are called here".to_owned())
    }

    /// What is meant by the part at a place, where the message only says that it makes no sense.
    fn help_with_part(&self, path: &str, message: &str) -> Option<String> {
        let (around, name) = path.rsplit_once('.')?;
        let is_about_conditions = [
            "Invalid condition \"{",
            "The definition of condition",
            "type must be string_or_boolean",
            "type must be string or boolean",
            "is invalid in this context",
        ];
        if is_about_conditions.iter().any(|words| message.contains(words)) {
            // Of a resource all is known but the place; of a function, what it is called with.
            let parts = [path, around]
                .into_iter()
                .filter_map(|path| hints::part_at(self.template, path));
            let conditions = parts.map(|part| part.get(self.template.keywords().condition).unwrap_or(part));
            return conditions
                .into_iter()
                .find_map(|condition| hints::for_condition(self.template.version(), condition));
        }
        let part = hints::part_at(self.template, path)?;
        if message == "No constraint expressed" {
            return hints::for_constraints(self.template.version(), part.get("constraints")?);
        }
        hints::for_arguments(name, part)
    }

    fn help_with_name(&self, message: &str) -> Option<String> {
        // The usage of a function, which quotes much.
        if message.contains("syntax should be") {
            return None;
        }
        let words = || self.words.iter().copied();
        quoted(message)
            .into_iter()
            .filter(|name| !words().any(|word| word == *name))
            .find_map(|name| near::question(name, words()))
    }
}

fn keys(map: Option<&Value>) -> impl Iterator<Item = &str> {
    let entries = map.and_then(Value::as_object);
    entries.into_iter().flat_map(Map::keys).map(String::as_str)
}

/// What a message quotes: `"x"`, `'x'`, `(x)`, and what stands after its last colon.
pub fn quoted(message: &str) -> Vec<&str> {
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
