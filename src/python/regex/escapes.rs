//! What stands behind a backslash.

use super::error::RegexError;
use super::parser::Parser;
use super::tree::{Node, Place, SetItem};

fn is_octal(character: char) -> bool {
    character.is_digit(8)
}

/// The character of an escape such as `\n`; `\b` is one in sets only.
fn control_character(letter: char) -> Option<u32> {
    Some(match letter {
        'a' => 7,
        'f' => 12,
        'n' => 10,
        'r' => 13,
        't' => 9,
        'v' => 11,
        '\\' => u32::from('\\'),
        _ => return None,
    })
}

const CLASSES: &str = "dDsSwW";

impl Parser {
    /// An escape in a set; its backslash and letter have been taken.
    pub(super) fn escape_in_set(&mut self, letter: char) -> Result<SetItem, RegexError> {
        let start = self.source.position() - 2;
        if letter == 'b' {
            return Ok(SetItem::Literal(8));
        }
        if let Some(code_point) = control_character(letter) {
            return Ok(SetItem::Literal(code_point));
        }
        if CLASSES.contains(letter) {
            return Ok(SetItem::Class(letter));
        }
        if is_octal(letter) {
            let digits = format!("{letter}{}", self.source.take_while(2, is_octal)?);
            return self.octal(&digits, start).map(SetItem::Literal);
        }
        self.any_escape(letter, start).map(SetItem::Literal)
    }

    /// An escape outside of sets; its backslash and letter have been taken.
    pub(super) fn escape(&mut self, letter: char) -> Result<Node, RegexError> {
        let start = self.source.position() - 2;
        let place = match letter {
            'A' => Some(Place::TextStart),
            'Z' => Some(Place::TextEnd),
            'b' => Some(Place::Boundary),
            'B' => Some(Place::NoBoundary),
            _ => None,
        };
        if let Some(place) = place {
            return Ok(Node::Place(place));
        }
        if CLASSES.contains(letter) {
            return Ok(Node::Set {
                is_negated: false,
                items: vec![SetItem::Class(letter)],
            });
        }
        if let Some(code_point) = control_character(letter) {
            return Ok(Node::Literal(code_point));
        }
        match letter {
            '0' => {
                let digits = format!("0{}", self.source.take_while(2, is_octal)?);
                self.octal(&digits, start).map(Node::Literal)
            }
            '1'..='9' => self.octal_or_reference(letter, start),
            _ => self.any_escape(letter, start).map(Node::Literal),
        }
    }

    /// Three octal digits are a character, anything else the number of a group.
    fn octal_or_reference(&mut self, first: char, start: usize) -> Result<Node, RegexError> {
        let mut digits = String::from(first);
        digits.push_str(&self.source.take_while(1, |c| c.is_ascii_digit())?);
        if digits.len() == 2 && digits.chars().all(is_octal) {
            let third = self.source.take_while(1, is_octal)?;
            if !third.is_empty() {
                digits.push_str(&third);
                return self.octal(&digits, start).map(Node::Literal);
            }
        }
        let number: usize = digits.parse().unwrap_or(usize::MAX);
        if number > self.groups.len() {
            return Err(self
                .source
                .error_at(format!("invalid group reference {number}"), start + 1));
        }
        if !self.is_complete(number) {
            return Err(self.source.error_at("cannot refer to an open group", start));
        }
        self.check_reference_in_look_behind(number)?;
        Ok(Node::BackReference(number))
    }

    fn octal(&self, digits: &str, start: usize) -> Result<u32, RegexError> {
        match u32::from_str_radix(digits, 8) {
            Ok(code_point @ 0..=0o377) => Ok(code_point),
            _ => {
                let message = format!("octal escape value \\{digits} outside of range 0-0o377");
                Err(self.source.error_at(message, start))
            }
        }
    }

    /// The character of an escape that means the same everywhere.
    fn any_escape(&mut self, letter: char, start: usize) -> Result<u32, RegexError> {
        let hexadecimal = match letter {
            'x' => Some(2),
            'u' => Some(4),
            'U' => Some(8),
            _ => None,
        };
        if let Some(count) = hexadecimal {
            let digits = self.source.take_while(count, |c| c.is_ascii_hexdigit())?;
            if digits.len() != count {
                return Err(self
                    .source
                    .error_at(format!("incomplete escape \\{letter}{digits}"), start));
            }
            let code_point = u32::from_str_radix(&digits, 16).ok().filter(|code| *code <= 0x10_ffff);
            return code_point.ok_or_else(|| self.source.error_at(format!("bad escape \\{letter}{digits}"), start));
        }
        if letter == 'N' {
            return self.named_character();
        }
        if letter.is_ascii_alphanumeric() {
            return Err(self.source.error_at(format!("bad escape \\{letter}"), start));
        }
        Ok(u32::from(letter))
    }

    /// `\N{EM DASH}`
    fn named_character(&mut self) -> Result<u32, RegexError> {
        if !self.source.take_if('{')? {
            return Err(self.source.error("missing {"));
        }
        let name = self.source.take_until('}', "character name")?;
        match unicode_names2::character(&name) {
            Some(character) => Ok(u32::from(character)),
            None => {
                let shown = crate::python::repr::repr_text(&name);
                let start = self.source.position() - name.chars().count() - "\\N{}".len();
                let message = format!("undefined character name {shown}");
                Err(self.source.error_at(message, start))
            }
        }
    }
}
