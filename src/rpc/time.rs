//! Times as replies have them.

use chrono::NaiveDateTime;
use serde_json::Value;

/// `2026-11-29T14:35:03Z`, or null.
pub fn isotime(time: Option<NaiveDateTime>) -> Value {
    time.map_or(Value::Null, |time| {
        Value::String(time.format("%Y-%m-%dT%H:%M:%SZ").to_string())
    })
}

/// `2026-11-29T14:35:03.000000`, as a time travels that nobody has put into words; or null.
pub fn plain_time(time: Option<NaiveDateTime>) -> Value {
    time.map_or(Value::Null, |time| {
        Value::String(time.format("%Y-%m-%dT%H:%M:%S%.6f").to_string())
    })
}
