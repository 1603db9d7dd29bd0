//! Locks of engines that are gone.

use std::collections::HashSet;

use super::counters::RecoveryCounters;
use super::{Recovery, Sweep};
use crate::stack::error::StackError;

/// What locks were freed in one sweep.
#[derive(Debug, Default)]
pub(super) struct Freed {
    pub resources: HashSet<i64>,
    pub stacks: HashSet<String>,
}

impl Recovery {
    pub(super) async fn free_locks_of_the_dead(&self, sweep: &Sweep) -> Result<Freed, StackError> {
        let mut freed = Freed::default();
        for engine_id in &sweep.dead {
            for resource_id in self.engine.services.store.resources_locked_by(engine_id).await? {
                match self.engine.free_lock(resource_id, engine_id).await {
                    Ok(Some(stack_id)) => {
                        RecoveryCounters::count(&self.counters.locks_freed);
                        freed.resources.insert(resource_id);
                        freed.stacks.insert(stack_id);
                    }
                    Ok(None) => {}
                    Err(error) if error.is_outage() => return Err(error),
                    Err(error) => {
                        let error = &error as &dyn std::error::Error;
                        tracing::error!(resource_id, holder = engine_id, error, "the lock could not be freed");
                    }
                }
            }
        }
        Ok(freed)
    }

    /// Locks of our own that a check left behind. Nobody else can know of them.
    pub(super) async fn give_back_what_is_left(&self) -> Result<(), StackError> {
        for resource_id in self.engine.unreleased.take() {
            match self
                .engine
                .free_lock(resource_id, &self.engine.services.engine_id)
                .await
            {
                Ok(Some(_)) => RecoveryCounters::count(&self.counters.locks_freed),
                Ok(None) => {}
                Err(error) => {
                    self.engine.unreleased.add(resource_id);
                    return Err(error);
                }
            }
        }
        Ok(())
    }
}
