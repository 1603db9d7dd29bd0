//! The table of resource types against the oracle's: which there are, and what the schema of each says.

use std::collections::BTreeMap;

use heat_engine::plugins::TYPES;
use heat_engine::python::json::dumps;
use heat_engine::resource::attributes::names;
use heat_engine::resource::provider_template::{Dialect, provider_template};
use heat_engine::resource::schema::{Property, PropertyType, sanity_errors};

use crate::lab::Lab;

/// All types of the oracle: name, module, support status, number of properties, of attributes, service.
const ORACLE_TYPES: &str = include_str!("resource_types.tsv");

fn oracle_types() -> BTreeMap<&'static str, Vec<&'static str>> {
    ORACLE_TYPES
        .lines()
        .map(|line| line.split('\t').collect::<Vec<_>>())
        .map(|fields| (fields[0], fields))
        .collect()
}

#[test]
fn every_type_is_one_of_the_oracles() {
    let oracle = oracle_types();
    assert_eq!(oracle.len(), 201);
    for resource_type in TYPES {
        let fields = &oracle[resource_type.name];
        let ours = [
            resource_type.support.status.as_str().to_owned(),
            resource_type.properties.len().to_string(),
            names(resource_type.attributes).count().to_string(),
            resource_type.service.unwrap_or_default().to_owned(),
        ];
        assert_eq!(ours.as_slice(), &fields[2..], "{}", resource_type.name);
    }
}

#[test]
fn no_schema_contradicts_itself() {
    for resource_type in TYPES {
        let errors = sanity_errors(resource_type.properties);
        assert!(errors.is_empty(), "{}: {errors:?}", resource_type.name);
    }
}

#[test]
fn every_type_is_told_of_as_the_oracle_tells_of_it() {
    let type_names: Vec<&str> = TYPES.iter().map(|resource_type| resource_type.name).collect();
    let expected = Lab::get().python_json(include_str!("oracle.py"), &type_names);
    for (resource_type, expected) in TYPES.iter().zip(expected.as_array().unwrap()) {
        let name = resource_type.name;
        assert_eq!(dumps(&resource_type.to_api(true)), dumps(&expected["schema"]), "{name}");
        for (dialect, expected) in [(Dialect::Hot, &expected["hot"]), (Dialect::Cfn, &expected["cfn"])] {
            let ours = provider_template(resource_type, dialect);
            // A property that may be anything is more than the oracle can make a parameter of.
            let may_be_anything = |property: &Property| property.kind == PropertyType::Any;
            assert_eq!(
                expected.is_null(),
                resource_type.properties.iter().any(may_be_anything),
                "{name}"
            );
            if !expected.is_null() {
                assert_eq!(dumps(&ours), dumps(expected), "{name}");
            }
        }
    }
}
