//! How Python looks at a value: equality across types, truth, the names of its classes, membership.

use serde_json::Value;

use super::number::PyNumber;

/// Python's `==`. Order of keys does not matter, `1 == 1.0 == True`, and values of different kinds differ.
pub fn equals(left: &Value, right: &Value) -> bool {
    match (left, right) {
        (Value::Null, Value::Null) => true,
        (Value::String(left), Value::String(right)) => left == right,
        (Value::Array(left), Value::Array(right)) => {
            left.len() == right.len() && left.iter().zip(right).all(|(left, right)| equals(left, right))
        }
        (Value::Object(left), Value::Object(right)) => {
            left.len() == right.len()
                && left
                    .iter()
                    .all(|(key, value)| right.get(key).is_some_and(|other| equals(value, other)))
        }
        _ => match (PyNumber::of(left), PyNumber::of(right)) {
            (Some(left), Some(right)) => left.equals(&right),
            _ => false,
        },
    }
}

/// Python's truth value.
pub fn is_true(value: &Value) -> bool {
    match value {
        Value::Null => false,
        Value::Bool(flag) => *flag,
        Value::Number(number) => !PyNumber::from_json(number).is_zero(),
        Value::String(text) => !text.is_empty(),
        Value::Array(items) => !items.is_empty(),
        Value::Object(items) => !items.is_empty(),
    }
}

/// `type(value).__name__`.
pub fn class_name(value: &Value) -> &'static str {
    match value {
        Value::Null => "NoneType",
        Value::Bool(_) => "bool",
        Value::Number(number) if PyNumber::from_json(number).is_float() => "float",
        Value::Number(_) => "int",
        Value::String(_) => "str",
        Value::Array(_) => "list",
        Value::Object(_) => "dict",
    }
}

/// `item in items` for a list.
pub fn contains(items: &[Value], item: &Value) -> bool {
    items.iter().any(|candidate| equals(candidate, item))
}

const TRUE_WORDS: [&str; 6] = ["1", "t", "true", "on", "y", "yes"];
const FALSE_WORDS: [&str; 6] = ["0", "f", "false", "off", "n", "no"];

/// oslo.utils' strict reading of a boolean; the error is its message.
pub fn bool_from_text(text: &str) -> Result<bool, String> {
    let word = text.trim().to_lowercase();
    if TRUE_WORDS.contains(&word.as_str()) {
        return Ok(true);
    }
    if FALSE_WORDS.contains(&word.as_str()) {
        return Ok(false);
    }
    let mut acceptable: Vec<String> = TRUE_WORDS
        .iter()
        .chain(&FALSE_WORDS)
        .map(|word| format!("'{word}'"))
        .collect();
    acceptable.sort_unstable();
    Err(format!(
        "Unrecognized value '{text}', acceptable values are: {}",
        acceptable.join(", ")
    ))
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn equality_crosses_types_as_python_does() {
        assert!(equals(&json!({"a": 1, "b": [true]}), &json!({"b": [1], "a": true})));
        assert!(equals(&json!(1), &json!(1.0)));
        assert!(!equals(&json!("1"), &json!(1)));
        assert!(!equals(&json!(null), &json!(false)));
        assert!(!equals(&json!([]), &json!({})));
    }

    #[test]
    fn boolean_words() {
        assert_eq!(bool_from_text(" Yes "), Ok(true));
        assert_eq!(bool_from_text("off"), Ok(false));
        assert_eq!(
            bool_from_text("maybe").unwrap_err(),
            "Unrecognized value 'maybe', acceptable values are: '0', '1', 'f', 'false', 'n', 'no', 'off', 'on', 't', \
             'true', 'y', 'yes'"
        );
    }
}
