//! Values that can be written into a schema: defaults, allowed values, bounds.
//!
//! `serde_json::Value` owns memory and so cannot stand in a `static`; a [`Literal`] can.

use serde_json::{Map, Value};

#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Literal<'s> {
    Null,
    Boolean(bool),
    Integer(i64),
    Float(f64),
    Text(&'s str),
    List(&'s [Literal<'s>]),
    Map(&'s [(&'s str, Literal<'s>)]),
    /// A value that lives elsewhere, for schemas that are read from a template.
    Borrowed(&'s Value),
}

impl Literal<'_> {
    pub fn to_value(&self) -> Value {
        match self {
            Self::Null => Value::Null,
            Self::Boolean(value) => Value::from(*value),
            Self::Integer(value) => Value::from(*value),
            Self::Float(value) => Value::from(*value),
            Self::Text(value) => Value::from(*value),
            Self::List(items) => Value::Array(items.iter().map(Literal::to_value).collect()),
            Self::Map(entries) => Value::Object(
                entries
                    .iter()
                    .map(|(key, value)| ((*key).to_owned(), value.to_value()))
                    .collect::<Map<_, _>>(),
            ),
            Self::Borrowed(value) => (*value).clone(),
        }
    }
}
