//! The `args` of a create or update: timeout, rollback, tags and the like.

use serde_json::{Map, Value};

use super::arguments::whole_part;
use super::error::RequestError;
use crate::python::{repr, to_text};

const LONGEST_TAG: usize = 80;

/// What a request says about the stack itself. `None`: nothing, so an update keeps what the stack has.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct StackArguments {
    pub timeout_mins: Option<i64>,
    pub disable_rollback: Option<bool>,
    pub converge: Option<bool>,
    pub tags: Option<Vec<String>>,
    /// A PATCH: what the request does not name stays.
    pub existing: bool,
    /// The stack is adopted, not made.
    pub adopts: bool,
}

impl StackArguments {
    /// The parameters that a PATCH takes away.
    pub fn cleared(given: &Map<String, Value>) -> Result<Vec<String>, RequestError> {
        clear_parameters(given.get("clear_parameters"))
    }

    pub fn read(given: &Map<String, Value>) -> Result<Self, RequestError> {
        Ok(Self {
            timeout_mins: timeout(given.get("timeout_mins"))?,
            converge: boolean(given, "converge")?,
            disable_rollback: boolean(given, "disable_rollback")?,
            tags: tags(given.get("tags"))?,
            existing: is_set(given, "existing"),
            adopts: is_set(given, "adopt_stack_data"),
        })
    }
}

fn is_set(given: &Map<String, Value>, name: &str) -> bool {
    given.get(name).is_some_and(crate::python::value::is_true)
}

/// What is no number counts as absent; a number below one is refused.
fn timeout(given: Option<&Value>) -> Result<Option<i64>, RequestError> {
    let minutes = match given {
        Some(Value::Number(number)) => number.as_i64().or_else(|| whole_part(number)),
        Some(Value::String(text)) => text.trim().parse().ok(),
        Some(Value::Bool(flag)) => Some(i64::from(*flag)),
        _ => None,
    };
    match minutes {
        None => Ok(None),
        Some(0) if matches!(given, Some(Value::Number(_) | Value::Bool(false))) => Ok(None),
        Some(0) if given.and_then(Value::as_str) == Some("0") => Ok(None),
        Some(minutes) if minutes > 0 => Ok(Some(minutes)),
        Some(minutes) => Err(RequestError::ValueError(format!("Invalid timeout value {minutes}"))),
    }
}

fn boolean(given: &Map<String, Value>, name: &str) -> Result<Option<bool>, RequestError> {
    let Some(value) = given.get(name) else {
        return Ok(None);
    };
    match to_text(value).to_lowercase().as_str() {
        "true" => Ok(Some(true)),
        "false" => Ok(Some(false)),
        _ => Err(RequestError::ValueError(format!(
            "Unrecognized value \"{}\" for \"{name}\", acceptable values are: true, false.",
            to_text(value)
        ))),
    }
}

fn tags(given: Option<&Value>) -> Result<Option<Vec<String>>, RequestError> {
    let invalid = |message: String| RequestError::ValueError(message);
    let items = match given {
        None | Some(Value::Null) => return Ok(None),
        Some(Value::Array(items)) => items,
        Some(other) => return Err(invalid(format!("Invalid tags, not a list: {}", to_text(other)))),
    };
    let mut tags = Vec::with_capacity(items.len());
    for item in items {
        let Value::String(tag) = item else {
            return Err(invalid(format!("Invalid tag, \"{}\" is not a string", to_text(item))));
        };
        if tag.chars().count() > LONGEST_TAG {
            return Err(invalid(format!("Invalid tag, \"{tag}\" is longer than 80 characters")));
        }
        if tag.contains(',') {
            return Err(invalid(format!("Invalid tag, \"{tag}\" contains a comma")));
        }
        tags.push(tag.clone());
    }
    Ok(Some(tags))
}

fn clear_parameters(given: Option<&Value>) -> Result<Vec<String>, RequestError> {
    match given {
        None => Ok(Vec::new()),
        Some(Value::Array(items)) => Ok(items.iter().filter_map(Value::as_str).map(str::to_owned).collect()),
        // To Python a text is the sequence of its characters.
        Some(Value::String(text)) => Ok(text.chars().map(String::from).collect()),
        Some(other) => Err(RequestError::TypeError(format!(
            "clear_parameters must be a list, not {}",
            repr(other)
        ))),
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn read(given: Value) -> Result<StackArguments, String> {
        let Value::Object(given) = given else { unreachable!() };
        StackArguments::read(&given).map_err(|error| error.to_string())
    }

    #[test]
    fn nothing_said_is_nothing_known() {
        assert_eq!(read(json!({})), Ok(StackArguments::default()));
        assert_eq!(
            read(json!({"timeout_mins": 0, "tags": null})),
            Ok(StackArguments::default())
        );
        assert_eq!(read(json!({"timeout_mins": "soon"})), Ok(StackArguments::default()));
    }

    #[test]
    fn words_are_booleans_in_any_case() {
        let read = read(json!({"disable_rollback": "True", "converge": false, "timeout_mins": "60"})).unwrap();
        assert_eq!(
            (read.disable_rollback, read.converge, read.timeout_mins),
            (Some(true), Some(false), Some(60))
        );
    }

    #[test]
    fn what_makes_no_sense_is_refused() {
        assert_eq!(
            read(json!({"timeout_mins": -5})).unwrap_err(),
            "Invalid timeout value -5"
        );
        assert_eq!(
            read(json!({"disable_rollback": null})).unwrap_err(),
            "Unrecognized value \"None\" for \"disable_rollback\", acceptable values are: true, false."
        );
        assert_eq!(
            read(json!({"tags": ["a,b"]})).unwrap_err(),
            "Invalid tag, \"a,b\" contains a comma"
        );
        assert_eq!(read(json!({"tags": "a"})).unwrap_err(), "Invalid tags, not a list: a");
    }
}
