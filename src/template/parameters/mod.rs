//! Parameters: their schemata, their values, and what may be said about both.

mod constraints;
mod description;
mod groups;
mod schema;
mod schemata;

use std::sync::OnceLock;

use indexmap::IndexMap;
use serde_json::{Map, Value};

use super::document::Template;
use super::error::{Fault, ResolveError, TemplateError};
use crate::python::dumps;
use crate::python::json_reader::loads;
use crate::python::number::{PyNumber, parse_float, parse_int};
use crate::python::regex::Patience;
use crate::python::repr::to_text;
use crate::python::value::{bool_from_text, class_name, equals, is_true};

pub use constraints::{Constraint, ConstraintKind};
pub(crate) use groups::faults_of_groups;
pub use schema::{ParameterSchema, ParameterType, schema_keys, schema_words};
pub use schemata::{all_schemata, own_schemata};

/// What the pseudo parameters tell of a stack.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct StackIdentity {
    /// `None` as text for a stack that is not stored yet; empty where there is no stack at all.
    pub stack_id: String,
    pub stack_name: String,
    pub project_id: String,
    /// What the CloudFormation family takes for the id.
    pub arn: String,
}

/// What hidden values look like to users.
pub const REDACTED: &str = "******";

/// A parameter of a template, with what a user says about it.
#[derive(Debug, Clone)]
pub struct Parameter {
    pub name: String,
    pub schema: ParameterSchema,
    user_value: Option<Value>,
    user_default: Option<Value>,
    /// Reading a value may mean parsing a long JSON text, and functions ask for it again and again.
    value: OnceLock<Result<Value, ResolveError>>,
}

impl Parameter {
    pub fn new(name: impl Into<String>, schema: ParameterSchema, user_value: Option<Value>) -> Self {
        Self {
            name: name.into(),
            schema,
            user_value: user_value.filter(|value| !value.is_null()),
            user_default: None,
            value: OnceLock::new(),
        }
    }

    /// Sets the default that the environment gives, which goes before the template's.
    fn set_user_default(&mut self, default: &Value) {
        self.user_default = Some(default.clone()).filter(|value| !value.is_null());
        self.value = OnceLock::new();
    }

    pub fn default(&self) -> Option<&Value> {
        self.user_default.as_ref().or(self.schema.default.as_ref())
    }

    fn raw_value(&self) -> Option<&Value> {
        self.user_value.as_ref().or_else(|| self.default())
    }

    pub fn has_value(&self) -> bool {
        self.raw_value().is_some()
    }

    pub fn is_hidden(&self) -> bool {
        is_true(&self.schema.hidden)
    }

    pub fn is_immutable(&self) -> bool {
        is_true(&self.schema.immutable)
    }

    pub fn label(&self) -> String {
        self.schema
            .label
            .as_ref()
            .filter(|label| is_true(label))
            .map_or_else(|| self.name.clone(), to_text)
    }

    /// The value in the type of the parameter.
    pub fn value(&self) -> Result<Value, ResolveError> {
        self.value.get_or_init(|| self.compute_value()).clone()
    }

    fn compute_value(&self) -> Result<Value, ResolveError> {
        let Some(raw) = self.raw_value() else {
            if self.schema.parameter_type == ParameterType::Boolean {
                return Ok(Value::Bool(bool_from_text("None").map_err(Fault::ValueError)?));
            }
            return Err(TemplateError::UserParameterMissing { key: self.name.clone() }.into());
        };
        Ok(self.typed(raw)?)
    }

    fn typed(&self, raw: &Value) -> Result<Value, Fault> {
        match self.schema.parameter_type {
            ParameterType::Text => Ok(Value::String(to_text(raw))),
            ParameterType::Number => number_value(raw),
            ParameterType::Boolean => bool_from_text(&to_text(raw))
                .map(Value::Bool)
                .map_err(Fault::ValueError),
            ParameterType::List => list_value(raw),
            ParameterType::Json => json_value(raw),
        }
    }

    /// The value as users see it: hidden ones are not shown.
    pub fn display(&self) -> Result<String, ResolveError> {
        let value = self.value()?;
        if self.is_hidden() {
            return Ok(REDACTED.to_owned());
        }
        Ok(match (self.schema.parameter_type, &value) {
            (ParameterType::List, Value::Array(items)) => items.iter().map(to_text).collect::<Vec<_>>().join(","),
            (ParameterType::Json, value) => dumps(value),
            (_, value) => to_text(value),
        })
    }

    fn as_one_text(&self, value: &Value) -> Result<String, TemplateError> {
        match value {
            Value::Array(items) if self.schema.parameter_type == ParameterType::List => {
                let items: Vec<String> = items.iter().map(to_text).collect();
                if items.iter().any(|item| item.contains(',')) {
                    return Err(TemplateError::value_error(format!(
                        "Parameter '{}' cannot be stored encrypted: an item of the list contains a comma",
                        self.name
                    )));
                }
                Ok(items.join(","))
            }
            Value::Array(_) | Value::Object(_) => Ok(dumps(value)),
            other => Ok(to_text(other)),
        }
    }

    /// The names of its constraints that are not part of the language.
    pub fn custom_constraints(&self) -> impl Iterator<Item = &str> {
        self.schema
            .constraints
            .iter()
            .filter_map(|constraint| match &constraint.kind {
                ConstraintKind::Custom(name) => Some(name.as_str()),
                _ => None,
            })
    }

    /// Checks schema, default and value. What only a service can check is handed back.
    pub fn validate(&self, with_value: bool) -> Result<Vec<CustomConstraintCheck>, TemplateError> {
        self.validate_unnamed(with_value).map_err(|error| {
            let message = format!("Parameter '{}' is invalid: {error}", self.name);
            match error {
                TemplateError::InvalidSchemaError { .. } => TemplateError::schema(message),
                TemplateError::StackValidationFailed { .. } => TemplateError::invalid(message),
                other => other,
            }
        })
    }

    fn validate_unnamed(&self, with_value: bool) -> Result<Vec<CustomConstraintCheck>, TemplateError> {
        self.schema.validate()?;
        if !with_value {
            return Ok(Vec::new());
        }
        let raw = self
            .raw_value()
            .ok_or_else(|| TemplateError::UserParameterMissing { key: self.name.clone() })?;
        let checked = match self.schema.parameter_type {
            ParameterType::List | ParameterType::Json => self.typed(raw).map_err(as_failure)?,
            ParameterType::Number | ParameterType::Boolean => {
                self.typed(raw).map_err(as_failure)?;
                raw.clone()
            }
            ParameterType::Text => raw.clone(),
        };
        let mut custom = Vec::new();
        for constraint in &self.schema.constraints {
            match &constraint.kind {
                ConstraintKind::Custom(name) => custom.push(CustomConstraintCheck {
                    parameter: self.name.clone(),
                    constraint: name.clone(),
                    value: checked.clone(),
                    description: constraint.description.clone(),
                }),
                _ => constraint
                    .check(&checked, self.schema.parameter_type, self.schema.type_name())
                    .map_err(as_failure)?,
            }
        }
        Ok(custom)
    }
}

/// Python's ValueErrors fail the validation with their text. (Its TypeErrors end as internal errors there; a user is
/// helped more by the same treatment.)
fn as_failure(fault: Fault) -> TemplateError {
    match fault {
        Fault::Template(error) => error,
        other => TemplateError::invalid(other.to_string()),
    }
}

/// Python's reading of a number: numbers are themselves, texts are integers or floats.
pub(crate) fn number_value(raw: &Value) -> Result<Value, Fault> {
    match raw {
        Value::Number(_) | Value::Bool(_) => Ok(raw.clone()),
        Value::String(text) => parse_int(text)
            .map(PyNumber::Int)
            .or_else(|| parse_float(text).filter(|float| !float.is_nan()).map(PyNumber::Float))
            .map(|number| number.to_json())
            .ok_or_else(|| {
                let shown = crate::python::repr::repr_text(text);
                Fault::ValueError(format!("could not convert string to float: {shown}"))
            }),
        other => Err(Fault::TypeError(format!(
            "int() argument must be a string, a bytes-like object or a real number, not '{}'",
            class_name(other)
        ))),
    }
}

fn list_value(raw: &Value) -> Result<Value, Fault> {
    match raw {
        Value::Array(items) => Ok(items.iter().map(to_text).collect()),
        Value::String(text) if text.is_empty() => Ok(Value::Array(Vec::new())),
        Value::String(text) => Ok(text.split(',').collect()),
        other => Err(Fault::ValueError(format!(
            "Value must be a comma-delimited list string: '{}' object has no attribute 'split'",
            class_name(other)
        ))),
    }
}

fn json_value(raw: &Value) -> Result<Value, Fault> {
    match raw {
        Value::String(text) if text.is_empty() => Ok(raw.clone()),
        Value::String(text) => {
            loads(text).map_err(|error| Fault::ValueError(format!("Value must be valid JSON: {error}")))
        }
        other => Ok(other.clone()),
    }
}

/// A constraint that only a service can check, on a value that has passed all others.
#[derive(Debug, Clone, PartialEq)]
pub struct CustomConstraintCheck {
    pub parameter: String,
    pub constraint: String,
    pub value: Value,
    description: Option<String>,
}

impl CustomConstraintCheck {
    /// The error of a failed check. The constraint's own description goes before the service's message.
    pub fn failure(&self, message: &str) -> TemplateError {
        let message = self.description.as_deref().unwrap_or(message);
        TemplateError::invalid(format!("Parameter '{}' is invalid: {message}", self.parameter))
    }

    /// The error where no such constraint is known.
    pub fn unknown(&self) -> TemplateError {
        let value = to_text(&self.value);
        self.failure(&format!(
            "\"{value}\" does not validate {} (constraint not found)",
            self.constraint
        ))
    }
}

/// The parameters of a stack: pseudo parameters first, then the template's in their order.
#[derive(Debug, Clone)]
pub struct Parameters {
    parameters: IndexMap<String, Parameter>,
    /// How many of them are pseudo parameters.
    pseudo_count: usize,
    stack_id_name: &'static str,
    is_hot: bool,
    user_names: Vec<String>,
}

impl Parameters {
    pub fn new(
        template: &Template,
        identity: &StackIdentity,
        user_values: &Map<String, Value>,
        defaults: &Map<String, Value>,
    ) -> Result<Self, TemplateError> {
        let is_hot = template.version().is_hot();
        let mut parameters: IndexMap<String, Parameter> = pseudo_parameters(is_hot, identity)
            .into_iter()
            .map(|(name, schema)| (name.to_owned(), Parameter::new(name, schema, None)))
            .collect();
        let pseudo_count = parameters.len();
        let patience = Patience::default();
        for (name, definition) in template.definitions(template.keywords().parameters)? {
            let schema = ParameterSchema::from_definition(template.version(), name, definition, &patience)?;
            let user_value = user_values.get(name).cloned();
            parameters.insert(name.clone(), Parameter::new(name, schema, user_value));
        }
        for (name, default) in defaults {
            if let Some(parameter) = parameters.get_mut(name) {
                parameter.set_user_default(default);
            }
        }
        Ok(Self {
            parameters,
            pseudo_count,
            stack_id_name: if is_hot { "OS::stack_id" } else { "AWS::StackId" },
            is_hot,
            user_names: user_values.keys().cloned().collect(),
        })
    }

    pub fn get(&self, name: &str) -> Option<&Parameter> {
        self.parameters.get(name)
    }

    /// All parameters, pseudo parameters first.
    pub fn iter(&self) -> impl Iterator<Item = &Parameter> {
        self.parameters.values()
    }

    /// The parameters that the template defines.
    pub fn defined(&self) -> impl Iterator<Item = &Parameter> {
        self.parameters.values().skip(self.pseudo_count)
    }

    pub fn set_stack_id(&mut self, identity: &StackIdentity) {
        let id = if self.is_hot { &identity.stack_id } else { &identity.arn };
        if let Some(parameter) = self.parameters.get_mut(self.stack_id_name) {
            parameter.schema.default = Some(Value::from(id.as_str()));
            parameter.value = OnceLock::new();
        }
    }

    /// Checks that users name known parameters only, and every parameter in turn.
    pub fn validate(&self, with_values: bool) -> Result<Vec<CustomConstraintCheck>, TemplateError> {
        let defined = |name: &str| {
            self.parameters
                .get_index_of(name)
                .is_some_and(|index| index >= self.pseudo_count)
        };
        if let Some(unknown) = self.user_names.iter().find(|name| !defined(name)) {
            return Err(TemplateError::UnknownUserParameter { key: unknown.clone() });
        }
        let mut custom = Vec::new();
        for parameter in self.parameters.values() {
            custom.extend(parameter.validate(with_values)?);
        }
        Ok(custom)
    }

    /// All values as users see them, by name.
    pub fn display(&self) -> Result<Map<String, Value>, ResolveError> {
        self.parameters
            .values()
            .map(|parameter| Ok((parameter.name.clone(), Value::String(parameter.display()?))))
            .collect()
    }

    /// The names of hidden parameters: their values are not shown, and may be stored encrypted.
    pub fn hidden_names(&self) -> impl Iterator<Item = &str> {
        self.parameters
            .values()
            .filter(|parameter| parameter.is_hidden())
            .map(|parameter| parameter.name.as_str())
    }

    /// The values that users give to hidden parameters, each as one text that says the same: what is stored encrypted is text.
    pub fn hidden_texts(&self) -> Result<Vec<(String, String)>, TemplateError> {
        let hidden = self.parameters.values().filter(|parameter| parameter.is_hidden());
        hidden
            .filter_map(|parameter| Some((parameter, parameter.user_value.as_ref()?)))
            .map(|(parameter, value)| Ok((parameter.name.clone(), parameter.as_one_text(value)?)))
            .collect()
    }

    /// Refuses an update that changes a parameter which the new template calls immutable. A parameter that is new with
    /// the update is free. `given` is what the user says with the update.
    pub fn refuse_immutable_changes(&self, new: &Self, given: &Map<String, Value>) -> Result<(), TemplateError> {
        let mut changed = Vec::new();
        for (name, parameter) in new.parameters.iter().skip(new.pseudo_count) {
            let old = self
                .parameters
                .get_full(name)
                .filter(|(index, _, _)| *index >= self.pseudo_count);
            let Some((_, _, old)) = old.filter(|_| parameter.is_immutable()) else {
                continue;
            };
            let new_value = match given.get(name) {
                Some(value) => value.clone(),
                None => parameter.value()?,
            };
            if !equals(&old.value()?, &new_value) {
                changed.push(name.as_str());
            }
        }
        if changed.is_empty() {
            return Ok(());
        }
        Err(TemplateError::ImmutableParameterModified {
            keys: changed.join(", "),
        })
    }
}

const CFN_REGIONS: [&str; 7] = [
    "us-east-1",
    "us-west-1",
    "us-west-2",
    "sa-east-1",
    "eu-west-1",
    "ap-southeast-1",
    "ap-northeast-1",
];

fn pseudo_parameters(is_hot: bool, identity: &StackIdentity) -> Vec<(&'static str, ParameterSchema)> {
    let text = |description: Option<&str>, default: &str| ParameterSchema::pseudo(is_hot, description, default);
    let mut pseudo = Vec::new();
    if is_hot {
        pseudo.push(("OS::stack_id", text(Some("Stack ID"), &identity.stack_id)));
        pseudo.push(("OS::project_id", text(Some("Project ID"), &identity.project_id)));
        if !identity.stack_name.is_empty() {
            pseudo.push(("OS::stack_name", text(Some("Stack Name"), &identity.stack_name)));
        }
        return pseudo;
    }
    let arn = if identity.arn.is_empty() { "None" } else { &identity.arn };
    pseudo.push(("AWS::StackId", text(Some("Stack ID"), arn)));
    if !identity.stack_name.is_empty() {
        pseudo.push(("AWS::StackName", text(Some("Stack Name"), &identity.stack_name)));
        let mut region = text(None, "ap-southeast-1");
        region.constraints.push(Constraint {
            kind: ConstraintKind::AllowedValues(CFN_REGIONS.map(Value::from).to_vec()),
            description: None,
        });
        pseudo.push(("AWS::Region", region));
    }
    pseudo
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;
    use crate::template::{Environment, Files};

    #[test]
    fn a_hidden_value_is_one_text_that_says_the_same() {
        let hidden = |kind: &str| json!({"type": kind, "hidden": true, "default": ""});
        let body = json!({"heat_template_version": "2018-08-31", "parameters": {
            "text": hidden("string"), "list": hidden("comma_delimited_list"), "map": hidden("json"),
            "unset": hidden("string"), "open": {"type": "string"},
        }});
        let template = Template::new(body, Environment::default(), Files::default()).unwrap();
        let texts = |list: Value| {
            let given = json!({"text": "hush", "list": list, "map": {"k": [1, "ü"]}, "open": "x"});
            let given = given.as_object().unwrap();
            Parameters::new(&template, &StackIdentity::default(), given, &Map::new())
                .and_then(|parameters| parameters.hidden_texts())
        };
        let told = |name: &str, text: &str| (name.to_owned(), text.to_owned());
        assert_eq!(
            texts(json!(["a", 1])).unwrap(),
            [
                told("text", "hush"),
                told("list", "a,1"),
                told("map", "{\"k\": [1, \"\\u00fc\"]}")
            ]
        );
        assert!(texts(json!(["a,b"])).is_err());
    }
}
