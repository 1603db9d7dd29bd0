//! The resources of a stack.

use std::collections::HashMap;
use std::sync::Arc;

use serde_json::{Map, Value};

use super::call::{Call, Engine};
use super::error::RequestError;
use super::find::identifier;
use super::format_resource::{self, WantedAttributes};
use super::served::ensure_served;
use super::{filters, find};
use crate::identity::RequestContext;
use crate::python::to_text;
use crate::stack::Stack;
use crate::stack::live::{LiveResource, LiveStack, Readers};
use crate::stack::node::Node;
use crate::store::{Deleted, LoadedResource, Resource, StoreError};
use crate::template::StackDefinition;

pub async fn describe_stack_resource(engine: &Engine, call: Call) -> Result<Value, RequestError> {
    let services = engine.services();
    let row = find::stack(
        services,
        &call.context,
        call.arguments.value("stack_identity"),
        Deleted::Hidden,
    )
    .await?;
    let stack = Stack::from_row(services, row).await?;
    ensure_served(&stack.definition)?;
    if call
        .context
        .roles
        .contains(&services.settings.engine.heat_stack_user_role)
    {
        // The resources that let a stack's own users in are of types that are served elsewhere.
        return Err(RequestError::Forbidden("this action".to_owned()));
    }
    let name = to_text(call.arguments.value("resource_name").unwrap_or(&Value::Null));
    let wanted = WantedAttributes::read(call.arguments.value("with_attr"));
    let mut live = LiveStack::load(services, &call.context, &stack, Readers::Resources).await?;
    let required_by = live.required_by(&name);
    if let Some(resource) = live.resources.get_mut(&name) {
        return Ok(Value::Object(
            format_resource::details(&stack, resource, &required_by, &wanted).await?,
        ));
    }
    // One that the template no longer has, but that is still there.
    let rows = services.store.resources_load_by_stack(stack.id()).await?;
    let row = rows.into_iter().rfind(|row| row.resource.name == name);
    let mut old = OldResources::new(engine, &call.context, &stack, live);
    match row {
        Some(row) => old.details(row, &wanted).await?.map(Value::Object),
        None => None,
    }
    .ok_or_else(|| RequestError::ResourceNotFound {
        resource_name: name,
        stack_name: stack.name().to_owned(),
    })
}

pub async fn describe_stack_resources(engine: &Engine, call: Call) -> Result<Value, RequestError> {
    let services = engine.services();
    let row = find::stack(
        services,
        &call.context,
        call.arguments.value("stack_identity"),
        Deleted::Hidden,
    )
    .await?;
    let stack = Stack::from_row(services, row).await?;
    ensure_served(&stack.definition)?;
    let name = call.arguments.value("resource_name").map(to_text);
    let mut live = LiveStack::load(services, &call.context, &stack, Readers::Resources).await?;
    let wanted = WantedAttributes::AllAnd(Vec::new());
    let mut shown = Vec::new();
    for one in stack.definition.resources().keys() {
        if name.as_ref().is_some_and(|name| name != one) {
            continue;
        }
        let required_by = live.required_by(one);
        if let Some(resource) = live.resources.get_mut(one) {
            shown.push(Value::Object(
                format_resource::details(&stack, resource, &required_by, &wanted).await?,
            ));
        }
    }
    Ok(Value::Array(shown))
}

pub async fn find_physical_resource(engine: &Engine, call: Call) -> Result<Value, RequestError> {
    let services = engine.services();
    let physical_id = to_text(call.arguments.value("physical_resource_id").unwrap_or(&Value::Null));
    let scope = find::scope_of(&call.context);
    let found = services.store.resources_by_physical_id(&physical_id, &scope).await?;
    let Some(first) = found.first() else {
        return Err(RequestError::EntityNotFound {
            entity: "Resource",
            name: physical_id,
        });
    };
    if found.iter().any(|resource| resource.stack_id != first.stack_id) {
        return Err(RequestError::PhysicalResourceIdAmbiguity(physical_id));
    }
    match services
        .store
        .stack_get(&first.stack_id, &scope, Deleted::Shown)
        .await?
    {
        Some(stack) => Ok(identifier(&stack).resource(&first.name).to_value()),
        None => Err(RequestError::NotFound(format!(
            "No stack exists with id \"{}\"",
            first.stack_id
        ))),
    }
}

pub async fn list_stack_resources(engine: &Engine, call: Call) -> Result<Value, RequestError> {
    let services = engine.services();
    let row = find::stack(
        services,
        &call.context,
        call.arguments.value("stack_identity"),
        Deleted::Shown,
    )
    .await?;
    let stack = Stack::from_row(services, row).await?;
    // What only those types know: whether they have a stack of their own inside.
    ensure_served(&stack.definition)?;
    let mut filters = call
        .arguments
        .map("filters")?
        .cloned()
        .map(filters::by_columns)
        .unwrap_or_default();
    let type_filter = filters.shift_remove("type").map(|wanted| to_text(&wanted));
    let row_filter = RowFilter::read(&filters)?;
    if call.arguments.flag("with_detail", false) {
        let rows = services.store.resources_load_by_stack(stack.id()).await?;
        let rows = rows
            .into_iter()
            .filter(|row| row_filter.matches(&row.resource))
            .collect();
        return list_in_detail(engine, &call.context, &stack, rows, type_filter.as_deref()).await;
    }
    let rows = services.store.resources_by_stack(stack.id()).await?;
    let rows: Vec<Resource> = rows.into_iter().filter(|row| row_filter.matches(row)).collect();
    let graph = stack.dependencies()?;
    let mut definitions = Definitions::new(engine, &stack);
    let mut shown = Vec::with_capacity(rows.len());
    for row in newest_by_name(rows) {
        let Some(definition) = definitions.of(&row).await? else {
            continue;
        };
        let Some(resource) = definition.resource(&row.name) else {
            continue;
        };
        ensure_served(&definition)?;
        if type_filter
            .as_ref()
            .is_some_and(|wanted| !resource.resource_type.contains(wanted.as_str()))
        {
            continue;
        }
        let required_by = match graph.contains(&row.name) {
            true => graph.required_by(&row.name).cloned().collect(),
            false => waiting_for_cleanup(engine, &stack, row.id).await?,
        };
        let one = format_resource::summary(&stack, &row.name, &resource.resource_type, Some(&row), &required_by);
        shown.push(Value::Object(one));
    }
    Ok(Value::Array(shown))
}

async fn list_in_detail(
    engine: &Engine,
    context: &RequestContext,
    stack: &Stack,
    rows: Vec<LoadedResource>,
    type_filter: Option<&str>,
) -> Result<Value, RequestError> {
    let live = LiveStack::load(engine.services(), context, stack, Readers::Resources).await?;
    let wanted = WantedAttributes::AllAnd(Vec::new());
    let mut resources = OldResources::new(engine, context, stack, live);
    let mut shown = Vec::with_capacity(rows.len());
    let names: HashMap<String, i64> = rows
        .iter()
        .map(|row| (row.resource.name.clone(), row.resource.id))
        .collect();
    for row in rows {
        if names.get(&row.resource.name) != Some(&row.resource.id) {
            continue;
        }
        if let Some(one) = resources.details(row, &wanted).await?
            && type_filter.is_none_or(|wanted| one["resource_type"].as_str().is_some_and(|it| it.contains(wanted)))
        {
            shown.push(Value::Object(one));
        }
    }
    Ok(Value::Array(shown))
}

/// Rows by their own definitions: a resource that was last touched by an earlier template is shown as that had it.
struct OldResources<'a> {
    engine: &'a Engine,
    context: &'a RequestContext,
    stack: &'a Stack,
    live: LiveStack,
    definitions: Definitions<'a>,
}

impl<'a> OldResources<'a> {
    fn new(engine: &'a Engine, context: &'a RequestContext, stack: &'a Stack, live: LiveStack) -> Self {
        Self {
            engine,
            context,
            stack,
            live,
            definitions: Definitions::new(engine, stack),
        }
    }

    /// `None` for a row whose definition is gone.
    async fn details(
        &mut self,
        row: LoadedResource,
        wanted: &WantedAttributes,
    ) -> Result<Option<Map<String, Value>>, RequestError> {
        let name = row.resource.name.clone();
        let required_by = match self.live.graph.contains(&name) {
            true => self.live.required_by(&name),
            false => waiting_for_cleanup(self.engine, self.stack, row.resource.id).await?,
        };
        let Some(definition) = self.definitions.of(&row.resource).await? else {
            return Ok(None);
        };
        let Some(resource) = definition.resource(&name) else {
            return Ok(None);
        };
        ensure_served(&definition)?;
        let services = self.engine.services();
        if resource.needs_availability_zones() {
            self.live.states.learn_availability_zones(services, self.context).await;
        }
        let states = &self.live.states;
        let mut one = LiveResource::new(
            services,
            self.context,
            self.stack,
            &definition,
            resource,
            Some(row),
            states,
        )?;
        format_resource::details(self.stack, &mut one, &required_by, wanted)
            .await
            .map(Some)
    }
}

/// The definitions of earlier templates that rows still belong to.
struct Definitions<'a> {
    engine: &'a Engine,
    stack: &'a Stack,
}

impl<'a> Definitions<'a> {
    fn new(engine: &'a Engine, stack: &'a Stack) -> Self {
        Self { engine, stack }
    }

    async fn of(&mut self, row: &Resource) -> Result<Option<Arc<StackDefinition>>, RequestError> {
        use crate::stack::error::StackError;
        let current = self.stack.row.raw_template_id;
        match row.current_template_id {
            Some(id) if id != current => match self.engine.services().templates.definition(&self.stack.row, id).await {
                Ok(definition) => Ok(Some(definition)),
                Err(StackError::TemplateMissing(_)) => Ok(None),
                Err(error) => Err(error.into()),
            },
            _ => Ok(Some(self.stack.definition.clone())),
        }
    }
}

/// Filters of a listing of resources, by the columns of their rows.
struct RowFilter(Vec<(ReadColumn, Vec<String>)>);

type ReadColumn = fn(&Resource) -> Option<String>;

impl RowFilter {
    fn read(filters: &Map<String, Value>) -> Result<Self, RequestError> {
        let mut tests = Vec::new();
        for (column, wanted) in filters {
            let of: ReadColumn = match column.as_str() {
                "name" => |row| Some(row.name.clone()),
                "action" => |row| row.action.clone(),
                "status" => |row| row.status.clone(),
                "status_reason" => |row| row.status_reason.clone(),
                "uuid" => |row| Some(row.uuid.clone()),
                "id" => |row| Some(row.id.to_string()),
                "physical_resource_id" => |row| row.physical_resource_id.clone(),
                _ => return Err(StoreError::UnknownFilter(column.clone()).into()),
            };
            let wanted = match wanted {
                Value::Array(several) => several.iter().map(|one| to_text(one).to_lowercase()).collect(),
                one => vec![to_text(one).to_lowercase()],
            };
            tests.push((of, wanted));
        }
        Ok(Self(tests))
    }

    /// The database does not tell upper case from lower case either.
    fn matches(&self, row: &Resource) -> bool {
        self.0
            .iter()
            .all(|(of, wanted)| of(row).is_some_and(|value| wanted.contains(&value.to_lowercase())))
    }
}

/// Of several rows with one name (a replacement under way) the newest counts.
fn newest_by_name(rows: Vec<Resource>) -> Vec<Resource> {
    let newest: HashMap<String, i64> = rows.iter().map(|row| (row.name.clone(), row.id)).collect();
    rows.into_iter()
        .filter(|row| newest.get(&row.name) == Some(&row.id))
        .collect()
}

/// The resources of the current template that are to be cleaned up before one that it no longer has.
async fn waiting_for_cleanup(engine: &Engine, stack: &Stack, resource_id: i64) -> Result<Vec<String>, RequestError> {
    let traversal = stack.traversal();
    if traversal.is_empty() {
        return Ok(Vec::new());
    }
    let graph = engine.convergence.graph(stack.id(), traversal).await?;
    let waiting: Vec<i64> = graph
        .requires(&Node::cleanup(resource_id))
        .filter(|node| !node.is_update)
        .filter_map(Node::resource_id)
        .collect();
    if waiting.is_empty() {
        return Ok(Vec::new());
    }
    let rows = engine.services().store.resources_by_stack(stack.id()).await?;
    let rows = rows.into_iter().filter(|row| waiting.contains(&row.id));
    Ok(rows
        .map(|row| row.name)
        .filter(|name| stack.definition.resource(name).is_some())
        .collect())
}
