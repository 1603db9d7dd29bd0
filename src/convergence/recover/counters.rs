//! What sweeps have found and done, for metrics.

use std::sync::atomic::{AtomicU64, Ordering};

#[derive(Debug, Default)]
pub struct RecoveryCounters {
    pub sweeps: AtomicU64,
    /// Sweeps that an error ended.
    pub broken_off: AtomicU64,
    /// Engines that held locks and were found dead.
    pub dead_engines: AtomicU64,
    /// Locks that were taken from dead engines.
    pub locks_freed: AtomicU64,
    /// `check_resource` messages that were sent again.
    pub messages_sent_again: AtomicU64,
    /// Nodes without a row of which nobody had told.
    pub nodes_passed_over: AtomicU64,
    /// Traversals whose start had broken off.
    pub starts_begun_again: AtomicU64,
    /// Stacks that were marked as complete or failed because whoever knew had not come to it.
    pub ends_recorded: AtomicU64,
    /// Stacks whose time was over with nobody left to notice.
    pub timeouts: AtomicU64,
    /// Traversals that had ended but were not tidied away, among them deletes.
    pub ends_tidied: AtomicU64,
    /// Sync points of traversals that are over.
    pub sync_points_removed: AtomicU64,
    /// Stored credentials that no stack has.
    pub credentials_removed: AtomicU64,
    /// Templates that neither a stack nor a resource has.
    pub templates_removed: AtomicU64,
    /// Queues of engines that are gone.
    pub queues_removed: AtomicU64,
    /// Stacks without convergence whose engine was gone.
    pub legacy_stacks_reset: AtomicU64,
    /// Stacks that could not be mended this time.
    pub stacks_given_up: AtomicU64,
}

impl RecoveryCounters {
    /// Everything but the sweeps themselves, by the name under which it is told.
    pub fn mended(&self) -> [(&'static str, u64); 14] {
        [
            ("dead_engine", &self.dead_engines),
            ("lock", &self.locks_freed),
            ("message", &self.messages_sent_again),
            ("gone_node", &self.nodes_passed_over),
            ("start", &self.starts_begun_again),
            ("end", &self.ends_recorded),
            ("timeout", &self.timeouts),
            ("tidying", &self.ends_tidied),
            ("sync_point", &self.sync_points_removed),
            ("credentials", &self.credentials_removed),
            ("template", &self.templates_removed),
            ("queue", &self.queues_removed),
            ("legacy_stack", &self.legacy_stacks_reset),
            ("given_up", &self.stacks_given_up),
        ]
        .map(|(what, counter)| (what, counter.load(Ordering::Relaxed)))
    }

    pub(super) fn all_mended(&self) -> u64 {
        self.mended().iter().map(|(_, count)| count).sum()
    }

    pub(super) fn count(counter: &AtomicU64) {
        Self::add(counter, 1);
    }

    pub(super) fn add(counter: &AtomicU64, number: u64) {
        counter.fetch_add(number, Ordering::Relaxed);
    }
}
