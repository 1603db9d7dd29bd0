//! Locks that outlive the check that took them.
//!
//! A check gives its lock back however it ends. If it cannot (the row does not take what is to be written) or does not
//! come to it (a panic), the lock names an engine that lives and is nobody's: no other engine may take it. So whoever holds
//! a lock is watched, and what is left of it is given back later ([`super::recover`]).

use std::collections::HashSet;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

/// Whether a check has the lock of its resource at this moment.
#[derive(Clone, Debug, Default)]
pub(super) struct Held(Arc<AtomicBool>);

impl Held {
    pub fn is_set(&self) -> bool {
        self.0.load(Ordering::Relaxed)
    }

    pub fn set(&self, held: bool) {
        self.0.store(held, Ordering::Relaxed);
    }
}

/// Resources whose lock this engine has and nobody works under.
#[derive(Clone, Debug, Default)]
pub(super) struct Unreleased(Arc<Mutex<HashSet<i64>>>);

/// A check that may have a lock, until this is dropped.
#[derive(Debug)]
pub(super) struct Holding {
    resource_id: i64,
    held: Held,
    unreleased: Unreleased,
}

impl Unreleased {
    pub fn watch(&self, resource_id: i64, held: &Held) -> Holding {
        Holding {
            resource_id,
            held: held.clone(),
            unreleased: self.clone(),
        }
    }

    pub fn add(&self, resource_id: i64) {
        self.ids().insert(resource_id);
    }

    pub fn all(&self) -> Vec<i64> {
        self.ids().iter().copied().collect()
    }

    pub fn remove(&self, resource_id: i64) {
        self.ids().remove(&resource_id);
    }

    fn ids(&self) -> MutexGuard<'_, HashSet<i64>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Drop for Holding {
    fn drop(&mut self) {
        if self.held.is_set() {
            tracing::error!(resource_id = self.resource_id, "the check left its lock behind");
            self.unreleased.add(self.resource_id);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_a_lock_that_is_still_held_is_left_behind() {
        let unreleased = Unreleased::default();
        for (id, released) in [(1, true), (2, false)] {
            let held = Held::default();
            let holding = unreleased.watch(id, &held);
            held.set(true);
            if released {
                held.set(false);
            }
            drop(holding);
        }
        assert_eq!(unreleased.all(), [2]);
        unreleased.remove(2);
        assert!(unreleased.all().is_empty());
    }
}
