//! A template interpreted for one stack.

use std::sync::Arc;

use indexmap::{IndexMap, IndexSet};

use super::allowance::Allowance;
use super::attribute_index::AttributeIndex;
use super::conditions::{ConditionScope, Conditions};
use super::document::Template;
use super::error::TemplateError;
use super::expression::AttributePath;
use super::outputs::{OutputDefinition, parse_outputs};
use super::parameters::{Parameters, StackIdentity};
use super::references::{Facade, ResourceStates, Scope};
use super::resource_definition::{ResourceDefinition, parse_resources};
use super::world::World;

/// Parameters with their values, conditions decided, resources and outputs defined. Says nothing about what exists.
#[derive(Debug, Clone)]
pub struct StackDefinition {
    template: Arc<Template>,
    parameters: Parameters,
    facade: Option<Facade>,
    conditions: Conditions,
    resources: IndexMap<String, ResourceDefinition>,
    /// Outputs that cannot be read do not keep a stack from being loaded.
    outputs: Result<IndexMap<String, OutputDefinition>, TemplateError>,
    attributes_for_resources: AttributeIndex,
    attributes_for_outputs: AttributeIndex,
    world: World,
}

/// Attributes by resource, each once, in the order in which they are met.
pub type AttributesByResource = IndexMap<String, IndexSet<AttributePath>>;

impl StackDefinition {
    pub fn new(template: Arc<Template>, identity: &StackIdentity, world: &World) -> Result<Self, TemplateError> {
        Self::behind(None, template, identity, world)
    }

    /// The definition of a nested stack, behind a resource of its parent.
    pub fn behind(
        facade: Option<Facade>,
        template: Arc<Template>,
        identity: &StackIdentity,
        world: &World,
    ) -> Result<Self, TemplateError> {
        let environment = template.environment();
        let parameters = Parameters::new(
            &template,
            identity,
            &environment.parameters,
            &environment.parameter_defaults,
        )?;
        let allowance = Allowance::default();
        let conditions = Conditions::parse(&template, &parameters, world, &allowance)?;
        let scope = ConditionScope::new(&conditions, &parameters, &template, world, facade.as_ref(), &allowance);
        let resources = parse_resources(&template, &scope)?;
        let outputs = parse_outputs(&template, &scope);
        drop(scope);
        let in_resources = resources
            .values()
            .flat_map(ResourceDefinition::sections_with_attributes);
        let attributes_for_resources = AttributeIndex::of(in_resources);
        let in_outputs = outputs
            .iter()
            .flat_map(IndexMap::values)
            .map(OutputDefinition::expression);
        let attributes_for_outputs = AttributeIndex::of(in_outputs);
        Ok(Self {
            template,
            parameters,
            facade,
            conditions,
            resources,
            outputs,
            attributes_for_resources,
            attributes_for_outputs,
            world: world.clone(),
        })
    }

    pub fn template(&self) -> &Arc<Template> {
        &self.template
    }

    pub fn world(&self) -> &World {
        &self.world
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

    pub(super) fn condition_scope(&self, allowance: &Allowance) -> ConditionScope<'_> {
        ConditionScope::new(
            &self.conditions,
            &self.parameters,
            &self.template,
            &self.world,
            self.facade.as_ref(),
            allowance,
        )
    }

    pub(super) fn facade(&self) -> Option<&Facade> {
        self.facade.as_ref()
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

    /// The attributes of one resource that properties and metadata of others ask for.
    pub fn attributes_asked_by_resources(
        &self,
        resource: &str,
        states: &dyn ResourceStates,
    ) -> IndexSet<AttributePath> {
        self.attributes_for_resources.asked_of(resource, &self.scope(states))
    }

    /// Whether it depends on values of attributes which attributes are asked for.
    pub fn has_computed_questions(&self) -> bool {
        self.questions().any(AttributeIndex::is_computed)
    }

    /// Whether it depends on the cloud's availability zones which attributes are asked for.
    pub fn questions_need_availability_zones(&self) -> bool {
        self.questions().any(AttributeIndex::needs_availability_zones)
    }

    fn questions(&self) -> impl Iterator<Item = &AttributeIndex> {
        [&self.attributes_for_resources, &self.attributes_for_outputs].into_iter()
    }

    /// The attributes of one resource that outputs ask for.
    pub fn attributes_asked_by_outputs(&self, resource: &str, states: &dyn ResourceStates) -> IndexSet<AttributePath> {
        self.attributes_for_outputs.asked_of(resource, &self.scope(states))
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
    /// names can be told apart in a path and mean one thing. Parameters and resources have checks of their own.
    pub fn validate(&self, states: &dyn ResourceStates) -> Result<(), TemplateError> {
        self.template.validate_parameter_groups()?;
        self.conditions.validate(&self.scope(states))?;
        if self.resources.keys().any(|name| name.contains('/')) {
            return Err(TemplateError::invalid("Resource name may not contain \"/\""));
        }
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

#[cfg(test)]
mod tests {
    use super::*;
    use crate::exception::RemoteException;
    use crate::template::{Environment, Files, NoResources};
    use crate::yaql::Surroundings;
    use serde_json::{Value, json};

    fn definition(body: Value) -> Result<StackDefinition, TemplateError> {
        let template = Template::new(body, Environment::default(), Files::default())?;
        let world = World::still(Surroundings::default());
        StackDefinition::new(Arc::new(template), &StackIdentity::default(), &world)
    }

    fn output(snippet: Value) -> Result<Value, TemplateError> {
        let body = json!({"heat_template_version": "wallaby", "outputs": {"o": {"value": snippet}}});
        let definition = definition(body)?;
        let value = definition.outputs()?["o"].value(&definition.scope(&NoResources));
        value.map_err(TemplateError::from)
    }

    fn refused_for_size(snippet: Value) {
        assert_eq!(output(snippet).unwrap_err().class_name(), "RequestLimitExceeded");
    }

    #[test]
    fn attributes_are_found_by_resource() {
        let body = json!({
            "heat_template_version": "2018-08-31",
            "parameters": {"p": {"type": "string", "default": "c"}},
            "resources": {
                "a": {"type": "X"},
                "b": {"type": "X", "properties": {
                    "fixed": [{"get_attr": ["a", "x"]}, {"get_attr": ["a", "x"]}],
                    "computed": {"get_attr": ["a", "y", {"get_param": "p"}]},
                    "other": {"get_attr": ["b", "z"]},
                }},
            },
            "outputs": {"o": {"value": {"get_attr": ["a"]}}},
        });
        let definition = definition(body).unwrap();
        let names = |asked: IndexSet<AttributePath>| asked.iter().map(AttributePath::to_text).collect::<Vec<_>>();
        assert_eq!(
            names(definition.attributes_asked_by_resources("a", &NoResources)),
            ["x", "('y', 'c')"]
        );
        assert_eq!(names(definition.attributes_asked_by_outputs("a", &NoResources)), ["*"]);
        assert!(definition.attributes_asked_by_outputs("b", &NoResources).is_empty());
    }

    #[test]
    fn what_needs_a_resource_stays_as_it_is_written() {
        let body = json!({
            "heat_template_version": "wallaby",
            "parameters": {"p": {"type": "string", "default": "x"}},
            "resources": {"a": {"type": "X"}},
            "outputs": {"o": {"value": {
                "known": {"str_replace": {"template": "n-v", "params": {"n": {"get_param": "p"}}}},
                "unknown": {"list_join": ["-", [{"get_param": "p"}, {"get_attr": ["a", {"get_param": "p"}]}]]},
                "chosen": {"if": [true, {"get_resource": "a"}]},
                "absent": {"if": [false, 1]},
            }}},
        });
        let definition = definition(body).unwrap();
        let value = definition.outputs().unwrap()["o"].expression();
        assert_eq!(
            value.resolve_partly(&definition.scope(&NoResources)).unwrap(),
            json!({
                "known": "x-v",
                "unknown": {"list_join": ["-", ["x", {"get_attr": ["a", "x"]}]]},
                "chosen": {"get_resource": "a"},
            })
        );
    }

    #[test]
    fn values_that_explode_are_refused() {
        let many: Vec<String> = (0..100).map(|number| number.to_string()).collect();
        let lists: Value = (0..10).map(|list| (format!("<{list}>"), json!(many))).collect();
        refused_for_size(json!({"repeat": {"template": "x", "for_each": lists}}));

        let mut nested = json!("a".repeat(10_000));
        for _ in 0..4 {
            nested = json!({"repeat": {"template": nested, "for_each": {"<b>": many}}});
        }
        refused_for_size(nested);

        let mut doubling = json!("aaaaaaaaaa");
        for _ in 0..40 {
            doubling = json!({"str_replace": {"template": doubling, "params": {"a": "aaaaaaaaaa"}}});
        }
        refused_for_size(doubling);

        let letters = "a".repeat(100_000);
        refused_for_size(json!({"repeat": {"template": letters, "for_each": {"a": [letters]}}}));
    }

    #[test]
    fn deep_templates_are_read_or_refused_but_never_overflow() {
        let nest = |levels: usize| (0..levels).fold(json!("x"), |inner, _| json!({"str_split": [",", inner]}));
        assert!(output(nest(50)).is_err(), "a list cannot be split");
        assert_eq!(output(nest(80)).unwrap_err().class_name(), "RequestLimitExceeded");
        let flat = |levels: usize| (0..levels).fold(json!("x"), |inner, _| json!([inner]));
        assert!(output(flat(120)).is_ok());
    }

    #[test]
    fn long_chains_of_conditions_are_refused() {
        let chain: Value = (0..10_000)
            .map(|number| (format!("c{number}"), json!({"not": format!("c{}", number + 1)})))
            .collect();
        let body = json!({
            "heat_template_version": "wallaby",
            "conditions": chain,
            "resources": {"a": {"type": "X", "condition": "c0"}},
        });
        let error = definition(body).unwrap_err();
        assert!(
            error.to_string().ends_with("\"c0\" depends on too many others"),
            "{error}"
        );
    }

    const ZONES_NOT_KNOWN: &str = "The availability zones are not known here: only the cloud can tell them";

    #[test]
    fn availability_zones_are_asked_for_where_they_are_needed() {
        let body = json!({
            "HeatTemplateFormatVersion": "2012-12-12",
            "Resources": {"a": {"Type": "X", "Properties": {"p": {"Fn::GetAZs": ""}}}},
        });
        let definition = definition(body).unwrap();
        let resource = definition.resource("a").unwrap();
        assert!(resource.needs_availability_zones() && !definition.questions_need_availability_zones());
        let scope = definition.scope(&NoResources);
        // The zones are not asked for before they are needed.
        assert_eq!(resource.validate(definition.template(), &scope), Ok(()));
        assert_eq!(resource.freeze(&scope, None).unwrap_err().to_string(), ZONES_NOT_KNOWN);
    }

    #[test]
    fn availability_zones_may_say_which_attributes_are_asked_for_but_not_of_which_resource() {
        let zone = json!({"Fn::Select": ["0", {"Fn::GetAZs": ""}]});
        let body = json!({
            "heat_template_version": "2013-05-23",
            "resources": {
                "a": {"type": "X"},
                "way": {"type": "X", "properties": {"p": {"get_attr": ["a", "show", zone]}}},
                "name": {"type": "X", "properties": {"p": {"get_resource": zone}}},
            },
        });
        let definition = definition(body).unwrap();
        assert!(definition.questions_need_availability_zones() && definition.has_computed_questions());
        let dependencies = |name: &str| definition.dependencies(definition.resource(name).unwrap(), &NoResources);
        assert_eq!(dependencies("way").unwrap(), ["a"]);
        assert_eq!(dependencies("name").unwrap_err().to_string(), ZONES_NOT_KNOWN);
    }

    #[test]
    fn stored_properties_take_the_place_of_those_in_the_template() {
        let body = json!({
            "heat_template_version": "2018-08-31",
            "resources": {"a": {"type": "X", "properties": {"n": 1}}, "b": {"type": "X"}},
        });
        let definition = definition(body).unwrap();
        let scope = definition.scope(&NoResources);
        let freeze = |name: &str, stored: Option<Value>| {
            let stored = stored.map(|stored| stored.as_object().cloned().unwrap_or_default());
            definition.resource(name).unwrap().freeze(&scope, stored).unwrap()
        };
        let now = freeze("a", None);
        assert!(!now.changes_since(&freeze("a", Some(json!({"n": 1.0})))).any());
        assert!(now.changes_since(&freeze("a", Some(json!({"n": 2})))).properties);
        assert!(!freeze("b", None).changes_since(&freeze("b", Some(json!({})))).any());
    }
}
