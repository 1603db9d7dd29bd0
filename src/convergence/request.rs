//! What a `check_resource` asks for, and what became of it.

use serde_json::{Map, Value};

use crate::stack::known::KnownResources;
use crate::stack::node::Node;

/// The arguments of a `check_resource`.
#[derive(Clone, Debug)]
pub struct CheckRequest {
    pub node: Node,
    pub traversal: String,
    /// As a sync point holds it.
    pub input_data: Value,
    pub adopt_stack_data: Value,
    pub converge: bool,
    pub skip_propagate: bool,
    pub accumulated_failures: Option<Map<String, Value>>,
    pub abandon: bool,
}

impl CheckRequest {
    /// What the nodes before have told. The order of a clean-up is the other way round: nothing comes with it.
    pub fn known_resources(&self) -> KnownResources {
        match self.node.is_update {
            true => KnownResources::from_input_data(&self.input_data),
            false => KnownResources::default(),
        }
    }
}

/// What became of a request.
#[derive(Debug, PartialEq, Eq)]
pub enum Checked {
    Done,
    /// This engine cannot do it, and says why; nothing was changed.
    NotServed(String),
}
