//! `==`, and what can be a key.

use std::cmp::Ordering;
use std::hash::{DefaultHasher, Hash, Hasher};
use std::rc::Rc;

use super::{Value, ViewKind};
use crate::python::hash::{frozenset_hash, number_hash, tuple_hash};
use crate::python::number::PyNumber;
use crate::yaql::error::Error;

impl Value {
    /// Python's `==`.
    pub fn equals(&self, other: &Value) -> bool {
        match (self, other) {
            (Self::Null, Self::Null) | (Self::NoValue, Self::NoValue) => true,
            (Self::Text(left), Self::Text(right)) => left == right,
            (Self::Tuple(left), Self::Tuple(right)) | (Self::List(left), Self::List(right)) => {
                Rc::ptr_eq(left, right)
                    || (left.len() == right.len()
                        && left.iter().zip(right.iter()).all(|(left, right)| left.equals(right)))
            }
            (Self::Dict(left), Self::Dict(right)) => {
                Rc::ptr_eq(left, right)
                    || (left.len() == right.len()
                        && left.iter().all(|(key, value)| {
                            right
                                .get(key)
                                .is_ok_and(|found| found.is_some_and(|found| value.equals(found)))
                        }))
            }
            (Self::Set(left), Self::Set(right)) => left.len() == right.len() && left.is_subset(right),
            (Self::DateTime(left), Self::DateTime(right)) => left.compare(right) == Some(Ordering::Equal),
            (Self::TimeSpan(left), Self::TimeSpan(right)) => left == right,
            (Self::Regex(left), Self::Regex(right)) => left == right,
            (Self::Set(_) | Self::View(_), Self::Set(_) | Self::View(_)) if self.is_set() && other.is_set() => {
                let (left, right) = (self.set_items(), other.set_items());
                left.len() == right.len() && left.iter().all(|item| right.iter().any(|other| item.equals(other)))
            }
            _ => match (self.as_number(), other.as_number()) {
                (Some(left), Some(right)) => left.equals(&right),
                (None, None) => self.identity().is_some() && self.identity() == other.identity(),
                _ => false,
            },
        }
    }

    /// The number that Python sees in it: `True` and `False` are integers too.
    pub fn as_number(&self) -> Option<PyNumber> {
        match self {
            Self::Number(number) => Some(number.clone()),
            Self::Bool(flag) => Some(PyNumber::Int(u8::from(*flag).into())),
            _ => None,
        }
    }

    /// The items of a set or of a view that is one.
    pub fn set_items(&self) -> Vec<Value> {
        match self {
            Self::Set(set) => set.values(),
            Self::View(view) => view.values(),
            _ => Vec::new(),
        }
    }

    /// Where it is in memory, for what Python compares by nothing else.
    fn identity(&self) -> Option<usize> {
        match self {
            Self::Iterator(iterator) => Some(iterator.identity()),
            Self::Memory(memory) => Some(Rc::as_ptr(memory).addr()),
            Self::Ordered(ordered) => Some(Rc::as_ptr(ordered).addr()),
            Self::View(view) if view.kind == ViewKind::Values => Some(Rc::as_ptr(view).addr()),
            Self::Context(context) => Some(context.identity()),
            Self::Rule(rule) => Some(Rc::as_ptr(rule).addr()),
            _ => None,
        }
    }

    /// The hash, and whether Python's own is the same in every process.
    fn hashed(&self) -> Result<(i64, bool), Error> {
        let unknown = |hasher: DefaultHasher| Ok((hasher.finish() as i64, false));
        let mut hasher = DefaultHasher::new();
        match self {
            Self::Number(_) | Self::Bool(_) => Ok((self.as_number().map_or(0, |number| number_hash(&number)), true)),
            Self::Tuple(items) => {
                let hashes = items.iter().map(Value::hashed).collect::<Result<Vec<_>, _>>()?;
                let is_known = hashes.iter().all(|(_, is_known)| *is_known);
                Ok((tuple_hash(hashes.into_iter().map(|(hash, _)| hash)), is_known))
            }
            Self::Set(set) if set.is_frozen => {
                let keys = set.keys();
                let is_known = keys.iter().all(|key| key.has_known_hash());
                Ok((frozenset_hash(keys.into_iter().map(Key::hash)), is_known))
            }
            Self::Dict(dict) if dict.is_frozen => {
                let mut hash = 0;
                for (key, value) in dict.iter() {
                    let pair = [key.hashed()?.0, value.hashed()?.0];
                    hash ^= tuple_hash(pair.into_iter());
                }
                Ok((hash, false))
            }
            Self::Text(text) => {
                text.hash(&mut hasher);
                unknown(hasher)
            }
            Self::TimeSpan(span) => {
                let parts = [span.days(), span.seconds(), span.microseconds()];
                Ok((tuple_hash(parts.into_iter()), true))
            }
            Self::DateTime(moment) => {
                moment.hash_as_instant(&mut hasher);
                unknown(hasher)
            }
            Self::Regex(pattern) => {
                pattern.source().hash(&mut hasher);
                unknown(hasher)
            }
            Self::Null | Self::NoValue => {
                std::mem::discriminant(self).hash(&mut hasher);
                unknown(hasher)
            }
            other => match other.identity() {
                Some(identity) => {
                    identity.hash(&mut hasher);
                    unknown(hasher)
                }
                None => Err(Error::type_error(format!("unhashable type: '{}'", other.class_name()))),
            },
        }
    }
}

/// A value that can be a key of a dict or a member of a set.
#[derive(Clone)]
pub struct Key {
    value: Value,
    hash: i64,
    has_known_hash: bool,
}

impl Key {
    /// Fails for what Python cannot hash.
    pub fn new(value: Value) -> Result<Self, Error> {
        let (hash, has_known_hash) = value.hashed()?;
        Ok(Self {
            value,
            hash,
            has_known_hash,
        })
    }

    pub fn value(&self) -> &Value {
        &self.value
    }

    pub fn hash(&self) -> i64 {
        self.hash
    }

    pub fn has_known_hash(&self) -> bool {
        self.has_known_hash
    }
}

impl PartialEq for Key {
    fn eq(&self, other: &Self) -> bool {
        self.hash == other.hash && self.value.equals(&other.value)
    }
}

impl Eq for Key {}

impl Hash for Key {
    fn hash<H: Hasher>(&self, state: &mut H) {
        state.write_i64(self.hash);
    }
}
