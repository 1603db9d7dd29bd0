//! A stack's resources as they are now: what is stored of them, and what their plug-ins can tell beyond that.
//!
//! For readers: nothing here changes a resource. What a plug-in learns of an attribute on the way is worth keeping, so
//! that the next reader finds it stored.

use std::collections::{BTreeMap, HashMap};
use std::sync::Arc;

use async_trait::async_trait;
use indexmap::{IndexMap, IndexSet};
use serde_json::{Map, Value};

use super::Stack;
use super::definition::{KnownType, find_type, properties_of};
use super::dependencies::Dependencies;
use super::error::StackError;
use super::known::KnownResources;
use super::node::NodeData;
use super::services::Services;
use super::stored::{self, facts_of, readable, state_of};
use crate::identity::RequestContext;
use crate::resource::attributes::{self, AttributeCache, attribute_key};
use crate::resource::failure::{Failure, Remedy};
use crate::resource::instance::{Identity, Instance, Record, Stored};
use crate::resource::lookup::LookupError;
use crate::resource::plugin::ResourceType;
use crate::resource::properties::Names;
use crate::resource::state::{Action, Status};
use crate::store::LoadedResource;
use crate::template::{
    Allowance, AttributeFailure, AttributePath, AvailabilityZones, ResolveError, ResourceDefinition, ResourceStates,
    StackDefinition, TemplateError,
};

/// The attribute that shows the whole object.
pub const SHOW: &str = "show";

/// One resource as it is now.
pub struct LiveResource {
    pub definition: ResourceDefinition,
    /// The metadata that the template gives. Most readers never look at it.
    pub metadata: Result<Value, ResolveError>,
    pub resource_type: &'static ResourceType,
    /// `None`: it exists in the template alone.
    pub row: Option<LoadedResource>,
    pub stored_properties: Option<Map<String, Value>>,
    pub attributes: AttributeCache,
    pub instance: Instance,
}

impl LiveResource {
    /// A resource that this engine has the type of.
    pub fn new(
        services: &Services,
        context: &RequestContext,
        stack: &Stack,
        definition: &StackDefinition,
        resource: &ResourceDefinition,
        row: Option<LoadedResource>,
        states: &dyn ResourceStates,
    ) -> Result<Self, StackError> {
        let resource_type = native_type(definition, resource)?;
        let scope = definition.scope(states);
        let section = definition.template().keywords().properties;
        let mut properties = properties_of(resource_type, resource, &scope)?.in_section(section);
        properties.translate(resource_type.translation, Names::AsGiven);
        resource_type.plugin.shape(&mut properties);
        let metadata = resource.metadata(&scope);
        let identity = Identity {
            name: resource.name.clone(),
            uuid: row.as_ref().map(|row| row.resource.uuid.clone()).unwrap_or_default(),
            type_name: resource.resource_type.clone(),
            resource_type,
            stack: facts_of(services, stack),
            state: row
                .as_ref()
                .map_or((Action::Init, Status::Complete), |row| state_of(&row.resource)),
        };
        let open = |sealed| services.key.open_properties(sealed);
        let sealed_properties = row.as_ref().and_then(|row| row.properties.as_ref());
        let stored_properties = sealed_properties.map(open).transpose()?;
        let stored = Stored {
            properties: stored_properties.clone(),
            physical_id: row.as_ref().and_then(|row| row.resource.physical_resource_id.clone()),
            data: match &row {
                Some(row) => readable(services, &row.data)?,
                None => BTreeMap::new(),
            },
            record: Arc::new(ReadOnly),
        };
        let session = services.cloud.session(context)?;
        let sealed_attributes = row.as_ref().and_then(|row| row.attributes.as_ref());
        Ok(Self {
            definition: resource.clone(),
            metadata,
            resource_type,
            stored_properties,
            attributes: sealed_attributes
                .map(open)
                .transpose()?
                .map(AttributeCache::stored)
                .unwrap_or_default(),
            instance: Instance::new(identity, stored, properties, services.clock.clone(), session),
            row,
        })
    }

    pub fn name(&self) -> &str {
        &self.definition.name
    }

    pub fn action(&self) -> Action {
        self.instance.action
    }

    pub fn status(&self) -> Status {
        self.instance.status
    }

    pub fn reference_id(&self) -> Value {
        Value::from(self.resource_type.plugin.reference_id(&self.instance))
    }

    /// The value of an attribute as the plug-in tells it now; null where there is none. An object that is not there any
    /// more has no attributes.
    pub async fn ask(&mut self, name: &str) -> Result<Value, Failure> {
        let plugin = self.resource_type.plugin;
        let answer = match name {
            SHOW if self.instance.physical_id().is_none() => Ok(None),
            SHOW => plugin.show(&mut self.instance).await,
            name => plugin.attribute(&mut self.instance, name).await,
        };
        match answer {
            Ok(value) => Ok(value.unwrap_or(Value::Null)),
            Err(failure) if failure.remedy == Remedy::Missing => Ok(Value::Null),
            Err(failure) => Err(failure),
        }
    }

    pub fn has_attribute(&self, name: &str) -> bool {
        let known = attributes::find(self.resource_type.attributes, name);
        known.is_some() || self.resource_type.plugin.has_any_attribute()
    }

    /// What `get_attr` gives, from what is kept if it is. `None`: there is no such attribute.
    async fn attribute(&mut self, path: &AttributePath) -> Option<Result<Value, String>> {
        if self.action() == Action::Init {
            return self.has_attribute(&path.name).then_some(Ok(Value::Null));
        }
        match self
            .instance
            .look_up(&mut self.attributes, &path.name, &path.path)
            .await
        {
            Ok(value) => Some(Ok(value)),
            Err(LookupError::NoSuchAttribute { .. }) => None,
            Err(LookupError::Failed(failure)) => Some(Err(failure.to_string())),
        }
    }

    /// "All attributes" is every one but `show`.
    fn spelt_out(&self, wanted: IndexSet<AttributePath>) -> IndexSet<AttributePath> {
        let (all, mut paths): (IndexSet<AttributePath>, IndexSet<AttributePath>) =
            wanted.into_iter().partition(AttributePath::is_all);
        if !all.is_empty() {
            let names = attributes::names(self.resource_type.attributes);
            paths.extend(names.map(|name| AttributePath::new(name, Vec::new())));
        }
        paths
    }

    /// Keeps what was learned of the attributes, unless the resource has moved on.
    async fn keep_attributes(&self, services: &Services) -> Result<(), StackError> {
        let Some(row) = &self.row else { return Ok(()) };
        stored::keep_attributes(
            services,
            &row.resource,
            (self.action(), self.status()),
            &self.attributes,
        )
        .await
    }
}

/// All resources of a stack's definition, and what the template may refer to of them.
pub struct LiveStack {
    /// In the order of their dependencies.
    pub resources: IndexMap<String, LiveResource>,
    pub states: LiveStates,
    pub graph: Dependencies<String>,
}

/// Whose references to attributes count.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Readers<'a> {
    ResourcesAndOutputs,
    /// Resources alone: what they have to tell each other so that their own attributes can be read.
    Resources,
    OneOutput(&'a str),
    /// Those of a template that is looked at as such: what its values are is nobody's concern.
    Template,
}

impl LiveStack {
    /// Walks the resources in the order of their dependencies, so that each finds what those before it have to tell.
    pub async fn load(
        services: &Services,
        context: &RequestContext,
        stack: &Stack,
        readers: Readers<'_>,
    ) -> Result<Self, StackError> {
        let mut rows = match stack.stored {
            true => by_name(services.store.resources_load_by_stack(stack.id()).await?),
            false => HashMap::new(),
        };
        let definition = &stack.definition;
        let graph = stack.dependencies()?;
        let order = graph
            .in_order()
            .map_err(|cycle| circular(definition, &graph, &cycle.0))?;
        let mut live = Self {
            resources: IndexMap::new(),
            states: LiveStates::default(),
            graph,
        };
        if definition.questions_need_availability_zones() && readers != Readers::Template {
            live.states.learn_availability_zones(services, context).await;
        }
        let mut learned = HashMap::new();
        for name in order {
            let Some(resource) = definition.resource(&name) else {
                continue;
            };
            let row = rows.remove(&name);
            let wanted = live.wanted(definition, &name, readers);
            if resource.needs_availability_zones() && are_read(stack, readers, &wanted) {
                live.states.learn_availability_zones(services, context).await;
            }
            let mut one = LiveResource::new(services, context, stack, definition, resource, row, &live.states)?;
            let wanted = one.spelt_out(wanted);
            live.states.learn(&mut one, wanted.clone()).await;
            live.resources.insert(name.clone(), one);
            learned.insert(name, wanted);
        }
        live.learn_through_others(definition, readers, learned).await;
        Ok(live)
    }

    /// Asks again for what turns out to be wanted once others are known. An output may go into an attribute by a way that
    /// it takes from an attribute of another resource, and the order of the two is nobody's concern.
    async fn learn_through_others(
        &mut self,
        definition: &StackDefinition,
        readers: Readers<'_>,
        mut learned: HashMap<String, IndexSet<AttributePath>>,
    ) {
        let mut resources = std::mem::take(&mut self.resources);
        // Ways lead through ways at most as often as there are resources.
        for _ in 0..resources.len() {
            let mut is_settled = true;
            for (name, one) in &mut resources {
                let wanted = one.spelt_out(self.wanted(definition, name, readers));
                if learned.get(name) != Some(&wanted) {
                    self.states.learn(one, wanted.clone()).await;
                    learned.insert(name.clone(), wanted);
                    is_settled = false;
                }
            }
            if is_settled {
                break;
            }
        }
        self.resources = resources;
    }

    /// The attributes of a resource that are asked for, as far as that can be told by now.
    fn wanted(&self, definition: &StackDefinition, name: &str, readers: Readers<'_>) -> IndexSet<AttributePath> {
        match readers {
            Readers::Resources => definition.attributes_asked_by_resources(name, &self.states),
            Readers::ResourcesAndOutputs | Readers::Template => {
                let mut asked = definition.attributes_asked_by_resources(name, &self.states);
                asked.extend(definition.attributes_asked_by_outputs(name, &self.states));
                asked
            }
            Readers::OneOutput(output) => {
                let output = definition.outputs().ok().and_then(|outputs| outputs.get(output));
                let asked = output.map(|output| output.attributes(&definition.scope(&self.states)));
                let of_this = asked.into_iter().flatten().filter(|(resource, _)| resource == name);
                of_this.map(|(_, path)| path).collect()
            }
        }
    }

    /// The names of the resources that wait for this one.
    pub fn required_by(&self, name: &str) -> Vec<String> {
        self.graph.required_by(&name.to_owned()).cloned().collect()
    }

    /// Keeps what was learned of attributes. That it cannot be kept is no reason to show nothing.
    pub async fn keep_attributes(&self, services: &Services) {
        for resource in self.resources.values() {
            if let Err(error) = resource.keep_attributes(services).await {
                let error = &error as &dyn std::error::Error;
                tracing::error!(resource = resource.name(), error, "attributes could not be stored");
            }
        }
    }
}

/// Whether somebody looks at the values that the template gives to a resource, of which these attributes are wanted. Whoever
/// wants the outputs of a stack looks at no others.
fn are_read(stack: &Stack, readers: Readers<'_>, wanted: &IndexSet<AttributePath>) -> bool {
    match readers {
        Readers::Template => false,
        Readers::Resources => true,
        Readers::ResourcesAndOutputs | Readers::OneOutput(_) => {
            !stack.stored || !wanted.is_empty() || stack.definition.has_computed_questions()
        }
    }
}

/// What the template may refer to of live resources, attributes included that could not be told.
#[derive(Debug, Default)]
pub struct LiveStates {
    known: KnownResources,
    /// By resource and attribute key.
    failures: HashMap<(String, String), String>,
}

impl LiveStates {
    pub async fn learn_availability_zones(&mut self, services: &Services, context: &RequestContext) {
        self.known.learn_availability_zones(services, context).await;
    }

    /// Asks for the attributes that are wanted. A resource that does not exist yet has them, but no values.
    async fn learn(&mut self, resource: &mut LiveResource, wanted: IndexSet<AttributePath>) {
        let mut values = IndexMap::new();
        for path in wanted {
            let key = attribute_key(&path.name, &path.path);
            match resource.attribute(&path).await {
                Some(Ok(value)) => {
                    values.insert(key, value);
                }
                Some(Err(reason)) => {
                    self.failures.insert((resource.name().to_owned(), key), reason);
                }
                None => {}
            }
        }
        self.known.insert(NodeData {
            id: resource.row.as_ref().map_or(0, |row| row.resource.id),
            name: resource.name().to_owned(),
            uuid: resource.instance.uuid.clone(),
            reference_id: resource.reference_id(),
            attributes: values,
            action: resource.action().to_string(),
            status: resource.status().to_string(),
        });
    }
}

impl ResourceStates for LiveStates {
    fn allowance(&self) -> Allowance {
        self.known.allowance()
    }

    fn availability_zones(&self) -> Option<&AvailabilityZones> {
        self.known.availability_zones()
    }

    fn state(&self, resource: &str) -> Option<(&str, &str)> {
        self.known.state(resource)
    }

    fn reference_id(&self, resource: &str) -> Option<Value> {
        self.known.reference_id(resource)
    }

    fn attribute(&self, resource: &str, attribute: &AttributePath) -> Result<Value, AttributeFailure> {
        let key = (resource.to_owned(), attribute_key(&attribute.name, &attribute.path));
        match self.failures.get(&key) {
            Some(reason) => Err(AttributeFailure::Failed(reason.clone())),
            None => self.known.attribute(resource, attribute),
        }
    }

    fn attributes(&self, resource: &str) -> Result<Map<String, Value>, AttributeFailure> {
        match self.failures.iter().find(|((name, _), _)| name == resource) {
            Some((_, reason)) => Err(AttributeFailure::Failed(reason.clone())),
            None => self.known.attributes(resource),
        }
    }

    fn has_attribute(&self, resource: &str, attribute: &str) -> bool {
        self.known.has_attribute(resource, attribute)
            || self.failures.contains_key(&(resource.to_owned(), attribute.to_owned()))
    }
}

/// The types of a definition's resources that this engine does not have, by their names in the template.
pub fn foreign_type(definition: &StackDefinition) -> Option<&str> {
    let mut resources = definition.resources().values();
    let foreign = resources.find(|resource| matches!(find_type(definition.template(), resource), KnownType::Elsewhere));
    foreign.map(|resource| resource.resource_type.as_str())
}

fn native_type(
    definition: &StackDefinition,
    resource: &ResourceDefinition,
) -> Result<&'static ResourceType, StackError> {
    match find_type(definition.template(), resource) {
        KnownType::Native(resource_type) => Ok(resource_type),
        KnownType::Elsewhere => Err(TemplateError::EntityNotFound {
            entity: "Resource Type".to_owned(),
            name: resource.resource_type.clone(),
        }
        .into()),
    }
}

/// Of several rows with one name (a replacement under way) the newest counts.
fn by_name(rows: Vec<LoadedResource>) -> HashMap<String, LoadedResource> {
    let mut newest: HashMap<String, LoadedResource> = HashMap::new();
    for row in rows {
        let is_newer = newest
            .get(&row.resource.name)
            .is_none_or(|other| other.resource.id < row.resource.id);
        if is_newer {
            newest.insert(row.resource.name.clone(), row);
        }
    }
    newest
}

/// A cycle as the oracle tells it: each resource of it, and what it waits for.
fn circular(definition: &StackDefinition, graph: &Dependencies<String>, cycle: &[String]) -> StackError {
    let describe = |name: &String| match definition.resource(name).map(|it| native_type(definition, it)) {
        Some(Ok(resource_type)) => format!("{} \"{name}\"", resource_type.python_class),
        _ => format!("\"{name}\""),
    };
    let nodes: Vec<String> = cycle
        .iter()
        .map(|name| {
            let waits_for: Vec<String> = graph
                .requires(name)
                .filter(|required| cycle.contains(required))
                .map(describe)
                .collect();
            format!("{}: {{{}}}", describe(name), waits_for.join(", "))
        })
        .collect();
    StackError::circular(&nodes)
}

/// A reader's plug-in has nothing to store.
struct ReadOnly;

#[async_trait]
impl Record for ReadOnly {
    async fn set_physical_id(&self, _: Option<&str>) -> Result<(), Failure> {
        Err(read_only())
    }

    async fn set_data(&self, _: &str, _: &str, _: bool) -> Result<(), Failure> {
        Err(read_only())
    }

    async fn delete_data(&self, _: &str) -> Result<(), Failure> {
        Err(read_only())
    }
}

fn read_only() -> Failure {
    Failure::terminal("Error", "a resource cannot be changed while it is only shown")
}
