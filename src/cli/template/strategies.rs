//! How environments want the values of several files merged.

use serde_json::{Map, Value};

use super::near;
use super::problem::{Problem, Severity};
use super::source::Source;
use crate::template::environment::{MERGE_STRATEGIES, MergeableParameters};

pub const STRATEGIES: &str = "parameter_merge_strategies";

/// Tells what is wrong with the strategies of a file, which Heat passes over in silence, and leaves out what is no map of
/// them.
pub fn check(
    source: &Source,
    sections: &mut Map<String, Value>,
    parameters: &MergeableParameters,
    problems: &mut Vec<Problem>,
) {
    let Some(written) = sections.get(STRATEGIES) else {
        return;
    };
    let Value::Object(strategies) = written else {
        // Heat asks for the strategy of what a template has.
        let is_asked_for = ["parameters", "parameter_defaults"].iter().any(|section| {
            let values = sections.get(*section).and_then(Value::as_object).into_iter().flatten();
            values
                .into_iter()
                .any(|(name, value)| !value.is_null() && parameters.contains_key(name))
        });
        let severity = match is_asked_for {
            true => Severity::Error,
            false => Severity::Warning,
        };
        problems.push(Problem::at(source, severity, STRATEGIES, "the section has to be a map"));
        sections.shift_remove(STRATEGIES);
        return;
    };
    for (name, strategy) in strategies {
        let path = format!("{STRATEGIES}.{name}");
        let mut warn = |message: String, help: Option<String>| {
            problems.push(Problem::at(source, Severity::Warning, path.clone(), message).with_help(help));
        };
        if MERGE_STRATEGIES.into_iter().all(|known| strategy != known) {
            let named = strategy.as_str().unwrap_or_default();
            let listed = || format!("there are {}", MERGE_STRATEGIES.join(", "));
            let help = near::question(named, MERGE_STRATEGIES).unwrap_or_else(listed);
            warn(format!("{strategy} is no strategy, and does not count"), Some(help));
        }
        let is_known = name == "default" || parameters.contains_key(name);
        let known = parameters.keys().map(String::as_str).chain(["default"]);
        if let Some(help) = near::question(name, known).filter(|_| !is_known) {
            warn(
                "no template that was looked at has this parameter".to_owned(),
                Some(help),
            );
        }
    }
}

/// The section with what it says of some parameters.
pub fn related(sections: &Map<String, Value>, parameters: &[&String]) -> Option<(String, Value)> {
    let Value::Object(strategies) = sections.get(STRATEGIES)? else {
        return None;
    };
    let default = strategies.get_key_value("default");
    let named = parameters.iter().filter_map(|name| strategies.get_key_value(*name));
    let related = default.into_iter().chain(named);
    let related = related
        .map(|(name, strategy)| (name.clone(), strategy.clone()))
        .collect();
    Some((STRATEGIES.to_owned(), Value::Object(related)))
}
