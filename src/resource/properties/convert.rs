//! From what a template gives to a value of a type. The rules, and the words in which they refuse, are Python's: what
//! `int()`, `float()` and `str()` make of a value decides.

use serde_json::Value;

use crate::python::json::dumps;
use crate::python::number::{PyNumber, parse_float, parse_int};
use crate::python::repr::{repr, repr_text, to_text};
use crate::python::value::class_name;
use crate::resource::schema::PropertyType;

/// `allow_conversion`: texts are taken for the lists and maps that they stand for.
pub fn converted(kind: PropertyType, value: Value, allow_conversion: bool) -> Result<Value, String> {
    match kind {
        PropertyType::String => to_string(value),
        PropertyType::Integer => to_integer(value),
        PropertyType::Number => to_number(value),
        PropertyType::Boolean => to_boolean(value),
        PropertyType::Map => to_map(value, allow_conversion),
        PropertyType::List => to_list(value, allow_conversion),
        PropertyType::Any => Ok(value),
    }
}

fn to_integer(value: Value) -> Result<Value, String> {
    let refused = |value: &Value| format!("Value '{}' is not an integer", to_text(value));
    let integer = match &value {
        Value::String(text) => parse_int(text).ok_or_else(|| refused(&value))?,
        Value::Bool(_) | Value::Number(_) => match PyNumber::of(&value) {
            Some(PyNumber::Float(float)) if float.is_infinite() => {
                return Err("cannot convert float infinity to integer".to_owned());
            }
            Some(PyNumber::Float(float)) => PyNumber::Float(float.trunc())
                .as_exact_integer()
                .ok_or_else(|| refused(&value))?,
            Some(PyNumber::Int(integer)) => integer,
            None => return Err(refused(&value)),
        },
        _ => return Err(no_number(&value)),
    };
    Ok(PyNumber::Int(integer).to_json())
}

fn to_number(value: Value) -> Result<Value, String> {
    match &value {
        Value::Bool(_) | Value::Number(_) => Ok(value),
        Value::String(text) => parse_int(text)
            .map(PyNumber::Int)
            .or_else(|| parse_float(text).map(PyNumber::Float))
            .map(|number| number.to_json())
            .ok_or_else(|| format!("could not convert string to float: {}", repr_text(text))),
        _ => Err(no_number(&value)),
    }
}

fn no_number(value: &Value) -> String {
    let class = class_name(value);
    format!("int() argument must be a string, a bytes-like object or a real number, not '{class}'")
}

fn to_string(value: Value) -> Result<Value, String> {
    match &value {
        Value::String(_) => Ok(value),
        Value::Bool(_) => Ok(to_text(&value).into()),
        Value::Number(_) if PyNumber::of(&value).is_some_and(|number| !number.is_float()) => Ok(to_text(&value).into()),
        _ => Err(format!("Value must be a string; got {}", repr(&value))),
    }
}

/// Only the words themselves: numbers are not taken for booleans.
fn to_boolean(value: Value) -> Result<Value, String> {
    let refused = |text: &str| format!("\"{text}\" is not a valid boolean");
    match &value {
        Value::Bool(_) => Ok(value),
        Value::String(text) => match text.to_lowercase().as_str() {
            "true" => Ok(Value::Bool(true)),
            "false" => Ok(Value::Bool(false)),
            other => Err(refused(other)),
        },
        _ => Err(refused(&to_text(&value))),
    }
}

/// A map; or, where that may be converted, a text as it is and a list as the JSON text that a parameter takes.
fn to_map(value: Value, allow_conversion: bool) -> Result<Value, String> {
    match &value {
        Value::Object(_) => Ok(value),
        Value::String(_) if allow_conversion => Ok(value),
        Value::Array(_) if allow_conversion => Ok(dumps(&value).into()),
        _ => Err(format!("\"{}\" is not a map", to_text(&value))),
    }
}

/// A list; or, where that may be converted, the parts of a comma-separated text.
fn to_list(value: Value, allow_conversion: bool) -> Result<Value, String> {
    match &value {
        Value::Array(_) => Ok(value),
        Value::String(text) if allow_conversion => Ok(split_at_commas(text)),
        _ => Err(format!("\"{}\" is not a list", repr(&value))),
    }
}

fn split_at_commas(text: &str) -> Value {
    if text.is_empty() {
        return Value::Array(Vec::new());
    }
    text.split(',').map(Value::from).collect()
}
