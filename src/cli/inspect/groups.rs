//! Nodes that nobody would tell apart, put together.
//!
//! Two nodes are alike if they are at the same thing and if what they require, and what requires them, is alike. So forty
//! servers with a volume each are two groups and not eighty nodes, and a picture of a large stack has as many boxes as
//! the stack has ideas.

use std::collections::{BTreeSet, HashMap};
use std::hash::Hash;

use indexmap::IndexMap;

use crate::convergence::survey::{NodeState, Progress, Survey};
use crate::stack::node::{Node, Subject};

/// Up to so many nodes every one is shown.
pub const FEW: usize = 24;

#[derive(Debug)]
pub struct Group<'s> {
    pub nodes: Vec<&'s NodeState>,
}

#[derive(Debug)]
pub struct Groups<'s> {
    pub groups: Vec<Group<'s>>,
    of_node: HashMap<&'s Node, usize>,
}

/// What alike nodes have in common from the start.
#[derive(PartialEq, Eq, Hash)]
struct Looks<'s> {
    progress: Progress,
    is_update: bool,
    is_snapshot: bool,
    state: Option<String>,
    resource_type: Option<&'s str>,
    is_held: bool,
}

impl<'s> Looks<'s> {
    fn of(state: &'s NodeState) -> Self {
        let row = state.row.as_ref();
        Self {
            progress: state.progress,
            is_update: state.node.is_update,
            is_snapshot: matches!(state.node.subject, Subject::Snapshot(_)),
            state: row.map(|row| row.state()),
            resource_type: row.and_then(|row| row.resource_type.as_deref()),
            is_held: row.is_some_and(|row| row.holder.is_some()),
        }
    }
}

impl<'s> Groups<'s> {
    pub fn of(survey: &'s Survey, apart: bool) -> Self {
        let states: Vec<&NodeState> = survey.nodes.values().collect();
        let classes = match apart || states.len() <= FEW {
            true => (0..states.len()).collect(),
            false => alike(survey, &states),
        };
        let mut groups: IndexMap<usize, Group<'s>> = IndexMap::new();
        for (state, class) in states.iter().zip(&classes) {
            let group = groups.entry(*class).or_insert_with(|| Group { nodes: Vec::new() });
            group.nodes.push(state);
        }
        let groups: Vec<Group<'s>> = groups.into_values().collect();
        let of_node = groups
            .iter()
            .enumerate()
            .flat_map(|(index, group)| group.nodes.iter().map(move |state| (&state.node, index)))
            .collect();
        Self { groups, of_node }
    }

    /// The groups of some nodes, each once.
    pub fn of_nodes(&self, nodes: &[Node]) -> BTreeSet<usize> {
        nodes
            .iter()
            .filter_map(|node| self.of_node.get(node).copied())
            .collect()
    }
}

/// Splits until everything in a class is alike.
fn alike(survey: &Survey, states: &[&NodeState]) -> Vec<usize> {
    let place: HashMap<&Node, usize> = states.iter().enumerate().map(|(index, it)| (&it.node, index)).collect();
    let places = |nodes: &[Node]| -> Vec<usize> { nodes.iter().filter_map(|node| place.get(node).copied()).collect() };
    let before: Vec<Vec<usize>> = states.iter().map(|state| places(&state.requires)).collect();
    let after: Vec<Vec<usize>> = states.iter().map(|state| places(&state.required_by)).collect();
    let mut classes = numbered(states.iter().map(|state| Looks::of(state)));
    loop {
        let classes_of = |places: &Vec<usize>| -> BTreeSet<usize> { places.iter().map(|it| classes[*it]).collect() };
        let surroundings =
            (0..survey.nodes.len()).map(|it| (classes[it], classes_of(&before[it]), classes_of(&after[it])));
        let finer = numbered(surroundings);
        if finer.iter().max() == classes.iter().max() {
            return finer;
        }
        classes = finer;
    }
}

/// Numbers for values, equal ones for equal ones, in the order in which they come.
fn numbered<T: Hash + Eq>(values: impl Iterator<Item = T>) -> Vec<usize> {
    let mut known: HashMap<T, usize> = HashMap::new();
    values
        .map(|value| {
            let next = known.len();
            *known.entry(value).or_insert(next)
        })
        .collect()
}

/// Names in a line: all of a few, or the first and the last of many.
pub fn names<T: AsRef<str>>(names: &[T]) -> String {
    let names: Vec<&str> = names.iter().map(AsRef::as_ref).collect();
    match names.as_slice() {
        [] => String::new(),
        [one] => (*one).to_owned(),
        [.., last] if names.len() > 3 => {
            let mut sorted = names.to_vec();
            sorted.sort_by_key(|name| (name.chars().count(), (*name).to_owned()));
            let (first, last) = (sorted.first().unwrap_or(last), sorted.last().unwrap_or(last));
            format!("{first} … {last} ({})", names.len())
        }
        few => few.join(", "),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_of_many_are_the_ends_of_their_order() {
        assert_eq!(names(&["b", "a"]), "b, a");
        assert_eq!(names(&["r10", "r2", "r1", "r9"]), "r1 … r10 (4)");
    }

    #[test]
    fn equal_values_have_equal_numbers() {
        assert_eq!(numbered(["x", "y", "x"].into_iter()), [0, 1, 0]);
    }
}
