//! The files that a template is looked at with, read as heat-api and the engine would.

use anyhow::anyhow;
use serde_json::{Map, Value};

use super::InputArguments;
use super::files::{is_file_name, is_remote, path_of};
use super::near;
use super::problem::{Problem, Severity};
use super::source::Source;
use crate::clock::Clock;
use crate::python::dumps;
use crate::stack::services;
use crate::template::environment::{SECTIONS, check_section_names, merge_environment_files, mergeable_parameters};
use crate::template::parameters::all_schemata;
use crate::template::reading::{ReadError, read_document, read_yaml};
use crate::template::{Environment, Files, Template, World};
use crate::yaql::Limits;

/// The engine's `max_template_size`, unless it is configured otherwise.
pub const LARGEST_FILE: u64 = 512 * 1024;

pub struct Inputs {
    pub template: Source,
    environments: Vec<Source>,
    /// From the command line.
    given: Map<String, Value>,
    pub world: World,
}

impl Inputs {
    pub fn read(arguments: &InputArguments) -> anyhow::Result<Self> {
        let environments = arguments.environment.iter().map(|path| Source::read(path));
        let given = arguments.parameters.iter().map(|pair| match pair.split_once('=') {
            Some((name, value)) if !name.is_empty() => Ok((name.to_owned(), Value::from(value))),
            _ => Err(anyhow!("-P {pair}: a parameter is given as NAME=VALUE")),
        });
        Ok(Self {
            template: Source::read(&arguments.file)?,
            environments: environments.collect::<anyhow::Result<_>>()?,
            given: given.collect::<anyhow::Result<_>>()?,
            world: services::world(Limits::default(), Clock::system()),
        })
    }

    /// The environment of a template: the files in their order on top of what the command line says, as the engine
    /// merges them.
    pub fn environment(&self, template: Option<&Template>, problems: &mut Vec<Problem>) -> Environment {
        let mut merged = Map::new();
        for section in ["parameters", "parameter_defaults", "resource_registry"] {
            merged.insert(section.to_owned(), Value::Object(Map::new()));
        }
        merged.insert("event_sinks".to_owned(), Value::Array(Vec::new()));
        merged.insert("encrypted_param_names".to_owned(), Value::Array(Vec::new()));
        merged["parameters"] = Value::Object(self.given.clone());

        let mut files = Map::new();
        for source in &self.environments {
            match read_environment_file(source) {
                Ok(sections) => drop(files.insert(source.name.clone(), Value::String(dumps(&Value::Object(sections))))),
                Err(problem) => problems.push(*problem),
            }
        }
        let names: Vec<String> = files.keys().cloned().collect();
        let schemata = template.map(|template| all_schemata(template, template.files(), LARGEST_FILE));
        // What is wrong with the schemata is told where they are defined.
        let schemata = schemata.and_then(Result::ok).unwrap_or_default();
        let parameters = mergeable_parameters(&schemata);
        let environment = Files::from_value(Value::Object(files))
            .and_then(|files| merge_environment_files(&mut merged, &names, &files, &parameters))
            .and_then(|()| Environment::from_value(&Value::Object(merged)));
        match environment {
            Ok(environment) => {
                self.tell_what_is_overruled(&environment, problems);
                environment
            }
            Err(error) => {
                let source = self.environments.first().unwrap_or(&self.template);
                problems.push(Problem::of_file(source, Severity::Error, error.to_string()));
                Environment::default()
            }
        }
    }

    /// The engine lets environment files win over single parameters, which surprises people.
    fn tell_what_is_overruled(&self, environment: &Environment, problems: &mut Vec<Problem>) {
        for (name, value) in &self.given {
            let overruled = environment.parameters.get(name).is_some_and(|used| used != value);
            let last = self
                .environments
                .iter()
                .rev()
                .find(|source| source.find(&format!("parameters.{name}")).is_some());
            if let (true, Some(source)) = (overruled, last) {
                let message = format!("this value is used, not that of -P {name}=…");
                problems.push(Problem::at(
                    source,
                    Severity::Warning,
                    format!("parameters.{name}"),
                    message,
                ));
            }
        }
    }

    /// The last file that says something at a path of the environment.
    pub fn environment_that_says(&self, path: &str) -> Option<&Source> {
        self.environments.iter().rev().find(|source| {
            let steps = path.split('.');
            source.places().is_some_and(|places| places.contains(steps))
        })
    }
}

/// The document of a file, or what is wrong with it.
pub fn read_map(
    source: &Source,
    read: Result<Value, ReadError>,
    what: &str,
) -> Result<Map<String, Value>, Box<Problem>> {
    match read {
        Ok(Value::Object(document)) => Ok(document),
        Ok(_) => {
            let problem = Problem::of_file(source, Severity::Error, format!("{what} has to be a map"));
            Err(Box::new(problem))
        }
        Err(error) => {
            let problem = Problem::of_file(source, Severity::Error, error.summary());
            Err(Box::new(problem.with_mark(source, error.mark())))
        }
    }
}

pub fn read_template_file(source: &Source) -> Result<Map<String, Value>, Box<Problem>> {
    read_map(source, read_document(&source.text), "a template")
}

fn read_environment_file(source: &Source) -> Result<Map<String, Value>, Box<Problem>> {
    let nothing = || Value::Object(Map::new());
    let document =
        read_yaml(&source.text).map(|document| document.filter(|value| !value.is_null()).unwrap_or_else(nothing));
    let mut sections = read_map(source, document, "an environment")?;
    if let Err(error) = check_section_names(&sections) {
        let section = wrong_section(&sections);
        let help = near::question(&section, SECTIONS);
        let problem = Problem::at(source, Severity::Error, section, error.to_string());
        return Err(Box::new(problem.with_help(help)));
    }
    if let Some(registry) = sections.get_mut("resource_registry") {
        from_directory(registry, source);
    }
    Ok(sections)
}

/// The section that an error is about: the first that is unknown or empty.
fn wrong_section(sections: &Map<String, Value>) -> String {
    let is_wrong = |(name, value): &(&String, &Value)| !SECTIONS.contains(&name.as_str()) || value.is_null();
    sections
        .iter()
        .find(is_wrong)
        .map(|(name, _)| name.clone())
        .unwrap_or_default()
}

/// Names of template files are meant from the directory of the environment, or from its `base_url`. They are made
/// complete, since templates that stand elsewhere use them.
fn from_directory(registry: &mut Value, source: &Source) {
    let Value::Object(entries) = registry else { return };
    let base = entries.shift_remove("base_url");
    let base = base.as_ref().and_then(Value::as_str).unwrap_or_default();
    for (_, value) in entries.iter_mut() {
        match value {
            Value::String(target) if is_file_name(target) && !is_remote(target) => {
                *target = match is_remote(base) {
                    true => format!("{}/{target}", base.trim_end_matches('/')),
                    false => {
                        let path = path_of(target, &path_of(base, &source.directory));
                        std::path::absolute(&path).unwrap_or(path).display().to_string()
                    }
                };
            }
            Value::Object(_) => from_directory(value, source),
            _ => {}
        }
    }
}
