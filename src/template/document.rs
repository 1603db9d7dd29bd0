//! A template as a document: its version, its sections, its environment and its files.

use serde_json::{Map, Value};

use super::environment::Environment;
use super::error::TemplateError;
use super::files::Files;
use super::parameters::faults_of_groups;
use super::version::{Keywords, TemplateVersion};
use crate::python::value::{class_name, is_true};

/// A template that names a known version. What its sections say is looked at later.
#[derive(Debug, Clone, PartialEq)]
pub struct Template {
    version: TemplateVersion,
    version_key: String,
    version_value: String,
    body: Map<String, Value>,
    environment: Environment,
    files: Files,
}

/// Deeper documents are refused: everything that walks through a template recurses.
const DEEPEST_NESTING: usize = 128;

impl Template {
    pub fn new(body: Value, environment: Environment, files: Files) -> Result<Self, TemplateError> {
        if is_nested_deeper_than(&body, DEEPEST_NESTING) {
            return Err(TemplateError::RequestLimitExceeded {
                message: format!("the template is nested more than {DEEPEST_NESTING} levels deep"),
            });
        }
        let Value::Object(body) = body else {
            return Err(TemplateError::value_error(
                "The template is not a JSON object or YAML mapping.",
            ));
        };
        let (version, version_key, version_value) = TemplateVersion::of(&body)?;
        Ok(Self {
            version,
            version_key,
            version_value,
            body,
            environment,
            files,
        })
    }

    /// A template without any resource, of this one's version and with its environment and files: what a stack is
    /// brought to when it is deleted.
    pub fn emptied(&self) -> Self {
        let mut emptied = self.clone();
        let resources = self.keywords().resources;
        if emptied.body.contains_key(resources) {
            emptied.body.insert(resources.to_owned(), Value::Object(Map::new()));
        }
        emptied
    }

    /// The smallest template there is.
    pub fn empty() -> Self {
        let (key, value) = ("heat_template_version", "2015-04-30");
        Self {
            version: TemplateVersion::Hot20150430,
            version_key: key.to_owned(),
            version_value: value.to_owned(),
            body: Map::from_iter([(key.to_owned(), Value::from(value))]),
            environment: Environment::default(),
            files: Files::default(),
        }
    }

    pub fn version(&self) -> TemplateVersion {
        self.version
    }

    /// Key and value with which the document names its version.
    pub fn version_as_written(&self) -> (&str, &str) {
        (&self.version_key, &self.version_value)
    }

    pub fn body(&self) -> &Map<String, Value> {
        &self.body
    }

    pub fn environment(&self) -> &Environment {
        &self.environment
    }

    pub fn environment_mut(&mut self) -> &mut Environment {
        &mut self.environment
    }

    #[must_use]
    pub fn with_environment(mut self, environment: Environment) -> Self {
        self.environment = environment;
        self
    }

    pub fn files(&self) -> &Files {
        &self.files
    }

    pub fn description(&self) -> Value {
        self.filled_section(self.keywords().description)
            .cloned()
            .unwrap_or_else(|| Value::from("No description"))
    }

    pub fn resource_count(&self) -> usize {
        self.resource_section().map_or(0, Map::len)
    }

    pub(crate) fn keywords(&self) -> &'static Keywords {
        self.version.keywords()
    }

    /// A section, unless it is missing or empty.
    fn filled_section(&self, name: &str) -> Option<&Value> {
        self.body.get(name).filter(|section| is_true(section))
    }

    pub(crate) fn resource_section(&self) -> Option<&Map<String, Value>> {
        self.filled_section(self.keywords().resources)?.as_object()
    }

    /// A section that has to be a map of definitions.
    pub(crate) fn definitions(&self, section: &str) -> Result<&Map<String, Value>, TemplateError> {
        static NOTHING: std::sync::LazyLock<Map<String, Value>> = std::sync::LazyLock::new(Map::new);
        match self.filled_section(section) {
            None => Ok(&NOTHING),
            Some(Value::Object(definitions)) => Ok(definitions),
            Some(other) => Err(not_a_map_of_maps(section, other)),
        }
    }

    pub(crate) fn mappings(&self) -> Option<&Value> {
        if self.version.is_hot() {
            None
        } else {
            self.filled_section(self.keywords().mappings)
        }
    }

    pub(crate) fn parameter_groups(&self) -> Option<&Value> {
        if self.version.is_hot() {
            self.filled_section("parameter_groups")
        } else {
            None
        }
    }

    /// Checks what Heat checks of a document before anything in it is interpreted.
    pub fn validate(&self) -> Result<(), TemplateError> {
        if let Some(unknown) = self.unknown_sections().next() {
            return Err(unknown_section(unknown));
        }
        let resources = self.definitions(self.keywords().resources)?;
        if self.version.is_hot() {
            let mut names: Vec<&String> = resources.keys().collect();
            names.sort_unstable();
            names
                .into_iter()
                .try_for_each(|name| validate_hot_resource(&resources[name]))?;
        }
        resources
            .values()
            .try_for_each(|resource| self.validate_resource(resource))
    }

    pub(super) fn unknown_sections(&self) -> impl Iterator<Item = &str> {
        let sections = self.version.sections();
        let names = self.body.keys().map(String::as_str);
        names.filter(move |name| !sections.contains(name))
    }

    /// Checks what [`validate`](Self::validate) checks of one resource.
    pub(super) fn validate_one(&self, resource: &Value) -> Result<(), TemplateError> {
        if self.version.is_hot() {
            validate_hot_resource(resource)?;
        }
        self.validate_resource(resource)
    }

    /// The template with other sections.
    pub(super) fn with_body(&self, body: Map<String, Value>) -> Self {
        Self { body, ..self.clone() }
    }

    /// Checks that each grouped parameter exists and belongs to one group only.
    pub fn validate_parameter_groups(&self) -> Result<(), TemplateError> {
        match self.faults_of_parameter_groups().into_iter().next() {
            Some((_, error)) => Err(error),
            None => Ok(()),
        }
    }

    /// All that [`validate_parameter_groups`](Self::validate_parameter_groups) finds, each with its place.
    pub fn faults_of_parameter_groups(&self) -> Vec<(Vec<String>, TemplateError)> {
        faults_of_groups(self)
    }

    fn validate_resource(&self, resource: &Value) -> Result<(), TemplateError> {
        let type_key = self.keywords().resource_type;
        let has_type = match resource {
            empty if !is_true(empty) => false,
            Value::Object(entries) => entries.get(type_key).is_some_and(is_true),
            other => {
                return Err(TemplateError::invalid(format!(
                    "Resources must contain Resource. Found a [<class '{}'>] instead",
                    class_name(other)
                )));
            }
        };
        if has_type {
            Ok(())
        } else {
            Err(TemplateError::invalid("Each Resource must contain a Type key."))
        }
    }
}

/// What the check of sections lets through; definitions are checked against their version's keys later. (Heat shares one
/// table among all HOT versions and outputs, so newer keys pass here in older versions, and so does `value`.)
const HOT_RESOURCE_KEYS: &[&str] = &[
    "type",
    "properties",
    "metadata",
    "depends_on",
    "deletion_policy",
    "update_policy",
    "description",
    "value",
    "external_id",
    "condition",
];

fn validate_hot_resource(resource: &Value) -> Result<(), TemplateError> {
    let missing = || TemplateError::invalid("Each resource must contain a type key.");
    match resource {
        empty if !is_true(empty) => Err(missing()),
        Value::Object(entries) => {
            if let Some(unknown) = entries.keys().find(|key| !HOT_RESOURCE_KEYS.contains(&key.as_str())) {
                return Err(TemplateError::invalid(format!(
                    "\"{unknown}\" is not a valid keyword inside a resource definition"
                )));
            }
            if entries.contains_key("type") {
                Ok(())
            } else {
                Err(missing())
            }
        }
        other => Err(not_a_map_of_maps("resources", other)),
    }
}

pub(super) fn unknown_section(section: &str) -> TemplateError {
    TemplateError::InvalidTemplateSection {
        section: section.to_owned(),
    }
}

fn not_a_map_of_maps(section: &str, found: &Value) -> TemplateError {
    let object_name = section.strip_suffix('s').unwrap_or(section);
    TemplateError::invalid(format!(
        "\"{section}\" must contain a map of {object_name} maps. Found a [<class '{}'>] instead",
        class_name(found)
    ))
}

fn is_nested_deeper_than(value: &Value, levels: usize) -> bool {
    match value {
        Value::Array(items) => levels == 0 || items.iter().any(|item| is_nested_deeper_than(item, levels - 1)),
        Value::Object(entries) => levels == 0 || entries.values().any(|item| is_nested_deeper_than(item, levels - 1)),
        _ => false,
    }
}
