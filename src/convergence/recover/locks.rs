//! Locks of engines that are gone.

use std::collections::{HashMap, HashSet};

use super::counters::RecoveryCounters;
use super::{Recovery, Sweep};
use crate::stack::error::StackError;

/// Resources whose lock was freed, by their stack. There is no use in waiting for news of them.
#[derive(Debug, Default)]
pub(super) struct Freed(HashMap<String, HashSet<i64>>);

impl Freed {
    fn add(&mut self, stack_id: String, resource_id: i64) {
        self.0.entry(stack_id).or_default().insert(resource_id);
    }

    pub fn of(&self, stack_id: &str) -> Option<&HashSet<i64>> {
        self.0.get(stack_id)
    }

    pub fn forget(&mut self, stack_id: &str) {
        self.0.remove(stack_id);
    }

    pub fn retain(&mut self, is_known: impl Fn(&str) -> bool) {
        self.0.retain(|stack_id, _| is_known(stack_id));
    }
}

impl Recovery {
    pub(super) async fn free_locks_of_the_dead(&mut self, sweep: &mut Sweep) -> Result<(), StackError> {
        let counters = self.counters.clone();
        for engine_id in sweep.dead.clone() {
            for resource_id in self.engine.services.store.resources_locked_by(&engine_id).await? {
                if !sweep.has_room() {
                    return Ok(());
                }
                match self.engine.free_lock(resource_id, &engine_id).await {
                    Ok(Some(stack_id)) => {
                        sweep.mended(&counters.locks_freed);
                        self.freed.add(stack_id, resource_id);
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
        Ok(())
    }

    /// Locks of our own that checks left behind, each of which nobody else can know of. They are kept until they are given
    /// back, whatever comes between.
    pub(super) async fn give_back_what_is_left(&self) -> Result<(), StackError> {
        for resource_id in self.engine.unreleased.all() {
            let own_id = &self.engine.services.engine_id;
            match self.engine.free_lock(resource_id, own_id).await {
                Ok(freed) => {
                    self.engine.unreleased.remove(resource_id);
                    if freed.is_some() {
                        RecoveryCounters::count(&self.counters.locks_freed);
                    }
                }
                Err(error) if error.is_outage() => return Err(error),
                Err(error) => {
                    let error = &error as &dyn std::error::Error;
                    tracing::error!(resource_id, error, "the lock could not be given back this time");
                }
            }
        }
        Ok(())
    }
}
