//! Queues of engines that are gone.
//!
//! Each engine has two queues of its own, named after its id, which is new at every start. One that ends in peace takes
//! them away (Python's does not); one that crashes leaves them, and nobody will ever read them again. Queues for fanouts
//! and replies expire by themselves, and their names are not known to others.
//!
//! A queue may hold what was sent to an engine that was dead already: orders to stop what it no longer does. They are kept
//! for a while, in case it lives and is only cut off from everything.

use std::collections::HashSet;

use chrono::TimeDelta;

use super::engines::reports;
use super::{Recovery, Sweep};
use crate::convergence::peers::LISTENER_TOPIC;
use crate::convergence::worker_client::WORKER_TOPIC;
use crate::messaging::{Bus, PublishError};
use crate::stack::error::StackError;
use crate::stack::services::Services;

/// Engines of the past whose queues are looked for in one sweep.
const ENGINES_AT_A_TIME: usize = 20;

/// An engine that has not reported for so long does not come back for its messages.
const GONE_FOR_GOOD: TimeDelta = TimeDelta::hours(1);

/// A queue of an engine that is gone.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct LeftQueue {
    pub name: String,
    pub engine_id: String,
    pub messages: u32,
    /// Somebody reads it: the engine lives after all.
    pub consumers: u32,
}

impl LeftQueue {
    pub fn can_go(&self) -> bool {
        self.messages == 0 && self.consumers == 0
    }
}

#[derive(Debug, Default)]
pub(super) struct Litter {
    /// Engines whose queues are gone, or were never there.
    cleared: HashSet<String>,
    /// The last that was looked at: queues that have to stay must not keep the others from their turn.
    last: String,
}

/// Removes a queue, unless somebody reads it or something is in it by now.
pub async fn remove_queue(bus: &Bus, queue: &LeftQueue) -> Result<bool, PublishError> {
    bus.delete_idle_queue(&queue.name).await
}

/// Engines with a row in the service table that have not reported for their interval, and whether they are gone for good.
async fn gone(services: &Services) -> Result<Vec<(String, bool)>, StackError> {
    let now = services.clock.utc_now();
    let rows = services.store.services_ever().await?;
    let lives = |engine_id: &str| {
        let mut of_engine = rows.iter().filter(|row| row.engine_id == engine_id);
        engine_id == services.engine_id || of_engine.any(|row| reports(row, now))
    };
    let mut ids: Vec<String> = rows.iter().map(|row| row.engine_id.clone()).collect();
    ids.sort_unstable();
    ids.dedup();
    ids.retain(|id| !lives(id));
    let last_report = |id: &str| {
        let of_engine = rows.iter().filter(|row| row.engine_id == id);
        of_engine.filter_map(|row| row.updated_at.or(row.created_at)).max()
    };
    let with_verdict = |id: String| {
        let is_for_good = last_report(&id).is_none_or(|moment| moment < now - GONE_FOR_GOOD);
        (id, is_for_good)
    };
    Ok(ids.into_iter().map(with_verdict).collect())
}

/// The queues of an engine's own, as far as they are there.
pub async fn queues_of(bus: &Bus, engine_id: &str) -> Result<Vec<LeftQueue>, StackError> {
    let mut queues = Vec::new();
    for topic in [WORKER_TOPIC, LISTENER_TOPIC] {
        let name = format!("{topic}.{engine_id}");
        if let Some(state) = bus.queue_state(&name).await? {
            queues.push(LeftQueue {
                name,
                engine_id: engine_id.to_owned(),
                messages: state.waiting,
                consumers: state.consumers,
            });
        }
    }
    Ok(queues)
}

impl Recovery {
    pub(super) async fn remove_litter(&mut self, sweep: &mut Sweep) -> Result<(), StackError> {
        let mut gone = gone(&self.engine.services).await?;
        self.litter
            .cleared
            .retain(|cleared| gone.iter().any(|(id, _)| id == cleared));
        gone.retain(|(id, _)| !self.litter.cleared.contains(id));
        let seen = gone.partition_point(|(id, _)| *id <= self.litter.last);
        gone.rotate_left(seen);
        gone.truncate(ENGINES_AT_A_TIME);
        for (engine_id, is_for_good) in gone {
            if !sweep.has_room() {
                return Ok(());
            }
            self.litter.last.clone_from(&engine_id);
            let mut is_cleared = true;
            for queue in queues_of(&self.bus, &engine_id).await? {
                if self.remove(&queue, is_for_good).await? {
                    tracing::info!(queue = queue.name, "removed a queue of an engine that is gone");
                    sweep.mended(&self.counters.queues_removed);
                } else {
                    is_cleared = false;
                    tracing::debug!(?queue, "a queue of an engine that does not report any more stays");
                }
            }
            if is_cleared {
                self.litter.cleared.insert(engine_id);
            }
        }
        Ok(())
    }

    async fn remove(&self, queue: &LeftQueue, is_for_good: bool) -> Result<bool, StackError> {
        if queue.consumers > 0 {
            return Ok(false);
        }
        Ok(match is_for_good {
            true => self.bus.delete_unread_queue(&queue.name).await?,
            false => queue.can_go() && remove_queue(&self.bus, queue).await?,
        })
    }
}
