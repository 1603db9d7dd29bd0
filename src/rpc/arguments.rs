//! The arguments of a request: which a method takes, and what it finds in them.
//!
//! Python's own rules decide what happens to arguments that a method does not know or misses, because a client of
//! another release sees these errors.

use serde_json::{Map, Number, Value};

use super::error::RequestError;
use crate::python::value::{class_name, is_true};

/// The arguments that a method takes, after the request's context.
#[derive(Clone, Copy, Debug)]
pub struct Signature {
    pub required: &'static [&'static str],
    pub optional: &'static [&'static str],
}

impl Signature {
    pub const fn new(required: &'static [&'static str], optional: &'static [&'static str]) -> Self {
        Self { required, optional }
    }

    pub fn takes(&self, name: &str) -> bool {
        self.required.contains(&name) || self.optional.contains(&name)
    }

    /// `qualified` is how Python names the method in its errors.
    pub fn check(&self, qualified: &str, given: &Map<String, Value>) -> Result<(), RequestError> {
        if let Some(unknown) = given.keys().find(|name| !self.takes(name)) {
            return Err(RequestError::TypeError(format!(
                "{qualified}() got an unexpected keyword argument '{unknown}'"
            )));
        }
        let missing: Vec<String> = self
            .required
            .iter()
            .filter(|name| !given.contains_key(**name))
            .map(|name| format!("'{name}'"))
            .collect();
        match missing.as_slice() {
            [] => Ok(()),
            [one] => Err(RequestError::TypeError(format!(
                "{qualified}() missing 1 required positional argument: {one}"
            ))),
            several => Err(RequestError::TypeError(format!(
                "{qualified}() missing {} required positional arguments: {}",
                several.len(),
                enumerate(several)
            ))),
        }
    }
}

fn enumerate(names: &[String]) -> String {
    match names {
        [first, second] => format!("{first} and {second}"),
        [head @ .., last] => format!("{}, and {last}", head.join(", ")),
        [] => String::new(),
    }
}

/// The arguments of one request, already known to fit the method.
#[derive(Clone, Debug, Default)]
pub struct Arguments(Map<String, Value>);

impl Arguments {
    pub fn new(given: Map<String, Value>) -> Self {
        Self(given)
    }

    pub fn all(&self) -> &Map<String, Value> {
        &self.0
    }

    /// What was given, which may be large, without a copy; null for an argument that is absent.
    pub fn take(&mut self, name: &str) -> Value {
        self.0.get_mut(name).map(Value::take).unwrap_or_default()
    }

    /// What was given; `None` for an argument that is absent or null.
    pub fn value(&self, name: &str) -> Option<&Value> {
        self.0.get(name).filter(|value| !value.is_null())
    }

    pub fn text(&self, name: &str) -> Result<Option<&str>, RequestError> {
        match self.value(name) {
            None => Ok(None),
            Some(Value::String(text)) => Ok(Some(text)),
            Some(other) => Err(wrong_type(name, "str", other)),
        }
    }

    pub fn required_text(&self, name: &str) -> Result<&str, RequestError> {
        self.text(name)?.ok_or_else(|| wrong_type(name, "str", &Value::Null))
    }

    pub fn map(&self, name: &str) -> Result<Option<&Map<String, Value>>, RequestError> {
        match self.value(name) {
            None => Ok(None),
            Some(Value::Object(map)) => Ok(Some(map)),
            Some(other) => Err(lacks(other, "get")),
        }
    }

    pub fn required_map(&self, name: &str) -> Result<&Map<String, Value>, RequestError> {
        self.map(name)?.ok_or_else(|| lacks(&Value::Null, "get"))
    }

    /// Absent: `default`. What Python takes for true is true.
    pub fn flag(&self, name: &str, default: bool) -> bool {
        match self.0.get(name) {
            None => default,
            Some(value) => is_true(value),
        }
    }

    /// A whole number, or text that is one.
    pub fn integer(&self, name: &str) -> Result<Option<i64>, RequestError> {
        let invalid = |value: &Value| {
            RequestError::ValueError(format!(
                "invalid literal for int() with base 10: {}",
                crate::python::repr(value)
            ))
        };
        match self.value(name) {
            None => Ok(None),
            Some(Value::Number(number)) => number
                .as_i64()
                .or_else(|| whole_part(number))
                .map(Some)
                .ok_or_else(|| invalid(&Value::from(number.clone()))),
            Some(Value::Bool(flag)) => Ok(Some(i64::from(*flag))),
            Some(value @ Value::String(text)) => text.trim().parse().map(Some).map_err(|_| invalid(value)),
            Some(other) => Err(wrong_type(name, "int", other)),
        }
    }

    /// A list of texts; a single text stands for a list of one, and what is empty for none.
    pub fn texts(&self, name: &str) -> Result<Option<Vec<String>>, RequestError> {
        match self.value(name).filter(|value| is_true(value)) {
            None => Ok(None),
            Some(Value::String(text)) => Ok(Some(vec![text.clone()])),
            Some(Value::Array(items)) => items
                .iter()
                .map(|item| item.as_str().map(str::to_owned))
                .collect::<Option<_>>()
                .map(Some)
                .ok_or_else(|| wrong_type(name, "list of str", &Value::Array(items.clone()))),
            Some(other) => Err(wrong_type(name, "list", other)),
        }
    }
}

/// What Python's `int` makes of a number with a fraction.
#[expect(clippy::cast_possible_truncation, reason = "the fraction is what is to go")]
pub fn whole_part(number: &Number) -> Option<i64> {
    let number = number.as_f64().filter(|number| number.is_finite())?;
    Some(number.trunc() as i64)
}

/// Python's words for a value that is of another kind than the code expects.
pub fn lacks(value: &Value, attribute: &str) -> RequestError {
    let class = class_name(value);
    RequestError::AttributeError(format!("'{class}' object has no attribute '{attribute}'"))
}

fn wrong_type(name: &str, expected: &str, found: &Value) -> RequestError {
    RequestError::TypeError(format!(
        "argument '{name}' must be {expected}, not {}",
        class_name(found)
    ))
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    const SIGNATURE: Signature = Signature::new(&["a", "b", "c"], &["d"]);

    fn error(given: Value) -> String {
        let Value::Object(given) = given else { unreachable!() };
        SIGNATURE
            .check("EngineService.create_stack", &given)
            .unwrap_err()
            .to_string()
    }

    #[test]
    fn missing_arguments_are_named_as_python_names_them() {
        assert_eq!(
            error(json!({"a": 1, "b": 2})),
            "EngineService.create_stack() missing 1 required positional argument: 'c'"
        );
        assert_eq!(
            error(json!({"b": 2})),
            "EngineService.create_stack() missing 2 required positional arguments: 'a' and 'c'"
        );
        assert_eq!(
            error(json!({})),
            "EngineService.create_stack() missing 3 required positional arguments: 'a', 'b', and 'c'"
        );
    }

    #[test]
    fn an_unknown_argument_comes_first() {
        assert_eq!(
            error(json!({"e": 1})),
            "EngineService.create_stack() got an unexpected keyword argument 'e'"
        );
    }

    #[test]
    fn null_is_as_good_as_absent() {
        let Value::Object(given) = json!({"a": null, "b": 1, "c": 2}) else {
            unreachable!()
        };
        SIGNATURE.check("x", &given).unwrap();
        assert!(Arguments::new(given).value("a").is_none());
    }
}
