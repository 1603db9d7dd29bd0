//! Templates that stand for types of Heat: they have to take what these take, and to tell what these tell.

use super::checked::Nested;
use super::nested::property_type;
use crate::plugins::inventory::KnownType;
use crate::resource::schema::PropertyType;
use crate::template::parameters::own_schemata;

/// In what a template differs from the type for which it stands.
pub fn differences(known: &KnownType, nested: &Nested) -> Vec<String> {
    let Some(checked) = &nested.checked else {
        return Vec::new();
    };
    let Ok(parameters) = own_schemata(&checked.template) else {
        return Vec::new();
    };
    let name = known.name;
    let mut differences = Vec::new();
    for property in known.properties {
        let Some(parameter) = parameters.get(property.name) else {
            if property.required {
                let missing = format!(
                    "Required property {} for facade {name} missing in provider",
                    property.name
                );
                differences.push(missing);
            }
            continue;
        };
        let given = property_type(parameter.parameter_type);
        if as_parameter(property.kind).is_some_and(|expected| expected != given) {
            differences.push(format!(
                "Property {} type mismatch between facade {name} ({}) and provider ({})",
                property.name,
                property.kind.name(),
                given.name()
            ));
        }
    }
    let defaults = &checked.template.environment().parameter_defaults;
    for (parameter, schema) in &parameters {
        let is_required = schema.default.is_none() && !defaults.contains_key(parameter);
        if is_required && !known.properties.iter().any(|property| property.name == parameter) {
            differences.push(format!(
                "Provider requires property {parameter} unknown in facade {name}"
            ));
        }
    }
    let told = nested.attributes();
    let missing = known.attributes.iter().filter(|attribute| !told.contains(attribute));
    differences.extend(missing.map(|attribute| format!("Attribute {attribute} for facade {name} missing in provider")));
    differences
}

/// The type of the property that a parameter has to become.
fn as_parameter(kind: PropertyType) -> Option<PropertyType> {
    match kind {
        PropertyType::Integer => Some(PropertyType::Number),
        PropertyType::Any => None,
        kind => Some(kind),
    }
}
