//! Reads patterns as Python's `re` does, and refuses them in its words.

use std::collections::HashMap;

use super::error::RegexError;
use super::source::{Piece, Source};
use super::tree::{Branches, Flags, GroupKind, Mode, Node, Pattern, Place, Sequence, SetItem};
use crate::python::repr::repr_text;

/// Python itself gives up at some hundred.
const DEEPEST_NESTING: usize = 100;
/// Numbers of repetitions and of groups stay below.
const MOST_REPETITIONS: u64 = u32::MAX as u64;
const MOST_GROUPS: usize = i32::MAX as usize;

pub struct Parser {
    pub(super) source: Source,
    /// Whether each group that captures text is complete, by number from one on.
    pub(super) groups: Vec<bool>,
    group_names: HashMap<String, usize>,
    /// The numbers of groups that conditions ask for, which may follow, and where they do.
    asked_for: Vec<(usize, usize)>,
    /// How many groups there were (and one) where the outermost look behind begins.
    look_behind: Option<usize>,
    flags: Flags,
    is_unicode: bool,
}

/// Flags as a pattern turns them on and off.
#[derive(Default)]
struct FlagChange {
    on: Flags,
    off: Flags,
    is_unicode: bool,
}

/// Reads a pattern; `flags` are those that it is compiled with.
pub fn parse(pattern: &str, flags: Flags) -> Result<Pattern, RegexError> {
    let mut parser = Parser {
        source: Source::new(pattern)?,
        groups: Vec::new(),
        group_names: HashMap::new(),
        asked_for: Vec::new(),
        look_behind: None,
        flags,
        is_unicode: false,
    };
    let branches = parser.branches(flags.verbose, 0)?;
    if parser.flags.ascii && parser.is_unicode {
        return Err(RegexError::Value("ASCII and UNICODE flags are incompatible"));
    }
    if parser.source.next().is_some() {
        return Err(parser.source.error("unbalanced parenthesis"));
    }
    let missing = parser.asked_for.iter().find(|(group, _)| *group > parser.groups.len());
    if let Some((group, position)) = missing {
        return Err(parser
            .source
            .error_at(format!("invalid group reference {group}"), *position));
    }
    let mut group_names: Vec<(String, usize)> = parser.group_names.into_iter().collect();
    group_names.sort_by_key(|(_, number)| *number);
    Ok(Pattern {
        branches,
        flags: parser.flags,
        group_names,
    })
}

impl Parser {
    fn branches(&mut self, mut verbose: bool, nesting: usize) -> Result<Branches, RegexError> {
        if nesting > DEEPEST_NESTING {
            return Err(RegexError::TooComplex);
        }
        let mut branches = Vec::new();
        loop {
            let may_set_flags = nesting == 0 && branches.is_empty();
            branches.push(self.sequence(verbose, nesting, may_set_flags)?);
            if !self.source.take_if('|')? {
                return Ok(branches);
            }
            if nesting == 0 {
                verbose = self.flags.verbose;
            }
        }
    }

    fn sequence(&mut self, mut verbose: bool, nesting: usize, may_set_flags: bool) -> Result<Sequence, RegexError> {
        let mut sequence = Sequence::new();
        while let Some(piece) = self.source.next() {
            if matches!(piece, Piece::Plain('|' | ')')) {
                break;
            }
            let start = self.source.position();
            self.source.take()?;
            let character = match piece {
                Piece::Escape(letter) => {
                    sequence.push(self.escape(letter)?);
                    continue;
                }
                Piece::Plain(character) => character,
            };
            match character {
                ' ' | '\t' | '\n' | '\r' | '\x0b' | '\x0c' if verbose => {}
                '#' if verbose => while !matches!(self.source.take()?, None | Some(Piece::Plain('\n'))) {},
                '[' => sequence.push(self.set(start)?),
                '*' | '+' | '?' | '{' => self.repetition(character, start, &mut sequence)?,
                '.' => sequence.push(Node::Any),
                '^' => sequence.push(Node::Place(Place::LineStart)),
                '$' => sequence.push(Node::Place(Place::LineEnd)),
                '(' => {
                    let may_set_flags = may_set_flags && sequence.is_empty();
                    match self.group(start, verbose, nesting + 1, may_set_flags)? {
                        Some(node) => sequence.push(node),
                        None => verbose = if may_set_flags { self.flags.verbose } else { verbose },
                    }
                }
                other => sequence.push(Node::Literal(u32::from(other))),
            }
        }
        Ok(sequence)
    }

    fn set(&mut self, start: usize) -> Result<Node, RegexError> {
        let is_negated = self.source.take_if('^')?;
        let mut items = Vec::new();
        loop {
            let unterminated = |source: &Source| source.error_at("unterminated character set", start);
            let piece = self.source.take()?.ok_or_else(|| unterminated(&self.source))?;
            if piece == Piece::Plain(']') && !items.is_empty() {
                break;
            }
            let first = self.set_item(piece)?;
            if !self.source.take_if('-')? {
                items.push(first);
                continue;
            }
            let last_piece = self.source.take()?.ok_or_else(|| unterminated(&self.source))?;
            if last_piece == Piece::Plain(']') {
                items.extend([first, SetItem::Literal(u32::from('-'))]);
                break;
            }
            let last = self.set_item(last_piece)?;
            match (first, last) {
                (SetItem::Literal(low), SetItem::Literal(high)) if low <= high => items.push(SetItem::Range(low, high)),
                _ => {
                    let message = format!("bad character range {}-{}", piece.text(), last_piece.text());
                    let written = piece.length() + 1 + last_piece.length();
                    return Err(self.source.error_at(message, self.source.position() - written));
                }
            }
        }
        Ok(Node::Set { is_negated, items })
    }

    fn set_item(&mut self, piece: Piece) -> Result<SetItem, RegexError> {
        match piece {
            Piece::Escape(letter) => self.escape_in_set(letter),
            Piece::Plain(character) => Ok(SetItem::Literal(u32::from(character))),
        }
    }

    fn repetition(&mut self, sign: char, start: usize, sequence: &mut Sequence) -> Result<(), RegexError> {
        let (low, high) = match sign {
            '?' => (0, Some(1)),
            '*' => (0, None),
            '+' => (1, None),
            _ => match self.bounds(start + 1)? {
                Some(bounds) => bounds,
                None => {
                    sequence.push(Node::Literal(u32::from('{')));
                    return Ok(());
                }
            },
        };
        let item = match sequence.pop() {
            None | Some(Node::Place(_)) => return Err(self.source.error_at("nothing to repeat", start)),
            Some(Node::Repeat { .. }) => return Err(self.source.error_at("multiple repeat", start)),
            Some(item) => item,
        };
        let mode = if self.source.take_if('?')? {
            Mode::Lazy
        } else if self.source.take_if('+')? {
            Mode::Possessive
        } else {
            Mode::Greedy
        };
        sequence.push(Node::Repeat {
            item: Box::new(item),
            low,
            high,
            mode,
        });
        Ok(())
    }

    /// `2}`, `,3}`, `1,}`: how often; anything else is a plain brace. `start` is behind the opening one.
    fn bounds(&mut self, start: usize) -> Result<Option<(u64, Option<u64>)>, RegexError> {
        if self.source.is_next('}') {
            return Ok(None);
        }
        let is_digit = |c: char| c.is_ascii_digit();
        let low = self.source.take_while(usize::MAX, is_digit)?;
        let high = match self.source.take_if(',')? {
            true => self.source.take_while(usize::MAX, is_digit)?,
            false => low.clone(),
        };
        if !self.source.take_if('}')? {
            self.source.back_to(start)?;
            return Ok(None);
        }
        let number = |digits: &str| match digits.parse::<u64>() {
            Ok(number) if number < MOST_REPETITIONS => Ok(Some(number)),
            _ if digits.is_empty() => Ok(None),
            _ => Err(RegexError::Overflow("the repetition number is too large")),
        };
        let (low, high) = (number(&low)?.unwrap_or(0), number(&high)?);
        if high.is_some_and(|high| high < low) {
            return Err(self.source.error_at("min repeat greater than max repeat", start));
        }
        Ok(Some((low, high)))
    }

    /// What begins with a parenthesis; `None` for comments and flags.
    fn group(
        &mut self,
        start: usize,
        verbose: bool,
        nesting: usize,
        may_set_flags: bool,
    ) -> Result<Option<Node>, RegexError> {
        if !self.source.take_if('?')? {
            return self.capture(None, start, verbose, nesting).map(Some);
        }
        let kind = self
            .source
            .take()?
            .ok_or_else(|| self.source.error("unexpected end of pattern"))?;
        match kind {
            Piece::Plain('P') => self.named(start, verbose, nesting).map(Some),
            Piece::Plain(':') => {
                let change = FlagChange::default();
                self.flag_group(change, start, verbose, nesting).map(Some)
            }
            Piece::Plain('#') => loop {
                if self.source.next().is_none() {
                    return Err(self.source.error_at("missing ), unterminated comment", start));
                }
                if self.source.take()? == Some(Piece::Plain(')')) {
                    return Ok(None);
                }
            },
            Piece::Plain('=') => self.look(false, false, start, verbose, nesting).map(Some),
            Piece::Plain('!') => self.look(false, true, start, verbose, nesting).map(Some),
            Piece::Plain('<') => {
                let sign = self
                    .source
                    .take()?
                    .ok_or_else(|| self.source.error("unexpected end of pattern"))?;
                match sign {
                    Piece::Plain('=') => self.look(true, false, start, verbose, nesting).map(Some),
                    Piece::Plain('!') => self.look(true, true, start, verbose, nesting).map(Some),
                    other => Err(self.unknown_extension("?<", other)),
                }
            }
            Piece::Plain('(') => self.conditional(start, verbose, nesting).map(Some),
            Piece::Plain('>') => {
                let branches = self.inside(start, verbose, nesting)?;
                Ok(Some(Node::Group {
                    kind: GroupKind::Atomic,
                    branches,
                }))
            }
            Piece::Plain(letter) if letter == '-' || is_flag(letter) => match self.flag_letters(letter)? {
                Some(change) => self.flag_group(change, start, verbose, nesting).map(Some),
                None if may_set_flags => Ok(None),
                None => {
                    let message = "global flags not at the start of the expression";
                    Err(self.source.error_at(message, start))
                }
            },
            other => Err(self.unknown_extension("?", other)),
        }
    }

    fn unknown_extension(&self, before: &str, piece: Piece) -> RegexError {
        let position = self.source.position() - before.len() - piece.length();
        self.source
            .error_at(format!("unknown extension {before}{}", piece.text()), position)
    }

    /// The branches up to the parenthesis that closes the group.
    fn inside(&mut self, start: usize, verbose: bool, nesting: usize) -> Result<Branches, RegexError> {
        let branches = self.branches(verbose, nesting)?;
        self.close(start)?;
        Ok(branches)
    }

    fn close(&mut self, start: usize) -> Result<(), RegexError> {
        match self.source.take_if(')')? {
            true => Ok(()),
            false => Err(self.source.error_at("missing ), unterminated subpattern", start)),
        }
    }

    fn capture(
        &mut self,
        name: Option<String>,
        start: usize,
        verbose: bool,
        nesting: usize,
    ) -> Result<Node, RegexError> {
        let number = self.groups.len() + 1;
        if let Some(name) = name {
            if let Some(known) = self.group_names.get(&name) {
                let shown = repr_text(&name);
                let message = format!("redefinition of group name {shown} as group {number}; was group {known}");
                return Err(self.source.error_at(message, self.behind(&name)));
            }
            self.group_names.insert(name, number);
        }
        self.groups.push(false);
        let branches = self.inside(start, verbose, nesting)?;
        self.groups[number - 1] = true;
        Ok(Node::Group {
            kind: GroupKind::Capture(number),
            branches,
        })
    }

    /// Where a name begins that has just been read, with the character that ends it.
    fn behind(&self, name: &str) -> usize {
        self.source.position() - name.chars().count() - 1
    }

    /// `(?P<name>…)` and `(?P=name)`
    fn named(&mut self, start: usize, verbose: bool, nesting: usize) -> Result<Node, RegexError> {
        if self.source.take_if('<')? {
            let name = self.source.take_until('>', "group name")?;
            self.check_name(&name)?;
            return self.capture(Some(name), start, verbose, nesting);
        }
        if self.source.take_if('=')? {
            let name = self.source.take_until(')', "group name")?;
            self.check_name(&name)?;
            let number = self.group_named(&name)?;
            if !self.is_complete(number) {
                return Err(self
                    .source
                    .error_at("cannot refer to an open group", self.behind(&name)));
            }
            self.check_reference_in_look_behind(number)?;
            return Ok(Node::BackReference(number));
        }
        let piece = self
            .source
            .take()?
            .ok_or_else(|| self.source.error("unexpected end of pattern"))?;
        Err(self.unknown_extension("?P", piece))
    }

    fn check_name(&self, name: &str) -> Result<(), RegexError> {
        match is_identifier(name) {
            true => Ok(()),
            false => {
                let message = format!("bad character in group name {}", repr_text(name));
                Err(self.source.error_at(message, self.behind(name)))
            }
        }
    }

    fn group_named(&self, name: &str) -> Result<usize, RegexError> {
        let unknown = || {
            let message = format!("unknown group name {}", repr_text(name));
            self.source.error_at(message, self.behind(name))
        };
        self.group_names.get(name).copied().ok_or_else(unknown)
    }

    pub(super) fn is_complete(&self, number: usize) -> bool {
        number
            .checked_sub(1)
            .is_none_or(|index| self.groups.get(index).copied().unwrap_or(false))
    }

    /// What looks behind may refer to groups before it only.
    pub(super) fn check_reference_in_look_behind(&self, number: usize) -> Result<(), RegexError> {
        match self.look_behind {
            Some(_) if !self.is_complete(number) => Err(self.source.error("cannot refer to an open group")),
            Some(before) if number >= before => {
                let message = "cannot refer to group defined in the same lookbehind subpattern";
                Err(self.source.error(message))
            }
            _ => Ok(()),
        }
    }

    fn look(
        &mut self,
        is_behind: bool,
        is_negated: bool,
        start: usize,
        verbose: bool,
        nesting: usize,
    ) -> Result<Node, RegexError> {
        let outer = self.look_behind;
        if is_behind && outer.is_none() {
            self.look_behind = Some(self.groups.len() + 1);
        }
        let branches = self.branches(verbose, nesting)?;
        self.look_behind = outer;
        self.close(start)?;
        Ok(Node::Look {
            is_behind,
            is_negated,
            branches,
        })
    }

    /// `(?(1)yes|no)`
    fn conditional(&mut self, start: usize, verbose: bool, nesting: usize) -> Result<Node, RegexError> {
        if nesting > DEEPEST_NESTING {
            return Err(RegexError::TooComplex);
        }
        let name = self.source.take_until(')', "group name")?;
        let position = self.behind(&name);
        let group = if is_identifier(&name) {
            self.group_named(&name)?
        } else {
            let number = crate::python::number::parse_int(&name).filter(|number| *number >= 0.into());
            let Some(number) = number else {
                let message = format!("bad character in group name {}", repr_text(&name));
                return Err(self.source.error_at(message, position));
            };
            let small = usize::try_from(number.clone())
                .ok()
                .filter(|number| *number < MOST_GROUPS);
            match small {
                Some(0) => return Err(self.source.error_at("bad group number", position)),
                Some(small) => self.asked_for.push((small, position)),
                None => {
                    return Err(self
                        .source
                        .error_at(format!("invalid group reference {number}"), position));
                }
            }
            small.unwrap_or_default()
        };
        self.check_reference_in_look_behind(group)?;
        let yes = self.sequence(verbose, nesting, false)?;
        let no = match self.source.take_if('|')? {
            true => Some(self.sequence(verbose, nesting, false)?),
            false => None,
        };
        if no.is_some() && self.source.is_next('|') {
            return Err(self.source.error("conditional backref with more than two branches"));
        }
        self.close(start)?;
        Ok(Node::Conditional { group, yes, no })
    }

    fn flag_group(
        &mut self,
        change: FlagChange,
        start: usize,
        verbose: bool,
        nesting: usize,
    ) -> Result<Node, RegexError> {
        let verbose = (verbose || change.on.verbose) && !change.off.verbose;
        let branches = self.inside(start, verbose, nesting)?;
        Ok(Node::Group {
            kind: GroupKind::Plain {
                on: change.on,
                off: change.off,
                is_unicode: change.is_unicode,
            },
            branches,
        })
    }

    /// The letters of `(?i)` and `(?i-s:`; `None` where they hold for the whole pattern.
    fn flag_letters(&mut self, first: char) -> Result<Option<FlagChange>, RegexError> {
        let mut change = FlagChange::default();
        let mut letter = first;
        if letter != '-' {
            loop {
                if letter == 'L' {
                    return Err(self
                        .source
                        .error("bad inline flags: cannot use 'L' flag with a str pattern"));
                }
                change.is_unicode |= letter == 'u';
                set_flag(&mut change.on, letter);
                if change.is_unicode && change.on.ascii {
                    let message = "bad inline flags: flags 'a', 'u' and 'L' are incompatible";
                    return Err(self.source.error(message));
                }
                letter = self.next_letter("missing -, : or )")?;
                if [')', '-', ':'].contains(&letter) {
                    break;
                }
                self.check_flag(letter, "missing -, : or )")?;
            }
        }
        if letter == ')' {
            self.flags = combined(self.flags, change.on, Flags::default());
            self.is_unicode |= change.is_unicode;
            return Ok(None);
        }
        let refuse = |parser: &Self, message: &str| Err(parser.source.error_at(message, parser.source.position() - 1));
        if change.on.template {
            return refuse(self, "bad inline flags: cannot turn on global flag");
        }
        if letter == '-' {
            letter = self.next_letter("missing flag")?;
            self.check_flag(letter, "missing flag")?;
            loop {
                if ['a', 'u', 'L'].contains(&letter) {
                    let message = "bad inline flags: cannot turn off flags 'a', 'u' and 'L'";
                    return Err(self.source.error(message));
                }
                set_flag(&mut change.off, letter);
                letter = self.next_letter("missing :")?;
                if letter == ':' {
                    break;
                }
                self.check_flag(letter, "missing :")?;
            }
        }
        if change.off.template {
            return refuse(self, "bad inline flags: cannot turn off global flag");
        }
        let (on, off) = (change.on, change.off);
        let is_both = (on.ignore_case && off.ignore_case)
            || (on.multi_line && off.multi_line)
            || (on.dot_all && off.dot_all)
            || (on.verbose && off.verbose);
        if is_both {
            return refuse(self, "bad inline flags: flag turned on and off");
        }
        Ok(Some(change))
    }

    /// The next character of flags; an escape is none, and told as its backslash.
    fn next_letter(&mut self, missing: &str) -> Result<char, RegexError> {
        match self.source.take()? {
            Some(Piece::Plain(letter)) => Ok(letter),
            Some(Piece::Escape(_)) => Err(self.source.error_at(missing, self.source.position() - 2)),
            None => Err(self.source.error(missing)),
        }
    }

    fn check_flag(&self, letter: char, missing: &str) -> Result<(), RegexError> {
        if is_flag(letter) {
            return Ok(());
        }
        let message = if letter.is_alphabetic() {
            "unknown flag"
        } else {
            missing
        };
        Err(self.source.error_at(message, self.source.position() - 1))
    }
}

fn is_flag(letter: char) -> bool {
    "iLmsxatu".contains(letter)
}

fn set_flag(flags: &mut Flags, letter: char) {
    match letter {
        'i' => flags.ignore_case = true,
        'm' => flags.multi_line = true,
        's' => flags.dot_all = true,
        'x' => flags.verbose = true,
        'a' => flags.ascii = true,
        't' => flags.template = true,
        _ => {}
    }
}

/// Flags with some turned on and others off.
pub fn combined(flags: Flags, on: Flags, off: Flags) -> Flags {
    Flags {
        ignore_case: (flags.ignore_case || on.ignore_case) && !off.ignore_case,
        multi_line: (flags.multi_line || on.multi_line) && !off.multi_line,
        dot_all: (flags.dot_all || on.dot_all) && !off.dot_all,
        verbose: (flags.verbose || on.verbose) && !off.verbose,
        ascii: flags.ascii || on.ascii,
        template: flags.template || on.template,
    }
}

/// As `str.isidentifier` has it, nearly.
fn is_identifier(name: &str) -> bool {
    let mut characters = name.chars();
    characters
        .next()
        .is_some_and(|first| first.is_alphabetic() || first == '_')
        && characters.all(|other| other.is_alphanumeric() || other == '_')
}
