//! A dependency graph that keeps the order in which its nodes were added, so that the same template always gives the
//! same order of work.

use std::cmp::Reverse;
use std::collections::BinaryHeap;
use std::hash::Hash;

use indexmap::{IndexMap, IndexSet};

/// What one node requires, and what requires it.
#[derive(Clone, Debug)]
pub struct Edges<K: Hash + Eq> {
    pub requires: IndexSet<K>,
    pub required_by: IndexSet<K>,
}

impl<K: Hash + Eq> Default for Edges<K> {
    fn default() -> Self {
        Self {
            requires: IndexSet::new(),
            required_by: IndexSet::new(),
        }
    }
}

#[derive(Clone, Debug)]
pub struct Dependencies<K: Hash + Eq> {
    nodes: IndexMap<K, Edges<K>>,
}

/// A set of nodes that wait for each other, in the order in which they were added.
#[derive(Debug, PartialEq, Eq)]
pub struct Cycle<K>(pub Vec<K>);

impl<K: Hash + Eq> Default for Dependencies<K> {
    fn default() -> Self {
        Self { nodes: IndexMap::new() }
    }
}

impl<K: Hash + Eq + Clone> Dependencies<K> {
    /// From edges as they are stored: a node that requires another, or one that requires nothing.
    pub fn from_edges(edges: impl IntoIterator<Item = (K, Option<K>)>) -> Self {
        let mut graph = Self::default();
        for (requirer, required) in edges {
            match required {
                Some(required) => graph.require(requirer, required),
                None => graph.add(requirer),
            }
        }
        graph
    }

    /// Adds a node, if it is not there.
    pub fn add(&mut self, node: K) {
        self.nodes.entry(node).or_default();
    }

    /// Makes `requirer` wait for `required`.
    pub fn require(&mut self, requirer: K, required: K) {
        self.nodes
            .entry(required.clone())
            .or_default()
            .required_by
            .insert(requirer.clone());
        self.nodes.entry(requirer).or_default().requires.insert(required);
    }

    pub fn contains(&self, node: &K) -> bool {
        self.nodes.contains_key(node)
    }

    pub fn len(&self) -> usize {
        self.nodes.len()
    }

    pub fn is_empty(&self) -> bool {
        self.nodes.is_empty()
    }

    pub fn nodes(&self) -> impl Iterator<Item = &K> {
        self.nodes.keys()
    }

    /// What the node requires; nothing for a node that is not in the graph.
    pub fn requires(&self, node: &K) -> impl Iterator<Item = &K> {
        self.nodes.get(node).into_iter().flat_map(|edges| edges.requires.iter())
    }

    /// What requires the node; nothing for a node that is not in the graph.
    pub fn required_by(&self, node: &K) -> impl Iterator<Item = &K> {
        self.nodes
            .get(node)
            .into_iter()
            .flat_map(|edges| edges.required_by.iter())
    }

    /// The nodes that require nothing: where the work starts.
    pub fn leaves(&self) -> impl Iterator<Item = &K> {
        self.nodes
            .iter()
            .filter(|(_, edges)| edges.requires.is_empty())
            .map(|(node, _)| node)
    }

    /// The nodes that nothing requires: where the work ends.
    pub fn roots(&self) -> impl Iterator<Item = &K> {
        self.nodes
            .iter()
            .filter(|(_, edges)| edges.required_by.is_empty())
            .map(|(node, _)| node)
    }

    /// Every edge; a node without any edge comes with `None`.
    pub fn edges(&self) -> impl Iterator<Item = (&K, Option<&K>)> {
        self.nodes.iter().flat_map(|(node, edges)| {
            let alone = edges.requires.is_empty() && edges.required_by.is_empty();
            let lone = alone.then_some((node, None));
            edges
                .requires
                .iter()
                .map(move |required| (node, Some(required)))
                .chain(lone)
        })
    }

    /// The nodes in an order in which each comes after all that it requires.
    pub fn in_order(&self) -> Result<Vec<K>, Cycle<K>> {
        self.sorted(|edges| &edges.requires, |edges| &edges.required_by)
    }

    /// The nodes in an order in which each comes after all that require it.
    pub fn in_reverse_order(&self) -> Result<Vec<K>, Cycle<K>> {
        self.sorted(|edges| &edges.required_by, |edges| &edges.requires)
    }

    fn sorted(
        &self,
        before: impl Fn(&Edges<K>) -> &IndexSet<K>,
        after: impl Fn(&Edges<K>) -> &IndexSet<K>,
    ) -> Result<Vec<K>, Cycle<K>> {
        let mut missing: Vec<usize> = self.nodes.values().map(|edges| before(edges).len()).collect();
        let mut ready: BinaryHeap<Reverse<usize>> = missing
            .iter()
            .enumerate()
            .filter(|(_, count)| **count == 0)
            .map(|(index, _)| Reverse(index))
            .collect();
        let mut order = Vec::with_capacity(self.nodes.len());
        while let Some(Reverse(index)) = ready.pop() {
            let Some((node, edges)) = self.nodes.get_index(index) else {
                continue;
            };
            order.push(node.clone());
            for follower in after(edges) {
                let Some(position) = self.nodes.get_index_of(follower) else {
                    continue;
                };
                missing[position] -= 1;
                if missing[position] == 0 {
                    ready.push(Reverse(position));
                }
            }
        }
        if order.len() == self.nodes.len() {
            return Ok(order);
        }
        let waiting = self.nodes.keys().zip(&missing).filter(|(_, count)| **count > 0);
        Err(Cycle(waiting.map(|(node, _)| node.clone()).collect()))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn diamond() -> Dependencies<&'static str> {
        Dependencies::from_edges([
            ("top", Some("left")),
            ("top", Some("right")),
            ("left", Some("base")),
            ("right", Some("base")),
            ("alone", None),
        ])
    }

    #[test]
    fn every_node_comes_after_what_it_requires() {
        assert_eq!(diamond().in_order().unwrap(), ["base", "left", "right", "top", "alone"]);
        assert_eq!(
            diamond().in_reverse_order().unwrap(),
            ["top", "left", "right", "base", "alone"]
        );
    }

    #[test]
    fn leaves_and_roots_are_the_two_ends() {
        assert_eq!(diamond().leaves().collect::<Vec<_>>(), [&"base", &"alone"]);
        assert_eq!(diamond().roots().collect::<Vec<_>>(), [&"top", &"alone"]);
    }

    #[test]
    fn edges_rebuild_the_graph() {
        let graph = diamond();
        let again = Dependencies::from_edges(graph.edges().map(|(from, to)| (*from, to.copied())));
        assert_eq!(again.in_order(), graph.in_order());
        assert_eq!(graph.edges().count(), 5);
    }

    #[test]
    fn a_cycle_is_named() {
        let mut graph = diamond();
        graph.require("base", "top");
        assert_eq!(graph.in_order(), Err(Cycle(vec!["left", "top", "right", "base"])));
    }
}
