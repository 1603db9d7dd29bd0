//! A statement as a person wants to read it: the verb, the table, what is written where, with the values in their places.

use serde_json::Value;

use crate::cli::secrets::Secrets;
use crate::journal::Statement;

/// Tables in which every text may hold somebody's secrets, sealed or not.
const VEILED_TABLES: [&str; 5] = [
    "user_creds",
    "raw_template",
    "raw_template_files",
    "resource_data",
    "resource_properties_data",
];
const VEIL: &str = "…";

#[derive(Debug, PartialEq, Eq)]
pub struct Readable {
    pub verb: String,
    pub table: String,
    /// What is written, `column = value`.
    pub changes: Vec<String>,
    pub condition: String,
}

pub fn is_read(sql: &str) -> bool {
    sql.starts_with("SELECT")
}

/// BEGIN, COMMIT and ROLLBACK.
pub fn is_bracket(sql: &str) -> bool {
    !sql.contains(' ')
}

/// Values of a statement that may be shown.
pub fn visible_values(statement: &Statement, secrets: &Secrets) -> Vec<Value> {
    let veiled = VEILED_TABLES.contains(&table_of(&statement.sql));
    let show = |value: &Value| match value {
        Value::String(_) if veiled => Value::from(VEIL),
        Value::String(text) => Value::from(secrets.hide_in_json(text)),
        value => secrets.hide(value),
    };
    statement.values.iter().map(show).collect()
}

impl Readable {
    pub fn of(statement: &Statement, secrets: &Secrets) -> Self {
        let sql = statement.sql.replace('`', "");
        let values = visible_values(statement, secrets);
        let mut values = values.iter();
        let verb = sql.split(' ').next().unwrap_or_default().to_owned();
        let (written, condition) = match sql.split_once(" WHERE ") {
            Some((written, condition)) => (written, condition),
            None => (sql.as_str(), ""),
        };
        let changes = match verb.as_str() {
            "UPDATE" => changes_of_update(written, &mut values),
            "INSERT" => changes_of_insert(written, &mut values),
            _ => Vec::new(),
        };
        Self {
            table: table_of(&sql).to_owned(),
            condition: filled(condition, &mut values),
            verb,
            changes,
        }
    }
}

fn table_of(sql: &str) -> &str {
    let after = |word: &str| sql.split_once(word).map(|(_, rest)| rest);
    let rest = if sql.starts_with("UPDATE ") {
        after("UPDATE ")
    } else {
        after("INSERT INTO ").or_else(|| after(" FROM "))
    };
    rest.and_then(|rest| rest.split([' ', '(']).next()).unwrap_or_default()
}

fn changes_of_update<'v>(written: &str, values: &mut impl Iterator<Item = &'v Value>) -> Vec<String> {
    let Some((_, assignments)) = written.split_once(" SET ") else {
        return Vec::new();
    };
    parts(assignments)
        .into_iter()
        .map(|assignment| filled(assignment, values))
        .collect()
}

/// Of several rows with one statement the first.
fn changes_of_insert<'v>(written: &str, values: &mut impl Iterator<Item = &'v Value>) -> Vec<String> {
    let Some((_, rest)) = written.split_once('(') else {
        return Vec::new();
    };
    let Some((columns, rows)) = rest.split_once(')') else {
        return Vec::new();
    };
    let columns: Vec<&str> = parts(columns);
    let more = rows.matches('(').count().saturating_sub(1);
    let mut changes: Vec<String> = columns
        .into_iter()
        .map(|column| format!("{column} = {}", values.next().map_or("?".to_owned(), literal)))
        .collect();
    if more > 0 {
        changes.push(format!("and {more} more rows"));
    }
    changes
}

/// Splits at commas that are in no brackets.
fn parts(text: &str) -> Vec<&str> {
    let mut parts = Vec::new();
    let (mut depth, mut start) = (0_usize, 0);
    for (place, character) in text.char_indices() {
        match character {
            '(' => depth += 1,
            ')' => depth = depth.saturating_sub(1),
            ',' if depth == 0 => {
                parts.push(text[start..place].trim());
                start = place + 1;
            }
            _ => {}
        }
    }
    parts.push(text[start..].trim());
    parts
}

/// The values in the places of the question marks.
fn filled<'v>(text: &str, values: &mut impl Iterator<Item = &'v Value>) -> String {
    let mut pieces = text.split('?');
    let mut filled = pieces.next().unwrap_or_default().to_owned();
    for piece in pieces {
        filled.push_str(&values.next().map_or("?".to_owned(), literal));
        filled.push_str(piece);
    }
    filled
}

fn literal(value: &Value) -> String {
    match value {
        Value::Null => "NULL".to_owned(),
        Value::String(text) if text == VEIL => VEIL.to_owned(),
        Value::String(text) => format!("'{text}'"),
        other => other.to_string(),
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use serde_json::json;

    use super::*;
    use crate::journal::Outcome;

    fn statement(sql: &str, values: Value) -> Statement {
        Statement {
            sql: sql.to_owned(),
            values: values.as_array().cloned().unwrap_or_default(),
            rows: 1,
            took: Duration::ZERO,
            transaction: None,
            outcome: Outcome::Done,
        }
    }

    fn readable(sql: &str, values: Value) -> Readable {
        let mut secrets = Secrets::default();
        secrets.add("hush");
        Readable::of(&statement(sql, values), &secrets)
    }

    #[test]
    fn an_update_has_its_values_in_their_places() {
        let sql = "UPDATE resource SET `status` = ?, `engine_id` = ? WHERE id = ? AND atomic_key <=> ?";
        let shown = readable(sql, json!(["FAILED", null, 7, 3]));
        assert_eq!((shown.verb.as_str(), shown.table.as_str()), ("UPDATE", "resource"));
        assert_eq!(shown.changes, ["status = 'FAILED'", "engine_id = NULL"]);
        assert_eq!(shown.condition, "id = 7 AND atomic_key <=> 3");
    }

    #[test]
    fn functions_in_an_update_are_one_change() {
        let sql = "UPDATE resource_data SET updated_at = IF(redact <=> ? AND x, updated_at, ?), value = ? WHERE id = ?";
        let shown = readable(sql, json!([true, "now", "text", 1]));
        assert_eq!(
            shown.changes,
            ["updated_at = IF(redact <=> true AND x, updated_at, …)", "value = …"]
        );
        assert_eq!(shown.condition, "id = 1");
    }

    #[test]
    fn an_insert_is_shown_like_an_update() {
        let shown = readable(
            "INSERT INTO event (`uuid`, `resource_status_reason`) VALUES (?, ?), (?, ?)",
            json!(["u", "it is hush", "v", "w"]),
        );
        assert_eq!((shown.verb.as_str(), shown.table.as_str()), ("INSERT", "event"));
        assert_eq!(
            shown.changes,
            ["uuid = 'u'", "resource_status_reason = 'it is ***'", "and 1 more rows"]
        );
    }

    #[test]
    fn what_is_read_keeps_its_condition() {
        let shown = readable(
            "SELECT r.id FROM resource r LEFT JOIN x ON y WHERE r.id = ?",
            json!([4]),
        );
        assert_eq!(
            (shown.table.as_str(), shown.condition.as_str()),
            ("resource", "r.id = 4")
        );
        assert!(is_bracket("COMMIT") && is_read("SELECT 1") && !is_read("BEGIN"));
    }
}
