//! What functions make of secrets: its upper case, its lines, its digest.
//!
//! A secret is known by its value, and a function gives another one. So each call in the definitions is computed once more,
//! with somebody who looks on while it reads: what has read a secret gives one. What is in the template for all to see is none,
//! even if a function has chosen it.

use std::cell::{Cell, RefCell};
use std::collections::HashMap;
use std::sync::Arc;

use serde_json::{Map, Value};

use crate::cli::secrets::{Derived, Secrets, leaf_texts};
use crate::resource::attributes;
use crate::stack::known::KnownResources;
use crate::stack::node::NodeData;
use crate::stack::services::Services;
use crate::stack::stored::state_of;
use crate::store::{LoadedResource, PropertiesData};
use crate::template::{
    Allowance, AttributeFailure, AttributePath, Expression, Facade, References, ResolveError, ResourceDefinition,
    ResourceStates, Scope, StackDefinition, World,
};

/// What one function makes of a secret another may read. Each round goes the other way through the resources, so that it takes
/// many only where they are written in no order at all (or make something new each time).
const MOST_ROUNDS: usize = 10;

/// Adds all that the resources' definitions make of the secrets that are known.
pub fn add_derived(secrets: &mut Secrets, definitions: &[Arc<StackDefinition>], kept: &Kept, checked: &str) {
    for round in 0..MOST_ROUNDS {
        let known = secrets.count();
        let mut places = Vec::new();
        for definition in definitions {
            let mut resources: Vec<&ResourceDefinition> = definition.resources().values().collect();
            if round % 2 == 1 {
                resources.reverse();
            }
            for resource in resources {
                let found = of_resource(secrets, definition, resource, kept);
                places.extend(found.into_iter().filter(|_| resource.name == checked));
            }
        }
        secrets.set_places(places);
        if secrets.count() == known {
            break;
        }
    }
}

/// Adds what one resource makes of them, and gives the places of its properties where that stands.
fn of_resource(
    secrets: &mut Secrets,
    definition: &StackDefinition,
    resource: &ResourceDefinition,
    kept: &Kept,
) -> Vec<Derived> {
    let mut places = Vec::new();
    for_each_computed(resource.properties(), |place, call| {
        let Some((value, plain)) = made_of_secrets(secrets, definition, kept, call) else {
            return;
        };
        let derived = Derived {
            place: place.to_vec(),
            plain,
        };
        // What is stored may be of another time, when what it is made of was another.
        let stored = kept
            .properties_of(&resource.name)
            .filter_map(|stored| derived.find_in(stored));
        value
            .iter()
            .chain(stored)
            .for_each(|value| secrets.add_made(value, &derived.plain));
        places.push(derived);
    });
    for_each_computed(resource.metadata_expression(), |_, call| {
        if let Some((Some(value), plain)) = made_of_secrets(secrets, definition, kept, call) {
            secrets.add_made(&value, &plain);
        }
    });
    places
}

fn for_each_computed<'e>(section: Option<&'e Expression>, mut visit: impl FnMut(&[String], &'e Expression)) {
    if let Some(section) = section {
        section.visit_computed(&mut Vec::new(), &mut visit);
    }
}

/// What a call gives (nothing, where that cannot be told yet) and all that it has read beside secrets; `None` if it reads none.
fn made_of_secrets(
    secrets: &Secrets,
    definition: &StackDefinition,
    kept: &Kept,
    call: &Expression,
) -> Option<(Option<Value>, Vec<String>)> {
    let reading = Reading {
        definition,
        scope: definition.scope(kept),
        secrets,
        has_met_one: Cell::new(false),
        plain: RefCell::default(),
    };
    let value = call.resolve(&reading).ok();
    if !reading.has_met_one.get() {
        return None;
    }
    let mut plain = reading.plain.into_inner();
    // The functions' names and those of what they read are as plain as the other texts.
    plain.extend(leaf_texts(&call.render()));
    Some((value, plain))
}

/// What expressions see, and who looks on.
struct Reading<'a> {
    definition: &'a StackDefinition,
    scope: Scope<'a>,
    secrets: &'a Secrets,
    has_met_one: Cell<bool>,
    plain: RefCell<Vec<String>>,
}

impl Reading<'_> {
    fn note(&self, value: &Value) {
        match self.secrets.hide(value) != *value {
            true => self.has_met_one.set(true),
            false => self.plain.borrow_mut().extend(leaf_texts(value)),
        }
    }

    fn noted(&self, read: Result<Value, ResolveError>) -> Result<Value, ResolveError> {
        read.inspect(|value| self.note(value))
    }
}

impl References for Reading<'_> {
    fn parameter(&self, name: &str) -> Result<Option<Value>, ResolveError> {
        let value = self.scope.parameter(name)?;
        if let Some(value) = &value {
            match self.definition.parameters().hidden_names().any(|hidden| hidden == name) {
                true => {
                    self.has_met_one
                        .set(self.has_met_one.get() || !leaf_texts(value).is_empty());
                    add_names(value, &mut self.plain.borrow_mut());
                }
                false => self.note(value),
            }
        }
        Ok(value)
    }

    fn condition(&self, name: &Value) -> Result<bool, ResolveError> {
        self.scope.condition(name)
    }

    fn allowance(&self) -> &Allowance {
        self.scope.allowance()
    }

    fn world(&self) -> Option<&World> {
        self.scope.world()
    }

    fn file(&self, name: &str) -> Option<Value> {
        self.scope.file(name)
    }

    fn mappings(&self) -> Option<&Value> {
        self.scope.mappings()
    }

    fn facade(&self) -> Option<&Facade> {
        self.scope.facade()
    }

    fn availability_zones(&self) -> Result<Vec<String>, ResolveError> {
        self.scope.availability_zones()
    }

    fn has_resource(&self, name: &str) -> bool {
        self.scope.has_resource(name)
    }

    fn resource_reference(&self, resource: &str) -> Result<Value, ResolveError> {
        self.noted(self.scope.resource_reference(resource))
    }

    fn is_ready(&self, resource: &str) -> bool {
        self.scope.is_ready(resource)
    }

    fn is_ready_for_all(&self, resource: &str) -> bool {
        self.scope.is_ready_for_all(resource)
    }

    fn attribute(&self, resource: &str, attribute: &AttributePath) -> Result<Value, ResolveError> {
        self.noted(self.scope.attribute(resource, attribute))
    }

    fn all_attributes(&self, resource: &str) -> Result<Value, ResolveError> {
        self.noted(self.scope.all_attributes(resource))
    }

    fn has_attribute(&self, resource: &str, attribute: &str) -> bool {
        self.scope.has_attribute(resource, attribute)
    }
}

/// Values are hidden, and not by what names they are kept.
fn add_names(value: &Value, names: &mut Vec<String>) {
    match value {
        Value::Array(items) => items.iter().for_each(|item| add_names(item, names)),
        Value::Object(entries) => {
            for (name, value) in entries {
                names.push(name.clone());
                add_names(value, names);
            }
        }
        _ => {}
    }
}

/// The resources as the message tells of them, and as they are stored. Nobody is asked.
pub struct Kept {
    told: KnownResources,
    stored: KnownResources,
    /// Of each row.
    properties: HashMap<String, Vec<Map<String, Value>>>,
}

impl Kept {
    pub fn of(services: &Services, input_data: &Value, resources: &[LoadedResource]) -> Self {
        // What cannot be opened cannot be shown either.
        let open = |sealed: &Option<PropertiesData>| {
            let opened = sealed.as_ref().map(|sealed| services.key.open_properties(sealed));
            opened.and_then(Result::ok).unwrap_or_default()
        };
        let mut properties: HashMap<String, Vec<Map<String, Value>>> = HashMap::new();
        for loaded in resources {
            let of_name = properties.entry(loaded.resource.name.clone()).or_default();
            of_name.push(open(&loaded.properties));
        }
        // Of several rows with one name the newest counts.
        let mut rows: Vec<&LoadedResource> = resources.iter().collect();
        rows.sort_by_key(|loaded| loaded.resource.id);
        let stored = rows.into_iter().map(|loaded| {
            let row = &loaded.resource;
            let (action, status) = state_of(row);
            let physical_id = row.physical_resource_id.as_deref();
            NodeData {
                id: row.id,
                name: row.name.clone(),
                uuid: row.uuid.clone(),
                reference_id: Value::from(physical_id.unwrap_or(&row.name)),
                attributes: open(&loaded.attributes).into_iter().collect(),
                action: action.to_string(),
                status: status.to_string(),
            }
        });
        Self {
            told: KnownResources::from_input_data(input_data),
            stored: stored.collect(),
            properties,
        }
    }

    fn properties_of(&self, resource: &str) -> impl Iterator<Item = &Map<String, Value>> {
        self.properties.get(resource).into_iter().flatten()
    }

    fn best(&self, resource: &str) -> &KnownResources {
        match self.told.get(resource) {
            Some(_) => &self.told,
            None => &self.stored,
        }
    }
}

impl ResourceStates for Kept {
    fn allowance(&self) -> Allowance {
        self.told.allowance()
    }

    fn state(&self, resource: &str) -> Option<(&str, &str)> {
        self.best(resource).state(resource)
    }

    fn reference_id(&self, resource: &str) -> Option<Value> {
        self.best(resource).reference_id(resource)
    }

    fn attribute(&self, resource: &str, attribute: &AttributePath) -> Result<Value, AttributeFailure> {
        let kept = self.told.attribute(resource, attribute);
        let kept = kept.or_else(|_| self.stored.attribute(resource, attribute));
        kept.or_else(|_| {
            let whole = AttributePath::new(attribute.name.as_str(), Vec::new());
            let whole = self.stored.attribute(resource, &whole)?;
            Ok(attributes::select(&whole, &attribute.path))
        })
    }

    fn attributes(&self, resource: &str) -> Result<Map<String, Value>, AttributeFailure> {
        self.best(resource).attributes(resource)
    }

    fn has_attribute(&self, resource: &str, attribute: &str) -> bool {
        self.told.has_attribute(resource, attribute) || self.stored.has_attribute(resource, attribute)
    }
}
