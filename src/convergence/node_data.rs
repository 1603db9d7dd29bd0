//! What a finished node tells about its resource: its reference, and the attributes that the template asks for.

use indexmap::{IndexMap, IndexSet};
use serde_json::Value;

use super::subject::Subjected;
use crate::resource::attributes::{self, CacheMode};
use crate::resource::lookup::LookupError;
use crate::resource::state::Action;
use crate::stack::error::StackError;
use crate::stack::node::{NodeData, attribute_key};
use crate::template::{AttributePath, StackDefinition};

/// The node data. Attributes that only outputs ask for are looked up too where they can be kept, so that showing the
/// stack need not ask the service again.
pub(super) async fn node_data(subject: &mut Subjected, definition: &StackDefinition) -> Result<NodeData, StackError> {
    let name = subject.tracked.row.name.clone();
    let for_resources = wanted(subject, definition.attributes_asked_by_resources(&name, &subject.known));
    let for_outputs = wanted(subject, definition.attributes_asked_by_outputs(&name, &subject.known));
    for attribute in for_outputs.difference(&for_resources) {
        if attributes::find(subject.instance.resource_type.attributes, &attribute.name)
            .is_none_or(|known| known.cache == CacheMode::Local)
        {
            value_of(subject, attribute).await?;
        }
    }
    let mut values = IndexMap::new();
    for attribute in &for_resources {
        if let Some(value) = value_of(subject, attribute).await? {
            values.insert(attribute_key(&attribute.name, &attribute.path), value);
        }
    }
    let instance = &subject.instance;
    let row = &subject.tracked.row;
    Ok(NodeData {
        id: row.id,
        name,
        uuid: row.uuid.clone(),
        reference_id: Value::from(instance.resource_type.plugin.reference_id(instance)),
        attributes: values,
        action: subject.tracked.action.to_string(),
        status: subject.tracked.status.to_string(),
    })
}

/// The attributes asked for, "all" spelt out.
fn wanted(subject: &Subjected, mut asked: IndexSet<AttributePath>) -> IndexSet<AttributePath> {
    if asked.shift_remove(&AttributePath::all()) {
        let all = attributes::names(subject.instance.resource_type.attributes);
        asked.extend(all.map(|name| AttributePath::new(name, Vec::new())));
    }
    asked
}

/// The value at a path; `None` for an attribute that the type does not have.
async fn value_of(subject: &mut Subjected, wanted: &AttributePath) -> Result<Option<Value>, StackError> {
    let resource_type = subject.instance.resource_type;
    if subject.tracked.action == Action::Init {
        let is_known = resource_type.plugin.has_any_attribute()
            || attributes::find(resource_type.attributes, &wanted.name).is_some();
        return Ok(is_known.then_some(Value::Null));
    }
    match subject
        .instance
        .look_up(&mut subject.tracked.attributes, &wanted.name, &wanted.path)
        .await
    {
        Ok(value) => Ok(Some(value)),
        Err(error @ LookupError::NoSuchAttribute { .. }) => {
            tracing::info!("{error}");
            Ok(None)
        }
        Err(LookupError::Failed(failure)) => Err(StackError::Attribute(failure)),
    }
}
