//! What a `check_resource` asks for, and what became of it.

use serde_json::{Map, Value};

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

/// What became of a request.
#[derive(Debug, PartialEq, Eq)]
pub enum Checked {
    Done,
    /// This engine cannot do it, and says why; nothing was changed.
    NotServed(String),
}
