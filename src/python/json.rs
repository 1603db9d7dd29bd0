//! JSON text as `json.dumps` writes it with its default arguments.

use std::fmt::Write;

use serde_json::{Map, Number, Value};

use super::number::{PyNumber, float_text};

/// `json.dumps(value)`: `", "` and `": "`, ASCII only, Python's number text, keys in their order.
pub fn dumps(value: &Value) -> String {
    let mut text = String::new();
    write_value(&mut text, value, KeyOrder::Kept);
    text
}

/// Adds what [`dumps`] gives to a text.
pub fn write(text: &mut String, value: &Value) {
    write_value(text, value, KeyOrder::Kept);
}

/// [`dumps`] of an object.
pub fn dumps_map(entries: &Map<String, Value>) -> String {
    let mut text = String::new();
    write_entries(&mut text, entries.iter(), KeyOrder::Kept);
    text
}

/// `json.dumps(value, sort_keys=True)`.
pub fn dumps_sorted(value: &Value) -> String {
    let mut text = String::new();
    write_value(&mut text, value, KeyOrder::Sorted);
    text
}

#[derive(Clone, Copy)]
enum KeyOrder {
    Kept,
    Sorted,
}

fn write_value(text: &mut String, value: &Value, order: KeyOrder) {
    match value {
        Value::Null => text.push_str("null"),
        Value::Bool(true) => text.push_str("true"),
        Value::Bool(false) => text.push_str("false"),
        Value::Number(number) => match plain_integer(number) {
            Some(digits) => text.push_str(digits),
            None => write_number(text, &PyNumber::from_json(number)),
        },
        Value::String(string) => write_string(text, string),
        Value::Array(items) => {
            text.push('[');
            for (index, item) in items.iter().enumerate() {
                write_separator(text, index);
                write_value(text, item, order);
            }
            text.push(']');
        }
        Value::Object(items) => match order {
            KeyOrder::Kept => write_entries(text, items.iter(), order),
            KeyOrder::Sorted => {
                let mut entries: Vec<(&String, &Value)> = items.iter().collect();
                entries.sort_by(|(left, _), (right, _)| left.chars().cmp(right.chars()));
                write_entries(text, entries.into_iter(), order);
            }
        },
    }
}

fn write_entries<'a>(text: &mut String, entries: impl Iterator<Item = (&'a String, &'a Value)>, order: KeyOrder) {
    text.push('{');
    for (index, (key, item)) in entries.enumerate() {
        write_separator(text, index);
        write_string(text, key);
        text.push_str(": ");
        write_value(text, item, order);
    }
    text.push('}');
}

/// The text of an integer that Python would write just so.
fn plain_integer(number: &Number) -> Option<&str> {
    let text = number.as_str();
    let digits = text.strip_prefix('-').unwrap_or(text);
    let is_plain = digits.bytes().all(|byte| byte.is_ascii_digit()) && (digits == text || digits != "0");
    is_plain.then_some(text)
}

fn write_separator(text: &mut String, index: usize) {
    if index > 0 {
        text.push_str(", ");
    }
}

fn write_number(text: &mut String, number: &PyNumber) {
    match number {
        PyNumber::Float(float) if float.is_nan() => text.push_str("NaN"),
        PyNumber::Float(float) if float.is_infinite() => {
            text.push_str(if *float > 0.0 { "Infinity" } else { "-Infinity" });
        }
        PyNumber::Float(float) => text.push_str(&float_text(*float)),
        PyNumber::Int(_) => text.push_str(&number.text()),
    }
}

/// Adds a string to a text, quoted.
pub fn write_string(text: &mut String, string: &str) {
    text.push('"');
    let mut rest = string;
    while let Some(at) = rest.find(|character| !matches!(character, ' '..='~') || matches!(character, '"' | '\\')) {
        text.push_str(&rest[..at]);
        let mut characters = rest[at..].chars();
        if let Some(character) = characters.next() {
            write_escaped(text, character);
        }
        rest = characters.as_str();
    }
    text.push_str(rest);
    text.push('"');
}

fn write_escaped(text: &mut String, character: char) {
    match character {
        '"' => text.push_str("\\\""),
        '\\' => text.push_str("\\\\"),
        '\n' => text.push_str("\\n"),
        '\r' => text.push_str("\\r"),
        '\t' => text.push_str("\\t"),
        '\u{8}' => text.push_str("\\b"),
        '\u{c}' => text.push_str("\\f"),
        _ => {
            for unit in character.encode_utf16(&mut [0; 2]) {
                // Writing to a String cannot fail.
                let _ = write!(text, "\\u{unit:04x}");
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn text_is_pythons() {
        let value: Value = serde_json::from_str(
            r#"{"b": [1, 2.50, 1E16], "a": "ü\ud83d\ude00\u007f\"\n", "n": null, "t": true, "e": {}}"#,
        )
        .unwrap();
        assert_eq!(
            dumps(&value),
            r#"{"b": [1, 2.5, 1e+16], "a": "\u00fc\ud83d\ude00\u007f\"\n", "n": null, "t": true, "e": {}}"#
        );
        assert_eq!(
            dumps_sorted(&json!({"b": 1, "a": {"d": 1, "c": []}})),
            r#"{"a": {"c": [], "d": 1}, "b": 1}"#
        );
    }
}
