//! What is wrong with a text, and where.
//!
//! Heat reads bad YAML a second time, with PyYAML's own scanner, for the sake of its messages: they show the line. The
//! second scanner complains of the same things at the same places in other words, so libyaml's complaint is told in
//! those. Where the second scanner would take what libyaml refuses (a tab in a plain scalar, an unknown directive,
//! YAML 1.3), the complaint stays libyaml's.

use super::events::{Mark, Problem, Tokens};
use crate::python::repr::repr_text;

#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{shown}")]
pub struct Complaint {
    /// What is wrong, in a few words.
    pub message: String,
    pub mark: Option<Mark>,
    /// What was being read, and where that began.
    pub context: Option<(String, Option<Mark>)>,
    /// Not the language is violated but a limit of ours.
    pub is_limit: bool,
    /// All of it as Python shows it.
    shown: String,
}

impl Complaint {
    pub(super) fn new(message: impl Into<String>, mark: Mark) -> Self {
        Self {
            message: message.into(),
            mark: Some(mark),
            context: None,
            is_limit: false,
            shown: String::new(),
        }
    }

    pub(super) fn limit(message: impl Into<String>, mark: Mark) -> Self {
        Self {
            is_limit: true,
            ..Self::new(message, mark)
        }
    }

    pub(super) fn within(mut self, context: impl Into<String>, mark: Mark) -> Self {
        self.context = Some((context.into(), Some(mark)));
        self
    }

    /// Completes it with the lines that it speaks of.
    pub(super) fn in_text(mut self, text: &str) -> Box<Self> {
        if let Some(found) = unprintable(text) {
            return Box::new(found);
        }
        if let Some(tab) = self.token_mark().and_then(|mark| tab_between_tokens(text, mark)) {
            self = cannot_start("\t", tab);
        }
        let mut lines = Vec::new();
        if let Some((context, mark)) = &self.context {
            lines.push(context.clone());
            if let Some(mark) = mark
                && self
                    .mark
                    .is_none_or(|own| (own.line, own.column) != (mark.line, mark.column))
            {
                lines.push(place(text, *mark));
            }
        }
        lines.push(self.message.clone());
        if let Some(mark) = self.mark {
            lines.push(place(text, mark));
        }
        self.shown = lines.join("\n");
        Box::new(self)
    }

    /// Where the token begins in which or at which something is wrong.
    fn token_mark(&self) -> Option<Mark> {
        match &self.context {
            Some((context, mark)) if context.starts_with("while scanning a") && !context.ends_with("simple key") => {
                *mark
            }
            _ => self.mark,
        }
    }

    pub(super) fn of_libyaml(text: &str, problem: Problem) -> Box<Self> {
        let problem = Problem {
            mark: as_counted_by_pyyaml(text, problem.mark),
            context_mark: as_counted_by_pyyaml(text, problem.context_mark),
            ..problem
        };
        Translation { text, problem }.complaint().in_text(text)
    }
}

fn cannot_start(character: &str, mark: Mark) -> Complaint {
    let message = format!("found character {} that cannot start any token", repr_text(character));
    Complaint {
        context: Some(("while scanning for the next token".to_owned(), None)),
        ..Complaint::new(message, mark)
    }
}

/// libyaml counts a line after the last one, and takes some characters for others than PyYAML does. Line and column are
/// what both agree on.
fn as_counted_by_pyyaml(text: &str, mark: Mark) -> Mark {
    let mut at = Mark::default();
    let mut characters = text.chars().peekable();
    while (at.line, at.column) < (mark.line, mark.column) {
        let Some(character) = characters.next() else { break };
        at.index += 1;
        match character {
            '\r' if characters.peek() == Some(&'\n') => at.column += 1,
            '\u{feff}' => {}
            character if ends_line(character) => {
                at.line += 1;
                at.column = 0;
            }
            _ => at.column += 1,
        }
    }
    at
}

/// Where PyYAML's second scanner stops because a tab separates two tokens, which libyaml allows.
fn tab_between_tokens(text: &str, before: Mark) -> Option<Mark> {
    if !text.contains('\t') {
        return None;
    }
    let characters: Vec<char> = text.chars().collect();
    let starts = Tokens::of(text).map(|token| (token.start, token.end));
    let mut end = Mark::default();
    for (start, next_end) in starts.chain([(before, before)]) {
        let gap = characters.get(end.index..start.index.min(before.index));
        if let Some(tab) = tab_outside_comments(gap.unwrap_or_default(), end) {
            return Some(tab);
        }
        if start.index >= before.index {
            break;
        }
        end = next_end;
    }
    None
}

fn tab_outside_comments(gap: &[char], start: Mark) -> Option<Mark> {
    let mut mark = start;
    let mut in_comment = false;
    for character in gap {
        match character {
            '\t' if !in_comment => return Some(mark),
            '#' => in_comment = true,
            _ => {}
        }
        mark.index += 1;
        mark.column += 1;
        if ends_line(*character) {
            in_comment = false;
            mark.line += 1;
            mark.column = 0;
        }
    }
    None
}

/// PyYAML looks for characters that no document may have before it looks at anything else.
fn unprintable(text: &str) -> Option<Complaint> {
    let is_printable = |character: char| matches!(character, '\t' | '\n' | '\r' | ' '..='~' | '\u{85}' | '\u{a0}'..='\u{fffd}' | '\u{10000}'..);
    let (index, character) = text
        .chars()
        .enumerate()
        .find(|(_, character)| !is_printable(*character))?;
    let message = format!(
        "unacceptable character #x{:04x}: special characters are not allowed",
        u32::from(character)
    );
    let before = text.chars().take(index);
    let (mut line, mut column) = (0, 0);
    for character in before {
        (line, column) = if character == '\n' {
            (line + 1, 0)
        } else {
            (line, column + 1)
        };
    }
    Some(Complaint {
        shown: format!("{message}\n  in \"<unicode string>\", position {index}"),
        ..Complaint::new(message, Mark { index, line, column })
    })
}

/// Ends of lines as PyYAML sees them; it takes the text to end with a null.
fn ends_line(character: char) -> bool {
    matches!(character, '\0' | '\r' | '\n' | '\u{85}' | '\u{2028}' | '\u{2029}')
}

/// Longer lines are shown in part: so many characters to each side.
const REACH: usize = 37;
const CUT: usize = 5;
const DOTS: &str = " ... ";

fn place(text: &str, mark: Mark) -> String {
    let before: Vec<char> = {
        let start = mark.index.saturating_sub(REACH + 2);
        let near = text.chars().skip(start).take(mark.index - start);
        let near: Vec<char> = near.collect();
        let line_start = near
            .iter()
            .rposition(|character| ends_line(*character))
            .map_or(0, |at| at + 1);
        near[line_start..].to_vec()
    };
    let after: Vec<char> = text
        .chars()
        .skip(mark.index)
        .take_while(|character| !ends_line(*character))
        .take(REACH + 2)
        .collect();
    let (head, before) = match before.len() {
        length if length >= REACH => (DOTS, &before[length - (REACH - CUT)..]),
        _ => ("", &before[..]),
    };
    let (tail, after) = match after.len() {
        length if length >= REACH => (DOTS, &after[..REACH - CUT]),
        _ => ("", &after[..]),
    };
    let text = |characters: &[char]| characters.iter().collect::<String>();
    let indent = " ".repeat(4 + head.len() + before.len());
    format!(
        "  in \"<unicode string>\", line {}, column {}:\n    {head}{}{}{tail}\n{indent}^",
        mark.line + 1,
        mark.column + 1,
        text(before),
        text(after),
    )
}

/// A problem of libyaml on its way to PyYAML's words.
struct Translation<'t> {
    text: &'t str,
    problem: Problem,
}

/// How PyYAML says what libyaml says without naming what it found. `{}` stands for the character at the place.
const NAMES_CHARACTER: &[(&str, &str, &str)] = &[
    (
        "while scanning for the next token",
        "found character that cannot start any token",
        "found character {} that cannot start any token",
    ),
    (
        "while scanning a directive",
        "could not find expected directive name",
        "expected alphabetic or numeric character, but found {}",
    ),
    (
        "while scanning a directive",
        "found unexpected non-alphabetical character",
        "expected alphabetic or numeric character, but found {}",
    ),
    (
        "while scanning a directive",
        "did not find expected comment or line break",
        "expected a comment or a line break, but found {}",
    ),
    (
        "while scanning a %YAML directive",
        "did not find expected version number",
        "expected a digit, but found {}",
    ),
    (
        "while scanning a %YAML directive",
        "did not find expected digit or '.' character",
        "expected a digit or '.', but found {}",
    ),
    (
        "while scanning a %TAG directive",
        "did not find expected whitespace",
        "expected ' ', but found {}",
    ),
    (
        "while scanning a %TAG directive",
        "did not find expected whitespace or line break",
        "expected ' ', but found {}",
    ),
    (
        "while scanning a tag directive",
        "did not find expected '!'",
        "expected '!', but found {}",
    ),
    (
        "while scanning a tag",
        "did not find expected '!'",
        "expected '!', but found {}",
    ),
    (
        "while scanning a tag",
        "did not find the expected '>'",
        "expected '>', but found {}",
    ),
    (
        "while parsing a tag",
        "did not find expected tag URI",
        "expected URI, but found {}",
    ),
    (
        "while parsing a %TAG directive",
        "did not find expected tag URI",
        "expected URI, but found {}",
    ),
    (
        "while scanning an anchor",
        "did not find expected alphabetic or numeric character",
        "expected alphabetic or numeric character, but found {}",
    ),
    (
        "while scanning an alias",
        "did not find expected alphabetic or numeric character",
        "expected alphabetic or numeric character, but found {}",
    ),
];

/// What is said in other words, whatever is found.
const OTHER_WORDS: &[(&str, &str)] = &[
    (
        "block sequence entries are not allowed in this context",
        "sequence entries are not allowed here",
    ),
    (
        "mapping keys are not allowed in this context",
        "mapping keys are not allowed here",
    ),
    (
        "mapping values are not allowed in this context",
        "mapping values are not allowed here",
    ),
    (
        "found an indentation indicator equal to 0",
        "expected indentation indicator in the range 1-9, but found 0",
    ),
    (
        "found unexpected document indicator",
        "found unexpected document separator",
    ),
    ("found duplicate %YAML directive", "found duplicate YAML directive"),
    (
        "found incompatible YAML document",
        "found incompatible YAML document (version 1.* is required)",
    ),
];

/// How the parser says that it found another token. `{}` stands for the token's name.
const NAMES_TOKEN: &[(&str, &str)] = &[
    (
        "did not find expected <document start>",
        "expected '<document start>', but found {}",
    ),
    (
        "did not find expected node content",
        "expected the node content, but found {}",
    ),
    (
        "did not find expected '-' indicator",
        "expected <block end>, but found {}",
    ),
    ("did not find expected key", "expected <block end>, but found {}"),
    ("did not find expected ',' or ']'", "expected ',' or ']', but got {}"),
    ("did not find expected ',' or '}'", "expected ',' or '}', but got {}"),
];

impl Translation<'_> {
    fn complaint(mut self) -> Complaint {
        if matches!(
            self.problem.text.as_str(),
            "found a tab character that violates indentation"
                | "found a tab character where an indentation space is expected"
        ) {
            return cannot_start("\t", self.problem.mark);
        }
        let context = self.problem.context.clone().unwrap_or_default();
        if let Some(message) = self.special_case(&context) {
            return self.finished(message);
        }
        let problem = self.problem.text.as_str();
        if let Some((_, _, wording)) = NAMES_CHARACTER
            .iter()
            .find(|(known_context, known, _)| *known_context == context && *known == problem)
        {
            let message = wording.replace("{}", &self.character(0));
            return self.finished(message);
        }
        if let Some((_, wording)) = NAMES_TOKEN.iter().find(|(known, _)| *known == problem)
            && let Some(token) = self.token()
        {
            return self.finished(wording.replace("{}", &repr_text(token)));
        }
        let other = OTHER_WORDS.iter().find(|(known, _)| *known == problem);
        let message = other.map_or(problem, |(_, wording)| wording).to_owned();
        self.finished(message)
    }

    /// The name of the token that the parser did not expect.
    fn token(&self) -> Option<&'static str> {
        let Problem { mark, context_mark, .. } = self.problem;
        let mut tokens = Tokens::of(self.text).filter(|token| {
            // Of those in the same place the ends of blocks have been taken already.
            token.start.index >= mark.index && !matches!(token.name, "<stream start>" | "<block end>")
        });
        let found = tokens.next()?;
        let began_here = self.problem.context.is_some() && context_mark.index == mark.index;
        let found = match found.name {
            "<block mapping start>" | "<block sequence start>" if began_here => tokens.next()?,
            _ => found,
        };
        Some(found.name)
    }

    fn special_case(&mut self, context: &str) -> Option<String> {
        match self.problem.text.as_str() {
            "did not find expected comment or line break"
                if context == "while scanning a block scalar" && !self.follows_blank() =>
            {
                let found = self.character(0);
                Some(format!(
                    "expected chomping or indentation indicators, but found {found}"
                ))
            }
            "did not find expected comment or line break" if context == "while scanning a block scalar" => {
                // PyYAML goes past spaces only.
                while self.follows_blank() {
                    self.problem.mark.index -= 1;
                    self.problem.mark.column -= 1;
                }
                while self.character_at(self.problem.mark.index) == Some(' ') {
                    self.problem.mark.index += 1;
                    self.problem.mark.column += 1;
                }
                Some(format!(
                    "expected a comment or a line break, but found {}",
                    self.character(0)
                ))
            }
            "did not find expected whitespace or line break" if context == "while scanning a tag" => {
                // Where an exclamation mark follows, PyYAML takes what is before it for a handle.
                let rest = self.text.chars().skip(self.problem.context_mark.index + 1);
                let word: String = rest
                    .take_while(|character| *character != ' ' && !ends_line(*character))
                    .collect();
                let is_of_handle =
                    |character: char| character.is_ascii_alphanumeric() || matches!(character, '-' | '_');
                let has_handle = word.trim_start_matches(is_of_handle).starts_with('!');
                let wanted = if word.contains('!') && !has_handle { '!' } else { ' ' };
                Some(format!("expected '{wanted}', but found {}", self.character(0)))
            }
            "did not find expected comment or line break" if self.ends_version() => {
                Some(format!("expected a digit or ' ', but found {}", self.character(0)))
            }
            "found unknown escape character" => {
                // PyYAML has gone past the backslash.
                let found = self.character(1);
                self.problem.mark.index += 1;
                self.problem.mark.column += 1;
                Some(format!("found unknown escape character {found}"))
            }
            "did not find expected hexadecimal number" => {
                let letter = self.character_at(self.problem.mark.index.checked_sub(1)?)?;
                let length = match letter {
                    'x' => 2,
                    'u' => 4,
                    _ => 8,
                };
                let wrong = (0..length).find(|offset| {
                    self.character_at(self.problem.mark.index + offset)
                        .is_none_or(|digit| !digit.is_ascii_hexdigit())
                })?;
                Some(format!(
                    "expected escape sequence of {length} hexadecimal numbers, but found {}",
                    self.character(wrong)
                ))
            }
            "found undefined tag handle" => {
                let rest: String = self.text.chars().skip(self.problem.mark.index + 1).collect();
                let name = rest.split('!').next().unwrap_or_default();
                Some(format!(
                    "found undefined tag handle {}",
                    repr_text(&format!("!{name}!"))
                ))
            }
            "did not find URI escaped octet" => {
                let wrong = (1..3).find(|offset| {
                    self.character_at(self.problem.mark.index + offset)
                        .is_none_or(|digit| !digit.is_ascii_hexdigit())
                })?;
                self.problem.mark.index += 1;
                self.problem.mark.column += 1;
                Some(format!(
                    "expected URI escape sequence of 2 hexadecimal numbers, but found {}",
                    self.character(wrong - 1)
                ))
            }
            _ => None,
        }
    }

    fn finished(self, message: String) -> Complaint {
        let context = match (self.problem.context.as_deref(), self.problem.text.as_str()) {
            (Some("while scanning a tag"), "did not find the expected '>'") => Some("while parsing a tag"),
            (Some("while parsing a tag"), "did not find URI escaped octet") => Some("while scanning a tag"),
            (Some("while parsing a %TAG directive"), _) => Some("while parsing a directive"),
            (
                Some(
                    "while scanning a %YAML directive"
                    | "while scanning a %TAG directive"
                    | "while scanning a tag directive",
                ),
                _,
            ) => Some("while scanning a directive"),
            (Some("while parsing a quoted scalar"), _) => Some("while scanning a double-quoted scalar"),
            (context, _) => context,
        };
        // For these PyYAML names no place.
        let has_place = context != Some("while scanning for the next token");
        let context_mark = has_place.then_some(self.problem.context_mark);
        Complaint {
            context: context.map(|context| (context.to_owned(), context_mark)),
            ..Complaint::new(message, self.problem.mark)
        }
    }

    fn character_at(&self, index: usize) -> Option<char> {
        self.text.chars().nth(index)
    }

    /// The character so far behind the place, as messages show it. At the end PyYAML sees a null.
    fn character(&self, offset: usize) -> String {
        let found = self.character_at(self.problem.mark.index + offset).unwrap_or('\0');
        repr_text(&found.to_string())
    }

    fn character_before(&self) -> Option<char> {
        let index = self.problem.mark.index.checked_sub(1)?;
        self.character_at(index)
    }

    fn follows_blank(&self) -> bool {
        matches!(self.character_before(), Some(' ' | '\t'))
    }

    /// Whether the place is right after the number of `%YAML 1.1`.
    fn ends_version(&self) -> bool {
        let line: String = self
            .text
            .chars()
            .skip(self.problem.context_mark.index)
            .take(5)
            .collect();
        line == "%YAML" && self.character_before().is_some_and(|before| before.is_ascii_digit())
    }
}
