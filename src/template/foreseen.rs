//! What can be told of a value before there is a cloud: more than nothing, where it is not the value itself.

use std::collections::HashSet;

use indexmap::IndexMap;
use serde_json::Value;

use super::expression::{Call, Expression};
use super::functions::Function;
use super::references::References;
use crate::python::value::is_true;

/// A value as far as it is known.
#[derive(Debug, Clone, PartialEq)]
pub enum Foreseen {
    /// Known, and neither a list nor a map.
    Value(Value),
    List(Vec<Self>),
    Map(IndexMap<String, Self>),
    /// What a resource will be called. Until it is there, it goes by this name.
    Reference(Value),
    /// Something is written here, and nobody knows what will come of it.
    Written,
    /// Perhaps nothing is written here.
    Unknown,
}

impl From<Value> for Foreseen {
    fn from(value: Value) -> Self {
        match value {
            Value::Array(items) => Self::List(items.into_iter().map(Self::from).collect()),
            Value::Object(entries) => Self::Map(entries.into_iter().map(|(key, item)| (key, item.into())).collect()),
            scalar => Self::Value(scalar),
        }
    }
}

impl Foreseen {
    /// The value, null where it is not known.
    pub fn to_value(&self) -> Value {
        match self {
            Self::Value(value) => value.clone(),
            Self::List(items) => items.iter().map(Self::to_value).collect(),
            Self::Map(entries) => entries
                .iter()
                .map(|(key, item)| (key.clone(), item.to_value()))
                .collect(),
            Self::Reference(_) | Self::Written | Self::Unknown => Value::Null,
        }
    }

    /// The same of the value that a property makes of this one: `read` was read where this was null if not known.
    pub fn as_read(&self, read: Value) -> Self {
        match (self, read) {
            (Self::Value(_), read) => read.into(),
            (Self::List(items), Value::Array(read)) if items.len() == read.len() => {
                let items = items.iter().zip(read);
                Self::List(items.map(|(item, read)| item.as_read(read)).collect())
            }
            (Self::Map(entries), Value::Object(read)) => {
                let read = read.into_iter().map(|(key, read)| {
                    let item = match entries.get(&key) {
                        Some(entry) => entry.as_read(read),
                        None => read.into(),
                    };
                    (key, item)
                });
                Self::Map(read.collect())
            }
            (Self::Reference(name), _) => Self::Reference(name.clone()),
            // Of what has no type, null may come.
            (Self::Unknown, _) | (Self::Written, Value::Null) => Self::Unknown,
            (Self::List(_) | Self::Map(_) | Self::Written, _) => Self::Written,
        }
    }

    /// Whether all of it is known.
    pub fn is_known(&self) -> bool {
        match self {
            Self::Value(_) => true,
            Self::List(items) => items.iter().all(Self::is_known),
            Self::Map(entries) => entries.values().all(Self::is_known),
            Self::Reference(_) | Self::Written | Self::Unknown => false,
        }
    }

    /// Whether it is null.
    pub fn is_null(&self) -> Option<bool> {
        match self {
            Self::Value(value) => Some(value.is_null()),
            Self::Unknown => None,
            _ => Some(false),
        }
    }

    /// Whether it is true in Python's sense.
    pub fn is_true(&self) -> Option<bool> {
        match self {
            Self::Value(value) => Some(is_true(value)),
            Self::List(items) => Some(!items.is_empty()),
            Self::Map(entries) => Some(!entries.is_empty()),
            Self::Reference(_) => Some(true),
            Self::Written | Self::Unknown => None,
        }
    }

    /// What is known and neither a list nor a map.
    pub fn scalar(&self) -> Option<&Value> {
        match self {
            Self::Value(value) => Some(value),
            _ => None,
        }
    }

    pub fn items(&self) -> Option<&[Self]> {
        match self {
            Self::List(items) => Some(items),
            Self::Value(value) if value.is_null() => Some(&[]),
            _ => None,
        }
    }

    pub fn entries(&self) -> Option<&IndexMap<String, Self>> {
        match self {
            Self::Map(entries) => Some(entries),
            _ => None,
        }
    }
}

impl Expression {
    /// What can be told of the value, if there is to be one at all, where the values of some parameters are `open`.
    pub fn foreseen(&self, references: &dyn References, open: &HashSet<String>) -> Option<Foreseen> {
        Foreseer { references, open }.look(self)
    }
}

struct Foreseer<'a> {
    references: &'a dyn References,
    open: &'a HashSet<String>,
}

impl Foreseer<'_> {
    fn look(&self, expression: &Expression) -> Option<Foreseen> {
        Some(match expression {
            Expression::Absent => return None,
            Expression::Scalar(value) => Foreseen::Value(value.clone()),
            Expression::List(items) => {
                let items: Vec<Foreseen> = items.iter().filter_map(|item| self.look(item)).collect();
                if items.contains(&Foreseen::Unknown) {
                    Foreseen::Written
                } else {
                    Foreseen::List(items)
                }
            }
            Expression::Map(entries) => {
                let entries = entries.iter();
                Foreseen::Map(
                    entries
                        .filter_map(|(key, entry)| Some((key.clone(), self.look(entry)?)))
                        .collect(),
                )
            }
            Expression::Call(call) => return self.look_at_call(expression, call),
        })
    }

    fn look_at_call(&self, expression: &Expression, call: &Call) -> Option<Foreseen> {
        match call.function {
            // Which branch is left may have been decided by a value that is not the one.
            Function::If { .. } if !self.open.is_empty() => Some(Foreseen::Unknown),
            Function::If { .. } => self.look(&call.arguments),
            Function::GetResource => Some(match expression.resolve(self.references) {
                Ok(name) => Foreseen::Reference(name),
                Err(_) => Foreseen::Written,
            }),
            _ if !expression.needs_no_cloud() || self.is_open(expression) => Some(Foreseen::Written),
            _ => match expression.resolve_or_absent(self.references) {
                Ok(value) => value.map(Foreseen::from),
                Err(_) => Some(Foreseen::Written),
            },
        }
    }

    /// Whether a parameter without a settled value takes part, or a branch that such a one has chosen.
    fn is_open(&self, expression: &Expression) -> bool {
        if self.open.is_empty() {
            return false;
        }
        let mut is_open = false;
        expression.visit_calls(&mut |call| {
            is_open |= match call.function {
                Function::If { .. } => true,
                Function::GetParam | Function::ParamRef => match &call.arguments {
                    Expression::List(path) => path.first().and_then(Expression::as_text),
                    name => name.as_text(),
                }
                .is_none_or(|name| self.open.contains(name)),
                _ => false,
            };
        });
        is_open
    }
}
