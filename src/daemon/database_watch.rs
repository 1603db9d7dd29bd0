//! Whether the database answers, looked at again and again.
//!
//! Work that meets an outage waits and repeats itself, every piece of it; that the database is away is one fault and
//! belongs into the log once. A look that never comes back tells more: then a connection hangs, and waiting will not help.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use tokio::time::Instant;
use tokio_util::sync::CancellationToken;

use crate::store::{Store, StoreError};

const LOOK_EVERY: Duration = Duration::from_secs(10);
/// A look takes a connection from the pool, which may take half a minute to say that there is none.
const LONGEST_LOOK: Duration = Duration::from_secs(180);

/// What is known of the database; a cheap handle.
#[derive(Clone, Debug, Default)]
pub struct DatabaseWatch(Arc<Mutex<Known>>);

#[derive(Debug, Default)]
struct Known {
    looking_since: Option<Instant>,
    /// The last look failed, and the first of those that did was then.
    silent_since: Option<Instant>,
}

impl DatabaseWatch {
    pub fn answers(&self) -> bool {
        self.known().silent_since.is_none() && self.comes_back_within(2 * LOOK_EVERY)
    }

    /// Whether looks come back, with whatever result.
    pub fn makes_progress(&self) -> bool {
        self.comes_back_within(LONGEST_LOOK)
    }

    fn comes_back_within(&self, time: Duration) -> bool {
        let looking_since = self.known().looking_since;
        looking_since.is_none_or(|since| since.elapsed() <= time)
    }

    pub async fn look_regularly(self, store: Store, stop: CancellationToken) {
        while !stop.is_cancelled() {
            self.known().looking_since = Some(Instant::now());
            // The store leaves a look to itself that nobody waits for any more.
            let Some(answer) = stop.run_until_cancelled(store.ping()).await else {
                return;
            };
            self.take_in(answer);
            stop.run_until_cancelled(tokio::time::sleep(LOOK_EVERY)).await;
        }
    }

    fn take_in(&self, answer: Result<(), StoreError>) {
        let mut known = self.known();
        known.looking_since = None;
        match (answer, known.silent_since) {
            (Ok(()), None) | (Err(_), Some(_)) => {}
            (Ok(()), Some(since)) => {
                known.silent_since = None;
                tracing::info!("the database answers again, after {:.0?}", since.elapsed());
            }
            (Err(error), None) => {
                known.silent_since = Some(Instant::now());
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
        watch.take_in(Ok(()));
        assert!(watch.answers());
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
