//! Keys in definitions of resources and outputs that no version of the language knows, or not this one.

use super::hints;
use super::near;
use super::problem::{Problem, Severity};
use super::source::Source;
use crate::template::{Template, has_resource_key};

/// Tells each key that means nothing. Heat refuses those of resources in HOT, of which it names the first, and takes no
/// notice of the others.
pub fn check(source: &Source, template: &Template, problems: &mut Vec<Problem>) {
    let (version, keywords) = (template.version(), template.keywords());
    let of_outputs = [keywords.value, keywords.description].into_iter();
    let of_outputs: Vec<&str> = of_outputs
        .chain(version.has_conditions().then_some(keywords.condition))
        .collect();
    let of_resources = || {
        let known = keywords.of_definitions().into_iter();
        known.filter(|key| *key != keywords.value && (*key != keywords.condition || version.has_conditions()))
    };
    let is_known_in_resource = |key: &str| match version.is_hot() {
        true => has_resource_key(version, key),
        false => of_resources().any(|known| known == key),
    };
    for (section, path, key) in keys(template, keywords.resources).chain(keys(template, keywords.outputs)) {
        let in_resource = section == keywords.resources;
        let is_known = match in_resource {
            true => is_known_in_resource(key),
            false => of_outputs.contains(&key),
        };
        if is_known || problems.iter().any(|problem| problem.is_at(source, &path)) {
            continue;
        }
        let problem = if in_resource && version.is_hot() {
            let message = format!("\"{key}\" is not a valid keyword inside a resource definition");
            Problem::at(source, Severity::Error, path, message).with_help(hints::for_resource_key(version, key))
        } else {
            let known: Vec<&str> = if in_resource {
                of_resources().collect()
            } else {
                of_outputs.clone()
            };
            let message = format!("\"{key}\" means nothing here, and does not count");
            Problem::at(source, Severity::Warning, path, message).with_help(near::question(key, known))
        };
        problems.push(problem);
    }
}

/// The keys of the definitions in a section, each with the section and its path.
fn keys<'t>(template: &'t Template, section: &'static str) -> impl Iterator<Item = (&'static str, String, &'t str)> {
    let definitions = template.definitions(section).into_iter().flatten();
    definitions.flat_map(move |(name, definition)| {
        let keys = definition.as_object().into_iter().flat_map(serde_json::Map::keys);
        keys.map(move |key| (section, format!("{section}.{name}.{key}"), key.as_str()))
    })
}
