//! Numbers in text as `int()` and `float()` read them: digits of all scripts, blanks around, and Python's complaints.

use std::borrow::Cow;

use num_bigint::BigInt;

use super::error::PythonError;
use super::number::{LONGEST_INTEGER_TEXT, parse_float, parse_int};
use super::repr::repr_text;
use super::text::trim;

/// Where the ten decimal digits of a script begin.
const ZEROS: [u32; 65] = [
    0x660, 0x6f0, 0x7c0, 0x966, 0x9e6, 0xa66, 0xae6, 0xb66, 0xbe6, 0xc66, 0xce6, 0xd66, 0xde6, 0xe50, 0xed0, 0xf20,
    0x1040, 0x1090, 0x17e0, 0x1810, 0x1946, 0x19d0, 0x1a80, 0x1a90, 0x1b50, 0x1bb0, 0x1c40, 0x1c50, 0xa620, 0xa8d0,
    0xa900, 0xa9d0, 0xa9f0, 0xaa50, 0xabf0, 0xff10, 0x104a0, 0x10d30, 0x11066, 0x110f0, 0x11136, 0x111d0, 0x112f0,
    0x11450, 0x114d0, 0x11650, 0x116c0, 0x11730, 0x118e0, 0x11950, 0x11c50, 0x11d50, 0x11da0, 0x16a60, 0x16ac0,
    0x16b50, 0x1d7ce, 0x1d7d8, 0x1d7e2, 0x1d7ec, 0x1d7f6, 0x1e140, 0x1e2f0, 0x1e950, 0x1fbf0,
];

/// The ASCII digit that a decimal digit of any script stands for; other characters are themselves.
pub fn plain_digit(character: char) -> char {
    if character.is_ascii() {
        return character;
    }
    let code = u32::from(character);
    ZEROS
        .iter()
        .find(|zero| (**zero..**zero + 10).contains(&code))
        .and_then(|zero| char::from_digit(code - zero, 10))
        .unwrap_or(character)
}

pub fn is_decimal_digit(character: char) -> bool {
    plain_digit(character).is_ascii_digit()
}

fn plain_digits(text: &str) -> Cow<'_, str> {
    if text.is_ascii() {
        Cow::Borrowed(text)
    } else {
        Cow::Owned(text.chars().map(plain_digit).collect())
    }
}

/// `int(text)`.
pub fn int(text: &str) -> Result<BigInt, PythonError> {
    let plain = plain_digits(trim(text));
    let digits = plain.chars().filter(char::is_ascii_digit).count();
    let is_numeral = plain.chars().all(|c| c.is_ascii_digit() || "+-_".contains(c));
    if digits > LONGEST_INTEGER_TEXT && is_numeral {
        return Err(PythonError::value_error(format!(
            "Exceeds the limit (4300 digits) for integer string conversion: value has {digits} digits; use \
             sys.set_int_max_str_digits() to increase the limit"
        )));
    }
    parse_int(&plain).ok_or_else(|| {
        let shown: String = repr_text(text).chars().take(200).collect();
        PythonError::value_error(format!("invalid literal for int() with base 10: {shown}"))
    })
}

/// `float(text)`.
pub fn float(text: &str) -> Result<f64, PythonError> {
    parse_float(&plain_digits(trim(text)))
        .ok_or_else(|| PythonError::value_error(format!("could not convert string to float: {}", repr_text(text))))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numerals_of_all_scripts() {
        assert_eq!(int(" ١_٢ ").unwrap(), BigInt::from(12));
        assert_eq!(float("٣.٥").unwrap(), 3.5);
        assert_eq!(
            int("1.5").unwrap_err().to_string(),
            "invalid literal for int() with base 10: '1.5'"
        );
        assert!(
            int(&"1".repeat(5000))
                .unwrap_err()
                .to_string()
                .contains("value has 5000 digits")
        );
    }
}
