//! Constraints on the values of parameters, with the messages that users of Heat know.

use std::cmp::Ordering;

use num_bigint::BigInt;
use serde_json::Value;

use super::number_value;
use super::schema::ParameterType;
use crate::python::dumps;
use crate::python::number::PyNumber;
use crate::python::regex::{Patience, PythonRegex};
use crate::python::repr::to_text;
use crate::python::value::{bool_from_text, class_name, contains};
use crate::template::error::{Fault, TemplateError};

#[derive(Debug, Clone)]
pub struct Constraint {
    pub kind: ConstraintKind,
    /// Shown in the place of the message when the constraint is broken.
    pub description: Option<String>,
}

#[derive(Debug, Clone)]
pub enum ConstraintKind {
    Range {
        min: Option<Value>,
        max: Option<Value>,
    },
    Length {
        min: Option<Value>,
        max: Option<Value>,
    },
    Modulo {
        step: Value,
        offset: Value,
    },
    AllowedValues(Vec<Value>),
    AllowedPattern {
        pattern: String,
        regex: PythonRegex,
    },
    /// Checked by a service, under this name.
    Custom(String),
}

impl ConstraintKind {
    pub fn range(min: Option<Value>, max: Option<Value>) -> Result<Self, TemplateError> {
        if min.is_none() && max.is_none() {
            return Err(TemplateError::schema(
                "A range constraint must have a min value and/or a max value specified.",
            ));
        }
        Ok(Self::Range { min, max })
    }

    pub fn length(min: Option<Value>, max: Option<Value>) -> Result<Self, TemplateError> {
        if min.is_none() && max.is_none() {
            return Err(TemplateError::schema(
                "A length constraint must have a min value and/or a max value specified.",
            ));
        }
        let is_float = |bound: &Value| PyNumber::of(bound).is_some_and(|number| number.is_float());
        if [&min, &max].into_iter().flatten().any(is_float) {
            return Err(TemplateError::schema("min/max length must be integral"));
        }
        Ok(Self::Length { min, max })
    }

    pub fn modulo(step: Option<Value>, offset: Option<Value>) -> Result<Self, TemplateError> {
        let (Some(step), Some(offset)) = (step, offset) else {
            return Err(TemplateError::schema(
                "A modulo constraint must have a step value and an offset value specified.",
            ));
        };
        let integer = |value: &Value| {
            PyNumber::of(value)
                .and_then(|number| number.as_exact_integer())
                .ok_or_else(|| TemplateError::schema("step/offset must be integer"))
        };
        let (step_integer, offset_integer) = (integer(&step)?, integer(&offset)?);
        if step_integer == BigInt::ZERO {
            return Err(TemplateError::schema("step cannot be 0."));
        }
        if offset_integer.magnitude() >= step_integer.magnitude() {
            return Err(TemplateError::schema(
                "offset must be smaller (by absolute value) than step.",
            ));
        }
        if step_integer * offset_integer < BigInt::ZERO {
            return Err(TemplateError::schema(
                "step and offset must be both positive or both negative.",
            ));
        }
        Ok(Self::Modulo { step, offset })
    }

    pub fn allowed_values(allowed: &Value) -> Result<Self, TemplateError> {
        match allowed {
            Value::Array(allowed) => Ok(Self::AllowedValues(allowed.clone())),
            _ => Err(TemplateError::schema("AllowedValues must be a list")),
        }
    }

    pub fn allowed_pattern(pattern: &Value, patience: &Patience) -> Result<Self, TemplateError> {
        let Value::String(pattern) = pattern else {
            return Err(TemplateError::schema("AllowedPattern must be a string"));
        };
        let regex = PythonRegex::compile(pattern, patience)
            .map_err(|error| TemplateError::schema(format!("Invalid AllowedPattern \"{pattern}\": {error}")))?;
        Ok(Self::AllowedPattern {
            pattern: pattern.clone(),
            regex,
        })
    }
}

impl Constraint {
    /// The name that messages use.
    pub fn class_name(&self) -> &'static str {
        match self.kind {
            ConstraintKind::Range { .. } => "Range",
            ConstraintKind::Length { .. } => "Length",
            ConstraintKind::Modulo { .. } => "Modulo",
            ConstraintKind::AllowedValues(_) => "AllowedValues",
            ConstraintKind::AllowedPattern { .. } => "AllowedPattern",
            ConstraintKind::Custom(_) => "CustomConstraint",
        }
    }

    pub(super) fn fits(&self, parameter_type: ParameterType) -> bool {
        match self.kind {
            ConstraintKind::Range { .. } | ConstraintKind::Modulo { .. } => parameter_type == ParameterType::Number,
            ConstraintKind::Length { .. } => {
                matches!(
                    parameter_type,
                    ParameterType::Text | ParameterType::List | ParameterType::Json
                )
            }
            ConstraintKind::AllowedValues(_) | ConstraintKind::Custom(_) => parameter_type != ParameterType::Json,
            ConstraintKind::AllowedPattern { .. } => parameter_type == ParameterType::Text,
        }
    }

    /// Checks a value. A custom constraint passes: it is not ours to check. `type_name` is what the template calls the type.
    pub fn check(&self, value: &Value, parameter_type: ParameterType, type_name: &str) -> Result<(), Fault> {
        let message = match &self.kind {
            ConstraintKind::Range { min, max } => {
                let number = number_of(value)?;
                let is_outside = is_outside(&number, min.as_ref(), max.as_ref());
                is_outside.then(|| format!("{} is out of range {}", to_text(value), bounds(min, max)))
            }
            ConstraintKind::Length { min, max } => {
                let length = length_of(value)?;
                let is_outside = is_outside(&PyNumber::Int(length.into()), min.as_ref(), max.as_ref());
                is_outside.then(|| format!("length ({length}) is out of range {}", bounds(min, max)))
            }
            ConstraintKind::Modulo { step, offset } => {
                let number = number_of(value)?;
                let rest = PyNumber::of(step).and_then(|step| number.modulo(&step));
                let fits = rest
                    .zip(PyNumber::of(offset))
                    .is_some_and(|(rest, offset)| rest.equals(&offset));
                (!fits).then(|| {
                    format!(
                        "{} is not a multiple of {} with an offset of {}",
                        to_text(value),
                        to_text(step),
                        to_text(offset)
                    )
                })
            }
            ConstraintKind::AllowedValues(allowed) => {
                let is_allowed = is_allowed(value, allowed, parameter_type, type_name)?;
                (!is_allowed).then(|| {
                    let allowed: Vec<String> = allowed.iter().map(dumps).collect();
                    format!("{} is not an allowed value [{}]", dumps(value), allowed.join(", "))
                })
            }
            ConstraintKind::AllowedPattern { pattern, regex } => {
                let Value::String(text) = value else {
                    let class = class_name(value);
                    return Err(Fault::TypeError(format!(
                        "expected string or bytes-like object, got '{class}'"
                    )));
                };
                let matches = regex
                    .match_reaches_end(text)
                    .map_err(|error| Fault::ValueError(error.to_string()))?;
                (!matches).then(|| format!("\"{text}\" does not match pattern \"{pattern}\""))
            }
            ConstraintKind::Custom(_) => None,
        };
        match message {
            None => Ok(()),
            Some(message) => Err(Fault::ValueError(self.description.clone().unwrap_or(message))),
        }
    }
}

fn number_of(value: &Value) -> Result<PyNumber, Fault> {
    let number = number_value(value)?;
    PyNumber::of(&number).ok_or_else(|| Fault::ValueError(format!("{} is not a number", to_text(value))))
}

fn length_of(value: &Value) -> Result<usize, Fault> {
    match value {
        Value::String(text) => Ok(text.chars().count()),
        Value::Array(items) => Ok(items.len()),
        Value::Object(entries) => Ok(entries.len()),
        other => Err(Fault::TypeError(format!(
            "object of type '{}' has no len()",
            class_name(other)
        ))),
    }
}

fn is_outside(number: &PyNumber, min: Option<&Value>, max: Option<&Value>) -> bool {
    let compared = |bound: Option<&Value>| bound.and_then(PyNumber::of).and_then(|bound| number.compare(&bound));
    compared(min) == Some(Ordering::Less) || compared(max) == Some(Ordering::Greater)
}

fn bounds(min: &Option<Value>, max: &Option<Value>) -> String {
    let shown = |bound: &Option<Value>| bound.as_ref().map_or_else(|| "None".to_owned(), to_text);
    format!("(min: {}, max: {})", shown(min), shown(max))
}

/// Of a list, each item has to be allowed. Other values are compared in the type of the parameter.
fn is_allowed(value: &Value, allowed: &[Value], parameter_type: ParameterType, type_name: &str) -> Result<bool, Fault> {
    if let Value::Array(items) = value {
        return Ok(items.iter().all(|item| contains(allowed, item)));
    }
    let allowed = allowed
        .iter()
        .map(|value| in_type(value, parameter_type, type_name))
        .collect::<Result<Vec<_>, _>>()?;
    Ok(contains(&allowed, &in_type(value, parameter_type, type_name)?))
}

fn in_type(value: &Value, parameter_type: ParameterType, type_name: &str) -> Result<Value, Fault> {
    let converted = match parameter_type {
        ParameterType::Text => Ok(Value::String(to_text(value))),
        ParameterType::Number => number_value(value),
        ParameterType::Boolean => bool_from_text(&to_text(value))
            .map(Value::Bool)
            .map_err(Fault::ValueError),
        ParameterType::List | ParameterType::Json => Ok(value.clone()),
    };
    converted.map_err(|fault| match fault {
        Fault::ValueError(_) => Fault::ValueError(format!(
            "Value \"{}\" is invalid for data type \"{type_name}\".",
            to_text(value)
        )),
        other => other,
    })
}
