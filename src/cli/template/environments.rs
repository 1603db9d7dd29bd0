//! Environment files, read and merged as heat-api and the engine would; what is wrong with them is told part by part.

use std::path::Path;

use serde_json::{Map, Value};

use super::document::{LARGEST_FILE, read_map};
use super::files::{is_file_name, is_remote, path_of};
use super::near;
use super::problem::{Problem, Severity};
use super::refused::{Search, Step, without};
use super::source::Source;
use crate::plugins::inventory;
use crate::python::dumps;
use crate::template::environment::{
    MergeableParameters, SECTIONS, check_section_names, merge_environment_files, mergeable_parameters,
};
use crate::template::parameters::all_schemata;
use crate::template::reading::read_yaml;
use crate::template::{Environment, Files, Template, TemplateError};

const REGISTRY: &str = "resource_registry";
const STRATEGIES: &str = "parameter_merge_strategies";

/// The files on top of what the command line says, in their order. What is wrong in them is told and left out.
pub fn merged(
    sources: &[Source],
    given: &Map<String, Value>,
    template: Option<&Template>,
    problems: &mut Vec<Problem>,
) -> Environment {
    let schemata = template.map(|template| all_schemata(template, template.files(), LARGEST_FILE));
    // What is wrong with the schemata is told where they are defined.
    let schemata = schemata.and_then(Result::ok).unwrap_or_default();
    let merging = Merging {
        given,
        parameters: mergeable_parameters(&schemata),
    };
    let mut files: Vec<(String, Map<String, Value>)> = Vec::new();
    for source in sources {
        let sections = match read(source, problems) {
            Ok(sections) => sections,
            Err(problem) => {
                problems.push(*problem);
                continue;
            }
        };
        let strategies = sections.get(STRATEGIES).cloned();
        let refusal = |part: &Value| {
            let mut sections = part.as_object().cloned().unwrap_or_default();
            if let Some(strategies) = &strategies {
                sections.entry(STRATEGIES).or_insert_with(|| strategies.clone());
            }
            let file = (source.name.clone(), sections);
            merging
                .merge(files.iter().chain([&file]))
                .err()
                .map(|error| error.to_string())
        };
        let sections = tell_refused(source, sections, &refusal, problems);
        files.push((source.name.clone(), sections));
    }
    match merging.merge(&files) {
        Ok(environment) => environment,
        Err(error) => {
            // Nothing is wrong with a part alone.
            problems.extend(
                sources
                    .first()
                    .map(|source| Problem::of_file(source, Severity::Error, error.to_string())),
            );
            Environment::default()
        }
    }
}

struct Merging<'g> {
    given: &'g Map<String, Value>,
    parameters: MergeableParameters,
}

impl Merging<'_> {
    fn merge<'f>(
        &self,
        files: impl IntoIterator<Item = &'f (String, Map<String, Value>)>,
    ) -> Result<Environment, TemplateError> {
        let mut merged = Map::new();
        for section in ["parameters", "parameter_defaults", REGISTRY] {
            merged.insert(section.to_owned(), Value::Object(Map::new()));
        }
        for section in ["event_sinks", "encrypted_param_names"] {
            merged.insert(section.to_owned(), Value::Array(Vec::new()));
        }
        merged["parameters"] = Value::Object(self.given.clone());
        let mut texts = Map::new();
        for (name, sections) in files {
            texts.insert(name.clone(), dumps(&Value::Object(sections.clone())).into());
        }
        let names: Vec<String> = texts.keys().cloned().collect();
        let files = Files::from_value(Value::Object(texts))?;
        merge_environment_files(&mut merged, &names, &files, &self.parameters)?;
        Environment::from_value(&Value::Object(merged))
    }
}

/// The sections of a file that have a meaning.
fn read(source: &Source, problems: &mut Vec<Problem>) -> Result<Map<String, Value>, Box<Problem>> {
    let nothing = || Value::Object(Map::new());
    let document =
        read_yaml(&source.text).map(|document| document.filter(|value| !value.is_null()).unwrap_or_else(nothing));
    let mut sections = read_map(source, document, "an environment")?;
    sections.retain(|section, value| {
        let alone = Map::from_iter([(section.clone(), value.clone())]);
        let Err(error) = check_section_names(&alone) else {
            return true;
        };
        let help = near::question(section, SECTIONS);
        problems.push(Problem::at(source, Severity::Error, section, error.to_string()).with_help(help));
        false
    });
    let refusal = |part: &Value| Environment::from_value(part).err().map(|error| error.to_string());
    let mut sections = tell_refused(source, sections, &refusal, problems);
    if let Some(Value::Object(registry)) = sections.get_mut(REGISTRY) {
        complete_names(registry, source, REGISTRY, problems);
    }
    Ok(sections)
}

/// Tells which parts of a file are refused, each by itself, and leaves the others.
fn tell_refused(
    source: &Source,
    sections: Map<String, Value>,
    refusal: &dyn Fn(&Value) -> Option<String>,
    problems: &mut Vec<Problem>,
) -> Map<String, Value> {
    let search = Search {
        refusal,
        depth: &|section, value| match value {
            // Sections in sections.
            Value::Object(_) if section == REGISTRY => usize::MAX,
            Value::Object(_) => 1,
            Value::Array(_) if section == "event_sinks" || section == "encrypted_param_names" => 1,
            _ => 0,
        },
    };
    let mut document = Value::Object(sections);
    // Of a list the last one first, so that the others stay where they are.
    for (path, message) in search.of(&document).into_iter().rev() {
        problems.push(Problem::at(source, Severity::Error, Step::written(&path), message));
        without(&mut document, &path);
    }
    match document {
        Value::Object(sections) => sections,
        _ => Map::new(),
    }
}

/// Names of template files are meant from the directory of the environment, or from its `base_url`. They are made
/// complete, since templates that stand elsewhere use them. Such a file that is not there is told here, where it is named.
fn complete_names(entries: &mut Map<String, Value>, source: &Source, path: &str, problems: &mut Vec<Problem>) {
    let base = entries.shift_remove("base_url");
    let base = base.as_ref().and_then(Value::as_str).unwrap_or_default();
    for (name, value) in entries.iter_mut() {
        let path = format!("{path}.{name}");
        match value {
            Value::String(target) if is_file_name(target) && !is_remote(target) => {
                if is_remote(base) {
                    *target = format!("{}/{target}", base.trim_end_matches('/'));
                    continue;
                }
                let file = path_of(target, &path_of(base, &source.directory));
                if let Err(error) = Source::read(&file) {
                    problems.push(Problem::at(source, Severity::Error, path, format!("{error:#}")));
                }
                *target = std::path::absolute(&file).unwrap_or(file).display().to_string();
            }
            Value::Object(inner) => complete_names(inner, source, &path, problems),
            _ => {}
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
        if let Some(source) = said_in.filter(|_| !is_known) {
            let message = format!("there is no resource type \"{target}\"");
            let help = near::question(target, inventory::types().keys().copied());
            problems.push(Problem::at(source, Severity::Warning, path.join("."), message).with_help(help));
        }
    }
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
