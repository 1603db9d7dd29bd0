//! A resource's properties: what the template gives, as values that the type's schema vouches for.
use indexmap::IndexMap;
use serde_json::{Map, Value};
use std::borrow::Cow;
use std::collections::BTreeSet;

use super::constraints::CustomConstraints;
use super::schema::Property;
use super::translation::{NameFinder, TranslationRule};
use crate::exception::RemoteException;

/// A property as the template gives it, its functions resolved as far as they can be.
#[derive(Clone, Debug, PartialEq)]
pub enum Given {
    Value(Value),
    /// A value that depends on resources that do not exist yet: its type counts, its constraints do not.
    Unsettled(Value),
    /// A function that says "as if nothing were written here".
    Absent,
    /// A function that cannot be resolved, and why.
    Failed(String),
}

/// Properties that do not fit their schema. The text is the oracle's, `Property error: properties.size: …`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PropertyError {
    pub path: Vec<String>,
    pub message: String,
}
