//! What types that this engine does not make check beyond their schemas: a table a service, for checks without a cloud.
//!
//! Rules of what the engine makes are in the file of the type.

mod aws;
mod barbican;
mod cinder;
mod heat;
mod keystone;
mod mistral;
mod neutron;
mod nova;
mod octavia;
mod others;
mod trove;

use indexmap::IndexMap;

use super::inventory::KnownType;
use super::{find, translations};
use crate::resource::properties::{Given, Names, Properties};
use crate::resource::rules::{Facts, Neighbours, Rule};
use crate::resource::translation::TranslationRule;
use crate::template::Foreseen;

/// Types by name, and their rules.
type Table = &'static [(&'static str, &'static [Rule])];

static TABLES: [Table; 11] = [
    aws::RULES,
    barbican::RULES,
    cinder::RULES,
    heat::RULES,
    keystone::RULES,
    mistral::RULES,
    neutron::RULES,
    nova::RULES,
    octavia::RULES,
    others::RULES,
    trove::RULES,
];

/// The rules of a type, whoever makes it.
pub fn of(type_name: &str) -> &'static [Rule] {
    if let Some(made) = find(type_name) {
        return made.rules;
    }
    let entries = TABLES.iter().flat_map(|table| table.iter());
    let mut rules = entries.filter(|(name, _)| *name == type_name).map(|(_, rules)| *rules);
    rules.next().unwrap_or_default()
}

/// The rules by which properties of a type stand for others.
fn translation_of(known: &KnownType) -> &'static [TranslationRule] {
    match find(known.name) {
        Some(made) => made.translation,
        None => translations::of(known.name),
    }
}

/// Makes properties what a type sees of them, as far as no service is needed.
pub fn shape(known: &KnownType, properties: &mut Properties) {
    if let Some(made) = find(known.name) {
        made.plugin.shape(properties);
    }
    properties.translate(translation_of(known), Names::AsGiven);
}

/// What is known of a resource of which so much is foreseen.
pub fn facts<'a>(
    known: &KnownType,
    resource: &'a str,
    foreseen: IndexMap<String, Foreseen>,
    neighbours: &'a dyn Neighbours,
) -> Facts<'a> {
    let given = foreseen.iter();
    let given = given.map(|(name, value)| (name.clone(), Given::Value(value.to_value())));
    let mut properties = Properties::new(known.properties, given.collect());
    shape(known, &mut properties);
    Facts::foreseen(resource, &properties, foreseen, translation_of(known), neighbours)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::plugins::inventory::types;
    use crate::resource::schema::{Inside, Property};

    fn inside<'s>(schema: &'s [Property<'static>], name: &str) -> Option<&'s [Property<'static>]> {
        let inside = schema.iter().find(|property| property.name == name)?.inside;
        match inside {
            Inside::Keys(keys) => Some(keys),
            Inside::Items(item) => match item.inside {
                Inside::Keys(keys) => Some(keys),
                _ => None,
            },
            Inside::Anything => None,
        }
    }

    fn check(type_name: &str, rules: &[Rule], schema: &[Property<'static>]) {
        for rule in rules {
            for (path, name) in rule.named() {
                let schema = path.map_or(Some(schema), |path| inside(schema, path));
                let is_known = schema.is_some_and(|schema| schema.iter().any(|property| property.name == name));
                assert!(is_known, "{type_name}: {name}");
            }
            if let Rule::Each(name, rules) = rule {
                check(type_name, rules, inside(schema, name).unwrap());
            }
        }
    }

    #[test]
    fn rules_are_about_properties_that_types_have() {
        for (name, rules) in TABLES.iter().flat_map(|table| table.iter()) {
            assert!(find(name).is_none(), "{name} has its rules in its file");
            check(name, rules, types()[name].properties);
        }
        for made in crate::plugins::TYPES {
            check(made.name, made.rules, made.properties);
        }
    }

    #[test]
    fn translations_are_about_properties_that_types_have() {
        for (name, rules) in translations::TRANSLATIONS {
            let schema = types()[name].properties;
            for rule in *rules {
                let has = |property: &str| schema.iter().any(|known| known.name == property);
                assert!(has(rule.path[0]), "{name}: {:?}", rule.path);
            }
        }
    }
}
