//! Writes a pattern in the dialect of fancy-regex.
//!
//! The flags that Python knows and Rust has under other names, or not at all, are written out: what a dot, a line's end or
//! a letter is stands in the pattern. Only the case is left to a flag.

use std::fmt::Write as _;

use super::parser::combined;
use super::tree::{Branches, Flags, GroupKind, Mode, Node, Pattern, Place, Sequence, SetItem};

/// What Python takes for a letter of a word. (Rust counts marks and circled letters, too, and no fractions.)
const WORD: &str = "\\p{L}\\p{N}_";
const ASCII_WORD: &str = "a-zA-Z0-9_";
/// What Python counts as a blank besides Unicode's white space.
const BLANK: &str = "\\s\\x1c-\\x1f";
/// What no text holds, for halves of surrogate pairs.
const NEVER: &str = "[^\\s\\S]";
const ASCII_BLANK: &str = " \\t\\n\\r\\x0c\\x0b";

/// How repetitions with bounds are written.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Repetitions {
    /// So that they can be compiled into one program, which is quick, and has a copy of the item for each time.
    Unrolled,
    /// So that they are counted while they are matched.
    Counted,
}

/// The pattern as fancy-regex takes it.
pub fn written(pattern: &Pattern, repetitions: Repetitions) -> String {
    let mut writer = Writer {
        output: String::new(),
        repetitions,
    };
    let opening = if pattern.flags.ignore_case { "(?i:" } else { "(?:" };
    writer.group(opening, &pattern.branches, pattern.flags);
    writer.output
}

struct Writer {
    output: String,
    repetitions: Repetitions,
}

impl Writer {
    fn group(&mut self, opening: &str, branches: &Branches, flags: Flags) {
        self.output.push_str(opening);
        for (index, branch) in branches.iter().enumerate() {
            if index > 0 {
                self.output.push('|');
            }
            self.sequence(branch, flags);
        }
        self.output.push(')');
    }

    fn sequence(&mut self, sequence: &Sequence, flags: Flags) {
        for node in sequence {
            self.node(node, flags);
        }
    }

    fn node(&mut self, node: &Node, flags: Flags) {
        match node {
            Node::Literal(code_point) => match char::from_u32(*code_point) {
                Some(character) => self.literal(character),
                None => self.output.push_str(NEVER),
            },
            Node::Any if flags.dot_all => self.output.push_str("(?s:.)"),
            Node::Any => self.output.push_str("[^\\n]"),
            Node::Set { is_negated, items } => self.set(*is_negated, items, flags),
            Node::Place(place) => self.place(*place, flags),
            Node::Group { kind, branches } => match kind {
                GroupKind::Capture(_) => self.group("(", branches, flags),
                GroupKind::Atomic => self.group("(?>", branches, flags),
                GroupKind::Plain { on, off, is_unicode } => {
                    let mut inner = combined(flags, *on, *off);
                    inner.ascii &= !is_unicode;
                    let opening = match (flags.ignore_case, inner.ignore_case) {
                        (false, true) => "(?i:",
                        (true, false) => "(?-i:",
                        _ => "(?:",
                    };
                    self.group(opening, branches, inner);
                }
            },
            Node::Look {
                is_behind,
                is_negated,
                branches,
            } => {
                let opening = match (is_behind, is_negated) {
                    (false, false) => "(?=",
                    (false, true) => "(?!",
                    (true, false) => "(?<=",
                    (true, true) => "(?<!",
                };
                self.group(opening, branches, flags);
            }
            Node::Repeat { item, low, high, mode } => self.repeat(item, *low, *high, *mode, flags),
            Node::BackReference(number) => self.write(format_args!("(?:\\{number})")),
            Node::Conditional { group, yes, no } => {
                self.write(format_args!("(?({group})"));
                self.sequence(yes, flags);
                if let Some(no) = no {
                    self.output.push('|');
                    self.sequence(no, flags);
                }
                self.output.push(')');
            }
        }
    }

    fn write(&mut self, text: std::fmt::Arguments<'_>) {
        // Writing to a string cannot fail.
        let _ = self.output.write_fmt(text);
    }

    fn literal(&mut self, character: char) {
        match character {
            '_' => self.output.push('_'),
            ' '..='~' if !character.is_ascii_alphanumeric() => {
                self.write(format_args!("\\x{:02x}", u32::from(character)))
            }
            '\0'..='\x7f' if character.is_ascii_control() => {
                self.write(format_args!("\\x{:02x}", u32::from(character)))
            }
            other => self.output.push(other),
        }
    }

    fn set(&mut self, is_negated: bool, items: &[SetItem], flags: Flags) {
        let start = self.output.len();
        self.output.push_str(if is_negated { "[^" } else { "[" });
        let empty = self.output.len();
        for item in items {
            match *item {
                SetItem::Literal(code_point) => self.range(code_point, code_point),
                SetItem::Range(low, high) => self.range(low, high),
                SetItem::Class(letter) => self.output.push_str(&class(letter, flags.ascii)),
            }
        }
        if self.output.len() == empty {
            // Nothing but halves of pairs.
            self.output.truncate(start);
            self.output.push_str(if is_negated { "(?s:.)" } else { NEVER });
            return;
        }
        self.output.push(']');
    }

    /// What a text may hold of a range of code points.
    fn range(&mut self, low: u32, high: u32) {
        const SURROGATES: std::ops::RangeInclusive<u32> = 0xd800..=0xdfff;
        let parts = [
            (low, high.min(SURROGATES.start() - 1)),
            (low.max(SURROGATES.end() + 1), high),
        ];
        for (low, high) in parts.into_iter().filter(|(low, high)| low <= high) {
            self.write(format_args!("\\x{{{low:x}}}"));
            if low < high {
                self.write(format_args!("-\\x{{{high:x}}}"));
            }
        }
    }

    fn place(&mut self, place: Place, flags: Flags) {
        let word = if flags.ascii { ASCII_WORD } else { WORD };
        match place {
            Place::LineStart if flags.multi_line => self.output.push_str("(?m:^)"),
            Place::LineEnd if flags.multi_line => self.output.push_str("(?m:$)"),
            Place::LineStart | Place::TextStart => self.output.push_str("\\A"),
            Place::LineEnd => self.output.push_str("(?=\\n?\\z)"),
            Place::TextEnd => self.output.push_str("\\z"),
            Place::Boundary => self.write(format_args!(
                "(?-i:(?<=[{word}])(?![{word}])|(?<![{word}])(?=[{word}]))"
            )),
            // Not in an empty text, where both sides are alike.
            Place::NoBoundary => self.write(format_args!(
                "(?-i:(?<=[{word}])(?=[{word}])|(?!\\A\\z)(?<![{word}])(?![{word}]))"
            )),
        }
    }

    fn repeat(&mut self, item: &Node, low: u64, high: Option<u64>, mode: Mode, flags: Flags) {
        if item.takes_no_text() {
            return self.repeat_nothing(item, low, high, mode, flags);
        }
        let opening = match mode {
            Mode::Possessive => "(?>(?:",
            Mode::Greedy | Mode::Lazy => "(?:",
        };
        self.output.push_str(opening);
        let has_bounds = low > 1 || high.is_some_and(|high| high > 1);
        if has_bounds && self.repetitions == Repetitions::Counted {
            // What looks around is not made part of a program.
            self.output.push_str("(?=)");
        }
        self.node(item, flags);
        self.output.push(')');
        match (low, high) {
            (0, None) => self.output.push('*'),
            (1, None) => self.output.push('+'),
            (0, Some(1)) => self.output.push('?'),
            (low, None) => self.write(format_args!("{{{low},}}")),
            (low, Some(high)) if low == high => self.write(format_args!("{{{low}}}")),
            (low, Some(high)) => self.write(format_args!("{{{low},{high}}}")),
        }
        match mode {
            Mode::Greedy => {}
            Mode::Lazy => self.output.push('?'),
            Mode::Possessive => self.output.push(')'),
        }
    }

    /// Rust refuses to repeat what takes no text. Once is as good as often, and none at all may be possible, too.
    fn repeat_nothing(&mut self, item: &Node, low: u64, high: Option<u64>, mode: Mode, flags: Flags) {
        let never = if high == Some(0) { NEVER } else { "" };
        let (opening, closing) = match (low, mode) {
            (0, Mode::Lazy) => ("(?:|", ")"),
            (0, Mode::Greedy) => ("(?:", "|)"),
            (0, Mode::Possessive) => ("(?>", "|)"),
            (_, Mode::Possessive) => ("(?>", ")"),
            _ => ("(?:", ")"),
        };
        self.output.push_str(opening);
        self.output.push_str(never);
        self.node(item, flags);
        self.output.push_str(closing);
    }
}

/// The items of a set that a class stands for.
fn class(letter: char, is_ascii: bool) -> String {
    let (items, is_negated) = match letter {
        'd' | 'D' if is_ascii => ("0-9", letter == 'D'),
        'd' | 'D' => ("\\d", letter == 'D'),
        's' | 'S' if is_ascii => (ASCII_BLANK, letter == 'S'),
        's' | 'S' => (BLANK, letter == 'S'),
        _ if is_ascii => (ASCII_WORD, letter == 'W'),
        _ => (WORD, letter == 'W'),
    };
    match is_negated {
        true => format!("[^{items}]"),
        false => items.to_owned(),
    }
}
