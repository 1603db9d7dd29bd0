//! JSON as `json.loads` reads it, with the messages that users of Heat see for bad JSON.
//!
//! serde_json reads the same language but for `NaN` and `Infinity`; what it lacks is the wording of the errors, and
//! those travel into validation failures that clients show.

use serde_json::{Map, Value};

use super::number::PyNumber;

/// Where and why the text is no JSON: `Expecting value: line 1 column 1 (char 0)`.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{reason}: line {line} column {column} (char {offset})")]
pub struct JsonError {
    pub reason: &'static str,
    pub line: usize,
    pub column: usize,
    /// In characters, as Python counts.
    pub offset: usize,
}

/// Levels of maps and lists. CPython gives up near a thousand.
const DEEPEST_NESTING: usize = 500;

/// What Python keeps and our values have no room for. The value has something else in its place.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Misfit {
    pub what: &'static str,
    /// Keys and indices that lead to it, the outermost first.
    pub path: Vec<String>,
}

const HALF_PAIR: &str = "half a surrogate pair";
const NOT_A_NUMBER: &str = "NaN";

/// `json.loads(text)`.
pub fn loads(text: &str) -> Result<Value, JsonError> {
    loads_noting(text).map(|(value, _)| value)
}

/// As [`loads`], with the first thing that the value has no room for: to be asked where it would be stored.
pub fn loads_noting(text: &str) -> Result<(Value, Option<Misfit>), JsonError> {
    let mut reader = Reader {
        text,
        offset: 0,
        misfit: None,
    };
    reader.skip_blanks();
    let value = reader.read_value(0)?;
    reader.skip_blanks();
    if reader.offset < text.len() {
        return Err(reader.error("Extra data"));
    }
    let misfit = reader.misfit.map(|found| Misfit {
        what: found.what,
        path: found.inside_out.into_iter().rev().collect(),
    });
    Ok((value, misfit))
}

struct Reader<'a> {
    text: &'a str,
    offset: usize,
    misfit: Option<Found>,
}

/// A misfit whose path is put together on the way out of what it is in.
struct Found {
    what: &'static str,
    inside_out: Vec<String>,
    /// In how many maps and lists it is whose key or index is still to come.
    depth: usize,
}

/// A word, and the value that it stands for.
type Word = (&'static str, fn() -> Value);

impl Reader<'_> {
    fn error(&self, reason: &'static str) -> JsonError {
        self.error_at(reason, self.offset)
    }

    fn error_at(&self, reason: &'static str, offset: usize) -> JsonError {
        let before = &self.text[..offset];
        let line_start = before.rfind('\n').map_or(0, |newline| newline + 1);
        JsonError {
            reason,
            line: before.matches('\n').count() + 1,
            column: before[line_start..].chars().count() + 1,
            offset: before.chars().count(),
        }
    }

    /// The first counts: who mends it is told of the next.
    fn note(&mut self, what: &'static str, depth: usize) {
        let found = || Found {
            what,
            inside_out: Vec::new(),
            depth,
        };
        self.misfit.get_or_insert_with(found);
    }

    /// To be called after an item of a map or list within `depth` others.
    fn came_out_of(&mut self, depth: usize, item: impl FnOnce() -> String) {
        if let Some(found) = self.misfit.as_mut().filter(|found| found.depth == depth + 1) {
            found.inside_out.push(item());
            found.depth = depth;
        }
    }

    fn peek(&self) -> Option<u8> {
        self.text.as_bytes().get(self.offset).copied()
    }

    fn skip_blanks(&mut self) {
        while matches!(self.peek(), Some(b' ' | b'\t' | b'\n' | b'\r')) {
            self.offset += 1;
        }
    }

    fn accept(&mut self, token: &str) -> bool {
        let found = self.text[self.offset..].starts_with(token);
        if found {
            self.offset += token.len();
        }
        found
    }

    fn read_value(&mut self, depth: usize) -> Result<Value, JsonError> {
        match self.peek() {
            Some(b'{' | b'[') if depth == DEEPEST_NESTING => Err(self.error("Nested too deeply")),
            Some(b'"') => self.read_string(depth).map(Value::String),
            Some(b'{') => self.read_object(depth),
            Some(b'[') => self.read_array(depth),
            Some(b'N') if self.accept(NOT_A_NUMBER) => {
                self.note(NOT_A_NUMBER, depth);
                Ok(Value::Null)
            }
            _ => self.read_word_or_number(),
        }
    }

    fn read_word_or_number(&mut self) -> Result<Value, JsonError> {
        let word: Option<Word> = match self.peek() {
            Some(b'n') => Some(("null", || Value::Null)),
            Some(b't') => Some(("true", || Value::Bool(true))),
            Some(b'f') => Some(("false", || Value::Bool(false))),
            Some(b'I') => Some(("Infinity", || PyNumber::Float(f64::INFINITY).to_json())),
            Some(b'-') => Some(("-Infinity", || PyNumber::Float(f64::NEG_INFINITY).to_json())),
            _ => None,
        };
        if let Some((word, value)) = word
            && self.accept(word)
        {
            return Ok(value());
        }
        let length = self.number_length();
        let number = self.text[self.offset..self.offset + length]
            .parse()
            .map_err(|_| self.error("Expecting value"))?;
        self.offset += length;
        Ok(Value::Number(number))
    }

    /// The longest number that starts here; 0 if there is none.
    fn number_length(&self) -> usize {
        let rest = &self.text.as_bytes()[self.offset..];
        let digits_from = |start: usize| {
            rest[start.min(rest.len())..]
                .iter()
                .take_while(|b| b.is_ascii_digit())
                .count()
        };
        let sign = usize::from(rest.first() == Some(&b'-'));
        let whole = match rest.get(sign) {
            Some(b'0') => 1,
            _ => digits_from(sign),
        };
        if whole == 0 {
            return 0;
        }
        let mut end = sign + whole;
        if rest.get(end) == Some(&b'.') && digits_from(end + 1) > 0 {
            end += 1 + digits_from(end + 1);
        }
        if matches!(rest.get(end), Some(b'e' | b'E')) {
            let exponent_sign = usize::from(matches!(rest.get(end + 1), Some(b'+' | b'-')));
            let digits = digits_from(end + 1 + exponent_sign);
            if digits > 0 {
                end += 1 + exponent_sign + digits;
            }
        }
        end
    }

    fn read_array(&mut self, depth: usize) -> Result<Value, JsonError> {
        self.offset += 1;
        let mut items = Vec::new();
        self.skip_blanks();
        if self.accept("]") {
            return Ok(Value::Array(items));
        }
        loop {
            items.push(self.read_value(depth + 1)?);
            self.came_out_of(depth, || (items.len() - 1).to_string());
            self.skip_blanks();
            if self.accept("]") {
                return Ok(Value::Array(items));
            }
            if !self.accept(",") {
                return Err(self.error("Expecting ',' delimiter"));
            }
            self.skip_blanks();
        }
    }

    fn read_object(&mut self, depth: usize) -> Result<Value, JsonError> {
        self.offset += 1;
        let mut entries = Map::new();
        self.skip_blanks();
        if self.accept("}") {
            return Ok(Value::Object(entries));
        }
        loop {
            if self.peek() != Some(b'"') {
                return Err(self.error("Expecting property name enclosed in double quotes"));
            }
            let key = self.read_string(depth + 1)?;
            self.skip_blanks();
            if !self.accept(":") {
                return Err(self.error("Expecting ':' delimiter"));
            }
            self.skip_blanks();
            let value = self.read_value(depth + 1)?;
            self.came_out_of(depth, || key.clone());
            entries.insert(key, value);
            self.skip_blanks();
            if self.accept("}") {
                return Ok(Value::Object(entries));
            }
            if !self.accept(",") {
                return Err(self.error("Expecting ',' delimiter"));
            }
            self.skip_blanks();
        }
    }

    fn read_string(&mut self, depth: usize) -> Result<String, JsonError> {
        let start = self.offset;
        self.offset += 1;
        let mut text = String::new();
        loop {
            let rest = &self.text[self.offset..];
            // All three are ASCII, which no other character has in it.
            let Some(plain) = rest.bytes().position(|byte| matches!(byte, b'"' | b'\\' | ..b' ')) else {
                self.offset = self.text.len();
                return Err(self.error_at("Unterminated string starting at", start));
            };
            text.push_str(&rest[..plain]);
            self.offset += plain;
            match self.peek() {
                Some(b'"') => {
                    self.offset += 1;
                    return Ok(text);
                }
                Some(b'\\') => match self.read_escape(start)? {
                    Some(character) => text.push(character),
                    None => {
                        self.note(HALF_PAIR, depth);
                        text.push(char::REPLACEMENT_CHARACTER);
                    }
                },
                _ => return Err(self.error("Invalid control character at")),
            }
        }
    }

    /// `None` for half a surrogate pair, which Rust's text has no room for.
    fn read_escape(&mut self, string_start: usize) -> Result<Option<char>, JsonError> {
        let backslash = self.offset;
        self.offset += 1;
        let Some(letter) = self.text[self.offset..].chars().next() else {
            return Err(self.error_at("Unterminated string starting at", string_start));
        };
        self.offset += letter.len_utf8();
        match letter {
            '"' | '\\' | '/' => Ok(Some(letter)),
            'b' => Ok(Some('\u{8}')),
            'f' => Ok(Some('\u{c}')),
            'n' => Ok(Some('\n')),
            'r' => Ok(Some('\r')),
            't' => Ok(Some('\t')),
            'u' => {
                let high = self.read_unit(backslash)?;
                let after_high = self.offset;
                if (0xd800..0xdc00).contains(&high)
                    && self.accept("\\u")
                    && let Some(Ok(pair)) = char::decode_utf16([high, self.read_unit(backslash)?]).next()
                {
                    return Ok(Some(pair));
                }
                // What follows half a pair is a character of its own.
                self.offset = after_high;
                Ok(char::from_u32(high.into()))
            }
            _ => Err(self.error_at("Invalid \\escape", backslash)),
        }
    }

    fn read_unit(&mut self, backslash: usize) -> Result<u16, JsonError> {
        let unit = self
            .text
            .get(self.offset..self.offset + 4)
            .filter(|digits| digits.bytes().all(|byte| byte.is_ascii_hexdigit()))
            .and_then(|digits| u16::from_str_radix(digits, 16).ok())
            .ok_or_else(|| self.error_at("Invalid \\uXXXX escape", backslash + 1))?;
        self.offset += 4;
        Ok(unit)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn reads_what_python_reads() {
        assert_eq!(
            loads(r#" {"a": [1, -2.5e3, null, "\u00fc\ud83d\ude00"]} "#)
                .unwrap()
                .to_string(),
            json!({"a": [1, "-2.5e3".parse::<serde_json::Number>().unwrap(), null, "ü😀"]}).to_string()
        );
        assert_eq!(loads("[]").unwrap(), json!([]));
    }

    #[test]
    fn what_has_no_room_is_told_of_by_its_place() {
        for (text, what, path) in [
            (r#"{"a": ["x", {"b": "\ud83d"}], "c": NaN}"#, HALF_PAIR, "a.1.b"),
            (r#"{"a": {"b": 1}, "c": [[NaN]]}"#, NOT_A_NUMBER, "c.0.0"),
            (r#"{"a": {"\udc00": {"b": 1}}}"#, HALF_PAIR, "a.\u{fffd}"),
            (r#""\ud83d""#, HALF_PAIR, ""),
        ] {
            let (_, misfit) = loads_noting(text).unwrap();
            let misfit = misfit.unwrap();
            assert_eq!((misfit.what, misfit.path.join(".").as_str()), (what, path), "{text}");
        }
        assert_eq!(
            loads(r#"["\ud83dA", "\ud83d\u0041", "\ud83d\ud83d\ude00"]"#).unwrap(),
            json!(["\u{fffd}A", "\u{fffd}A", "\u{fffd}\u{1f600}"])
        );
        let (value, misfit) = loads_noting(r#"["\ud83d\ude00", "\ufffd", Infinity, "NaN"]"#).unwrap();
        assert_eq!((&value[1], misfit), (&json!("\u{fffd}"), None));
    }

    #[test]
    fn errors_are_worded_as_pythons() {
        for (text, message) in [
            ("", "Expecting value: line 1 column 1 (char 0)"),
            (
                "{",
                "Expecting property name enclosed in double quotes: line 1 column 2 (char 1)",
            ),
            ("{\"a\"}", "Expecting ':' delimiter: line 1 column 5 (char 4)"),
            ("{\"a\": 1 \"b\"}", "Expecting ',' delimiter: line 1 column 9 (char 8)"),
            ("[1,\n]", "Expecting value: line 2 column 1 (char 4)"),
            ("[1] x", "Extra data: line 1 column 5 (char 4)"),
            ("\"abc", "Unterminated string starting at: line 1 column 1 (char 0)"),
            ("\"\\q\"", "Invalid \\escape: line 1 column 2 (char 1)"),
            ("01", "Extra data: line 1 column 2 (char 1)"),
        ] {
            assert_eq!(loads(text).unwrap_err().to_string(), message, "{text}");
        }
        assert!(loads(&"[".repeat(100_000)).is_err());
    }
}
