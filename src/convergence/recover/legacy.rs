//! Stacks without convergence whose engine went down. Their lock is a row of its own, and nothing can be gone on with: the
//! stack and what was in progress of it are marked as failed, as a Python engine does when it starts.

use super::counters::RecoveryCounters;
use super::{Recovery, Sweep};
use crate::convergence::tracked::Lock;
use crate::resource::state::{Action, Status};
use crate::stack::Stack;
use crate::stack::error::StackError;
use crate::stack::state::Expected;
use crate::stack::stored::state_of;
use crate::store::{Deleted, Scope, StackLock, Swap};

impl Recovery {
    pub(super) async fn reset_legacy_stacks(&self, sweep: &mut Sweep) -> Result<(), StackError> {
        let store = self.engine.services.store.clone();
        for row in store.stacks_in_progress(false).await? {
            let holder = store.stack_lock_get(&row.id).await?;
            let is_abandoned = match &holder {
                Some(holder) => sweep.dead.contains(holder),
                None => {
                    let events = store.events_newest(&row.id).await?;
                    let heard = events.of_resources.values().chain(&events.of_stack);
                    let last = heard.filter_map(|event| event.created_at).max();
                    last.unwrap_or(row.updated_at.unwrap_or(row.created_at)) < sweep.heard_before
                }
            };
            if !is_abandoned {
                continue;
            }
            if !sweep.has_room() {
                return Ok(());
            }
            let stack_id = row.id.clone();
            match self.reset(sweep, row, holder.as_deref()).await {
                Ok(()) => {}
                Err(error) if error.is_outage() => return Err(error),
                Err(error) => {
                    RecoveryCounters::count(&self.counters.stacks_given_up);
                    let error = &error as &dyn std::error::Error;
                    tracing::error!(stack_id, error, "the stack could not be reset");
                }
            }
        }
        Ok(())
    }

    async fn reset(&self, sweep: &mut Sweep, row: crate::store::Stack, holder: Option<&str>) -> Result<(), StackError> {
        let services = &self.engine.services;
        let (store, own) = (&services.store, &services.engine_id);
        if row.action.as_deref() == Some(Action::Update.as_str()) {
            // Its template is to be joined with that of its backup first.
            tracing::warn!(
                stack_id = row.id,
                "its update broke off; the next start of a Python engine resets it"
            );
            return Ok(());
        }
        let is_ours = match holder {
            Some(holder) => store.stack_lock_steal(&row.id, holder, own).await? == Swap::Updated,
            None => store.stack_lock_create(&row.id, own).await? == StackLock::Acquired,
        };
        if !is_ours {
            return Ok(());
        }
        let reset = self.mark_gone(sweep, &row.id, holder).await;
        let released = store.stack_lock_release(&row.id, own).await?;
        tracing::debug!(stack_id = row.id, ?released, "lock of the stack");
        reset
    }

    async fn mark_gone(&self, sweep: &mut Sweep, stack_id: &str, holder: Option<&str>) -> Result<(), StackError> {
        let services = &self.engine.services;
        let loaded = Stack::load(services, stack_id, &Scope::Everyone, Deleted::Hidden).await?;
        let Some(mut stack) = loaded.filter(Stack::is_in_progress) else {
            return Ok(());
        };
        let reason = format!("Engine went down during stack {}", stack.action());
        tracing::warn!(stack = stack.name(), stack_id, holder, "{reason}");
        for loaded in services.store.resources_load_by_stack(stack_id).await? {
            let (action, status) = state_of(&loaded.resource);
            if status != Status::InProgress {
                continue;
            }
            let mut tracked = self.engine.tracked(&stack, &loaded).await;
            let to = (action, Status::Failed);
            if let Err(end) = tracked.set_state(services, to, &reason, Lock::Respect, None).await {
                tracing::warn!(resource = tracked.row.name, %end, "the resource could not be marked as failed");
            }
        }
        let context = self.context_for_an_end(&stack).await;
        let swap = stack
            .set_end_of(services, &context, Expected::Legacy, Status::Failed, &reason)
            .await?;
        if swap.is_updated() {
            sweep.mended(&self.counters.legacy_stacks_reset);
        }
        Ok(())
    }
}
