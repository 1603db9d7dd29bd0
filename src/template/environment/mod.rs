//! Environments: what a user says beside the template.

mod global;
mod event_sinks;
mod merge;
mod registry;

use std::sync::Arc;

use serde_json::{Map, Value, json};

use super::error::TemplateError;
use super::parameters::REDACTED;
use crate::python::value::{class_name, is_true};

pub use event_sinks::{SINK_KEYS, ZAQAR_QUEUE};
pub use global::GlobalEnvironment;
pub(super) use merge::checked_sections;
pub use merge::{
    MERGE_STRATEGIES, MergeableParameters, SECTIONS, check_section_names, merge_environment_files, mergeable_parameters,
};
pub use registry::{HOOK_TYPES, RESTRICTED_ACTIONS, RegisteredType, ResourceRegistry};

pub(super) const PARAMETERS: &str = "parameters";
pub(super) const PARAMETER_DEFAULTS: &str = "parameter_defaults";
pub(super) const RESOURCE_REGISTRY: &str = "resource_registry";
pub(super) const ENCRYPTED_PARAM_NAMES: &str = "encrypted_param_names";
pub(super) const EVENT_SINKS: &str = "event_sinks";

#[derive(Debug, Clone, Default, PartialEq)]
pub struct Environment {
    pub parameters: Map<String, Value>,
    pub parameter_defaults: Map<String, Value>,
    pub registry: ResourceRegistry,
    /// The parameters whose values are stored encrypted. Encrypting and decrypting is up to whoever holds the key; the
    /// values here are as they were given.
    pub encrypted_parameter_names: Vec<String>,
    pub event_sinks: Vec<Value>,
}

impl Environment {
    /// Reads what a request brings or a row holds. A map without a `parameters` section is one of parameters.
    pub fn from_value(environment: &Value) -> Result<Self, TemplateError> {
        let nothing = Map::new();
        let sections = match environment {
            Value::Null => &nothing,
            Value::Object(sections) => sections,
            other => {
                return Err(TemplateError::value_error(format!(
                    "The environment is not a map but a {}",
                    class_name(other)
                )));
            }
        };
        let parameters = match sections.get(PARAMETERS) {
            Some(parameters) => map_or_nothing(PARAMETERS, Some(parameters))?,
            None => sections
                .iter()
                .filter(|(name, _)| {
                    ![
                        PARAMETER_DEFAULTS,
                        ENCRYPTED_PARAM_NAMES,
                        EVENT_SINKS,
                        RESOURCE_REGISTRY,
                    ]
                    .contains(&name.as_str())
                })
                .map(|(name, value)| (name.clone(), value.clone()))
                .collect(),
        };
        let encrypted = list_section(ENCRYPTED_PARAM_NAMES, sections.get(ENCRYPTED_PARAM_NAMES))?;
        let mut registry = ResourceRegistry::default();
        registry.load(&map_section(RESOURCE_REGISTRY, sections.get(RESOURCE_REGISTRY))?)?;
        Ok(Self {
            parameters,
            parameter_defaults: map_or_nothing(PARAMETER_DEFAULTS, sections.get(PARAMETER_DEFAULTS))?,
            registry,
            encrypted_parameter_names: encrypted.iter().map(name_of_parameter).collect::<Result<_, _>>()?,
            event_sinks: event_sinks::read(sections.get(EVENT_SINKS))?,
        })
    }

    /// Refuses names of encrypted parameters that have no value: no engine could read the stored row again.
    pub fn check_encrypted_names(&self) -> Result<(), TemplateError> {
        let mut names = self.encrypted_parameter_names.iter();
        match names.find(|name| !self.parameters.contains_key(*name)) {
            Some(name) => Err(TemplateError::value_error(format!(
                "environment section \"{ENCRYPTED_PARAM_NAMES}\" names \"{name}\", which is no parameter of the environment"
            ))),
            None => Ok(()),
        }
    }

    /// The environment as it is stored with a template.
    pub fn to_stored(&self) -> Value {
        let mut stored = self.to_user();
        stored[ENCRYPTED_PARAM_NAMES] = json!(self.encrypted_parameter_names);
        stored
    }

    /// The environment as far as it is the user's.
    pub fn to_user(&self) -> Value {
        json!({
            RESOURCE_REGISTRY: self.registry.to_value(),
            PARAMETERS: self.parameters,
            PARAMETER_DEFAULTS: self.parameter_defaults,
            EVENT_SINKS: self.event_sinks,
        })
    }

    /// This environment where the operator has set something for all stacks.
    #[must_use]
    pub fn under(mut self, global: &Arc<ResourceRegistry>) -> Self {
        self.registry = self.registry.before(Arc::clone(global));
        self
    }

    /// Adds another environment on top.
    pub fn load(&mut self, addition: &Value) -> Result<(), TemplateError> {
        let section = |name: &str| addition.get(name);
        self.registry
            .load(&map_section(RESOURCE_REGISTRY, section(RESOURCE_REGISTRY))?)?;
        self.parameters.extend(map_section(PARAMETERS, section(PARAMETERS))?);
        self.parameter_defaults
            .extend(map_section(PARAMETER_DEFAULTS, section(PARAMETER_DEFAULTS))?);
        self.event_sinks.extend(event_sinks::read(section(EVENT_SINKS))?);
        Ok(())
    }

    /// The environment of an update that keeps what is not mentioned: without the parameters to clear, with the given
    /// environment on top, and without what the template does not know.
    pub fn patched(
        &self,
        addition: &Value,
        cleared: &[String],
        is_parameter: impl Fn(&str) -> bool,
    ) -> Result<Self, TemplateError> {
        let mut patched = self.clone();
        patched.parameters.retain(|name, _| !cleared.contains(name));
        patched.load(addition)?;
        patched.parameters.retain(|name, _| is_parameter(name));
        Ok(patched)
    }

    /// Notes that the values of these parameters are stored encrypted.
    pub fn note_encrypted(&mut self, names: impl IntoIterator<Item = String>) {
        for name in names {
            if !self.encrypted_parameter_names.contains(&name) {
                self.encrypted_parameter_names.push(name);
            }
        }
    }

    /// Hides the values of hidden parameters in a stored environment that is to be shown.
    pub fn redact(stored: &mut Value, is_hidden: impl Fn(&str) -> bool) {
        for section in [PARAMETERS, PARAMETER_DEFAULTS] {
            let Some(values) = stored.get_mut(section).and_then(Value::as_object_mut) else {
                continue;
            };
            for (_, value) in values.iter_mut().filter(|(name, _)| is_hidden(name)) {
                *value = Value::from(REDACTED);
            }
        }
    }
}

fn map_section(name: &str, section: Option<&Value>) -> Result<Map<String, Value>, TemplateError> {
    match section {
        None | Some(Value::Null) => Ok(Map::new()),
        Some(Value::Object(entries)) => Ok(entries.clone()),
        Some(other) => Err(wrong_section(name, "map", other)),
    }
}

/// Python takes whatever is false for no values at all.
fn map_or_nothing(name: &str, section: Option<&Value>) -> Result<Map<String, Value>, TemplateError> {
    map_section(name, section.filter(|section| is_true(section)))
}

fn list_section(name: &str, section: Option<&Value>) -> Result<Vec<Value>, TemplateError> {
    match section {
        None | Some(Value::Null) => Ok(Vec::new()),
        Some(Value::Array(items)) => Ok(items.clone()),
        Some(other) => Err(wrong_section(name, "list", other)),
    }
}

fn name_of_parameter(name: &Value) -> Result<String, TemplateError> {
    match name {
        Value::String(name) => Ok(name.clone()),
        other => Err(TemplateError::value_error(format!(
            "environment section \"{ENCRYPTED_PARAM_NAMES}\" must hold names, not a {}",
            class_name(other)
        ))),
    }
}

fn wrong_section(name: &str, expected: &str, found: &Value) -> TemplateError {
    TemplateError::value_error(format!(
        "environment section \"{name}\" must be a {expected}, not a {}",
        class_name(found)
    ))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sections_are_taken_as_python_takes_them() {
        for value in [
            json!({"parameter_defaults": []}),
            json!({"parameter_defaults": false}),
            json!({"parameters": ""}),
            json!({"event_sinks": {}}),
            json!({"event_sinks": [{"type": "zaqar-queue", "target": "q", "ttl": 5}]}),
            json!({"encrypted_param_names": ["a"], "parameters": {"a": 1}}),
        ] {
            let environment = Environment::from_value(&value).unwrap_or_else(|error| panic!("{value}: {error}"));
            assert_eq!(environment.check_encrypted_names(), Ok(()), "{value}");
        }
        for value in [
            json!({"parameter_defaults": [5]}),
            json!({"parameters": 5}),
            json!({"event_sinks": 5}),
            json!({"event_sinks": [5]}),
            json!({"event_sinks": [{}]}),
            json!({"event_sinks": [{"type": "x"}]}),
            json!({"event_sinks": [{"type": "zaqar-queue"}]}),
            json!({"event_sinks": [{"type": "zaqar-queue", "target": "q", "other": 1}]}),
            json!({"encrypted_param_names": [5]}),
            json!({"resource_registry": []}),
        ] {
            assert!(Environment::from_value(&value).is_err(), "{value}");
        }
        let environment = Environment::from_value(&json!({"encrypted_param_names": ["a"]})).unwrap();
        assert!(environment.check_encrypted_names().is_err());
    }
}
