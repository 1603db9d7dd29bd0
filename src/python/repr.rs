//! `repr()` and `str()` of values, as they end up in messages, in keys and in text that a template builds.

use rustpython_literal::escape::UnicodeEscape;
use serde_json::Value;

use super::number::PyNumber;

/// `repr(value)`.
pub fn repr(value: &Value) -> String {
    let mut text = String::new();
    write_repr(&mut text, value);
    text
}

/// `str(value)`: a string is itself, everything else its `repr`.
pub fn to_text(value: &Value) -> String {
    match value {
        Value::String(string) => string.clone(),
        other => repr(other),
    }
}

/// `repr(text)`: quotes chosen and characters escaped as Python does.
pub fn repr_text(text: &str) -> String {
    UnicodeEscape::new_repr(text.into())
        .str_repr()
        .to_string()
        .unwrap_or_default()
}

/// `repr` of a value in a tuple of one or many: `('a',)`, `('a', 'b')`.
pub fn repr_tuple(items: &[Value]) -> String {
    let inner: Vec<String> = items.iter().map(repr).collect();
    match inner.as_slice() {
        [only] => format!("({only},)"),
        many => format!("({})", many.join(", ")),
    }
}

fn write_repr(text: &mut String, value: &Value) {
    match value {
        Value::Null => text.push_str("None"),
        Value::Bool(true) => text.push_str("True"),
        Value::Bool(false) => text.push_str("False"),
        Value::Number(number) => text.push_str(&PyNumber::from_json(number).text()),
        Value::String(string) => text.push_str(&repr_text(string)),
        Value::Array(items) => {
            text.push('[');
            for (index, item) in items.iter().enumerate() {
                if index > 0 {
                    text.push_str(", ");
                }
                write_repr(text, item);
            }
            text.push(']');
        }
        Value::Object(items) => {
            text.push('{');
            for (index, (key, item)) in items.iter().enumerate() {
                if index > 0 {
                    text.push_str(", ");
                }
                text.push_str(&repr_text(key));
                text.push_str(": ");
                write_repr(text, item);
            }
            text.push('}');
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn text_is_pythons() {
        assert_eq!(
            repr(&json!({"a": [null, true, 1.0, "it's", "say \"it's\"", "ü\n"], "b": {}})),
            r#"{'a': [None, True, 1.0, "it's", 'say "it\'s"', 'ü\n'], 'b': {}}"#
        );
        assert_eq!(to_text(&json!("plain")), "plain");
        assert_eq!(repr_tuple(&[json!("a")]), "('a',)");
        assert_eq!(repr_tuple(&[json!("a"), json!(1)]), "('a', 1)");
    }
}
