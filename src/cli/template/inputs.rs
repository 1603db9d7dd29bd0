//! The files that a template is looked at with, read as heat-api and the engine would.

use anyhow::{anyhow, ensure};
use serde_json::{Map, Value};

use super::InputArguments;
use super::environments::{self, Lost};
use super::near;
use super::problem::{Problem, Severity};
use super::registry;
use super::source::Source;
use crate::clock::Clock;
use crate::stack::services;
use crate::template::{Environment, Template, World};
use crate::yaql::Limits;

pub struct Inputs {
    pub template: Source,
    environments: Vec<Source>,
    /// From the command line.
    given: Map<String, Value>,
    pub world: World,
}

impl Inputs {
    pub fn read(arguments: &InputArguments) -> anyhow::Result<Self> {
        let from_stdin = arguments.environment.iter().chain([&arguments.file]);
        ensure!(
            from_stdin.filter(|path| Source::is_stdin(path)).count() < 2,
            "standard input can stand for one file only"
        );
        let environments = arguments.environment.iter().map(|path| Source::read(path));
        let given = arguments.parameters.iter().map(|pair| match pair.split_once('=') {
            Some((name, value)) if !name.is_empty() => Ok((name.to_owned(), Value::from(value))),
            _ => Err(anyhow!("-P {pair}: a parameter is given as NAME=VALUE")),
        });
        Ok(Self::of(
            Source::read(&arguments.file)?,
            environments.collect::<anyhow::Result<_>>()?,
            given.collect::<anyhow::Result<_>>()?,
        ))
    }

    pub fn of(template: Source, environments: Vec<Source>, given: Map<String, Value>) -> Self {
        Self {
            template,
            environments,
            given,
            world: services::world(Limits::default(), Clock::system()),
        }
    }

    /// The environment of a template: the files in their order on top of what the command line says, as the engine
    /// merges them.
    pub fn environment(&self, template: Option<&Template>, problems: &mut Vec<Problem>) -> (Environment, Lost) {
        let (environment, lost) = environments::merged(&self.environments, &self.given, template, problems);
        registry::warn_of_unknown_targets(&self.environments, &environment, problems);
        self.tell_what_is_overruled(&environment, problems);
        self.check_encrypted_names(&environment, &lost, problems);
        (environment, lost)
    }

    fn check_encrypted_names(&self, environment: &Environment, lost: &Lost, problems: &mut Vec<Problem>) {
        let section = "encrypted_param_names";
        let Some(source) = self.environment_that_says(&[section]) else {
            return;
        };
        if let (Err(error), false) = (environment.check_encrypted_names(), lost.may_hold(&["parameters"])) {
            let known = || environment.parameters.keys().map(String::as_str);
            let mut names = environment.encrypted_parameter_names.iter();
            let help = names.find_map(|name| near::question(name, known()));
            problems.push(Problem::at(source, Severity::Error, section, error.to_string()).with_help(help));
        }
    }

    /// Warns of what the files say of single resources that there are not.
    pub fn warn_of_misspelt_resources(&self, environment: &Environment, known: &[String], problems: &mut Vec<Problem>) {
        registry::warn_of_misspelt_resources(&self.environments, environment, known, problems);
    }

    /// The engine lets environment files win over single parameters, which surprises people.
    fn tell_what_is_overruled(&self, environment: &Environment, problems: &mut Vec<Problem>) {
        for (name, value) in &self.given {
            let overruled = environment.parameters.get(name).is_some_and(|used| used != value);
            if let (true, Some(source)) = (overruled, self.environment_that_says(&["parameters", name])) {
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

    pub fn environments(&self) -> &[Source] {
        &self.environments
    }

    /// The last file that says something at a path of the environment.
    pub fn environment_that_says(&self, path: &[&str]) -> Option<&Source> {
        self.environments.iter().rev().find(|source| source.says(path))
    }

    /// Whether a parameter has its value from the command line.
    pub fn is_from_command_line(&self, name: &str) -> bool {
        self.given.contains_key(name) && self.environment_that_says(&["parameters", name]).is_none()
    }
}
