//! From the text of a template or an environment to values, exactly as Heat reads it.
//!
//! Heat takes a text for JSON, and if it is none for YAML: libyaml's events ([`events`]), composed to nodes ([`tree`]), tagged
//! by the rules of YAML 1.1 ([`tags`]) and made into values ([`construct`]). Dates stay texts. What is wrong is told
//! in the words of PyYAML ([`complaint`]). A text in which nothing is out of the ordinary goes a shorter way to the same
//! values ([`quick`]).
//!
//! The values are JSON: keys that are no texts become what JSON makes of them, sets and pairs become lists.

mod complaint;
mod construct;
mod events;
mod opened;
mod pairs;
mod places;
mod quick;
mod tags;
mod tree;

use serde_json::{Map, Value};

use self::construct::Limits;
use self::tree::Tree;
use super::error::TemplateError;
use crate::python::json_reader::loads;

pub use complaint::Complaint;
pub use events::Mark;
pub use opened::{Closed, Opened};
pub use places::Places;

/// Deeper documents are refused: everything that walks through a template recurses.
pub const DEEPEST_NESTING: usize = 128;

/// How much a document may say, aliases followed: so much, or some times its own length.
const LARGEST: usize = 16 * 1024 * 1024;
const GROWTH: usize = 8;

/// A text that is no document.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum ReadError {
    #[error(transparent)]
    Yaml(#[from] Box<Complaint>),
    /// Python's own exception over a value, or a limit.
    #[error("{error}")]
    Value { error: TemplateError, mark: Mark },
}

impl ReadError {
    pub fn mark(&self) -> Option<Mark> {
        match self {
            Self::Yaml(complaint) => complaint.mark,
            Self::Value { mark, .. } => Some(*mark),
        }
    }

    /// What is wrong without the place.
    pub fn summary(&self) -> String {
        match self {
            Self::Yaml(complaint) => match &complaint.context {
                Some((context, _)) => format!("{context}: {}", complaint.message),
                None => complaint.message.clone(),
            },
            Self::Value { error, .. } => error.to_string(),
        }
    }

    fn into_template_error(self, word: impl FnOnce(&Complaint) -> String) -> TemplateError {
        match self {
            Self::Yaml(complaint) if complaint.is_limit => TemplateError::RequestLimitExceeded {
                message: complaint.message,
            },
            Self::Yaml(complaint) => TemplateError::value_error(word(&complaint)),
            Self::Value { error, .. } => error,
        }
    }
}

/// Reads YAML; `None` for a text without a document.
pub fn read_yaml(text: &str) -> Result<Option<Value>, ReadError> {
    match quick::read(text) {
        Some(value) => Ok(Some(value)),
        None => read_with_libyaml(text),
    }
}

fn read_with_libyaml(text: &str) -> Result<Option<Value>, ReadError> {
    let limits = Limits {
        deepest: DEEPEST_NESTING,
        largest: LARGEST.max(text.len().saturating_mul(GROWTH)),
    };
    let tree = Tree::of(text, limits.deepest)?;
    construct::value_of(tree, text, &limits)
}

/// Reads JSON or YAML. Nothing is an empty map.
pub fn read_document(text: &str) -> Result<Value, ReadError> {
    match loads(text) {
        Ok(value) => Ok(value),
        Err(_) => Ok(read_yaml(text)?.filter(|value| !value.is_null()).unwrap_or_else(empty)),
    }
}

fn empty() -> Value {
    Value::Object(Map::new())
}

/// Whether a text is short enough to be a template, counted as Heat counts: in characters, whatever the message says.
pub fn check_template_size(text: &str, limit: u64) -> Result<(), TemplateError> {
    let length = if text.len() as u64 > limit {
        text.chars().count() as u64
    } else {
        0
    };
    if length > limit {
        return Err(TemplateError::RequestLimitExceeded {
            message: format!("Template size ({length} bytes) exceeds maximum allowed size ({limit} bytes)."),
        });
    }
    Ok(())
}

/// Reads a template that the engine itself found, for example in the files of a stack. `name` is for messages.
pub fn read_template(text: &str, name: Option<&str>, size_limit: u64) -> Result<Map<String, Value>, TemplateError> {
    check_template_size(text, size_limit)?;
    let template = read_map(text, name)?;
    if super::version::VERSION_KEYS
        .iter()
        .any(|key| template.contains_key(*key))
    {
        Ok(template)
    } else {
        Err(TemplateError::value_error("Template format version not found."))
    }
}

/// Reads what is to become a template, of whatever version.
pub fn read_map(text: &str, name: Option<&str>) -> Result<Map<String, Value>, TemplateError> {
    let document = read_document(text).map_err(|error| {
        error.into_template_error(|complaint| {
            format!("Error parsing template {} {complaint}", name.unwrap_or("[root stack]"))
        })
    })?;
    match document {
        Value::Object(template) => Ok(template),
        _ => Err(TemplateError::value_error(
            "The template is not a JSON object or YAML mapping.",
        )),
    }
}

/// Reads an environment and checks the names of its sections.
pub fn read_environment(text: &str) -> Result<Map<String, Value>, TemplateError> {
    let document = read_yaml(text).map_err(|error| error.into_template_error(|complaint| complaint.to_string()))?;
    let environment = document.filter(|value| !value.is_null()).unwrap_or_else(empty);
    super::environment::checked_sections(environment)
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn yaml(text: &str) -> Value {
        read_yaml(text).unwrap().unwrap()
    }

    #[test]
    fn values_are_those_of_yaml_1_1() {
        assert_eq!(
            yaml("{a: yes, b: 017, c: 2013-05-23, d: ~, e: 1:30, 1: x, yes: y, .5: z}"),
            json!({"a": true, "b": 15, "c": "2013-05-23", "d": null, "e": 90, "1": "y", "0.5": "z"})
        );
        assert_eq!(read_yaml("").unwrap(), None);
        assert_eq!(
            yaml("a: !!omap [b: 1]\nc: !!set {d, e}\nf: !!binary aGVsbG8=\ng: !!str {=: h}"),
            json!({"a": [["b", 1]], "c": ["d", "e"], "f": "hello", "g": "h"})
        );
    }

    #[test]
    fn what_aliases_lead_to_is_there_each_time() {
        assert_eq!(
            yaml("a: &a [{b: c}]\nd: *a"),
            json!({"a": [{"b": "c"}], "d": [{"b": "c"}]})
        );
    }

    #[test]
    fn merged_maps_come_first() {
        assert_eq!(
            yaml("a: &a {key: 1, x: 1}\nb: &b {key: 2, x: 2}\nc: {own: 3, <<: [*a, *b]}")["c"].to_string(),
            r#"{"key":2,"x":1,"own":3}"#
        );
        assert_eq!(yaml("a: &a {<<: *a, x: 1}")["a"], json!({"x": 1}));
    }

    #[test]
    fn what_grows_without_end_is_refused() {
        let mut bomb = "a0: &a0 [x, x, x, x, x, x, x, x, x, x]\n".to_owned();
        for level in 1..12 {
            let alias = format!("*a{}", level - 1);
            bomb.push_str(&format!("a{level}: &a{level} [{}]\n", [alias.as_str(); 10].join(", ")));
        }
        let error = read_template(&bomb, None, 1 << 20).unwrap_err();
        assert!(error.to_string().starts_with("Request limit exceeded"), "{error}");

        assert!(read_yaml("&a [*a]").is_err());
        assert!(read_yaml(&"[".repeat(100_000)).is_err());
        assert!(read_yaml(&"- ".repeat(100_000)).is_err());

        let mut merges = "a:\n  k: &m0 {x: 1}\n".to_owned();
        for level in 1..5000 {
            merges.push_str(&format!("  k{level}: &m{level} {{<<: *m{}, y{level}: 1}}\n", level - 1));
        }
        assert!(read_yaml(&format!("{merges}b: {{<<: *m4999}}\n")).is_err());
    }

    #[test]
    fn bad_yaml_is_told_with_its_line() {
        let error = read_template("a: b\n c: d", Some("x.yaml"), 1000).unwrap_err();
        assert_eq!(
            error.to_string(),
            "Error parsing template x.yaml mapping values are not allowed here\n  in \"<unicode string>\", line 2, \
             column 3:\n     c: d\n      ^"
        );
    }
}
