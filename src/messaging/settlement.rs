//! What becomes of deliveries: acknowledged, or given back; and which of them we have seen before.
//!
//! A message is acknowledged when its work is done, so after a lost connection the broker may bring it again while we
//! are still at it. The second delivery then belongs to the first request: it is settled when that is. What comes
//! again after its work was done is a duplicate, and dropped. (Only a sender's own repetition is caught so, or a
//! redelivery to this very process; handlers stay repeatable.)

use std::collections::{HashMap, HashSet, VecDeque};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use lapin::Acker;
use lapin::message::Delivery;
use lapin::options::{BasicAckOptions, BasicNackOptions};
use tokio_util::sync::CancellationToken;

use super::connection::Live;

/// Finished requests that are remembered.
const REMEMBERED: usize = 4096;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Verdict {
    Acknowledged,
    Requeued,
}

/// One delivery, as far as it is to be settled.
#[derive(Clone, Debug)]
pub(super) struct Arrival {
    acker: Acker,
    connection_over: CancellationToken,
}

impl Arrival {
    pub(super) fn of(delivery: &Delivery, live: &Live) -> Self {
        Self {
            acker: delivery.acker.clone(),
            connection_over: live.over().clone(),
        }
    }

    pub(super) async fn settle(&self, verdict: Verdict) {
        let sending = async {
            match verdict {
                Verdict::Acknowledged => self.acker.ack(BasicAckOptions::default()).await,
                Verdict::Requeued => {
                    let options = BasicNackOptions {
                        requeue: true,
                        multiple: false,
                    };
                    self.acker.nack(options).await
                }
            }
        };
        // The broker brings the message again; the ledger knows it then.
        match self.connection_over.run_until_cancelled(sending).await {
            Some(Ok(_)) => {}
            Some(Err(error)) => {
                tracing::debug!(%error, ?verdict, "could not settle a delivery: its connection is gone")
            }
            None => tracing::debug!(?verdict, "could not settle a delivery: its connection is gone"),
        }
    }
}

/// The deliveries of one request, and what is to become of them.
#[derive(Debug)]
pub(super) struct Settlement(Mutex<Deliveries>);

#[derive(Debug)]
struct Deliveries {
    arrivals: Vec<Arrival>,
    verdict: Option<Verdict>,
}

impl Settlement {
    pub(super) fn new(arrival: Arrival) -> Arc<Self> {
        Arc::new(Self(Mutex::new(Deliveries {
            arrivals: vec![arrival],
            verdict: None,
        })))
    }

    pub(super) async fn acknowledge(&self) {
        self.settle(Verdict::Acknowledged).await;
    }

    pub(super) async fn requeue(&self) {
        self.settle(Verdict::Requeued).await;
    }

    pub(super) fn verdict(&self) -> Option<Verdict> {
        self.deliveries().verdict
    }

    /// The first verdict stands.
    async fn settle(&self, verdict: Verdict) {
        let arrivals = {
            let mut deliveries = self.deliveries();
            if deliveries.verdict.is_some() {
                return;
            }
            deliveries.verdict = Some(verdict);
            std::mem::take(&mut deliveries.arrivals)
        };
        for arrival in arrivals {
            arrival.settle(verdict).await;
        }
    }

    /// Takes in another delivery of the same request, unless that one is settled.
    fn adopt(&self, arrival: &Arrival) -> Option<Verdict> {
        let mut deliveries = self.deliveries();
        if deliveries.verdict.is_none() {
            deliveries.arrivals.push(arrival.clone());
        }
        deliveries.verdict
    }

    fn deliveries(&self) -> MutexGuard<'_, Deliveries> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Whether a request is to be worked on.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Admission {
    New,
    /// It is being worked on; its settlement takes care of this delivery too.
    Running,
    /// It is done.
    Finished,
}

/// The requests of a server by their unique ids.
#[derive(Debug, Default)]
pub(super) struct Ledger(Mutex<Entries>);

#[derive(Debug, Default)]
struct Entries {
    running: HashMap<String, Arc<Settlement>>,
    finished: Memory,
}

/// How a request ended, as far as seeing it again is concerned.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Ending {
    Finished,
    /// It is not done here: it may come again, and is new then.
    PassedOn,
}

impl Ledger {
    pub(super) fn admit(&self, unique_id: &str, arrival: &Arrival, settlement: &Arc<Settlement>) -> Admission {
        let mut entries = self.entries();
        if entries.finished.contains(unique_id) {
            return Admission::Finished;
        }
        if let Some(running) = entries.running.get(unique_id) {
            match running.adopt(arrival) {
                None => return Admission::Running,
                Some(Verdict::Acknowledged) => return Admission::Finished,
                // Given back, and here it is again.
                Some(Verdict::Requeued) => {}
            }
        }
        entries.running.insert(unique_id.to_owned(), settlement.clone());
        Admission::New
    }

    pub(super) fn finish(&self, unique_id: &str, settlement: &Arc<Settlement>, ending: Ending) {
        let mut entries = self.entries();
        if entries
            .running
            .get(unique_id)
            .is_some_and(|running| Arc::ptr_eq(running, settlement))
        {
            entries.running.remove(unique_id);
        }
        if ending == Ending::Finished {
            entries.finished.add(unique_id);
        }
    }

    fn entries(&self) -> MutexGuard<'_, Entries> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// The last few thousand ids.
#[derive(Debug, Default)]
struct Memory {
    ids: HashSet<String>,
    in_order: VecDeque<String>,
}

impl Memory {
    fn contains(&self, id: &str) -> bool {
        self.ids.contains(id)
    }

    fn add(&mut self, id: &str) {
        if self.ids.insert(id.to_owned()) {
            self.in_order.push_back(id.to_owned());
        }
        while self.in_order.len() > REMEMBERED {
            if let Some(oldest) = self.in_order.pop_front() {
                self.ids.remove(&oldest);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn arrival(tag: u64) -> Arrival {
        Arrival {
            acker: Delivery::mock(tag, "".into(), "".into(), false, Vec::new()).acker,
            connection_over: CancellationToken::new(),
        }
    }

    #[tokio::test]
    async fn a_second_delivery_is_settled_with_the_first() {
        let (ledger, first, second) = (Ledger::default(), arrival(1), arrival(2));
        let settlement = Settlement::new(first.clone());
        assert_eq!(ledger.admit("id", &first, &settlement), Admission::New);
        assert_eq!(
            ledger.admit("id", &second, &Settlement::new(second.clone())),
            Admission::Running
        );
        settlement.acknowledge().await;
        assert!(!first.acker.usable() && !second.acker.usable());
    }

    #[tokio::test]
    async fn what_was_done_is_not_done_again() {
        let (ledger, delivery) = (Ledger::default(), arrival(1));
        let settlement = Settlement::new(delivery.clone());
        assert_eq!(ledger.admit("id", &delivery, &settlement), Admission::New);
        settlement.acknowledge().await;
        assert_eq!(ledger.admit("id", &delivery, &settlement), Admission::Finished);
        ledger.finish("id", &settlement, Ending::Finished);
        assert_eq!(ledger.admit("id", &delivery, &settlement), Admission::Finished);
    }

    #[tokio::test]
    async fn what_was_given_back_may_come_again() {
        let (ledger, delivery) = (Ledger::default(), arrival(1));
        let settlement = Settlement::new(delivery.clone());
        ledger.admit("id", &delivery, &settlement);
        settlement.requeue().await;
        let again = Settlement::new(arrival(2));
        assert_eq!(ledger.admit("id", &arrival(2), &again), Admission::New);
        ledger.finish("id", &settlement, Ending::PassedOn);
        assert_eq!(ledger.admit("id", &arrival(3), &settlement), Admission::Running);
    }

    #[test]
    fn memory_forgets_the_oldest() {
        let mut memory = Memory::default();
        for number in 0..=REMEMBERED {
            memory.add(&number.to_string());
        }
        assert!(!memory.contains("0") && memory.contains("1"));
    }
}
