//! Predecessors that meet within one process.
//!
//! Every predecessor of a node writes to the node's sync point by compare-and-swap, and the whole content each time. If
//! all that finish in one process did that for themselves, they would make each other lose, and a node that waits for a
//! thousand others would cost a thousand times the text of a thousand. So they go in groups: who comes while the group
//! before is being written waits for the next one. The swap then only has to hold against other engines.

use std::collections::{HashMap, HashSet};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use moka::future::Cache;
use tokio::sync::{Notify, oneshot};

use super::meeting::{Arrival, Meeting};
use super::sync_point::Arrived;
use crate::stack::error::StackError;
use crate::stack::node::Node;
use crate::store::SyncPointKey;

/// A large sync point is not written at more than this rate: the next group waits for so long, if it is not the last.
/// What its members wait for is the others anyway.
const BYTES_IN_A_SECOND: usize = 400_000;
const LONGEST_GATHERING: Duration = Duration::from_millis(500);
/// Below this it does not matter.
const SMALL: usize = 4096;
/// A crowd to which nobody has come for so long stands still.
const STANDSTILL: Duration = Duration::from_millis(5);

/// Contents of sync points that are remembered between groups.
const KEPT_BYTES: u64 = 8 << 20;

/// One who has arrived, and waits to hear what that led to.
#[derive(Debug)]
pub struct Comer {
    pub arrival: Arrival,
    answer: oneshot::Sender<Result<Arrived, StackError>>,
}

impl Comer {
    /// Gives the outcome back if nobody listens any more: the check was given up.
    pub fn tell(self, outcome: Result<Arrived, StackError>) -> Option<Result<Arrived, StackError>> {
        self.answer.send(outcome).err()
    }
}

/// What a sync point holds, as this process has last seen or written it.
#[derive(Clone, Debug)]
pub struct Seen {
    pub meeting: Meeting,
    pub atomic_key: i64,
    /// Predecessors that are not there.
    pub missing: HashSet<Node>,
    pub bytes: usize,
}

/// Who is on the way to one sync point.
#[derive(Debug, Default)]
struct Gathering {
    waiting: Vec<Comer>,
    /// With so many waiting, nobody else is expected.
    expected: usize,
    everybody: Arc<Notify>,
}

#[derive(Clone, Debug)]
pub struct Gatherings {
    open: Arc<Mutex<HashMap<SyncPointKey, Gathering>>>,
    seen: Cache<SyncPointKey, Arc<Seen>>,
    /// With so many waiting, those who are still expected may wait for them.
    crowd: usize,
}

impl Gatherings {
    /// `begun_at_a_time`: checks whose messages may be unacknowledged at the same time.
    pub fn new(begun_at_a_time: usize) -> Self {
        let weight = |_: &SyncPointKey, seen: &Arc<Seen>| u32::try_from(2 * seen.bytes + 200).unwrap_or(u32::MAX);
        Self {
            open: Arc::default(),
            seen: Cache::builder().max_capacity(KEPT_BYTES).weigher(weight).build(),
            crowd: begun_at_a_time.div_ceil(2),
        }
    }

    /// Joins those who wait. The first of them has to see to it that they are served, by a [`Host`].
    pub fn join(&self, key: &SyncPointKey, arrival: Arrival) -> (oneshot::Receiver<Result<Arrived, StackError>>, bool) {
        let (answer, told) = oneshot::channel();
        let mut open = self.open();
        let is_first = !open.contains_key(key);
        let gathering = open.entry(key.clone()).or_default();
        gathering.waiting.push(Comer { arrival, answer });
        if gathering.waiting.len() >= gathering.expected {
            gathering.everybody.notify_one();
        }
        (told, is_first)
    }

    /// To be called once by whoever was first.
    pub fn host(&self, key: &SyncPointKey) -> Host {
        Host {
            key: key.clone(),
            gatherings: self.clone(),
            is_over: false,
        }
    }

    fn open(&self) -> MutexGuard<'_, HashMap<SyncPointKey, Gathering>> {
        self.open.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Serves a gathering, group by group, until nobody waits. Dropped before that, it sends everybody away.
#[derive(Debug)]
pub struct Host {
    key: SyncPointKey,
    gatherings: Gatherings,
    is_over: bool,
}

impl Host {
    /// All who wait now; `None`, and the gathering is over, if nobody does.
    pub fn next_group(&mut self) -> Option<Vec<Comer>> {
        let mut open = self.gatherings.open();
        let group = std::mem::take(&mut open.get_mut(&self.key)?.waiting);
        if group.is_empty() {
            open.remove(&self.key);
            self.is_over = true;
            return None;
        }
        Some(group)
    }

    /// All who have come since.
    pub fn late_comers(&self) -> Vec<Comer> {
        let mut open = self.gatherings.open();
        open.get_mut(&self.key)
            .map(|gathering| std::mem::take(&mut gathering.waiting))
            .unwrap_or_default()
    }

    /// Waits for others, for a time that grows with what is to be written.
    pub async fn gather(&self, seen: &Seen) {
        if seen.bytes < SMALL {
            return;
        }
        let everybody = {
            let mut open = self.gatherings.open();
            let Some(gathering) = open.get_mut(&self.key) else {
                return;
            };
            gathering.expected = seen.missing.len();
            if gathering.waiting.len() >= gathering.expected {
                return;
            }
            // Nobody has been told by this one that others had come.
            gathering.everybody = Arc::default();
            gathering.everybody.clone()
        };
        let pause = Duration::from_micros((seen.bytes * 1_000_000 / BYTES_IN_A_SECOND) as u64);
        // Whoever is left out joins the next group.
        tokio::select! {
            () = everybody.notified() => {}
            () = tokio::time::sleep(pause.min(LONGEST_GATHERING)) => {}
            () = self.until_a_crowd_stands_still() => {}
        }
    }

    /// A check that had nothing to do comes here with its message unacknowledged. While so many wait that the broker gives us
    /// no more, nobody else can come.
    async fn until_a_crowd_stands_still(&self) {
        let mut before = 0;
        loop {
            tokio::time::sleep(STANDSTILL).await;
            let waiting = self
                .gatherings
                .open()
                .get(&self.key)
                .map_or(0, |gathering| gathering.waiting.len());
            if waiting >= self.gatherings.crowd && waiting == before {
                return;
            }
            before = waiting;
        }
    }

    /// What is remembered; it is ours now.
    pub async fn recall(&self) -> Option<Seen> {
        self.gatherings.seen.remove(&self.key).await.map(Arc::unwrap_or_clone)
    }

    /// Should somebody else remember something else in between, the swap will show it.
    pub async fn remember(&self, seen: Seen) {
        self.gatherings.seen.insert(self.key.clone(), Arc::new(seen)).await;
    }
}

impl Drop for Host {
    fn drop(&mut self) {
        if !self.is_over {
            self.gatherings.open().remove(&self.key);
        }
    }
}

#[cfg(test)]
mod tests {
    use futures_util::poll;

    use super::*;

    fn key(entity: &str) -> SyncPointKey {
        SyncPointKey {
            entity_id: entity.to_owned(),
            traversal_id: "t".to_owned(),
            is_update: true,
        }
    }

    fn arrival(id: i64) -> Arrival {
        Arrival {
            sender: Node::update(id),
            data: id.into(),
            failures: None,
            skip: false,
        }
    }

    /// Arrives as the engine does, and sees to it that the gathering is served.
    async fn arrive(gatherings: Gatherings, entity: &str, id: i64) -> Option<Arrived> {
        let key = key(entity);
        let (told, is_first) = gatherings.join(&key, arrival(id));
        if is_first {
            let mut host = gatherings.host(&key);
            tokio::spawn(async move {
                while let Some(group) = host.next_group() {
                    tokio::task::yield_now().await;
                    for comer in group {
                        assert!(comer.tell(Ok(Arrived::Waiting)).is_none());
                    }
                }
            });
        }
        told.await.ok()?.ok()
    }

    #[tokio::test(flavor = "multi_thread", worker_threads = 4)]
    async fn everybody_who_comes_is_told() {
        let gatherings = Gatherings::new(8);
        let arriving: Vec<_> = (0..6000)
            .map(|id| tokio::spawn(arrive(gatherings.clone(), ["a", "b", "c"][id as usize % 3], id)))
            .collect();
        for arrived in arriving {
            assert!(matches!(arrived.await.unwrap(), Some(Arrived::Waiting)));
        }
        assert!(gatherings.open().is_empty());
    }

    #[tokio::test]
    async fn a_host_that_breaks_off_keeps_nobody_waiting() {
        let gatherings = Gatherings::new(8);
        let (first, is_first) = gatherings.join(&key("a"), arrival(1));
        assert!(is_first);
        let mut host = gatherings.host(&key("a"));
        drop(host.next_group());
        let (second, is_first) = gatherings.join(&key("a"), arrival(2));
        assert!(!is_first);
        drop(host);
        assert!(first.await.is_err() && second.await.is_err());
        assert!(gatherings.join(&key("a"), arrival(3)).1, "a new gathering");
    }

    #[tokio::test]
    async fn a_large_group_is_waited_for_until_it_is_complete() {
        let gatherings = Gatherings::new(8);
        let _told = gatherings.join(&key("a"), arrival(1));
        let mut host = gatherings.host(&key("a"));
        assert_eq!(host.next_group().unwrap().len(), 1);
        let seen = Seen {
            meeting: Meeting::default(),
            atomic_key: 1,
            missing: [Node::update(2), Node::update(3)].into(),
            bytes: 100_000,
        };
        let mut gathering = Box::pin(host.gather(&seen));
        assert!(poll!(gathering.as_mut()).is_pending());
        let _second = gatherings.join(&key("a"), arrival(2));
        assert!(poll!(gathering.as_mut()).is_pending());
        let _third = gatherings.join(&key("a"), arrival(3));
        assert!(poll!(gathering.as_mut()).is_ready());
        drop(gathering);
        assert_eq!(host.next_group().unwrap().len(), 2);
    }

    #[tokio::test]
    async fn a_crowd_is_not_kept_waiting_for_those_who_cannot_come() {
        let gatherings = Gatherings::new(8);
        let host = gatherings.host(&key("a"));
        let _few: Vec<_> = (0..3).map(|id| gatherings.join(&key("a"), arrival(id))).collect();
        let standing = |patience| tokio::time::timeout(patience, host.until_a_crowd_stands_still());
        assert!(standing(20 * STANDSTILL).await.is_err(), "others can come");
        let _fourth = gatherings.join(&key("a"), arrival(3));
        assert!(standing(Duration::from_secs(60)).await.is_ok());
    }
}
