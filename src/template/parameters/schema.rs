//! What a template says about a parameter.

use serde_json::{Map, Value};

use super::constraints::{Constraint, ConstraintKind};
use super::number_value;
use crate::python::regex::Patience;
use crate::python::repr::to_text;
use crate::python::value::class_name;
use crate::template::error::{Fault, TemplateError};
use crate::template::version::TemplateVersion;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ParameterType {
    Text,
    Number,
    List,
    Json,
    Boolean,
}

impl ParameterType {
    const ALL: [Self; 5] = [Self::Text, Self::Number, Self::List, Self::Json, Self::Boolean];

    /// The name in HOT or in the CloudFormation family.
    pub fn name(self, is_hot: bool) -> &'static str {
        match (self, is_hot) {
            (Self::Text, true) => "string",
            (Self::Number, true) => "number",
            (Self::List, true) => "comma_delimited_list",
            (Self::Json, true) => "json",
            (Self::Boolean, true) => "boolean",
            (Self::Text, false) => "String",
            (Self::Number, false) => "Number",
            (Self::List, false) => "CommaDelimitedList",
            (Self::Json, false) => "Json",
            (Self::Boolean, false) => "Boolean",
        }
    }
}

#[derive(Debug, Clone)]
pub struct ParameterSchema {
    pub parameter_type: ParameterType,
    pub description: Option<Value>,
    pub default: Option<Value>,
    pub constraints: Vec<Constraint>,
    /// As written: what counts is whether Python takes it for true.
    pub hidden: Value,
    pub label: Option<Value>,
    pub immutable: Value,
    pub tags: Option<Value>,
    is_hot: bool,
}

const HOT_KEYS: [&str; 8] = [
    "type",
    "description",
    "default",
    "schema",
    "constraints",
    "hidden",
    "label",
    "immutable",
];
const CFN_KEYS: [&str; 12] = [
    "Type",
    "Default",
    "NoEcho",
    "AllowedValues",
    "AllowedPattern",
    "MaxLength",
    "MinLength",
    "MaxValue",
    "MinValue",
    "Description",
    "ConstraintDescription",
    "Label",
];

impl ParameterSchema {
    pub fn from_definition(
        version: TemplateVersion,
        name: &str,
        definition: &Value,
        patience: &Patience,
    ) -> Result<Self, TemplateError> {
        let entity = format!("parameter ({name})");
        if !version.is_hot() {
            return Self::from_cfn(name, checked_map(definition, &CFN_KEYS, &entity)?, patience);
        }
        let definition = checked_map(definition, &schema_keys(version), &entity)?;
        Self::from_hot(version, name, definition, patience)
    }

    fn from_hot(
        version: TemplateVersion,
        name: &str,
        definition: &Map<String, Value>,
        patience: &Patience,
    ) -> Result<Self, TemplateError> {
        let written_type = definition.get("type").ok_or_else(|| missing_type(name))?;
        if definition.get("tags").is_some_and(|tags| !tags.is_array()) {
            let message = format!("Tags property should be a list for parameter: {name}");
            return Err(TemplateError::schema(message));
        }
        let constraints = hot_constraints(version, name, present(definition, "constraints"), patience)?;
        Ok(Self {
            parameter_type: parameter_type(written_type, true)?,
            description: present(definition, "description").cloned(),
            default: present(definition, "default").cloned(),
            constraints,
            hidden: definition.get("hidden").cloned().unwrap_or(Value::Bool(false)),
            label: present(definition, "label").cloned(),
            immutable: definition.get("immutable").cloned().unwrap_or(Value::Bool(false)),
            tags: present(definition, "tags").cloned(),
            is_hot: true,
        })
    }

    fn from_cfn(name: &str, definition: &Map<String, Value>, patience: &Patience) -> Result<Self, TemplateError> {
        let written_type = definition.get("Type").ok_or_else(|| missing_type(name))?;
        let no_echo = definition.get("NoEcho").map_or_else(|| "false".to_owned(), to_text);
        Ok(Self {
            constraints: cfn_constraints(definition, patience)?,
            parameter_type: parameter_type(written_type, false)?,
            description: present(definition, "Description").cloned(),
            default: present(definition, "Default").cloned(),
            hidden: Value::Bool(no_echo.to_lowercase() == "true"),
            label: present(definition, "Label").cloned(),
            immutable: Value::Bool(false),
            tags: None,
            is_hot: false,
        })
    }

    pub(super) fn pseudo(is_hot: bool, description: Option<&str>, default: &str) -> Self {
        Self {
            parameter_type: ParameterType::Text,
            description: description.map(Value::from),
            default: Some(Value::from(default)),
            constraints: Vec::new(),
            hidden: Value::Bool(false),
            label: None,
            immutable: Value::Bool(false),
            tags: None,
            is_hot,
        }
    }

    pub fn type_name(&self) -> &'static str {
        self.parameter_type.name(self.is_hot)
    }

    /// As [`validate`](Self::validate), naming the parameter.
    pub(in crate::template) fn check(&self, name: &str) -> Result<(), TemplateError> {
        self.validate()
            .map_err(|error| TemplateError::schema(format!("Parameter '{name}' is invalid: {error}")))
    }

    /// Whether the constraints fit the type, and the default the constraints.
    pub(super) fn validate(&self) -> Result<(), TemplateError> {
        if let Some(misplaced) = self
            .constraints
            .iter()
            .find(|constraint| !constraint.fits(self.parameter_type))
        {
            return Err(TemplateError::schema(format!(
                "{} constraint invalid for {}",
                misplaced.class_name(),
                self.type_name()
            )));
        }
        let Some(default) = &self.default else {
            return Ok(());
        };
        let checked = match (self.parameter_type, default) {
            (ParameterType::List, Value::String(text)) => text.split(',').collect(),
            (ParameterType::List, Value::Array(items)) => items.iter().map(to_text).collect(),
            (ParameterType::List, other) => {
                return Err(TemplateError::schema(format!(
                    "Default must be a comma-delimited list string: '{}' object has no attribute 'split'",
                    class_name(other)
                )));
            }
            (_, other) => other.clone(),
        };
        for constraint in &self.constraints {
            constraint
                .check(&checked, self.parameter_type, self.type_name())
                .map_err(|fault| TemplateError::schema(format!("Invalid default {} ({fault})", to_text(default))))?;
        }
        Ok(())
    }
}

/// The keys that the definition of a parameter may have.
pub fn schema_keys(version: TemplateVersion) -> Vec<&'static str> {
    if !version.is_hot() {
        return CFN_KEYS.to_vec();
    }
    let has_tags = version >= TemplateVersion::Hot20180302;
    HOT_KEYS.into_iter().chain(has_tags.then_some("tags")).collect()
}

/// The words that the schema of a parameter is made of.
pub fn schema_words(version: TemplateVersion) -> Vec<&'static str> {
    let types = ParameterType::ALL.map(|known| known.name(version.is_hot()));
    let constraints: &[&str] = if version.is_hot() { &CONSTRAINT_KEYS } else { &[] };
    [&schema_keys(version)[..], constraints, &types].concat()
}

fn missing_type(name: &str) -> TemplateError {
    TemplateError::schema(format!("Missing parameter type for parameter: {name}"))
}

fn parameter_type(written: &Value, is_hot: bool) -> Result<ParameterType, TemplateError> {
    ParameterType::ALL
        .into_iter()
        .find(|known| written.as_str() == Some(known.name(is_hot)))
        .ok_or_else(|| TemplateError::schema(format!("Invalid type ({})", to_text(written))))
}

/// A key that is there and not null.
fn present<'a>(definition: &'a Map<String, Value>, key: &str) -> Option<&'a Value> {
    definition.get(key).filter(|value| !value.is_null())
}

fn checked_map<'a>(value: &'a Value, keys: &[&str], entity: &str) -> Result<&'a Map<String, Value>, TemplateError> {
    let Value::Object(entries) = value else {
        return Err(TemplateError::schema(format!("Invalid {entity}, expected a mapping")));
    };
    match entries.keys().find(|key| !keys.contains(&key.as_str())) {
        Some(key) => Err(TemplateError::schema(format!("Invalid key '{key}' for {entity}"))),
        None => Ok(entries),
    }
}

const CONSTRAINT_KEYS: [&str; 7] = [
    "description",
    "length",
    "range",
    "modulo",
    "allowed_values",
    "allowed_pattern",
    "custom_constraint",
];

fn hot_constraints(
    version: TemplateVersion,
    name: &str,
    constraints: Option<&Value>,
    patience: &Patience,
) -> Result<Vec<Constraint>, TemplateError> {
    let constraints = match constraints {
        None => return Ok(Vec::new()),
        Some(Value::Array(constraints)) => constraints,
        Some(_) => {
            return Err(TemplateError::schema(format!(
                "Invalid parameter constraints for parameter {name}, expected a list"
            )));
        }
    };
    constraints
        .iter()
        .map(|constraint| {
            let constraint = checked_map(constraint, &CONSTRAINT_KEYS, "parameter constraints")?;
            Ok(Constraint {
                kind: hot_constraint(version, constraint, patience)?,
                description: description(constraint, "description"),
            })
        })
        .collect()
}

fn description(definition: &Map<String, Value>, key: &str) -> Option<String> {
    definition
        .get(key)
        .filter(|text| crate::python::value::is_true(text))
        .map(to_text)
}

fn hot_constraint(
    version: TemplateVersion,
    constraint: &Map<String, Value>,
    patience: &Patience,
) -> Result<ConstraintKind, TemplateError> {
    if let Some(modulo) = constraint
        .get("modulo")
        .filter(|_| version >= TemplateVersion::Hot20170224)
    {
        let modulo = checked_map(modulo, &["step", "offset"], "modulo constraint")?;
        return ConstraintKind::modulo(bound(modulo, "step")?, bound(modulo, "offset")?);
    }
    if let Some(range) = constraint.get("range") {
        let range = checked_map(range, &["min", "max"], "range constraint")?;
        return ConstraintKind::range(bound(range, "min")?, bound(range, "max")?);
    }
    if let Some(length) = constraint.get("length") {
        let length = checked_map(length, &["min", "max"], "length constraint")?;
        return ConstraintKind::length(bound(length, "min")?, bound(length, "max")?);
    }
    if let Some(allowed) = constraint.get("allowed_values") {
        return ConstraintKind::allowed_values(allowed);
    }
    if let Some(pattern) = constraint.get("allowed_pattern") {
        return ConstraintKind::allowed_pattern(pattern, patience);
    }
    match constraint.get("custom_constraint") {
        Some(name) => Ok(ConstraintKind::Custom(to_text(name))),
        None => Err(TemplateError::schema("No constraint expressed")),
    }
}

fn cfn_constraints(definition: &Map<String, Value>, patience: &Patience) -> Result<Vec<Constraint>, TemplateError> {
    let mut kinds = Vec::new();
    let has_one_of = |first: &str, second: &str| definition.contains_key(first) || definition.contains_key(second);
    if has_one_of("MinValue", "MaxValue") {
        kinds.push(ConstraintKind::range(
            bound(definition, "MinValue")?,
            bound(definition, "MaxValue")?,
        )?);
    }
    if has_one_of("MinLength", "MaxLength") {
        kinds.push(ConstraintKind::length(
            bound(definition, "MinLength")?,
            bound(definition, "MaxLength")?,
        )?);
    }
    if let Some(allowed) = definition.get("AllowedValues") {
        kinds.push(ConstraintKind::allowed_values(allowed)?);
    }
    if let Some(pattern) = definition.get("AllowedPattern") {
        kinds.push(ConstraintKind::allowed_pattern(pattern, patience)?);
    }
    let description = description(definition, "ConstraintDescription");
    Ok(kinds
        .into_iter()
        .map(|kind| Constraint {
            kind,
            description: description.clone(),
        })
        .collect())
}

/// A number in a constraint. (What is none ends as an internal error in Heat.)
fn bound(definition: &Map<String, Value>, key: &str) -> Result<Option<Value>, TemplateError> {
    present(definition, key)
        .map(|value| number_value(value).map_err(|fault: Fault| TemplateError::schema(fault.to_string())))
        .transpose()
}
