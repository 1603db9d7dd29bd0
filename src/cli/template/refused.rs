//! Which parts of a document are to blame for its being refused.

use serde_json::{Map, Value};

/// A step from a document to a part of it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Step {
    Key(String),
    Index(usize),
}

impl Step {
    pub fn name(&self) -> Option<&str> {
        match self {
            Self::Key(key) => Some(key),
            Self::Index(_) => None,
        }
    }

    /// A path as messages write it: `a.b[0]`.
    pub fn written(path: &[Self]) -> String {
        let mut text = String::new();
        for step in path {
            match step {
                Self::Index(index) => text.push_str(&format!("[{index}]")),
                Self::Key(key) if text.is_empty() => text.push_str(key),
                Self::Key(key) => text.extend([".", key]),
            }
        }
        text
    }
}

/// Looks for the parts that are refused.
pub struct Search<'c> {
    /// Asked of documents that hold one part only, at its place: why they are refused.
    pub refusal: &'c dyn Fn(&Value) -> Option<String>,
    /// So many steps below an entry of the document, with its name and value, parts make sense by themselves.
    pub depth: &'c dyn Fn(&str, &Value) -> usize,
}

impl Search<'_> {
    /// The smallest parts that are refused even if nothing else is there, each with why.
    pub fn of(&self, document: &Value) -> Vec<(Vec<Step>, String)> {
        let mut found = Vec::new();
        for (step, part) in parts(document) {
            let depth = match &step {
                Step::Key(key) => (self.depth)(key, part),
                Step::Index(_) => 0,
            };
            self.go_on(&mut vec![step], part, depth, &mut found);
        }
        found
    }

    fn go_on(&self, path: &mut Vec<Step>, part: &Value, depth: usize, found: &mut Vec<(Vec<Step>, String)>) {
        let Some(message) = (self.refusal)(&alone(path, part)) else {
            return;
        };
        let before = found.len();
        // A list further down is a value.
        let is_whole = part.is_array() && path.len() > 1;
        if let Some(depth) = depth.checked_sub(1).filter(|_| !is_whole) {
            for (step, inner) in parts(part) {
                path.push(step);
                self.go_on(path, inner, depth, found);
                path.pop();
            }
        }
        if found.len() == before {
            found.push((path.clone(), message));
        }
    }
}

fn parts(value: &Value) -> Vec<(Step, &Value)> {
    match value {
        Value::Object(entries) => entries
            .iter()
            .map(|(key, value)| (Step::Key(key.clone()), value))
            .collect(),
        Value::Array(items) => items
            .iter()
            .enumerate()
            .map(|(index, item)| (Step::Index(index), item))
            .collect(),
        _ => Vec::new(),
    }
}

/// A document that holds nothing but a part.
fn alone(path: &[Step], part: &Value) -> Value {
    path.iter().rev().fold(part.clone(), |inner, step| match step {
        Step::Key(key) => Value::Object(Map::from_iter([(key.clone(), inner)])),
        Step::Index(_) => Value::Array(vec![inner]),
    })
}

/// The part of a document at a path.
pub fn part<'v>(document: &'v Value, path: &[Step]) -> Option<&'v Value> {
    path.iter().try_fold(document, |part, step| match step {
        Step::Key(key) => part.get(key),
        Step::Index(index) => part.get(index),
    })
}

/// Takes a part out of a document.
pub fn without(document: &mut Value, path: &[Step]) {
    match (document, path) {
        (Value::Object(entries), [Step::Key(key)]) => drop(entries.shift_remove(key)),
        (Value::Array(items), [Step::Index(index)]) if *index < items.len() => drop(items.remove(*index)),
        (Value::Object(entries), [Step::Key(key), rest @ ..]) => {
            if let Some(inner) = entries.get_mut(key) {
                without(inner, rest);
            }
        }
        (Value::Array(items), [Step::Index(index), rest @ ..]) => {
            if let Some(inner) = items.get_mut(*index) {
                without(inner, rest);
            }
        }
        _ => {}
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn each_part_that_is_refused_by_itself_is_found() {
        fn has_a_five(value: &Value) -> bool {
            value == 5 || parts(value).iter().any(|(_, part)| has_a_five(part))
        }
        let mut document = json!({"a": {"b": [1, 5, {"c": 5}], "d": 5}, "e": 1, "f": [5], "g": [1, {"c": 5}]});
        let search = Search {
            refusal: &|part| has_a_five(part).then(|| part.to_string()),
            depth: &|key, _| if key == "f" { 0 } else { 9 },
        };
        let found = search.of(&document);
        let paths: Vec<String> = found.iter().map(|(path, _)| Step::written(path)).collect();
        assert_eq!(paths, ["a.b", "a.d", "f", "g[1].c"]);
        assert_eq!(found[3].1, json!({"g": [{"c": 5}]}).to_string());
        for (path, _) in found.iter().rev() {
            without(&mut document, path);
        }
        assert_eq!(document, json!({"a": {}, "e": 1, "g": [1, {}]}));
    }
}
