//! What must not be seen on a screen, or in a file that goes round.
//!
//! By value: hidden parameters, what resources keep encrypted, what lets the caller in; wherever such a value turns up, in
//! a property, in what a predecessor told, in a statement, it is `***`. By name: what is called a password is one. By descent:
//! what a function makes of one, where that is looked for ([`super::once`]).

use percent_encoding::{NON_ALPHANUMERIC, utf8_percent_encode};
use serde_json::{Map, Value};

use crate::identity::RequestContext;
use crate::python::json::dumps;
use crate::python::mask::{MASKED, is_secret_name};
use crate::template::StackDefinition;

/// Shorter ones are hidden where they stand alone: as a part of other texts they would be everywhere.
const SHORTEST_PART: usize = 4;

#[derive(Clone, Debug, Default)]
pub struct Secrets {
    /// The longest first, since one may be a part of another.
    values: Vec<String>,
    /// Where the checked resource has what is made of secrets.
    places: Vec<Derived>,
}

/// A place of a resource's properties whose value a function makes of a secret.
#[derive(Clone, Debug, Default)]
pub struct Derived {
    /// Names and indexes, from the outside to the inside.
    pub place: Vec<String>,
    /// What the function has read beside the secret: that is none, wherever it ends up.
    pub plain: Vec<String>,
}

impl Derived {
    pub fn find_in<'v>(&self, properties: &'v Map<String, Value>) -> Option<&'v Value> {
        let (name, rest) = self.place.split_first()?;
        rest.iter().try_fold(properties.get(name)?, |value, step| match value {
            Value::Array(items) => items.get(step.parse::<usize>().ok()?),
            value => value.get(step),
        })
    }

    fn find_in_mut<'v>(&self, properties: &'v mut Map<String, Value>) -> Option<&'v mut Value> {
        let (name, rest) = self.place.split_first()?;
        let outermost = properties.get_mut(name)?;
        rest.iter().try_fold(outermost, |value, step| match value {
            Value::Array(items) => items.get_mut(step.parse::<usize>().ok()?),
            value => value.get_mut(step),
        })
    }

    /// Even what is too short to be looked for everywhere.
    fn hide_leaves(&self, value: &mut Value) {
        match value {
            Value::Array(items) => items.iter_mut().for_each(|item| self.hide_leaves(item)),
            Value::Object(entries) => entries.values_mut().for_each(|entry| self.hide_leaves(entry)),
            Value::Null => {}
            leaf => {
                let is_secret = leaf_texts(leaf).iter().all(|text| !is_plain(text, &self.plain));
                if is_secret {
                    *leaf = Value::from(MASKED);
                }
            }
        }
    }
}

impl Secrets {
    pub fn add(&mut self, value: &str) {
        if value.is_empty() || self.values.iter().any(|known| known == value) {
            return;
        }
        for form in forms(value) {
            if !self.values.contains(&form) {
                self.values.push(form);
            }
        }
        self.values.sort_by_key(|value| std::cmp::Reverse(value.len()));
    }

    /// What stands under names that say that it is a secret.
    pub fn add_named(&mut self, entries: &Map<String, Value>) {
        for (name, value) in entries {
            match value {
                Value::String(_) | Value::Number(_) if is_secret_name(name) => self.add_leaves(value),
                Value::Object(inner) => self.add_named(inner),
                Value::Array(items) => {
                    let inner = items.iter().filter_map(Value::as_object);
                    inner.for_each(|inner| self.add_named(inner));
                }
                _ => {}
            }
        }
    }

    pub fn add_hidden_parameters(&mut self, definition: &StackDefinition) {
        let parameters = definition.parameters();
        for name in parameters.hidden_names() {
            if let Some(Ok(value)) = parameters.get(name).map(|parameter| parameter.value()) {
                self.add_leaves(&value);
            }
        }
    }

    pub fn count(&self) -> usize {
        self.values.len()
    }

    pub fn set_places(&mut self, places: Vec<Derived>) {
        self.places = places;
    }

    /// What a function has made of a secret. What is short, or was plain before, is no secret in other places.
    pub fn add_made(&mut self, value: &Value, plain: &[String]) {
        for text in leaf_texts(value) {
            if text.len() >= SHORTEST_PART && !is_plain(&text, plain) {
                self.add(&text);
            }
        }
    }

    /// Hides what is made of secrets in the checked resource's properties. As the type reads them they may be other values
    /// than the template gives: those are secrets, too.
    pub fn hide_places(&mut self, properties: &mut Map<String, Value>) {
        let places = std::mem::take(&mut self.places);
        for derived in &places {
            if let Some(value) = derived.find_in_mut(properties) {
                self.add_made(value, &derived.plain);
                derived.hide_leaves(value);
            }
        }
        self.places = places;
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

    /// All texts and numbers in a value.
    pub fn add_leaves(&mut self, value: &Value) {
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

    /// As `hide_in`; of a text that is JSON, each value by itself.
    pub fn hide_in_json(&self, text: &str) -> String {
        let value = match text.starts_with(['{', '[']) {
            true => serde_json::from_str::<Value>(text).ok(),
            false => None,
        };
        match value.map(|value| (self.hide(&value), value)) {
            Some((hidden, value)) if hidden != value => dumps(&hidden),
            _ => self.hide_in(text),
        }
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

/// All texts in a value, and numbers, and the names in maps.
pub fn leaf_texts(value: &Value) -> Vec<String> {
    match value {
        Value::String(text) => Some(text.clone()).filter(|text| !text.is_empty()).into_iter().collect(),
        Value::Number(number) => vec![number.to_string()],
        Value::Array(items) => items.iter().flat_map(leaf_texts).collect(),
        Value::Object(entries) => {
            let texts = entries.iter();
            texts
                .flat_map(|(name, value)| [vec![name.clone()], leaf_texts(value)].concat())
                .collect()
        }
        Value::Null | Value::Bool(_) => Vec::new(),
    }
}

/// A short text is found in many where nobody has put it.
fn is_plain(text: &str, plain: &[String]) -> bool {
    plain.iter().any(|plain| match text.len() < SHORTEST_PART {
        true => plain == text,
        false => plain.contains(text),
    })
}

/// As it is, and as it stands in JSON (Python's, and others') and in a URL.
fn forms(value: &str) -> Vec<String> {
    let quoted = [dumps(&Value::from(value)), Value::from(value).to_string()];
    let inner = quoted
        .iter()
        .filter_map(|quoted| quoted.strip_prefix('"')?.strip_suffix('"'));
    let in_url = utf8_percent_encode(value, NON_ALPHANUMERIC).to_string();
    let inner = inner.map(str::to_owned);
    [value.to_owned(), in_url].into_iter().chain(inner).collect()
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

    #[test]
    fn a_secret_is_hidden_however_it_is_written() {
        let mut secrets = Secrets::default();
        secrets.add("p\u{e4}\"/ss");
        let json = json!({"text": "it is p\u{e4}\"/ss"});
        for written in [dumps(&json), json.to_string(), "http://h/p%C3%A4%22%2Fss/x".to_owned()] {
            let hidden = secrets.hide_in(&written);
            assert!(hidden.contains("***") && !hidden.contains("ss"), "{written}: {hidden}");
        }
    }

    #[test]
    fn in_json_short_ones_and_those_with_a_name_are_found_too() {
        let mut secrets = Secrets::default();
        secrets.add("xy");
        let hidden = secrets.hide_in_json(r#"{"a": ["xy", "xyz"], "token": "t", "n": 1}"#);
        assert_eq!(hidden, r#"{"a": ["***", "xyz"], "token": "***", "n": 1}"#);
        assert_eq!(secrets.hide_in_json("{xy"), "{xy");
    }

    #[test]
    fn what_has_the_name_of_a_secret_is_one_elsewhere_too() {
        let mut secrets = Secrets::default();
        let properties = json!({"password": "hunter2", "users": [{"auth_token": "abcdef"}], "name": "shown"});
        secrets.add_named(properties.as_object().unwrap());
        assert_eq!(secrets.hide_in("hunter2, abcdef, shown"), "***, ***, shown");
    }

    #[test]
    fn what_is_made_of_a_secret_is_one_and_what_stands_beside_it_is_not() {
        let mut secrets = Secrets::default();
        let plain = vec!["the word beside".to_owned(), "7".to_owned()];
        secrets.add_made(&json!({"word": ["HUSH-HUSH", "beside", "ab", 7, 12345]}), &plain);
        assert_eq!(secrets.hide_in("HUSH-HUSH beside ab 12345"), "*** beside ab ***");
        secrets.set_places(vec![Derived {
            place: vec!["list".to_owned(), "1".to_owned(), "of".to_owned()],
            plain,
        }]);
        let mut properties = json!({"list": ["ab", {"of": ["ab", 7, 8, "beside", true, null], "too": "ab"}]});
        secrets.hide_places(properties.as_object_mut().unwrap());
        let hidden = json!({"list": ["ab", {"of": ["***", 7, "***", "beside", "***", null], "too": "ab"}]});
        assert_eq!(properties, hidden);
    }
}
