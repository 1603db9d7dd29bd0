//! What nodes are called in what is shown of a stack.

use std::collections::HashSet;

use super::groups::names;
use crate::convergence::survey::{NodeState, Survey};

pub struct Labels<'s> {
    stack: &'s str,
    ambiguous: HashSet<&'s str>,
}

impl<'s> Labels<'s> {
    pub fn of(survey: &'s Survey) -> Self {
        Self {
            stack: &survey.stack.name,
            ambiguous: survey.names_of_several_rows(),
        }
    }

    /// The resource's name; where several rows go by it, with that by which `--once` takes this one.
    pub fn name(&self, state: &NodeState) -> String {
        match self.number(state) {
            None => state.name.clone(),
            Some(_) => format!("{} [{}]", state.name, self.target(state)),
        }
    }

    /// The name, and which of its two nodes it is.
    pub fn label(&self, state: &NodeState) -> String {
        match state.node.is_update {
            true => self.name(state),
            false => format!("{} (clean-up)", self.name(state)),
        }
    }

    /// The labels of some nodes in a line.
    pub fn of_group(&self, group: &[&NodeState]) -> String {
        let labels: Vec<String> = group.iter().map(|state| self.label(state)).collect();
        names(&labels)
    }

    /// `STACK/NAME`, or `STACK/NUMBER` where the name does not say which row is meant.
    pub fn target(&self, state: &NodeState) -> String {
        match self.number(state) {
            None => format!("{}/{}", self.stack, state.name),
            Some(number) => format!("{}/{number}", self.stack),
        }
    }

    fn number(&self, state: &NodeState) -> Option<i64> {
        let row = state.row.as_ref()?;
        self.ambiguous.contains(state.name.as_str()).then_some(row.id)
    }
}
