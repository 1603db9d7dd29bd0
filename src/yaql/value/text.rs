//! `repr()` and `str()` of values. Python shows where objects are in memory; here an object has no address.

use super::{Set, Value};
use crate::python::PythonError;
use crate::python::number::PyNumber;
use crate::python::repr::repr_text;
use crate::yaql::error::Error;

/// Python writes no integer with more digits.
const MOST_DIGITS: u64 = 4300;

impl Value {
    pub fn repr(&self) -> String {
        let mut text = String::new();
        self.write(&mut text);
        text
    }

    /// `str(value)`, for messages.
    pub fn to_text(&self) -> String {
        match self {
            Self::Text(text) => text.to_string(),
            Self::DateTime(moment) => moment.to_string(),
            Self::TimeSpan(span) => span.to_string(),
            other => other.repr(),
        }
    }

    /// `str(value)`, with Python's refusal to write very long integers.
    pub fn checked_text(&self) -> Result<String, Error> {
        if self.has_too_long_integer() {
            return Err(PythonError::value_error(
                "Exceeds the limit (4300 digits) for integer string conversion; use sys.set_int_max_str_digits() to \
                 increase the limit",
            )
            .into());
        }
        Ok(self.to_text())
    }

    fn has_too_long_integer(&self) -> bool {
        match self {
            // Between three and four bits make a digit.
            Self::Number(PyNumber::Int(integer)) => {
                let bits = integer.bits();
                bits > MOST_DIGITS * 4
                    || bits > MOST_DIGITS * 3 && integer.magnitude().to_string().len() as u64 > MOST_DIGITS
            }
            Self::Tuple(items) | Self::List(items) => items.iter().any(Self::has_too_long_integer),
            Self::Dict(dict) => dict
                .iter()
                .any(|(key, value)| key.has_too_long_integer() || value.has_too_long_integer()),
            Self::Set(set) => set.keys().iter().any(|key| key.value().has_too_long_integer()),
            Self::View(view) => Self::Dict(view.dict.clone()).has_too_long_integer(),
            _ => false,
        }
    }

    fn write(&self, text: &mut String) {
        match self {
            Self::Null => text.push_str("None"),
            Self::Bool(true) => text.push_str("True"),
            Self::Bool(false) => text.push_str("False"),
            Self::Number(number) => text.push_str(&number.text()),
            Self::Text(string) => text.push_str(&repr_text(string)),
            Self::Tuple(items) => match items.as_ref().as_ref() {
                [only] => {
                    text.push('(');
                    only.write(text);
                    text.push_str(",)");
                }
                items => write_items(text, "(", items, ")"),
            },
            Self::List(items) => write_items(text, "[", items.iter(), "]"),
            Self::Dict(dict) => {
                text.push('{');
                for (index, (key, value)) in dict.iter().enumerate() {
                    separate(text, index);
                    key.write(text);
                    text.push_str(": ");
                    value.write(text);
                }
                text.push('}');
            }
            Self::Set(set) => write_set(text, set),
            Self::View(view) => {
                text.push_str(view.class_name());
                text.push('(');
                if view.dict.is_frozen {
                    Self::Dict(view.dict.clone()).write(text);
                } else {
                    write_items(text, "[", &view.values(), "]");
                }
                text.push(')');
            }
            Self::Iterator(iterator) => text.push_str(&iterator.class().repr()),
            Self::Memory(_) => {
                text.push_str("<yaql.language.utils.memorize.<locals>.RememberingIterator object>");
            }
            Self::Ordered(_) => text.push_str("<yaql.standard_library.queries.OrderingIterable object>"),
            Self::DateTime(moment) => text.push_str(&moment.repr()),
            Self::TimeSpan(span) => text.push_str(&span.repr()),
            Self::Regex(pattern) => text.push_str(&pattern.repr()),
            Self::Context(_) => text.push_str("<yaql.language.contexts.Context object>"),
            Self::Rule(_) => text.push_str("<yaql.language.utils.MappingRule object>"),
            Self::NoValue => text.push_str("<NoValue>"),
        }
    }
}

fn separate(text: &mut String, index: usize) {
    if index > 0 {
        text.push_str(", ");
    }
}

fn write_items<'a>(text: &mut String, open: &str, items: impl IntoIterator<Item = &'a Value>, close: &str) {
    text.push_str(open);
    for (index, item) in items.into_iter().enumerate() {
        separate(text, index);
        item.write(text);
    }
    text.push_str(close);
}

fn write_set(text: &mut String, set: &Set) {
    let values = set.values();
    match (set.is_frozen, values.is_empty()) {
        (true, true) => text.push_str("frozenset()"),
        (false, true) => text.push_str("set()"),
        (true, false) => write_items(text, "frozenset({", &values, "})"),
        (false, false) => write_items(text, "{", &values, "}"),
    }
}
