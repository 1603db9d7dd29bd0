//! Plain, quoted and block scalars.

use std::borrow::Cow;

use serde_json::Value;

use super::Reader;
use crate::template::reading::tags::{Tag, bool_value, float_value, int_value};

/// What ends a plain scalar on its line.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum End {
    /// A colon, which makes a key of it.
    Colon,
    Comment,
    Line,
}

/// What a plain scalar says. Dates stay texts.
pub(super) fn resolved(text: Cow<'_, str>) -> Option<Value> {
    match Tag::of_plain(&text) {
        Tag::Str | Tag::Timestamp => Some(Value::String(text.into_owned())),
        Tag::Null => Some(Value::Null),
        Tag::Bool => bool_value(&text).ok(),
        Tag::Int => int_value(&text).ok(),
        Tag::Float => float_value(&text).ok(),
        _ => None,
    }
}

/// Breaks of lines within a scalar: one is a space, and of more the first does not count.
pub(super) fn fold(text: &mut String, breaks: usize) {
    match breaks {
        1 => text.push(' '),
        _ => text.extend(std::iter::repeat_n('\n', breaks.saturating_sub(1))),
    }
}

/// The characters that mean something else at the beginning of a plain scalar.
pub(super) fn is_indicator(byte: u8) -> bool {
    matches!(
        byte,
        b'?' | b':'
            | b','
            | b'['
            | b']'
            | b'{'
            | b'}'
            | b'#'
            | b'&'
            | b'*'
            | b'!'
            | b'|'
            | b'>'
            | b'\''
            | b'"'
            | b'%'
            | b'@'
            | b'`'
    )
}

impl<'t> Reader<'t> {
    /// The part of a plain scalar that is on this line, in a block collection.
    pub(super) fn plain(&mut self) -> Option<(&'t str, End)> {
        if is_indicator(self.peek()?) || self.is_at_dash() {
            return None;
        }
        self.rest_of_plain()
    }

    fn rest_of_plain(&mut self) -> Option<(&'t str, End)> {
        let start = self.at;
        let end = loop {
            match self.peek() {
                None | Some(b'\n') => break End::Line,
                Some(b'\t') => return None,
                Some(b':') if self.is_blank(1) => break End::Colon,
                Some(b'#') if self.at > start && self.bytes[self.at - 1] == b' ' => break End::Comment,
                Some(_) => self.at += 1,
            }
        };
        Some((self.text[start..self.at].trim_end_matches(' '), end))
    }

    /// A plain scalar that may go on in lines that are indented deeper than its collection.
    pub(super) fn block_plain(&mut self, around: usize) -> Option<Value> {
        let (first, mut end) = self.plain()?;
        let mut text = Cow::Borrowed(first);
        while end == End::Line {
            let breaks = self.skip_breaks();
            let goes_on = self.peek().is_some_and(|byte| byte != b'#') && self.at - self.line_start > around;
            if breaks == 0 || !goes_on {
                self.at = if breaks == 0 { self.at } else { self.line_start };
                self.next_line()?;
                return resolved(text);
            }
            if self.is_at_dash() {
                return None;
            }
            let (more, its_end) = self.rest_of_plain()?;
            fold(text.to_mut(), breaks);
            text.to_mut().push_str(more);
            end = its_end;
        }
        if end == End::Colon {
            return None;
        }
        self.skip_to_line_end();
        self.end_line()?;
        resolved(text)
    }

    /// Breaks and empty lines, to the first character of another line. Gives the number of breaks.
    pub(super) fn skip_breaks(&mut self) -> usize {
        let mut breaks = 0;
        while self.peek() == Some(b'\n') {
            breaks += 1;
            self.at += 1;
            self.line_start = self.at;
            self.skip_spaces();
        }
        breaks
    }

    /// A quoted scalar.
    pub(super) fn quoted(&mut self, quote: u8) -> Option<String> {
        self.at += 1;
        let mut text = String::new();
        loop {
            let rest = &self.bytes[self.at..];
            let length = rest.iter().position(|byte| {
                *byte == quote || matches!(byte, b'\n' | b'\t') || (*byte == b'\\' && quote == b'"')
            })?;
            text.push_str(&self.text[self.at..self.at + length]);
            self.at += length;
            match rest[length] {
                b'\t' => return None,
                b'\n' => {
                    text.truncate(text.trim_end_matches(' ').len());
                    let breaks = self.skip_breaks();
                    // A line that begins at the left margin may be the end of the document.
                    if self.at == self.line_start {
                        return None;
                    }
                    fold(&mut text, breaks);
                    continue;
                }
                b'\\' => text.push(match self.bytes.get(self.at + 1)? {
                    b'n' => '\n',
                    b't' => '\t',
                    character @ (b'"' | b'\\' | b'/') => char::from(*character),
                    _ => return None,
                }),
                // Two single quotes are one.
                b'\'' if self.bytes.get(self.at + 1) == Some(&b'\'') => text.push('\''),
                _ => {
                    self.at += 1;
                    return Some(text);
                }
            }
            self.at += 2;
        }
    }

    /// `|` or `>` with the lines that are indented deeper than its collection.
    pub(super) fn block_scalar(&mut self, around: usize) -> Option<Value> {
        let is_folded = self.peek() == Some(b'>');
        self.at += 1;
        let chomping = match self.peek() {
            Some(sign @ (b'-' | b'+')) => {
                self.at += 1;
                Some(sign)
            }
            _ => None,
        };
        self.skip_comment();
        if self.peek()? != b'\n' {
            return None;
        }
        self.at += 1;
        let indent = self.indentation_of_block(around)?;
        let mut text = String::new();
        let mut last_break = "";
        let mut was_blank = false;
        let mut breaks = self.breaks_of_block(indent)?;
        while self.at - self.line_start == indent && self.at < self.bytes.len() {
            let is_blank = self.peek() == Some(b' ') || self.peek() == Some(b'\t');
            if is_folded && last_break == "\n" && !was_blank && !is_blank {
                if breaks == 0 {
                    text.push(' ');
                }
            } else {
                text.push_str(last_break);
            }
            text.extend(std::iter::repeat_n('\n', breaks));
            was_blank = is_blank;
            let start = self.at;
            self.skip_to_line_end();
            text.push_str(&self.text[start..self.at]);
            last_break = "";
            if self.at < self.bytes.len() {
                last_break = "\n";
                self.at += 1;
            }
            breaks = self.breaks_of_block(indent)?;
        }
        if chomping != Some(b'-') {
            text.push_str(last_break);
        }
        if chomping == Some(b'+') {
            text.extend(std::iter::repeat_n('\n', breaks));
        }
        self.at = self.line_start;
        self.next_line()?;
        Some(Value::String(text))
    }

    /// That of the first line that says something, from the beginning of a line.
    fn indentation_of_block(&self, around: usize) -> Option<usize> {
        let mut line = self.at;
        let mut deepest_empty = 0;
        loop {
            let rest = &self.bytes[line..];
            let column = rest.iter().take_while(|byte| **byte == b' ').count();
            match rest.get(column) {
                Some(b'\n') => {
                    deepest_empty = deepest_empty.max(column);
                    line += column + 1;
                }
                // A tab is text here, as for PyYAML's own scanner, which Heat falls back to; libyaml refuses it. An empty
                // line that is indented deeper would count.
                Some(_) if column > around && column >= deepest_empty => return Some(column),
                _ => return None,
            }
        }
    }

    /// Empty lines of a block scalar, up to its indentation in another one. Gives the number of breaks.
    fn breaks_of_block(&mut self, indent: usize) -> Option<usize> {
        let mut breaks = 0;
        loop {
            self.line_start = self.at;
            while self.at - self.line_start < indent && self.peek() == Some(b' ') {
                self.at += 1;
            }
            match self.peek() {
                Some(b'\t') if self.at - self.line_start < indent => return None,
                Some(b'\n') => {
                    breaks += 1;
                    self.at += 1;
                }
                _ => return Some(breaks),
            }
        }
    }
}
