//! What is known of a template that has been looked at, and of the types of its resources.

use std::sync::Arc;

use indexmap::IndexMap;
use serde_json::{Map, Value};

use super::problem::Problem;
use crate::plugins::inventory::KnownType;
use crate::template::{StackDefinition, Template};

/// A template that has been looked at.
pub struct Checked {
    pub template: Template,
    /// As far as it makes sense.
    pub definition: Option<StackDefinition>,
    /// By resource.
    pub types: IndexMap<String, TypeInfo>,
    pub members: Members,
}

impl Checked {
    pub fn output_names(&self) -> Vec<&str> {
        let outputs = self.template.body().get(self.template.keywords().outputs);
        let outputs = outputs.and_then(Value::as_object);
        outputs.into_iter().flat_map(Map::keys).map(String::as_str).collect()
    }
}

/// The members of groups, by the place of the properties of a group, and its type.
pub type Members = IndexMap<(String, &'static str), Vec<Member>>;

/// What is known of the type of members of a group.
pub struct Member {
    /// The type as it is written.
    pub written: String,
    pub info: TypeInfo,
    /// What is wrong with the type, unless the group has no members.
    pub problems: Vec<Problem>,
}

/// Members with their places, of those of one type only the first.
pub fn one_of_each_type<'m>(members: impl Iterator<Item = (usize, &'m Member)>) -> Vec<(usize, &'m Member)> {
    let mut found: Vec<(usize, &Member)> = Vec::new();
    for (place, member) in members {
        if !found.iter().any(|(_, before)| before.info.is_same(&member.info)) {
            found.push((place, member));
        }
    }
    found
}

/// What is known of the type of a resource.
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
    /// Whether nothing is known of one that is not of the other.
    pub fn is_same(&self, other: &Self) -> bool {
        match (self, other) {
            (Self::Known(known), Self::Known(other)) => known.name == other.name,
            (Self::Template(nested), Self::Template(other)) => Arc::ptr_eq(nested, other),
            (Self::Opaque, Self::Opaque) | (Self::Unknown, Self::Unknown) => true,
            _ => false,
        }
    }

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

/// A template that is the type of a resource.
pub struct Nested {
    pub file: String,
    /// As it is without the values that a resource gives it.
    pub checked: Option<Checked>,
}

impl Nested {
    pub fn has_attribute(&self, attribute: &str) -> bool {
        // An attribute `resource.NAME` leads into the nested stack.
        self.checked.is_none() || attribute.starts_with("resource.") || self.attributes().contains(&attribute)
    }

    pub fn attributes(&self) -> Vec<&str> {
        let outputs = self.checked.as_ref().map(Checked::output_names).unwrap_or_default();
        outputs.into_iter().chain(["show", "OS::stack_id"]).collect()
    }
}
