//! Several environment files made one: each on top of those before it, parameter by parameter as the files ask for.

use indexmap::IndexMap;
use serde_json::{Map, Value};

use super::{PARAMETER_DEFAULTS, PARAMETERS};
use crate::python::json_reader::loads;
use crate::python::number::PyNumber;
use crate::python::repr::to_text;
use crate::python::value::{class_name, is_true};
use crate::template::error::TemplateError;
use crate::template::files::Files;
use crate::template::parameters::{ParameterSchema, ParameterType};
use crate::template::reading::read_environment;

const STRATEGIES: &str = "parameter_merge_strategies";
/// The sections that an environment may have.
pub const SECTIONS: [&str; 6] = [
    PARAMETERS,
    "resource_registry",
    PARAMETER_DEFAULTS,
    "encrypted_param_names",
    "event_sinks",
    STRATEGIES,
];

/// The types of the parameters that can be merged.
pub type MergeableParameters = IndexMap<String, ParameterType>;

/// The types of parameters by their schemata.
pub fn mergeable_parameters(schemata: &IndexMap<String, ParameterSchema>) -> MergeableParameters {
    schemata
        .iter()
        .map(|(name, schema)| (name.clone(), schema.parameter_type))
        .collect()
}

const OVERWRITE: &str = "overwrite";
const MERGE: &str = "merge";
const DEEP_MERGE: &str = "deep_merge";
pub const MERGE_STRATEGIES: [&str; 3] = [OVERWRITE, MERGE, DEEP_MERGE];

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
    check_section_names(&sections)?;
    Ok(sections)
}

/// Whether all sections of an environment are known and none is empty.
pub fn check_section_names(sections: &Map<String, Value>) -> Result<(), TemplateError> {
    for (section, value) in sections {
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
    Ok(())
}

struct Merging<'a> {
    file: &'a str,
    strategies: &'a Value,
    parameters: &'a MergeableParameters,
}

impl Merging<'_> {
    /// The strategy that the file asks for; one chosen by an earlier file stands where it says nothing. A default that is
    /// no strategy overwrites.
    fn strategy(&self, parameter: &str, chosen: &IndexMap<String, Value>) -> Result<Value, TemplateError> {
        let nothing = Map::new();
        let strategies = match self.strategies {
            Value::Null => &nothing,
            Value::Object(strategies) => strategies,
            other => {
                return Err(TemplateError::Python {
                    class: "AttributeError",
                    message: format!("'{}' object has no attribute 'get'", class_name(other)),
                });
            }
        };
        let default = || strategies.get("default").cloned().unwrap_or_else(|| OVERWRITE.into());
        let named = strategies.get(parameter).or_else(|| chosen.get(parameter));
        let is_known = |name: &Value| MERGE_STRATEGIES.into_iter().any(|known| name == known);
        Ok(named.filter(|name| is_known(name)).cloned().unwrap_or_else(default))
    }

    fn merge_parameters(
        &self,
        present: Value,
        addition: Value,
        chosen: &mut IndexMap<String, Value>,
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
            let strategy = self.strategy(name, chosen)?;
            let earlier = chosen.entry(name.clone()).or_insert_with(|| strategy.clone());
            if strategy != *earlier {
                return Err(TemplateError::ConflictingMergeStrategyForParam {
                    strategy: to_text(&strategy),
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
            let value = match chosen.get(name).and_then(Value::as_str) {
                Some(DEEP_MERGE) => merge_value(name, parameter_type, old, value, true)?,
                Some(MERGE) => merge_value(name, parameter_type, old, value, false)?,
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
            (Some(Value::Array(mut old)), Value::Array(new)) => {
                old.extend(new.iter().cloned());
                Ok(Value::Array(old))
            }
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
    let (left, right) = (class_name(old), class_name(new));
    let message = match old {
        Value::String(_) | Value::Array(_) => format!("can only concatenate {left} (not \"{right}\") to {left}"),
        _ => format!("unsupported operand type(s) for +: '{left}' and '{right}'"),
    };
    TemplateError::Python {
        class: "TypeError",
        message,
    }
}

fn concatenated(old: Value, new: &Value) -> Result<Value, TemplateError> {
    joined("", &old, new)
}

/// Python's `separator.join([old, new])`.
fn joined(separator: &str, old: &Value, new: &Value) -> Result<Value, TemplateError> {
    for (index, value) in [old, new].into_iter().enumerate() {
        if !value.is_string() {
            return Err(TemplateError::Python {
                class: "TypeError",
                message: format!(
                    "sequence item {index}: expected str instance, {} found",
                    class_name(value)
                ),
            });
        }
    }
    Ok(Value::String([to_text(old), to_text(new)].join(separator)))
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
        (old, Value::Array(_)) => Err(TemplateError::Python {
            class: "AttributeError",
            message: format!("'{}' object has no attribute 'extend'", class_name(&old)),
        }),
        (old, new) => joined(",", &old, new),
    }
}

/// What Python says of an old value that is no map.
fn no_map(old: &Value, first: &Value, deep: bool) -> TemplateError {
    let class = class_name(old);
    let is_looked_up = deep && (first.is_object() || first.is_array() || first.is_string());
    let (error, message) = match old {
        _ if is_looked_up => ("AttributeError", format!("'{class}' object has no attribute 'get'")),
        Value::Array(_) => (
            "TypeError",
            "list indices must be integers or slices, not str".to_owned(),
        ),
        _ => (
            "TypeError",
            format!("'{class}' object does not support item assignment"),
        ),
    };
    TemplateError::Python { class: error, message }
}

fn merge_maps(old: Value, new: Value, deep: bool) -> Result<Value, TemplateError> {
    if !is_true(&old) {
        return Ok(new);
    }
    let (mut old, new) = match (old, new) {
        (Value::Object(old), Value::Object(new)) => (old, new),
        // Python looks at the old value only when there is something to put into it.
        (old, Value::Object(new)) => match new.values().find(|value| !value.is_null()) {
            Some(first) => return Err(no_map(&old, first, deep)),
            None => return Ok(old),
        },
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
