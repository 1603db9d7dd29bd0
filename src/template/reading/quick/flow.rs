//! Flow collections: `[a, b]` and `{a: b}`.

use serde_json::{Map, Value};

use super::{DEEPEST, LONGEST_KEY, Reader, scalars};

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
            items.push(self.flow_node(depth)?);
            self.skip_white()?;
            if self.take(b',') {
                continue;
            }
            if self.take(b']') {
                break;
            }
            return None;
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
            let key = self.flow_key()?;
            self.skip_white()?;
            let value = match self.peek()? {
                b',' | b'}' => Value::Null,
                _ => self.flow_node(depth)?,
            };
            map.insert(key, value);
            self.skip_white()?;
            if self.take(b',') {
                continue;
            }
            if self.take(b'}') {
                break;
            }
            return None;
        }
        Some(Value::Object(map))
    }

    /// A key up to behind its colon, all on one line.
    fn flow_key(&mut self) -> Option<String> {
        let start = self.at;
        let key = match self.peek()? {
            quote @ (b'"' | b'\'') => self.quoted(quote)?,
            _ => match scalars::resolved(self.flow_plain()?.into())? {
                Value::String(key) => key,
                _ => return None,
            },
        };
        self.skip_spaces();
        let is_key = self.peek() == Some(b':') && self.is_blank(1) && self.at - start <= LONGEST_KEY;
        self.at += 1;
        is_key.then_some(key)
    }

    fn flow_node(&mut self, depth: usize) -> Option<Value> {
        match self.peek()? {
            quote @ (b'"' | b'\'') => self.quoted(quote).map(Value::String),
            b'[' | b'{' => self.flow(depth + 1),
            _ => scalars::resolved(self.flow_plain()?.into()),
        }
    }

    /// A plain scalar on one line.
    fn flow_plain(&mut self) -> Option<&'t str> {
        let start = self.at;
        if scalars::is_indicator(self.peek()?) || self.is_at_dash() {
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
        (text != "-").then_some(text)
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
