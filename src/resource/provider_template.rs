//! The template that mirrors a type: each property a parameter, each attribute an output. Users begin a template of
//! their own with it.

use serde_json::{Map, Value, json};

use super::attributes::SHOW;
use super::constraints::{Constraint, Rule};
use super::plugin::ResourceType;
use super::schema::{Property, PropertyType};

/// The family of versions that the template is written in.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Dialect {
    Cfn,
    Hot,
}

pub fn provider_template(resource_type: &ResourceType, dialect: Dialect) -> Value {
    // The one resource is named after the class that users know from status reasons.
    let name = resource_type.python_class;
    let shown = || {
        let properties = resource_type.properties.iter();
        properties.filter(|property| property.implemented && !property.support.is_hidden())
    };
    let parameters: Map<String, Value> = shown()
        .map(|property| (property.name.to_owned(), dialect.parameter(property)))
        .collect();
    let properties: Map<String, Value> = shown()
        .map(|property| (property.name.to_owned(), dialect.reference(property)))
        .collect();
    let outputs = outputs(resource_type, name, dialect);
    let description = format!("Initial template of {name}");
    match dialect {
        Dialect::Hot => json!({
            "heat_template_version": "2016-10-14",
            "description": description,
            "parameters": parameters,
            "outputs": outputs,
            "resources": {name: {"type": resource_type.name, "properties": properties}},
        }),
        Dialect::Cfn => json!({
            "HeatTemplateFormatVersion": "2012-12-12",
            "Description": description,
            "Parameters": parameters,
            "Resources": {name: {"Type": resource_type.name, "Properties": properties}},
            "Outputs": outputs,
        }),
    }
}

fn outputs(resource_type: &ResourceType, name: &str, dialect: Dialect) -> Map<String, Value> {
    let attributes = resource_type.attributes.iter().chain([&SHOW]);
    let mut outputs: Map<String, Value> = attributes
        .filter(|attribute| !attribute.support.is_hidden())
        .map(|attribute| {
            let output = match dialect {
                Dialect::Hot => json!({
                    "value": {"get_attr": [name, attribute.name]},
                    "description": attribute.description,
                }),
                Dialect::Cfn => json!({
                    "Value": {"Fn::GetAtt": [name, attribute.name]},
                    "Description": attribute.description,
                }),
            };
            (attribute.name.to_owned(), output)
        })
        .collect();
    let reference = match dialect {
        Dialect::Hot => json!({"value": {"get_resource": name}}),
        Dialect::Cfn => json!({"Value": {"Ref": name}}),
    };
    outputs.insert("OS::stack_id".to_owned(), reference);
    outputs
}

impl Dialect {
    fn parameter(self, property: &Property) -> Value {
        let mut parameter = Map::new();
        let keys = match self {
            Self::Hot => ["type", "description", "default"],
            Self::Cfn => ["Type", "Description", "Default"],
        };
        let [type_key, description, default] = keys.map(str::to_owned);
        parameter.insert(type_key, self.parameter_type(property.kind).into());
        if let Some(text) = property.description {
            parameter.insert(description, text.into());
        }
        if let Some(value) = &property.default {
            parameter.insert(default, value.to_value());
        }
        match self {
            Self::Hot if property.constraints.is_empty() => {}
            Self::Hot => {
                let constraints = property.constraints.iter().map(hot_constraint);
                parameter.insert("constraints".to_owned(), constraints.map(Value::Object).collect());
            }
            Self::Cfn => {
                parameter.extend(property.constraints.iter().flat_map(cfn_constraint));
                if property.kind == PropertyType::Boolean {
                    let words = json!(["True", "true", "False", "false"]);
                    parameter.insert("AllowedValues".to_owned(), words);
                }
            }
        }
        Value::Object(parameter)
    }

    /// A property that may be anything becomes a parameter that can hold most of it.
    fn parameter_type(self, kind: PropertyType) -> &'static str {
        let (hot, cfn) = match kind {
            PropertyType::String => ("string", "String"),
            PropertyType::Integer | PropertyType::Number => ("number", "Number"),
            PropertyType::Boolean => ("boolean", "Boolean"),
            PropertyType::Map | PropertyType::Any => ("json", "Json"),
            PropertyType::List => ("comma_delimited_list", "CommaDelimitedList"),
        };
        match self {
            Self::Hot => hot,
            Self::Cfn => cfn,
        }
    }

    fn reference(self, property: &Property) -> Value {
        match self {
            Self::Hot => json!({"get_param": property.name}),
            Self::Cfn if property.kind == PropertyType::List => json!({"Fn::Split": [",", {"Ref": property.name}]}),
            Self::Cfn => json!({"Ref": property.name}),
        }
    }
}

/// A constraint as a parameter may have it too; empty for those that only properties have.
fn hot_constraint(constraint: &Constraint) -> Map<String, Value> {
    let mut shown = constraint.to_api();
    let shown = shown.as_object_mut().map(std::mem::take).unwrap_or_default();
    let known = ["length", "range", "allowed_values", "allowed_pattern"];
    shown
        .into_iter()
        .filter(|(name, _)| known.contains(&name.as_str()))
        .collect()
}

fn cfn_constraint(constraint: &Constraint) -> Vec<(String, Value)> {
    let bounds = |names: [&str; 2], bounds: [Option<Value>; 2]| {
        let pairs = names.map(str::to_owned).into_iter().zip(bounds);
        pairs.filter_map(|(name, bound)| Some((name, bound?))).collect()
    };
    match &constraint.rule {
        Rule::Length { min, max } => bounds(["MinLength", "MaxLength"], [min.map(Value::from), max.map(Value::from)]),
        Rule::Range { min, max } => bounds(
            ["MinValue", "MaxValue"],
            [min.map(|min| min.to_value()), max.map(|max| max.to_value())],
        ),
        Rule::AllowedTexts(allowed) => vec![("AllowedValues".to_owned(), json!(allowed))],
        Rule::AllowedValues(allowed) => {
            let allowed = allowed.iter().map(|value| value.to_value()).collect();
            vec![("AllowedValues".to_owned(), allowed)]
        }
        Rule::AllowedPattern(pattern) => vec![("AllowedPattern".to_owned(), (*pattern).into())],
        Rule::Modulo { .. } | Rule::Custom(_) => Vec::new(),
    }
}
