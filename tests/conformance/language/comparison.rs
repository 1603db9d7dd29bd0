//! Whether two outcomes are the same, and which of their differences are agreed.

use heat_engine::python::dumps;
use heat_engine::python::json_reader::loads;
use serde_json::Value;

/// A difference on purpose: probes by name (a star stands for anything), and why.
pub struct Agreement {
    pub pattern: String,
    pub reason: String,
    /// What every difference of such a probe says, if not all are meant.
    text: Option<String>,
}

pub fn agreements() -> Vec<Agreement> {
    let listed = loads(include_str!("differences.json")).expect("differences.json is JSON");
    let text = |value: &Value| value.as_str().unwrap_or_default().to_owned();
    listed
        .as_array()
        .into_iter()
        .flatten()
        .map(|pair| Agreement {
            pattern: text(&pair[0]),
            reason: text(&pair[1]),
            text: pair[2].as_str().map(str::to_owned),
        })
        .collect()
}

impl Agreement {
    /// Whether it speaks of what is not in the catalogue: of a corpus (`corpus …`) or of random input (`random …`).
    #[cfg_attr(not(test), expect(dead_code, reason = "only the test of the catalogue asks"))]
    pub fn is_for_generated(&self) -> bool {
        ["corpus ", "random "]
            .iter()
            .any(|source| self.pattern.starts_with(source))
    }

    pub fn covers(&self, name: &str, differences: &[String]) -> bool {
        let is_meant = |text: &String| differences.iter().all(|difference| difference.contains(text.as_str()));
        self.matches(name) && self.text.as_ref().is_none_or(is_meant)
    }

    fn matches(&self, name: &str) -> bool {
        match self.pattern.split_once('*') {
            Some((start, end)) => {
                name.len() >= start.len() + end.len() && name.starts_with(start) && name.ends_with(end)
            }
            None => self.pattern == name,
        }
    }
}

/// Compares what our side tells; what it does not tell (because the stack could not even be read) is not compared.
pub fn differences(expected: &Value, ours: &Value) -> Vec<String> {
    let mut differences = Vec::new();
    compare("", expected, ours, &mut differences);
    differences
}

fn compare(place: &str, expected: &Value, ours: &Value, differences: &mut Vec<String>) {
    match (expected, ours) {
        (Value::Object(expected), Value::Object(ours)) if !ours.contains_key("ok") && !ours.contains_key("error") => {
            for (key, value) in ours {
                let expected = expected.get(key).unwrap_or(&Value::Null);
                compare(&format!("{place}/{key}"), expected, value, differences);
            }
        }
        (Value::Object(expected), Value::Object(ours)) if expected.contains_key("ok") && ours.contains_key("ok") => {
            compare(place, &expected["ok"], &ours["ok"], differences);
        }
        _ if dumps(expected) == dumps(ours) => {}
        _ => differences.push(format!(
            "{place}\n      Heat: {}\n      ours: {}",
            dumps(expected),
            dumps(ours)
        )),
    }
}
