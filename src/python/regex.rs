//! Python's `re` dialect on top of fancy-regex.
//!
//! The two agree on most of a pattern. What differs is rewritten while the pattern is read once: `$` and `\Z`, octal
//! escapes, sets (where Rust would see nested sets and set operators), braces that are no repetition, blanks that
//! only Python counts as such. Escapes that Python does not know are refused, as Python does. Backtracking is
//! bounded: patterns and texts both come from tenants.

use std::collections::HashSet;
use std::sync::Arc;

use fancy_regex::RegexBuilder;

use super::regex_cache::compiled;

/// A compiled pattern that matches as `re.match` does: from the start of the text.
#[derive(Debug, Clone)]
pub struct PythonRegex {
    compiled: Arc<fancy_regex::Regex>,
}

#[derive(Debug, thiserror::Error)]
pub enum RegexError {
    #[error("bad escape \\{0}")]
    BadEscape(char),
    #[error("bad escape (end of pattern)")]
    EscapeAtEnd,
    #[error("unterminated character set")]
    UnterminatedSet,
    #[error("bad character range")]
    BadRange,
    #[error("bad inline flags")]
    BadFlags,
    #[error("global flags not at the start of the expression")]
    LateFlags,
    #[error("redefinition of group name '{0}'")]
    GroupNameTwice(String),
    #[error("bad character in group name '{0}'")]
    GroupName(String),
    #[error("unknown extension ?{0}")]
    UnknownExtension(String),
    #[error("missing ), unterminated comment")]
    UnterminatedComment,
    #[error("octal escape value \\{0} outside of range 0-0o377")]
    OctalEscape(String),
    #[error("min repeat greater than max repeat")]
    RepeatBounds,
    #[error("nothing to repeat")]
    NothingToRepeat,
    #[error("multiple repeat")]
    MultipleRepeat,
    #[error("unbalanced parenthesis")]
    Unbalanced,
    #[error("invalid group reference {0}")]
    GroupReference(String),
    #[error("cannot refer to an open group")]
    OpenGroupReference,
    #[error("the pattern is too long or nested too deeply")]
    TooComplex,
    #[error("the pattern cannot be compiled")]
    Compile(#[source] Box<fancy_regex::Error>),
    #[error("matching took too many steps")]
    TooManySteps(#[source] Box<fancy_regex::Error>),
}

const LONGEST_PATTERN: usize = 64 * 1024;
const DEEPEST_NESTING: usize = 100;
const MOST_BACKTRACKS: usize = 1_000_000;

/// Of what a pattern is compiled to: parts that run without backtracking, and instructions that join them.
#[derive(Debug, Clone, Copy)]
pub(super) struct SizeLimits {
    pub instructions: usize,
    /// Of one part, in bytes.
    pub program: usize,
    /// Of what a search through one part remembers, in bytes.
    pub states: usize,
}

impl SizeLimits {
    pub const LARGEST: Self = Self {
        instructions: 1 << 20,
        program: 16 * 1024 * 1024,
        states: 2 * 1024 * 1024,
    };
}

impl PythonRegex {
    pub fn compile(pattern: &str) -> Result<Self, RegexError> {
        let translated = format!("\\A(?:{})", translated(pattern, false)?);
        let compiled = compiled(translated)?;
        Ok(Self { compiled })
    }

    /// Where the match that starts at the beginning of the text ends, in bytes.
    pub fn match_end(&self, text: &str) -> Result<Option<usize>, RegexError> {
        self.compiled
            .find(text)
            .map(|found| found.map(|found| found.end()))
            .map_err(|error| RegexError::TooManySteps(Box::new(error)))
    }

    /// Whether the match that starts at the beginning reaches the end. (Python's `fullmatch` would try further
    /// alternatives; callers of Python's `match` who look at its end do not.)
    pub fn match_reaches_end(&self, text: &str) -> Result<bool, RegexError> {
        Ok(self.match_end(text)? == Some(text.len()))
    }
}

/// The pattern in Rust's dialect. `is_multiline`: `$` matches at the end of each line.
pub(super) fn translated(pattern: &str, is_multiline: bool) -> Result<String, RegexError> {
    if pattern.len() > LONGEST_PATTERN {
        return Err(RegexError::TooComplex);
    }
    let mut translator = Translator::new(pattern);
    translator.flags = vec![Flags {
        multiline: is_multiline,
        ..Flags::default()
    }];
    translator.translate()
}

pub(super) fn build(translated: &str, limits: SizeLimits) -> Result<fancy_regex::Regex, RegexError> {
    RegexBuilder::new(translated)
        .backtrack_limit(MOST_BACKTRACKS)
        .max_prog_size(limits.instructions)
        .delegate_size_limit(limits.program)
        .delegate_dfa_size_limit(limits.states)
        .build()
        .map_err(|error| RegexError::Compile(Box::new(error)))
}

/// As `str.isidentifier` has it, nearly.
fn is_identifier(name: &str) -> bool {
    let mut characters = name.chars();
    characters
        .next()
        .is_some_and(|first| first.is_alphabetic() || first == '_')
        && characters.all(|other| other.is_alphanumeric() || other == '_')
}

/// What Python counts as a blank besides Unicode's white space.
const PYTHON_ONLY_BLANKS: &str = "\\x1c-\\x1f";

/// `{low,high}`; the upper bound may be empty.
struct Bounds<'a> {
    low: &'a str,
    high: Option<&'a str>,
}

#[derive(Clone, Copy, Default)]
struct Flags {
    multiline: bool,
    ascii: bool,
}

struct OpenGroup {
    /// Where in the output it begins, if it only looks around.
    lookaround: Option<usize>,
    /// Its number, if it captures text.
    capture: Option<usize>,
}

struct Translator<'a> {
    rest: &'a str,
    output: String,
    /// Flags in force, one entry for the whole pattern and one for each open group.
    flags: Vec<Flags>,
    open_groups: Vec<OpenGroup>,
    /// How many groups were opened that capture text.
    captures: usize,
    /// The greatest number of a group that a condition asks for. Such a group may follow.
    asked_for: usize,
    group_names: HashSet<&'a str>,
    /// Whether anything but flags has been read.
    has_started: bool,
}

impl<'a> Translator<'a> {
    fn new(pattern: &'a str) -> Self {
        Self {
            rest: pattern,
            output: String::with_capacity(pattern.len() + 16),
            flags: vec![Flags::default()],
            open_groups: Vec::new(),
            captures: 0,
            asked_for: 0,
            group_names: HashSet::new(),
            has_started: false,
        }
    }

    fn flags(&self) -> Flags {
        self.flags.last().copied().unwrap_or_default()
    }

    fn next(&mut self) -> Option<char> {
        let character = self.rest.chars().next()?;
        self.rest = &self.rest[character.len_utf8()..];
        Some(character)
    }

    fn take_while(&mut self, limit: usize, accepted: impl Fn(char) -> bool) -> &'a str {
        let length: usize = self
            .rest
            .chars()
            .take(limit)
            .take_while(|c| accepted(*c))
            .map(char::len_utf8)
            .sum();
        let (taken, rest) = self.rest.split_at(length);
        self.rest = rest;
        taken
    }

    fn push_literal(&mut self, character: char) {
        let needs_escape = !character.is_alphanumeric() && character.is_ascii() && !character.is_ascii_control();
        if needs_escape && character != '_' && character != ' ' {
            self.output.push('\\');
        }
        self.output.push(character);
    }

    fn push_code_point(&mut self, code_point: u32) {
        self.output.push_str(&format!("\\x{{{code_point:x}}}"));
    }

    fn translate(mut self) -> Result<String, RegexError> {
        while let Some(character) = self.next() {
            self.has_started |= character != '(';
            match character {
                '\\' => self.escape_outside_set()?,
                '[' => self.set()?,
                '(' => self.open_group()?,
                ')' => self.close_group()?,
                '^' => self.place("^")?,
                '$' if self.flags().multiline => self.place("$")?,
                '$' => self.place("(?:(?=\\n?\\z))")?,
                '{' => self.brace()?,
                '*' | '+' | '?' => {
                    self.output.push(character);
                    self.end_quantifier()?;
                }
                '}' | ']' => self.push_literal(character),
                _ => self.output.push(character),
            }
        }
        if self.asked_for > self.captures {
            return Err(RegexError::GroupReference(self.asked_for.to_string()));
        }
        Ok(self.output)
    }

    /// A repetition such as `{2}`, `{,3}`, `{1,}`; anything else is a plain brace.
    fn brace(&mut self) -> Result<(), RegexError> {
        match self.take_bounds() {
            None => {
                self.output.push_str("\\{");
                return Ok(());
            }
            Some(Bounds { low, high: None }) => self.output.push_str(&format!("{{{low}}}")),
            Some(Bounds { low, high: Some(high) }) => {
                // Ten digits at most.
                let count = |digits: &str| digits.parse::<u64>().ok();
                if count(high).is_some_and(|high| count(low) > Some(high)) {
                    return Err(RegexError::RepeatBounds);
                }
                self.output.push_str(&format!("{{{low},{high}}}"));
            }
        }
        self.end_quantifier()
    }

    /// A quantifier may be lazy or possessive, and none may follow on it.
    fn end_quantifier(&mut self) -> Result<(), RegexError> {
        if self.rest.starts_with(['?', '+']) {
            let mark = self.next();
            self.output.extend(mark);
        }
        self.refuse_quantifier()
    }

    fn refuse_quantifier(&mut self) -> Result<(), RegexError> {
        match self.take_quantifier() {
            Some(_) => Err(RegexError::MultipleRepeat),
            None => Ok(()),
        }
    }

    /// What follows an opening brace, if that is a repetition.
    fn take_bounds(&mut self) -> Option<Bounds<'a>> {
        let before = self.rest;
        let low = self.take_while(10, |c| c.is_ascii_digit());
        let high = self.rest.strip_prefix(',').map(|rest| {
            self.rest = rest;
            self.take_while(10, |c| c.is_ascii_digit())
        });
        match self.rest.strip_prefix('}') {
            Some(rest) if high.is_some() || !low.is_empty() => {
                self.rest = rest;
                let low = if low.is_empty() { "0" } else { low };
                Some(Bounds { low, high })
            }
            _ => {
                self.rest = before;
                None
            }
        }
    }

    /// What repeats the item before, if anything does: whether that may be left out.
    fn take_quantifier(&mut self) -> Option<bool> {
        let before = self.rest;
        let may_be_left_out = match self.next() {
            Some('*' | '?') => Some(true),
            Some('+') => Some(false),
            Some('{') => self
                .take_bounds()
                .map(|bounds| bounds.low.bytes().all(|digit| digit == b'0')),
            _ => None,
        };
        match may_be_left_out {
            Some(_) => self.rest = self.rest.strip_prefix(['?', '+']).unwrap_or(self.rest),
            None => self.rest = before,
        }
        may_be_left_out
    }

    /// A place in the text, which Python does not repeat.
    fn place(&mut self, translated: &str) -> Result<(), RegexError> {
        self.output.push_str(translated);
        match self.take_quantifier() {
            Some(_) => Err(RegexError::NothingToRepeat),
            None => Ok(()),
        }
    }

    fn open_group(&mut self) -> Result<(), RegexError> {
        if self.flags.len() > DEEPEST_NESTING {
            return Err(RegexError::TooComplex);
        }
        if self.rest.starts_with("?#") {
            self.take_while(usize::MAX, |c| c != ')');
            return match self.next() {
                Some(_) => Ok(()),
                None => Err(RegexError::UnterminatedComment),
            };
        }
        let Some(after_mark) = self.rest.strip_prefix('?') else {
            self.has_started = true;
            self.output.push('(');
            self.begin_capture();
            return Ok(());
        };
        if after_mark.starts_with(|c: char| c.is_ascii_lowercase() || c == 'L' || c == '-') {
            self.rest = after_mark;
            return self.flag_group();
        }
        let is_known = [":", "=", "!", "<=", "<!", ">", "P<", "P=", "("]
            .iter()
            .any(|kind| after_mark.starts_with(kind));
        if !is_known {
            let extension = after_mark
                .chars()
                .take(1 + usize::from(after_mark.starts_with(['<', 'P'])));
            return Err(RegexError::UnknownExtension(extension.collect()));
        }
        self.has_started = true;
        // The rest of the opening ((?P<name>, (?<=, (?(1) and so on) means the same to both and is copied.
        let looks_around = ["=", "!", "<=", "<!"].iter().any(|kind| after_mark.starts_with(kind));
        match after_mark.strip_prefix("P<").and_then(|rest| rest.split_once('>')) {
            Some((name, _)) if !is_identifier(name) => {
                return Err(RegexError::GroupName(name.to_owned()));
            }
            Some((name, _)) if !self.group_names.insert(name) => {
                return Err(RegexError::GroupNameTwice(name.to_owned()));
            }
            Some(_) => self.begin_capture(),
            None => self.begin_group(self.flags(), looks_around.then_some(self.output.len()), None),
        }
        if let Some((name, _)) = after_mark.strip_prefix("P=").and_then(|rest| rest.split_once(')')) {
            self.check_group_name(name)?;
        }
        self.output.push_str("(?");
        self.rest = after_mark;
        if after_mark.starts_with('(') {
            let condition = self.take_while(usize::MAX, |c| c != ')');
            self.check_condition(&condition[1..])?;
            self.output.push_str(condition);
            if self.next().is_some() {
                self.output.push(')');
            }
        }
        Ok(())
    }

    fn begin_group(&mut self, flags: Flags, lookaround: Option<usize>, capture: Option<usize>) {
        self.flags.push(flags);
        self.open_groups.push(OpenGroup { lookaround, capture });
    }

    fn begin_capture(&mut self) {
        self.captures += 1;
        self.begin_group(self.flags(), None, Some(self.captures));
    }

    fn close_group(&mut self) -> Result<(), RegexError> {
        let group = self.open_groups.pop().ok_or(RegexError::Unbalanced)?;
        self.flags.pop();
        self.output.push(')');
        if let Some(start) = group.lookaround {
            self.repeated_lookaround(start)?;
        }
        Ok(())
    }

    /// What the condition of `(?(…)yes|no)` asks for must be a group, sooner or later.
    fn check_condition(&mut self, asked_for: &str) -> Result<(), RegexError> {
        if asked_for.is_empty() || !asked_for.bytes().all(|byte| byte.is_ascii_digit()) {
            return self.check_group_name(asked_for);
        }
        match asked_for.parse() {
            Ok(number) if number > 0 => self.asked_for = self.asked_for.max(number),
            _ => return Err(RegexError::GroupReference(asked_for.to_owned())),
        }
        Ok(())
    }

    fn check_group_name(&self, name: &str) -> Result<(), RegexError> {
        if self.group_names.contains(name) {
            Ok(())
        } else {
            Err(RegexError::GroupReference(name.to_owned()))
        }
    }

    /// A reference needs a group that is complete.
    fn check_back_reference(&self, reference: &str) -> Result<(), RegexError> {
        match reference.parse() {
            Ok(number) if number <= self.captures => {
                let is_open = self.open_groups.iter().any(|group| group.capture == Some(number));
                if is_open {
                    Err(RegexError::OpenGroupReference)
                } else {
                    Ok(())
                }
            }
            _ => Err(RegexError::GroupReference(reference.to_owned())),
        }
    }

    /// Rust refuses to repeat what takes no text. Once is as good as often, and none at all is always possible.
    fn repeated_lookaround(&mut self, start: usize) -> Result<(), RegexError> {
        match self.take_quantifier() {
            None => return Ok(()),
            Some(true) => {
                self.output.insert_str(start, "(?:");
                self.output.push_str("|)");
            }
            Some(false) => {}
        }
        self.refuse_quantifier()
    }

    /// `(?i)` for the whole pattern, `(?i-s:` for a group.
    fn flag_group(&mut self) -> Result<(), RegexError> {
        let letters = self.take_while(32, |c| c.is_ascii_alphabetic() || c == '-');
        let mut flags = self.flags();
        let mut kept = String::new();
        let mut switched_on = true;
        for letter in letters.chars() {
            match letter {
                '-' => switched_on = false,
                'm' => flags.multiline = switched_on,
                'a' => flags.ascii = switched_on,
                'i' | 's' | 'x' | 'u' => {}
                _ => return Err(RegexError::BadFlags),
            }
            // What Rust has no letter for, or another meaning.
            if letter != 'a' && letter != 'u' {
                kept.push(letter);
            }
        }
        if kept.ends_with('-') {
            kept.pop();
        }
        if self.rest.starts_with(':') {
            self.has_started = true;
            self.begin_group(flags, None, None);
            self.output.push_str(&format!("(?{kept}"));
            return Ok(());
        }
        if self.has_started {
            return Err(RegexError::LateFlags);
        }
        if self.next() != Some(')') {
            return Err(RegexError::BadFlags);
        }
        if let Some(current) = self.flags.last_mut() {
            *current = flags;
        }
        if !kept.is_empty() {
            self.output.push_str(&format!("(?{kept})"));
        }
        Ok(())
    }

    fn escape_outside_set(&mut self) -> Result<(), RegexError> {
        let character = self.next().ok_or(RegexError::EscapeAtEnd)?;
        match character {
            'Z' => self.place("\\z")?,
            'A' | 'b' | 'B' => self.place(&format!("\\{character}"))?,
            'd' | 'D' | 'w' | 'W' | 's' | 'S' => {
                let class = self.class_escape(character);
                self.output.push_str(&class);
            }
            '1'..='9' => self.back_reference_or_octal(character)?,
            _ => self.character_escape(character)?,
        }
        Ok(())
    }

    fn class_escape(&self, letter: char) -> String {
        let ascii = self.flags().ascii;
        match letter {
            'd' if ascii => "[0-9]".to_owned(),
            'D' if ascii => "[^0-9]".to_owned(),
            'w' if ascii => "[a-zA-Z0-9_]".to_owned(),
            'W' if ascii => "[^a-zA-Z0-9_]".to_owned(),
            's' if ascii => "[ \\t\\n\\r\\x0c\\x0b]".to_owned(),
            'S' if ascii => "[^ \\t\\n\\r\\x0c\\x0b]".to_owned(),
            's' => format!("[\\s{PYTHON_ONLY_BLANKS}]"),
            'S' => format!("[^\\s{PYTHON_ONLY_BLANKS}]"),
            other => format!("\\{other}"),
        }
    }

    fn back_reference_or_octal(&mut self, first: char) -> Result<(), RegexError> {
        let following = self.take_while(2, |c| c.is_ascii_digit());
        let digits = format!("{first}{following}");
        let octal = u32::from_str_radix(&digits, 8).ok().filter(|_| digits.len() == 3);
        match octal {
            Some(code_point @ ..=0o377) => {
                self.push_code_point(code_point);
                return Ok(());
            }
            Some(_) => return Err(RegexError::OctalEscape(digits)),
            None => {}
        }
        let (reference, literal) = digits.split_at(digits.len().min(2));
        self.check_back_reference(reference)?;
        self.output.push_str(&format!("(?:\\{reference}){literal}"));
        Ok(())
    }

    /// Escapes that stand for one character, inside sets and outside.
    fn character_escape(&mut self, character: char) -> Result<(), RegexError> {
        match character {
            'a' => self.push_code_point(7),
            'f' => self.push_code_point(12),
            'n' => self.push_code_point(10),
            'r' => self.push_code_point(13),
            't' => self.push_code_point(9),
            'v' => self.push_code_point(11),
            'x' => self.hex_escape('x', 2)?,
            'u' => self.hex_escape('u', 4)?,
            'U' => self.hex_escape('U', 8)?,
            '0' => {
                let digits = self.take_while(2, |c| c.is_digit(8));
                self.push_code_point(u32::from_str_radix(digits, 8).unwrap_or(0));
            }
            other if other.is_ascii_alphanumeric() => return Err(RegexError::BadEscape(other)),
            other => self.push_literal(other),
        }
        Ok(())
    }

    fn hex_escape(&mut self, letter: char, digits: usize) -> Result<(), RegexError> {
        let hex = self.take_while(digits, |c| c.is_ascii_hexdigit());
        let code_point = u32::from_str_radix(hex, 16).ok().filter(|_| hex.len() == digits);
        self.push_code_point(code_point.ok_or(RegexError::BadEscape(letter))?);
        Ok(())
    }

    fn set(&mut self) -> Result<(), RegexError> {
        self.output.push('[');
        if self.rest.starts_with('^') {
            self.next();
            self.output.push('^');
        }
        let mut is_first = true;
        loop {
            let character = self.next().ok_or(RegexError::UnterminatedSet)?;
            if character == ']' && !is_first {
                break;
            }
            is_first = false;
            self.set_item(character)?;
            if self.range_follows() {
                self.next();
                let end = self.next().ok_or(RegexError::UnterminatedSet)?;
                let is_class = |text: &str| text.starts_with(|c: char| "dDwWsS".contains(c));
                if end == '\\' && is_class(self.rest) {
                    return Err(RegexError::BadRange);
                }
                self.output.push('-');
                self.set_item(end)?;
            }
        }
        self.output.push(']');
        Ok(())
    }

    /// A dash makes a range unless it is the last in the set.
    fn range_follows(&self) -> bool {
        self.rest
            .strip_prefix('-')
            .is_some_and(|after| !after.is_empty() && !after.starts_with(']'))
    }

    fn set_item(&mut self, character: char) -> Result<(), RegexError> {
        match character {
            '\\' => self.escape_in_set()?,
            ' ' => self.output.push_str("\\x20"),
            other => self.push_literal(other),
        }
        Ok(())
    }

    fn escape_in_set(&mut self) -> Result<(), RegexError> {
        let character = self.next().ok_or(RegexError::EscapeAtEnd)?;
        match character {
            'b' => self.push_code_point(8),
            'd' | 'D' | 'w' | 'W' | 's' | 'S' => {
                if self.range_follows() {
                    return Err(RegexError::BadRange);
                }
                let class = self.class_escape(character);
                self.output.push_str(&class);
            }
            '1'..='7' => {
                let following = self.take_while(2, |c| c.is_digit(8));
                let code_point = u32::from_str_radix(&format!("{character}{following}"), 8).unwrap_or(0);
                self.push_code_point(code_point);
            }
            _ => self.character_escape(character)?,
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn matches(pattern: &str, text: &str) -> bool {
        PythonRegex::compile(pattern).unwrap().match_reaches_end(text).unwrap()
    }

    #[test]
    fn python_semantics() {
        for (pattern, text, expected) in [
            ("[A-Z]+[0-9]*", "AB12", true),
            ("abc", "abcd", false),
            ("a|ab", "ab", false),
            ("a$", "a", true),
            ("[[a]", "[", true),
            ("[&&a]", "&", true),
            ("[]a]", "]", true),
            ("[a-]", "-", true),
            ("a{,3}", "aaa", true),
            ("a{x}", "a{x}", true),
            ("{", "{", true),
            ("(?i)ABC", "abc", true),
            ("(?P<q>.)x(?P=q)", "axa", true),
            ("(a)\\1", "aa", true),
            ("\\Aab\\Z", "ab", true),
            ("\\101", "A", true),
            ("[^\\s]+", "ab", true),
            ("a(?#note)b", "ab", true),
            ("(?<=a)b|a", "a", true),
            ("\\w+", "äö_1", true),
            ("(?a)\\w+", "ä", false),
            ("(a)?(?(1)b|c)", "c", true),
            ("[a b]+", "a b", true),
            ("\\-\\/\\.", "-/.", true),
            ("a(?=b)*c", "ac", true),
            ("a(?=b)+b", "ab", true),
            ("a(?!c){0,2}c", "ac", true),
            ("^a$", "a", true),
        ] {
            assert_eq!(matches(pattern, text), expected, "{pattern} on {text}");
        }
    }

    #[test]
    fn what_python_refuses_is_refused() {
        for pattern in [
            "\\z", "a)(b", "(\\1)", "(a)\\2", "(?(1)a)", "(?(x)a)", "(?P=x)", "a\\b*", "^{2}", "$?", "\\h", "[a", "(",
            "\\", "*a", "[\\q]", "\\x1", "a{3,2}", "(?<n>a)", "(?P<1>a)", "(?P<>a)", "(?Pa)", "\\400", "(?#a", "(?",
            "(?<a",
        ] {
            assert!(PythonRegex::compile(pattern).is_err(), "{pattern}");
        }
        assert!(PythonRegex::compile(&"(".repeat(100_000)).is_err());
        assert!(PythonRegex::compile(&format!("{}{}", "(".repeat(500), ")".repeat(500))).is_err());
    }

    #[test]
    fn backtracking_is_bounded() {
        let regex = PythonRegex::compile("(?=(a+))\\1*(?:a|aa|aaa)*(?!c)b").unwrap();
        let _ = regex.match_reaches_end(&"a".repeat(2000));
    }
}
