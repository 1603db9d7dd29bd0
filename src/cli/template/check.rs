//! A template as a whole: its sections, its parameters, its parts and the templates that stand for types.

use std::path::Path;
use std::sync::Arc;

use indexmap::IndexMap;
use serde_json::{Map, Value};

use super::checked::{Checked, Nested, TypeInfo};
use super::constraints::validate_parameter;
use super::files::{self, is_remote};
use super::inputs::{Inputs, LARGEST_FILE, read_template_file};
use super::misspelt::Vocabulary;
use super::names::Names;
use super::near;
use super::problem::{Problem, Severity};
use super::resources::ResourceCheck;
use super::source::Source;
use crate::plugins::inventory;
use crate::template::parameters::StackIdentity;
use crate::template::reading::Places;
use crate::template::{Environment, Files, RegisteredType, Survey, Template, TemplateError, TemplateVersion, VERSIONS};

/// As many levels as the engine allows (`max_nested_stack_depth`), and one more to see that there are too many.
const MOST_LEVELS: usize = 5;

/// So many of one file are told of.
const MOST_REPEATED_KEYS: usize = 20;

/// Looks at a template and all that it leads to, and collects what is wrong.
pub struct Checker<'i> {
    inputs: &'i Inputs,
    pub problems: Vec<Problem>,
    /// The files that are being looked at, the outermost first.
    open: Vec<String>,
    /// Nested templates that have been read, by file.
    nested: IndexMap<String, Arc<Nested>>,
}

impl<'i> Checker<'i> {
    pub fn new(inputs: &'i Inputs) -> Self {
        Self {
            inputs,
            problems: Vec::new(),
            open: Vec::new(),
            nested: IndexMap::new(),
        }
    }

    /// Looks at the template that the user names.
    pub fn check_root(&mut self) -> Option<Checked> {
        let source = &self.inputs.template;
        let template = self.read(source)?;
        let environment = self.inputs.environment(Some(&template), &mut self.problems);
        let template = template.with_environment(environment);
        self.check_given_parameters(source, &template);
        Some(self.check(source, template, true))
    }

    fn error(&mut self, source: &Source, path: impl Into<String>, message: impl Into<String>) {
        self.problems.push(Problem::at(source, Severity::Error, path, message));
    }

    /// The template of a file, if its version is known.
    fn read(&mut self, source: &Source) -> Option<Template> {
        let body = match read_template_file(source) {
            Ok(body) => body,
            Err(problem) => {
                self.problems.push(*problem);
                return None;
            }
        };
        self.warn_of_repeated_keys(source);
        // As Python counts.
        let length = source.text.chars().count();
        if u64::try_from(length).is_ok_and(|length| length > LARGEST_FILE) {
            let message = format!(
                "the template has {length} characters; engines take {LARGEST_FILE} at most, unless max_template_size \
                 says otherwise"
            );
            self.problems.push(Problem::of_file(source, Severity::Warning, message));
        }
        if let Err(error) = TemplateVersion::of(&body) {
            self.problems.push(version_problem(source, &body, &error));
            return None;
        }
        let (mut found, unreadable) = files::files_of(&body, &source.directory);
        for (path, message) in unreadable {
            self.error(source, path, message);
        }
        found.extend(files::template_files(&body, &source.directory));
        let files = Files::from_value(Value::Object(found));
        match files.and_then(|files| Template::new(Value::Object(body), Environment::default(), files)) {
            Ok(template) => Some(template),
            Err(error) => {
                self.problems
                    .push(Problem::of_file(source, Severity::Error, error.to_string()));
                None
            }
        }
    }

    /// Heat takes the last of them without a word.
    fn warn_of_repeated_keys(&mut self, source: &Source) {
        let repeated = source.places().map(Places::repeated_keys).unwrap_or_default();
        for (key, mark) in repeated.into_iter().take(MOST_REPEATED_KEYS) {
            let message = format!("\"{key}\" is written again below, and what stands here does not count");
            let problem = Problem::of_file(source, Severity::Warning, message).with_mark(source, Some(mark));
            self.problems.push(problem);
        }
    }

    /// Whether what the user gives fits the parameters.
    fn check_given_parameters(&mut self, source: &Source, template: &Template) {
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
            let said_in = self.inputs.environment_that_says(&path).unwrap_or(source);
            let help = near::question(name, defined.keys().map(String::as_str));
            let problem = Problem::at(said_in, Severity::Error, path, error.to_string());
            self.problems.push(problem.with_help(help));
        }
    }

    fn check(&mut self, source: &Source, template: Template, with_values: bool) -> Checked {
        self.open.push(source.name.clone());
        let survey = Survey::of(&template, &identity(), &self.inputs.world);
        let names = Names::of(&template);
        for (place, error) in &survey.problems {
            let problem = names.problem(source, &place.join("."), error);
            self.problems.push(problem);
        }
        self.check_parameters(source, &survey, with_values);
        self.check_groups(source, &survey);
        self.look_for_misspelt(source, &template);
        let types = self.types(source, &template);
        if let Some(definition) = &survey.definition {
            let check = ResourceCheck {
                source,
                definition,
                survey: &survey,
                names: &names,
                types: &types,
            };
            self.problems.extend(check.run());
        }
        self.open.pop();
        Checked {
            template,
            definition: survey.definition,
            types,
        }
    }

    fn check_parameters(&mut self, source: &Source, survey: &Survey, with_values: bool) {
        let Some(definition) = &survey.definition else { return };
        let section = definition.template().keywords().parameters;
        for parameter in definition.parameters().defined() {
            let name = &parameter.name;
            let Err(error) = validate_parameter(parameter, with_values) else {
                continue;
            };
            let path = format!("{section}.{name}");
            let is_given = definition.template().environment().parameters.contains_key(name);
            let said_in = self.inputs.environment_that_says(&format!("parameters.{name}"));
            let problem = match said_in.filter(|_| is_given) {
                Some(environment) => Problem::at(
                    environment,
                    Severity::Error,
                    format!("parameters.{name}"),
                    error.to_string(),
                ),
                None => Problem::at(source, Severity::Error, path, error.to_string()),
            };
            let help = match error {
                TemplateError::UserParameterMissing { .. } => Some(format!("give it with -P {name}=… or -e FILE")),
                _ => None,
            };
            self.problems.push(problem.with_help(help));
        }
        let used = used_parameters(definition.template());
        for parameter in definition.parameters().defined() {
            if used.as_ref().is_some_and(|used| !used.contains(&parameter.name)) {
                let path = format!("{section}.{}", parameter.name);
                let message = "no function asks for this parameter";
                self.problems
                    .push(Problem::at(source, Severity::Warning, path, message));
            }
        }
    }

    fn check_groups(&mut self, source: &Source, survey: &Survey) {
        let Some(definition) = &survey.definition else { return };
        if let Err(error) = definition.template().validate_parameter_groups() {
            // A parameter that makes no sense is not missing in its group.
            let names_left_out = |word: &str| survey.left_out(word);
            if !error.to_string().split_whitespace().any(names_left_out) {
                self.error(source, "parameter_groups", error.to_string());
            }
        }
    }

    fn look_for_misspelt(&mut self, source: &Source, template: &Template) {
        let (_, version) = template.version_as_written();
        let vocabulary = Vocabulary::of(template.version(), version);
        let keywords = template.keywords();
        for section in [keywords.resources, keywords.outputs] {
            let Ok(definitions) = template.definitions(section) else {
                continue;
            };
            for (name, definition) in definitions {
                for part in [keywords.properties, keywords.metadata, keywords.value] {
                    if let Some(value) = definition.get(part) {
                        let path = format!("{section}.{name}.{part}");
                        vocabulary.look_through(source, &path, value, &mut self.problems);
                    }
                }
            }
        }
    }

    /// What is known of the type of each resource.
    fn types(&mut self, source: &Source, template: &Template) -> IndexMap<String, TypeInfo> {
        let keywords = template.keywords();
        let mut types = IndexMap::new();
        let Ok(resources) = template.definitions(keywords.resources) else {
            return types;
        };
        for (name, resource) in resources {
            let written = resource.get(keywords.resource_type).and_then(Value::as_str);
            if let Some(resource_type) = written {
                let path = format!("{}.{name}.{}", keywords.resources, keywords.resource_type);
                types.insert(name.clone(), self.type_of(source, template, name, resource_type, &path));
            }
        }
        types
    }

    fn type_of(&mut self, source: &Source, template: &Template, name: &str, written: &str, path: &str) -> TypeInfo {
        let is_plugin = |name: &str| inventory::types().contains_key(name);
        let registry = &template.environment().registry;
        match registry.resolve(written, Some(name), &is_plugin) {
            Ok(RegisteredType::Plugin(plugin)) => match inventory::types().get(plugin.as_str()) {
                Some(known) => {
                    if known.support != crate::resource::support::Support::Supported {
                        let message = format!("{plugin} is {}", known.support.as_str());
                        self.problems
                            .push(Problem::at(source, Severity::Warning, path, message));
                    }
                    TypeInfo::Known(known)
                }
                None => TypeInfo::Unknown,
            },
            Ok(RegisteredType::Template(file)) => self.nested(source, template, &file, path),
            Err(error) => {
                let help = near::question(written, inventory::types().keys().copied());
                let problem = Problem::at(source, Severity::Error, path, error.to_string());
                self.problems.push(problem.with_help(help));
                TypeInfo::Unknown
            }
        }
    }

    fn nested(&mut self, source: &Source, template: &Template, file: &str, path: &str) -> TypeInfo {
        if is_remote(file) {
            let message = format!("{file} is not fetched, and what it says is not looked at");
            self.problems
                .push(Problem::at(source, Severity::Warning, path, message));
            return TypeInfo::Opaque;
        }
        let file = files::path_of(file, &source.directory);
        let key = file.display().to_string();
        if let Some(known) = self.nested.get(&key) {
            return TypeInfo::Template(known.clone());
        }
        if self.open.contains(&key) || self.open.len() > MOST_LEVELS {
            self.error(source, path, format!("{key} leads back to itself, or too deep"));
            return TypeInfo::Opaque;
        }
        let checked = self.read_nested(source, template, &file, path);
        let nested = Arc::new(Nested {
            file: key.clone(),
            checked,
        });
        self.nested.insert(key, nested.clone());
        TypeInfo::Template(nested)
    }

    fn read_nested(&mut self, outer: &Source, template: &Template, file: &Path, path: &str) -> Option<Checked> {
        let source = match Source::read(file) {
            Ok(source) => source,
            Err(error) => {
                self.error(outer, path, format!("{error:#}"));
                return None;
            }
        };
        let nested = self.read(&source)?;
        let mut environment = template.environment().clone();
        environment.parameters.clear();
        Some(self.check(&source, nested.with_environment(environment), false))
    }
}

fn identity() -> StackIdentity {
    StackIdentity {
        stack_id: "None".to_owned(),
        stack_name: "stack".to_owned(),
        project_id: "None".to_owned(),
        arn: "None".to_owned(),
    }
}

fn version_problem(source: &Source, body: &Map<String, Value>, error: &TemplateError) -> Problem {
    let written = VERSIONS.iter().find_map(|(key, _, _)| Some((*key, body.get(*key)?)));
    let path = written.map_or("", |(key, _)| key);
    let help = match written {
        Some((key, Value::String(value))) => {
            let of_key = VERSIONS.iter().filter(|(known, _, _)| *known == key);
            near::question(value, of_key.map(|(_, value, _)| *value))
        }
        Some(_) => None,
        None => {
            let keys = VERSIONS.iter().map(|(key, _, _)| *key);
            let near_key = body.keys().find_map(|name| near::question(name, keys.clone()));
            near_key
                .or_else(|| Some("a template begins with heat_template_version: 2018-08-31, for example".to_owned()))
        }
    };
    Problem::at(source, Severity::Error, path, error.to_string()).with_help(help)
}

/// The names of the parameters that functions ask for; `None` where that depends on values.
fn used_parameters(template: &Template) -> Option<Vec<String>> {
    let body = Value::Object(template.body().clone());
    let mut used = Vec::new();
    collect_used(&body, &mut used).then_some(used)
}

/// Whether all names could be told.
fn collect_used(value: &Value, used: &mut Vec<String>) -> bool {
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
            used.push(name.to_owned());
            path.iter().all(|step| collect_used(step, used))
        }),
        _ => true,
    }
}
