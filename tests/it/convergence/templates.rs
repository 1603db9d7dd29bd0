//! Templates of resources that need no service.

use std::collections::BTreeSet;

use heat_engine::plugins::TYPES;
use serde_json::{Map, Value, json};

pub fn template(resources: Value) -> Value {
    json!({"heat_template_version": "2018-08-31", "resources": resources})
}

/// An `OS::Heat::TestResource`.
pub fn test(properties: Value) -> Value {
    json!({"type": "OS::Heat::TestResource", "properties": properties})
}

pub fn test_after(properties: Value, required: &[&str]) -> Value {
    let mut resource = test(properties);
    resource["depends_on"] = required.into();
    resource
}

/// A resource of each type that the engine makes itself. Another round updates some of them and replaces others.
pub fn of_every_type(round: u32) -> Value {
    let text = round.to_string();
    template(json!({
        "delay": {"type": "OS::Heat::Delay", "properties": {"min_wait": 0.01 * f64::from(round)}},
        "none": {"type": "OS::Heat::None", "properties": {"of": text}},
        "random": {"type": "OS::Heat::RandomString", "properties": {"length": 8 + round}, "depends_on": ["delay", "none"]},
        "test": test(json!({"value": text})),
        "value": {"type": "OS::Heat::Value", "properties": {"type": "string", "value": {"get_attr": ["test", "output"]}}},
        "project": {"type": "OS::Keystone::Project", "properties": {"description": text}},
        "user": {"type": "OS::Keystone::User", "properties": {
            "description": text,
            "roles": [{"role": "member", "project": {"get_resource": "project"}}],
        }},
    }))
}

/// A type that nobody tries is a type that nobody knows.
#[test]
fn every_type_is_tried() {
    let Value::Object(resources) = of_every_type(1)["resources"].take() else {
        panic!("resources are a map");
    };
    let tried = resources.values().filter_map(|resource| resource["type"].as_str());
    let there_are = TYPES.iter().map(|there_is| there_is.name);
    assert_eq!(tried.collect::<BTreeSet<_>>(), there_are.collect::<BTreeSet<_>>());
}

/// `count` independent resources, `r0` and so on.
pub fn flat(count: usize, properties: &Value) -> Value {
    let resources = (0..count).map(|number| (format!("r{number}"), test(properties.clone())));
    template(Value::Object(resources.collect()))
}

/// A diamond on a random text, and a chain of five. Another round updates all but the random text, and replaces `right`
/// of the diamond and `chain2`.
pub fn knot(round: u32) -> Value {
    let mut resources = Map::new();
    let mut add = |name: &str, resource: Value| resources.insert(name.to_owned(), resource);
    add(
        "top",
        json!({"type": "OS::Heat::RandomString", "properties": {"length": 16}}),
    );
    let of_top = joined("-", &[json!({"get_attr": ["top", "value"]}), json!(round.to_string())]);
    add("left", test(json!({"value": of_top})));
    add(
        "right",
        test(json!({"value": of_top, "update_replace_value": round.to_string()})),
    );
    let of_both = joined(
        ",",
        &[
            json!({"get_attr": ["left", "output"]}),
            json!({"get_attr": ["right", "output"]}),
        ],
    );
    add("bottom", test(json!({"value": of_both})));
    add("chain0", test(json!({"value": round.to_string()})));
    for number in 1..5 {
        let before = json!({"get_attr": [format!("chain{}", number - 1), "output"]});
        let mut properties = json!({"value": joined("", &[before, json!("x")])});
        if number == 2 {
            properties["update_replace_value"] = round.to_string().into();
        }
        add(&format!("chain{number}"), test(properties));
    }
    template(Value::Object(resources))
}

/// A [`knot`], and one resource after twenty.
pub fn web(round: u32) -> Value {
    let mut template = knot(round);
    let fan: Vec<String> = (0..20).map(|number| format!("fan{number}")).collect();
    for name in &fan {
        template["resources"][name] = test(json!({"value": round.to_string()}));
    }
    let fan: Vec<&str> = fan.iter().map(String::as_str).collect();
    template["resources"]["handle"] = test_after(json!({"value": round.to_string()}), &fan);
    template
}

fn joined(separator: &str, parts: &[Value]) -> Value {
    json!({"list_join": [separator, parts]})
}
