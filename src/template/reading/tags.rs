//! What a plain scalar is: YAML 1.1 as PyYAML understands it.
//!
//! `yes` is a boolean, `017` an octal number, `1:30` a number to the base of 60, and `08` a text.

use num_bigint::BigInt;
use serde_json::Value;

use crate::python::number::PyNumber;
use crate::python::numeral::plain_digit;
use crate::python::repr::repr_text;
use crate::template::error::TemplateError;

#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Tag {
    Str,
    Null,
    Bool,
    Int,
    Float,
    Timestamp,
    Binary,
    Merge,
    /// `=`, the value of a map that stands for a scalar.
    Value,
    Seq,
    Map,
    Set,
    OrderedMap,
    Pairs,
    Unknown(String),
}

const PREFIX: &str = "tag:yaml.org,2002:";

impl Tag {
    pub fn named(name: String) -> Self {
        match name.strip_prefix(PREFIX) {
            Some("str") => Self::Str,
            Some("null") => Self::Null,
            Some("bool") => Self::Bool,
            Some("int") => Self::Int,
            Some("float") => Self::Float,
            Some("timestamp") => Self::Timestamp,
            Some("binary") => Self::Binary,
            Some("merge") => Self::Merge,
            Some("value") => Self::Value,
            Some("seq") => Self::Seq,
            Some("map") => Self::Map,
            Some("set") => Self::Set,
            Some("omap") => Self::OrderedMap,
            Some("pairs") => Self::Pairs,
            _ => Self::Unknown(name),
        }
    }

    /// The name of a tag for which there is no value.
    pub fn without_value(&self) -> Option<String> {
        match self {
            Self::Merge => Some(format!("{PREFIX}merge")),
            Self::Value => Some(format!("{PREFIX}value")),
            Self::Unknown(name) => Some(name.clone()),
            _ => None,
        }
    }

    /// The tag of a scalar without quotes and without a tag of its own.
    pub fn of_plain(text: &str) -> Self {
        let Some(first) = text.bytes().next() else {
            return Self::Null;
        };
        match first {
            b'0'..=b'9' | b'-' | b'+' | b'.' => numeric(text),
            b'y' | b'Y' | b'n' | b'N' | b't' | b'T' | b'f' | b'F' | b'o' | b'O' if boolean(text).is_some() => {
                Self::Bool
            }
            b'~' | b'n' | b'N' if ["~", "null", "Null", "NULL"].contains(&text) => Self::Null,
            b'<' if text == "<<" => Self::Merge,
            b'=' if text == "=" => Self::Value,
            _ => Self::Str,
        }
    }
}

const BOOLEANS: [(&str, bool); 6] = [
    ("yes", true),
    ("no", false),
    ("true", true),
    ("false", false),
    ("on", true),
    ("off", false),
];

/// `yes`, `Yes` and `YES`, but not `yEs`.
fn boolean(text: &str) -> Option<bool> {
    let (_, flag) = BOOLEANS.iter().find(|(word, _)| word.eq_ignore_ascii_case(text))?;
    let rest = &text[1..];
    let is_lower = |text: &str| text.bytes().all(|byte| byte.is_ascii_lowercase());
    let is_upper = |text: &str| text.bytes().all(|byte| byte.is_ascii_uppercase());
    (is_lower(rest) || is_upper(text)).then_some(*flag)
}

fn numeric(text: &str) -> Tag {
    if is_float(text) {
        Tag::Float
    } else if is_integer(text) {
        Tag::Int
    } else if is_timestamp(text) {
        Tag::Timestamp
    } else {
        Tag::Str
    }
}

fn without_sign(text: &str) -> &str {
    text.strip_prefix(['-', '+']).unwrap_or(text)
}

/// The rest after the longest beginning of accepted bytes, and whether there was any.
fn skip(text: &str, accept: impl Fn(u8) -> bool) -> (bool, &str) {
    let length = text.bytes().take_while(|byte| accept(*byte)).count();
    (length > 0, &text[length..])
}

fn is_digit_or_underscore(byte: u8) -> bool {
    byte.is_ascii_digit() || byte == b'_'
}

fn starts_with_digit(text: &str) -> bool {
    text.bytes().next().is_some_and(|byte| byte.is_ascii_digit())
}

fn is_exponent_or_empty(text: &str) -> bool {
    let Some(exponent) = text.strip_prefix(['e', 'E']) else {
        return text.is_empty();
    };
    let Some(digits) = exponent.strip_prefix(['-', '+']) else {
        return false;
    };
    !digits.is_empty() && digits.bytes().all(|byte| byte.is_ascii_digit())
}

/// `:30:05`, at least one part of below 60. Gives the rest after the last part.
fn skip_sexagesimal(text: &str) -> Option<&str> {
    let mut rest = text;
    while let Some(part) = rest.strip_prefix(':') {
        let length = part.bytes().take_while(u8::is_ascii_digit).count();
        let is_part = match length {
            1 => true,
            2 => part.as_bytes()[0] <= b'5',
            _ => false,
        };
        if !is_part {
            return None;
        }
        rest = &part[length..];
    }
    (rest.len() < text.len()).then_some(rest)
}

fn is_float(text: &str) -> bool {
    if text == ".nan" || text == ".NaN" || text == ".NAN" {
        return true;
    }
    let unsigned = without_sign(text);
    if [".inf", ".Inf", ".INF"].contains(&unsigned) {
        return true;
    }
    if let Some(fraction) = text.strip_prefix('.') {
        return starts_with_digit(fraction) && is_exponent_or_empty(skip(fraction, is_digit_or_underscore).1);
    }
    if !starts_with_digit(unsigned) {
        return false;
    }
    let (_, rest) = skip(unsigned, is_digit_or_underscore);
    if let Some(fraction) = rest.strip_prefix('.') {
        return is_exponent_or_empty(skip(fraction, is_digit_or_underscore).1);
    }
    skip_sexagesimal(rest)
        .and_then(|rest| rest.strip_prefix('.'))
        .is_some_and(|fraction| skip(fraction, is_digit_or_underscore).1.is_empty())
}

fn is_integer(text: &str) -> bool {
    let unsigned = without_sign(text);
    let all = |digits: &str, accept: fn(u8) -> bool| !digits.is_empty() && digits.bytes().all(accept);
    if unsigned == "0" {
        return true;
    }
    if let Some(digits) = unsigned.strip_prefix("0b") {
        return all(digits, |byte| matches!(byte, b'0' | b'1' | b'_'));
    }
    if let Some(digits) = unsigned.strip_prefix("0x") {
        return all(digits, |byte| byte.is_ascii_hexdigit() || byte == b'_');
    }
    if let Some(digits) = unsigned.strip_prefix('0') {
        return all(digits, |byte| matches!(byte, b'0'..=b'7' | b'_'));
    }
    if !starts_with_digit(unsigned) {
        return false;
    }
    let (_, rest) = skip(unsigned, is_digit_or_underscore);
    rest.is_empty() || skip_sexagesimal(rest) == Some("")
}

/// `2013-05-23`, or with a time and perhaps a zone.
fn is_timestamp(text: &str) -> bool {
    let Some((date_length, time)) = skip_date(text) else {
        return false;
    };
    if time.is_empty() {
        return date_length == "2013-05-23".len();
    }
    let (has_blanks, after_blanks) = skip(time, |byte| byte == b' ' || byte == b'\t');
    let time = match time.strip_prefix(['T', 't']) {
        Some(time) => time,
        None if has_blanks => after_blanks,
        None => return false,
    };
    is_time(time)
}

/// Skips so many digits.
fn digits(text: &str, counts: std::ops::RangeInclusive<usize>) -> Option<&str> {
    let length = text.bytes().take_while(u8::is_ascii_digit).count().min(*counts.end());
    counts.contains(&length).then(|| &text[length..])
}

fn skip_date(text: &str) -> Option<(usize, &str)> {
    let month = digits(text, 4..=4)?.strip_prefix('-')?;
    let day = digits(month, 1..=2)?.strip_prefix('-')?;
    let rest = digits(day, 1..=2)?;
    Some((text.len() - rest.len(), rest))
}

fn is_time(text: &str) -> bool {
    let to_seconds = || -> Option<&str> {
        let minute = digits(text, 1..=2)?.strip_prefix(':')?;
        let second = digits(minute, 2..=2)?.strip_prefix(':')?;
        digits(second, 2..=2)
    };
    let Some(rest) = to_seconds() else {
        return false;
    };
    let rest = match rest.strip_prefix('.') {
        Some(fraction) => skip(fraction, |byte| byte.is_ascii_digit()).1,
        None => rest,
    };
    if rest.is_empty() {
        return true;
    }
    let (_, zone) = skip(rest, |byte| byte == b' ' || byte == b'\t');
    zone == "Z" || zone.strip_prefix(['-', '+']).is_some_and(is_zone)
}

fn is_zone(text: &str) -> bool {
    let Some(rest) = digits(text, 1..=2) else {
        return false;
    };
    rest.is_empty() || rest.strip_prefix(':').and_then(|minutes| digits(minutes, 2..=2)) == Some("")
}

pub(super) fn bool_value(text: &str) -> Result<Value, TemplateError> {
    let word = text.to_lowercase();
    let found = BOOLEANS.iter().find(|(known, _)| *known == word);
    found
        .map(|(_, flag)| Value::Bool(*flag))
        .ok_or_else(|| TemplateError::Python {
            class: "KeyError",
            message: repr_text(&word),
        })
}

/// The same limit as Python's, for the same reason: conversion takes time that grows with the square of the length.
const MOST_DIGITS: usize = 4300;

pub(super) fn int_value(text: &str) -> Result<Value, TemplateError> {
    let plain = text.replace('_', "");
    let (is_negative, digits) = signed(&plain)?;
    let invalid = |digits: &str, base: u32| {
        let shown = repr_text(digits);
        TemplateError::value_error(format!("invalid literal for int() with base {base}: {shown}"))
    };
    let parse = |digits: &str, base: u32| {
        if base == 10 && digits.len() > MOST_DIGITS {
            return Err(TemplateError::value_error(format!(
                "Exceeds the limit ({MOST_DIGITS} digits) for integer string conversion: value has {} digits; use \
                 sys.set_int_max_str_digits() to increase the limit",
                digits.len()
            )));
        }
        // Python's `int` takes digits of all scripts, and the mark of its base once more.
        let plain: String = digits.trim().to_lowercase().chars().map(plain_digit).collect();
        let mark = match base {
            2 => "0b",
            8 => "0o",
            16 => "0x",
            _ => "",
        };
        let plain = plain.strip_prefix(mark).unwrap_or(&plain);
        BigInt::parse_bytes(plain.as_bytes(), base).ok_or_else(|| invalid(digits, base))
    };
    let magnitude = if digits == "0" {
        BigInt::ZERO
    } else if let Some(digits) = digits.strip_prefix("0b") {
        parse(digits, 2)?
    } else if let Some(digits) = digits.strip_prefix("0x") {
        parse(digits, 16)?
    } else if digits.starts_with('0') {
        parse(digits, 8)?
    } else if digits.contains(':') {
        let mut sum = BigInt::ZERO;
        for part in digits.split(':') {
            sum = sum * 60 + parse(part, 10)?;
            if is_too_long(&sum) {
                break;
            }
        }
        sum
    } else if digits.len() <= 18 && digits.bytes().all(|byte| byte.is_ascii_digit()) {
        // The usual case, without a detour.
        let small: i64 = digits.parse().map_err(|_| invalid(digits, 10))?;
        return Ok(Value::from(if is_negative { -small } else { small }));
    } else {
        parse(digits, 10)?
    };
    // Python reads such a number, and can do nothing with it: neither show nor store it.
    if is_too_long(&magnitude) {
        return Err(TemplateError::value_error(format!(
            "Exceeds the limit ({MOST_DIGITS} digits) for integer string conversion; use \
             sys.set_int_max_str_digits() to increase the limit"
        )));
    }
    Ok(PyNumber::Int(if is_negative { -magnitude } else { magnitude }).to_json())
}

/// Whether a number has more decimal digits than Python writes.
fn is_too_long(magnitude: &BigInt) -> bool {
    // A digit takes more than three bits.
    let may_be = magnitude.bits() > MOST_DIGITS as u64 * 3;
    may_be && *magnitude >= BigInt::from(10).pow(MOST_DIGITS as u32)
}

fn signed(text: &str) -> Result<(bool, &str), TemplateError> {
    match text.bytes().next() {
        None => Err(TemplateError::Python {
            class: "IndexError",
            message: "string index out of range".to_owned(),
        }),
        Some(b'-') => Ok((true, &text[1..])),
        Some(b'+') => Ok((false, &text[1..])),
        Some(_) => Ok((false, text)),
    }
}

pub(super) fn float_value(text: &str) -> Result<Value, TemplateError> {
    let plain = text.replace('_', "").to_lowercase();
    let (is_negative, digits) = signed(&plain)?;
    let parse = |digits: &str| {
        crate::python::number::parse_float(digits).ok_or_else(|| {
            let shown = repr_text(digits);
            TemplateError::value_error(format!("could not convert string to float: {shown}"))
        })
    };
    let magnitude = match digits {
        ".inf" => f64::INFINITY,
        // JSON has no such number.
        ".nan" => return Ok(Value::Null),
        digits if digits.contains(':') => {
            let mut sum = 0.0;
            let mut base = 1.0;
            for part in digits.rsplit(':') {
                sum += parse(part)? * base;
                base *= 60.0;
            }
            sum
        }
        digits => parse(digits)?,
    };
    let number = PyNumber::Float(if is_negative { -magnitude } else { magnitude });
    Ok(number.to_json())
}

#[cfg(test)]
mod tests {
    use super::*;
    use rstest::rstest;
    use serde_json::json;

    #[rstest]
    #[case("", Tag::Null)]
    #[case("~", Tag::Null)]
    #[case("nULL", Tag::Str)]
    #[case("yes", Tag::Bool)]
    #[case("Off", Tag::Bool)]
    #[case("oFF", Tag::Str)]
    #[case("y", Tag::Str)]
    #[case("017", Tag::Int)]
    #[case("08", Tag::Str)]
    #[case("0o7", Tag::Str)]
    #[case("0x_1F", Tag::Int)]
    #[case("+1_000", Tag::Int)]
    #[case("1:30", Tag::Int)]
    #[case("1:60", Tag::Str)]
    #[case("1:30.5", Tag::Float)]
    #[case("1e3", Tag::Str)]
    #[case("1.e+3", Tag::Float)]
    #[case("1.5e3", Tag::Str)]
    #[case("-.5", Tag::Str)]
    #[case(".5", Tag::Float)]
    #[case("-.inf", Tag::Float)]
    #[case("1.2.3", Tag::Str)]
    #[case("2013-05-23", Tag::Timestamp)]
    #[case("2013-5-23", Tag::Str)]
    #[case("2013-5-3 1:02:03.4 +1:30", Tag::Timestamp)]
    #[case("<<", Tag::Merge)]
    #[case("=", Tag::Value)]
    fn plain_scalars(#[case] text: &str, #[case] tag: Tag) {
        assert_eq!(Tag::of_plain(text), tag);
    }

    #[test]
    fn numbers() {
        assert_eq!(int_value("-017").unwrap(), json!(-15));
        assert_eq!(int_value("-0o17").unwrap(), json!(-15));
        assert_eq!(int_value("0x0XfF").unwrap(), json!(255));
        assert_eq!(int_value("٣").unwrap(), json!(3));
        assert!(int_value("0o18").is_err());
        assert_eq!(int_value("1:30").unwrap(), json!(90));
        assert_eq!(int_value("0b1_0").unwrap(), json!(2));
        assert_eq!(
            int_value("123456789012345678901234567890").unwrap().to_string(),
            "123456789012345678901234567890"
        );
        assert_eq!(float_value("1:30.5").unwrap().to_string(), "90.5");
        assert_eq!(float_value("1_0.50").unwrap().to_string(), "10.5");
        assert_eq!(float_value("-.inf").unwrap().to_string(), "-1e+999");
        assert!(int_value("0x_").is_err());
    }

    #[test]
    fn numbers_are_no_longer_than_python_can_write_them() {
        let nines = "9".repeat(4300);
        assert!(int_value(&nines).is_ok());
        assert!(int_value(&format!("1{}", ":59".repeat(2300))).is_ok());
        for text in [
            format!("{nines}9"),
            format!("{nines}:10"),
            format!("-0x{}", "F".repeat(4000)),
            format!("0b{}", "1".repeat(20_000)),
            format!("0{}", "7".repeat(5000)),
            format!("1{}", ":59".repeat(150_000)),
        ] {
            let error = int_value(&text).unwrap_err().to_string();
            assert!(error.starts_with("Exceeds the limit (4300 digits) for integer string conversion"));
        }
    }
}
