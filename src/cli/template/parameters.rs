//! Parameters: what their definitions say, which values they get, and who asks for them.

use std::collections::HashSet;

use serde_json::{Map, Value};

use super::constraints::validate_parameter;
use super::environments::Lost;
use super::inputs::Inputs;
use super::near;
use super::problem::{Problem, Severity};
use super::source::Source;
use super::truths;
use crate::template::parameters::{Parameter, ParameterType};
use crate::template::{Environment, StackDefinition, Template, TemplateError};

pub struct ParameterCheck<'a> {
    pub inputs: &'a Inputs,
    pub source: &'a Source,
}

impl ParameterCheck<'_> {
    /// Whether what the user gives is for parameters that there are.
    pub fn given(&self, template: &Template, problems: &mut Vec<Problem>) {
        let section = template.keywords().parameters;
        let Ok(defined) = template.definitions(section) else {
            return;
        };
        for name in template.environment().parameters.keys() {
            if defined.contains_key(name) {
                continue;
            }
            let path = format!("parameters.{name}");
            let error = TemplateError::UnknownUserParameter { key: name.clone() };
            let help = near::question(name, defined.keys().map(String::as_str));
            let problem = match self.inputs.environment_that_says(&["parameters", name]) {
                Some(said_in) => Problem::at(said_in, Severity::Error, path, error.to_string()),
                None => Problem::of_file(self.source, Severity::Error, error.to_string()),
            };
            problems.push(problem.with_help(help.or_else(|| self.help_with_value(name))));
        }
    }

    /// What is wrong with definitions and values, and which parameters nobody needs. The definition may lack what is wrong
    /// with the template.
    pub fn defined(
        &self,
        template: &Template,
        definition: &StackDefinition,
        with_values: bool,
        lost: &Lost,
        problems: &mut Vec<Problem>,
    ) {
        let section = definition.template().keywords().parameters;
        for parameter in definition.parameters().defined() {
            let path = format!("{section}.{}", parameter.name);
            match validate_parameter(parameter, with_values) {
                Ok(()) => self.warn_of_truths(definition, parameter, &path, problems),
                Err(TemplateError::UserParameterMissing { key })
                    if value_may_be_lost(lost, &key) || is_given_misspelt(definition, &key) => {}
                Err(error @ TemplateError::InvalidSchemaError { .. }) => {
                    problems.push(Problem::at(self.source, Severity::Error, path, error.to_string()));
                }
                Err(error) => problems.push(self.wrong_value(definition, parameter, &path, &error)),
            }
            if with_values {
                self.warn_of_default(definition, parameter, problems);
            }
        }
        let used = used_parameters(template);
        for parameter in definition.parameters().defined() {
            if used.as_ref().is_some_and(|used| !used.contains(&parameter.name)) {
                let path = format!("{section}.{}", parameter.name);
                let message = "no function asks for this parameter";
                problems.push(Problem::at(self.source, Severity::Warning, path, message));
            }
        }
    }

    /// What is given to a parameter of texts, and is none without quotes.
    fn warn_of_truths(
        &self,
        definition: &StackDefinition,
        parameter: &Parameter,
        path: &str,
        problems: &mut Vec<Problem>,
    ) {
        if parameter.schema.parameter_type != ParameterType::Text {
            return;
        }
        let name = parameter.name.as_str();
        if let Some(default) = &parameter.schema.default {
            truths::warn_of_text(self.source, &format!("{path}.default"), default, problems);
        }
        let environment = definition.template().environment();
        for (section, values) in sections_of_values(environment) {
            if let (Some(value), Some(said_in)) =
                (values.get(name), self.inputs.environment_that_says(&[section, name]))
            {
                truths::warn_of_text(said_in, &format!("{section}.{name}"), value, problems);
            }
        }
    }

    /// A value that does not do, where it is given.
    fn wrong_value(
        &self,
        definition: &StackDefinition,
        parameter: &Parameter,
        path: &str,
        error: &TemplateError,
    ) -> Problem {
        let name = parameter.name.as_str();
        let given = sections_of_values(definition.template().environment())
            .into_iter()
            .find(|(_, values)| values.get(name).is_some_and(|value| !value.is_null()));
        let section = given.map(|(section, _)| section);
        if let Some(section) = section
            && let Some(said_in) = self.inputs.environment_that_says(&[section, name])
        {
            return Problem::at(said_in, Severity::Error, format!("{section}.{name}"), error.to_string());
        }
        let help = match error {
            TemplateError::UserParameterMissing { .. } => Some(format!("give it with -P {name}=… or -e FILE")),
            _ => self.help_with_value(name),
        };
        Problem::at(self.source, Severity::Error, path, error.to_string()).with_help(help)
    }

    fn help_with_value(&self, name: &str) -> Option<String> {
        let is_argument = self.inputs.is_from_command_line(name);
        is_argument.then(|| format!("the value is that of -P {name}=…"))
    }

    /// Heat does not look at a default that it does not use.
    fn warn_of_default(&self, definition: &StackDefinition, parameter: &Parameter, problems: &mut Vec<Problem>) {
        let name = parameter.name.as_str();
        let environment = definition.template().environment();
        let is_overruled = environment.parameters.get(name).is_some_and(|value| !value.is_null());
        let Some(default) = environment.parameter_defaults.get(name).filter(|_| is_overruled) else {
            return;
        };
        let by_default = Parameter::new(name, parameter.schema.clone(), Some(default.clone()));
        let Err(error) = validate_parameter(&by_default, true) else {
            return;
        };
        if let Some(said_in) = self.inputs.environment_that_says(&["parameter_defaults", name]) {
            let path = format!("parameter_defaults.{name}");
            let problem = Problem::at(said_in, Severity::Warning, path, error.to_string());
            problems.push(problem.with_help(Some("another value is used here".to_owned())));
        }
    }

    /// Defaults for parameters that no template has, where one with nearly that name is.
    pub fn warn_of_misspelt_defaults(&self, environment: &Environment, known: &[String], problems: &mut Vec<Problem>) {
        for name in environment.parameter_defaults.keys() {
            // Defaults are for many templates: most of them have nothing to do with this one.
            let help = near::question(name, known.iter().map(String::as_str)).filter(|_| !known.contains(name));
            let said_in = self.inputs.environment_that_says(&["parameter_defaults", name]);
            if let (Some(help), Some(said_in)) = (help, said_in) {
                let message = "no template that was looked at has this parameter";
                let path = format!("parameter_defaults.{name}");
                problems.push(Problem::at(said_in, Severity::Warning, path, message).with_help(Some(help)));
            }
        }
    }
}

/// The sections of an environment that hold values of parameters, those that come first.
fn sections_of_values(environment: &Environment) -> [(&'static str, &Map<String, Value>); 2] {
    [
        ("parameters", &environment.parameters),
        ("parameter_defaults", &environment.parameter_defaults),
    ]
}

/// That there is no such parameter is told where it is given.
fn is_given_misspelt(definition: &StackDefinition, name: &str) -> bool {
    let given = &definition.template().environment().parameters;
    let defined = definition.parameters().defined();
    let defined: Vec<&str> = defined.map(|parameter| parameter.name.as_str()).collect();
    near::is_misspelt(name, given.keys().map(String::as_str), &defined)
}

fn value_may_be_lost(lost: &Lost, name: &str) -> bool {
    ["parameters", "parameter_defaults"]
        .iter()
        .any(|section| lost.may_hold(&[section, name]))
}

/// The names of the parameters that functions ask for; `None` where that depends on values.
fn used_parameters(template: &Template) -> Option<HashSet<String>> {
    let body = Value::Object(template.body().clone());
    let mut used = HashSet::new();
    collect_used(&body, &mut used).then_some(used)
}

/// Whether all names could be told.
fn collect_used(value: &Value, used: &mut HashSet<String>) -> bool {
    match value {
        Value::Array(items) => items.iter().all(|item| collect_used(item, used)),
        Value::Object(entries) => entries.iter().all(|(key, value)| {
            if key != "get_param" && key != "Ref" {
                return collect_used(value, used);
            }
            let (name, path) = match value {
                Value::Array(items) => match items.split_first() {
                    Some((name, path)) => (name, path),
                    None => return true,
                },
                other => (other, &[][..]),
            };
            let Some(name) = name.as_str() else { return false };
            used.insert(name.to_owned());
            path.iter().all(|step| collect_used(step, used))
        }),
        _ => true,
    }
}
