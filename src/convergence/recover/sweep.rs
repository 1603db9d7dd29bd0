//! One sweep, and how much of what it finds it may mend.
//!
//! An engine that dies may leave thousands of resources, a broker that forgets its queues as many messages. Mended all at
//! once they are a burst of transactions and of work in which nobody else gets a turn. So a sweep ends after
//! [`MOST_MENDED`], whatever it mends, and what it leaves is the next one's, which comes a moment later. What cannot be
//! mended does not count: it changes nothing, and must not keep the rest from its turn.

use std::collections::HashSet;
use std::sync::atomic::AtomicU64;
use std::time::Duration;

use chrono::NaiveDateTime;

use super::counters::RecoveryCounters;

/// Locks, messages, starts, ends and left-overs together: a second of work or two for a database and a few workers.
const MOST_MENDED: usize = 200;

/// What others have of the database between two sweeps that mend as much as they may.
pub(super) const PAUSE_WITH_MORE_TO_DO: Duration = Duration::from_secs(1);

#[derive(Debug)]
pub(super) struct Sweep {
    /// Engines that hold locks and are dead.
    pub dead: HashSet<String>,
    /// What was last heard of before this may be asleep.
    pub heard_before: NaiveDateTime,
    may_mend: usize,
    leaves_something: bool,
}

/// What a sweep came to.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Swept {
    Everything,
    /// Something is left for the next.
    Part,
}

impl Sweep {
    pub fn new(dead: HashSet<String>, heard_before: NaiveDateTime) -> Self {
        Self {
            dead,
            heard_before,
            may_mend: MOST_MENDED,
            leaves_something: false,
        }
    }

    /// To be asked before anything is mended. If there is no room for it, it is left to the next sweep.
    pub fn has_room(&mut self) -> bool {
        self.leaves_something |= self.may_mend == 0;
        self.may_mend > 0
    }

    /// Notes that something was mended, and what.
    pub fn mended(&mut self, counter: &AtomicU64) {
        self.mended_several(counter, 1);
    }

    /// As [`Self::mended`], for what takes one statement however many rows it concerns.
    pub fn mended_several(&mut self, counter: &AtomicU64, rows: u64) {
        RecoveryCounters::add(counter, rows);
        self.may_mend = self.may_mend.saturating_sub(1);
    }

    pub fn outcome(&self) -> Swept {
        if self.leaves_something {
            Swept::Part
        } else {
            Swept::Everything
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_does_not_fit_is_left_and_told_of() {
        let mut sweep = Sweep::new(HashSet::new(), NaiveDateTime::MIN);
        let counter = AtomicU64::new(0);
        for _ in 0..MOST_MENDED {
            assert!(sweep.has_room());
            sweep.mended(&counter);
        }
        assert_eq!(sweep.outcome(), Swept::Everything, "nothing else was to be done");
        assert!(!sweep.has_room());
        assert_eq!(sweep.outcome(), Swept::Part);
        assert_eq!(counter.into_inner(), MOST_MENDED as u64);
    }
}
