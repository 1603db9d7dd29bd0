//! What must not be seen on a screen, or in a file that goes round.
//!
//! By value: hidden parameters, what resources keep encrypted, what lets the caller in; wherever such a value turns up, in
//! a property, in what a predecessor told, in a statement, it is `***`. By name: what is called a password is one.

use serde_json::{Map, Value};

use crate::identity::RequestContext;
use crate::python::mask::{MASKED, is_secret_name};
use crate::template::StackDefinition;

/// Shorter ones are hidden where they stand alone: as a part of other texts they would be everywhere.
const SHORTEST_PART: usize = 4;

#[derive(Clone, Debug, Default)]
pub struct Secrets {
    /// The longest first, since one may be a part of another.
    values: Vec<String>,
}

impl Secrets {
    pub fn add(&mut self, value: &str) {
        if value.is_empty() || self.values.iter().any(|known| known == value) {
            return;
        }
        self.values.push(value.to_owned());
        self.values.sort_by_key(|value| std::cmp::Reverse(value.len()));
    }

    pub fn add_hidden_parameters(&mut self, definition: &StackDefinition) {
        let parameters = definition.parameters();
        for name in parameters.hidden_names() {
            if let Some(Ok(value)) = parameters.get(name).map(|parameter| parameter.value()) {
                self.add_leaves(&value);
            }
        }
    }

    pub fn add_context(&mut self, context: &RequestContext) {
        let keys = [
            &context.auth_token,
            &context.password,
            &context.aws_creds,
            &context.trust_id,
        ];
        for value in keys.into_iter().flatten() {
            self.add(value);
        }
    }

    fn add_leaves(&mut self, value: &Value) {
        match value {
            Value::String(text) => self.add(text),
            Value::Number(number) => self.add(&number.to_string()),
            Value::Array(items) => items.iter().for_each(|item| self.add_leaves(item)),
            Value::Object(entries) => entries.values().for_each(|entry| self.add_leaves(entry)),
            Value::Null | Value::Bool(_) => {}
        }
    }

    pub fn hide_in(&self, text: &str) -> String {
        if self.values.iter().any(|secret| secret == text) {
            return MASKED.to_owned();
        }
        let parts = self.values.iter().filter(|secret| secret.len() >= SHORTEST_PART);
        parts.fold(text.to_owned(), |text, secret| match text.contains(secret.as_str()) {
            true => text.replace(secret.as_str(), MASKED),
            false => text,
        })
    }

    pub fn hide(&self, value: &Value) -> Value {
        match value {
            Value::String(text) => Value::from(self.hide_in(text)),
            Value::Number(number) => match self.hide_in(&number.to_string()) {
                hidden if hidden == MASKED => Value::from(hidden),
                _ => value.clone(),
            },
            Value::Array(items) => items.iter().map(|item| self.hide(item)).collect(),
            Value::Object(entries) => Value::Object(self.hide_map(entries)),
            Value::Null | Value::Bool(_) => value.clone(),
        }
    }

    pub fn hide_map(&self, entries: &Map<String, Value>) -> Map<String, Value> {
        let hide = |(name, value): (&String, &Value)| match value {
            Value::String(_) | Value::Number(_) if is_secret_name(name) => (name.clone(), Value::from(MASKED)),
            value => (self.hide_in(name), self.hide(value)),
        };
        entries.iter().map(hide).collect()
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn a_secret_is_hidden_wherever_it_turns_up() {
        let mut secrets = Secrets::default();
        for value in ["hush", "hush-hush", "7"] {
            secrets.add(value);
        }
        let value = json!({"url": "db://u:hush-hush@h", "port": 7, "n": 17, "list": ["hush"], "admin_pass": "x"});
        let expected = json!({"url": "db://u:***@h", "port": "***", "n": 17, "list": ["***"], "admin_pass": "***"});
        assert_eq!(secrets.hide(&value), expected);
        assert_eq!(secrets.hide_in("row 17"), "row 17");
    }
}
