//! Storing a new stack: its template, what it keeps of its owner, and its row.

use chrono::NaiveDateTime;

use super::Stack;
use super::error::StackError;
use super::services::Services;
use super::templates::NewTemplate;
use crate::identity::RequestContext;
use crate::store::{NewStack, NewUserCreds, Session, StackChanges, StackCreation, StoreError};

/// Whether there is a new stack.
pub enum Creation {
    Stored(Box<Stack>),
    /// Another stack of the project has the name.
    NameTaken(String),
}

/// Stores a draft: its template, credentials and row in one transaction.
pub async fn store(services: &Services, context: &RequestContext, draft: Stack) -> Result<Creation, StackError> {
    let mut stack = draft;
    stack.row.id = services.clock.new_uuid();
    stack.row.current_traversal = Some(services.clock.new_uuid());
    let template = services.templates.prepare(stack.template(), &stack.definition)?;
    let kept = services.cloud.create_stored_credentials(context).await?;
    let rows = NewRows {
        template,
        credentials: services.key.seal_credentials(&kept)?,
        stack: new_row(&stack),
    };
    let written = services
        .store
        .transaction(rows.clone(), |session, rows| Box::pin(rows.write(session)));
    match written.await {
        Ok(Some(written)) => {
            services.templates.remember(written.template_id, rows.template).await;
            stack.row.raw_template_id = written.template_id;
            stack.row.user_creds_id = Some(written.credentials_id);
            stack.row.created_at = written.created_at;
            stack.stored = true;
            stack.definition = services
                .templates
                .definition(&stack.row, stack.row.raw_template_id)
                .await?;
            Ok(Creation::Stored(Box::new(stack)))
        }
        Ok(None) => {
            services.cloud.delete_stored_trust(context, &kept).await?;
            Ok(Creation::NameTaken(stack.row.name))
        }
        // Where nobody knows whether the row is there, its trust must stay.
        Err(error) if error.transience().is_some() => Err(error.into()),
        Err(error) => {
            services.cloud.delete_stored_trust(context, &kept).await?;
            Err(error.into())
        }
    }
}

#[derive(Clone)]
struct NewRows {
    template: NewTemplate,
    credentials: NewUserCreds,
    stack: NewStack,
}

struct WrittenRows {
    template_id: i64,
    credentials_id: i64,
    created_at: NaiveDateTime,
}

impl NewRows {
    /// `None` if another stack of the project has the name; then nothing is written.
    async fn write(&self, session: &mut Session) -> Result<Option<WrittenRows>, StoreError> {
        let template_id = self.template.write(session).await?;
        let credentials_id = session.user_creds_create(&self.credentials).await?;
        let stack = NewStack {
            raw_template_id: template_id,
            user_creds_id: Some(credentials_id),
            ..self.stack.clone()
        };
        match session.stack_create(&stack).await? {
            StackCreation::Created(created_at) => Ok(Some(WrittenRows {
                template_id,
                credentials_id,
                created_at,
            })),
            StackCreation::NameTaken => Ok(None),
        }
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
