//! What environments say of types and of single resources.

use std::path::Path;

use indexmap::IndexSet;
use serde_json::{Map, Value};

use super::near;
use super::problem::{Problem, Severity};
use super::refused::Step;
use super::source::Source;
use crate::plugins::inventory;
use crate::template::environment::{HOOK_TYPES, RESTRICTED_ACTIONS, SINK_KEYS, ZAQAR_QUEUE};
use crate::template::{Environment, ResourceRegistry};

/// The section of an environment.
pub const REGISTRY: &str = "resource_registry";

/// What may stand beside types of the registry.
const BESIDE_TYPES: [&str; 2] = ["resources", "base_url"];
/// What may stand beside types of a single resource.
const OF_RESOURCES: [&str; 3] = ["hooks", "restricted_actions", "base_url"];

/// `is "x" meant?`, for a type that there is, or that the registry maps. One that the registry maps itself is not misspelt.
pub fn near_type(name: &str, registry: &ResourceRegistry) -> Option<String> {
    if registry.type_names().contains(&name) {
        return None;
    }
    let known = inventory::types().keys().copied();
    near::question(name, known.chain(registry.type_names()))
}

/// What may be meant by a value that is refused.
pub fn help_with_value(path: &[Step], value: &Value) -> Option<String> {
    let texts = |value: &Value| match value {
        Value::String(text) => vec![text.clone()],
        Value::Array(items) => items.iter().filter_map(Value::as_str).map(str::to_owned).collect(),
        _ => Vec::new(),
    };
    let nearest = |texts: Vec<String>, known: &[&str]| {
        let odd = texts.into_iter().filter(|text| !known.contains(&text.as_str()));
        let mut odd = odd.filter_map(|text| near::question(&text, known.iter().copied()));
        odd.next()
    };
    match path {
        [.., Step::Key(key)] if key == "hooks" => nearest(texts(value), &HOOK_TYPES),
        [.., Step::Key(key)] if key == "restricted_actions" => nearest(texts(value), &RESTRICTED_ACTIONS),
        [Step::Key(section), Step::Index(_)] if section == "event_sinks" => {
            let sink = value.as_object()?;
            nearest(sink.get("type").map(texts).unwrap_or_default(), &[ZAQAR_QUEUE])
                .or_else(|| nearest(sink.keys().cloned().collect(), &SINK_KEYS))
        }
        _ => None,
    }
}

/// Heat takes each key that it does not know for the name of a type, or for that of a section that nobody asks for.
pub fn warn_of_misspelt_keys(source: &Source, entries: &Map<String, Value>, problems: &mut Vec<Problem>) {
    let mut warn = |path: String, message: String, help: Option<String>| {
        problems.push(Problem::at(source, Severity::Warning, path, message).with_help(help));
    };
    for (key, value) in entries.iter().filter(|(key, _)| !BESIDE_TYPES.contains(&key.as_str())) {
        let path = format!("{REGISTRY}.{key}");
        let help = near::question(key, BESIDE_TYPES.into_iter().chain(OF_RESOURCES));
        if value.is_object() {
            warn(path, "this means nothing here, and does not count".to_owned(), help);
        } else if OF_RESOURCES.contains(&key.as_str()) {
            warn(
                path,
                format!("{key} are those of a resource: they belong under resources.NAME"),
                None,
            );
        } else if help.is_some() {
            warn(path, format!("\"{key}\" is taken for the name of a type"), help);
        }
    }
    let resources = entries.get("resources").and_then(Value::as_object);
    for (name, entries) in resources.into_iter().flatten() {
        for key in entries.as_object().into_iter().flat_map(Map::keys) {
            if let Some(help) = near::question(key, OF_RESOURCES).filter(|_| !OF_RESOURCES.contains(&key.as_str())) {
                let path = format!("{REGISTRY}.resources.{name}.{key}");
                warn(path, format!("\"{key}\" is taken for the name of a type"), Some(help));
            }
        }
    }
}

/// Warns of what is said of single resources that no template has, where one with nearly that name is.
pub fn warn_of_misspelt_resources(
    sources: &[Source],
    environment: &Environment,
    known: &[String],
    problems: &mut Vec<Problem>,
) {
    let registry = environment.registry.to_value();
    let resources = registry.get("resources").and_then(Value::as_object);
    for name in resources.into_iter().flat_map(Map::keys) {
        let help = near::question(name, known.iter().map(String::as_str)).filter(|_| !known.contains(name));
        let path = [REGISTRY, "resources", name];
        let said_in = sources.iter().rev().find(|source| source.says(&path));
        if let (Some(help), Some(source)) = (help, said_in) {
            let message = "no template that was looked at has this resource";
            problems.push(Problem::at(source, Severity::Warning, path.join("."), message).with_help(Some(help)));
        }
    }
}

/// Warns of what types stand for, where that is no type at all.
pub fn warn_of_unknown_targets(sources: &[Source], environment: &Environment, problems: &mut Vec<Problem>) {
    let is_plugin = |name: &str| inventory::types().contains_key(name);
    let registry = environment.registry.to_value();
    let mut targets = Vec::new();
    collect_targets(&registry, &mut vec![REGISTRY.to_owned()], &mut targets);
    for (path, target) in targets {
        let is_known = target.ends_with('*')
            || Path::new(target).is_file()
            || environment.registry.resolve(target, None, &is_plugin).is_ok();
        let said_in = sources.iter().rev().find(|source| source.says(&path));
        let path = path.join(".");
        let is_told = |source: &Source| problems.iter().any(|problem| problem.is_at(source, &path));
        if let Some(source) = said_in.filter(|source| !is_known && !is_told(source)) {
            let message = match circle(&registry, target) {
                Some(circle) => format!("\"{target}\" stands for itself: {}", circle.join(" -> ")),
                None => format!("there is no resource type \"{target}\""),
            };
            let help = near_type(target, &environment.registry);
            problems.push(Problem::at(source, Severity::Warning, path, message).with_help(help));
        }
    }
}

/// The way from a type back to itself, if what it stands for leads there.
fn circle<'v>(registry: &'v Value, name: &'v str) -> Option<Vec<&'v str>> {
    let mut way = IndexSet::new();
    let mut next = name;
    while way.insert(next) {
        next = registry.get(next)?.as_str()?;
    }
    let circle = way.iter().skip_while(|step| **step != next);
    Some(circle.copied().chain([next]).collect())
}

fn collect_targets<'v>(entries: &'v Value, path: &mut Vec<String>, found: &mut Vec<(Vec<String>, &'v str)>) {
    for (name, value) in entries.as_object().into_iter().flatten() {
        path.push(name.clone());
        match value {
            Value::String(target) if name != "hooks" && name != "restricted_actions" => {
                found.push((path.clone(), target));
            }
            inner => collect_targets(inner, path, found),
        }
        path.pop();
    }
}
