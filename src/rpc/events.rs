//! What happened to a stack and its resources.

use std::collections::{BTreeSet, HashMap};

use serde_json::{Map, Value, json};

use super::call::{Call, Engine};
use super::error::RequestError;
use super::find::identifier;
use super::time::isotime;
use super::{find, listing};
use crate::stack::identifier::Identifier;
use crate::store::{Deleted, Event, EventQuery, Filter, FilterTest, Stack, StackQuery};

pub async fn list_events(engine: &Engine, call: Call) -> Result<Value, RequestError> {
    let store = &engine.services().store;
    let filters = listing::filters(&call.arguments)?;
    let mut query = EventQuery {
        page: listing::page(&call.arguments)?,
        // The uuid of an event among the filters: it is shown whole.
        with_properties: filters.iter().any(|filter| filter.column == "uuid"),
        filters,
        ..EventQuery::default()
    };
    let depth = call.arguments.integer("nested_depth")?.unwrap_or(0);
    let mut root = None;
    let mut stacks = HashMap::new();
    match call.arguments.value("stack_identity") {
        Some(identity) if crate::python::value::is_true(identity) => {
            let stack = find::stack(engine.services(), &call.context, Some(identity), Deleted::Shown).await?;
            if depth != 0 {
                stacks = stacks_of_tree(engine, &call, &stack, depth).await?;
                query.project = Some(call.context.project_id.clone().unwrap_or_default());
                query.filters.push(Filter {
                    column: "stack_id".to_owned(),
                    test: FilterTest::OneOf(stacks.keys().map(|id| id.as_str().into()).collect()),
                });
                root = Some(identifier(&stack));
            } else {
                query.stack_id = Some(stack.id.clone());
                stacks.insert(stack.id.clone(), identifier(&stack));
            }
        }
        _ => query.project = Some(call.context.project_id.clone().unwrap_or_default()),
    }
    let events = store.events_list(&query).await?;
    if stacks.is_empty() {
        stacks = stacks_of_events(engine, &call, &events).await?;
    }
    let mut shown = Vec::with_capacity(events.len());
    for event in &events {
        // A stack can be purged between the two queries.
        if let Some(stack) = stacks.get(&event.stack_id) {
            shown.push(format_event(
                engine,
                event,
                stack,
                root.as_ref(),
                query.with_properties,
            )?);
        }
    }
    Ok(Value::Array(shown))
}

/// The stack and those nested in it, down to `depth` levels.
async fn stacks_of_tree(
    engine: &Engine,
    call: &Call,
    root: &Stack,
    depth: i64,
) -> Result<HashMap<String, Identifier>, RequestError> {
    let store = &engine.services().store;
    let mut stacks = store.stacks_below(&root.id, Deleted::Hidden).await?;
    stacks.push(root.clone());
    let seen = |stack: &Stack| {
        let (tenant, users) = (stack.tenant.as_deref(), stack.stack_user_project_id.as_deref());
        stack.deleted_at.is_none() && stack.nested_depth <= depth && call.context.may_see(tenant, users)
    };
    Ok(by_id(stacks.into_iter().filter(seen).collect()))
}

async fn stacks_of_events(
    engine: &Engine,
    call: &Call,
    events: &[Event],
) -> Result<HashMap<String, Identifier>, RequestError> {
    let ids: BTreeSet<&str> = events.iter().map(|event| event.stack_id.as_str()).collect();
    let mut query = StackQuery::new(find::scope_of(&call.context));
    query.show_nested = true;
    query.show_hidden = true;
    query.filters = vec![Filter {
        column: "id".to_owned(),
        test: FilterTest::OneOf(ids.into_iter().map(Into::into).collect()),
    }];
    Ok(by_id(engine.services().store.stacks_list(&query).await?))
}

fn by_id(stacks: Vec<Stack>) -> HashMap<String, Identifier> {
    stacks
        .into_iter()
        .map(|stack| (stack.id.clone(), identifier(&stack)))
        .collect()
}

fn format_event(
    engine: &Engine,
    event: &Event,
    stack: &Identifier,
    root: Option<&Identifier>,
    with_properties: bool,
) -> Result<Value, RequestError> {
    let mut shown = event_summary(event, stack);
    if let Some(root) = root {
        shown.insert("root_stack_id".to_owned(), root.to_value());
    }
    if with_properties {
        let properties = match &event.properties {
            Some(stored) => engine.services().key.open_properties(stored)?,
            None => Map::new(),
        };
        shown.insert("resource_properties".to_owned(), Value::Object(properties));
    }
    Ok(Value::Object(shown))
}

fn event_summary(event: &Event, stack: &Identifier) -> Map<String, Value> {
    let name = event.resource_name.as_deref().unwrap_or_default();
    let Value::Object(shown) = json!({
        "event_identity": stack.event(name, &event.uuid).to_value(),
        "stack_identity": stack.to_value(),
        "stack_name": stack.stack_name,
        "event_time": isotime(Some(event.created_at)),
        "resource_name": event.resource_name,
        "physical_resource_id": event.physical_resource_id,
        "resource_action": event.resource_action,
        "resource_status": event.resource_status,
        "resource_status_reason": event.resource_status_reason,
        "resource_type": event.resource_type,
    }) else {
        return Map::new();
    };
    shown
}
