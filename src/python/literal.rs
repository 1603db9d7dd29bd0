//! Python literals, such as the keys `tuple:(42, True, 'resource')` of a sync point.
//!
//! Both directions: what `ast.literal_eval` reads (as far as such keys go) and what `repr` writes. Everything that
//! is an expression rather than a literal is refused.

use std::fmt;

use num_bigint::BigInt;

use super::number::{float_text, parse_float, parse_int};
use super::repr::repr_text;

#[derive(Debug, Clone, PartialEq)]
pub enum Literal {
    None,
    Bool(bool),
    Int(BigInt),
    Float(f64),
    Text(String),
    Tuple(Vec<Literal>),
    List(Vec<Literal>),
    Dict(Vec<(Literal, Literal)>),
}

#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("malformed Python literal at byte {offset}: expected {expected}")]
pub struct LiteralError {
    pub offset: usize,
    pub expected: &'static str,
}

const DEEPEST_NESTING: usize = 64;

impl Literal {
    pub fn parse(text: &str) -> Result<Self, LiteralError> {
        let mut reader = Reader { text, offset: 0 };
        reader.skip_blanks();
        let literal = reader.read_literal(0)?;
        reader.skip_blanks();
        if reader.offset == text.len() {
            Ok(literal)
        } else {
            Err(reader.error("the end of the literal"))
        }
    }

    pub fn as_i64(&self) -> Option<i64> {
        match self {
            Self::Int(integer) => i64::try_from(integer).ok(),
            _ => None,
        }
    }

    pub fn as_bool(&self) -> Option<bool> {
        match self {
            Self::Bool(flag) => Some(*flag),
            _ => None,
        }
    }

    pub fn as_text(&self) -> Option<&str> {
        match self {
            Self::Text(text) => Some(text),
            _ => None,
        }
    }

    pub fn as_tuple(&self) -> Option<&[Literal]> {
        match self {
            Self::Tuple(items) => Some(items),
            _ => None,
        }
    }
}

impl From<i64> for Literal {
    fn from(integer: i64) -> Self {
        Self::Int(integer.into())
    }
}

impl From<bool> for Literal {
    fn from(flag: bool) -> Self {
        Self::Bool(flag)
    }
}

impl From<&str> for Literal {
    fn from(text: &str) -> Self {
        Self::Text(text.to_owned())
    }
}

/// Writes what `repr` writes.
impl fmt::Display for Literal {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::None => f.write_str("None"),
            Self::Bool(true) => f.write_str("True"),
            Self::Bool(false) => f.write_str("False"),
            Self::Int(integer) => write!(f, "{integer}"),
            Self::Float(float) => f.write_str(&float_text(*float)),
            Self::Text(text) => f.write_str(&repr_text(text)),
            Self::Tuple(items) => {
                f.write_str("(")?;
                write_items(f, items)?;
                f.write_str(if items.len() == 1 { ",)" } else { ")" })
            }
            Self::List(items) => {
                f.write_str("[")?;
                write_items(f, items)?;
                f.write_str("]")
            }
            Self::Dict(entries) => {
                f.write_str("{")?;
                for (index, (key, value)) in entries.iter().enumerate() {
                    let separator = if index > 0 { ", " } else { "" };
                    write!(f, "{separator}{key}: {value}")?;
                }
                f.write_str("}")
            }
        }
    }
}

fn write_items(f: &mut fmt::Formatter<'_>, items: &[Literal]) -> fmt::Result {
    for (index, item) in items.iter().enumerate() {
        let separator = if index > 0 { ", " } else { "" };
        write!(f, "{separator}{item}")?;
    }
    Ok(())
}

struct Reader<'a> {
    text: &'a str,
    offset: usize,
}

impl Reader<'_> {
    fn error(&self, expected: &'static str) -> LiteralError {
        LiteralError {
            offset: self.offset,
            expected,
        }
    }

    fn rest(&self) -> &str {
        &self.text[self.offset..]
    }

    fn skip_blanks(&mut self) {
        self.offset = self.text.len() - self.rest().trim_start_matches([' ', '\t', '\n', '\r']).len();
    }

    fn accept(&mut self, token: &str) -> bool {
        let found = self.rest().starts_with(token);
        if found {
            self.offset += token.len();
        }
        found
    }

    fn read_literal(&mut self, depth: usize) -> Result<Literal, LiteralError> {
        if depth > DEEPEST_NESTING {
            return Err(self.error("less nesting"));
        }
        match self.rest().chars().next() {
            Some('(') => self.read_tuple(depth),
            Some('[') => {
                self.offset += 1;
                self.read_items(']', depth).map(|(items, _)| Literal::List(items))
            }
            Some('{') => self.read_dict(depth),
            Some('\'' | '"') => self.read_text().map(Literal::Text),
            _ => self.read_word(),
        }
    }

    fn read_tuple(&mut self, depth: usize) -> Result<Literal, LiteralError> {
        self.offset += 1;
        let (mut items, comma_at_end) = self.read_items(')', depth)?;
        match items.pop() {
            // Parentheses around one value are only parentheses.
            Some(only) if items.is_empty() && !comma_at_end => Ok(only),
            Some(last) => {
                items.push(last);
                Ok(Literal::Tuple(items))
            }
            None => Ok(Literal::Tuple(items)),
        }
    }

    /// The items up to the closing bracket, and whether a comma stood before it.
    fn read_items(&mut self, close: char, depth: usize) -> Result<(Vec<Literal>, bool), LiteralError> {
        let mut items = Vec::new();
        let mut comma_at_end = false;
        loop {
            self.skip_blanks();
            if self.rest().starts_with(close) {
                self.offset += close.len_utf8();
                return Ok((items, comma_at_end));
            }
            if !items.is_empty() && !comma_at_end {
                return Err(self.error("a comma"));
            }
            items.push(self.read_literal(depth + 1)?);
            self.skip_blanks();
            comma_at_end = self.accept(",");
        }
    }

    fn read_dict(&mut self, depth: usize) -> Result<Literal, LiteralError> {
        self.offset += 1;
        let mut entries = Vec::new();
        let mut comma_at_end = true;
        loop {
            self.skip_blanks();
            if self.accept("}") {
                return Ok(Literal::Dict(entries));
            }
            if !comma_at_end {
                return Err(self.error("a comma"));
            }
            let key = self.read_literal(depth + 1)?;
            self.skip_blanks();
            if !self.accept(":") {
                return Err(self.error("a colon"));
            }
            self.skip_blanks();
            entries.push((key, self.read_literal(depth + 1)?));
            self.skip_blanks();
            comma_at_end = self.accept(",");
        }
    }

    fn read_word(&mut self) -> Result<Literal, LiteralError> {
        let length = self
            .rest()
            .find(|c: char| !(c.is_ascii_alphanumeric() || matches!(c, '+' | '-' | '.' | '_')))
            .unwrap_or(self.rest().len());
        let word = &self.rest()[..length];
        let literal = match word {
            "None" => Literal::None,
            "True" => Literal::Bool(true),
            "False" => Literal::Bool(false),
            number if number.contains(|c: char| c.is_ascii_digit()) => parse_int(number)
                .map(Literal::Int)
                .or_else(|| parse_float(number).map(Literal::Float))
                .ok_or_else(|| self.error("a number"))?,
            _ => return Err(self.error("a literal")),
        };
        self.offset += length;
        Ok(literal)
    }

    fn read_text(&mut self) -> Result<String, LiteralError> {
        let quote = if self.accept("'") { '\'' } else { '"' };
        if quote == '"' {
            self.offset += 1;
        }
        let mut text = String::new();
        loop {
            let Some(character) = self.rest().chars().next() else {
                return Err(self.error("a closing quote"));
            };
            self.offset += character.len_utf8();
            match character {
                '\\' => text.push(self.read_escape()?),
                '\n' => return Err(self.error("a closing quote")),
                character if character == quote => return Ok(text),
                character => text.push(character),
            }
        }
    }

    fn read_escape(&mut self) -> Result<char, LiteralError> {
        let Some(character) = self.rest().chars().next() else {
            return Err(self.error("an escape"));
        };
        self.offset += character.len_utf8();
        match character {
            '\\' | '\'' | '"' => Ok(character),
            'n' => Ok('\n'),
            'r' => Ok('\r'),
            't' => Ok('\t'),
            'a' => Ok('\u{7}'),
            'b' => Ok('\u{8}'),
            'f' => Ok('\u{c}'),
            'v' => Ok('\u{b}'),
            'x' => self.read_code_point(2),
            'u' => self.read_code_point(4),
            'U' => self.read_code_point(8),
            _ => Err(self.error("a known escape")),
        }
    }

    fn read_code_point(&mut self, digits: usize) -> Result<char, LiteralError> {
        let character = self
            .rest()
            .get(..digits)
            .and_then(|hex| u32::from_str_radix(hex, 16).ok())
            .and_then(char::from_u32)
            .ok_or_else(|| self.error("a code point"))?;
        self.offset += digits;
        Ok(character)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn keys_of_sync_points_round_trip() {
        for text in [
            "(42, True, 'resource')",
            "(42, False)",
            "('a',)",
            "()",
            "[1, -2, 1.5, 1e+16]",
            r#"("it's", 'ü\n', 'say "it\'s"')"#,
            "{'a': (1, None)}",
        ] {
            assert_eq!(Literal::parse(text).unwrap().to_string(), text);
        }
    }

    #[test]
    fn parts_are_reachable() {
        let key = Literal::parse("(42, True, 'resource')").unwrap();
        let parts = key.as_tuple().unwrap();
        assert_eq!(parts[0].as_i64(), Some(42));
        assert_eq!(parts[1].as_bool(), Some(true));
        assert_eq!(parts[2].as_text(), Some("resource"));
        assert_eq!(Literal::parse("(1)").unwrap(), Literal::from(1));
    }

    #[test]
    fn what_is_no_literal_is_refused() {
        for text in [
            "",
            "(",
            "(1",
            "(1 2)",
            "foo",
            "1 + 1",
            "__import__('os')",
            "'a",
            "{1}",
            "(,)",
            "'\\q'",
            "1 1",
        ] {
            assert!(Literal::parse(text).is_err(), "{text}");
        }
        assert!(Literal::parse(&"[".repeat(100_000)).is_err());
    }
}
