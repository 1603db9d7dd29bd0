//! What a create or an update would do.

use serde_json::{Map, Value};

use super::call::{Call, Engine};
use super::error::RequestError;
use super::format_resource::{self, WantedAttributes};
use super::stack_request::{NewStackRequest, UpdateRequest};
use super::{find, format_stack};
use crate::stack::Stack;
use crate::stack::live::{LiveStack, Readers};
use crate::stack::outputs;
use crate::stack::preview::{Fate, UpdatePreview};
use crate::store::Deleted;

pub async fn preview_stack(engine: &Engine, call: Call) -> Result<Value, RequestError> {
    let services = engine.services();
    let request = NewStackRequest::read(engine, &call).await?;
    let stack = request.validated(engine, &call.context).await?;
    let mut live = LiveStack::load(services, &call.context, &stack, Readers::ResourcesAndOutputs).await?;
    let tags = stack.tags.clone().unwrap_or_default();
    let mut shown = format_stack::details(&stack, &tags, services.clock.utc_now())?;
    let outputs = outputs::values(services, &call.context, &stack, &mut live).await?;
    shown.insert("outputs".to_owned(), Value::Array(outputs));
    let wanted = WantedAttributes::AllAnd(Vec::new());
    let mut resources = Vec::new();
    for name in stack.definition.resources().keys() {
        let required_by = live.required_by(name);
        let Some(resource) = live.resources.get_mut(name) else {
            continue;
        };
        let mut one = format_resource::details(&stack, resource, &required_by, &wanted).await?;
        one.insert(
            "properties".to_owned(),
            Value::Object(format_resource::properties(resource)),
        );
        resources.push(Value::Object(one));
    }
    shown.insert("resources".to_owned(), Value::Array(resources));
    Ok(Value::Object(shown))
}

pub async fn preview_update_stack(engine: &Engine, call: Call) -> Result<Value, RequestError> {
    let services = engine.services();
    let row = find::stack(
        services,
        &call.context,
        call.arguments.value("stack_identity"),
        Deleted::Hidden,
    )
    .await?;
    let current = Stack::from_row(services, row).await?;
    let request = UpdateRequest::read(engine, &call, &current).await?;
    let updated = request.validated(engine, &call.context, &current).await?;
    let mut preview = UpdatePreview::of(services, &call.context, &current, &updated).await?;
    let mut shown = Map::new();
    for (key, fate, is_current) in [
        ("unchanged", Fate::Unchanged, false),
        ("updated", Fate::Updated, true),
        ("replaced", Fate::Replaced, false),
        ("added", Fate::Added, false),
        ("deleted", Fate::Deleted, true),
    ] {
        let names: Vec<String> = preview.names(fate).map(str::to_owned).collect();
        let (stack, live) = match is_current {
            true => (&current, &mut preview.current),
            false => (&updated, &mut preview.updated),
        };
        shown.insert(key.to_owned(), Value::Array(details(stack, live, &names).await?));
    }
    Ok(Value::Object(shown))
}

async fn details(stack: &Stack, live: &mut LiveStack, names: &[String]) -> Result<Vec<Value>, RequestError> {
    let wanted = WantedAttributes::AllAnd(Vec::new());
    let mut shown = Vec::with_capacity(names.len());
    for name in names {
        let required_by = live.required_by(name);
        if let Some(resource) = live.resources.get_mut(name) {
            shown.push(Value::Object(
                format_resource::details(stack, resource, &required_by, &wanted).await?,
            ));
        }
    }
    Ok(shown)
}
