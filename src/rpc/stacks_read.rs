//! Finding, listing and showing stacks.

use serde_json::Value;

use super::call::{Call, Engine};
use super::error::RequestError;
use super::find::{identifier, stack_by_name};
use super::served::ensure_served;
use super::{filters, find, format_stack, listing};
use crate::identity::RequestContext;
use crate::stack::Stack;
use crate::stack::outputs;
use crate::store::{self, Deleted, Filter, Scope, StackQuery};

pub async fn identify_stack(engine: &Engine, call: Call) -> Result<Value, RequestError> {
    let name = crate::python::to_text(call.arguments.value("stack_name").unwrap_or(&Value::Null));
    let store = &engine.services().store;
    let scope = find::scope_of(&call.context);
    let mut found = None;
    // A name may look like an id, so an id that is unknown is tried as a name.
    if uuid::Uuid::parse_str(&name).is_ok() {
        found = store.stack_get(&name, &scope, Deleted::Shown).await?;
    }
    if found.is_none() {
        found = stack_by_name(engine.services(), &call.context, &name).await?;
    }
    match found {
        Some(stack) => Ok(identifier(&stack).to_value()),
        None => Err(RequestError::EntityNotFound { entity: "Stack", name }),
    }
}

pub async fn list_stacks(engine: &Engine, call: Call) -> Result<Value, RequestError> {
    let filters = match call.arguments.map("filters")? {
        Some(given) => Filter::from_json(&filters::by_columns(given.clone()))?,
        None => Vec::new(),
    };
    let query = StackQuery {
        page: listing::page(&call.arguments)?,
        filters,
        ..query(engine, &call)?
    };
    let stacks = engine.services().store.stacks_list(&query).await?;
    let ids: Vec<String> = stacks.iter().map(|stack| stack.id.clone()).collect();
    let tags = engine.services().store.stack_tags_get_all(&ids).await?;
    Ok(stacks
        .iter()
        .map(|stack| format_stack::summary(stack, tags.get(&stack.id).map_or(&[][..], Vec::as_slice)))
        .collect())
}

pub async fn count_stacks(engine: &Engine, call: Call) -> Result<Value, RequestError> {
    let query = StackQuery {
        filters: listing::filters(&call.arguments)?,
        ..query(engine, &call)?
    };
    Ok(Value::from(engine.services().store.stacks_count(&query).await?))
}

/// What lists and counts have in common.
fn query(engine: &Engine, call: &Call) -> Result<StackQuery, RequestError> {
    let arguments = &call.arguments;
    let scope = if arguments.flag("tenant_safe", true) {
        find::scope_of(&call.context)
    } else {
        Scope::Everyone
    };
    let tags = |name: &str| -> Result<Vec<String>, RequestError> { Ok(arguments.texts(name)?.unwrap_or_default()) };
    Ok(StackQuery {
        show_deleted: arguments.flag("show_deleted", false),
        show_nested: arguments.flag("show_nested", false),
        show_hidden: arguments.flag("show_hidden", false),
        hidden_tags: engine.services().settings.engine.hidden_stack_tags.clone(),
        tags: tags("tags")?,
        tags_any: tags("tags_any")?,
        not_tags: tags("not_tags")?,
        not_tags_any: tags("not_tags_any")?,
        ..StackQuery::new(scope)
    })
}

pub async fn show_stack(engine: &Engine, call: Call) -> Result<Value, RequestError> {
    let resolve_outputs = call.arguments.flag("resolve_outputs", true);
    let services = engine.services();
    let rows = match call.arguments.value("stack_identity") {
        Some(identity) => vec![find::stack(services, &call.context, Some(identity), Deleted::Shown).await?],
        None => {
            let mut query = StackQuery::new(find::scope_of(&call.context));
            query.hidden_tags = services.settings.engine.hidden_stack_tags.clone();
            services.store.stacks_list(&query).await?
        }
    };
    let mut shown = Vec::with_capacity(rows.len());
    for row in rows {
        shown.push(show(engine, &call.context, row, resolve_outputs).await?);
    }
    Ok(Value::Array(shown))
}

async fn show(
    engine: &Engine,
    context: &RequestContext,
    row: store::Stack,
    resolve_outputs: bool,
) -> Result<Value, RequestError> {
    let services = engine.services();
    let mut stack = Stack::from_row(services, row).await?;
    let tags = stack.tags(services).await?;
    let mut shown = format_stack::details(&stack, &tags, services.clock.utc_now())?;
    format_stack::add_state(&mut shown, &stack);
    if resolve_outputs && !format_stack::is_deleted(&stack) {
        ensure_served(&stack.definition)?;
        shown.insert(
            "outputs".to_owned(),
            Value::Array(outputs::resolved(services, context, &stack).await?),
        );
    }
    Ok(Value::Object(shown))
}
