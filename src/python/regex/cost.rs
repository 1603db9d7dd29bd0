//! What a pattern costs to compile and to match, as far as its form tells.

use super::tree::{Branches, GroupKind, Node, Pattern, Sequence, SetItem};

/// Repeated so often, something goes through a text rather than a word.
const OFTEN: u64 = 16;

impl Pattern {
    /// How many states a program has, about, in which each repetition has its own copy of what is repeated.
    pub fn unrolled_size(&self) -> u64 {
        sum(self.branches.iter().flatten(), Node::unrolled_size)
    }

    /// What it takes, in states, to tell the cases of letters that nearly all alphabets have, where no case counts.
    pub fn folded_size(&self) -> u64 {
        const NEARLY_ALL: u64 = 20_000;
        let is_case_ignored = self.flags.ignore_case || self.branches.iter().flatten().any(Node::ignores_case);
        match is_case_ignored {
            true => sum(self.branches.iter().flatten(), Node::large_sets) * NEARLY_ALL,
            false => 0,
        }
    }

    /// Whoever goes through a text and looks ahead at each character takes the square of its length. How often the length
    /// is a factor besides the first time.
    pub fn further_passes(&self) -> u32 {
        passes_of(&self.branches).saturating_sub(1)
    }

    /// Repetitions of what may match nothing take their times whatever the text: how many these are.
    pub fn idle_repetitions(&self) -> u64 {
        sum(self.branches.iter().flatten(), Node::idle_repetitions)
    }
}

fn sum<'n>(nodes: impl IntoIterator<Item = &'n Node>, of: impl Fn(&Node) -> u64) -> u64 {
    nodes.into_iter().map(of).fold(0, u64::saturating_add)
}

fn passes_of(branches: &Branches) -> u32 {
    branches.iter().flatten().map(Node::passes).max().unwrap_or(0)
}

impl Node {
    fn children(&self) -> Vec<&Self> {
        match self {
            Self::Group { branches, .. } | Self::Look { branches, .. } => branches.iter().flatten().collect(),
            Self::Repeat { item, .. } => vec![item],
            Self::Conditional { yes, no, .. } => yes.iter().chain(no.iter().flatten()).collect(),
            Self::Literal(_) | Self::Any | Self::Set { .. } | Self::Place(_) | Self::BackReference(_) => Vec::new(),
        }
    }

    fn unrolled_size(&self) -> u64 {
        match self {
            Self::Literal(_) | Self::Place(_) | Self::BackReference(_) => 1,
            // All lengths of characters, and all alphabets.
            Self::Any => 12,
            Self::Set { items, .. } => items.iter().fold(12, |size, item| match item {
                SetItem::Class(_) => size + 400,
                SetItem::Literal(_) | SetItem::Range(..) => size + 1,
            }),
            Self::Repeat { item, low, high, .. } => item
                .unrolled_size()
                .saturating_mul((*low).max(high.unwrap_or(1)).max(1)),
            Self::Group { .. } | Self::Look { .. } | Self::Conditional { .. } => {
                sum(self.children(), Self::unrolled_size)
            }
        }
    }

    fn ignores_case(&self) -> bool {
        let turns_on = matches!(self, Self::Group { kind: GroupKind::Plain { on, .. }, .. } if on.ignore_case);
        turns_on || self.children().into_iter().any(Self::ignores_case)
    }

    fn large_sets(&self) -> u64 {
        let is_large = |item: &SetItem| matches!(item, SetItem::Class('D' | 'S' | 'W'));
        match self {
            Self::Set { items, .. } => u64::from(items.iter().any(is_large)),
            _ => sum(self.children(), Self::large_sets),
        }
    }

    fn passes(&self) -> u32 {
        match self {
            Self::Repeat { item, low, high, .. } if high.is_none_or(|high| high > OFTEN) || *low > OFTEN => {
                1 + item.passes_of_looks()
            }
            Self::BackReference(_) => 1,
            _ => self.children().into_iter().map(Self::passes).max().unwrap_or(0),
        }
    }

    /// Of what looks ahead in it: all else goes through the text together with it.
    fn passes_of_looks(&self) -> u32 {
        match self {
            Self::Look { .. } => self.passes(),
            _ => self
                .children()
                .into_iter()
                .map(Self::passes_of_looks)
                .max()
                .unwrap_or(0),
        }
    }

    fn idle_repetitions(&self) -> u64 {
        let below = sum(self.children(), Self::idle_repetitions);
        match self {
            Self::Repeat { item, low, .. } if item.may_take_no_text() => below.max(1).saturating_mul(*low),
            _ => below,
        }
    }

    fn may_take_no_text(&self) -> bool {
        let may = |sequence: &Sequence| sequence.iter().all(Self::may_take_no_text);
        match self {
            Self::Place(_) | Self::Look { .. } | Self::BackReference(_) => true,
            Self::Group { branches, .. } => branches.iter().any(may),
            Self::Repeat { item, low, .. } => *low == 0 || item.may_take_no_text(),
            Self::Conditional { yes, no, .. } => may(yes) || no.as_ref().is_none_or(may),
            Self::Literal(_) | Self::Any | Self::Set { .. } => false,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::python::regex::{Flags, parsed};

    fn of(pattern: &str) -> Pattern {
        parsed(pattern, Flags::default()).unwrap()
    }

    #[test]
    fn looks_in_loops_pass_again() {
        for (pattern, passes) in [
            ("abc", 0),
            ("^[a-z]+$", 0),
            ("(?=.*a)(?=.*b).*$", 0),
            ("(?:a(?=b))*", 0),
            ("(?:(?=.*z)a)*", 1),
            ("(?:(?:(?=.*z)a)*b)*", 1),
            ("(?:(?=(?:(?=.*z)a)*)a){20,}", 2),
        ] {
            assert_eq!(of(pattern).further_passes(), passes, "{pattern}");
        }
    }

    #[test]
    fn what_may_match_nothing_is_repeated_in_vain() {
        for (pattern, times) in [
            ("(?:a{500}){500}", 0),
            ("(?:a?){500}", 500),
            ("(?:(?>a?){500}){500}", 250_000),
            ("()(?:\\1){500}", 500),
            ("(?:x|(?:a*){9}){10}", 90),
        ] {
            assert_eq!(of(pattern).idle_repetitions(), times, "{pattern}");
        }
    }
}
