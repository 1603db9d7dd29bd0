//! Whatever is wrong with a template, an author is told in words: looked at with the catalogue of probes, which raises every
//! error that a template or an environment can raise in Heat.

use std::path::PathBuf;

use serde_json::{Map, Value, json};

use super::check::Checker;
use super::inputs::Inputs;
use super::problem;
use super::source::Source;
use crate::python::json_reader::loads;

/// Words of Python's that say nothing to who writes templates.
const INNARDS: [&str; 34] = [
    "object is not",
    "object has no",
    "object does not",
    "NoneType",
    "<class",
    "unhashable",
    "to unpack",
    "unpack non",
    "indices must be",
    "index out of range",
    "int()",
    "float()",
    "iterable",
    "subscriptable",
    "str instance",
    "\\n  ",
    "'str'",
    "'dict'",
    "'list'",
    "'int'",
    "'float'",
    "'bool'",
    "replace() argument",
    "str or None",
    "_bytes()",
    "in unknown",
    "max: None",
    "min: None",
    "operand type",
    "not supported between",
    "recursion depth",
    "dictionary update sequence",
    "convert string to float",
    "\"#",
];

fn catalogue(text: &str) -> Vec<Value> {
    loads(text)
        .expect("JSON")
        .as_array()
        .cloned()
        .expect("a list of probes")
}

/// Template, environments and files of a probe as texts; `None` for what is about something else.
fn texts(probe: &Value) -> Option<(String, Vec<String>)> {
    let kind = probe.get("kind").and_then(Value::as_str).unwrap_or("stack");
    let environment = |value: &Value| value.is_object().then(|| value.to_string()).into_iter().collect();
    match kind {
        "stack" => Some((template(probe).to_string(), environment(&probe["environment"]))),
        "text" if probe["as"] == "environment" => {
            Some((nothing().to_string(), vec![probe["text"].as_str()?.to_owned()]))
        }
        "text" => Some((probe["text"].as_str()?.to_owned(), Vec::new())),
        "environment" => Some((nothing().to_string(), environment(&probe["environment"]))),
        "merge" => {
            let mut template = nothing();
            template["parameters"] = probe["parameters"].clone();
            let files = probe["files"].as_object()?.values();
            Some((
                template.to_string(),
                files.filter_map(Value::as_str).map(str::to_owned).collect(),
            ))
        }
        _ => None,
    }
}

fn nothing() -> Value {
    json!({"heat_template_version": "2018-08-31"})
}

/// The template of a probe, made for a call of a function as `oracle.py` makes it.
fn template(probe: &Value) -> Value {
    let Some(snippet) = probe.get("snippet") else {
        return probe["template"].clone();
    };
    let conditions = probe.get("conditions");
    let mut body = match probe.get("cfn").and_then(Value::as_str) {
        Some(key) => json!({
            key: if key.starts_with("AWS") { "2010-09-09" } else { "2012-12-12" },
            "Parameters": {
                "text": {"Type": "String", "Default": "abc"},
                "number": {"Type": "Number", "Default": 3},
                "list": {"Type": "CommaDelimitedList", "Default": "x,y,z"},
                "json": {"Type": "Json", "Default": {"b": [1, 2.5, {"c": null}], "a": "ü"}},
                "missing": {"Type": "String"},
            },
            "Mappings": {"m": {"k": {"v": "found"}, "abc": {"v": [1, "x"]}}, "abc": {"k": {"v": 5}}},
            "Resources": {"a": {"Type": "OS::Heat::TestResource"}, "b": {"Type": "OS::Heat::TestResource"}},
            "Outputs": {"o": {"Value": snippet}},
        }),
        None => json!({
            "heat_template_version": probe.get("version").cloned().unwrap_or_else(|| "2021-04-16".into()),
            "parameters": {
                "text": {"type": "string", "default": "abc"},
                "number": {"type": "number", "default": 3},
                "fraction": {"type": "number", "default": "2.50"},
                "list": {"type": "comma_delimited_list", "default": "x,y,z"},
                "json": {"type": "json", "default": {"b": [1, 2.5, {"c": null}], "a": "ü"}},
                "flag": {"type": "boolean", "default": true},
                "off": {"type": "boolean", "default": "off"},
                "missing": {"type": "string"},
            },
            "resources": {"a": {"type": "OS::Heat::TestResource"}, "b": {"type": "OS::Heat::TestResource"}},
            "outputs": {"o": {"value": snippet}},
        }),
    };
    if let Some(conditions) = conditions {
        let section = if probe.get("cfn").is_some() {
            "Conditions"
        } else {
            "conditions"
        };
        body[section] = conditions.clone();
    }
    body
}

/// What an author is told.
fn told(template: String, environments: Vec<String>) -> Vec<String> {
    let source = |name: &str, text| Source::of(name.to_owned(), PathBuf::new(), text);
    let environments = environments
        .into_iter()
        .map(|text| source("environment", text))
        .collect();
    let inputs = Inputs::of(source("template", template), environments, Map::new());
    let mut checker = Checker::new(&inputs);
    checker.check_root();
    let problems = problem::to_json(&checker.problems);
    let messages = problems
        .as_array()
        .into_iter()
        .flatten()
        .filter_map(|problem| problem["message"].as_str());
    messages.map(str::to_owned).collect()
}

/// Whether a message is Python's, or nothing but a name in quotes.
fn is_innards(message: &str) -> bool {
    let is_quoted = message.starts_with('\'') && message.ends_with('\'') && message.matches('\'').count() == 2;
    is_quoted || INNARDS.iter().any(|words| message.contains(words))
}

#[test]
fn nothing_is_told_in_the_words_of_python() {
    let catalogues = [
        include_str!("../../../tests/conformance/language/probes/language.json"),
        include_str!("../../../tests/conformance/language/probes/functions.json"),
        include_str!("../../../tests/conformance/language/probes/yaml.json"),
    ];
    let mut failures = Vec::new();
    let mut count = 0;
    for probe in catalogues.into_iter().flat_map(catalogue) {
        let Some((template, environments)) = texts(&probe) else {
            continue;
        };
        for message in told(template, environments) {
            count += 1;
            if is_innards(&message) {
                failures.push(format!("{}: {message}", probe["name"]));
            }
        }
    }
    assert!(count > 1000, "{count} messages");
    assert!(failures.is_empty(), "{}\n{}", failures.len(), failures.join("\n"));
}
