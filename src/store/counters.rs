//! What the store has gone through, for metrics.

use std::sync::atomic::{AtomicU64, Ordering};

use super::error::Transience;

#[derive(Debug, Default)]
pub struct StoreCounters {
    /// Statements that were sent, without BEGIN, COMMIT and ROLLBACK.
    pub statements: AtomicU64,
    pub transactions: AtomicU64,
    pub deadlocks: AtomicU64,
    pub lock_waits: AtomicU64,
    /// Error 1020: a row has changed since the transaction read it.
    pub changed_reads: AtomicU64,
    /// A Galera or group replication node refused to commit.
    pub certification_failures: AtomicU64,
    pub lost_connections: AtomicU64,
    /// Units of work that were given up after all retries.
    pub given_up: AtomicU64,
    /// Commits without an answer that turned out to have been made.
    pub confirmed_commits: AtomicU64,
}

impl StoreCounters {
    pub(super) fn count(counter: &AtomicU64) {
        counter.fetch_add(1, Ordering::Relaxed);
    }

    pub(super) fn count_transience(&self, transience: Transience) {
        Self::count(match transience {
            Transience::Deadlock => &self.deadlocks,
            Transience::LockWait => &self.lock_waits,
            Transience::ChangedRead => &self.changed_reads,
            Transience::Certification => &self.certification_failures,
            Transience::LostConnection => &self.lost_connections,
        });
    }
}
