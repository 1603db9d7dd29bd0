//! A template interpreted for one stack.

use std::sync::Arc;

use indexmap::{IndexMap, IndexSet};

use super::conditions::{ConditionScope, Conditions};
use super::document::Template;
use super::error::TemplateError;
use super::expression::AttributePath;
use super::outputs::{OutputDefinition, parse_outputs};
use super::parameters::{Parameters, StackIdentity};
use super::references::{ResourceStates, Scope};
use super::resource_definition::{ResourceDefinition, parse_resources};

/// Parameters with their values, conditions decided, resources and outputs defined. Says nothing about what exists.
#[derive(Debug, Clone)]
pub struct StackDefinition {
    template: Arc<Template>,
    parameters: Parameters,
    conditions: Conditions,
    resources: IndexMap<String, ResourceDefinition>,
    /// Outputs that cannot be read do not keep a stack from being loaded.
    outputs: Result<IndexMap<String, OutputDefinition>, TemplateError>,
}

/// Attributes by resource, each once, in the order in which they are met.
pub type AttributesByResource = IndexMap<String, IndexSet<AttributePath>>;

impl StackDefinition {
    pub fn new(template: Arc<Template>, identity: &StackIdentity) -> Result<Self, TemplateError> {
        let environment = template.environment();
        let parameters = Parameters::new(
            &template,
            identity,
            &environment.parameters,
            &environment.parameter_defaults,
        )?;
        let conditions = Conditions::parse(&template, &parameters)?;
        let scope = ConditionScope::new(&conditions, &parameters, &template);
        let resources = parse_resources(&template, &scope)?;
        let outputs = parse_outputs(&template, &scope);
        drop(scope);
        Ok(Self {
            template,
            parameters,
            conditions,
            resources,
            outputs,
        })
    }

    pub fn template(&self) -> &Arc<Template> {
        &self.template
    }

    pub fn parameters(&self) -> &Parameters {
        &self.parameters
    }

    /// Tells the stack's id to the pseudo parameter, once the stack has one.
    pub fn set_stack_id(&mut self, identity: &StackIdentity) {
        self.parameters.set_stack_id(identity);
    }

    pub fn conditions(&self) -> &Conditions {
        &self.conditions
    }

    pub(super) fn condition_scope(&self) -> ConditionScope<'_> {
        ConditionScope::new(&self.conditions, &self.parameters, &self.template)
    }

    /// The resources whose conditions hold, in the order of the template.
    pub fn resources(&self) -> &IndexMap<String, ResourceDefinition> {
        &self.resources
    }

    pub fn resource(&self, name: &str) -> Option<&ResourceDefinition> {
        self.resources.get(name)
    }

    /// Whether the template has such a resource, be its condition true or false.
    pub fn is_resource_name(&self, name: &str) -> bool {
        self.template
            .resource_section()
            .is_some_and(|resources| resources.contains_key(name))
    }

    pub fn outputs(&self) -> Result<&IndexMap<String, OutputDefinition>, TemplateError> {
        self.outputs.as_ref().map_err(TemplateError::clone)
    }

    /// The window through which expressions of this stack see its resources.
    pub fn scope<'a>(&'a self, states: &'a dyn ResourceStates) -> Scope<'a> {
        Scope::new(self, states)
    }

    /// The resources that one of them waits for. Naming a resource that is switched off by its condition is fine, and
    /// means nothing.
    pub fn dependencies(
        &self,
        resource: &ResourceDefinition,
        states: &dyn ResourceStates,
    ) -> Result<Vec<String>, TemplateError> {
        let mut dependencies = Vec::new();
        for name in resource
            .required_resource_names(&self.scope(states))
            .map_err(TemplateError::from)?
        {
            if self.resources.contains_key(&name) {
                dependencies.push(name);
            } else if !self.is_resource_name(&name) {
                return Err(TemplateError::InvalidTemplateReference {
                    resource: name,
                    key: resource.name.clone(),
                });
            }
        }
        Ok(dependencies)
    }

    /// The attributes that properties and metadata of resources ask for.
    pub fn attributes_in_resources(&self, states: &dyn ResourceStates) -> AttributesByResource {
        let scope = self.scope(states);
        grouped(self.resources.values().flat_map(|resource| resource.attributes(&scope)))
    }

    /// The attributes that outputs ask for.
    pub fn attributes_in_outputs(&self, states: &dyn ResourceStates) -> AttributesByResource {
        let scope = self.scope(states);
        let outputs = self.outputs.iter().flat_map(IndexMap::values);
        grouped(outputs.flat_map(|output| output.attributes(&scope)))
    }

    /// Checks what can be checked without knowing resource types: the document, parameter groups, conditions, and that
    /// no name means two things. Parameters and resources have checks of their own.
    pub fn validate(&self, states: &dyn ResourceStates) -> Result<(), TemplateError> {
        self.template.validate_parameter_groups()?;
        self.conditions.validate(&self.scope(states))?;
        let duplicates: Vec<String> = self
            .resources
            .keys()
            .filter(|name| self.parameters.get(name).is_some())
            .map(|name| crate::python::repr::repr_text(name))
            .collect();
        if duplicates.is_empty() {
            Ok(())
        } else {
            Err(TemplateError::invalid(format!(
                "Duplicate names {{{}}}",
                duplicates.join(", ")
            )))
        }
    }

    pub fn validate_outputs(&self, states: &dyn ResourceStates) -> Result<(), TemplateError> {
        let scope = self.scope(states);
        self.outputs()?
            .values()
            .try_for_each(|output| output.validate(&self.template, &scope))
    }
}

fn grouped(attributes: impl Iterator<Item = (String, AttributePath)>) -> AttributesByResource {
    let mut by_resource = AttributesByResource::new();
    for (resource, attribute) in attributes {
        by_resource.entry(resource).or_default().insert(attribute);
    }
    by_resource
}
