//! What predecessors leave in a sync point, as both engines write it.
//!
//! `input_data` is `{}` at first and then `{"input_data": {SENDER: DATA, …}}`; `extra_data` is null or
//! `{"extra_data": {"resource_failures": {…}, "skip_propagate": true}}`. Senders are node keys.

use serde_json::{Map, Value};

use crate::python::dumps_map;
use crate::stack::node::Node;

/// The content of a sync point.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Meeting {
    arrived: Map<String, Value>,
    extra: Map<String, Value>,
}

/// What one predecessor brings.
#[derive(Clone, Debug)]
pub struct Arrival {
    pub sender: Node,
    /// Node data for an update, the id of the cleaned-up resource for a cleanup, or nothing.
    pub data: Value,
    /// Failures by resource name that travel along instead of stopping the traversal.
    pub failures: Option<Map<String, Value>>,
    /// The node is to be passed over, with its data, by those that wait for it.
    pub skip: bool,
}

impl Meeting {
    pub fn read(input_data: Option<Value>, extra_data: Option<Value>) -> Self {
        let inner = |value: Option<Value>, key: &str| {
            let inner = value.and_then(|mut value| value.get_mut(key).map(Value::take));
            match inner {
                Some(Value::Object(entries)) => entries,
                _ => Map::new(),
            }
        };
        Self {
            arrived: inner(input_data, "input_data"),
            extra: inner(extra_data, "extra_data"),
        }
    }

    /// Takes the arrival in. False if everything that it brings was here before: a message that came twice.
    pub fn admit(&mut self, arrival: Arrival) -> bool {
        let mut news = false;
        if let Some(failures) = arrival.failures {
            let mut known = self.failures();
            known.extend(failures);
            news |= put(&mut self.extra, "resource_failures".to_owned(), Value::Object(known));
        }
        if arrival.skip {
            news |= put(&mut self.extra, "skip_propagate".to_owned(), Value::Bool(true));
        }
        news | put(&mut self.arrived, arrival.sender.to_key(), arrival.data)
    }

    /// Whether [`Self::admit`] would find anything new in the arrival.
    pub fn learns_from(&self, arrival: &Arrival) -> bool {
        let failures = arrival.failures.as_ref();
        let known = self.extra.get("resource_failures").and_then(Value::as_object);
        let is_known = |(name, failure)| known.and_then(|known| known.get(name)) == Some(failure);
        self.arrived.get(&arrival.sender.to_key()) != Some(&arrival.data)
            || arrival.skip && !self.skip_propagate()
            || failures.is_some_and(|failures| known.is_none() || !failures.iter().all(is_known))
    }

    pub fn has(&self, node: &Node) -> bool {
        self.arrived.contains_key(&node.to_key())
    }

    /// Which of the expected have not arrived.
    pub fn missing<'n>(&self, expected: impl Iterator<Item = &'n Node>) -> Vec<&'n Node> {
        expected.filter(|node| !self.has(node)).collect()
    }

    pub fn failures(&self) -> Map<String, Value> {
        self.extra
            .get("resource_failures")
            .and_then(Value::as_object)
            .cloned()
            .unwrap_or_default()
    }

    pub fn skip_propagate(&self) -> bool {
        self.extra
            .get("skip_propagate")
            .and_then(Value::as_bool)
            .unwrap_or(false)
    }

    pub fn into_input_data(self) -> Value {
        let mut outer = Map::new();
        outer.insert("input_data".to_owned(), Value::Object(self.arrived));
        Value::Object(outer)
    }

    /// The text of the column `input_data`.
    pub fn input_text(&self) -> String {
        format!("{{\"input_data\": {}}}", dumps_map(&self.arrived))
    }

    /// The text of the column `extra_data`, if there is anything in it.
    pub fn extra_text(&self) -> Option<String> {
        (!self.extra.is_empty()).then(|| format!("{{\"extra_data\": {}}}", dumps_map(&self.extra)))
    }
}

/// Whether the entry was not there before, or was another.
fn put(entries: &mut Map<String, Value>, key: String, value: Value) -> bool {
    if entries.get(&key) == Some(&value) {
        return false;
    }
    entries.insert(key, value);
    true
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn arrival(sender: &Node, data: Value) -> Arrival {
        Arrival {
            sender: sender.clone(),
            data,
            failures: None,
            skip: false,
        }
    }

    #[test]
    fn the_text_is_what_the_python_engine_writes() {
        let mut meeting = Meeting::read(Some(json!({})), None);
        assert!(meeting.admit(arrival(&Node::update(7), json!({"id": 7}))));
        let text = r#"{"input_data": {"tuple:(7, True, 'resource')": {"id": 7}}}"#;
        assert_eq!(meeting.input_text(), text);
        assert_eq!(meeting.extra_text(), None);
        let again = Meeting::read(serde_json::from_str(text).unwrap(), None);
        assert_eq!(again, meeting);
        assert_eq!(again.into_input_data(), serde_json::from_str::<Value>(text).unwrap());
    }

    #[test]
    fn the_second_time_is_no_news() {
        let mut meeting = Meeting::default();
        let (first, second) = (Node::update(1), Node::update(2));
        assert!(meeting.learns_from(&arrival(&first, Value::Null)));
        assert!(meeting.admit(arrival(&first, Value::Null)));
        assert!(!meeting.learns_from(&arrival(&first, Value::Null)));
        assert!(!meeting.admit(arrival(&first, Value::Null)));
        assert!(meeting.has(&first) && !meeting.has(&second));
    }

    #[test]
    fn failures_add_up() {
        let mut meeting = Meeting::default();
        for (id, failures) in [json!({"a": "x"}), json!({"b": "y"})].into_iter().enumerate() {
            meeting.admit(Arrival {
                failures: failures.as_object().cloned(),
                skip: true,
                ..arrival(&Node::update(id as i64), Value::Null)
            });
        }
        assert_eq!(Value::Object(meeting.failures()), json!({"a": "x", "b": "y"}));
        assert!(meeting.skip_propagate());
        assert_eq!(
            meeting.extra_text().unwrap(),
            r#"{"extra_data": {"resource_failures": {"a": "x", "b": "y"}, "skip_propagate": true}}"#
        );
    }
}
