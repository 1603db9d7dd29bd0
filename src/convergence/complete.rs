//! The end of a traversal: the stack's final state, and tidying up after it.

use super::engine::Convergence;
use crate::identity::RequestContext;
use crate::identity::credentials::UserCredentials;
use crate::resource::state::{Action, Status};
use crate::stack::Stack;
use crate::stack::error::StackError;
use crate::store::{Session, StackChanges, StoreError, Swap};

/// What a traversal leaves in the tables.
struct Leftovers {
    stack_id: String,
    traversal: String,
    /// Of the stack's row.
    changes: StackChanges,
    outdated_template: Option<i64>,
}

impl Leftovers {
    /// Removes them. If another traversal has begun, which uses all that it finds, only the rows of deleted resources go: it
    /// has no use for these.
    async fn remove(&self, session: &mut Session) -> Result<Swap, StoreError> {
        session.resources_purge_deleted(&self.stack_id).await?;
        let swap = session
            .stack_swap(&self.stack_id, Some(&self.traversal), &self.changes)
            .await?;
        if swap != Swap::Updated {
            return Ok(swap);
        }
        if let Some(template_id) = self.outdated_template {
            let removal = session.raw_template_delete(template_id).await?;
            tracing::debug!(template_id, ?removal, "previous template");
        }
        session.sync_points_delete(&self.stack_id, &self.traversal).await?;
        Ok(swap)
    }
}

impl Convergence {
    /// The traversal has done all that it had to.
    pub async fn mark_complete(&self, context: &RequestContext, stack: &mut Stack) -> Result<(), StackError> {
        let action = stack.action();
        let reason = format!("Stack {action} completed successfully");
        let swap = stack
            .set_end(&self.services, context, Status::Complete, &reason)
            .await?;
        if swap.is_updated() {
            self.purge(context, stack).await?;
        }
        Ok(())
    }

    /// The traversal failed: roll back, if the stack is to, or stop. False if it has ended before, or a newer one has
    /// taken over.
    pub async fn mark_failed(
        &self,
        context: &RequestContext,
        stack: &mut Stack,
        reason: &str,
    ) -> Result<bool, StackError> {
        let action = stack.action();
        if !stack
            .set_end(&self.services, context, Status::Failed, reason)
            .await?
            .is_updated()
        {
            return Ok(false);
        }
        let can_roll_back = matches!(
            action,
            Action::Create | Action::Adopt | Action::Update | Action::Restore
        );
        if can_roll_back && !stack.row.disable_rollback {
            tracing::info!(stack = stack.name(), "triggering rollback of {action}");
            // Boxed: a rollback is a traversal, whose failure ends here again.
            Box::pin(self.roll_back(context, stack)).await?;
        } else {
            self.purge(context, stack).await?;
        }
        Ok(true)
    }

    /// Removes what a traversal leaves behind, and then the stack itself if it is deleted. It can be run again after
    /// breaking off anywhere: what is gone is not missed.
    pub async fn purge(&self, context: &RequestContext, stack: &mut Stack) -> Result<(), StackError> {
        let traversal = stack.traversal().to_owned();
        let mut leftovers = Leftovers {
            stack_id: stack.id().to_owned(),
            traversal: traversal.clone(),
            changes: StackChanges::default(),
            outdated_template: None,
        };
        if stack.status() == Status::Failed {
            // Workers that are still busy find that the traversal is not theirs any more.
            stack.row.current_traversal = Some(String::new());
            leftovers.changes.current_traversal = Some(String::new());
        } else if let Some(previous) = stack.row.prev_raw_template_id.take() {
            leftovers.outdated_template = Some(previous);
            leftovers.changes.prev_raw_template_id = Some(None);
        }
        let swap = self
            .services
            .store
            .transaction(leftovers, |session, leftovers| Box::pin(leftovers.remove(session)))
            .await?;
        if swap != Swap::Updated {
            tracing::warn!(
                stack = stack.name(),
                traversal,
                ?swap,
                "another traversal has begun; nothing purged"
            );
            return Ok(());
        }
        if stack.action() == Action::Delete && stack.status() == Status::Complete {
            self.remove_deleted(context, stack).await?;
        }
        Ok(())
    }

    async fn remove_deleted(&self, context: &RequestContext, stack: &mut Stack) -> Result<(), StackError> {
        if stack.row.owner_id.is_none() {
            self.delete_credentials(context, stack).await?;
            if let Some(project_id) = stack.row.stack_user_project_id.clone()
                && let Err(error) = self.delete_user_project(context, &project_id).await
            {
                tracing::error!(stack = stack.name(), project_id, %error, "the stack's project for its users remains");
                let reason = format!("Error deleting project: {error}");
                let swap = stack
                    .set_state(&self.services, context, Action::Delete, Status::Failed, &reason)
                    .await?;
                tracing::debug!(?swap, "stack could not be removed");
                return Ok(());
            }
        }
        let swap = self.services.store.stack_delete(stack.id()).await?;
        tracing::debug!(stack = stack.name(), ?swap, "stack removed");
        Ok(())
    }

    /// Deletes the trust and the stored credentials. A trust that cannot be deleted does not keep a stack.
    async fn delete_credentials(&self, context: &RequestContext, stack: &mut Stack) -> Result<(), StackError> {
        let Some(credentials_id) = stack.row.user_creds_id else {
            return Ok(());
        };
        match self.stored_credentials(credentials_id).await {
            Ok(Some(credentials)) => {
                if let Err(error) = self.services.cloud.delete_stored_trust(context, &credentials).await {
                    tracing::error!(stack = stack.name(), %error, "the stack's trust could not be deleted");
                }
            }
            Ok(None) => {}
            Err(error) => tracing::error!(stack = stack.name(), %error, "stored credentials could not be read"),
        }
        self.services.store.user_creds_delete(credentials_id).await?;
        stack.row.user_creds_id = None;
        Ok(())
    }

    async fn stored_credentials(&self, id: i64) -> Result<Option<UserCredentials>, StackError> {
        crate::stack::credentials::load(&self.services, id).await
    }

    async fn delete_user_project(&self, context: &RequestContext, project_id: &str) -> Result<(), StackError> {
        let keystone = self.services.cloud.keystone(context)?;
        keystone.delete_stack_domain_project(project_id).await?;
        Ok(())
    }
}
