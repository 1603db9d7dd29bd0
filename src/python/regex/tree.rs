//! A pattern that has been read, and how much text its parts match.

use super::error::RegexError;

#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Flags {
    pub ignore_case: bool,
    pub multi_line: bool,
    pub dot_all: bool,
    pub verbose: bool,
    pub ascii: bool,
    /// A mode of Python's without an effect but that nothing may be repeated.
    pub template: bool,
}

#[derive(Debug)]
pub struct Pattern {
    pub branches: Branches,
    /// Those that hold for the whole.
    pub flags: Flags,
    pub group_names: Vec<(String, usize)>,
}

pub type Sequence = Vec<Node>;
pub type Branches = Vec<Sequence>;

#[derive(Debug)]
pub enum Node {
    /// A code point, which may be half of a surrogate pair.
    Literal(u32),
    Any,
    Set {
        is_negated: bool,
        items: Vec<SetItem>,
    },
    Place(Place),
    Group {
        kind: GroupKind,
        branches: Branches,
    },
    Look {
        is_behind: bool,
        is_negated: bool,
        branches: Branches,
    },
    Repeat {
        item: Box<Node>,
        low: u64,
        high: Option<u64>,
        mode: Mode,
    },
    BackReference(usize),
    Conditional {
        group: usize,
        yes: Sequence,
        no: Option<Sequence>,
    },
}

#[derive(Debug, Clone, Copy)]
pub enum SetItem {
    Literal(u32),
    Range(u32, u32),
    /// `d`, `D`, `s`, `S`, `w` or `W`.
    Class(char),
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Place {
    /// `^`
    LineStart,
    /// `$`
    LineEnd,
    TextStart,
    TextEnd,
    Boundary,
    NoBoundary,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum GroupKind {
    Capture(usize),
    Atomic,
    /// Flags that are turned on and off in it.
    Plain {
        on: Flags,
        off: Flags,
        is_unicode: bool,
    },
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Mode {
    Greedy,
    Lazy,
    Possessive,
}

impl Node {
    /// Whether it never matches any text but the empty one, however it matches.
    pub fn takes_no_text(&self) -> bool {
        let none = |sequence: &Sequence| sequence.iter().all(Self::takes_no_text);
        match self {
            Self::Place(_) | Self::Look { .. } => true,
            Self::Group { branches, .. } => branches.iter().all(none),
            Self::Repeat { item, high, .. } => *high == Some(0) || item.takes_no_text(),
            Self::Conditional { yes, no, .. } => none(yes) && no.iter().all(none),
            Self::Literal(_) | Self::Any | Self::Set { .. } | Self::BackReference(_) => false,
        }
    }
}

/// How many characters something matches, at least and at most.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Width {
    low: u64,
    high: u64,
}

impl Width {
    const NOTHING: Self = Self { low: 0, high: 0 };
    const ONE: Self = Self { low: 1, high: 1 };

    fn then(self, next: Self) -> Self {
        Self {
            low: self.low.saturating_add(next.low),
            high: self.high.saturating_add(next.high),
        }
    }

    fn or(self, other: Self) -> Self {
        Self {
            low: self.low.min(other.low),
            high: self.high.max(other.high),
        }
    }

    fn times(self, low: u64, high: Option<u64>) -> Self {
        let high = match high {
            Some(high) => self.high.saturating_mul(high),
            None if self.high == 0 => 0,
            None => u64::MAX,
        };
        Self {
            low: self.low.saturating_mul(low),
            high,
        }
    }
}

/// Refuses what Python refuses once it has read all: what looks behind has to know how far.
pub fn check(pattern: &Pattern) -> Result<(), RegexError> {
    let mut measure = Measure {
        groups: Vec::new(),
        is_template: pattern.flags.template,
    };
    measure.branches(&pattern.branches).map(drop)
}

/// Measures parts; the widths of groups are known once they are behind.
struct Measure {
    groups: Vec<(usize, Width)>,
    is_template: bool,
}

/// A look behind may not go further.
const FURTHEST: u64 = u32::MAX as u64;

impl Measure {
    fn branches(&mut self, branches: &Branches) -> Result<Width, RegexError> {
        let widths: Vec<Width> = branches
            .iter()
            .map(|branch| self.sequence(branch))
            .collect::<Result<_, _>>()?;
        Ok(widths.into_iter().reduce(Width::or).unwrap_or(Width::NOTHING))
    }

    fn sequence(&mut self, sequence: &Sequence) -> Result<Width, RegexError> {
        let mut sum = Width::NOTHING;
        for node in sequence {
            sum = sum.then(self.node(node)?);
        }
        Ok(sum)
    }

    fn node(&mut self, node: &Node) -> Result<Width, RegexError> {
        match node {
            Node::Literal(_) | Node::Any | Node::Set { .. } => Ok(Width::ONE),
            Node::Place(_) => Ok(Width::NOTHING),
            Node::Group { kind, branches } => {
                let width = self.branches(branches)?;
                if let GroupKind::Capture(number) = kind {
                    self.groups.push((*number, width));
                }
                Ok(width)
            }
            Node::Look {
                is_behind, branches, ..
            } => {
                let width = self.branches(branches)?;
                let complaint = match *is_behind {
                    true if width.low > FURTHEST => "looks too much behind",
                    true if width.low != width.high => "look-behind requires fixed-width pattern",
                    _ => return Ok(Width::NOTHING),
                };
                Err(RegexError::Syntax(complaint.to_owned()))
            }
            Node::Repeat { mode, .. } if self.is_template => {
                let name = match mode {
                    Mode::Greedy => "MAX_REPEAT",
                    Mode::Lazy => "MIN_REPEAT",
                    Mode::Possessive => "POSSESSIVE_REPEAT",
                };
                Err(RegexError::Syntax(format!(
                    "internal: unsupported template operator {name}"
                )))
            }
            Node::Repeat { item, low, high, .. } => Ok(self.node(item)?.times(*low, *high)),
            Node::BackReference(number) => {
                let group = self.groups.iter().find(|(known, _)| known == number);
                Ok(group.map_or(Width::NOTHING, |(_, width)| *width))
            }
            Node::Conditional { yes, no, .. } => {
                let yes = self.sequence(yes)?;
                let no = no.as_ref().map_or(Ok(Width::NOTHING), |no| self.sequence(no))?;
                Ok(yes.or(no))
            }
        }
    }
}
