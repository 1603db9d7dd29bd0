//! What predecessors leave in a sync point, as both engines write it.
//!
//! `input_data` is `{}` at first and then `{"input_data": {SENDER: DATA, …}}`; `extra_data` is null or
//! `{"extra_data": {"resource_failures": {…}, "skip_propagate": true}}`. Senders are node keys.

use serde_json::{Map, Value};

use crate::stack::node::Node;

/// The content of a sync point.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Meeting {
    arrived: Map<String, Value>,
    extra: Map<String, Value>,
}

/// What one predecessor brings.
#[derive(Clone, Debug)]
pub struct Arrival<'a> {
    pub sender: &'a Node,
    /// Node data for an update, the id of the cleaned-up resource for a cleanup, or nothing.
    pub data: &'a Value,
    /// Failures by resource name that travel along instead of stopping the traversal.
    pub failures: Option<&'a Map<String, Value>>,
    /// The node is to be passed over, with its data, by those that wait for it.
    pub skip: bool,
}

impl Meeting {
    pub fn read(input_data: Option<&Value>, extra_data: Option<&Value>) -> Self {
        let inner = |value: Option<&Value>, key: &str| {
            value
                .and_then(|value| value.get(key))
                .and_then(Value::as_object)
                .cloned()
                .unwrap_or_default()
        };
        Self {
            arrived: inner(input_data, "input_data"),
            extra: inner(extra_data, "extra_data"),
        }
    }

    /// Takes the arrival in. False if everything that it brings was here before: a message that came twice.
    pub fn admit(&mut self, arrival: &Arrival<'_>) -> bool {
        let before = self.clone();
        if let Some(failures) = arrival.failures {
            let mut known = self.failures();
            known.extend(failures.clone());
            self.extra.insert("resource_failures".to_owned(), Value::Object(known));
        }
        if arrival.skip {
            self.extra.insert("skip_propagate".to_owned(), Value::Bool(true));
        }
        self.arrived.insert(arrival.sender.to_key(), arrival.data.clone());
        *self != before
    }

    /// Which of the expected have not arrived.
    pub fn missing<'n>(&self, expected: impl Iterator<Item = &'n Node>) -> Vec<&'n Node> {
        expected
            .filter(|node| !self.arrived.contains_key(&node.to_key()))
            .collect()
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

    pub fn input_data(&self) -> Value {
        let mut outer = Map::new();
        outer.insert("input_data".to_owned(), Value::Object(self.arrived.clone()));
        Value::Object(outer)
    }

    pub fn extra_data(&self) -> Option<Value> {
        if self.extra.is_empty() {
            return None;
        }
        let mut outer = Map::new();
        outer.insert("extra_data".to_owned(), Value::Object(self.extra.clone()));
        Some(Value::Object(outer))
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn the_text_is_what_the_python_engine_writes() {
        let mut meeting = Meeting::read(Some(&json!({})), None);
        let sender = Node::update(7);
        assert!(meeting.admit(&Arrival {
            sender: &sender,
            data: &json!({"id": 7}),
            failures: None,
            skip: false
        }));
        assert_eq!(
            meeting.input_data(),
            json!({"input_data": {"tuple:(7, True, 'resource')": {"id": 7}}})
        );
        assert_eq!(meeting.extra_data(), None);
        let again = Meeting::read(Some(&meeting.input_data()), meeting.extra_data().as_ref());
        assert_eq!(again, meeting);
    }

    #[test]
    fn the_second_time_is_no_news() {
        let mut meeting = Meeting::default();
        let (first, second) = (Node::update(1), Node::update(2));
        let arrival = |sender| Arrival {
            sender,
            data: &Value::Null,
            failures: None,
            skip: false,
        };
        assert!(meeting.admit(&arrival(&first)));
        assert!(!meeting.admit(&arrival(&first)));
        assert_eq!(meeting.missing([&first, &second].into_iter()), [&second]);
    }

    #[test]
    fn failures_add_up() {
        let mut meeting = Meeting::default();
        let failures = [json!({"a": "x"}), json!({"b": "y"})];
        for (id, failures) in failures.iter().enumerate() {
            let sender = Node::update(id as i64);
            meeting.admit(&Arrival {
                sender: &sender,
                data: &Value::Null,
                failures: failures.as_object(),
                skip: true,
            });
        }
        assert_eq!(Value::Object(meeting.failures()), json!({"a": "x", "b": "y"}));
        assert!(meeting.skip_propagate());
    }
}
