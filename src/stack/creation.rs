//! Storing a new stack: its template, what it keeps of its owner, and its row.

use super::Stack;
use super::error::StackError;
use super::services::Services;
use crate::identity::RequestContext;
use crate::identity::credentials::UserCredentials;
use crate::store::{NewStack, StackChanges, StackCreation};

/// Whether there is a new stack.
pub enum Creation {
    Stored(Box<Stack>),
    /// Another stack of the project has the name.
    NameTaken(String),
}

/// Stores a draft. What was stored before it turned out that there can be no such stack is removed again.
pub async fn store(services: &Services, context: &RequestContext, draft: Stack) -> Result<Creation, StackError> {
    let mut stack = draft;
    stack.row.id = services.clock.new_uuid();
    stack.row.current_traversal = Some(services.clock.new_uuid());
    stack.row.raw_template_id = services.templates.insert(stack.template(), &stack.definition).await?;
    let kept = services.cloud.create_stored_credentials(context).await?;
    let credentials_id = services
        .store
        .user_creds_create(&services.key.seal_credentials(&kept)?)
        .await?;
    stack.row.user_creds_id = Some(credentials_id);
    match services.store.stack_create(&new_row(&stack)).await {
        Ok(StackCreation::Created(created_at)) => {
            stack.row.created_at = created_at;
            stack.stored = true;
            stack.definition = services
                .templates
                .definition(&stack.row, stack.row.raw_template_id)
                .await?;
            Ok(Creation::Stored(Box::new(stack)))
        }
        Ok(StackCreation::NameTaken) => {
            undo(services, context, &stack, &kept).await?;
            Ok(Creation::NameTaken(stack.row.name))
        }
        // Where nobody knows whether the row is there, the sweep finds what has no stack.
        Err(error) if error.transience().is_some() => Err(error.into()),
        Err(error) => {
            undo(services, context, &stack, &kept).await?;
            Err(error.into())
        }
    }
}

/// Removes what was stored for a stack that is not to be.
async fn undo(
    services: &Services,
    context: &RequestContext,
    stack: &Stack,
    kept: &UserCredentials,
) -> Result<(), StackError> {
    services.cloud.delete_stored_trust(context, kept).await?;
    if let Some(credentials_id) = stack.row.user_creds_id {
        services.store.user_creds_delete(credentials_id).await?;
    }
    let removal = services.store.raw_template_delete(stack.row.raw_template_id).await?;
    tracing::debug!(stack = stack.name(), ?removal, "the stack is not to be");
    Ok(())
}

fn new_row(stack: &Stack) -> NewStack {
    let row = stack.row.clone();
    NewStack {
        id: row.id,
        name: row.name,
        raw_template_id: row.raw_template_id,
        prev_raw_template_id: row.prev_raw_template_id,
        user_creds_id: row.user_creds_id,
        username: row.username,
        owner_id: row.owner_id,
        action: row.action,
        status: row.status,
        status_reason: row.status_reason,
        timeout: row.timeout,
        tenant: row.tenant,
        disable_rollback: row.disable_rollback,
        stack_user_project_id: row.stack_user_project_id,
        backup: row.backup,
        nested_depth: row.nested_depth,
        convergence: row.convergence,
        current_traversal: row.current_traversal,
        current_deps: None,
        parent_resource_name: row.parent_resource_name,
        updated_at: row.updated_at,
        tags: stack.tags.clone().unwrap_or_default(),
    }
}

/// Gives the stack a project for the users that it makes.
pub async fn create_user_project(
    services: &Services,
    context: &RequestContext,
    stack: &mut Stack,
) -> Result<(), StackError> {
    if stack.row.stack_user_project_id.is_some() {
        return Ok(());
    }
    let project_id = services
        .cloud
        .keystone(context)?
        .create_stack_domain_project(stack.id())
        .await?;
    let changes = StackChanges {
        stack_user_project_id: Some(project_id.clone()),
        ..StackChanges::default()
    };
    let swap = services
        .store
        .stack_swap(stack.id(), Some(stack.traversal()), &changes)
        .await?;
    tracing::debug!(stack = stack.name(), ?swap, project_id, "project for stack users");
    stack.row.stack_user_project_id = project_id;
    Ok(())
}
