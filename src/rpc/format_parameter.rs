//! Parameters as `validate_template` shows them, so that a client can ask a user for their values.

use serde_json::{Map, Value, json};

use crate::python::value::is_true;
use crate::template::parameters::{ConstraintKind, Parameter, ParameterType};

pub fn schema(parameter: &Parameter) -> Value {
    let schema = &parameter.schema;
    let mut shown = Map::new();
    let mut put = |key: &str, value: Value| {
        shown.insert(key.to_owned(), value);
    };
    put("Type", Value::from(type_name(schema.parameter_type)));
    put(
        "Description",
        schema
            .description
            .clone()
            .filter(is_true)
            .unwrap_or_else(|| Value::from("")),
    );
    put(
        "NoEcho",
        Value::from(if parameter.is_hidden() { "true" } else { "false" }),
    );
    put(
        "Label",
        schema
            .label
            .clone()
            .filter(is_true)
            .unwrap_or_else(|| Value::from(parameter.name.as_str())),
    );
    if let Some(default) = parameter.default() {
        put("Default", default.clone());
    }
    if let Some(value) = parameter.user_value().filter(|value| is_true(value)) {
        put("Value", value.clone());
    }
    if let Some(tags) = schema.tags.as_ref().filter(|tags| is_true(tags)) {
        put("Tags", tags.clone());
    }
    let mut descriptions = Vec::new();
    for constraint in &schema.constraints {
        for (key, value) in constraint_fields(&constraint.kind) {
            put(key, value);
        }
        descriptions.extend(constraint.description.as_deref().filter(|text| !text.is_empty()));
    }
    if !descriptions.is_empty() {
        put("ConstraintDescription", Value::from(descriptions.join(" ")));
    }
    Value::Object(shown)
}

/// The names of the CloudFormation family, whatever family the template is of.
fn type_name(parameter_type: ParameterType) -> &'static str {
    parameter_type.name(false)
}

fn constraint_fields(kind: &ConstraintKind) -> Vec<(&'static str, Value)> {
    let bounds = |min: &Option<Value>, max: &Option<Value>, names: [&'static str; 2]| {
        let bounds = [min, max].into_iter().zip(names);
        bounds
            .filter_map(|(bound, name)| Some((name, bound.clone()?)))
            .collect()
    };
    match kind {
        ConstraintKind::Length { min, max } => bounds(min, max, ["MinLength", "MaxLength"]),
        ConstraintKind::Range { min, max } => bounds(min, max, ["MinValue", "MaxValue"]),
        ConstraintKind::Modulo { step, offset } => vec![("Step", step.clone()), ("Offset", offset.clone())],
        ConstraintKind::AllowedValues(allowed) => vec![("AllowedValues", json!(allowed))],
        ConstraintKind::AllowedPattern { pattern, .. } => vec![("AllowedPattern", json!(pattern))],
        ConstraintKind::Custom(name) => vec![("CustomConstraint", json!(name))],
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Recorded with `tests/lab/rpc_call.py` from a Python engine 27.0.1.
    #[test]
    fn parameters_are_shown_as_the_python_engine_shows_them() {
        let template = json!({
            "heat_template_version": "2018-08-31",
            "parameters": {
                "n": {
                    "type": "number", "default": 2, "label": "N",
                    "constraints": [{"range": {"min": 1, "max": 5}, "description": "foo"}]
                },
                "s": {"type": "string", "hidden": true, "default": "sec", "tags": ["a", "b"]},
                "l": {"type": "comma_delimited_list", "default": "a,b"}
            }
        });
        let environment = crate::template::Environment::from_value(&json!({"parameters": {"n": 3}})).unwrap();
        let template =
            crate::template::Template::new(template, environment, crate::template::Files::default()).unwrap();
        let definition = crate::template::StackDefinition::new(template.into(), &Default::default()).unwrap();
        let shown: Map<String, Value> = definition
            .parameters()
            .defined()
            .map(|parameter| (parameter.name.clone(), schema(parameter)))
            .collect();
        let expected = r#"{"n":{"Type":"Number","Description":"","NoEcho":"false","Label":"N","Default":2,"Value":3,"MinValue":1,"MaxValue":5,"ConstraintDescription":"foo"},"s":{"Type":"String","Description":"","NoEcho":"true","Label":"s","Default":"sec","Tags":["a","b"]},"l":{"Type":"CommaDelimitedList","Description":"","NoEcho":"false","Label":"l","Default":"a,b"}}"#;
        assert_eq!(serde_json::to_string(&shown).unwrap(), expected);
    }
}
