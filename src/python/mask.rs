//! Which values are not for logs and screens, by the names that they have: what Python's libraries mask.

use serde_json::Value;

pub const MASKED: &str = "***";

const SECRET_NAMES: [&str; 8] = [
    "pass",
    "token",
    "secret",
    "private_key",
    "credential",
    "auth",
    "pswd",
    "session_key",
];

/// Whether what has this name is likely to be a secret.
pub fn is_secret_name(name: &str) -> bool {
    let name = name.to_ascii_lowercase();
    SECRET_NAMES.iter().any(|part| name.contains(part))
}

/// The value with `***` for every text whose name says that it is a secret.
pub fn masked(value: &Value) -> Value {
    match value {
        Value::Object(fields) => fields
            .iter()
            .map(|(name, value)| match value.is_string() && is_secret_name(name) {
                true => (name.clone(), MASKED.into()),
                false => (name.clone(), masked(value)),
            })
            .collect(),
        Value::Array(items) => items.iter().map(masked).collect(),
        other => other.clone(),
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn secrets_stay_out_of_the_log() {
        let masked = masked(&json!({"payload": [{"admin_password": "x", "name": "y", "auth_token": "z"}]}));
        assert_eq!(
            masked,
            json!({"payload": [{"admin_password": "***", "name": "y", "auth_token": "***"}]})
        );
    }
}
