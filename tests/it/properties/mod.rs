//! Properties, constraints, translation and attribute paths, each probe answered by our code and by the oracle's.

mod probes;

use std::path::PathBuf;

use async_trait::async_trait;
use heat_engine::python::json::dumps;
use heat_engine::python::repr::to_text;
use heat_engine::resource::attributes::select;
use heat_engine::resource::constraints::CustomConstraints;
use heat_engine::resource::properties::{Depth, Names, Properties};
use heat_engine::resource::schema::{Inside, Property};
use heat_engine::resource::translation::{Finder, NameFinder, Source, Translate, TranslationRule};
use serde_json::{Map, Value, json};

use crate::lab::Lab;
use probes::Probe;

/// Knows everything whose name does not begin with "bad", as the oracle's half of the test does.
struct Services;

#[async_trait]
impl CustomConstraints for Services {
    async fn validate(&self, name: &str, value: &Value) -> Result<(), String> {
        let text = to_text(value);
        if name != "known" {
            return Err(format!("\"{text}\" does not validate {name} (constraint not found)"));
        }
        let values = value.as_array().map_or(std::slice::from_ref(value), Vec::as_slice);
        if values.iter().any(|value| to_text(value).starts_with("bad")) {
            return Err(format!("Error validating value '{text}': there is no such thing"));
        }
        Ok(())
    }
}

#[async_trait]
impl NameFinder for Services {
    async fn find(&self, finder: &Finder, name: &Value) -> Result<Value, String> {
        let name = to_text(name);
        if name.starts_with("bad") {
            return Err(format!("there is no {name}"));
        }
        Ok(match finder.entity {
            Some(entity) => format!("id-of-{entity}-{name}"),
            None => format!("id-of-{name}"),
        }
        .into())
    }
}

#[tokio::test]
async fn properties_are_read_as_the_oracle_reads_them() {
    let probes = probes::all();
    assert!(probes.len() >= 120, "{} probes", probes.len());
    let asked: Vec<Value> = probes.iter().map(probe_to_json).collect();
    let expected = ask_oracle(&asked);
    let mut differing = Vec::new();
    for ((probe, asked), expected) in probes.iter().zip(&asked).zip(&expected) {
        let ours = answer(probe).await;
        if dumps(&ours) != dumps(expected) {
            let asked = ["given", "before", "names"].map(|part| dumps(&asked[part])).join(" ");
            differing.push(format!(
                "{asked}\n   ours: {}\n oracle: {}",
                dumps(&ours),
                dumps(expected)
            ));
        }
    }
    assert!(
        differing.is_empty(),
        "{} differ:\n{}",
        differing.len(),
        differing.join("\n")
    );
}

#[test]
fn attribute_paths_lead_where_the_oracle_goes() {
    let value = json!({"a": [{"b": "xyz"}, [1, 2.5]], "1": null, "t": true, "n": 7});
    let paths = [
        json!([]),
        json!(["a"]),
        json!(["a", 0]),
        json!(["a", -1, 1]),
        json!(["a", true, false]),
        json!(["a", "0"]),
        json!(["a", 2]),
        json!(["a", -3]),
        json!(["a", 0, "b"]),
        json!(["a", 0, "b", 1]),
        json!(["a", 0, "b", -4]),
        json!(["a", 0, "b", "x"]),
        json!(["a", 1.0]),
        json!(["a", null]),
        json!([1]),
        json!(["1"]),
        json!(["1", 0]),
        json!(["t", 0]),
        json!(["n", 0]),
        json!(["missing", "further"]),
    ];
    let asked: Vec<Value> = paths
        .iter()
        .map(|path| json!({"select": value, "path": path}))
        .collect();
    for (path, expected) in paths.iter().zip(ask_oracle(&asked)) {
        let steps = path.as_array().unwrap();
        assert_eq!(select(&value, steps), expected, "{path}");
    }
}

fn ask_oracle(probes: &[Value]) -> Vec<Value> {
    let file = tempfile();
    std::fs::write(&file, dumps(&json!(probes))).unwrap();
    let answers = Lab::get().python_json(include_str!("oracle.py"), &[file.to_str().unwrap()]);
    std::fs::remove_file(&file).unwrap();
    answers.as_array().unwrap().clone()
}

fn tempfile() -> PathBuf {
    let thread = format!("{:?}", std::thread::current().id());
    let unique: String = thread.chars().filter(char::is_ascii_digit).collect();
    std::env::temp_dir().join(format!("heat-probes-{}-{unique}.json", std::process::id()))
}

async fn properties_of(probe: &Probe, given: &Value) -> Properties {
    let mut properties =
        Properties::stored(probe.schema, given.as_object().unwrap().clone()).described("of the resource");
    properties.translate(probe.rules, probe.names);
    properties.find_names(&Services).await;
    properties
}

async fn answer(probe: &Probe) -> Value {
    let properties = properties_of(probe, &probe.given).await;
    if let Some(before) = &probe.before {
        let before = properties_of(probe, before).await;
        return compare(&properties, &before);
    }
    let mut values = Map::new();
    for property in probe.schema {
        values.insert(property.name.into(), outcome(properties.get(property.name)));
    }
    json!({
        "values": values,
        "valid": outcome(properties.validate(Depth::Values, &Services).await),
        "names_valid": outcome(properties.validate(Depth::Names, &Services).await),
    })
}

fn compare(after: &Properties, before: &Properties) -> Value {
    let changed = match after.changed_since(before) {
        Ok(changed) => changed,
        Err(error) => return json!({"error": error.to_string()}),
    };
    if let Err(refusal) = after.refuse_immutable(&changed, "probe", "Our::Probe") {
        return json!({"error": refusal.to_string()});
    }
    if after.can_update(&changed) {
        json!({"value": changed})
    } else {
        json!({"replace": true})
    }
}

fn outcome<T: serde::Serialize>(outcome: Result<T, impl std::fmt::Display>) -> Value {
    match outcome {
        Ok(value) => json!({"value": value}),
        Err(error) => json!({"error": error.to_string()}),
    }
}

fn probe_to_json(probe: &Probe) -> Value {
    let mut shown = json!({
        "schema": schemata_to_json(probe.schema),
        "rules": probe.rules.iter().map(rule_to_json).collect::<Vec<_>>(),
        "names": match probe.names {
            Names::AsGiven => "as given",
            Names::Found => "found",
            Names::FoundOrAsGiven => "found or as given",
        },
        "given": probe.given,
    });
    if let Some(before) = &probe.before {
        shown["before"] = before.clone();
    }
    shown
}

fn schemata_to_json(properties: &[Property]) -> Value {
    let shown = properties
        .iter()
        .map(|property| (property.name.to_owned(), schema_to_json(property)));
    Value::Object(shown.collect())
}

/// What the API shows of a property, and what it does not.
fn schema_to_json(property: &Property) -> Value {
    let mut shown = property.to_api();
    shown["implemented"] = property.implemented.into();
    shown["allow_conversion"] = property.allow_conversion.into();
    match property.inside {
        Inside::Anything => {}
        Inside::Items(item) => shown["schema"] = schemata_to_json(std::slice::from_ref(item)),
        Inside::Keys(keys) => shown["schema"] = schemata_to_json(keys),
    }
    shown
}

fn rule_to_json(rule: &TranslationRule) -> Value {
    let (name, source) = match rule.translate {
        Translate::Add(source) => ("Add", Some(source)),
        Translate::Replace(source) => ("Replace", Some(source)),
        Translate::Resolve(_) => ("Resolve", None),
        Translate::Delete => ("Delete", None),
    };
    let mut shown = json!({"rule": name, "path": rule.path});
    match source {
        None => {}
        Some(Source::Value(value)) => shown["value"] = value.to_value(),
        Some(Source::Path(path)) => shown["value_path"] = json!(path),
        Some(Source::Sibling(name)) => shown["value_name"] = json!(name),
        Some(Source::Inside(name, further)) => {
            shown["value_name"] = json!(name);
            shown["custom_value_path"] = json!(further);
        }
        Some(Source::Computed(_)) => panic!("the oracle cannot be told of this"),
    }
    if let Translate::Resolve(finder) = rule.translate {
        shown["finder"] = json!(if finder.entity.is_some() { "find_entity" } else { "find" });
        shown["entity"] = json!(finder.entity);
    }
    shown
}
