//! A parameter as the answer of `validate_template` describes it.

use serde_json::{Map, Value};

use super::constraints::ConstraintKind;
use super::{Parameter, ParameterSchema};
use crate::python::value::is_true;

impl Parameter {
    /// Type, texts, values and constraints, under the names that clients expect whatever family the template is of.
    pub fn describe(&self) -> Value {
        let schema = &self.schema;
        let mut described = Map::new();
        let mut put = |key: &str, value: Option<Value>| {
            if let Some(value) = value {
                described.insert(key.to_owned(), value);
            }
        };
        let filled = |value: &Option<Value>| value.clone().filter(is_true);
        put("Type", Some(Value::from(schema.parameter_type.name(false))));
        put(
            "Description",
            Some(filled(&schema.description).unwrap_or_else(|| Value::from(""))),
        );
        put(
            "NoEcho",
            Some(Value::from(if self.is_hidden() { "true" } else { "false" })),
        );
        put(
            "Label",
            Some(filled(&schema.label).unwrap_or_else(|| Value::from(self.name.as_str()))),
        );
        put("Default", self.default().cloned());
        put("Value", self.user_value.clone().filter(is_true));
        put("Tags", filled(&schema.tags));
        describe_constraints(schema, &mut put);
        Value::Object(described)
    }
}

fn describe_constraints(schema: &ParameterSchema, put: &mut impl FnMut(&str, Option<Value>)) {
    for constraint in &schema.constraints {
        match &constraint.kind {
            ConstraintKind::Length { min, max } => {
                put("MinLength", min.clone());
                put("MaxLength", max.clone());
            }
            ConstraintKind::Range { min, max } => {
                put("MinValue", min.clone());
                put("MaxValue", max.clone());
            }
            ConstraintKind::Modulo { step, offset } => {
                put("Step", Some(step.clone()));
                put("Offset", Some(offset.clone()));
            }
            ConstraintKind::AllowedValues(allowed) => put("AllowedValues", Some(Value::Array(allowed.clone()))),
            ConstraintKind::AllowedPattern { pattern, .. } => {
                put("AllowedPattern", Some(Value::from(pattern.as_str())));
            }
            ConstraintKind::Custom(name) => put("CustomConstraint", Some(Value::from(name.as_str()))),
        }
    }
    let descriptions: Vec<&str> = schema
        .constraints
        .iter()
        .filter_map(|constraint| constraint.description.as_deref())
        .collect();
    if !descriptions.is_empty() {
        put("ConstraintDescription", Some(Value::from(descriptions.join(" "))));
    }
}
