//! Resources as replies have them.

use serde_json::{Map, Value, json};

use super::error::RequestError;
use super::time::isotime;
use crate::python::json_reader::loads;
use crate::python::to_text;
use crate::resource::attributes;
use crate::resource::state::{Action, Status};
use crate::stack::Stack;
use crate::stack::error::StackError;
use crate::stack::live::{LiveResource, SHOW};
use crate::store::Resource;

/// What every reply about a resource says. `row`: `None` for a resource that exists in the template alone.
pub fn summary(
    stack: &Stack,
    name: &str,
    type_name: &str,
    row: Option<&Resource>,
    required_by: &[String],
) -> Map<String, Value> {
    let created = match row {
        Some(row) => Some(row.created_at),
        None => stack.stored.then_some(stack.row.created_at),
    };
    let updated = row.and_then(|row| row.updated_at).or(created);
    let (init, complete) = (Action::Init.as_str(), Status::Complete.as_str());
    let Value::Object(mut shown) = json!({
        "updated_time": isotime(updated),
        "creation_time": isotime(created),
        "resource_name": name,
        "physical_resource_id": row.and_then(|row| row.physical_resource_id.as_deref()).unwrap_or_default(),
        "resource_action": row.map_or(Some(init), |row| row.action.as_deref()),
        "resource_status": row.map_or(Some(complete), |row| row.status.as_deref()),
        "resource_status_reason": row.map_or(Some(""), |row| row.status_reason.as_deref()),
        "resource_type": type_name,
        "resource_identity": stack.identifier().resource(name).to_value(),
        "stack_identity": stack.identifier().to_value(),
        "stack_name": stack.name(),
        "required_by": required_by,
    }) else {
        return Map::new();
    };
    if let Some(parent) = stack
        .row
        .parent_resource_name
        .as_deref()
        .filter(|parent| !parent.is_empty())
    {
        shown.insert("parent_resource".to_owned(), Value::from(parent));
    }
    shown
}

/// Which attributes a caller wants to see.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum WantedAttributes {
    /// All of the type, and these.
    AllAnd(Vec<String>),
    None,
}

impl WantedAttributes {
    /// `with_attr` as clients send it: `false` for none, a list of names on top, or nothing.
    pub fn read(with_attr: Option<&Value>) -> Self {
        match with_attr {
            Some(Value::Bool(false)) => Self::None,
            Some(Value::Array(names)) => Self::AllAnd(names.iter().map(to_text).collect()),
            Some(Value::String(name)) => Self::AllAnd(vec![name.clone()]),
            _ => Self::AllAnd(Vec::new()),
        }
    }
}

/// A resource with its description, metadata and attributes.
///
/// # Errors
/// When metadata that only the template gives cannot be told.
pub async fn details(
    stack: &Stack,
    resource: &mut LiveResource,
    required_by: &[String],
    wanted: &WantedAttributes,
) -> Result<Map<String, Value>, RequestError> {
    let row = resource.row.as_ref().map(|row| &row.resource);
    let definition = &resource.definition;
    let mut shown = summary(stack, &definition.name, &definition.resource_type, row, required_by);
    shown.insert("description".to_owned(), Value::from(definition.description.as_str()));
    shown.insert("metadata".to_owned(), metadata(resource)?);
    if let WantedAttributes::AllAnd(extra) = wanted {
        shown.insert(
            "attributes".to_owned(),
            Value::Object(current_attributes(resource, extra).await),
        );
    }
    Ok(shown)
}

/// What the template gives, until the resource has metadata of its own.
fn metadata(resource: &LiveResource) -> Result<Value, StackError> {
    let stored = resource.row.as_ref().filter(|_| resource.action() != Action::Init);
    match stored {
        Some(row) => {
            let text = row.resource.rsrc_metadata.as_deref();
            Ok(text.and_then(|text| loads(text).ok()).unwrap_or(Value::Null))
        }
        None => Ok(resource.metadata.clone()?),
    }
}

/// The attributes as they are now, never what was kept of them. Where the service shows the whole object, that is it.
async fn current_attributes(resource: &mut LiveResource, extra: &[String]) -> Map<String, Value> {
    let whole = match resource.ask(SHOW).await {
        Ok(Value::Object(whole)) => whole,
        _ => Map::new(),
    };
    let mut wanted = Vec::new();
    if whole.is_empty() {
        wanted.extend(attributes::names(resource.resource_type.attributes).map(str::to_owned));
    }
    for name in extra {
        if !whole.contains_key(name) && !wanted.contains(name) {
            wanted.push(name.clone());
        }
    }
    ask_all(resource, whole, wanted).await
}

/// What cannot be told is null.
async fn ask_all(resource: &mut LiveResource, mut shown: Map<String, Value>, names: Vec<String>) -> Map<String, Value> {
    for name in names {
        let value = match resource.has_attribute(&name) {
            true => resource.ask(&name).await,
            false => Ok(Value::Null),
        };
        let value = value.unwrap_or_else(|failure| {
            tracing::debug!(resource = resource.name(), attribute = name, %failure, "no value");
            Value::Null
        });
        shown.insert(name, value);
    }
    shown
}

/// The properties in the order of the schema; what cannot be read is null.
pub fn properties(resource: &LiveResource) -> Map<String, Value> {
    let properties = &resource.instance.properties;
    properties
        .schema()
        .iter()
        .map(|property| {
            let value = properties.get(property.name).unwrap_or_else(|error| {
                let error = &error as &dyn std::error::Error;
                tracing::info!(resource = resource.name(), property = property.name, error, "no value");
                Value::Null
            });
            (property.name.to_owned(), value)
        })
        .collect()
}
