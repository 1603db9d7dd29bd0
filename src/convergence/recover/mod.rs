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
//! One engine sweeps at a time ([`SweepLock`]); nothing depends on that but the cost. How much it mends at a time is
//! bounded ([`sweep`]).

mod asleep;
mod backlog;
mod counters;
mod engines;
mod ends;
mod legacy;
mod litter;
mod locks;
mod mend;
mod sweep;

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
use self::locks::Freed;
use self::sweep::{PAUSE_WITH_MORE_TO_DO, Sweep, Swept};
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
    /// Locks that were freed, of stacks that have not been woken since.
    freed: Freed,
    /// How the last sweep judged, if it was not the end of it: a part of what looks lost then, and the work that it
    /// brought, would make the rest look like messages of a busy deployment.
    judged_by: Option<NaiveDateTime>,
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
            freed: Freed::default(),
            judged_by: None,
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
            let swept = swept.unwrap_or_else(|error| {
                RecoveryCounters::count(&self.counters.broken_off);
                tracing::warn!(error = &error as &dyn std::error::Error, "the sweep broke off");
                Swept::Everything
            });
            let mended = self.counters.all_mended() - mended;
            if mended > 0 {
                tracing::info!(mended, ?swept, "the sweep has mended what was lost");
            }
            let cost = began.elapsed().saturating_sub(self.engines.waited);
            let is_quiet = mended == 0 && !self.engines.has_suspects();
            let pauses = if is_quiet { PAUSES_FOR_EACH_SWEEP } else { 1 };
            pause = self.next_pause(interval, swept).max((cost * pauses).min(LONGEST_PAUSE));
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

    fn next_pause(&self, interval: Duration, swept: Swept) -> Duration {
        match swept {
            Swept::Part => interval.min(PAUSE_WITH_MORE_TO_DO),
            Swept::Everything if self.engines.has_suspects() => self.suspense(),
            Swept::Everything => interval,
        }
    }

    async fn sweep(&mut self) -> Result<Swept, StackError> {
        self.give_back_what_is_left().await?;
        let health = self.bus.health();
        if !health.connected || health.blocked.is_some() {
            // Nobody can be asked whether they live, and nothing can be sent.
            self.engines.give_everybody_time();
            return Ok(Swept::Everything);
        }
        if !self.lock.hold(self.interval() * LEASE_INTERVALS).await? {
            self.forget();
            return Ok(Swept::Everything);
        }
        RecoveryCounters::count(&self.counters.sweeps);
        let holders = self.engine.services.store.lock_holders().await?;
        let dead = self.dead_among(&holders).await?;
        let heard_before = self.heard_before().await?.max(self.judged_by.unwrap_or_default());
        self.judged_by = Some(heard_before);
        let mut sweep = Sweep::new(dead, heard_before);
        self.free_locks_of_the_dead(&mut sweep).await?;
        self.wake_stacks(&mut sweep).await?;
        if sweep.has_room() {
            self.record_ends(&mut sweep).await?;
            self.reset_legacy_stacks(&mut sweep).await?;
            self.remove_litter(&mut sweep).await?;
        }
        if sweep.outcome() == Swept::Everything {
            self.judged_by = None;
        }
        Ok(sweep.outcome())
    }

    /// Somebody else sweeps: what was seen until now will be old when it is our turn again.
    fn forget(&mut self) {
        self.engines = Engines::default();
        self.backlog = Backlog::default();
        self.credentials_tried.clear();
        self.freed = Freed::default();
        self.judged_by = None;
        self.sent_again.clear();
        self.begun_again.clear();
        self.looked_at.clear();
    }
}
