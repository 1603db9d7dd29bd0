//! The contract between the framework and a resource type.
//!
//! A type is a value, [`ResourceType`]: its schema is data, and its behaviour is a [`Plugin`] that holds only what is
//! special to it. Operations are split in what *acts* ([`make`](Plugin::make), [`change`](Plugin::change),
//! [`unmake`](Plugin::unmake)) and what *waits* ([`settle`](Plugin::settle), [`gone`](Plugin::gone)). The framework
//! owns everything between: locks, states, events, polling, timeouts, cancellation, retries.
//!
//! What an operation MUST do:
//!
//! * **`make`** stores the physical id ([`Instance::set_physical_id`]) the moment it is known, and MUST NOT fail after
//!   that. Where the service can tell, it first looks for the object of a lost attempt (by
//!   [`Instance::physical_name`]) and takes it over.
//! * **Waiting** depends on stored state alone: the physical id, the resource data, the properties. Nothing that `make`
//!   kept in memory, because another engine may do the waiting.
//! * **`unmake`** of what is missing succeeds, also when the physical id is not known. Where the service can tell, it then
//!   removes the object of a lost attempt: a replacement has another name and does not take it over.
//! * **Every operation may run twice**, and every step may be the last before a crash.
//! * **An error says what to do** ([`Failure`]): nothing, retry the action, or "it is not there".

use std::collections::BTreeSet;
use std::time::Duration;

use async_trait::async_trait;
use serde_json::{Map, Value};

use super::attributes::{Attribute, attributes_to_api};
use super::failure::Failure;
use super::instance::Instance;
use super::properties::Properties;
use super::rules::Rule;
use super::schema::{Property, properties_to_api};
use super::state::Action;
use super::support::SupportStatus;
use super::translation::TranslationRule;

/// One resource type, as data.
pub struct ResourceType {
    pub name: &'static str,
    /// The Python class behind the type: status reasons name an object by it (`TestResource "a" [id] …`).
    pub python_class: &'static str,
    pub description: &'static str,
    pub support: SupportStatus,
    /// The client that the type needs (`keystone`); a type without one lives in the engine alone.
    pub service: Option<&'static str>,
    pub properties: &'static [Property<'static>],
    pub attributes: &'static [Attribute<'static>],
    pub translation: &'static [TranslationRule],
    /// What is checked beyond the schema before anything is stored; not where values are not validated at all.
    pub rules: &'static [Rule],
    /// The longest name that the service takes.
    pub physical_name_limit: usize,
    pub plugin: &'static dyn Plugin,
}

impl ResourceType {
    /// As `resource_schema` shows it.
    pub fn to_api(&self, with_description: bool) -> Value {
        let mut shown = Map::new();
        shown.insert("resource_type".into(), self.name.into());
        shown.insert("properties".into(), properties_to_api(self.properties));
        shown.insert("attributes".into(), attributes_to_api(self.attributes));
        shown.insert("support_status".into(), self.support.to_api());
        if with_description {
            shown.insert("description".into(), self.description.into());
        }
        Value::Object(shown)
    }
}

impl std::fmt::Debug for ResourceType {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(self.name)
    }
}

/// Whether the world has followed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Progress {
    Done,
    /// Not yet: look again after this long (the framework may look later, and stops at the stack's timeout).
    Again(Duration),
}

/// What a `change` came to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Changed {
    InPlace,
    /// In place, and there is nothing to wait for.
    AtOnce,
    /// The object cannot be changed: make a new one and remove this.
    Replace,
}

/// What an update asks for: the properties as they are to be, as they were, and which differ.
pub struct Change<'a> {
    pub after: &'a Properties,
    pub before: &'a Properties,
    pub changed: &'a BTreeSet<String>,
    /// Other parts of the definition that differ (metadata, update policy, …).
    pub definition_changed: bool,
}

impl Change<'_> {
    pub fn touches(&self, property: &str) -> bool {
        self.changed.contains(property)
    }
}

#[async_trait]
pub trait Plugin: Send + Sync {
    /// Asks for the object.
    async fn make(&self, instance: &mut Instance) -> Result<(), Failure>;

    /// Whether the object is as the last `make` or `change` wanted it. `waited` counts from the start of the action on
    /// this engine.
    async fn settle(&self, _: &mut Instance, _: Action, _waited: Duration) -> Result<Progress, Failure> {
        Ok(Progress::Done)
    }

    /// Brings the object from `change.before` to `change.after`. Called with an empty difference too, when only the
    /// definition differs. By default what differs means a replacement.
    async fn change(&self, _: &mut Instance, change: &Change<'_>) -> Result<Changed, Failure> {
        Ok(if change.changed.is_empty() {
            Changed::InPlace
        } else {
            Changed::Replace
        })
    }

    /// Asks for the removal of the object.
    async fn unmake(&self, _: &mut Instance) -> Result<(), Failure> {
        Ok(())
    }

    /// Whether the object has gone.
    async fn gone(&self, _: &mut Instance, _waited: Duration) -> Result<Progress, Failure> {
        Ok(Progress::Done)
    }

    /// The value of an attribute; `None` when the object has no such value now.
    async fn attribute(&self, _: &mut Instance, _name: &str) -> Result<Option<Value>, Failure> {
        Ok(None)
    }

    /// The whole object as the service shows it, for the `show` attribute.
    async fn show(&self, _: &mut Instance) -> Result<Option<Value>, Failure> {
        Ok(None)
    }

    /// What `get_resource` gives.
    fn reference_id(&self, instance: &Instance) -> String {
        instance.physical_id().unwrap_or(&instance.name).to_owned()
    }

    /// Adjusts the schema to the values, for a type whose properties depend on each other.
    fn shape(&self, _: &mut Properties) {}

    /// Whether a resource may say what it likes, since its object stands for one of any other type.
    fn takes_anything(&self) -> bool {
        false
    }

    /// Whether the object is always as it should be, whatever the template says and however the last action ended:
    /// then no update is for it.
    fn ignores_updates(&self) -> bool {
        false
    }

    /// Whether `get_attr` may name what the schema does not have; [`attribute`](Self::attribute) then answers to any name.
    fn has_any_attribute(&self) -> bool {
        false
    }

    /// Whether these changes need a replacement although each property could be updated in place.
    fn needs_replace(&self, _: &Change<'_>) -> bool {
        false
    }

    /// Whether an object whose last action failed has to be replaced.
    async fn needs_replace_failed(&self, _: &mut Instance) -> Result<bool, Failure> {
        Ok(true)
    }

    /// Looks whether the object is as it should be. `None`: the type cannot tell.
    async fn check(&self, _: &mut Instance) -> Option<Result<(), Failure>> {
        None
    }

    /// The properties as the service has them now, for an update that compares with reality
    /// (`observe_on_update`, or a converging update). `None`: the type cannot tell.
    async fn observe(&self, _: &mut Instance) -> Result<Option<Map<String, Value>>, Failure> {
        Ok(None)
    }
}
