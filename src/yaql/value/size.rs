//! `sys.getsizeof` of a value, which is what the memory quota counts.

use super::{Dict, Value};
use crate::python::number::PyNumber;
use crate::python::size;

impl Value {
    pub(in crate::yaql) fn size(&self) -> usize {
        match self {
            Self::Null => size::NONE,
            Self::Bool(_) => size::BOOL,
            Self::Number(PyNumber::Int(integer)) => size::integer(integer),
            Self::Number(PyNumber::Float(_)) => size::FLOAT,
            Self::Text(text) => size::text(text),
            Self::Tuple(items) => size::tuple(items.len()),
            Self::List(items) => size::list(items.allocated),
            Self::Dict(dict) => dict.size(),
            Self::Set(set) => size::set(set.capacity()),
            Self::View(_) | Self::TimeSpan(_) => 40,
            Self::Iterator(iterator) => iterator.class().size(),
            Self::DateTime(_) => 48,
            Self::Regex(pattern) => pattern.size(),
            Self::Memory(_) | Self::Ordered(_) | Self::Context(_) | Self::Rule(_) | Self::NoValue => size::INSTANCE,
        }
    }
}

impl Dict {
    /// Of a frozen dict only the wrapper counts.
    pub(in crate::yaql) fn size(&self) -> usize {
        if self.is_frozen {
            size::INSTANCE
        } else {
            size::dict(self.len(), self.has_only_text_keys)
        }
    }
}
