//! The table of resource types against the oracle's: which there are, and what the schema of each says.

use std::collections::BTreeMap;

use heat_engine::plugins::TYPES;
use heat_engine::python::json::dumps;
use heat_engine::resource::attributes::names;
use heat_engine::resource::schema::sanity_errors;

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
fn every_schema_is_the_oracles() {
    let type_names: Vec<&str> = TYPES.iter().map(|resource_type| resource_type.name).collect();
    let expected = Lab::get().python_json(include_str!("oracle.py"), &type_names);
    for (resource_type, expected) in TYPES.iter().zip(expected.as_array().unwrap()) {
        let ours = resource_type.to_api(true);
        assert_eq!(dumps(&ours), dumps(expected), "{}", resource_type.name);
    }
}
