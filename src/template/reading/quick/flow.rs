//! Flow collections: `[a, b]` and `{a: b}`.

use std::borrow::Cow;

use serde_json::{Map, Value};

use super::{DEEPEST, Reader, scalars};

impl<'t> Reader<'t> {
    /// From an opening bracket to behind the closing one.
    pub(super) fn flow(&mut self, depth: usize) -> Option<Value> {
        if depth > DEEPEST {
            return None;
        }
        let is_list = self.peek()? == b'[';
        self.at += 1;
        match is_list {
            true => self.flow_sequence(depth),
            false => self.flow_mapping(depth),
        }
    }

    fn flow_sequence(&mut self, depth: usize) -> Option<Value> {
        let mut items = Vec::new();
        loop {
            self.skip_white()?;
            if self.take(b']') {
                break;
            }
            items.push(self.flow_item(depth)?);
            if self.is_last(b']')? {
                break;
            }
        }
        Some(Value::Array(items))
    }

    fn flow_mapping(&mut self, depth: usize) -> Option<Value> {
        let mut map = Map::new();
        loop {
            self.skip_white()?;
            if self.take(b'}') {
                break;
            }
            let (Value::String(key), has_colon) = self.flow_scalar()? else {
                return None;
            };
            let value = match has_colon {
                true => self.flow_value(b'}', depth)?,
                false => Value::Null,
            };
            map.insert(key, value);
            if self.is_last(b'}')? {
                break;
            }
        }
        Some(Value::Object(map))
    }

    /// An item of a list: `a: b` is a map of its own.
    fn flow_item(&mut self, depth: usize) -> Option<Value> {
        if matches!(self.peek()?, b'[' | b'{') {
            return self.flow(depth + 1);
        }
        match self.flow_scalar()? {
            (Value::String(key), true) => {
                let value = self.flow_value(b']', depth)?;
                Some(Value::Object(Map::from_iter([(key, value)])))
            }
            (scalar, _) => Some(scalar),
        }
    }

    /// A scalar, and whether a colon behind it makes a key of it.
    fn flow_scalar(&mut self) -> Option<(Value, bool)> {
        let (start, line) = (self.at, self.line_start);
        let scalar = match self.peek()? {
            quote @ (b'"' | b'\'') => Value::String(self.quoted(quote)?),
            _ => scalars::resolved(self.flow_plain()?)?,
        };
        self.skip_spaces();
        if self.peek()? != b':' {
            return Some((scalar, false));
        }
        let is_on_one_line = self.may_be_key(start) && self.line_start == line;
        let is_key = scalar.is_string() && self.is_blank(1) && is_on_one_line;
        self.at += 1;
        is_key.then_some((scalar, true))
    }

    /// What is behind a colon, in a collection that this byte closes.
    fn flow_value(&mut self, closing: u8, depth: usize) -> Option<Value> {
        self.skip_white()?;
        match self.peek()? {
            b',' => Some(Value::Null),
            byte if byte == closing => Some(Value::Null),
            _ => self.flow_node(depth),
        }
    }

    fn flow_node(&mut self, depth: usize) -> Option<Value> {
        match self.peek()? {
            quote @ (b'"' | b'\'') => self.quoted(quote).map(Value::String),
            b'[' | b'{' => self.flow(depth + 1),
            _ => scalars::resolved(self.flow_plain()?),
        }
    }

    fn flow_plain(&mut self) -> Option<Cow<'t, str>> {
        if scalars::is_indicator(self.peek()?) {
            return None;
        }
        let mut text = Cow::Borrowed(self.line_of_flow_plain()?);
        while self.peek()? == b'\n' {
            let breaks = self.skip_breaks();
            if matches!(self.peek()?, b',' | b']' | b'}') {
                break;
            }
            if self.at == self.line_start {
                return None;
            }
            let more = self.line_of_flow_plain()?;
            scalars::fold(text.to_mut(), breaks);
            text.to_mut().push_str(more);
        }
        Some(text)
    }

    fn line_of_flow_plain(&mut self) -> Option<&'t str> {
        let start = self.at;
        if self.is_at_dash() || self.peek()? == b'#' {
            return None;
        }
        loop {
            match self.peek()? {
                b'\n' | b',' | b']' | b'}' => break,
                b':' if self.is_blank(1) => break,
                b':' if matches!(
                    self.bytes.get(self.at + 1),
                    Some(b',' | b'?' | b'[' | b']' | b'{' | b'}')
                ) =>
                {
                    return None;
                }
                b'[' | b'{' | b'?' | b'\t' => return None,
                b'#' if self.bytes[self.at - 1] == b' ' => return None,
                _ => self.at += 1,
            }
        }
        let text = self.text[start..self.at].trim_end_matches(' ');
        // A lone dash is left to libyaml.
        (text != "-" && !text.is_empty()).then_some(text)
    }

    /// Past what separates an entry from the next, or closes the collection.
    fn is_last(&mut self, closing: u8) -> Option<bool> {
        self.skip_white()?;
        if self.take(b',') {
            return Some(false);
        }
        self.take(closing).then_some(true)
    }

    fn take(&mut self, byte: u8) -> bool {
        let is_there = self.peek() == Some(byte);
        self.at += usize::from(is_there);
        is_there
    }

    /// Spaces and breaks. A line may begin at the left margin only to close something.
    fn skip_white(&mut self) -> Option<()> {
        loop {
            match self.peek()? {
                b' ' => self.at += 1,
                b'\n' => {
                    self.at += 1;
                    self.line_start = self.at;
                }
                byte => {
                    let is_at_margin = self.at == self.line_start && !matches!(byte, b']' | b'}');
                    return (!is_at_margin && byte != b'#').then_some(());
                }
            }
        }
    }
}
