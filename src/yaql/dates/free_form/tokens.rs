//! The pieces of a text, and the numbers among them.

use super::{NoDate, Read};
use crate::python::numeral::{int, is_decimal_digit, plain_digit};
use crate::python::text::is_blank;

/// Cuts a text where the kind of character changes. Dots stay in a token until it is clear that they are separators.
pub fn tokens(text: &str) -> Vec<String> {
    let mut tokens = Vec::new();
    let mut characters = text.chars().filter(|c| *c != '\0').peekable();
    while let Some(first) = characters.next() {
        if !first.is_alphabetic() && !is_decimal_digit(first) {
            tokens.push(if is_blank(first) { ' ' } else { first }.to_string());
            continue;
        }
        let mut token = String::from(first);
        let mut in_number = is_decimal_digit(first);
        let mut has_letters = false;
        let mut has_dots = false;
        while let Some(next) = characters.peek().copied() {
            has_letters |= !in_number;
            let (same_kind, other_kind) = if in_number {
                (is_decimal_digit(next), next.is_alphabetic())
            } else {
                (next.is_alphabetic(), is_decimal_digit(next))
            };
            let is_decimal_comma = next == ',' && in_number && !has_dots && token.len() >= 2;
            if next == '.' || is_decimal_comma {
                has_dots = true;
            } else if has_dots && other_kind && token.ends_with('.') {
                in_number = !in_number;
            } else if !same_kind {
                break;
            }
            token.push(next);
            characters.next();
        }
        let dots = token.matches('.').count();
        if has_dots && (has_letters || dots > 1 || token.ends_with(['.', ','])) {
            split_at_dots(&token, &mut tokens);
        } else if has_dots && in_number && dots == 0 {
            tokens.push(token.replace(',', "."));
        } else {
            tokens.push(token);
        }
    }
    tokens
}

fn split_at_dots(token: &str, tokens: &mut Vec<String>) {
    let mut part = String::new();
    for character in token.chars() {
        if character == '.' || character == ',' {
            if !part.is_empty() {
                tokens.push(std::mem::take(&mut part));
            }
            tokens.push(character.to_string());
        } else {
            part.push(character);
        }
    }
    if !part.is_empty() {
        tokens.push(part);
    }
}

/// A number with the digits after its point.
#[derive(Clone, Copy)]
pub struct Decimal {
    pub whole: i64,
    pub fraction: u128,
    /// How many the fraction counts to.
    unit: u128,
}

impl Decimal {
    pub fn read(token: &str) -> Option<Self> {
        let plain: String = token.chars().map(plain_digit).collect();
        let (whole, fraction) = plain.split_once('.').unwrap_or((plain.as_str(), ""));
        let all_digits = |text: &str| text.bytes().all(|byte| byte.is_ascii_digit());
        if whole.is_empty() && fraction.is_empty() || !all_digits(whole) || !all_digits(fraction) {
            return None;
        }
        const MOST_DIGITS: usize = 30;
        let fraction = &fraction[..fraction.len().min(MOST_DIGITS)];
        Some(Self {
            whole: if whole.is_empty() {
                0
            } else {
                whole.parse().unwrap_or(i64::MAX)
            },
            fraction: if fraction.is_empty() { 0 } else { fraction.parse().ok()? },
            unit: 10_u128.pow(u32::try_from(fraction.len()).ok()?),
        })
    }

    /// The fraction in sixtieths, if there is one.
    pub fn sixtieths(self) -> Option<i64> {
        (self.fraction != 0).then(|| i64::try_from(self.fraction * 60 / self.unit).unwrap_or(0))
    }
}

pub fn integer(text: &str) -> Read<i64> {
    let number = int(text).map_err(|_| NoDate)?;
    Ok(crate::yaql::call::small(&number))
}
