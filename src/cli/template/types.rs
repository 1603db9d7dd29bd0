//! What is known of the type of a resource.

use std::sync::Arc;

use super::nested::Nested;
use crate::plugins::inventory::KnownType;

#[derive(Clone)]
pub enum TypeInfo {
    Known(&'static KnownType),
    /// A template that could be read.
    Template(Arc<Nested>),
    /// A template elsewhere, or one that could not be read: nothing is known of it.
    Opaque,
    Unknown,
}

impl TypeInfo {
    pub fn has_attribute(&self, attribute: &str) -> bool {
        match self {
            Self::Known(known) => known.has_any_attribute || known.attributes.contains(&attribute),
            Self::Template(nested) => nested.has_attribute(attribute),
            Self::Opaque | Self::Unknown => true,
        }
    }

    pub fn attributes(&self) -> Vec<&str> {
        match self {
            Self::Known(known) => known.attributes.clone(),
            Self::Template(nested) => nested.attributes(),
            Self::Opaque | Self::Unknown => Vec::new(),
        }
    }
}
