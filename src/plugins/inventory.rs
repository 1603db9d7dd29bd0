//! What the types of Heat look like, also those that this engine does not make: for checks without a cloud.
//!
//! `inventory.json` is recorded from the oracle (`tests/conformance/language/record_types.py`) and holds what counts in
//! a check: no descriptions. It is read when it is first asked for; a daemon never asks.

use std::collections::BTreeMap;
use std::sync::OnceLock;

use serde_json::{Map, Value};

use crate::resource::constraints::{Constraint, Rule};
use crate::resource::literal::Literal;
use crate::resource::schema::{ITEM, Inside, Property, PropertyType};
use crate::resource::support::{Support, SupportStatus};

#[derive(Debug)]
pub struct KnownType {
    pub name: &'static str,
    pub properties: &'static [Property<'static>],
    pub attributes: Vec<&'static str>,
    /// Its attributes depend on what is in it.
    pub has_any_attribute: bool,
    /// Its objects can be kept as snapshots when they are deleted.
    pub takes_snapshots: bool,
    pub support: Support,
}

impl KnownType {
    /// Placeholders for what is no more, such as `OS::Neutron::Pool`.
    pub fn takes_anything(&self) -> bool {
        self.properties.is_empty() && self.has_any_attribute
    }
}

/// All types by name.
pub fn types() -> &'static BTreeMap<&'static str, KnownType> {
    static TYPES: OnceLock<BTreeMap<&'static str, KnownType>> = OnceLock::new();
    TYPES.get_or_init(|| {
        // Kept for as long as the process lives, as the schemas that are written in Rust are.
        let recorded: &'static Value = Box::leak(Box::new(
            serde_json::from_str(include_str!("inventory.json")).unwrap_or_default(),
        ));
        entries(Some(recorded))
            .iter()
            .map(|(name, shown)| (name.as_str(), known_type(name, shown)))
            .collect()
    })
}

static NOTHING: OnceLock<Map<String, Value>> = OnceLock::new();

fn entries(value: Option<&'static Value>) -> &'static Map<String, Value> {
    value
        .and_then(Value::as_object)
        .unwrap_or_else(|| NOTHING.get_or_init(Map::new))
}

fn items(value: Option<&'static Value>) -> &'static [Value] {
    value.and_then(Value::as_array).map(Vec::as_slice).unwrap_or_default()
}

fn known_type(name: &'static str, shown: &'static Value) -> KnownType {
    KnownType {
        name,
        properties: properties(shown.get("properties")),
        attributes: items(shown.get("attributes"))
            .iter()
            .filter_map(Value::as_str)
            .collect(),
        has_any_attribute: shown.get("any_attribute").is_some(),
        takes_snapshots: shown.get("snapshot").is_some(),
        support: support(shown),
    }
}

fn support(shown: &Value) -> Support {
    let status = shown.get("status").and_then(Value::as_str);
    [
        Support::Deprecated,
        Support::Unsupported,
        Support::Hidden,
        Support::Unknown,
    ]
    .into_iter()
    .find(|known| status == Some(known.as_str()))
    .unwrap_or(Support::Supported)
}

fn properties(shown: Option<&'static Value>) -> &'static [Property<'static>] {
    let properties: Vec<Property<'static>> = entries(shown)
        .iter()
        .map(|(name, shown)| property(name, shown))
        .collect();
    properties.leak()
}

fn property(name: &'static str, shown: &'static Value) -> Property<'static> {
    let is = |key: &str| shown.get(key).and_then(Value::as_bool);
    let blank = match shown["type"].as_str().unwrap_or_default() {
        "integer" => Property::integer(name),
        "number" => Property::number(name),
        "boolean" => Property::boolean(name),
        "map" => Property::map(name),
        "list" => Property::list(name),
        "any" => Property::any(name),
        _ => Property::string(name),
    };
    Property {
        default: shown.get("default").map(Literal::Borrowed),
        inside: match blank.kind {
            PropertyType::List if shown.get("items").is_some() => {
                Inside::Items(Box::leak(Box::new(property(ITEM, &shown["items"]))))
            }
            PropertyType::Map if shown.get("keys").is_some() => Inside::Keys(properties(shown.get("keys"))),
            _ => Inside::Anything,
        },
        required: is("required").unwrap_or(false),
        constraints: items(shown.get("constraints"))
            .iter()
            .filter_map(constraint)
            .collect::<Vec<_>>()
            .leak(),
        update_allowed: is("update_allowed").unwrap_or(false),
        immutable: is("immutable").unwrap_or(false),
        implemented: is("implemented").unwrap_or(true),
        support: SupportStatus {
            status: support(shown),
            ..SupportStatus::always()
        },
        ..blank
    }
}

fn constraint(shown: &'static Value) -> Option<Constraint<'static>> {
    let (kind, rule) = entries(Some(shown)).iter().next()?;
    let bound = |key: &str| rule.get(key).map(Literal::Borrowed);
    let count = |key: &str| rule.get(key).and_then(Value::as_u64);
    let number = |key: &str| rule.get(key).and_then(Value::as_i64);
    let rule = match kind.as_str() {
        "length" => Rule::Length {
            min: count("min"),
            max: count("max"),
        },
        "range" => Rule::Range {
            min: bound("min"),
            max: bound("max"),
        },
        "modulo" => Rule::Modulo {
            step: number("step")?,
            offset: number("offset")?,
        },
        "allowed_values" => {
            let allowed: Vec<Literal> = items(Some(rule)).iter().map(Literal::Borrowed).collect();
            Rule::AllowedValues(allowed.leak())
        }
        "allowed_pattern" => Rule::AllowedPattern(rule.as_str()?),
        "custom_constraint" => Rule::Custom(rule.as_str()?),
        _ => return None,
    };
    Some(Constraint {
        rule,
        description: None,
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::plugins;

    #[test]
    fn every_type_and_every_constraint_is_read() {
        assert_eq!(types().len(), 201);
        let recorded: Value = serde_json::from_str(include_str!("inventory.json")).unwrap();
        let written = recorded.to_string().matches("\"constraints\"").count();
        fn with_constraints(properties: &[Property<'_>]) -> usize {
            let inside = |property: &Property<'_>| match property.inside {
                Inside::Anything => 0,
                Inside::Items(item) => with_constraints(std::slice::from_ref(item)),
                Inside::Keys(keys) => with_constraints(keys),
            };
            properties
                .iter()
                .map(|property| usize::from(!property.constraints.is_empty()) + inside(property))
                .sum()
        }
        let read: usize = types().values().map(|known| with_constraints(known.properties)).sum();
        assert_eq!(read, written);
    }

    #[test]
    fn what_the_engine_makes_is_the_same_in_both_tables() {
        for made in plugins::TYPES {
            let recorded = &types()[made.name];
            let mut ours: Vec<&str> = made.properties.iter().map(|property| property.name).collect();
            ours.sort_unstable();
            let mut theirs: Vec<&str> = recorded.properties.iter().map(|property| property.name).collect();
            theirs.sort_unstable();
            assert_eq!(ours, theirs, "{}", made.name);
        }
    }
}
