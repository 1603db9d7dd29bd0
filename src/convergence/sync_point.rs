//! Arriving at a sync point: leave what one brings, by compare-and-swap, and see whether everybody is there.

use std::time::Duration;

use serde_json::{Map, Value};

use super::engine::{Convergence, Graph};
use super::meeting::{Arrival, Meeting};
use super::witness::Step;
use crate::python::dumps;
use crate::python::json_reader::loads;
use crate::stack::error::StackError;
use crate::stack::node::Node;
use crate::store::{SyncPoint, SyncPointKey};

/// What an arrival found.
#[derive(Debug)]
pub enum Arrived {
    /// There is no such sync point: the traversal is over, or a newer one has begun.
    NoSyncPoint,
    Waiting,
    Ready(Ready),
}

/// A node all of whose predecessors are there.
#[derive(Debug)]
pub struct Ready {
    /// For the node's `check_resource`.
    pub input_data: Value,
    pub failures: Map<String, Value>,
    pub skip_propagate: bool,
    /// False if this arrival had been there before: its message came twice, or its engine broke off after it.
    pub news: bool,
}

/// Random waits after lost swaps grow with what is still outstanding, up to this.
const LONGEST_PAUSE: Duration = Duration::from_secs(60);
const PAUSE_FOR_EACH_RIVAL: Duration = Duration::from_millis(10);
const RIVALS_COUNTED: usize = 1000;

pub(super) fn key_of(node: &Node, traversal: &str) -> SyncPointKey {
    SyncPointKey {
        entity_id: node.entity_id(),
        traversal_id: traversal.to_owned(),
        is_update: node.is_update,
    }
}

/// The sync point in which the roots of a traversal meet.
pub(super) fn stack_key(stack_id: &str, traversal: &str) -> SyncPointKey {
    SyncPointKey {
        entity_id: stack_id.to_owned(),
        traversal_id: traversal.to_owned(),
        is_update: true,
    }
}

impl Convergence {
    pub(super) async fn arrive(
        &self,
        key: &SyncPointKey,
        expected: &[&Node],
        arrival: &Arrival<'_>,
    ) -> Result<Arrived, StackError> {
        let _turn = self
            .sync_points
            .take(&format!("{}:{}:{}", key.entity_id, key.traversal_id, key.is_update))
            .await;
        let store = &self.services.store;
        let mut attempt = 0;
        loop {
            let Some(point) = store.sync_point_get(key).await? else {
                self.watch.tell(|| Step::Arrived {
                    at: key,
                    missing: None,
                    news: false,
                });
                return Ok(Arrived::NoSyncPoint);
            };
            let mut meeting = read(&point);
            let rivals = meeting.missing(expected.iter().copied()).len().saturating_sub(1);
            let news = meeting.admit(arrival);
            if news {
                let input_data = dumps(&meeting.input_data());
                let extra_data = meeting.extra_data().map(|extra| dumps(&extra));
                let extra_data = extra_data.as_deref().or(Some("null"));
                let swap = store
                    .sync_point_swap(key, point.atomic_key, Some(&input_data), extra_data)
                    .await?;
                if !swap.is_updated() {
                    tokio::time::sleep(self.pause(attempt, rivals)).await;
                    attempt += 1;
                    continue;
                }
            }
            let missing = meeting.missing(expected.iter().copied());
            self.watch.tell(|| Step::Arrived {
                at: key,
                missing: Some(&missing),
                news,
            });
            if let Some(first) = missing.first() {
                tracing::debug!(entity = key.entity_id, missing = missing.len(), next = %first, "waiting");
                return Ok(Arrived::Waiting);
            }
            tracing::debug!(entity = key.entity_id, news, "ready");
            return Ok(Arrived::Ready(Ready {
                input_data: meeting.input_data(),
                failures: meeting.failures(),
                skip_propagate: meeting.skip_propagate(),
                news,
            }));
        }
    }

    /// Whether a node has told everybody who waits for it that it is done.
    pub(super) async fn has_told(
        &self,
        graph: &Graph,
        stack_id: &str,
        traversal: &str,
        node: &Node,
    ) -> Result<bool, StackError> {
        let mut keys: Vec<SyncPointKey> = graph
            .required_by(node)
            .map(|successor| key_of(successor, traversal))
            .collect();
        if keys.is_empty() {
            keys.push(stack_key(stack_id, traversal));
        }
        for key in keys {
            match self.services.store.sync_point_get(&key).await? {
                Some(point) if !read(&point).missing(std::iter::once(node)).is_empty() => return Ok(false),
                Some(_) | None => {}
            }
        }
        Ok(true)
    }

    fn pause(&self, attempt: u32, rivals: usize) -> Duration {
        let step = PAUSE_FOR_EACH_RIVAL * u32::try_from(rivals.clamp(1, RIVALS_COUNTED)).unwrap_or(u32::MAX);
        let longest = step.saturating_mul(1_u32 << attempt.min(12)).min(LONGEST_PAUSE);
        self.services.clock.random_duration(longest)
    }
}

pub(super) fn read(point: &SyncPoint) -> Meeting {
    let parse = |text: &Option<String>| text.as_deref().and_then(|text| loads(text).ok());
    Meeting::read(parse(&point.input_data).as_ref(), parse(&point.extra_data).as_ref())
}
