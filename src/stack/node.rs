//! The nodes of a traversal, and the data that travels along its edges.
//!
//! A node is stored in three places that both engines read: `stack.current_deps` (`[42, true]`), the keys of a sync
//! point's input data (`tuple:(42, True, 'resource')`) and the arguments of `check_resource`.

use std::fmt;

use indexmap::IndexMap;
use serde_json::{Map, Value, json};

use crate::python::literal::Literal;
use crate::python::repr;
pub use crate::resource::attributes::attribute_key;

/// What a node works on.
#[derive(Clone, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Subject {
    Resource(i64),
    /// A snapshot that goes with its stack.
    Snapshot(String),
}

/// One step of a traversal: bring a resource to its definition (`is_update`), or clean up what is no longer wanted.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Node {
    pub subject: Subject,
    pub is_update: bool,
}

impl Node {
    pub fn update(resource_id: i64) -> Self {
        Self {
            subject: Subject::Resource(resource_id),
            is_update: true,
        }
    }

    pub fn cleanup(resource_id: i64) -> Self {
        Self {
            subject: Subject::Resource(resource_id),
            is_update: false,
        }
    }

    pub fn snapshot(snapshot_id: &str) -> Self {
        Self {
            subject: Subject::Snapshot(snapshot_id.to_owned()),
            is_update: false,
        }
    }

    pub fn resource_id(&self) -> Option<i64> {
        match self.subject {
            Subject::Resource(id) => Some(id),
            Subject::Snapshot(_) => None,
        }
    }

    /// The id under which the node's sync point is kept.
    pub fn entity_id(&self) -> String {
        match &self.subject {
            Subject::Resource(id) => id.to_string(),
            Subject::Snapshot(id) => id.clone(),
        }
    }

    /// As `stack.current_deps` holds it.
    pub fn to_edge_end(&self) -> Value {
        match &self.subject {
            Subject::Resource(id) => json!([id, self.is_update]),
            Subject::Snapshot(id) => json!([id, self.is_update, "snapshot"]),
        }
    }

    pub fn from_edge_end(value: &Value) -> Option<Self> {
        let parts = value.as_array()?;
        let is_update = parts.get(1)?.as_bool()?;
        let subject = match parts.get(2).and_then(Value::as_str) {
            None | Some("resource") => Subject::Resource(parts.first()?.as_i64()?),
            Some("snapshot") => Subject::Snapshot(parts.first()?.as_str()?.to_owned()),
            Some(_) => return None,
        };
        Some(Self { subject, is_update })
    }

    /// As a sync point's input data names its sender.
    pub fn to_key(&self) -> String {
        let flag = if self.is_update { "True" } else { "False" };
        match &self.subject {
            Subject::Resource(id) => format!("tuple:({id}, {flag}, 'resource')"),
            Subject::Snapshot(id) => format!("tuple:({}, {flag}, 'snapshot')", repr(&Value::from(id.as_str()))),
        }
    }

    pub fn from_key(key: &str) -> Option<Self> {
        let literal = Literal::parse(key.strip_prefix("tuple:")?).ok()?;
        let parts = literal.as_tuple()?;
        let is_update = parts.get(1)?.as_bool()?;
        let subject = match parts.get(2).map_or(Some("resource"), Literal::as_text)? {
            "resource" => Subject::Resource(parts[0].as_i64()?),
            "snapshot" => Subject::Snapshot(parts[0].as_text()?.to_owned()),
            _ => return None,
        };
        Some(Self { subject, is_update })
    }
}

impl fmt::Display for Node {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let step = if self.is_update { "update" } else { "cleanup" };
        match &self.subject {
            Subject::Resource(id) => write!(f, "resource {id} ({step})"),
            Subject::Snapshot(id) => write!(f, "snapshot {id}"),
        }
    }
}

/// What a finished node tells those that wait for it: enough to resolve every reference to its resource.
#[derive(Clone, Debug, PartialEq)]
pub struct NodeData {
    pub id: i64,
    pub name: String,
    pub uuid: String,
    pub reference_id: Value,
    /// By [`attribute_key`].
    pub attributes: IndexMap<String, Value>,
    pub action: String,
    pub status: String,
}

impl NodeData {
    pub fn to_value(&self) -> Value {
        let attributes: Map<String, Value> = self
            .attributes
            .iter()
            .map(|(key, value)| (key.clone(), value.clone()))
            .collect();
        json!({
            "id": self.id,
            "name": self.name,
            "reference_id": self.reference_id,
            "attrs": attributes,
            "status": self.status,
            "action": self.action,
            "uuid": self.uuid,
        })
    }

    /// Reads what either engine wrote; `None` for a sender that tells nothing (a clean-up).
    pub fn from_value(value: &Value) -> Option<Self> {
        let data = value.as_object()?;
        let text = |key: &str| data.get(key).and_then(Value::as_str).unwrap_or_default().to_owned();
        let attributes = data
            .get("attrs")
            .and_then(Value::as_object)
            .cloned()
            .unwrap_or_default();
        Some(Self {
            id: data.get("id")?.as_i64()?,
            name: text("name"),
            uuid: text("uuid"),
            reference_id: data.get("reference_id").cloned().unwrap_or(Value::Null),
            attributes: attributes.into_iter().collect(),
            action: text("action"),
            status: text("status"),
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_node_reads_back_from_both_of_its_forms() {
        for node in [Node::update(42), Node::cleanup(7), Node::snapshot("a-b")] {
            assert_eq!(Node::from_edge_end(&node.to_edge_end()), Some(node.clone()));
            assert_eq!(Node::from_key(&node.to_key()), Some(node));
        }
        assert_eq!(Node::update(42).to_key(), "tuple:(42, True, 'resource')");
        assert_eq!(Node::from_key("tuple:(42, True, 'planet')"), None);
    }

    #[test]
    fn an_attribute_with_a_path_travels_as_a_tuple() {
        assert_eq!(attribute_key("show", &[]), "show");
        assert_eq!(attribute_key("show", &[json!("a"), json!(0)]), "tuple:('show', 'a', 0)");
    }
}
