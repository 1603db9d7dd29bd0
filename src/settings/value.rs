//! From the text of a file to the value of an option, as oslo.config's types do it.

use figment::value::{Dict, Empty, Value};

use super::address;
use super::http_url::http_url;
use super::option::Kind;

/// The value of an option.
#[derive(Clone, Debug, PartialEq)]
pub enum OptionValue {
    Unset,
    Text(String),
    Boolean(bool),
    Integer(i64),
    Number(f64),
    Texts(Vec<String>),
}

impl OptionValue {
    /// One text becomes a value; the error says what is wrong with it, without naming the option.
    pub fn from_text(kind: Kind, text: &str) -> Result<Self, String> {
        match kind {
            Kind::Text | Kind::Repeated => Ok(OptionValue::Text(text.to_owned())),
            Kind::Choice { values, ignore_case } => choice(values, ignore_case, text),
            Kind::Microversion { major } => microversion(major, text),
            // Nowhere, if nothing is given.
            Kind::ListenAddress if text.is_empty() => Ok(OptionValue::Text(String::new())),
            Kind::ListenAddress => address::listening(text).map(|()| OptionValue::Text(text.to_owned())),
            Kind::HttpUrl => http_url(text).map(|()| OptionValue::Text(text.to_owned())),
            Kind::Boolean => boolean(text),
            Kind::Integer { min, max } => integer(min, max, text),
            Kind::Number { min, max } => number(min, max, text),
            Kind::List => Ok(OptionValue::Texts(list_items(text))),
            Kind::HttpUrlList => http_urls(text),
        }
    }

    /// What `$option` in another value becomes: Python's `str()` of it.
    pub fn to_substitute(&self) -> String {
        match self {
            OptionValue::Unset => String::new(),
            OptionValue::Text(text) => text.clone(),
            OptionValue::Boolean(true) => "True".to_owned(),
            OptionValue::Boolean(false) => "False".to_owned(),
            OptionValue::Integer(number) => number.to_string(),
            OptionValue::Number(number) => rustpython_literal::float::to_string(*number),
            OptionValue::Texts(texts) => {
                let items: Vec<String> = texts.iter().map(|text| python_repr(text)).collect();
                format!("[{}]", items.join(", "))
            }
        }
    }
}

impl From<OptionValue> for Value {
    fn from(value: OptionValue) -> Self {
        match value {
            OptionValue::Unset => Value::from(Empty::None),
            OptionValue::Text(text) => Value::from(text),
            OptionValue::Boolean(truth) => Value::from(truth),
            OptionValue::Integer(number) => Value::from(number),
            OptionValue::Number(number) => Value::from(number),
            OptionValue::Texts(texts) => Value::from(texts),
        }
    }
}

/// A group of options, as figment holds it.
pub type GroupValues = Dict;

fn python_repr(text: &str) -> String {
    use rustpython_literal::escape::UnicodeEscape;
    UnicodeEscape::new_repr(text.as_ref())
        .str_repr()
        .to_string()
        .unwrap_or_else(|| text.to_owned())
}

fn choice(values: &[&str], ignore_case: bool, text: &str) -> Result<OptionValue, String> {
    let allowed = values.iter().any(|value| {
        if ignore_case {
            value.to_lowercase() == text.to_lowercase()
        } else {
            *value == text
        }
    });
    if allowed {
        return Ok(OptionValue::Text(text.to_owned()));
    }
    let quoted: Vec<String> = values.iter().map(|value| format!("'{value}'")).collect();
    Err(format!("must be one of {}, not '{text}'", quoted.join(", ")))
}

fn microversion(major: &str, text: &str) -> Result<OptionValue, String> {
    let minor = text.strip_prefix(major).and_then(|rest| rest.strip_prefix('.'));
    match minor {
        Some(minor) if !minor.is_empty() && minor.chars().all(char::is_numeric) => {
            Ok(OptionValue::Text(text.to_owned()))
        }
        _ => Err(format!("must be {major}. and a number, not '{text}'")),
    }
}

fn boolean(text: &str) -> Result<OptionValue, String> {
    match text.to_lowercase().as_str() {
        "true" | "1" | "on" | "yes" => Ok(OptionValue::Boolean(true)),
        "false" | "0" | "off" | "no" => Ok(OptionValue::Boolean(false)),
        _ => Err(format!("must be true or false (or 1/0, on/off, yes/no), not '{text}'")),
    }
}

fn integer(min: Option<i64>, max: Option<i64>, text: &str) -> Result<OptionValue, String> {
    if text.trim().is_empty() {
        return Ok(OptionValue::Unset);
    }
    let number: i64 = plain_digits(text)
        .and_then(|digits| digits.parse().ok())
        .ok_or(format!("'{text}' is not a whole number"))?;
    match (min, max) {
        (Some(least), _) if number < least => Err(format!("{number} is below the least possible, {least}")),
        (_, Some(most)) if number > most => Err(format!("{number} is above the most possible, {most}")),
        _ => Ok(OptionValue::Integer(number)),
    }
}

fn number(min: Option<f64>, max: Option<f64>, text: &str) -> Result<OptionValue, String> {
    if text.trim().is_empty() {
        return Ok(OptionValue::Unset);
    }
    let number: f64 = plain_digits(text)
        .and_then(|digits| digits.parse().ok())
        .ok_or(format!("'{text}' is not a number"))?;
    match (min, max) {
        (Some(least), _) if number < least => Err(format!("{number} is below the least possible, {least}")),
        (_, Some(most)) if number > most => Err(format!("{number} is above the most possible, {most}")),
        _ => Ok(OptionValue::Number(number)),
    }
}

/// Python allows `1_000` in numbers, between digits alone.
fn plain_digits(text: &str) -> Option<String> {
    let text = text.trim();
    let characters: Vec<char> = text.chars().collect();
    for (index, character) in characters.iter().enumerate() {
        if *character == '_' {
            let before = index.checked_sub(1).and_then(|before| characters.get(before));
            let after = characters.get(index + 1);
            if !before.is_some_and(char::is_ascii_digit) || !after.is_some_and(char::is_ascii_digit) {
                return None;
            }
        }
    }
    Some(text.replace('_', ""))
}

fn list_items(text: &str) -> Vec<String> {
    let text = text.trim().trim_end_matches(',');
    if text.is_empty() {
        return Vec::new();
    }
    text.split(',').map(|item| item.trim().to_owned()).collect()
}

/// A URL may hold commas: what is no URL by itself is tried together with what follows.
fn http_urls(text: &str) -> Result<OptionValue, String> {
    let text = text.trim().trim_end_matches(',');
    let mut urls = Vec::new();
    let mut pending: Option<String> = None;
    let mut problem = String::new();
    for part in text.split(',').filter(|_| !text.is_empty()) {
        let candidate = match pending.take() {
            Some(earlier) => format!("{earlier},{part}"),
            None => part.to_owned(),
        };
        match http_url(candidate.trim()) {
            Ok(()) => urls.push(candidate.trim().to_owned()),
            Err(found) => {
                problem = found;
                pending = Some(candidate);
            }
        }
    }
    match pending {
        Some(_) => Err(problem),
        None => Ok(OptionValue::Texts(urls)),
    }
}
