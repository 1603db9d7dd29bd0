//! A resource that is stored nowhere, for the unit tests of resource types.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use async_trait::async_trait;
use serde_json::Value;

use super::failure::Failure;
use super::instance::{Identity, Instance, Record, StackFacts, Stored};
use super::plugin::ResourceType;
use super::properties::{Names, Properties};
use super::rules::{Facts, Violation};
use super::state::{Action, Status};
use crate::clock::Clock;
use crate::cloud::Cloud;
use crate::identity::RequestContext;
use crate::settings::Settings;

/// Writes down what a type stores, in its order.
#[derive(Clone, Default)]
pub struct Notes(Arc<Mutex<Vec<String>>>);

impl Notes {
    fn write(&self, note: String) {
        self.0.lock().unwrap().push(note);
    }

    pub fn taken(&self) -> Vec<String> {
        self.0.lock().unwrap().clone()
    }
}

#[async_trait]
impl Record for Notes {
    async fn set_physical_id(&self, id: Option<&str>) -> Result<(), Failure> {
        self.write(format!("id {}", id.unwrap_or("none")));
        Ok(())
    }

    async fn set_data(&self, key: &str, value: &str, redact: bool) -> Result<(), Failure> {
        let secret = if redact { " in secret" } else { "" };
        self.write(format!("{key}={value}{secret}"));
        Ok(())
    }

    async fn delete_data(&self, key: &str) -> Result<(), Failure> {
        self.write(format!("no {key}"));
        Ok(())
    }
}

pub fn stack() -> StackFacts {
    StackFacts {
        id: "7e24a1d4-3f3c-4b55-9a43-9e2e8c1c3f10".to_owned(),
        name: "stack".to_owned(),
        tenant_id: "tenant".to_owned(),
        user_project_id: None,
        action: Action::Create,
        timeout: Duration::from_secs(3600),
    }
}

/// The properties that a template gives, translated and shaped as far as no service is needed.
pub fn properties(resource_type: &ResourceType, given: Value) -> Properties {
    let Value::Object(given) = given else {
        panic!("properties are a map");
    };
    let mut properties = Properties::stored(resource_type.properties, given);
    properties.translate(resource_type.translation, Names::AsGiven);
    resource_type.plugin.shape(&mut properties);
    properties
}

/// The first rule of the type that properties break.
pub fn broken_rule(resource_type: &ResourceType, given: Value) -> Option<Violation> {
    let stack = stack();
    let properties = properties(resource_type, given);
    let violations = Facts::of("res", &properties, Some(&stack)).violations(resource_type.rules);
    violations.into_iter().next()
}

/// A new resource of that type with nothing stored yet.
pub fn instance(resource_type: &'static ResourceType, given: Value) -> (Instance, Notes) {
    let notes = Notes::default();
    let stored = Stored {
        physical_id: None,
        properties: None,
        data: BTreeMap::new(),
        record: Arc::new(notes.clone()),
    };
    let identity = Identity {
        name: "res".to_owned(),
        uuid: "d06e0f67-966e-4061-8a68-6ff74d1c9bdb".to_owned(),
        type_name: resource_type.name.to_owned(),
        resource_type,
        stack: Arc::new(stack()),
        state: (Action::Create, Status::InProgress),
    };
    let clock = Clock::system();
    let context = RequestContext {
        auth_token: Some("token".to_owned()),
        auth_url: Some("http://127.0.0.1:9/v3".to_owned()),
        ..RequestContext::default()
    };
    let cloud = Cloud::new((&Settings::defaults()).into(), clock.clone()).unwrap();
    let session = cloud.session(&context).unwrap();
    let properties = properties(resource_type, given);
    (Instance::new(identity, stored, properties, clock, session), notes)
}
