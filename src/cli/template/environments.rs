//! Environment files, read and merged as heat-api and the engine would; what is wrong with them is told part by part.

use serde_json::{Map, Value};

use super::document::{LARGEST_FILE, read_map};
use super::files::{is_file_name, is_remote, path_of};
use super::near;
use super::problem::{Problem, Severity};
use super::refused::{Search, Step, part, without};
use super::registry::{self, REGISTRY};
use super::source::Source;
use super::strategies;
use crate::python::dumps;
use crate::template::environment::{
    MergeableParameters, SECTIONS, check_section_names, merge_environment_files, mergeable_parameters,
};
use crate::template::parameters::all_schemata;
use crate::template::reading::read_yaml;
use crate::template::{Environment, Files, Template, TemplateError};

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
        let all = sections.clone();
        let refusal = |part: &Value| {
            let sections = part.as_object().cloned().unwrap_or_default();
            let before: Vec<_> = files
                .iter()
                .map(|(name, file)| (name.clone(), related(file, &sections)))
                .collect();
            let own_strategies = strategies::related(&all, &names_of_parameters(&sections));
            let with_strategies = own_strategies.into_iter().chain(sections).collect();
            merging.refusal(&before, source, with_strategies)
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

const OF_PARAMETERS: [&str; 2] = ["parameters", "parameter_defaults"];

/// What of a file has to do with some part of another: what both name, each parameter wherever it is named.
fn related(file: &Map<String, Value>, part: &Map<String, Value>) -> Map<String, Value> {
    let parameters = names_of_parameters(part);
    let of_parameters = OF_PARAMETERS.into_iter().map(|section| (section, parameters.clone()));
    let others = part
        .iter()
        .filter(|(section, _)| !OF_PARAMETERS.contains(&section.as_str()));
    let others = others.map(|(section, value)| {
        (
            section.as_str(),
            value.as_object().into_iter().flat_map(Map::keys).collect(),
        )
    });
    let named = of_parameters
        .chain(others)
        .filter_map(|(section, names): (&str, Vec<&String>)| {
            let value = match file.get(section)? {
                Value::Object(entries) => {
                    let named = names.into_iter().filter_map(|name| entries.get_key_value(name));
                    Value::Object(named.map(|(name, value)| (name.clone(), value.clone())).collect())
                }
                other => other.clone(),
            };
            Some((section.to_owned(), value))
        });
    strategies::related(file, &parameters)
        .into_iter()
        .chain(named)
        .collect()
}

fn names_of_parameters(sections: &Map<String, Value>) -> Vec<&String> {
    let sections = OF_PARAMETERS
        .iter()
        .filter_map(|section| sections.get(*section)?.as_object());
    sections.flat_map(Map::keys).collect()
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
                if let Err(error) = Source::read_named(&file) {
                    problems.push(Problem::at(source, Severity::Error, path, format!("{error:#}")));
                }
                *target = std::path::absolute(&file).unwrap_or(file).display().to_string();
            }
            Value::Object(inner) => complete_names(inner, source, &path, problems),
            _ => {}
        }
    }
}

#[cfg(test)]
mod tests {
    use std::path::PathBuf;

    use serde_json::json;

    use super::*;

    fn merged_from(texts: &[&str], template: Value) -> (Environment, Lost, Vec<String>) {
        let template = Template::new(template, Environment::default(), Files::default()).unwrap();
        let sources = texts.iter().enumerate();
        let sources: Vec<Source> = sources
            .map(|(number, text)| Source::of(format!("{number}.env"), PathBuf::new(), (*text).to_owned()))
            .collect();
        let mut problems = Vec::new();
        let (environment, lost) = merged(&sources, &Map::new(), Some(&template), &mut problems);
        let told = crate::cli::template::problem::to_json(&problems);
        let told = told.as_array().into_iter().flatten();
        let told = told.map(|problem| format!("{} {}", problem["file"], problem["path"]).replace('"', ""));
        (environment, lost, told.collect())
    }

    #[test]
    fn what_is_good_of_each_file_counts() {
        let json_parameter = json!({"type": "json", "default": {}});
        let template = json!({
            "heat_template_version": "2018-08-31",
            "parameters": {"a": json_parameter, "b": json_parameter, "c": json_parameter},
        });
        let (environment, lost, told) = merged_from(
            &[
                "parameters: {a: {x: 1}, b: {x: 1}}\nresource_registry: {My::A: OS::Heat::None, My::B: 5}\n",
                "parameter_merge_strategies: {a: merge, b: deep_merge, c: merge}\nparameter_defaults: {a: {y: 2}}\n\
                 parameters: {b: {y: 2}, c: {y: 2}}\nparamters: {a: 1}\n",
                "parameters: [",
                "parameters: {b: {z: 3}, c: {z: 3}}\n",
            ],
            template,
        );
        assert_eq!(
            told,
            [
                "0.env resource_registry.My::B",
                "1.env paramters",
                "1.env parameters.b",
                "1.env parameter_defaults.a",
                "2.env "
            ]
        );
        assert_eq!(
            Value::Object(environment.parameters),
            json!({"a": {"x": 1}, "b": {"z": 3}, "c": {"y": 2, "z": 3}})
        );
        assert_eq!(environment.registry.type_names(), ["My::A"]);
        assert!(lost.may_hold(&["anything"]), "of a file that cannot be read");
    }

    #[test]
    fn what_is_lost_may_hold_what_is_below_it() {
        let lost = Lost(vec![vec!["parameters".to_owned(), "a".to_owned()]]);
        assert!(lost.may_hold(&["parameters", "a"]) && lost.may_hold(&["parameters", "a", "b"]));
        assert!(!lost.may_hold(&["parameters", "b"]) && !lost.may_hold(&["parameters"]));
    }

    #[test]
    fn thousands_of_conflicts_take_no_square_of_their_number() {
        let names = || (0..1000).map(|number| format!("p{number}"));
        let parameters: Map<String, Value> = names().map(|name| (name, json!({"type": "json"}))).collect();
        let entries = |value: &str| names().map(|name| format!("  {name}: {value}\n")).collect::<String>();
        let values = format!("parameters:\n{}", entries("{a: 1}"));
        let conflicting = format!("{values}parameter_merge_strategies:\n{}", entries("deep_merge"));
        let begun = std::time::Instant::now();
        let template = json!({"heat_template_version": "2018-08-31", "parameters": parameters});
        let (_, _, told) = merged_from(&[&values, &conflicting], template);
        assert_eq!(told.len(), 1000);
        assert!(begun.elapsed() < std::time::Duration::from_secs(20));
    }
}
