//! `re.search` and what is built on it: one match after the other, with groups.

use std::cell::OnceCell;

use super::error::PythonError;
use super::regex::{Flags, Patience, Program, RegexError, parsed};
use super::text::control_character;

#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Hash)]
pub struct PatternFlags {
    pub ignore_case: bool,
    pub multi_line: bool,
    pub dot_all: bool,
}

/// A pattern that may match anywhere in a text.
#[derive(Debug)]
pub struct SearchRegex {
    program: Program,
    /// The same pattern, not matching the empty text where the search begins.
    advancing: OnceCell<Program>,
    group_names: Vec<(String, usize)>,
}

/// Where a match and its groups are, in bytes.
#[derive(Debug, Clone)]
pub struct Match {
    groups: Vec<Option<(usize, usize)>>,
}

impl Match {
    pub fn start(&self) -> usize {
        self.groups.first().copied().flatten().map_or(0, |(start, _)| start)
    }

    pub fn end(&self) -> usize {
        self.groups.first().copied().flatten().map_or(0, |(_, end)| end)
    }

    /// All groups, the match itself first.
    pub fn groups(&self) -> &[Option<(usize, usize)>] {
        &self.groups
    }
}

impl SearchRegex {
    pub fn compile(pattern: &str, flags: PatternFlags, patience: &Patience) -> Result<Self, RegexError> {
        let flags = Flags {
            ignore_case: flags.ignore_case,
            multi_line: flags.multi_line,
            dot_all: flags.dot_all,
            ..Flags::default()
        };
        let pattern = parsed(pattern, flags)?;
        Ok(Self {
            program: Program::compile(&pattern, patience, |translated| translated)?,
            advancing: OnceCell::new(),
            group_names: pattern.group_names,
        })
    }

    pub fn is_match(&self, text: &str) -> Result<bool, RegexError> {
        self.program.run(text.len(), |regex| regex.is_match(text))
    }

    pub fn group_count(&self) -> usize {
        self.program.group_count()
    }

    pub fn group_named(&self, name: &str) -> Option<usize> {
        let known = self.group_names.iter().find(|(known, _)| known == name);
        known.map(|(_, index)| *index)
    }

    pub fn group_names(&self) -> &[(String, usize)] {
        &self.group_names
    }

    fn find(&self, text: &str, from: usize, must_advance: bool) -> Result<Option<Match>, RegexError> {
        let program = if must_advance { self.advancing()? } else { &self.program };
        program.run(text.len() - from, |regex| {
            let captures = regex.captures_from_pos(text, from)?;
            Ok(captures.map(|captures| Match {
                groups: captures
                    .iter()
                    .map(|group| group.map(|group| (group.start(), group.end())))
                    .collect(),
            }))
        })
    }

    fn advancing(&self) -> Result<&Program, RegexError> {
        if let Some(program) = self.advancing.get() {
            return Ok(program);
        }
        let program = self.program.wrapped(|translated| format!("(?:{translated})(?!\\G)"))?;
        Ok(self.advancing.get_or_init(|| program))
    }
}

/// The matches of a text from left to right. After an empty match, another match may begin at the same place if it is
/// not empty.
#[derive(Debug, Default)]
pub struct Matches {
    next: usize,
    must_advance: bool,
}

impl Matches {
    pub fn next(&mut self, regex: &SearchRegex, text: &str) -> Result<Option<Match>, RegexError> {
        if self.next > text.len() {
            return Ok(None);
        }
        let found = regex.find(text, self.next, self.must_advance)?;
        match &found {
            Some(found) => {
                self.must_advance = found.start() == found.end();
                self.next = found.end();
            }
            None => self.next = text.len() + 1,
        }
        Ok(found)
    }
}

/// The replacement text of `re.sub`, with references to groups.
#[derive(Debug)]
pub struct Template {
    parts: Vec<Part>,
}

#[derive(Debug)]
enum Part {
    Text(String),
    Group(usize),
}

impl Template {
    pub fn parse(template: &str, regex: &SearchRegex) -> Result<Self, PythonError> {
        let reader = TemplateReader {
            characters: template.chars().collect(),
            position: 0,
            regex,
        };
        Ok(Self { parts: reader.read()? })
    }

    /// How long the replacement for a match is.
    pub fn length(&self, found: &Match) -> usize {
        let lengths = self.parts.iter().map(|part| match part {
            Part::Text(text) => text.len(),
            Part::Group(index) => found
                .groups
                .get(*index)
                .copied()
                .flatten()
                .map_or(0, |(start, end)| end - start),
        });
        lengths.sum()
    }

    pub fn expand(&self, found: &Match, text: &str, output: &mut String) {
        for part in &self.parts {
            match part {
                Part::Text(literal) => output.push_str(literal),
                Part::Group(index) => {
                    if let Some((start, end)) = found.groups.get(*index).copied().flatten() {
                        output.push_str(&text[start..end]);
                    }
                }
            }
        }
    }
}

struct TemplateReader<'a> {
    characters: Vec<char>,
    position: usize,
    regex: &'a SearchRegex,
}

impl TemplateReader<'_> {
    fn read(mut self) -> Result<Vec<Part>, PythonError> {
        let mut parts = Vec::new();
        let mut literal = String::new();
        while let Some(character) = self.next() {
            if character != '\\' {
                literal.push(character);
                continue;
            }
            let start = self.position - 1;
            let Some(escaped) = self.next() else {
                return Err(pattern_error(format!(
                    "bad escape (end of pattern) at position {start}"
                )));
            };
            let group = match escaped {
                'g' => Some(self.named_group()?),
                '0' => {
                    let digits = self.octal_digits(2);
                    literal.extend(char::from_u32(u32::from_str_radix(&digits, 8).unwrap_or(0)));
                    None
                }
                '1'..='9' => self.numbered_group(escaped, start, &mut literal)?,
                'a' | 'b' | 'f' | 'n' | 'r' | 't' | 'v' | '\\' => {
                    literal.push(control_character(escaped).unwrap_or(escaped));
                    None
                }
                other if other.is_ascii_alphabetic() => {
                    return Err(pattern_error(format!("bad escape \\{other} at position {start}")));
                }
                other => {
                    literal.push('\\');
                    literal.push(other);
                    None
                }
            };
            if let Some(index) = group {
                parts.push(Part::Text(std::mem::take(&mut literal)));
                parts.push(Part::Group(index));
            }
        }
        parts.push(Part::Text(literal));
        Ok(parts)
    }

    fn next(&mut self) -> Option<char> {
        let character = self.characters.get(self.position).copied();
        self.position += usize::from(character.is_some());
        character
    }

    fn peek(&self) -> Option<char> {
        self.characters.get(self.position).copied()
    }

    fn octal_digits(&mut self, most: usize) -> String {
        let mut digits = String::new();
        while digits.len() < most
            && let Some(digit) = self.peek().filter(|c| c.is_digit(8))
        {
            digits.push(digit);
            self.position += 1;
        }
        digits
    }

    /// `\1`, `\12`, or three octal digits for a character.
    fn numbered_group(
        &mut self,
        first: char,
        start: usize,
        literal: &mut String,
    ) -> Result<Option<usize>, PythonError> {
        let mut digits = String::from(first);
        if let Some(second) = self.peek().filter(char::is_ascii_digit) {
            digits.push(second);
            self.position += 1;
            let third = self.peek().filter(|c| c.is_digit(8));
            if let Some(third) = third.filter(|_| first.is_digit(8) && second.is_digit(8)) {
                digits.push(third);
                self.position += 1;
                let code = u32::from_str_radix(&digits, 8).unwrap_or(0);
                if code > 0o377 {
                    return Err(pattern_error(format!(
                        "octal escape value \\{digits} outside of range 0-0o377 at position {start}"
                    )));
                }
                literal.extend(char::from_u32(code));
                return Ok(None);
            }
        }
        self.existing_group(&digits, start + 1).map(Some)
    }

    /// `\g<name>` and `\g<1>`
    fn named_group(&mut self) -> Result<usize, PythonError> {
        if self.next() != Some('<') {
            let position = self.position.min(self.characters.len());
            return Err(pattern_error(format!(
                "missing < at position {}",
                position.saturating_sub(1).max(2)
            )));
        }
        let start = self.position;
        let name: String = self.characters[start..].iter().take_while(|c| **c != '>').collect();
        let length = name.chars().count();
        self.position += length;
        if self.next() != Some('>') {
            let complaint = if name.is_empty() {
                "missing group name"
            } else {
                "missing >, unterminated name"
            };
            return Err(pattern_error(format!("{complaint} at position {start}")));
        }
        if name.is_empty() {
            return Err(pattern_error(format!("missing group name at position {start}")));
        }
        if name.chars().all(|c| c.is_ascii_digit()) {
            return self.existing_group(&name, start);
        }
        let is_identifier =
            name.chars().all(|c| c.is_alphanumeric() || c == '_') && !name.starts_with(char::is_numeric);
        if !is_identifier {
            let shown = super::repr::repr_text(&name);
            return Err(pattern_error(format!(
                "bad character in group name {shown} at position {start}"
            )));
        }
        self.regex.group_named(&name).ok_or_else(|| {
            PythonError::new(
                "IndexError",
                format!("unknown group name {}", super::repr::repr_text(&name)),
            )
        })
    }

    fn existing_group(&self, digits: &str, position: usize) -> Result<usize, PythonError> {
        digits
            .parse()
            .ok()
            .filter(|index| *index < self.regex.group_count())
            .ok_or_else(|| {
                let number = digits.trim_start_matches('0');
                let number = if number.is_empty() { "0" } else { number };
                pattern_error(format!("invalid group reference {number} at position {position}"))
            })
    }
}

/// `re.error`
fn pattern_error(message: String) -> PythonError {
    PythonError::new("error", message)
}

/// `re.escape(text)`
pub fn escaped(text: &str) -> String {
    const SPECIAL: &str = "()[]{}?*+-|^$\\.&~# \t\n\r\x0b\x0c";
    let mut escaped = String::with_capacity(text.len());
    for character in text.chars() {
        if SPECIAL.contains(character) {
            escaped.push('\\');
        }
        escaped.push(character);
    }
    escaped
}

#[cfg(test)]
mod tests {
    use super::*;

    fn replaced(pattern: &str, template: &str, text: &str) -> String {
        let regex = SearchRegex::compile(pattern, PatternFlags::default(), &Patience::default()).unwrap();
        let template = Template::parse(template, &regex).unwrap();
        let (mut output, mut last) = (String::new(), 0);
        let mut matches = Matches::default();
        while let Some(found) = matches.next(&regex, text).unwrap() {
            output.push_str(&text[last..found.start()]);
            template.expand(&found, text, &mut output);
            last = found.end();
        }
        output + &text[last..]
    }

    #[test]
    fn matches_follow_each_other_as_in_python() {
        assert_eq!(replaced("x*", "-", "abxd"), "-a-b--d-");
        assert_eq!(replaced("$", "!", "a\n"), "a!\n!");
        assert_eq!(replaced("(?P<first>.)(.)", "\\2\\g<first>\\101", "abcd"), "baAdcA");
        assert_eq!(replaced("^a|a", "b", "aaa"), "bbb");
        assert_eq!(replaced("\\b", "|", "ab cd"), "|ab| |cd|");
    }

    #[test]
    fn templates_are_checked() {
        let regex = SearchRegex::compile("(a)", PatternFlags::default(), &Patience::default()).unwrap();
        for (template, message) in [
            ("\\2", "invalid group reference 2 at position 1"),
            ("x\\q", "bad escape \\q at position 1"),
            ("\\g<x>", "unknown group name 'x'"),
            ("\\", "bad escape (end of pattern) at position 0"),
        ] {
            assert_eq!(Template::parse(template, &regex).unwrap_err().to_string(), message);
        }
    }
}
