//! Stacks as replies have them.

use chrono::NaiveDateTime;
use serde_json::{Map, Value, json};

use super::error::RequestError;
use super::find::identifier;
use super::time::isotime;
use crate::resource::state::{Action, Status};
use crate::stack::Stack;
use crate::store;
use crate::template::TemplateError;

/// One line of a list.
pub fn summary(stack: &store::Stack, tags: &[String]) -> Value {
    json!({
        "stack_identity": identifier(stack).to_value(),
        "stack_name": stack.name,
        "description": "",
        "stack_action": stack.action,
        "stack_status": stack.status,
        "stack_status_reason": stack.status_reason,
        "creation_time": isotime(Some(stack.created_at)),
        "updated_time": isotime(stack.updated_at),
        "deletion_time": isotime(stack.deleted_at),
        "stack_owner": stack.username,
        "parent": stack.owner_id,
        "stack_user_project_id": stack.stack_user_project_id,
        "tags": if tags.is_empty() { Value::Null } else { Value::from(tags) },
    })
}

/// Everything but the state and the outputs.
pub fn details(stack: &Stack, tags: &[String], now: NaiveDateTime) -> Result<Map<String, Value>, RequestError> {
    let row = &stack.row;
    let created = if stack.stored { row.created_at } else { now };
    let description = stack.template().description();
    let Value::Object(details) = json!({
        "stack_name": row.name,
        "stack_identity": stack.identifier().to_value(),
        "creation_time": isotime(Some(created)),
        "updated_time": isotime(row.updated_at),
        "deletion_time": isotime(row.deleted_at),
        "notification_topics": [],
        "parameters": stack.definition.parameters().display().map_err(TemplateError::from)?,
        "description": description,
        "template_description": description,
        "capabilities": [],
        "disable_rollback": row.disable_rollback,
        "timeout_mins": row.timeout,
        "stack_owner": row.username,
        "parent": row.owner_id,
        "stack_user_project_id": row.stack_user_project_id,
        "tags": tags,
    }) else {
        return Ok(Map::new());
    };
    Ok(details)
}

pub fn add_state(details: &mut Map<String, Value>, stack: &Stack) {
    let row = &stack.row;
    details.insert(
        "stack_action".to_owned(),
        Value::from(row.action.clone().unwrap_or_default()),
    );
    details.insert(
        "stack_status".to_owned(),
        Value::from(row.status.clone().unwrap_or_default()),
    );
    details.insert("stack_status_reason".to_owned(), Value::from(row.status_reason.clone()));
}

/// A stack that is gone has no outputs any more.
pub fn is_deleted(stack: &Stack) -> bool {
    (stack.action(), stack.status()) == (Action::Delete, Status::Complete)
}
