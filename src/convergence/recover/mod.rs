//! Work that nobody does any more, found in the tables and done.
//!
//! Everything that an engine knows of a stack is a row, so what a dead engine held, what a lost message asked for, and
//! what broke off between two writes can be told from the rows alone. A *sweep* looks for that, mends it by
//! compare-and-swap, and ends in nothing else than what the workers themselves would have written or sent.
//!
//! What waits is not lost. Whether a message is still under way cannot be seen, so a node counts as asleep only after a
//! time of patience in which nothing was heard of it, with nothing waiting in the workers' queue ([`backlog`]); and what
//! is sent once too often does nothing, since every handler starts from the rows that it finds. A lock counts as
//! abandoned only if its holder neither reports in the service table nor answers, twice ([`engines`]).
//!
//! One engine sweeps at a time ([`SweepLock`]); nothing depends on that but the cost.

mod asleep;
mod backlog;
mod counters;
mod engines;
mod ends;
mod legacy;
mod litter;
mod locks;
mod mend;

use std::collections::{HashMap, HashSet};
use std::sync::Arc;
use std::time::Duration;

use chrono::NaiveDateTime;
use tokio::time::Instant;
use tokio_util::sync::CancellationToken;

use self::backlog::Backlog;
pub use self::counters::RecoveryCounters;
use self::engines::Engines;
use self::litter::Litter;
pub use self::litter::{LeftQueue, queues_of, remove_queue};
use super::engine::Convergence;
use crate::messaging::Bus;
use crate::stack::error::StackError;
use crate::stack::node::Node;
use crate::store::SweepLock;

/// A sweep that finds nothing takes at most one part in so many of the time, whatever the tables have grown to. One that
/// mends something is worth its time: as much may follow at once, such as a second look at engines that seem to be dead.
const PAUSES_FOR_EACH_SWEEP: u32 = 20;

/// However long a sweep took, on a machine that was short of time.
const LONGEST_PAUSE: Duration = Duration::from_secs(600);

/// Messages that one sweep sends, so that it cannot flood the workers.
const MOST_MESSAGES: usize = 200;

/// A lock on the right to sweep is given up by the database after so many intervals without a sign of life.
const LEASE_INTERVALS: u32 = 4;

/// How soon after a first suspicion the suspect is looked at again.
const LONGEST_SUSPENSE: Duration = Duration::from_secs(10);

/// Starts of engines come together, as after a power cut; their first sweeps need not.
const LONGEST_FIRST_PAUSE: Duration = Duration::from_secs(5);

pub struct Recovery {
    engine: Convergence,
    bus: Bus,
    counters: Arc<RecoveryCounters>,
    lock: SweepLock,
    engines: Engines,
    backlog: Backlog,
    litter: Litter,
    /// Credentials without a stack that we have tried to remove; once is enough.
    credentials_tried: HashSet<i64>,
    /// What was sent again, how often and when last: what did not help is tried more and more rarely.
    sent_again: HashMap<(String, Node), Sent>,
    /// When the start of a stack's traversal was last begun again here.
    begun_again: HashMap<String, Instant>,
    /// When a stack in progress was last looked at closely.
    looked_at: HashMap<String, Instant>,
}

#[derive(Debug, Clone, Copy)]
struct Sent {
    times: u32,
    last: Instant,
}

/// What one sweep may still do, and how it judges.
#[derive(Debug)]
struct Sweep {
    messages_left: usize,
    /// Engines that hold locks and are dead.
    dead: HashSet<String>,
    /// What was last heard of before this may be asleep.
    heard_before: NaiveDateTime,
}

impl Recovery {
    pub fn new(engine: Convergence, bus: Bus) -> Self {
        let store = engine.services.store.clone();
        Self {
            lock: SweepLock::new(store),
            counters: Arc::default(),
            engines: Engines::default(),
            backlog: Backlog::default(),
            litter: Litter::default(),
            credentials_tried: HashSet::new(),
            sent_again: HashMap::new(),
            begun_again: HashMap::new(),
            looked_at: HashMap::new(),
            engine,
            bus,
        }
    }

    /// What sweeps have found and done so far.
    pub fn counters(&self) -> Arc<RecoveryCounters> {
        self.counters.clone()
    }

    /// Sweeps at intervals until the order to stop. A sweep that breaks off half-way is the same as one that a crash
    /// broke off: the next finds what is left.
    pub async fn run(mut self, stop: CancellationToken) {
        let interval = self.interval();
        if interval.is_zero() {
            tracing::warn!("[heat_engine_rs] recovery_interval = 0: nobody here looks for work that was lost");
            return;
        }
        let mut pause = self
            .engine
            .services
            .clock
            .random_duration(interval.min(LONGEST_FIRST_PAUSE));
        while stop.run_until_cancelled(tokio::time::sleep(pause)).await.is_some() {
            let began = Instant::now();
            let mended = self.counters.all_mended();
            self.engines.waited = Duration::ZERO;
            let Some(swept) = stop.run_until_cancelled(self.sweep()).await else {
                break;
            };
            if let Err(error) = swept {
                RecoveryCounters::count(&self.counters.broken_off);
                tracing::warn!(error = &error as &dyn std::error::Error, "the sweep broke off");
            }
            let cost = began.elapsed().saturating_sub(self.engines.waited);
            let is_quiet = self.counters.all_mended() == mended && !self.engines.has_suspects();
            let pauses = if is_quiet { PAUSES_FOR_EACH_SWEEP } else { 1 };
            pause = self.next_pause(interval).max((cost * pauses).min(LONGEST_PAUSE));
        }
        self.lock.release().await;
    }

    fn interval(&self) -> Duration {
        self.engine.services.settings.own.recovery_interval
    }

    fn patience(&self) -> Duration {
        self.engine.services.settings.own.recovery_patience
    }

    fn suspense(&self) -> Duration {
        self.interval().min(LONGEST_SUSPENSE)
    }

    fn next_pause(&self, interval: Duration) -> Duration {
        if self.engines.has_suspects() {
            self.suspense()
        } else {
            interval
        }
    }

    async fn sweep(&mut self) -> Result<(), StackError> {
        self.give_back_what_is_left().await?;
        let health = self.bus.health();
        if !health.connected || health.blocked.is_some() {
            // Nobody can be asked whether they live, and nothing can be sent.
            self.engines.give_everybody_time();
            return Ok(());
        }
        if !self.lock.hold(self.interval() * LEASE_INTERVALS).await? {
            self.forget();
            return Ok(());
        }
        RecoveryCounters::count(&self.counters.sweeps);
        let holders = self.engine.services.store.lock_holders().await?;
        let mut sweep = Sweep {
            messages_left: MOST_MESSAGES,
            dead: self.dead_among(&holders).await?,
            heard_before: self.heard_before().await?,
        };
        let freed = self.free_locks_of_the_dead(&sweep).await?;
        self.wake_stacks(&mut sweep, &freed).await?;
        self.record_ends(&sweep).await?;
        self.reset_legacy_stacks(&sweep).await?;
        self.remove_litter().await?;
        Ok(())
    }

    /// Somebody else sweeps: what was seen until now will be old when it is our turn again.
    fn forget(&mut self) {
        self.engines = Engines::default();
        self.backlog = Backlog::default();
        self.credentials_tried.clear();
        self.sent_again.clear();
        self.begun_again.clear();
        self.looked_at.clear();
    }
}
