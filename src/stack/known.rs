//! What is known of a stack's resources while one of them is worked on: the data of the nodes before it. With them, what
//! has been learned of the cloud that they live in.

use std::collections::HashMap;

use serde_json::{Map, Value};

use super::node::{NodeData, attribute_key};
use crate::python::repr;
use crate::template::{Allowance, AttributeFailure, AttributePath, AvailabilityZones, ResourceStates};

#[derive(Clone, Debug, Default)]
pub struct KnownResources {
    by_name: HashMap<String, NodeData>,
    pub(super) zones: Option<AvailabilityZones>,
    allowance: Allowance,
}

impl KnownResources {
    /// From the input data of a node; senders that told nothing are left out.
    pub fn from_input_data(input_data: &Value) -> Self {
        let arrived = input_data.get("input_data").and_then(Value::as_object);
        arrived
            .into_iter()
            .flat_map(Map::values)
            .filter_map(NodeData::from_value)
            .collect()
    }

    pub fn insert(&mut self, data: NodeData) {
        self.by_name.insert(data.name.clone(), data);
    }

    pub fn get(&self, name: &str) -> Option<&NodeData> {
        self.by_name.get(name)
    }

    /// The rows of the resources.
    pub fn ids(&self) -> Vec<i64> {
        let mut ids: Vec<i64> = self.by_name.values().map(|data| data.id).collect();
        ids.sort_unstable();
        ids
    }
}

impl FromIterator<NodeData> for KnownResources {
    fn from_iter<I: IntoIterator<Item = NodeData>>(nodes: I) -> Self {
        Self {
            allowance: Allowance::default(),
            by_name: nodes.into_iter().map(|data| (data.name.clone(), data)).collect(),
            zones: None,
        }
    }
}

impl ResourceStates for KnownResources {
    fn allowance(&self) -> Allowance {
        self.allowance.clone()
    }

    fn availability_zones(&self) -> Option<&AvailabilityZones> {
        self.zones.as_ref()
    }

    fn state(&self, resource: &str) -> Option<(&str, &str)> {
        self.get(resource)
            .map(|data| (data.action.as_str(), data.status.as_str()))
    }

    fn reference_id(&self, resource: &str) -> Option<Value> {
        self.get(resource).map(|data| data.reference_id.clone())
    }

    fn attribute(&self, resource: &str, attribute: &AttributePath) -> Result<Value, AttributeFailure> {
        let data = self.get(resource).ok_or(AttributeFailure::Unknown)?;
        let key = attribute_key(&attribute.name, &attribute.path);
        data.attributes.get(&key).cloned().ok_or(AttributeFailure::Unknown)
    }

    fn attributes(&self, resource: &str) -> Result<Map<String, Value>, AttributeFailure> {
        let data = self.get(resource).ok_or(AttributeFailure::Unknown)?;
        let plain = data.attributes.iter().filter(|(key, _)| !key.starts_with("tuple:("));
        Ok(plain.map(|(key, value)| (key.clone(), value.clone())).collect())
    }

    fn has_attribute(&self, resource: &str, attribute: &str) -> bool {
        let Some(data) = self.get(resource) else {
            return false;
        };
        // What was asked for with a path is kept under that path alone.
        let with_path = format!("tuple:({}, ", repr(&Value::from(attribute)));
        data.attributes
            .keys()
            .any(|key| key == attribute || key.starts_with(&with_path))
    }
}
