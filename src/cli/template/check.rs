//! A template as a whole: its sections, its parameters, its parts and the templates that stand for types.

use std::collections::HashSet;
use std::path::Path;
use std::sync::Arc;

use indexmap::IndexMap;
use serde_json::{Map, Value};

use super::checked::{Checked, Member, Members, Nested, TypeInfo};
use super::document::{LARGEST_FILE, read_template_file};
use super::environments::Lost;
use super::facade;
use super::files::{self, is_remote};
use super::groups::Group;
use super::hidden;
use super::hints::part_at;
use super::inputs::Inputs;
use super::keys;
use super::misspelt::Vocabulary;
use super::names::Names;
use super::near;
use super::parameters::ParameterCheck;
use super::problem::{self, Problem, Severity};
use super::registry::{REGISTRY, near_type};
use super::resources::ResourceCheck;
use super::source::Source;
use crate::cli::secrets::Secrets;
use crate::plugins::inventory;
use crate::python::json_reader::loads_noting;
use crate::stack::validate::unstorable_name;
use crate::store::name_fits;
use crate::template::error::dotted_path;
use crate::template::parameters::StackIdentity;
use crate::template::reading::Places;
use crate::template::{
    Environment, Files, RegisteredType, ResourceRegistry, StackDefinition, Survey, Template, TemplateError,
    TemplateVersion, VERSIONS,
};

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
    /// The parameters of all templates that were looked at.
    parameter_names: Vec<String>,
    /// Their resources.
    resource_names: Vec<String>,
    /// What of the environments could not be read.
    lost: Lost,
    /// What nobody is to be shown.
    secrets: Secrets,
}

impl<'i> Checker<'i> {
    pub fn new(inputs: &'i Inputs) -> Self {
        Self {
            inputs,
            problems: Vec::new(),
            open: Vec::new(),
            nested: IndexMap::new(),
            parameter_names: Vec::new(),
            resource_names: Vec::new(),
            lost: Lost::default(),
            secrets: Secrets::default(),
        }
    }

    /// What was found, in the order in which it is read, and what is to be hidden wherever else it turns up.
    pub fn into_findings(self) -> (Vec<Problem>, Secrets) {
        let problems = self.problems.into_iter().map(|problem| problem.without(&self.secrets));
        (problem::in_order(problems.collect()), self.secrets)
    }

    /// Looks at the template that the user names.
    pub fn check_root(&mut self) -> Option<Checked> {
        let source = &self.inputs.template;
        let template = self.read(source)?;
        let (environment, lost) = self.inputs.environment(Some(&template), &mut self.problems);
        self.lost = lost;
        for source in self.inputs.environments() {
            self.warn_of_repeated_keys(source);
        }
        let template = template.with_environment(environment);
        self.secrets = hidden::values(&template);
        let inputs = self.inputs;
        ParameterCheck { inputs, source }.given(&template, &mut self.problems);
        let checked = self.check(source, template, true);
        let environment = checked.template.environment();
        ParameterCheck { inputs, source }.warn_of_misspelt_defaults(
            environment,
            &self.parameter_names,
            &mut self.problems,
        );
        inputs.warn_of_misspelt_resources(environment, &self.resource_names, &mut self.problems);
        Some(checked)
    }

    fn error(&mut self, source: &Source, path: impl Into<String>, message: impl AsRef<str>) {
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
        self.refuse_misfits(source);
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

    /// What no stack can hold, and the engine refuses with the request that brings it.
    fn refuse_misfits(&mut self, source: &Source) {
        let message = |what: &str| format!("{what} cannot be stored");
        if let Ok((_, misfit)) = loads_noting(&source.text) {
            if let Some(misfit) = misfit {
                self.error(source, dotted_path(&misfit.path), message(misfit.what));
            }
            return;
        }
        for mark in source.places().map(Places::not_numbers).unwrap_or_default() {
            let problem = Problem::of_file(source, Severity::Error, message("NaN"));
            self.problems.push(problem.with_mark(source, Some(mark)));
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

    fn check(&mut self, source: &Source, template: Template, with_values: bool) -> Checked {
        self.open.push(source.name.clone());
        let survey = Survey::of(&template, &identity(), &self.inputs.world);
        let names = Names::of(&template);
        for (place, error) in &survey.problems {
            let problem = names.problem(source, &place.join("."), error);
            self.problems.push(problem);
        }
        for (place, error) in &survey.unasked {
            let problem = names.problem(source, &place.join("."), error);
            self.problems
                .push(problem.harmless("nothing asks for this condition, so Heat takes it"));
        }
        if let Some(definition) = &survey.definition {
            let parameters = ParameterCheck {
                inputs: self.inputs,
                source,
            };
            parameters.defined(&template, definition, with_values, &self.lost, &mut self.problems);
            let names = definition.parameters().defined();
            self.parameter_names
                .extend(names.map(|parameter| parameter.name.clone()));
        }
        self.check_groups(source, &survey, &names);
        self.check_names(source, &survey);
        keys::check(source, &template, &mut self.problems);
        self.look_for_misspelt(source, &template, &survey);
        let (types, members) = self.types(source, &template);
        if let Some(definition) = &survey.definition {
            let check = ResourceCheck {
                inputs: self.inputs,
                source,
                definition,
                survey: &survey,
                names: &names,
                types: &types,
                members: &members,
                open: if with_values {
                    HashSet::new()
                } else {
                    names_of_parameters(definition)
                },
            };
            self.problems.extend(check.run());
        }
        self.open.pop();
        Checked {
            template,
            definition: survey.definition,
            types,
            members,
        }
    }

    fn check_groups(&mut self, source: &Source, survey: &Survey, names: &Names<'_>) {
        let Some(definition) = &survey.definition else { return };
        let template = definition.template();
        for (place, error) in template.faults_of_parameter_groups() {
            let path = dotted_path(&place);
            let member = part_at(template, &path).and_then(Value::as_str);
            // A parameter that makes no sense is not missing in its group.
            if member.is_some_and(|member| survey.left_out(member)) {
                continue;
            }
            let known = definition.parameters().defined();
            let help = member.and_then(|member| near::question(member, known.map(|parameter| parameter.name.as_str())));
            self.problems.push(names.problem(source, &path, &error).with_help(help));
        }
    }

    /// Resources whose names stand for something else, too.
    fn check_names(&mut self, source: &Source, survey: &Survey) {
        let Some(definition) = &survey.definition else { return };
        let section = definition.template().keywords().resources;
        for name in definition.resources().keys() {
            let message = if name.contains('/') {
                "Resource name may not contain \"/\"".to_owned()
            } else if let Err(problem) = name_fits(name) {
                unstorable_name(name, problem)
            } else if definition.parameters().get(name).is_some() {
                format!("a resource and a parameter are called \"{name}\"")
            } else {
                continue;
            };
            self.error(source, format!("{section}.{name}"), message);
        }
    }

    fn look_for_misspelt(&mut self, source: &Source, template: &Template, survey: &Survey) {
        let (_, version) = template.version_as_written();
        let vocabulary = Vocabulary::of(template.version(), version);
        let of_conditions = Vocabulary::of_conditions(template.version(), version);
        let keywords = template.keywords();
        let values = [keywords.properties, keywords.metadata, keywords.value];
        let parts = values.map(|part| (part, &vocabulary)).into_iter();
        let parts: Vec<_> = parts.chain([(keywords.condition, &of_conditions)]).collect();
        let kept = survey
            .definition
            .as_ref()
            .map(|definition| definition.template().body());
        let is_kept = |steps: [&str; 3]| {
            let [section, inner @ ..] = steps;
            let section = kept.and_then(|body| body.get(section));
            let part = inner.iter().fold(section, |part, step| part?.get(*step));
            part.is_some()
        };
        for section in [keywords.resources, keywords.outputs] {
            let Ok(definitions) = template.definitions(section) else {
                continue;
            };
            for (name, definition) in definitions {
                for (part, vocabulary) in &parts {
                    // What is wrong with a condition has been told.
                    let is_told = *part == keywords.condition && !is_kept([section, name, part]);
                    if let Some(value) = definition.get(part).filter(|_| !is_told) {
                        let path = format!("{section}.{name}.{part}");
                        vocabulary.look_through(source, &path, value, &mut self.problems);
                    }
                }
            }
        }
        let conditions = template.definitions(keywords.conditions).into_iter().flatten();
        let conditions = conditions.filter(|(name, _)| template.version().has_conditions() && !survey.left_out(name));
        for (name, condition) in conditions {
            let path = format!("{}.{name}", keywords.conditions);
            of_conditions.look_through(source, &path, condition, &mut self.problems);
        }
    }

    /// What is known of the type of each resource, and of those of the members of groups.
    fn types(&mut self, source: &Source, template: &Template) -> (IndexMap<String, TypeInfo>, Members) {
        let keywords = template.keywords();
        let (mut types, mut members) = (IndexMap::new(), Members::new());
        let Ok(resources) = template.definitions(keywords.resources) else {
            return (types, members);
        };
        self.resource_names.extend(resources.keys().cloned());
        for (name, resource) in resources {
            let written = resource.get(keywords.resource_type).and_then(Value::as_str);
            let Some(resource_type) = written else { continue };
            let path = format!("{}.{name}.{}", keywords.resources, keywords.resource_type);
            let info = self.type_of(source, template, Some(name), resource_type, &path);
            self.problems
                .extend(facade_problems(source, &info, resource_type, &path));
            if let Some(properties) = resource.get(keywords.properties) {
                let path = format!("{}.{name}.{}", keywords.resources, keywords.properties);
                self.find_members(source, template, &info, properties, path, &mut members);
            }
            types.insert(name.clone(), info);
        }
        (types, members)
    }

    /// Adds the members of a group, and those of groups among them.
    fn find_members(
        &mut self,
        source: &Source,
        template: &Template,
        info: &TypeInfo,
        properties: &Value,
        path: String,
        members: &mut Members,
    ) {
        let TypeInfo::Known(known) = info else { return };
        let key = (path, known.name);
        let Some(group) = Group::of_type(known.name).filter(|_| !members.contains_key(&key)) else {
            return;
        };
        let mut found = Vec::new();
        for (place, written) in group.member_types(properties) {
            let member = self.member(source, template, written, &format!("{}.{place}", key.0));
            if let Some(properties) = group.properties_of_members(properties) {
                let path = format!("{}.{}", key.0, group.place());
                self.find_members(source, template, &member.info, properties, path, members);
            }
            found.push(member);
        }
        members.insert(key, found);
    }

    fn member(&mut self, source: &Source, template: &Template, written: &str, path: &str) -> Member {
        let before = self.problems.len();
        let info = self.type_of(source, template, None, written, path);
        let problems = match info {
            // What is in a file is told in any case: others may use it, too.
            TypeInfo::Template(_) | TypeInfo::Opaque => facade_problems(source, &info, written, path),
            TypeInfo::Known(_) | TypeInfo::Unknown => self.problems.split_off(before),
        };
        Member {
            written: written.to_owned(),
            info,
            problems,
        }
    }

    fn type_of(
        &mut self,
        source: &Source,
        template: &Template,
        name: Option<&str>,
        written: &str,
        path: &str,
    ) -> TypeInfo {
        let is_plugin = |name: &str| inventory::types().contains_key(name);
        let registry = &template.environment().registry;
        match registry.resolve(written, name, &is_plugin) {
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
            Ok(RegisteredType::Template(file)) => {
                let inside = registry.inside(written, name);
                self.nested(source, template, inside, &file, path)
            }
            // It may be a type of what could not be read.
            Err(_) if self.lost.may_hold(&[REGISTRY, written]) => TypeInfo::Opaque,
            Err(error) => {
                let help = near_type(written, registry);
                let problem = Problem::at(source, Severity::Error, path, error.to_string());
                self.problems.push(problem.with_help(help));
                TypeInfo::Unknown
            }
        }
    }

    fn nested(
        &mut self,
        source: &Source,
        template: &Template,
        registry: ResourceRegistry,
        file: &str,
        path: &str,
    ) -> TypeInfo {
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
        let environment = Environment {
            registry,
            parameters: Map::new(),
            ..template.environment().clone()
        };
        let checked = self.read_nested(source, environment, &file, path);
        let nested = Arc::new(Nested {
            file: key.clone(),
            checked,
        });
        self.nested.insert(key, nested.clone());
        TypeInfo::Template(nested)
    }

    fn read_nested(&mut self, outer: &Source, environment: Environment, file: &Path, path: &str) -> Option<Checked> {
        let source = match Source::read_named(file) {
            Ok(source) => source,
            Err(error) => {
                let message = format!("{error:#}");
                // An environment that names the file has been told of.
                if !self.problems.iter().any(|problem| problem.says(&message)) {
                    self.error(outer, path, message);
                }
                return None;
            }
        };
        let nested = self.read(&source)?;
        Some(self.check(&source, nested.with_environment(environment), false))
    }
}

/// How a template differs from a type in whose place it is put.
fn facade_problems(source: &Source, info: &TypeInfo, written: &str, path: &str) -> Vec<Problem> {
    let (TypeInfo::Template(nested), Some(known)) = (info, inventory::types().get(written)) else {
        return Vec::new();
    };
    let differences = facade::differences(known, nested).into_iter();
    let help = format!("{} stands for {written} here", nested.file);
    let problem = |message| Problem::at(source, Severity::Error, path, message).with_help(Some(help.clone()));
    differences.map(problem).collect()
}

fn names_of_parameters(definition: &StackDefinition) -> HashSet<String> {
    let parameters = definition.parameters().defined();
    parameters.map(|parameter| parameter.name.clone()).collect()
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
