//! Environment files, read and merged as heat-api and the engine would; what is wrong with them is told part by part.

use serde_json::{Map, Value};

use super::document::{LARGEST_FILE, read_map};
use super::files::{is_file_name, is_remote, path_of};
use super::near;
use super::problem::{Problem, Severity};
use super::refused::{Search, Step, part, without};
use super::registry;
use super::source::Source;
use super::strategies::{self, STRATEGIES};
use crate::python::dumps;
use crate::template::environment::{
    MergeableParameters, SECTIONS, check_section_names, merge_environment_files, mergeable_parameters,
};
use crate::template::parameters::all_schemata;
use crate::template::reading::read_yaml;
use crate::template::{Environment, Files, Template, TemplateError};

pub const REGISTRY: &str = "resource_registry";

/// Parts of environments that could not be read, as far as their places are known: nobody knows what they were to say.
#[derive(Debug, Default)]
pub struct Lost(Vec<Vec<String>>);

impl Lost {
    /// Whether something that is missing at a path may have stood in what is lost.
    pub fn may_hold(&self, path: &[&str]) -> bool {
        let starts =
            |lost: &Vec<String>| path.len() >= lost.len() && lost.iter().zip(path).all(|(step, other)| step == other);
        self.0.iter().any(starts)
    }

    fn add<'s>(&mut self, path: impl IntoIterator<Item = &'s str>) {
        self.0.push(path.into_iter().map(str::to_owned).collect());
    }
}

/// The files on top of what the command line says, in their order. What is wrong in them is told and left out.
pub fn merged(
    sources: &[Source],
    given: &Map<String, Value>,
    template: Option<&Template>,
    problems: &mut Vec<Problem>,
) -> (Environment, Lost) {
    let schemata = template.map(|template| all_schemata(template, template.files(), LARGEST_FILE));
    // What is wrong with the schemata is told where they are defined.
    let schemata = schemata.and_then(Result::ok).unwrap_or_default();
    let merging = Merging {
        given,
        parameters: mergeable_parameters(&schemata),
    };
    let mut lost = Lost::default();
    let mut files: Vec<(String, Map<String, Value>)> = Vec::new();
    for source in sources {
        let mut sections = match read(source, &mut lost, problems) {
            Ok(sections) => sections,
            Err(problem) => {
                problems.push(*problem);
                lost.add([]);
                continue;
            }
        };
        strategies::check(source, &mut sections, &merging.parameters, problems);
        let strategies = sections.get(STRATEGIES).cloned();
        let refusal = |part: &Value| {
            let mut sections = part.as_object().cloned().unwrap_or_default();
            if let Some(strategies) = &strategies {
                sections.entry(STRATEGIES).or_insert_with(|| strategies.clone());
            }
            merging.refusal(&files, source, sections)
        };
        let sections = tell_refused(source, sections, &refusal, &mut lost, problems);
        // What is wrong only with several parts together is found by adding one after the other.
        let mut kept = Map::new();
        for (section, value) in sections {
            kept.insert(section.clone(), value);
            if let Some(message) = merging.refusal(&files, source, kept.clone()) {
                kept.shift_remove(&section);
                lost.add([section.as_str()]);
                problems.push(Problem::at(source, Severity::Error, section, message));
            }
        }
        files.push((source.name.clone(), kept));
    }
    // All that it is made of has been tried.
    (merging.merge(&files).unwrap_or_default(), lost)
}

struct Merging<'g> {
    given: &'g Map<String, Value>,
    parameters: MergeableParameters,
}

impl Merging<'_> {
    /// Why a file that says this is refused behind others.
    fn refusal(
        &self,
        files: &[(String, Map<String, Value>)],
        source: &Source,
        sections: Map<String, Value>,
    ) -> Option<String> {
        let file = (source.name.clone(), sections);
        let merged = self.merge(files.iter().chain([&file]));
        merged.err().map(|error| error.to_string())
    }

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
fn read(source: &Source, lost: &mut Lost, problems: &mut Vec<Problem>) -> Result<Map<String, Value>, Box<Problem>> {
    let nothing = || Value::Object(Map::new());
    let document =
        read_yaml(&source.text).map(|document| document.filter(|value| !value.is_null()).unwrap_or_else(nothing));
    let mut sections = read_map(source, document, "an environment")?;
    sections.retain(|section, value| {
        let alone = Map::from_iter([(section.clone(), value.clone())]);
        let Err(error) = check_section_names(&alone) else {
            return true;
        };
        let meant = near::nearest(section, SECTIONS);
        lost.add([meant.unwrap_or(section)]);
        let help = near::question(section, SECTIONS);
        problems.push(Problem::at(source, Severity::Error, section, error.to_string()).with_help(help));
        false
    });
    let refusal = |part: &Value| Environment::from_value(part).err().map(|error| error.to_string());
    let mut sections = tell_refused(source, sections, &refusal, lost, problems);
    if let Some(Value::Object(entries)) = sections.get_mut(REGISTRY) {
        registry::warn_of_misspelt_keys(source, entries, problems);
        complete_names(entries, source, REGISTRY, problems);
    }
    Ok(sections)
}

/// Tells which parts of a file are refused, each by itself, and leaves the others.
fn tell_refused(
    source: &Source,
    sections: Map<String, Value>,
    refusal: &dyn Fn(&Value) -> Option<String>,
    lost: &mut Lost,
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
        let help = part(&document, &path).and_then(|part| registry::help_with_value(&path, part));
        problems.push(Problem::at(source, Severity::Error, Step::written(&path), message).with_help(help));
        lost.add(path.iter().map_while(Step::name));
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
