//! Which checks this engine is working on, stack by stack, so that a cancelled stack can stop them.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use tokio::time::Instant;
use tokio_util::sync::CancellationToken;

#[derive(Clone, Debug, Default)]
pub struct RunningChecks {
    stacks: Arc<Mutex<HashMap<String, StackChecks>>>,
}

#[derive(Debug, Default)]
struct StackChecks {
    cancelled: CancellationToken,
    /// When each of them began.
    began: Vec<Instant>,
}

/// One check under way; it is taken off the list when this is dropped.
#[derive(Debug)]
pub struct RunningCheck {
    pub cancelled: CancellationToken,
    began: Instant,
    stack_id: String,
    checks: RunningChecks,
}

impl RunningChecks {
    pub fn begin(&self, stack_id: &str) -> RunningCheck {
        let mut stacks = self.stacks.lock().unwrap_or_else(PoisonError::into_inner);
        let checks = stacks.entry(stack_id.to_owned()).or_default();
        let began = Instant::now();
        checks.began.push(began);
        RunningCheck {
            cancelled: checks.cancelled.clone(),
            began,
            stack_id: stack_id.to_owned(),
            checks: self.clone(),
        }
    }

    /// Tells every check of the stack that is under way now to stop; later ones are not touched.
    pub fn cancel(&self, stack_id: &str) {
        let mut stacks = self.stacks.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(checks) = stacks.get_mut(stack_id) {
            std::mem::take(&mut checks.cancelled).cancel();
        }
    }

    pub fn count(&self) -> usize {
        let stacks = self.stacks.lock().unwrap_or_else(PoisonError::into_inner);
        stacks.values().map(|checks| checks.began.len()).sum()
    }

    /// How long the longest of them has been under way.
    pub fn longest(&self) -> Duration {
        let stacks = self.stacks.lock().unwrap_or_else(PoisonError::into_inner);
        let first = stacks.values().flat_map(|checks| &checks.began).min();
        first.map_or(Duration::ZERO, Instant::elapsed)
    }
}

impl Drop for RunningCheck {
    fn drop(&mut self) {
        let mut stacks = self.checks.stacks.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(checks) = stacks.get_mut(&self.stack_id) {
            if let Some(place) = checks.began.iter().position(|began| *began == self.began) {
                checks.began.swap_remove(place);
            }
            if checks.began.is_empty() {
                stacks.remove(&self.stack_id);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn cancelling_stops_what_runs_and_not_what_comes() {
        let checks = RunningChecks::default();
        let first = checks.begin("a");
        let other = checks.begin("b");
        checks.cancel("a");
        let second = checks.begin("a");
        assert!(first.cancelled.is_cancelled());
        assert!(!second.cancelled.is_cancelled() && !other.cancelled.is_cancelled());
        drop((first, second, other));
        assert_eq!((checks.count(), checks.longest()), (0, Duration::ZERO));
        assert!(checks.stacks.lock().unwrap().is_empty());
    }
}
