//! What can be seen of a server from outside: whether it consumes, and whether it is stuck.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use tokio::sync::watch;
use tokio::time::Instant;
use tokio_util::sync::CancellationToken;
use tokio_util::task::TaskTracker;

/// An attempt to subscribe is answered within seconds, or ended by the heartbeats of its connection.
const LONGEST_ATTEMPT: Duration = Duration::from_secs(180);

/// An attempt to subscribe, from its start to its success or failure.
#[derive(Debug, Default)]
pub(super) struct Attempt(Mutex<Option<Instant>>);

impl Attempt {
    pub(super) fn begins(&self) {
        *self.since() = Some(Instant::now());
    }

    pub(super) fn is_over(&self) {
        *self.since() = None;
    }

    fn has_lasted(&self, time: Duration) -> bool {
        self.since().is_some_and(|since| since.elapsed() > time)
    }

    fn since(&self) -> MutexGuard<'_, Option<Instant>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Tells how a server is; a cheap handle that does not keep it.
#[derive(Clone, Debug)]
pub struct Pulse {
    pub(super) subscribed: watch::Receiver<usize>,
    pub(super) attempts: Vec<Arc<Attempt>>,
    pub(super) readers: TaskTracker,
    pub(super) stopped: CancellationToken,
}

impl Pulse {
    /// Whether all queues are consumed at this moment.
    pub fn is_ready(&self) -> bool {
        *self.subscribed.borrow() == self.attempts.len()
    }

    /// Whether it consumes, or tries to and gets its answers: what is stuck in the middle of an attempt, or has ended
    /// without an order, will not come back by itself. To wait for a broker that is away is no attempt.
    pub fn makes_progress(&self) -> bool {
        self.makes_progress_within(LONGEST_ATTEMPT)
    }

    fn makes_progress_within(&self, patience: Duration) -> bool {
        let all_there = self.readers.len() == self.attempts.len();
        let is_stuck = self.attempts.iter().any(|attempt| attempt.has_lasted(patience));
        self.stopped.is_cancelled() || (all_there && !is_stuck)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn pulse() -> (Pulse, watch::Sender<usize>) {
        let (sender, subscribed) = watch::channel(0);
        let pulse = Pulse {
            subscribed,
            attempts: vec![Arc::default(), Arc::default()],
            readers: TaskTracker::new(),
            stopped: CancellationToken::new(),
        };
        (pulse, sender)
    }

    #[tokio::test]
    async fn to_wait_is_progress_and_to_be_stuck_is_none() {
        let (pulse, subscribed) = pulse();
        for _ in 0..2 {
            pulse.readers.spawn(std::future::pending::<()>());
        }
        assert!(pulse.makes_progress() && !pulse.is_ready());
        subscribed.send_replace(2);
        assert!(pulse.makes_progress() && pulse.is_ready());
        pulse.attempts[1].begins();
        assert!(pulse.makes_progress());
        tokio::time::sleep(Duration::from_millis(2)).await;
        assert!(!pulse.makes_progress_within(Duration::from_millis(1)));
        pulse.attempts[1].is_over();
        assert!(pulse.makes_progress_within(Duration::from_millis(1)));
    }

    #[tokio::test]
    async fn a_reader_that_has_ended_is_missed_unless_it_was_told_to() {
        let (pulse, _subscribed) = pulse();
        pulse.readers.spawn(std::future::pending::<()>());
        assert!(!pulse.makes_progress());
        pulse.stopped.cancel();
        assert!(pulse.makes_progress());
    }
}
