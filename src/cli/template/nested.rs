//! Templates that stand for types of resources: what a resource gives to their parameters.

use std::sync::Arc;

use indexmap::IndexMap;
use serde_json::{Map, Value};

use super::checked::TypeInfo;
use crate::python::to_text;
use crate::resource::properties::{Given, converted};
use crate::resource::schema::PropertyType;
use crate::template::parameters::{ParameterType, own_schemata};
use crate::template::{
    AttributeFailure, AttributePath, Environment, Expression, Foreseen, ResourceStates, Scope, StackDefinition,
    Template, World,
};

/// Resources of which only the types are known: nothing is made, and nothing has a value.
pub struct OfflineStates<'a>(pub &'a IndexMap<String, TypeInfo>);

impl ResourceStates for OfflineStates<'_> {
    fn state(&self, _: &str) -> Option<(&str, &str)> {
        None
    }

    fn reference_id(&self, _: &str) -> Option<Value> {
        None
    }

    fn attribute(&self, _: &str, _: &AttributePath) -> Result<Value, AttributeFailure> {
        Ok(Value::Null)
    }

    fn attributes(&self, _: &str) -> Result<Map<String, Value>, AttributeFailure> {
        Ok(Map::new())
    }

    fn has_attribute(&self, resource: &str, attribute: &str) -> bool {
        self.0.get(resource).is_none_or(|info| info.has_attribute(attribute))
    }
}

/// What a resource, or a member of a group, is given.
#[derive(Clone)]
pub struct GivenProperties {
    pub given: IndexMap<String, Given>,
    /// The same as far as it is certain; `None`: nobody knows.
    pub foreseen: Option<IndexMap<String, Foreseen>>,
}

/// The properties as far as they can be told; those that cannot have some value.
pub fn given_properties(properties: Option<&Expression>, scope: &Scope<'_>) -> IndexMap<String, Given> {
    let entries = properties.and_then(Expression::as_map);
    entries
        .into_iter()
        .flatten()
        .filter_map(|(name, expression)| {
            let given = match expression.resolve_or_absent(scope) {
                Ok(None) => return None,
                Ok(Some(value)) if expression.needs_no_cloud() => Given::Value(value),
                Ok(Some(value)) => Given::Unsettled(value),
                // Told already, or known only when the stack is made.
                Err(_) => Given::Unsettled(Value::Null),
            };
            Some((name.clone(), given))
        })
        .collect()
}

/// What is settled of the properties, as parameters.
pub fn settled(given: &IndexMap<String, Given>) -> Map<String, Value> {
    let settled = given.iter().filter_map(|(name, given)| match given {
        Given::Value(value) => Some((name.clone(), value.clone())),
        _ => None,
    });
    settled.collect()
}

/// All that is known of them, as parameters. What does not exist yet goes by its name.
pub fn foreseen(given: IndexMap<String, Given>) -> Map<String, Value> {
    let foreseen = given.into_iter().filter_map(|(name, given)| match given {
        Given::Value(value) | Given::Unsettled(value) if !value.is_null() => Some((name, value)),
        _ => None,
    });
    foreseen.collect()
}

/// The nested stack to whose parameters a resource gives these values.
pub fn definition_with(template: &Template, given: Map<String, Value>, world: &World) -> Option<StackDefinition> {
    let schemata = own_schemata(template).ok()?;
    let parameters = given.into_iter().map(|(name, value)| {
        let value = match schemata.get(&name) {
            Some(schema) => on_the_way(schema.parameter_type, value),
            None => value,
        };
        (name, value)
    });
    let environment = Environment {
        parameters: parameters.collect(),
        ..template.environment().clone()
    };
    let template = template.clone().with_environment(environment);
    StackDefinition::new(Arc::new(template), &Default::default(), world).ok()
}

/// The type of the property that stands for a parameter.
pub fn property_type(parameter_type: ParameterType) -> PropertyType {
    match parameter_type {
        ParameterType::Text => PropertyType::String,
        ParameterType::Number => PropertyType::Number,
        ParameterType::Boolean => PropertyType::Boolean,
        ParameterType::List => PropertyType::List,
        ParameterType::Json => PropertyType::Map,
    }
}

/// What a parameter gets of a value, which is a property on its way; one that does not fit is left to the parameter.
fn on_the_way(parameter_type: ParameterType, value: Value) -> Value {
    match (
        converted(property_type(parameter_type), value.clone(), true),
        parameter_type,
    ) {
        (Ok(Value::Array(items)), ParameterType::List) => joined(&items).into(),
        (converted, _) => converted.unwrap_or(value),
    }
}

/// A list as the text that a parameter takes for one. Maps are taken apart as in requests of the EC2 API.
fn joined(items: &[Value]) -> String {
    let are_maps = items.first().is_some_and(Value::is_object);
    let parts: Vec<String> = match are_maps {
        true => items
            .iter()
            .enumerate()
            .flat_map(|(number, item)| {
                let entries = item.as_object().into_iter().flatten();
                entries.map(move |(key, value)| format!(".member.{number}.{key}={}", to_text(value)))
            })
            .collect(),
        false => items
            .iter()
            .map(|item| if item.is_null() { String::new() } else { to_text(item) })
            .collect(),
    };
    parts.join(",")
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn properties_become_what_parameters_take() {
        for (parameter_type, value, expected) in [
            (ParameterType::Text, json!(5), json!("5")),
            (ParameterType::Text, json!(true), json!("True")),
            (ParameterType::Text, json!(1.5), json!(1.5)),
            (ParameterType::Number, json!("7"), json!(7)),
            (ParameterType::Number, json!("many"), json!("many")),
            (ParameterType::Boolean, json!("False"), json!(false)),
            (ParameterType::List, json!("a,b"), json!("a,b")),
            (ParameterType::List, json!(["a", null, "b"]), json!("a,,b")),
            (ParameterType::List, json!([]), json!("")),
            (
                ParameterType::List,
                json!([{"k": "v", "l": 1}, {"k": "w"}]),
                json!(".member.0.k=v,.member.0.l=1,.member.1.k=w"),
            ),
            (ParameterType::Json, json!({"k": "v"}), json!({"k": "v"})),
            (ParameterType::Json, json!(["v"]), json!("[\"v\"]")),
        ] {
            assert_eq!(on_the_way(parameter_type, value.clone()), expected, "{value}");
        }
    }
}
