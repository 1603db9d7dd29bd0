//! Storing a new stack: its template, what it keeps of its owner, and its row.

use super::Stack;
use super::error::StackError;
use super::services::Services;
use super::templates::NewTemplate;
use crate::identity::RequestContext;
use crate::identity::credentials::UserCredentials;
use crate::store::{NewStack, Session, StackChanges, StackCreation, StoreError};

/// Whether there is a new stack.
pub enum Creation {
    Stored(Box<Stack>),
    /// Another stack of the project has the name.
    NameTaken(String),
}

/// Stores a draft. Its credentials come first, apart from template and stack: the sweep finds by their row, and only by it,
/// the trust of a stack that did not come to be.
pub async fn store(services: &Services, context: &RequestContext, draft: Stack) -> Result<Creation, StackError> {
    let mut stack = draft;
    stack.row.id = services.clock.new_uuid();
    stack.row.current_traversal = Some(services.clock.new_uuid());
    let template = services.templates.prepare(stack.template(), &stack.definition)?;
    let kept = services.cloud.create_stored_credentials(context).await?;
    let credentials_id = services
        .store
        .user_creds_create(&services.key.seal_credentials(&kept)?)
        .await?;
    stack.row.user_creds_id = Some(credentials_id);
    let rows = NewRows {
        template,
        stack: new_row(&stack),
    };
    let writing = services
        .store
        .transaction(rows.clone(), |session, rows| Box::pin(rows.write(session)));
    match writing.await {
        Ok((StackCreation::Created(created_at), template_id)) => {
            services.templates.remember(template_id, rows.template).await;
            stack.row.raw_template_id = template_id;
            stack.row.created_at = created_at;
            stack.stored = true;
            stack.definition = services.templates.definition(&stack.row, template_id).await?;
            Ok(Creation::Stored(Box::new(stack)))
        }
        Ok((StackCreation::NameTaken, _)) => {
            undo(services, context, credentials_id, &kept).await?;
            Ok(Creation::NameTaken(stack.row.name))
        }
        // Where the row may be there after all, the sweep sees whether credentials have no stack.
        Err(error) if error.transience().is_some() => Err(error.into()),
        Err(error) => {
            undo(services, context, credentials_id, &kept).await?;
            Err(error.into())
        }
    }
}

/// Removes what was stored for a stack that is not to be. The row goes last: what cannot be removed now is found by it.
async fn undo(
    services: &Services,
    context: &RequestContext,
    credentials_id: i64,
    kept: &UserCredentials,
) -> Result<(), StackError> {
    services.cloud.delete_stored_trust(context, kept).await?;
    services.store.user_creds_delete(credentials_id).await?;
    Ok(())
}

#[derive(Clone)]
struct NewRows {
    template: NewTemplate,
    stack: NewStack,
}

impl NewRows {
    /// What came of the stack, and the id of its template. If the name is taken, nothing is written.
    async fn write(&self, session: &mut Session) -> Result<(StackCreation, i64), StoreError> {
        let raw_template_id = self.template.write(session).await?;
        let stack = NewStack {
            raw_template_id,
            ..self.stack.clone()
        };
        Ok((session.stack_create(&stack).await?, raw_template_id))
    }
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
