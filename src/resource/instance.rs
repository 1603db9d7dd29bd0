//! One resource, as its plugin sees it: what is stored of it, what the template wants, and the few ways to change
//! what is stored.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

use async_trait::async_trait;
use serde_json::{Map, Value};

use super::failure::Failure;
use super::plugin::ResourceType;
use super::properties::Properties;
use super::state::{Action, Status};
use crate::clock::Clock;
use crate::cloud::Session;

/// Where an instance's findings are stored, the moment they are known.
#[async_trait]
pub trait Record: Send + Sync {
    async fn set_physical_id(&self, id: Option<&str>) -> Result<(), Failure>;
    /// `redact`: the value is secret and is encrypted at rest.
    async fn set_data(&self, key: &str, value: &str, redact: bool) -> Result<(), Failure>;
    async fn delete_data(&self, key: &str) -> Result<(), Failure>;
}

/// The stack that an instance belongs to.
#[derive(Clone, Debug)]
pub struct StackFacts {
    pub id: String,
    pub name: String,
    pub tenant_id: String,
    pub user_project_id: Option<String>,
    pub action: Action,
    /// How long one of its actions may take.
    pub timeout: Duration,
}

pub struct Instance {
    pub name: String,
    pub uuid: String,
    /// The type as the template names it, which the registry may have mapped to [`Self::resource_type`].
    pub type_name: String,
    pub resource_type: &'static ResourceType,
    pub stack: Arc<StackFacts>,
    pub action: Action,
    pub status: Status,
    pub properties: Properties,
    pub clock: Clock,
    pub session: Session,
    physical_id: Option<String>,
    made_of: Option<Map<String, Value>>,
    data: BTreeMap<String, String>,
    record: Arc<dyn Record>,
}

/// What is stored of an instance.
pub struct Stored {
    pub physical_id: Option<String>,
    /// `None`: nothing but what `Instance::properties` says.
    pub properties: Option<Map<String, Value>>,
    pub data: BTreeMap<String, String>,
    pub record: Arc<dyn Record>,
}

/// What an instance is.
pub struct Identity {
    pub name: String,
    pub uuid: String,
    pub type_name: String,
    pub resource_type: &'static ResourceType,
    pub stack: Arc<StackFacts>,
    pub state: (Action, Status),
}

impl Instance {
    pub fn new(identity: Identity, stored: Stored, properties: Properties, clock: Clock, session: Session) -> Self {
        let (action, status) = identity.state;
        Self {
            name: identity.name,
            uuid: identity.uuid,
            type_name: identity.type_name,
            resource_type: identity.resource_type,
            stack: identity.stack,
            action,
            status,
            properties,
            clock,
            session,
            physical_id: stored.physical_id,
            made_of: stored.properties,
            data: stored.data,
            record: stored.record,
        }
    }

    /// The service's id of the object, once it is known.
    pub fn physical_id(&self) -> Option<&str> {
        self.physical_id.as_deref()
    }

    /// Stores the service's id of the object.
    pub async fn set_physical_id(&mut self, id: Option<&str>) -> Result<(), Failure> {
        self.record.set_physical_id(id).await?;
        self.physical_id = id.map(str::to_owned);
        Ok(())
    }

    /// A property as it was when the object was made or last changed, whatever the template has come to say; before any
    /// conversion, null where it was not given.
    pub fn made_of(&self, property: &str) -> Value {
        match &self.made_of {
            Some(stored) => stored.get(property).cloned().unwrap_or(Value::Null),
            None => self.properties.as_given(property),
        }
    }

    /// Makes the instance stand for an object that is not Heat's, to look at it.
    pub fn stand_for(&mut self, id: &str) {
        self.physical_id = Some(id.to_owned());
    }

    /// A value that the type has kept.
    pub fn data(&self, key: &str) -> Option<&str> {
        self.data.get(key).map(String::as_str)
    }

    /// Keeps a value; a secret one (`redact`) is encrypted at rest.
    pub async fn set_data(&mut self, key: &str, value: &str, redact: bool) -> Result<(), Failure> {
        self.record.set_data(key, value, redact).await?;
        self.data.insert(key.to_owned(), value.to_owned());
        Ok(())
    }

    pub async fn delete_data(&mut self, key: &str) -> Result<(), Failure> {
        if self.data.remove(key).is_some() {
            self.record.delete_data(key).await?;
        }
        Ok(())
    }

    /// How messages name it: `TestResource "a" [id] Stack "s" [id]`.
    pub fn description(&self) -> String {
        let class = self.resource_type.python_class;
        let stack = format!("Stack \"{}\" [{}]", self.stack.name, self.stack.id);
        match self.physical_id() {
            Some(id) => format!("{class} \"{}\" [{id}] {stack}", self.name),
            None => format!("{class} \"{}\" {stack}", self.name),
        }
    }

    /// The name to give to the object: stack, resource and a short id that is the same at every attempt.
    pub fn physical_name(&self) -> String {
        physical_name(
            &self.stack.name,
            &self.name,
            &self.uuid,
            self.resource_type.physical_name_limit,
        )
    }
}

/// `STACK-RESOURCE-shortid`; a name over the limit keeps its first two characters and its end.
pub fn physical_name(stack_name: &str, resource_name: &str, uuid: &str, limit: usize) -> String {
    let name = format!(
        "{}-{}-{}",
        stack_name.trim_end_matches('*'),
        resource_name,
        short_id(uuid)
    );
    let length = name.chars().count();
    if length <= limit {
        return name;
    }
    let head: String = name.chars().take(2).collect();
    let tail: String = name.chars().skip(length - limit.saturating_sub(3)).collect();
    format!("{head}-{tail}")
}

/// The 60 random bits in the time fields of a version 4 UUID, in base 32: 12 characters.
fn short_id(uuid: &str) -> String {
    const ALPHABET: &[u8; 32] = b"abcdefghijklmnopqrstuvwxyz234567";
    let Ok(uuid) = uuid::Uuid::parse_str(uuid) else {
        return uuid.chars().filter(char::is_ascii_alphanumeric).take(12).collect();
    };
    let (time_low, time_mid, time_high, _) = uuid.as_fields();
    let bits = (u64::from(time_high & 0x0fff) << 48) | (u64::from(time_mid) << 32) | u64::from(time_low);
    (0..12)
        .map(|position| ALPHABET[((bits >> (55 - 5 * position)) & 31) as usize] as char)
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_physical_name_is_the_one_that_the_python_engine_gives() {
        let name = physical_name("rows1", "seed", "d06e0f67-966e-4061-8a68-6ff74d1c9bdb", 255);
        assert_eq!(name, "rows1-seed-aymwn3ig4d3h");
    }

    #[test]
    fn a_name_over_the_limit_keeps_its_head_and_its_end() {
        let name = physical_name("rows1", "seed", "d06e0f67-966e-4061-8a68-6ff74d1c9bdb", 20);
        assert_eq!(name, "ro-seed-aymwn3ig4d3h");
    }
}
