//! Long rows of messages, at the pace at which they are taken.
//!
//! A traversal of five thousand leaves could put five thousand messages into the queue at once, and whoever comes next
//! would have to wait until all of them were taken out: the queue knows no fairness. So only a few wait in it at a time,
//! as many as keep every engine busy. The queue itself tells how many there are, whoever takes them out. But no message
//! is kept back for so long that somebody could take it for lost.

use std::time::Duration;

use futures_util::StreamExt;
use futures_util::stream::FuturesOrdered;
use tokio::sync::Mutex;
use tokio::time::Instant;

use super::engine::Convergence;
use super::worker_client::WORKER_TOPIC;

/// Messages that a row may always have in the queue: most rows are no longer.
const SHORT_ROW: usize = 16;

/// Before another look at a queue that is full.
const PAUSE: Duration = Duration::from_millis(10);

/// Messages of one row that are on their way to the broker at a time.
const AT_A_TIME: usize = 8;

/// Does the members of a row, a few at a time and begun in order. After one whose outcome is an end, no other is begun,
/// and those that are under way are done with. Gives that outcome.
pub(super) async fn run_row<F: Future>(
    row: impl Iterator<Item = F>,
    is_end: impl Fn(&F::Output) -> bool,
) -> Option<F::Output> {
    let mut row = row.fuse();
    let mut under_way = FuturesOrdered::new();
    let mut end = None;
    loop {
        if end.is_none() {
            under_way.extend(row.by_ref().take(AT_A_TIME - under_way.len()));
        }
        match under_way.next().await {
            None => return end,
            Some(outcome) if end.is_none() && is_end(&outcome) => end = Some(outcome),
            Some(_) => {}
        }
    }
}

/// The pace of one row.
pub(super) struct Pace<'a> {
    engine: &'a Convergence,
    /// Messages that may go before the next look at the queue.
    free: Mutex<usize>,
    began: Instant,
}

impl<'a> Pace<'a> {
    pub fn new(engine: &'a Convergence) -> Self {
        Self {
            engine,
            free: Mutex::new(SHORT_ROW),
            began: Instant::now(),
        }
    }

    /// Returns when the next message may go.
    pub async fn next(&self) {
        let mut free = self.free.lock().await;
        while *free == 0 {
            *free = self.room().await;
            if *free == 0 {
                tokio::time::sleep(PAUSE).await;
            }
        }
        *free -= 1;
    }

    /// How many more the queue should take. An engine that stops must not keep what others could do.
    async fn room(&self) -> usize {
        let services = &self.engine.services;
        let most = services.settings.own.max_queued_checks as usize;
        let is_overdue = self.began.elapsed() > services.settings.own.recovery_patience / 2;
        if most == 0 || is_overdue || services.background.is_closed() {
            return usize::MAX;
        }
        match services.rpc.backlog(WORKER_TOPIC).await {
            Some(queue) => (most * queue.consumers.max(1) as usize).saturating_sub(queue.waiting as usize),
            None => SHORT_ROW,
        }
    }
}

#[cfg(test)]
mod tests {
    use std::sync::atomic::{AtomicUsize, Ordering};

    use super::*;

    #[tokio::test]
    async fn what_has_begun_is_not_left_half_done() {
        let (begun, done) = (AtomicUsize::new(0), AtomicUsize::new(0));
        let member = async |number: usize| {
            assert_eq!(begun.fetch_add(1, Ordering::Relaxed), number);
            tokio::task::yield_now().await;
            done.fetch_add(1, Ordering::Relaxed);
            number
        };
        assert_eq!(run_row((0..50).map(member), |_| false).await, None);
        assert_eq!(done.swap(0, Ordering::Relaxed), 50);

        begun.store(0, Ordering::Relaxed);
        assert_eq!(run_row((0..50).map(member), |number| *number >= 20).await, Some(20));
        let begun = begun.into_inner();
        assert!((21..50).contains(&begun), "{begun}");
        assert_eq!(done.into_inner(), begun);
    }
}
