//! Several environment files made one: each on top of those before it, parameter by parameter as the files ask for.

use indexmap::IndexMap;
use serde_json::{Map, Value};

use super::{PARAMETER_DEFAULTS, PARAMETERS};
use crate::python::json_reader::loads;
use crate::python::number::PyNumber;
use crate::python::value::{class_name, is_true};
use crate::template::error::TemplateError;
use crate::template::files::Files;
use crate::template::parameters::{ParameterType, Parameters};
use crate::template::reading::read_environment;

const STRATEGIES: &str = "parameter_merge_strategies";
const SECTIONS: [&str; 6] = [
    PARAMETERS,
    "resource_registry",
    PARAMETER_DEFAULTS,
    "encrypted_param_names",
    "event_sinks",
    STRATEGIES,
];

/// The types of the parameters that can be merged.
pub type MergeableParameters = IndexMap<String, ParameterType>;

impl From<&Parameters> for MergeableParameters {
    fn from(parameters: &Parameters) -> Self {
        parameters
            .defined()
            .map(|parameter| (parameter.name.clone(), parameter.schema.parameter_type))
            .collect()
    }
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Strategy {
    Overwrite,
    Merge,
    DeepMerge,
}

impl Strategy {
    fn named(name: &Value) -> Option<Self> {
        match name.as_str()? {
            "overwrite" => Some(Self::Overwrite),
            "merge" => Some(Self::Merge),
            "deep_merge" => Some(Self::DeepMerge),
            _ => None,
        }
    }

    fn as_str(self) -> &'static str {
        match self {
            Self::Overwrite => "overwrite",
            Self::Merge => "merge",
            Self::DeepMerge => "deep_merge",
        }
    }
}

/// Merges the named files into an environment, in their order.
pub fn merge_environment_files(
    environment: &mut Map<String, Value>,
    names: &[String],
    files: &Files,
    parameters: &MergeableParameters,
) -> Result<(), TemplateError> {
    let mut chosen = IndexMap::new();
    for name in names {
        let mut file = read_file(name, files)?;
        let strategies = file.shift_remove(STRATEGIES).unwrap_or(Value::Null);
        for (section, value) in file {
            if !is_true(&value) {
                continue;
            }
            let present = environment.shift_remove(&section).unwrap_or(Value::Null);
            let merged = if section == PARAMETERS || section == PARAMETER_DEFAULTS {
                let merging = Merging {
                    file: name,
                    strategies: &strategies,
                    parameters,
                };
                merging.merge_parameters(present, value, &mut chosen)?
            } else {
                merge_maps(present, value, false)?
            };
            environment.insert(section, merged);
        }
    }
    Ok(())
}

fn read_file(name: &str, files: &Files) -> Result<Map<String, Value>, TemplateError> {
    let content = files.get(name).ok_or_else(|| TemplateError::Python {
        class: "KeyError",
        message: crate::python::repr::repr_text(name),
    })?;
    let environment = match content {
        Value::Null => Value::Object(Map::new()),
        Value::String(text) => return read_environment(text),
        // PyYAML takes no other kind of value for a document.
        other => {
            return Err(TemplateError::Python {
                class: "AttributeError",
                message: format!("'{}' object has no attribute 'read'", class_name(other)),
            });
        }
    };
    checked_sections(environment)
}

/// An environment, if all of its sections are known and none is empty.
pub(in crate::template) fn checked_sections(environment: Value) -> Result<Map<String, Value>, TemplateError> {
    let Value::Object(sections) = environment else {
        return Err(TemplateError::value_error(
            "The environment is not a valid YAML mapping data type.",
        ));
    };
    for (section, value) in &sections {
        if !SECTIONS.contains(&section.as_str()) {
            return Err(TemplateError::value_error(format!(
                "environment has wrong section \"{section}\""
            )));
        }
        if value.is_null() {
            return Err(TemplateError::value_error(format!(
                "environment has empty section \"{section}\""
            )));
        }
    }
    Ok(sections)
}

struct Merging<'a> {
    file: &'a str,
    strategies: &'a Value,
    parameters: &'a MergeableParameters,
}

impl Merging<'_> {
    /// The strategy that the file asks for; one chosen by an earlier file stands where it says nothing.
    fn strategy(&self, parameter: &str, chosen: &IndexMap<String, Strategy>) -> Strategy {
        let Value::Object(strategies) = self.strategies else {
            return chosen.get(parameter).copied().unwrap_or(Strategy::Overwrite);
        };
        let default = strategies
            .get("default")
            .and_then(Strategy::named)
            .unwrap_or(Strategy::Overwrite);
        match strategies.get(parameter) {
            Some(named) => Strategy::named(named).unwrap_or(default),
            None => chosen.get(parameter).copied().unwrap_or(default),
        }
    }

    fn merge_parameters(
        &self,
        present: Value,
        addition: Value,
        chosen: &mut IndexMap<String, Strategy>,
    ) -> Result<Value, TemplateError> {
        let Value::Object(new) = addition else {
            let class = class_name(&addition);
            return Err(TemplateError::value_error(format!(
                "environment parameters must be a map, not a {class}"
            )));
        };
        let known = new.iter().filter_map(|(name, value)| {
            let parameter_type = *self.parameters.get(name)?;
            (!value.is_null()).then_some((name, value, parameter_type))
        });
        for (name, _, _) in known.clone() {
            let strategy = self.strategy(name, chosen);
            let earlier = *chosen.entry(name.clone()).or_insert(strategy);
            if strategy != earlier {
                return Err(TemplateError::ConflictingMergeStrategyForParam {
                    strategy: strategy.as_str().to_owned(),
                    param: name.clone(),
                    env_file: self.file.to_owned(),
                });
            }
        }
        let mut merged = match present {
            Value::Object(present) if !present.is_empty() => present,
            _ => return Ok(Value::Object(new)),
        };
        for (name, value, parameter_type) in known {
            let old = merged.get(name).cloned();
            let value = match chosen.get(name) {
                Some(Strategy::DeepMerge) => merge_value(name, parameter_type, old, value, true)?,
                Some(Strategy::Merge) => merge_value(name, parameter_type, old, value, false)?,
                _ => value.clone(),
            };
            merged.insert(name.clone(), value);
        }
        Ok(Value::Object(merged))
    }
}

fn merge_value(
    name: &str,
    parameter_type: ParameterType,
    old: Option<Value>,
    new: &Value,
    deep: bool,
) -> Result<Value, TemplateError> {
    let is_sequence = matches!(new, Value::String(_) | Value::Array(_));
    if parameter_type != ParameterType::Json && !is_sequence {
        return Err(TemplateError::value_error("Invalid parameter in environment ."));
    }
    match parameter_type {
        ParameterType::Json => {
            let new = match new {
                Value::String(text) if !text.is_empty() => loads(text).map_err(|error| {
                    TemplateError::value_error(format!("Invalid parameter in environment {error}."))
                })?,
                other => other.clone(),
            };
            merge_maps(old.unwrap_or(Value::Null), new, deep)
        }
        ParameterType::List => merge_lists(old.unwrap_or(Value::Null), new),
        ParameterType::Text => concatenated(old.unwrap_or_else(|| Value::from("")), new),
        ParameterType::Number => match (old, new) {
            (Some(Value::String(old)), Value::String(new)) => Ok(Value::from(old + new)),
            (old, new) => {
                let sum = old
                    .as_ref()
                    .and_then(PyNumber::of)
                    .zip(PyNumber::of(new))
                    .map(|(old, new)| old.add(&new));
                sum.map(|sum| sum.to_json())
                    .ok_or_else(|| cannot_add(&old.unwrap_or_else(|| Value::from(0)), new))
            }
        },
        ParameterType::Boolean => Err(TemplateError::InvalidMergeStrategyForParam {
            strategy: "merge".to_owned(),
            param: name.to_owned(),
        }),
    }
}

fn cannot_add(old: &Value, new: &Value) -> TemplateError {
    TemplateError::Python {
        class: "TypeError",
        message: format!(
            "unsupported operand type(s) for +: '{}' and '{}'",
            class_name(old),
            class_name(new)
        ),
    }
}

fn concatenated(old: Value, new: &Value) -> Result<Value, TemplateError> {
    match (old, new) {
        (Value::String(old), Value::String(new)) => Ok(Value::String(old + new)),
        (old, new) => Err(cannot_add(&old, new)),
    }
}

fn merge_lists(old: Value, new: &Value) -> Result<Value, TemplateError> {
    if !is_true(&old) {
        return Ok(new.clone());
    }
    match (old, new) {
        (Value::Array(mut old), Value::Array(new)) => {
            old.extend(new.iter().cloned());
            Ok(Value::Array(old))
        }
        (Value::String(old), Value::String(new)) => Ok(Value::String(format!("{old},{new}"))),
        (old, new) => Err(cannot_add(&old, new)),
    }
}

fn merge_maps(old: Value, new: Value, deep: bool) -> Result<Value, TemplateError> {
    if !is_true(&old) {
        return Ok(new);
    }
    let (mut old, new) = match (old, new) {
        (Value::Object(old), Value::Object(new)) => (old, new),
        (old, Value::Object(_)) => {
            return Err(TemplateError::Python {
                class: "TypeError",
                message: format!("'{}' object does not support item assignment", class_name(&old)),
            });
        }
        (_, new) => {
            return Err(TemplateError::Python {
                class: "AttributeError",
                message: format!("'{}' object has no attribute 'items'", class_name(&new)),
            });
        }
    };
    for (key, value) in new {
        if value.is_null() {
            continue;
        }
        let present = if deep {
            old.get(&key).cloned().unwrap_or(Value::Null)
        } else {
            Value::Null
        };
        let merged = match &value {
            _ if !deep => value,
            Value::Object(_) => merge_maps(present, value, deep)?,
            Value::Array(_) => merge_lists(present, &value)?,
            Value::String(_) if present.is_null() => value,
            Value::String(_) => concatenated(present, &value)?,
            _ => value,
        };
        old.insert(key, merged);
    }
    Ok(Value::Object(old))
}
