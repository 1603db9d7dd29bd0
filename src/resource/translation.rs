//! Rules that turn properties as users write them into properties as a type uses them: names into ids, old properties
//! into new ones.

use async_trait::async_trait;
use serde_json::Value;

use super::literal::Literal;
use super::properties::Properties;

/// What a rule does with the property at its path.
#[derive(Clone, Copy, Debug)]
pub enum Translate {
    /// Adds to a list.
    Add(Source),
    /// Takes a value from elsewhere in place of the property's own.
    Replace(Source),
    /// Asks a service for what the value names.
    Resolve(Finder),
    /// Drops the value.
    Delete,
}

/// Where a rule finds its value.
#[derive(Clone, Copy, Debug)]
pub enum Source {
    /// It is always the same.
    Value(Literal<'static>),
    /// It depends on the properties.
    Computed(fn(&Properties) -> Option<Value>),
    /// Another property, by its path from the top. It counts as replaced and has no value of its own any more.
    Path(&'static [&'static str]),
    /// A key beside the translated one, in the same map.
    Sibling(&'static str),
    /// The same, and a way further into it where no schema describes it.
    Inside(&'static str, &'static [&'static str]),
}

/// How a service is asked.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Finder {
    /// The client that knows; `None` for the type's own.
    pub service: Option<&'static str>,
    /// What the oracle calls the method, for example `get_domain_id`.
    pub name: &'static str,
    /// Finders for many kinds of object need to be told the kind.
    pub entity: Option<&'static str>,
}

#[derive(Clone, Copy, Debug)]
pub struct TranslationRule {
    /// The property, from the top; list positions are left out.
    pub path: &'static [&'static str],
    pub translate: Translate,
    /// The rule counts only when this says so; `None`: always.
    pub when: Option<fn(&Properties) -> bool>,
}

impl TranslationRule {
    const fn new(path: &'static [&'static str], translate: Translate) -> Self {
        assert!(!path.is_empty(), "a rule is about a property");
        Self {
            path,
            translate,
            when: None,
        }
    }

    pub const fn add(path: &'static [&'static str], source: Source) -> Self {
        Self::new(path, Translate::Add(source))
    }

    pub const fn replace(path: &'static [&'static str], source: Source) -> Self {
        Self::new(path, Translate::Replace(source))
    }

    pub const fn delete(path: &'static [&'static str]) -> Self {
        Self::new(path, Translate::Delete)
    }

    /// The value names an object of the type's own service.
    pub const fn resolve(path: &'static [&'static str], finder: &'static str) -> Self {
        Self::new(
            path,
            Translate::Resolve(Finder {
                service: None,
                name: finder,
                entity: None,
            }),
        )
    }

    /// Another service than the type's own is asked.
    pub const fn of_service(mut self, service: &'static str) -> Self {
        match &mut self.translate {
            Translate::Resolve(finder) => finder.service = Some(service),
            _ => panic!("only a resolving rule asks a service"),
        }
        self
    }

    /// The kind of object that is looked for.
    pub const fn entity(mut self, entity: &'static str) -> Self {
        match &mut self.translate {
            Translate::Resolve(finder) => finder.entity = Some(entity),
            _ => panic!("only a resolving rule looks for objects"),
        }
        self
    }

    pub const fn when(mut self, condition: fn(&Properties) -> bool) -> Self {
        self.when = Some(condition);
        self
    }
}

impl TranslationRule {
    pub(super) fn asks_a_service(&self) -> bool {
        matches!(self.translate, Translate::Resolve(_))
    }

    /// Rules about the same property take turns in this order.
    pub(super) fn turn(&self) -> u8 {
        match self.translate {
            Translate::Add(_) => 0,
            Translate::Replace(_) => 1,
            Translate::Resolve(_) => 2,
            Translate::Delete => 3,
        }
    }
}

impl Source {
    pub(super) fn is_a_property(&self) -> bool {
        !matches!(self, Self::Value(_) | Self::Computed(_))
    }

    /// The path of the property that the value comes from, for a rule about the property at `target`.
    pub(super) fn path_from_the_top(&self, target: &[&'static str]) -> Vec<&'static str> {
        let beside = || target.split_last().map_or(&[][..], |(_, parents)| parents);
        match self {
            Self::Value(_) | Self::Computed(_) => Vec::new(),
            Self::Path(path) => path.to_vec(),
            Self::Sibling(name) => [beside(), &[*name]].concat(),
            Self::Inside(name, further) => [beside(), &[*name], *further].concat(),
        }
    }
}

/// Asks services what a name stands for.
#[async_trait]
pub trait NameFinder: Send + Sync {
    /// The id of what is named; the error is the oracle's message.
    async fn find(&self, finder: &Finder, name: &Value) -> Result<Value, String>;
}
