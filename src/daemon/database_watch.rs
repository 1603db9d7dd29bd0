//! Whether the database is of use, looked at again and again.
//!
//! Work that meets an outage waits and repeats itself, every piece of it; that the database is away is one fault and
//! belongs into the log once. Whoever has trouble with a connection brings the next look forward, so an outage is known
//! as soon as anybody meets it. A look that never comes back tells more: then the process hangs, and waiting will not help.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use tokio::time::Instant;
use tokio_util::sync::CancellationToken;

use crate::store::{Lookout, Store, StoreError, Usefulness};

const LOOK_EVERY: Duration = Duration::from_secs(3);
/// While it is of no use; and between any two looks, however much trouble there is.
const LOOK_AGAIN: Duration = Duration::from_secs(1);
/// A look takes three seconds at most.
const LONGEST_LOOK: Duration = Duration::from_secs(60);

/// What is known of the database; a cheap handle.
#[derive(Clone, Debug, Default)]
pub struct DatabaseWatch(Arc<Mutex<Known>>);

#[derive(Debug, Default)]
struct Known {
    looking_since: Option<Instant>,
    fault: Option<Fault>,
}

/// Since when it has been of no use, and why.
#[derive(Clone, Copy, Debug)]
struct Fault {
    since: Instant,
    kind: FaultKind,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum FaultKind {
    Silent,
    ReadOnly,
}

impl DatabaseWatch {
    pub fn answers(&self) -> bool {
        self.fault() != Some(FaultKind::Silent)
    }

    /// Why work that needs the database waits; nothing, if it does not.
    pub fn obstacle(&self) -> Option<&'static str> {
        self.fault().map(|kind| match kind {
            FaultKind::Silent => "the database does not answer",
            FaultKind::ReadOnly => "the database takes no writes",
        })
    }

    /// Whether looks come back, with whatever result.
    pub fn makes_progress(&self) -> bool {
        self.comes_back_within(LONGEST_LOOK)
    }

    fn comes_back_within(&self, time: Duration) -> bool {
        let looking_since = self.known().looking_since;
        looking_since.is_none_or(|since| since.elapsed() <= time)
    }

    fn fault(&self) -> Option<FaultKind> {
        self.known().fault.map(|fault| fault.kind)
    }

    pub async fn look_regularly(self, store: Store, stop: CancellationToken) {
        let mut lookout = store.lookout();
        while !stop.is_cancelled() {
            self.known().looking_since = Some(Instant::now());
            let Some(answer) = stop.run_until_cancelled(lookout.look()).await else {
                return;
            };
            self.take_in(answer);
            stop.run_until_cancelled(self.pause(&lookout)).await;
        }
    }

    async fn pause(&self, lookout: &Lookout) {
        tokio::time::sleep(LOOK_AGAIN).await;
        if self.fault().is_none() {
            let rest = LOOK_EVERY - LOOK_AGAIN;
            // Trouble is the good news here: there is something to see.
            let _ = tokio::time::timeout(rest, lookout.trouble()).await;
        }
    }

    fn take_in(&self, answer: Result<Usefulness, StoreError>) {
        let mut known = self.known();
        known.looking_since = None;
        let kind = match &answer {
            Ok(Usefulness::Full) => None,
            Ok(Usefulness::ReadOnly) => Some(FaultKind::ReadOnly),
            Err(_) => Some(FaultKind::Silent),
        };
        if kind == known.fault.map(|fault| fault.kind) {
            return;
        }
        if let Some(fault) = known.fault {
            tracing::info!("the database answers again, after {:.0?}", fault.since.elapsed());
        }
        known.fault = kind.map(|kind| Fault {
            since: Instant::now(),
            kind,
        });
        match answer {
            Ok(Usefulness::Full) => {}
            Ok(Usefulness::ReadOnly) => tracing::error!("the database takes no writes; what needs it waits"),
            Err(error) => {
                let error = &error as &dyn std::error::Error;
                tracing::error!(error, "the database does not answer; what needs it waits");
            }
        }
    }

    fn known(&self) -> MutexGuard<'_, Known> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_answer_ends_the_silence() {
        let watch = DatabaseWatch::default();
        assert!(watch.answers() && watch.makes_progress());
        watch.take_in(Err(StoreError::Closed));
        assert!(!watch.answers() && watch.makes_progress());
        assert_eq!(watch.obstacle(), Some("the database does not answer"));
        watch.take_in(Ok(Usefulness::ReadOnly));
        assert!(watch.answers());
        assert_eq!(watch.obstacle(), Some("the database takes no writes"));
        watch.take_in(Ok(Usefulness::Full));
        assert_eq!(watch.obstacle(), None);
    }

    #[test]
    fn a_look_that_does_not_come_back_is_no_progress() {
        let watch = DatabaseWatch::default();
        watch.known().looking_since = Some(Instant::now());
        assert!(watch.answers() && watch.makes_progress());
        std::thread::sleep(Duration::from_millis(2));
        assert!(!watch.comes_back_within(Duration::from_millis(1)));
    }
}
