//! Arriving at a sync point: leave what one brings, by compare-and-swap, and see whether everybody is there.

use std::sync::Arc;
use std::time::Duration;

use serde_json::{Map, Value};
use tracing::Instrument;

use super::engine::{Convergence, Graph};
use super::gatherings::{Comer, Host, Seen};
use super::meeting::{Arrival, Meeting};
use super::witness::Step;
use crate::python::json_reader::loads;
use crate::stack::error::StackError;
use crate::stack::node::Node;
use crate::store::{StoreError, Swap, SyncPoint, SyncPointKey};

/// What an arrival found.
#[derive(Debug)]
pub enum Arrived {
    /// There is no such sync point: the traversal is over, or a newer one has begun.
    NoSyncPoint,
    /// Somebody else is still expected, or sees to what follows.
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

/// A sync point of a traversal: a node's, or the stack's, in which the roots meet.
#[derive(Clone, Debug)]
pub struct Place {
    pub key: SyncPointKey,
    graph: Arc<Graph>,
    /// `None`: the stack's.
    node: Option<Node>,
}

impl Place {
    pub fn of_node(node: &Node, traversal: &str, graph: &Arc<Graph>) -> Self {
        Self {
            key: key_of(node, traversal),
            graph: graph.clone(),
            node: Some(node.clone()),
        }
    }

    pub fn of_stack(stack_id: &str, traversal: &str, graph: &Arc<Graph>) -> Self {
        Self {
            key: stack_key(stack_id, traversal),
            graph: graph.clone(),
            node: None,
        }
    }

    fn expected(&self) -> Box<dyn Iterator<Item = &Node> + Send + '_> {
        match &self.node {
            Some(node) => Box::new(self.graph.requires(node)),
            None => Box::new(self.graph.roots()),
        }
    }

    fn sees(&self, meeting: Meeting, atomic_key: i64, bytes: usize) -> Seen {
        Seen {
            missing: meeting.missing(self.expected()).into_iter().cloned().collect(),
            meeting,
            atomic_key,
            bytes,
        }
    }

    /// Where one alone is expected, and comes for the first time, the sync point must be as it was made.
    fn untouched(&self) -> Option<Seen> {
        let mut expected = self.expected();
        let is_for_one = expected.next().is_some() && expected.next().is_none();
        drop(expected);
        is_for_one.then(|| self.sees(Meeting::default(), 0, 0))
    }
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

pub(super) fn stack_key(stack_id: &str, traversal: &str) -> SyncPointKey {
    SyncPointKey {
        entity_id: stack_id.to_owned(),
        traversal_id: traversal.to_owned(),
        is_update: true,
    }
}

impl Convergence {
    /// Leaves `arrival` at the sync point, together with those of this process that come at the same time.
    pub(super) async fn arrive(&self, place: &Place, arrival: Arrival) -> Result<Arrived, StackError> {
        let (told, is_first) = self.gatherings.join(&place.key, arrival);
        if is_first {
            let host = self.gatherings.host(&place.key);
            let (engine, place) = (self.clone(), place.clone());
            let serving = async move { engine.serve(host, &place).await };
            tokio::spawn(serving.in_current_span());
        }
        told.await.unwrap_or(Err(StackError::Store(StoreError::Closed)))
    }

    /// Serves those who arrive until nobody is left.
    async fn serve(&self, mut host: Host, place: &Place) {
        let mut seen = host.recall().await.or_else(|| place.untouched());
        while let Some(group) = host.next_group() {
            seen = self.serve_group(&host, place, group, seen).await;
            if let Some(seen) = &seen {
                host.gather(seen).await;
            }
        }
        if let Some(seen) = seen {
            host.remember(seen).await;
        }
    }

    /// Writes what a group brings. Gives what the sync point holds then, if others are still expected.
    async fn serve_group(&self, host: &Host, place: &Place, group: Vec<Comer>, seen: Option<Seen>) -> Option<Seen> {
        let mut group = group;
        let mut known = seen;
        for attempt in 0.. {
            // Those who bring nothing new ask what others have made of it meanwhile, which no memory tells.
            known = known.filter(|seen| group.iter().any(|comer| seen.meeting.learns_from(&comer.arrival)));
            let before = match known.take() {
                Some(seen) => Ok(Some(seen)),
                None => self.look(place).await,
            };
            let (written, rivals) = match before {
                Ok(Some(seen)) => {
                    let rivals = seen.missing.len().saturating_sub(group.len());
                    (self.write(place, seen, &group).await, rivals)
                }
                Ok(None) => (Ok(Written::Gone), 0),
                Err(error) => (Err(error), 0),
            };
            match written {
                Ok(Written::Lost) => {
                    tokio::time::sleep(self.pause(attempt, rivals)).await;
                    group.extend(host.late_comers());
                }
                Ok(Written::Gone) => {
                    self.watch.tell(|| Step::Arrived {
                        at: &place.key,
                        missing: None,
                        news: false,
                    });
                    tell_all(group, || Ok(Arrived::NoSyncPoint));
                    return None;
                }
                Ok(Written::Done { seen, news }) => {
                    self.watch.tell(|| Step::Arrived {
                        at: &place.key,
                        missing: Some(place.expected().filter(|node| seen.missing.contains(node)).collect()),
                        news: news.contains(&true),
                    });
                    return tell_group(place, group, *seen, &news);
                }
                Err(error) => {
                    let error = Arc::new(error);
                    tell_all(group, || Err(StoreError::Joint(error.clone()).into()));
                    return None;
                }
            }
        }
        None
    }

    async fn look(&self, place: &Place) -> Result<Option<Seen>, StoreError> {
        let Some(point) = self.services.store.sync_point_get(&place.key).await? else {
            return Ok(None);
        };
        let bytes = point.input_data.as_ref().map_or(0, String::len);
        Ok(Some(place.sees(read(&point), point.atomic_key, bytes)))
    }

    async fn write(&self, place: &Place, mut seen: Seen, group: &[Comer]) -> Result<Written, StoreError> {
        let mut news = Vec::with_capacity(group.len());
        for comer in group {
            news.push(seen.meeting.admit(comer.arrival.clone()));
            seen.missing.remove(&comer.arrival.sender);
        }
        if !news.contains(&true) {
            let seen = Box::new(seen);
            return Ok(Written::Done { seen, news });
        }
        let input_data = seen.meeting.input_text();
        let extra_data = seen.meeting.extra_text();
        let extra_data = extra_data.as_deref().or(Some("null"));
        let swap = self
            .services
            .store
            .sync_point_swap(&place.key, seen.atomic_key, Some(&input_data), extra_data)
            .await?;
        Ok(match swap {
            Swap::Updated => {
                seen.atomic_key = seen.atomic_key.saturating_add(1);
                seen.bytes = input_data.len();
                let seen = Box::new(seen);
                Written::Done { seen, news }
            }
            Swap::Lost => Written::Lost,
            Swap::Gone => Written::Gone,
        })
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
                Some(point) if !read(&point).has(node) => return Ok(false),
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

/// What became of a write.
enum Written {
    /// `news`: of each arrival, whether it was not there before.
    Done {
        seen: Box<Seen>,
        news: Vec<bool>,
    },
    Lost,
    Gone,
}

/// Tells a group what its arrival has led to. Once everybody is there, one of them has to see to what follows: one that
/// brought something new, if there is any.
fn tell_group(place: &Place, mut group: Vec<Comer>, seen: Seen, news: &[bool]) -> Option<Seen> {
    let entity = &place.key.entity_id;
    if !seen.missing.is_empty() {
        tracing::debug!(entity, missing = seen.missing.len(), "waiting");
        tell_all(group, || Ok(Arrived::Waiting));
        return Some(seen);
    }
    let chosen = news.iter().rposition(|is_new| *is_new);
    tracing::debug!(entity, news = chosen.is_some(), "ready");
    let mut outcome = Ok(Arrived::Ready(Ready {
        failures: seen.meeting.failures(),
        skip_propagate: seen.meeting.skip_propagate(),
        input_data: seen.meeting.into_input_data(),
        news: chosen.is_some(),
    }));
    group.swap(0, chosen.unwrap_or(0));
    for comer in group {
        // If that one has gone away, it is for the next to see to it.
        outcome = comer.tell(outcome).unwrap_or(Ok(Arrived::Waiting));
    }
    None
}

fn tell_all(group: Vec<Comer>, outcome: impl Fn() -> Result<Arrived, StackError>) {
    for comer in group {
        // Who has gone away need not know.
        let _ = comer.tell(outcome());
    }
}

pub(super) fn read(point: &SyncPoint) -> Meeting {
    let parse = |text: &Option<String>| text.as_deref().and_then(|text| loads(text).ok());
    Meeting::read(parse(&point.input_data), parse(&point.extra_data))
}

#[cfg(test)]
mod tests {
    use super::super::gatherings::Gatherings;
    use super::*;

    #[tokio::test]
    async fn who_has_gone_away_is_not_left_to_see_to_what_follows() {
        let place = Place::of_stack("stack", "traversal", &Arc::new(Graph::default()));
        let gatherings = Gatherings::new(2);
        let join = |id: i64| {
            let arrival = Arrival {
                sender: Node::update(id),
                data: Value::Null,
                failures: None,
                skip: false,
            };
            gatherings.join(&place.key, arrival).0
        };
        let (first, second, third) = (join(1), join(2), join(3));
        let group = gatherings.host(&place.key).next_group().unwrap();
        drop(third);
        let seen = place.sees(Meeting::default(), 1, 0);
        assert!(tell_group(&place, group, seen, &[false, true, true]).is_none());
        let told = [first.await, second.await].map(|told| told.unwrap().unwrap());
        let ready = told.iter().filter(|arrived| matches!(arrived, Arrived::Ready(_)));
        assert_eq!(ready.count(), 1, "{told:?}");
    }
}
