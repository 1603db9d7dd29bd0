//! The YAML that nearly everybody writes, read to values in one pass.
//!
//! That is: block and flow collections, plain and quoted scalars, block scalars, comments. At anything out of the ordinary
//! (anchors, tags, tabs, explicit keys, an odd indentation, whatever is wrong) it gives up with `None`, and libyaml reads the
//! whole text. Only libyaml decides what is an error, and what strange things mean. So whatever is read here must be what
//! libyaml reads: the tests compare the two.

mod flow;
mod scalars;

use serde_json::{Map, Value};

use self::scalars::End;

/// Deeper ones are left to libyaml's side, which says where it becomes too deep.
const DEEPEST: usize = 64;
/// What a longer text says may come near the limits.
const LONGEST: usize = 1 << 20;
/// What is looked through at a time for characters that are out of the ordinary.
const BLOCK: usize = 64;
/// Of characters, as libyaml has it. (Its translation to Rust counts bytes.)
const LONGEST_KEY: usize = 1024;

/// The value of a document that is a block collection.
pub(super) fn read(text: &str) -> Option<Value> {
    if text.len() > LONGEST || !is_ordinary(text.as_bytes()) {
        return None;
    }
    let mut reader = Reader {
        text,
        bytes: text.as_bytes(),
        at: 0,
        line_start: 0,
        column: None,
    };
    if text.starts_with("---") {
        reader.at = 3;
        reader.end_line()?;
    } else {
        reader.next_line()?;
    }
    if reader.column != Some(0) {
        return None;
    }
    let value = match reader.is_at_dash() {
        true => reader.block_sequence(0, 0)?,
        false => reader.block_mapping(0, 0)?,
    };
    reader.column.is_none().then_some(value)
}

/// Whether there are only characters that libyaml takes as they are. Tabs are met where they stand.
fn is_ordinary(bytes: &[u8]) -> bool {
    let is_plain = |byte: &u8| matches!(byte, b'\t' | b'\n' | b' '..=b'~');
    // Without a way out of it, which the compiler could not do many bytes at a time with.
    let all_are_plain = |block: &[u8]| block.iter().fold(true, |so_far, byte| so_far & is_plain(byte));
    let blocks = bytes.chunks(BLOCK).enumerate();
    let mut others = blocks.filter(|(_, block)| !all_are_plain(block));
    others.all(|(number, block)| {
        let begin = number * BLOCK;
        (begin..begin + block.len()).all(|at| is_plain(&bytes[at]) || is_ordinary_beyond_ascii(bytes, at))
    })
}

fn is_ordinary_beyond_ascii(bytes: &[u8], at: usize) -> bool {
    match bytes[at] {
        // Control characters, and breaks of lines: U+0085, U+2028, U+2029.
        0xC2 => bytes.get(at + 1).is_some_and(|next| *next >= 0xA0),
        0xE2 => !matches!(bytes.get(at + 1..at + 3), Some([0x80, 0xA8 | 0xA9])),
        // Byte order marks, and what is no character.
        0xEF => false,
        byte => byte >= 0x80,
    }
}

/// Between two nodes it stands before the first character of a line that says something.
struct Reader<'t> {
    text: &'t str,
    bytes: &'t [u8],
    at: usize,
    line_start: usize,
    /// The indentation of that line; `None` at the end of the text.
    column: Option<usize>,
}

impl Reader<'_> {
    fn peek(&self) -> Option<u8> {
        self.bytes.get(self.at).copied()
    }

    /// Whether a break of the line, or the end of the text, comes so many bytes later.
    fn is_line_end(&self, ahead: usize) -> bool {
        matches!(self.bytes.get(self.at + ahead), None | Some(b'\n'))
    }

    fn is_blank(&self, ahead: usize) -> bool {
        self.is_line_end(ahead) || self.bytes[self.at + ahead] == b' '
    }

    fn is_at_dash(&self) -> bool {
        self.peek() == Some(b'-') && self.is_blank(1)
    }

    /// Whether what began there is short enough.
    fn may_be_key(&self, start: usize) -> bool {
        self.text[start..self.at].chars().count() <= LONGEST_KEY
    }

    fn skip_spaces(&mut self) {
        while self.peek() == Some(b' ') {
            self.at += 1;
        }
    }

    fn skip_to_line_end(&mut self) {
        let rest = &self.bytes[self.at..];
        self.at += memchr::memchr(b'\n', rest).unwrap_or(rest.len());
    }

    fn skip_comment(&mut self) {
        let before = self.at;
        self.skip_spaces();
        if self.peek() == Some(b'#') && self.at > before {
            self.skip_to_line_end();
        }
    }

    /// Past a node: nothing but a comment may follow on its line. Goes on to the next line that says something.
    fn end_line(&mut self) -> Option<()> {
        self.skip_comment();
        match self.peek() {
            None => {
                self.column = None;
                Some(())
            }
            Some(b'\n') => {
                self.at += 1;
                self.next_line()
            }
            Some(_) => None,
        }
    }

    /// From the beginning of a line to the first one that says something.
    fn next_line(&mut self) -> Option<()> {
        loop {
            self.line_start = self.at;
            self.skip_spaces();
            match self.peek() {
                None => {
                    self.column = None;
                    return Some(());
                }
                Some(b'\n') => self.at += 1,
                Some(b'#') => {
                    self.skip_to_line_end();
                    self.at += usize::from(self.at < self.bytes.len());
                }
                Some(b'\t') => return None,
                Some(_) => break,
            }
        }
        let column = self.at - self.line_start;
        let line = &self.bytes[self.at..];
        if column == 0 && (line.starts_with(b"---") || line.starts_with(b"...")) {
            return None;
        }
        self.column = Some(column);
        Some(())
    }

    /// Whether what a dash or a colon announces is not on its line. Goes on to where it is.
    fn goes_on_below(&mut self) -> Option<bool> {
        self.skip_comment();
        if self.is_line_end(0) {
            self.end_line()?;
            return Some(true);
        }
        Some(false)
    }

    fn is_deeper_than(&self, column: usize) -> bool {
        self.column.is_some_and(|own| own > column)
    }

    fn block_mapping(&mut self, column: usize, depth: usize) -> Option<Value> {
        let mut map = Map::new();
        loop {
            let key = self.key()??;
            let value = self.value_of_key(column, depth)?;
            map.insert(key, value);
            if self.column != Some(column) {
                break;
            }
        }
        (!self.is_deeper_than(column)).then_some(Value::Object(map))
    }

    /// What comes behind the colon of a key, in a mapping at that column.
    fn value_of_key(&mut self, column: usize, depth: usize) -> Option<Value> {
        if !self.goes_on_below()? {
            return self.value(column, depth);
        }
        // A sequence need not be indented deeper than the key that it belongs to.
        if self.column == Some(column) && self.is_at_dash() {
            return self.block_sequence(column, depth + 1);
        }
        self.nested(column, depth)
    }

    /// What stands on lines of its own, deeper than its collection, or nothing.
    fn nested(&mut self, around: usize, depth: usize) -> Option<Value> {
        match self.column {
            Some(column) if column > around => self.block_node(column, around, depth + 1),
            _ => Some(Value::Null),
        }
    }

    /// A node that begins at a column, within a collection at another one.
    fn block_node(&mut self, column: usize, around: usize, depth: usize) -> Option<Value> {
        if depth > DEEPEST {
            return None;
        }
        if self.is_at_dash() {
            return self.block_sequence(column, depth);
        }
        let before = (self.at, self.line_start);
        let is_key = self.key()?.is_some();
        (self.at, self.line_start) = before;
        match is_key {
            true => self.block_mapping(column, depth),
            false => self.value(around, depth),
        }
    }

    fn block_sequence(&mut self, column: usize, depth: usize) -> Option<Value> {
        if depth > DEEPEST {
            return None;
        }
        let mut items = Vec::new();
        loop {
            self.at += 1;
            let item = match self.goes_on_below()? {
                true => self.nested(column, depth)?,
                false => self.block_node(self.at - self.line_start, column, depth + 1)?,
            };
            items.push(item);
            if self.column != Some(column) || !self.is_at_dash() {
                break;
            }
        }
        (!self.is_deeper_than(column)).then_some(Value::Array(items))
    }

    /// A scalar or a flow collection, in a block collection at that column, and the end of its line.
    fn value(&mut self, around: usize, depth: usize) -> Option<Value> {
        match self.peek()? {
            quote @ (b'"' | b'\'') => {
                let text = self.quoted(quote)?;
                self.end_line()?;
                Some(Value::String(text))
            }
            b'[' | b'{' => {
                let value = self.flow(depth + 1)?;
                self.end_line()?;
                Some(value)
            }
            b'|' | b'>' => self.block_scalar(around),
            _ => self.block_plain(around),
        }
    }

    /// A key up to behind its colon; `Some(None)` if there is none, and then it is somewhere on the line.
    fn key(&mut self) -> Option<Option<String>> {
        let (start, line) = (self.at, self.line_start);
        let key = match self.peek()? {
            quote @ (b'"' | b'\'') => {
                let key = self.quoted(quote)?;
                self.skip_spaces();
                if self.peek() != Some(b':') || !self.is_blank(1) {
                    return Some(None);
                }
                key
            }
            b'[' | b'{' | b'|' | b'>' => return Some(None),
            _ => {
                let (text, end) = self.plain()?;
                if end != End::Colon {
                    return Some(None);
                }
                // Keys that are no texts have rules of their own.
                match scalars::resolved(text.into())? {
                    Value::String(key) => key,
                    _ => return None,
                }
            }
        };
        if !self.may_be_key(start) || self.line_start != line {
            return None;
        }
        self.at += 1;
        Some(Some(key))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::template::reading::read_with_libyaml;

    const ORDINARY: &[&str] = &[
        concat!(
            "heat_template_version: 2018-08-31\n\n# what it is for\ndescription: >\n  Two servers,\n  and\n\n    a network.\n\n",
            "parameters:\n  name: {type: string, default: \"a \\\"b\\\" \\n\", constraints: [{length: {max: 3}}]}\n",
        ),
        concat!(
            "parameters:\n  name: {type: string, default: \"a \\\"b\\\" \\n\"}\n  other:\n    type: number # of them\n",
            "    default: 017\n    constraints:\n    - range: { min: 0, max: 1e+3 }\n    - allowed_values: [1, 2.5,\n        3, ]\n",
            "  none:\n  last: ~\n",
        ),
        concat!(
            "---\nresources:\n  a:\n    type: OS::Nova::Server\n    depends_on: [ b , 'it''s' ]\n    properties:\n",
            "      user_data: |\n        #!/bin/sh\n        \techo\n         \n\n        exit 0\n\n      list:\n        -\n          x: y\n",
            "        - - 1:30\n          - yes\n        - key: value\n          other : \"quoted: # no comment\"\n        -   deep:\n",
            "              - >-\n                folded\n                text\n",
        ),
        concat!(
            "outputs:\n  text:\n    description: goes on\n      in the next line\n\n      and after a gap\n",
            "    value: { get_attr: [a, first_address], \"b\" : {c: , d: [[], {}]} }\n  url: http://host:80/path#part\n  \"quoted key\": -1\n",
            "  keep: |+\n   x\n\n  'é': ünï — “text”\n",
        ),
        concat!(
            "a: 'goes on   \n    after ''spaces''\n\n\n    and gaps\n    '\nb: \"so\n\n  does \\\"this\\\"\"\n",
            "c: {d: goes\n    on , e\n    , f: [g\n  h\n\n  i], j: }\nlength: [min: 3, 'max' : {get_param: x}, none: ]\n",
        ),
        "- a\n- b: 1\n  c: 2\n-\n- d\n",
        "a: |-\n  no end of line",
        "a: plain",
    ];

    fn agrees(text: &str) -> bool {
        let Some(quick) = read(text) else { return false };
        let begins_with_tab = |line: &str| line.trim_start_matches(' ').starts_with('\t');
        match read_with_libyaml(text) {
            // As the first of a block scalar it is read here alone.
            Err(refused) if text.lines().any(begins_with_tab) => {
                assert!(
                    refused.to_string().contains("'\\t' that cannot start any token"),
                    "{text:?}: {refused}"
                );
            }
            other => assert_eq!(other, Ok(Some(quick)), "{text:?}"),
        }
        true
    }

    #[test]
    fn ordinary_documents_are_read_as_by_libyaml() {
        for text in ORDINARY {
            assert!(agrees(text), "{text}");
        }
    }

    #[test]
    fn what_is_out_of_the_ordinary_is_left_to_libyaml() {
        for text in [
            "",
            "# nothing",
            "text",
            "a: &b c\nd: *b",
            "a: !!str 1",
            "a:\tb",
            "a: b: c",
            "a: [b",
            "a: b\n  c: d",
            "? a\n: b",
            "<<: {a: b}",
            "1: a",
            "a: 'b\nc'",
            "a: {b\n  c: d}",
            "a: [b,\nc]",
            "'b\n  c': d",
            "a: |2\n   b",
            "a: |\n\n      \n    b",
            "a: b\n---\nc: d",
            "%YAML 1.1\n---\na: b",
            "a: b\r\n",
            "a: [b:c, 1: d]",
            "a: |\n    b\n\tc",
            "\u{feff}a: b",
            "a: \"\\x41\"",
            "- a\nb: c",
            "a:\n    b: c\n  d: e",
        ] {
            assert_eq!(read(text), None, "{text:?}");
        }
    }

    #[test]
    fn block_scalars_may_begin_with_a_tab() {
        for (text, expected) in [
            ("a: |\n  \tb\n  c\n", "\tb\nc\n"),
            ("a: |\n\n \tb\n", "\n\tb\n"),
            ("a: |\n  \tb\n    c\n", "\tb\n  c\n"),
            ("a: >\n  \tb\n  c\n", "\tb\nc\n"),
        ] {
            assert_eq!(read(text), Some(serde_json::json!({"a": expected})), "{text:?}");
        }
        for text in ["a: |\n   \n  \tb\n", "a: |\n\tb\n", "a: |\n  b\n  \tc\n \td\n"] {
            assert_eq!(read(text), None, "{text:?}");
        }
    }

    #[test]
    fn keys_are_as_long_as_libyaml_takes_them() {
        for (length, is_key) in [(1023, true), (1024, true), (1025, false)] {
            let key = "k".repeat(length);
            for text in [format!("{key}: a"), format!("a: {{{key}: b}}")] {
                assert_eq!(read(&text).is_some(), is_key, "{length}");
                assert_eq!(read_with_libyaml(&text).is_ok(), is_key, "{length}");
            }
            assert_eq!(
                read(&format!("{}: a", "ü".repeat(length))).is_some(),
                is_key,
                "{length}"
            );
        }
    }

    /// Ordinary documents with something changed: whatever is read nevertheless is what libyaml reads.
    #[test]
    fn nothing_is_read_otherwise_than_by_libyaml() {
        const PIECES: &[&str] = &[
            ": ", ":", "- ", "-", " # c", "#", "'", "\"", "[", "]", "{", "}", ", ", "|\n", ">\n", " ", "  ", "\n",
            "\n\n", "&a ", "*a", "!x ", "? ", "\t", "---\n", "...", "yes", "1:30", "<<", "=", "\\", "%", "a", "x: y\n",
            "@", "\u{85}", "+", "2",
        ];
        let mut state = 1_u64;
        let mut below = |limit: usize| {
            state = state
                .wrapping_mul(6_364_136_223_846_793_005)
                .wrapping_add(1_442_695_040_888_963_407);
            usize::try_from(state >> 33).unwrap_or(0) % limit.max(1)
        };
        let mut read_quickly = 0;
        for _ in 0..6_000 {
            let mut text: Vec<char> = ORDINARY[below(ORDINARY.len())].chars().collect();
            for _ in 0..=below(3) {
                let at = below(text.len() + 1);
                let until = (at + below(6)).min(text.len());
                match below(4) {
                    0 => drop(text.drain(at..until)),
                    1 => {
                        let again: Vec<char> = text[at..until].to_vec();
                        let to = below(text.len() + 1);
                        text.splice(to..to, again);
                    }
                    _ => drop(text.splice(at..at, PIECES[below(PIECES.len())].chars())),
                }
            }
            read_quickly += usize::from(agrees(&text.into_iter().collect::<String>()));
        }
        assert!(read_quickly > 1_000, "{read_quickly}");
    }
}
