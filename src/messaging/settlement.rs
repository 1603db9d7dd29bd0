//! What becomes of deliveries: acknowledged, or given back; and which of them we have seen before.
//!
//! A message is acknowledged when its work is done, so after a lost connection the broker may bring it again while we
//! are still at it. The second delivery then belongs to the first request: it is settled when that is. What comes
//! again after its work was done is a duplicate, and dropped. (Only a sender's own repetition is caught so, or a
//! redelivery to this very process; handlers stay repeatable.)

use std::collections::{HashMap, HashSet, VecDeque};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use lapin::Acker;
use lapin::options::{BasicAckOptions, BasicNackOptions};

/// Finished requests that are remembered.
const REMEMBERED: usize = 4096;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Verdict {
    Acknowledged,
    Requeued,
}

/// The deliveries of one request, and what is to become of them.
#[derive(Debug)]
pub(super) struct Settlement(Mutex<Deliveries>);

#[derive(Debug)]
struct Deliveries {
    ackers: Vec<Acker>,
    verdict: Option<Verdict>,
}

impl Settlement {
    pub(super) fn new(acker: Acker) -> Arc<Self> {
        Arc::new(Self(Mutex::new(Deliveries {
            ackers: vec![acker],
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
        let ackers = {
            let mut deliveries = self.deliveries();
            if deliveries.verdict.is_some() {
                return;
            }
            deliveries.verdict = Some(verdict);
            std::mem::take(&mut deliveries.ackers)
        };
        for acker in ackers {
            send_verdict(&acker, verdict).await;
        }
    }

    /// Takes in another delivery of the same request, unless that one is settled.
    fn adopt(&self, acker: &Acker) -> Option<Verdict> {
        let mut deliveries = self.deliveries();
        if deliveries.verdict.is_none() {
            deliveries.ackers.push(acker.clone());
        }
        deliveries.verdict
    }

    fn deliveries(&self) -> MutexGuard<'_, Deliveries> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

async fn send_verdict(acker: &Acker, verdict: Verdict) {
    let sent = match verdict {
        Verdict::Acknowledged => acker.ack(BasicAckOptions::default()).await,
        Verdict::Requeued => {
            let options = BasicNackOptions {
                requeue: true,
                multiple: false,
            };
            acker.nack(options).await
        }
    };
    // The broker brings the message again; the ledger knows it then.
    if let Err(error) = sent {
        tracing::debug!(%error, ?verdict, "could not settle a delivery: its connection is gone");
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
    pub(super) fn admit(&self, unique_id: &str, acker: &Acker, settlement: &Arc<Settlement>) -> Admission {
        let mut entries = self.entries();
        if entries.finished.contains(unique_id) {
            return Admission::Finished;
        }
        if let Some(running) = entries.running.get(unique_id) {
            match running.adopt(acker) {
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
    use lapin::message::Delivery;

    fn acker(tag: u64) -> Acker {
        Delivery::mock(tag, "".into(), "".into(), false, Vec::new()).acker
    }

    #[tokio::test]
    async fn a_second_delivery_is_settled_with_the_first() {
        let (ledger, first, second) = (Ledger::default(), acker(1), acker(2));
        let settlement = Settlement::new(first.clone());
        assert_eq!(ledger.admit("id", &first, &settlement), Admission::New);
        assert_eq!(
            ledger.admit("id", &second, &Settlement::new(second.clone())),
            Admission::Running
        );
        settlement.acknowledge().await;
        assert!(!first.usable() && !second.usable());
    }

    #[tokio::test]
    async fn what_was_done_is_not_done_again() {
        let (ledger, delivery) = (Ledger::default(), acker(1));
        let settlement = Settlement::new(delivery.clone());
        assert_eq!(ledger.admit("id", &delivery, &settlement), Admission::New);
        settlement.acknowledge().await;
        assert_eq!(ledger.admit("id", &delivery, &settlement), Admission::Finished);
        ledger.finish("id", &settlement, Ending::Finished);
        assert_eq!(ledger.admit("id", &delivery, &settlement), Admission::Finished);
    }

    #[tokio::test]
    async fn what_was_given_back_may_come_again() {
        let (ledger, delivery) = (Ledger::default(), acker(1));
        let settlement = Settlement::new(delivery.clone());
        ledger.admit("id", &delivery, &settlement);
        settlement.requeue().await;
        let again = Settlement::new(acker(2));
        assert_eq!(ledger.admit("id", &acker(2), &again), Admission::New);
        ledger.finish("id", &settlement, Ending::PassedOn);
        assert_eq!(ledger.admit("id", &acker(3), &settlement), Admission::Running);
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
