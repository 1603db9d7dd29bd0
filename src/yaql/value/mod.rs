//! The values of expressions. JSON knows too few: a tuple is no list to Python, keys are values of any hashable kind, and
//! much is lazy.

mod collections;
mod compare;
mod conversion;
mod size;
mod text;

use std::rc::Rc;

use num_bigint::BigInt;

pub use collections::{Dict, Items, Set, View, ViewKind};
pub use compare::Key;

use super::context::Context;
use super::dates::{DateTime, TimeSpan};
use super::iteration::{Iter, Memory};
use super::library::ordering::Ordered;
use super::library::regex::Pattern;
use crate::python::number::PyNumber;

#[derive(Clone)]
pub enum Value {
    Null,
    Bool(bool),
    Number(PyNumber),
    Text(Rc<str>),
    Tuple(Rc<Items>),
    List(Rc<Items>),
    Dict(Rc<Dict>),
    Set(Rc<Set>),
    View(Rc<View>),
    Iterator(Iter),
    /// An iterator that remembers what it gave.
    Memory(Rc<Memory>),
    /// What `orderBy` gives: sorted when somebody looks.
    Ordered(Rc<Ordered>),
    DateTime(DateTime),
    TimeSpan(TimeSpan),
    Regex(Rc<Pattern>),
    Context(Context),
    /// `source => destination` where it is no keyword argument.
    Rule(Rc<(Value, Value)>),
    /// Where an argument was left out.
    NoValue,
}

impl Value {
    pub fn text(text: impl Into<Rc<str>>) -> Self {
        Self::Text(text.into())
    }

    pub fn int(integer: impl Into<BigInt>) -> Self {
        Self::Number(PyNumber::Int(integer.into()))
    }

    pub fn float(float: f64) -> Self {
        Self::Number(PyNumber::Float(float))
    }

    pub fn tuple(items: Vec<Value>) -> Self {
        Self::Tuple(Rc::new(Items::exactly(items)))
    }

    /// A list that was written down as it is.
    pub fn list(items: Vec<Value>) -> Self {
        Self::List(Rc::new(Items::exactly(items)))
    }

    /// A list to which the items were appended.
    pub fn appended(items: Vec<Value>) -> Self {
        Self::List(Rc::new(Items::appended(items)))
    }

    pub fn is_null(&self) -> bool {
        matches!(self, Self::Null)
    }

    pub fn is_given(&self) -> bool {
        !matches!(self, Self::NoValue)
    }

    /// `isinstance(value, Iterator)`
    pub fn is_iterator(&self) -> bool {
        matches!(self, Self::Iterator(_) | Self::Memory(_))
    }

    /// Everything that one can iterate over, except texts and dicts.
    pub fn is_iterable(&self) -> bool {
        self.is_iterator()
            || matches!(
                self,
                Self::Tuple(_) | Self::List(_) | Self::Set(_) | Self::View(_) | Self::Ordered(_)
            )
    }

    pub fn as_sequence(&self) -> Option<&Rc<Items>> {
        match self {
            Self::Tuple(items) | Self::List(items) => Some(items),
            _ => None,
        }
    }

    /// `isinstance(value, collections.abc.Set)`
    pub fn is_set(&self) -> bool {
        match self {
            Self::Set(_) => true,
            Self::View(view) => view.kind != ViewKind::Values,
            _ => false,
        }
    }

    /// Python's truth value.
    pub fn is_true(&self) -> bool {
        match self {
            Self::Null => false,
            Self::Bool(flag) => *flag,
            Self::Number(number) => !number.is_zero(),
            Self::Text(text) => !text.is_empty(),
            Self::Tuple(items) | Self::List(items) => !items.is_empty(),
            Self::Dict(dict) => !dict.is_empty(),
            Self::Set(set) => !set.is_empty(),
            Self::View(view) => !view.dict.is_empty(),
            Self::TimeSpan(span) => !span.is_zero(),
            _ => true,
        }
    }

    /// `type(value).__name__`
    pub fn class_name(&self) -> &'static str {
        match self {
            Self::Null => "NoneType",
            Self::Bool(_) => "bool",
            Self::Number(PyNumber::Int(_)) => "int",
            Self::Number(PyNumber::Float(_)) => "float",
            Self::Text(_) => "str",
            Self::Tuple(_) => "tuple",
            Self::List(_) => "list",
            Self::Dict(dict) if dict.is_frozen => "FrozenDict",
            Self::Dict(_) => "dict",
            Self::Set(set) if set.is_frozen => "frozenset",
            Self::Set(_) => "set",
            Self::View(view) => view.class_name(),
            Self::Iterator(iterator) => iterator.class().name(),
            Self::Memory(_) => "RememberingIterator",
            Self::Ordered(_) => "OrderingIterable",
            Self::DateTime(_) => "datetime.datetime",
            Self::TimeSpan(_) => "datetime.timedelta",
            Self::Regex(_) => "re.Pattern",
            Self::Context(_) => "Context",
            Self::Rule(_) => "MappingRule",
            Self::NoValue => "MarkerClass",
        }
    }

    /// `str(type(value))`
    pub fn class_repr(&self) -> String {
        let module = match self {
            Self::Dict(dict) if dict.is_frozen => "yaql.language.utils.",
            Self::View(view) if view.dict.is_frozen => "collections.abc.",
            Self::Memory(_) => "yaql.language.utils.memorize.<locals>.",
            Self::Ordered(_) => "yaql.standard_library.queries.",
            Self::Context(_) => "yaql.language.contexts.",
            _ => "",
        };
        format!("<class '{module}{}'>", self.class_name())
    }

    /// How many values are inside each other here. It is kept below a bound, because everything that looks into a value,
    /// and the end of the value as well, takes stack for each level.
    pub(super) fn nesting(&self) -> u32 {
        match self {
            Self::Tuple(items) | Self::List(items) => items.nesting,
            Self::Dict(dict) => dict.nesting,
            Self::Set(set) => set.nesting,
            Self::View(view) => view.dict.nesting + 1,
            Self::Iterator(iterator) => iterator.nesting(),
            Self::Memory(memory) => memory.nesting(),
            Self::Ordered(ordered) => ordered.nesting(),
            Self::Context(context) => context.nesting(),
            Self::Rule(rule) => 1 + rule.0.nesting().max(rule.1.nesting()),
            _ => 0,
        }
    }
}

/// The nesting of something that holds these values.
pub(super) fn nesting_around<'a>(values: impl IntoIterator<Item = &'a Value>) -> u32 {
    1 + values.into_iter().map(Value::nesting).max().unwrap_or(0)
}

impl From<bool> for Value {
    fn from(flag: bool) -> Self {
        Self::Bool(flag)
    }
}

impl From<PyNumber> for Value {
    fn from(number: PyNumber) -> Self {
        Self::Number(number)
    }
}

impl From<&str> for Value {
    fn from(text: &str) -> Self {
        Self::text(text)
    }
}

impl From<String> for Value {
    fn from(text: String) -> Self {
        Self::text(text)
    }
}

impl From<Option<Value>> for Value {
    fn from(value: Option<Value>) -> Self {
        value.unwrap_or(Self::Null)
    }
}

impl std::fmt::Debug for Value {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(&self.repr())
    }
}
