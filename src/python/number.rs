//! Numbers as Python has them: integers of any size and IEEE floats, compared across the two kinds.
//!
//! A `serde_json::Number` keeps the text it was read from, so `1.0` and `1` differ in it although Python calls them
//! equal, and `1E3` is not what Python would write. Everything that compares or prints numbers goes through here.

use std::cmp::Ordering;

use num_bigint::{BigInt, Sign};
use serde_json::{Number, Value};

use super::text::in_ascii_digits;

/// A number in Python's sense.
#[derive(Debug, Clone)]
pub enum PyNumber {
    Int(BigInt),
    Float(f64),
}

/// Python refuses to convert longer texts to an integer; a tenant's text is no reason to do quadratic work either.
pub(super) const LONGEST_INTEGER_TEXT: usize = 4300;

impl PyNumber {
    /// The number that Python sees in a value: `True` and `False` are integers too.
    pub fn of(value: &Value) -> Option<Self> {
        match value {
            Value::Bool(flag) => Some(Self::Int(BigInt::from(u8::from(*flag)))),
            Value::Number(number) => Some(Self::from_json(number)),
            _ => None,
        }
    }

    pub fn from_json(number: &Number) -> Self {
        if let Some(small) = number.as_i64() {
            return Self::Int(BigInt::from(small));
        }
        let text = number.as_str();
        if is_integer_text(text)
            && let Some(integer) = parse_int(text)
        {
            return Self::Int(integer);
        }
        Self::Float(text.parse().unwrap_or(f64::NAN))
    }

    /// The JSON value of this number. Infinity becomes a number that overflows to infinity again wherever it is read;
    /// JSON has nothing for NaN, which becomes null.
    pub fn to_json(&self) -> Value {
        let text = match self {
            Self::Int(integer) => integer.to_string(),
            Self::Float(float) if float.is_infinite() && *float > 0.0 => "1e999".to_owned(),
            Self::Float(float) if float.is_infinite() => "-1e999".to_owned(),
            Self::Float(float) => float_text(*float),
        };
        text.parse::<Number>().map_or(Value::Null, Value::Number)
    }

    /// `str()` of the number, which is its `repr()` as well.
    pub fn text(&self) -> String {
        match self {
            Self::Int(integer) => integer.to_string(),
            Self::Float(float) => float_text(*float),
        }
    }

    pub fn is_float(&self) -> bool {
        matches!(self, Self::Float(_))
    }

    pub fn is_zero(&self) -> bool {
        match self {
            Self::Int(integer) => integer.sign() == Sign::NoSign,
            Self::Float(float) => *float == 0.0,
        }
    }

    /// The integer that equals this number, if there is one.
    pub fn as_exact_integer(&self) -> Option<BigInt> {
        match self {
            Self::Int(integer) => Some(integer.clone()),
            Self::Float(float) => integer_of_float(*float),
        }
    }

    pub fn compare(&self, other: &Self) -> Option<Ordering> {
        match (self, other) {
            (Self::Int(left), Self::Int(right)) => Some(left.cmp(right)),
            (Self::Float(left), Self::Float(right)) => left.partial_cmp(right),
            (Self::Int(left), Self::Float(right)) => compare_integer_with_float(left, *right),
            (Self::Float(left), Self::Int(right)) => compare_integer_with_float(right, *left).map(Ordering::reverse),
        }
    }

    pub fn equals(&self, other: &Self) -> bool {
        self.compare(other) == Some(Ordering::Equal)
    }

    /// Python's `%`, whose result has the sign of the divisor. `None` where Python raises ZeroDivisionError.
    pub fn modulo(&self, divisor: &Self) -> Option<Self> {
        if divisor.is_zero() {
            return None;
        }
        if let (Self::Int(left), Self::Int(right)) = (self, divisor) {
            let remainder = left % right;
            let signs_differ = remainder.sign() != Sign::NoSign && remainder.sign() != right.sign();
            return Some(Self::Int(if signs_differ { remainder + right } else { remainder }));
        }
        let (left, right) = (self.as_f64(), divisor.as_f64());
        let remainder = left % right;
        let signs_differ = remainder != 0.0 && (remainder < 0.0) != (right < 0.0);
        Some(Self::Float(if signs_differ { remainder + right } else { remainder }))
    }

    pub fn add(&self, other: &Self) -> Self {
        match (self, other) {
            (Self::Int(left), Self::Int(right)) => Self::Int(left + right),
            _ => Self::Float(self.as_f64() + other.as_f64()),
        }
    }

    pub fn as_f64(&self) -> f64 {
        match self {
            Self::Int(integer) => integer.to_string().parse().unwrap_or(f64::INFINITY),
            Self::Float(float) => *float,
        }
    }
}

/// Float text as `repr(float)` writes it: `1e+16`, `0.1`, `1.0`, `inf`.
pub fn float_text(float: f64) -> String {
    rustpython_literal::float::to_string(float)
}

/// Python's `int(text)`: surrounding blanks, a sign, single underscores between digits and the digits of all scripts are
/// allowed.
pub fn parse_int(text: &str) -> Option<BigInt> {
    let text = in_ascii_digits(text.trim());
    let trimmed = text.as_ref();
    if trimmed.len() > LONGEST_INTEGER_TEXT {
        return None;
    }
    let digits = trimmed.strip_prefix(['+', '-']).unwrap_or(trimmed);
    if !are_python_digits(digits) {
        return None;
    }
    let plain: String = digits.chars().filter(|c| *c != '_').collect();
    let magnitude: BigInt = plain.parse().ok()?;
    Some(if trimmed.starts_with('-') {
        -magnitude
    } else {
        magnitude
    })
}

/// Python's `float(text)`.
pub fn parse_float(text: &str) -> Option<f64> {
    let text = in_ascii_digits(text.trim());
    let trimmed = text.as_ref();
    let body = trimmed.strip_prefix(['+', '-']).unwrap_or(trimmed);
    if ["inf", "infinity", "nan"].contains(&body.to_ascii_lowercase().as_str()) {
        return trimmed.parse().ok();
    }
    let well_formed = body.starts_with(|c: char| c.is_ascii_digit() || c == '.')
        && body
            .chars()
            .all(|c| c.is_ascii_digit() || matches!(c, '.' | 'e' | 'E' | '+' | '-' | '_'))
        && underscores_separate_digits(body);
    if !well_formed {
        return None;
    }
    trimmed.replace('_', "").parse().ok()
}

fn is_integer_text(text: &str) -> bool {
    !text.contains(['.', 'e', 'E'])
}

fn are_python_digits(digits: &str) -> bool {
    !digits.is_empty() && digits.chars().all(|c| c.is_ascii_digit() || c == '_') && underscores_separate_digits(digits)
}

fn underscores_separate_digits(text: &str) -> bool {
    let bytes = text.as_bytes();
    let is_digit_at = |index: Option<usize>| index.and_then(|index| bytes.get(index)).is_some_and(u8::is_ascii_digit);
    bytes
        .iter()
        .enumerate()
        .filter(|(_, byte)| **byte == b'_')
        .all(|(index, _)| is_digit_at(index.checked_sub(1)) && is_digit_at(Some(index + 1)))
}

fn integer_of_float(float: f64) -> Option<BigInt> {
    if !float.is_finite() || float.fract() != 0.0 {
        return None;
    }
    format!("{float:.0}").parse().ok()
}

fn compare_integer_with_float(integer: &BigInt, float: f64) -> Option<Ordering> {
    if float.is_nan() {
        return None;
    }
    if float.is_infinite() {
        return Some(if float > 0.0 { Ordering::Less } else { Ordering::Greater });
    }
    let whole = integer_of_float(float.trunc())?;
    Some(
        integer
            .cmp(&whole)
            .then_with(|| 0.0_f64.total_cmp(&(float.fract() + 0.0))),
    )
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn number(text: &str) -> PyNumber {
        PyNumber::from_json(&text.parse().unwrap())
    }

    #[test]
    fn texts_are_pythons() {
        for (read, written) in [
            ("1E16", "1e+16"),
            ("1.0", "1.0"),
            ("0.10", "0.1"),
            ("-0", "0"),
            ("1e5", "100000.0"),
            ("0.00001", "1e-05"),
            ("123456789012345678901234567890", "123456789012345678901234567890"),
            ("1e999", "inf"),
        ] {
            assert_eq!(number(read).text(), written);
        }
    }

    #[test]
    fn kinds_compare_with_each_other() {
        assert!(number("1").equals(&number("1.0")));
        assert!(PyNumber::of(&json!(true)).unwrap().equals(&number("1.0")));
        assert!(!number("9007199254740993").equals(&number("9007199254740992.0")));
        assert_eq!(number("2").compare(&number("2.5")), Some(Ordering::Less));
        assert_eq!(number("-2").compare(&number("-2.5")), Some(Ordering::Greater));
        assert_eq!(number("0").compare(&number("-0.0")), Some(Ordering::Equal));
    }

    #[test]
    fn modulo_has_the_sign_of_the_divisor() {
        assert_eq!(number("-3").modulo(&number("5")).unwrap().text(), "2");
        assert_eq!(number("3").modulo(&number("-5")).unwrap().text(), "-2");
        assert_eq!(number("5.5").modulo(&number("2")).unwrap().text(), "1.5");
        assert!(number("5").modulo(&number("0")).is_none());
    }

    #[test]
    fn texts_are_read_as_python_reads_them() {
        assert_eq!(parse_int(" -1_000 "), Some(BigInt::from(-1000)));
        for refused in ["", "1_", "_1", "1__0", "1.0", "0x1", "--1"] {
            assert_eq!(parse_int(refused), None, "{refused}");
        }
        assert_eq!(parse_float(".5"), Some(0.5));
        assert_eq!(parse_float("1e3"), Some(1000.0));
        assert!(parse_float("-Infinity").unwrap().is_infinite());
        assert_eq!(parse_float("1e"), None);
        assert_eq!(parse_float("e1"), None);
    }
}
