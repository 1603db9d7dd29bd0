//! Ends of traversals that broke off: recorded but not tidied away, a rollback not begun, a delete not finished.

use std::time::Duration;

use chrono::TimeDelta;

use super::counters::RecoveryCounters;
use super::{Recovery, Sweep};
use crate::identity::RequestContext;
use crate::resource::state::{Action, Status};
use crate::stack::error::StackError;
use crate::stack::{Stack, credentials};
use crate::store::{Deleted, LeftSyncPoints, Removal, Scope};

/// A rollback that was not begun is begun within this time of the failure. Later nobody expects it any more, least of all
/// for stacks that an old release left so.
const ROLLBACK_WITHIN: TimeDelta = TimeDelta::hours(1);

/// Credentials are stored before the stack that they are for, by Python engines templates too, and both are removed after
/// the stack has new ones.
const WITHOUT_STACK: Duration = Duration::from_secs(3600);

impl Recovery {
    pub(super) async fn record_ends(&mut self, sweep: &mut Sweep) -> Result<(), StackError> {
        let store = self.engine.services.store.clone();
        for left in store.sync_points_left_over(sweep.heard_before).await? {
            if !sweep.has_room() {
                return Ok(());
            }
            let tidied = self.tidy_traversal(sweep, &left).await;
            self.note(tidied, &left.stack_id)?;
        }
        for row in store.stacks_half_deleted(sweep.heard_before).await? {
            if !sweep.has_room() {
                return Ok(());
            }
            let stack_id = row.id.clone();
            let tidied = match Stack::from_row(&self.engine.services, row).await {
                Ok(stack) => self.tidy(sweep, stack).await,
                Err(error) => Err(error),
            };
            self.note(tidied, &stack_id)?;
        }
        self.remove_unused_credentials(sweep).await?;
        self.remove_unowned_templates(sweep).await
    }

    /// One stack that cannot be tidied must not keep the others from it.
    fn note(&self, tidied: Result<(), StackError>, stack_id: &str) -> Result<(), StackError> {
        match tidied {
            Err(error) if !error.is_outage() => {
                RecoveryCounters::count(&self.counters.stacks_given_up);
                let error = &error as &dyn std::error::Error;
                tracing::error!(stack_id, error, "what a traversal left behind could not be tidied away");
                Ok(())
            }
            outcome => outcome,
        }
    }

    async fn tidy_traversal(&self, sweep: &mut Sweep, left: &LeftSyncPoints) -> Result<(), StackError> {
        let services = &self.engine.services;
        let row = services
            .store
            .stack_get(&left.stack_id, &Scope::Everyone, Deleted::Shown)
            .await?;
        let is_current = |row: &crate::store::Stack| {
            row.deleted_at.is_none() && row.current_traversal.as_deref() == Some(&left.traversal_id)
        };
        if let Some(row) = row.filter(is_current) {
            let stack = Stack::from_row(services, row).await?;
            // Somebody may have begun something since we asked.
            if stack.is_in_progress() {
                return Ok(());
            }
            return self.end_again(sweep, stack, left).await;
        }
        let removed = services
            .store
            .sync_points_delete(&left.stack_id, &left.traversal_id)
            .await?;
        tracing::info!(
            stack_id = left.stack_id,
            traversal = left.traversal_id,
            removed,
            "sync points of a traversal that is over were left"
        );
        sweep.mended_several(&self.counters.sync_points_removed, removed);
        Ok(())
    }

    async fn end_again(&self, sweep: &mut Sweep, mut stack: Stack, left: &LeftSyncPoints) -> Result<(), StackError> {
        let was_to_roll_back = stack.status() == Status::Failed
            && !stack.row.disable_rollback
            && matches!(
                stack.action(),
                Action::Create | Action::Adopt | Action::Update | Action::Restore
            );
        let earliest = self.engine.services.clock.utc_now() - ROLLBACK_WITHIN;
        if was_to_roll_back && left.changed_at.is_some_and(|moment| moment >= earliest) {
            tracing::warn!(
                stack = stack.name(),
                stack_id = stack.id(),
                "the rollback was not begun"
            );
            let context = self.context_for(&stack).await?;
            self.engine.roll_back(&context, &mut stack).await?;
            sweep.mended(&self.counters.ends_tidied);
            return Ok(());
        }
        self.tidy(sweep, stack).await
    }

    async fn tidy(&self, sweep: &mut Sweep, mut stack: Stack) -> Result<(), StackError> {
        tracing::warn!(
            stack = stack.name(),
            stack_id = stack.id(),
            "{} had ended and was not tidied away",
            stack.state()
        );
        let context = self.context_for_an_end(&stack).await;
        self.engine.purge(&context, &mut stack).await?;
        sweep.mended(&self.counters.ends_tidied);
        Ok(())
    }

    /// What a create that lost its stack, or an update that changed hands, left behind: a row, and a trust in Keystone.
    async fn remove_unused_credentials(&mut self, sweep: &mut Sweep) -> Result<(), StackError> {
        let store = self.engine.services.store.clone();
        let before = self.engine.services.clock.utc_now() - WITHOUT_STACK;
        for id in store.user_creds_unused(before).await? {
            if self.credentials_tried.contains(&id) {
                continue;
            }
            if !sweep.has_room() {
                return Ok(());
            }
            self.credentials_tried.insert(id);
            if self.delete_trust_of(id).await? {
                store.user_creds_delete(id).await?;
                tracing::info!(id, "removed credentials that no stack has");
                sweep.mended(&self.counters.credentials_removed);
            }
        }
        Ok(())
    }

    /// False if the credentials have to stay for its sake.
    async fn delete_trust_of(&self, credentials_id: i64) -> Result<bool, StackError> {
        let services = &self.engine.services;
        let context = RequestContext::admin(format!("req-{}", services.clock.new_uuid()));
        let id = credentials_id;
        let stored = match credentials::load(services, id).await {
            Ok(Some(stored)) => stored,
            Ok(None) => return Ok(false),
            Err(error) if error.is_outage() => return Err(error),
            Err(error) => {
                tracing::warn!(id, %error, "credentials that no stack has cannot be read");
                return Ok(false);
            }
        };
        if let Err(error) = services.cloud.delete_stored_trust(&context, &stored).await {
            tracing::warn!(id, %error, "the trust of credentials that no stack has could not be deleted");
            return Ok(false);
        }
        Ok(true)
    }

    async fn remove_unowned_templates(&self, sweep: &mut Sweep) -> Result<(), StackError> {
        let services = &self.engine.services;
        let before = services.clock.utc_now() - WITHOUT_STACK;
        let mut removed = 0;
        for id in services.store.raw_templates_unowned(before).await? {
            if !sweep.has_room() {
                break;
            }
            if services.store.raw_template_delete(id).await? == Removal::Removed {
                sweep.mended(&self.counters.templates_removed);
                removed += 1;
            }
        }
        if removed > 0 {
            tracing::info!(removed, "removed templates that nobody has");
        }
        Ok(())
    }
}
