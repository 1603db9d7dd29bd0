//! The name under which clients know a stack, a resource or an event: four parts, which also make an ARN.

use percent_encoding::{AsciiSet, NON_ALPHANUMERIC, utf8_percent_encode};
use serde_json::{Map, Value};

use crate::store;
use crate::template::StackIdentity;

/// What Python's `quote` leaves as it is when told that nothing is safe.
const QUOTED: &AsciiSet = &NON_ALPHANUMERIC.remove(b'_').remove(b'.').remove(b'-').remove(b'~');
/// The same, with slashes left alone.
const QUOTED_PATH: &AsciiSet = &QUOTED.remove(b'/');

#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Identifier {
    pub tenant: String,
    pub stack_name: String,
    /// `None` as text for a stack that is not stored.
    pub stack_id: String,
    /// Empty for a stack; below it, `/resources/NAME` and `/events/UUID`.
    pub path: String,
}

impl Identifier {
    pub fn stack(tenant: impl Into<String>, stack_name: impl Into<String>, stack_id: Option<&str>) -> Self {
        Self {
            tenant: tenant.into(),
            stack_name: stack_name.into(),
            stack_id: stack_id.unwrap_or("None").to_owned(),
            path: String::new(),
        }
    }

    pub fn resource(&self, resource_name: &str) -> Self {
        self.below("resources", resource_name)
    }

    pub fn event(&self, resource_name: &str, event_uuid: &str) -> Self {
        self.resource(resource_name).below("events", event_uuid)
    }

    fn below(&self, kind: &str, name: &str) -> Self {
        Self {
            path: format!("{}/{kind}/{name}", self.path.trim_end_matches('/')),
            ..self.clone()
        }
    }

    pub fn to_value(&self) -> Value {
        let mut parts = Map::new();
        for (key, part) in [
            ("tenant", &self.tenant),
            ("stack_name", &self.stack_name),
            ("stack_id", &self.stack_id),
            ("path", &self.path),
        ] {
            parts.insert(key.to_owned(), Value::String(part.clone()));
        }
        Value::Object(parts)
    }

    /// `arn:openstack:heat::TENANT:stacks/NAME/ID`, what the pseudo parameter for the stack's id gives.
    pub fn arn(&self) -> String {
        format!(
            "arn:openstack:heat::{}:stacks/{}/{}{}",
            utf8_percent_encode(&self.tenant, QUOTED),
            utf8_percent_encode(&self.stack_name, QUOTED),
            utf8_percent_encode(&self.stack_id, QUOTED),
            utf8_percent_encode(&self.path, QUOTED_PATH),
        )
    }
}

/// What a stack's template knows of the stack.
pub fn identity_of(row: &store::Stack, stored: bool) -> StackIdentity {
    let tenant = row.tenant.as_deref().unwrap_or_default();
    let identifier = Identifier::stack(tenant, &row.name, stored.then_some(row.id.as_str()));
    StackIdentity {
        stack_id: identifier.stack_id.clone(),
        stack_name: row.name.clone(),
        project_id: tenant.to_owned(),
        arn: identifier.arn(),
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn what_is_below_a_stack_extends_its_path() {
        let stack = Identifier::stack("t", "web", Some("42"));
        assert_eq!(
            stack.event("db", "e-1").to_value(),
            json!({"tenant": "t", "stack_name": "web", "stack_id": "42", "path": "/resources/db/events/e-1"})
        );
        assert_eq!(
            stack.resource("db").arn(),
            "arn:openstack:heat::t:stacks/web/42/resources/db"
        );
    }

    #[test]
    fn a_stack_without_id_has_none_for_one() {
        assert_eq!(
            Identifier::stack("t", "a b", None).arn(),
            "arn:openstack:heat::t:stacks/a%20b/None"
        );
    }
}
