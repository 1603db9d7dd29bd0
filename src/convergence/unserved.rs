//! Work that no engine of the deployment can do.

use super::engine::Convergence;
use super::request::CheckRequest;
use super::state_write::{StateWrite, write_state};
use crate::identity::RequestContext;
use crate::resource::failure::Failure;
use crate::resource::state::{Action, Status};
use crate::stack::Stack;
use crate::stack::error::StackError;
use crate::store::{Deleted, ExpectedResource, NewEvent, ResourceChanges, Scope};

impl Convergence {
    /// Marks a resource as failed that no engine can work on, and its stack with it, so that nobody waits for the
    /// timeout. Nothing for a traversal that is over.
    pub async fn fail_unserved(
        &self,
        context: &RequestContext,
        request: &CheckRequest,
        failure: &Failure,
    ) -> Result<(), StackError> {
        let services = &self.services;
        let Some(resource_id) = request.node.resource_id() else {
            return Ok(());
        };
        let Some(row) = services.store.resource_get(resource_id).await? else {
            return Ok(());
        };
        let stack = Stack::load(services, &row.stack_id, &Scope::Everyone, Deleted::Shown).await?;
        let Some(mut stack) = stack.filter(|stack| stack.traversal() == request.traversal) else {
            return Ok(());
        };
        let was = row
            .action
            .as_deref()
            .and_then(|word| word.parse().ok())
            .unwrap_or(Action::Init);
        let action = match (request.node.is_update, was) {
            (true, Action::Init) => Action::Create,
            (true, _) => Action::Update,
            (false, _) => Action::Delete,
        };
        let reason = failure.reason(&row.name);
        let changes = ResourceChanges {
            action: Some(action.to_string()),
            status: Some(Status::Failed.to_string()),
            status_reason: Some(reason.clone()),
            ..ResourceChanges::default()
        };
        let event = NewEvent {
            uuid: services.clock.new_uuid(),
            stack_id: row.stack_id.clone(),
            resource_action: Some(action.to_string()),
            resource_status: Some(Status::Failed.to_string()),
            resource_name: Some(row.name.clone()),
            physical_resource_id: row.physical_resource_id.clone(),
            resource_status_reason: Some(reason.clone()),
            resource_type: stack
                .definition
                .resource(&row.name)
                .map(|resource| resource.resource_type.clone()),
            ..NewEvent::default()
        };
        let write = StateWrite {
            resource_id,
            expected: ExpectedResource::unlocked(row.atomic_key),
            changes,
            properties: None,
            event: Some(event),
        };
        let (swap, _) = write_state(services, write).await?;
        if swap.is_updated() {
            self.mark_failed(context, &mut stack, &format!("Resource {action} failed: {reason}"))
                .await?;
        }
        Ok(())
    }
}
