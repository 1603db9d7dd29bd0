//! From JSON to values and back.

use std::rc::Rc;

use serde_json::{Map, Value as Json};

use super::{Dict, Value};
use crate::python::number::PyNumber;

impl Value {
    /// Data as an expression sees it: lists are tuples, and nothing can be changed.
    pub fn from_json(json: &Json) -> Self {
        match json {
            Json::Null => Self::Null,
            Json::Bool(flag) => Self::Bool(*flag),
            Json::Number(number) => Self::Number(PyNumber::from_json(number)),
            Json::String(text) => Self::text(text.as_str()),
            Json::Array(items) => Self::tuple(items.iter().map(Self::from_json).collect()),
            Json::Object(entries) => {
                let pairs = entries
                    .iter()
                    .map(|(key, value)| (Self::text(key.as_str()), Self::from_json(value)));
                // Texts can always be keys.
                Self::Dict(Rc::new(Dict::frozen(pairs).unwrap_or_else(|_| Dict::new(true))))
            }
        }
    }

    /// A result as oslo.serialization would write it: what JSON does not know becomes text.
    pub fn to_json(&self) -> Json {
        match self {
            Self::Null => Json::Null,
            Self::Bool(flag) => Json::Bool(*flag),
            Self::Number(number) => number.to_json(),
            Self::Text(text) => Json::from(&**text),
            Self::Tuple(items) | Self::List(items) => Json::Array(items.iter().map(Self::to_json).collect()),
            Self::Set(set) => Json::Array(set.values().iter().map(Self::to_json).collect()),
            Self::Dict(dict) => {
                let entries = dict.iter().map(|(key, value)| (key.as_json_key(), value.to_json()));
                Json::Object(entries.collect::<Map<_, _>>())
            }
            Self::DateTime(moment) => Json::from(moment.format("%Y-%m-%dT%H:%M:%S.%f")),
            other => Json::from(other.to_text()),
        }
    }

    fn as_json_key(&self) -> String {
        match self {
            Self::Null => "null".to_owned(),
            Self::Bool(flag) => flag.to_string(),
            other => other.to_text(),
        }
    }
}
