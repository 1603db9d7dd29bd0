//! Filters of a listing: the names that clients use, translated to those of the columns.

use std::collections::BTreeSet;

use serde_json::{Map, Value};

use crate::python::value::is_true;

/// What clients call a column, and its name.
const COLUMNS: &[(&str, &str)] = &[
    ("stack_name", "name"),
    ("stack_action", "action"),
    ("stack_status", "status"),
    ("stack_status_reason", "status_reason"),
    ("disable_rollback", "disable_rollback"),
    ("timeout_mins", "timeout"),
    ("stack_owner", "username"),
    ("parent", "owner_id"),
    ("stack_user_project_id", "stack_user_project_id"),
];

const STATUSES: [&str; 3] = ["COMPLETE", "FAILED", "IN_PROGRESS"];

/// Filters by the names of the columns. A status such as `CREATE_FAILED` becomes an action and a status.
pub fn by_columns(mut filters: Map<String, Value>) -> Map<String, Value> {
    for (client_name, column) in COLUMNS {
        let Some(wanted) = filters.shift_remove(*client_name).filter(is_true) else {
            continue;
        };
        let wanted = match filters.get(*column).filter(|there| is_true(there)) {
            Some(there) => {
                let mut both = as_list(wanted);
                both.extend(as_list(there.clone()));
                Value::Array(both)
            }
            None => wanted,
        };
        filters.insert((*column).to_owned(), wanted);
    }
    split_status(&mut filters);
    filters
}

fn split_status(filters: &mut Map<String, Value>) {
    let Some(given) = filters.get("status").cloned() else {
        return;
    };
    let mut statuses = BTreeSet::new();
    let mut actions = BTreeSet::new();
    for word in as_list(given) {
        let word = word.as_str().unwrap_or_default();
        let found = STATUSES.iter().find_map(|status| word.rfind(status));
        if let Some(start) = found {
            statuses.insert(word[start..].to_owned());
            if start > 1 {
                // The character before the status is the underscore that joins the two.
                actions.insert(
                    word[..start]
                        .chars()
                        .rev()
                        .skip(1)
                        .collect::<String>()
                        .chars()
                        .rev()
                        .collect(),
                );
            }
        }
    }
    filters.insert("status".to_owned(), one_or_list(statuses));
    if !actions.is_empty() {
        let there = filters.get("action").cloned().map(as_list).unwrap_or_default();
        actions.extend(there.iter().filter_map(Value::as_str).map(str::to_owned));
        filters.insert("action".to_owned(), one_or_list(actions));
    }
}

fn as_list(value: Value) -> Vec<Value> {
    match value {
        Value::Array(items) => items,
        single => vec![single],
    }
}

fn one_or_list(words: BTreeSet<String>) -> Value {
    let mut words: Vec<Value> = words.into_iter().map(Value::String).collect();
    if words.len() == 1 {
        words.remove(0)
    } else {
        Value::Array(words)
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn translated(filters: Value) -> Value {
        let Value::Object(filters) = filters else {
            unreachable!()
        };
        Value::Object(by_columns(filters))
    }

    #[test]
    fn client_names_become_columns() {
        assert_eq!(
            translated(json!({"stack_name": "web", "name": ["db"], "parent": null, "id": "1"})),
            json!({"name": ["web", "db"], "id": "1"})
        );
    }

    #[test]
    fn a_status_with_its_action_is_split() {
        assert_eq!(
            translated(json!({"status": "CREATE_FAILED"})),
            json!({"status": "FAILED", "action": "CREATE"})
        );
        assert_eq!(
            translated(json!({"stack_status": ["CREATE_FAILED", "UPDATE_IN_PROGRESS"], "action": "DELETE"})),
            json!({"action": ["CREATE", "DELETE", "UPDATE"], "status": ["FAILED", "IN_PROGRESS"]})
        );
        assert_eq!(translated(json!({"status": "nonsense"})), json!({"status": []}));
    }
}
