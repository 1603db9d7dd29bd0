//! How Python looks at a value: equality across types, truth, the names of its classes, membership.

use std::collections::HashSet;

use num_bigint::BigInt;
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

/// Values of which none equals another, so that many can be told apart without comparing each with each.
#[derive(Debug, Default)]
pub struct Distinct(HashSet<Vec<u8>>);

impl Distinct {
    pub fn contains(&self, value: &Value) -> bool {
        self.0.contains(&equality_key(value))
    }

    /// Whether it was not there yet.
    pub fn insert(&mut self, value: &Value) -> bool {
        self.0.insert(equality_key(value))
    }
}

impl<'v> FromIterator<&'v Value> for Distinct {
    fn from_iter<I: IntoIterator<Item = &'v Value>>(values: I) -> Self {
        Self(values.into_iter().map(equality_key).collect())
    }
}

/// The same for values that Python calls equal, and only for those. (JSON has no number that does not equal itself.)
fn equality_key(value: &Value) -> Vec<u8> {
    let mut key = Vec::new();
    add_to_key(&mut key, value);
    key
}

fn add_to_key(key: &mut Vec<u8>, value: &Value) {
    let mut add = |kind: u8, bytes: &[u8]| {
        key.push(kind);
        key.extend(bytes.len().to_le_bytes());
        key.extend(bytes);
    };
    match value {
        Value::Null => add(b'n', &[]),
        Value::String(text) => add(b's', text.as_bytes()),
        Value::Array(items) => {
            add(b'l', &items.len().to_le_bytes());
            items.iter().for_each(|item| add_to_key(key, item));
        }
        Value::Object(entries) => {
            add(b'd', &entries.len().to_le_bytes());
            let mut entries: Vec<(&String, &Value)> = entries.iter().collect();
            entries.sort_unstable_by_key(|(name, _)| *name);
            for (name, value) in entries {
                key.extend(name.len().to_le_bytes());
                key.extend(name.as_bytes());
                add_to_key(key, value);
            }
        }
        Value::Bool(flag) => add(b'i', &BigInt::from(u8::from(*flag)).to_signed_bytes_le()),
        Value::Number(number) => {
            let number = PyNumber::from_json(number);
            match number.as_exact_integer() {
                Some(integer) => add(b'i', &integer.to_signed_bytes_le()),
                None => add(b'f', &number.as_f64().to_le_bytes()),
            }
        }
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
    fn keys_are_equal_where_values_are() {
        let values: Vec<Value> = serde_json::from_str(
            r#"[null, true, false, 1, 1.0, 1e0, 0, -0.0, 0.5, 5e-1, 1e300, 1e999, -1e999, 12345678901234567890123, "1", "",
                [], {}, [1], [true], [[1]], [1, 1], ["1"], [""], {"a": 1, "b": [2]}, {"b": [2.0], "a": true}, {"a": 1},
                {"ab": 1}, {"a": "b"}, ["a", "b"], ["ab"], ["a", ["b"]], 9007199254740993, 9007199254740992.0]"#,
        )
        .expect("JSON");
        for left in &values {
            for right in &values {
                let equal = equality_key(left) == equality_key(right);
                assert_eq!(equal, equals(left, right), "{left} {right}");
            }
        }
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
