//! From a resource's definition in the template to its type and properties.

use indexmap::IndexMap;
use serde_json::Value;

use crate::plugins;
use crate::resource::plugin::ResourceType;
use crate::resource::properties::{Given, Properties};
use crate::template::{Expression, Place, References, RegisteredType, ResolveError, ResourceDefinition, Template};

/// What a type name of a template stands for.
#[derive(Clone, Copy, Debug)]
pub enum KnownType {
    Native(&'static ResourceType),
    /// A type, a template or a provider that this engine does not have.
    Elsewhere,
}

/// Looks a type up as the stack's environment maps it.
pub fn find_type(template: &Template, definition: &ResourceDefinition) -> KnownType {
    let registry = &template.environment().registry;
    let is_plugin = |name: &str| plugins::find(name).is_some();
    match registry.resolve(&definition.resource_type, Some(&definition.name), &is_plugin) {
        Ok(RegisteredType::Plugin(name)) => plugins::find(&name).map_or(KnownType::Elsewhere, KnownType::Native),
        Ok(RegisteredType::Template(_)) | Err(_) => KnownType::Elsewhere,
    }
}

/// The properties that the definition gives, resolved as far as they can be. The type has not shaped them yet.
pub fn properties_of(
    resource_type: &'static ResourceType,
    definition: &ResourceDefinition,
    references: &dyn References,
) -> Result<Properties, ResolveError> {
    let given = given_properties(definition.properties(), references)?;
    Ok(Properties::new(resource_type.properties, given).described(&definition.description))
}

fn given_properties(
    properties: Option<&Expression>,
    references: &dyn References,
) -> Result<IndexMap<String, Given>, ResolveError> {
    match properties {
        None => Ok(IndexMap::new()),
        Some(Expression::Map(entries)) => Ok(entries
            .iter()
            .map(|(name, expression)| (name.clone(), given(expression, references)))
            .collect()),
        Some(expression) => match expression.resolve(references)? {
            Value::Object(values) => Ok(values
                .into_iter()
                .map(|(name, value)| (name, Given::Value(value)))
                .collect()),
            _ => Ok(IndexMap::new()),
        },
    }
}

fn given(expression: &Expression, references: &dyn References) -> Given {
    let resolved = expression.resolve_or_absent(references).and_then(|value| {
        let kept = value.map(|value| references.allowance().keep(value, 0)).transpose();
        Ok(kept?)
    });
    match resolved {
        Ok(Some(value)) if is_settled(expression, references) => Given::Value(value),
        Ok(Some(value)) => Given::Unsettled(value),
        Ok(None) => Given::Absent,
        Err(error) => Given::Failed(error.to_string()),
    }
}

/// Whether every resource that the value depends on is there to be asked.
fn is_settled(expression: &Expression, references: &dyn References) -> bool {
    match expression.dependencies(references, &Place::Start(&[])) {
        Ok(names) => names.iter().all(|name| references.is_ready(name)),
        // The error shows itself where the value is used.
        Err(_) => true,
    }
}
