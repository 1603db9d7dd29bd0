//! How everything in the process learns that it shall end, and how the process knows that everything has.
//!
//! There are two orders. *Soft*: take nothing new, finish what runs. *Hard*: stop at the next step that can be resumed by
//! another engine and leave. A soft order turns into a hard one when the grace period is over or when the operator says
//! it twice. Nothing is ever aborted in the middle of a step: a task sees the order between two steps and returns.

use std::future::Future;
use std::time::Duration;

use tokio::task::JoinHandle;
use tokio_util::sync::CancellationToken;
use tokio_util::task::TaskTracker;

/// The two orders and the tasks that they are for. Cheap to clone; every clone is the same.
#[derive(Clone, Debug, Default)]
pub struct Shutdown {
    soft: CancellationToken,
    hard: CancellationToken,
    tasks: TaskTracker,
}

/// How a drain ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Drained {
    /// All tasks were done in time.
    Finished,
    /// The grace period was over; what was left saw the hard order and returned.
    HandedBack { tasks: usize },
    /// Told to leave at once.
    Forced { tasks: usize },
    /// Tasks that did not heed the hard order in time.
    Abandoned { tasks: usize },
}

/// How long a task may take from the hard order to its return: one statement, one request.
const LAST_STEP: Duration = Duration::from_secs(10);

impl Shutdown {
    pub fn new() -> Self {
        Self::default()
    }

    /// Cancelled when nothing new shall be taken.
    pub fn soft(&self) -> &CancellationToken {
        &self.soft
    }

    /// Cancelled when what runs shall be handed back. Never before [`Self::soft`].
    pub fn hard(&self) -> &CancellationToken {
        &self.hard
    }

    pub fn is_ordered(&self) -> bool {
        self.soft.is_cancelled()
    }

    /// Give the soft order; the second time, the hard one.
    pub fn order(&self) {
        if self.soft.is_cancelled() {
            self.hard.cancel();
        }
        self.soft.cancel();
    }

    pub fn order_hard(&self) {
        self.soft.cancel();
        self.hard.cancel();
    }

    /// Run a task that a drain waits for. The task itself looks at the tokens.
    pub fn spawn<F>(&self, task: F) -> JoinHandle<F::Output>
    where
        F: Future + Send + 'static,
        F::Output: Send + 'static,
    {
        self.tasks.spawn(task)
    }

    /// For those who count tasks of their own kind beside.
    pub fn tasks(&self) -> &TaskTracker {
        &self.tasks
    }

    /// Wait until all tasks are done: `grace` long (`None`: without end) under the soft order, then under the hard one.
    ///
    /// Call it when consumers are stopped: who spawns tasks during a drain prolongs it.
    pub async fn drain(&self, grace: Option<Duration>) -> Drained {
        self.drain_within(grace, LAST_STEP).await
    }

    async fn drain_within(&self, grace: Option<Duration>, last_step: Duration) -> Drained {
        self.soft.cancel();
        self.tasks.close();
        let in_time = tokio::select! {
            () = self.tasks.wait() => return Drained::Finished,
            () = self.hard.cancelled() => false,
            () = over(grace) => true,
        };
        let left = self.tasks.len();
        self.hard.cancel();
        if tokio::time::timeout(last_step, self.tasks.wait()).await.is_err() {
            return Drained::Abandoned {
                tasks: self.tasks.len(),
            };
        }
        if in_time {
            Drained::HandedBack { tasks: left }
        } else {
            Drained::Forced { tasks: left }
        }
    }
}

async fn over(grace: Option<Duration>) {
    match grace {
        Some(grace) => tokio::time::sleep(grace).await,
        None => std::future::pending().await,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const SHORT: Duration = Duration::from_millis(5);

    #[tokio::test]
    async fn a_drain_ends_with_its_last_task() {
        let shutdown = Shutdown::new();
        shutdown.spawn(async { tokio::time::sleep(Duration::from_millis(20)).await });
        assert_eq!(shutdown.drain(None).await, Drained::Finished);
    }

    #[tokio::test]
    async fn what_outlasts_the_grace_period_is_told_to_leave() {
        let shutdown = Shutdown::new();
        let hard = shutdown.hard().clone();
        shutdown.spawn(async move { hard.cancelled().await });
        let drained = shutdown.drain(Some(SHORT)).await;
        assert_eq!(drained, Drained::HandedBack { tasks: 1 });
    }

    #[tokio::test]
    async fn the_second_order_ends_a_drain_without_grace() {
        let shutdown = Shutdown::new();
        let hard = shutdown.hard().clone();
        shutdown.spawn(async move { hard.cancelled().await });
        shutdown.order();
        assert!(!shutdown.hard().is_cancelled());
        shutdown.order();
        assert_eq!(shutdown.drain(None).await, Drained::Forced { tasks: 1 });
    }

    #[tokio::test]
    async fn a_task_that_heeds_nothing_does_not_keep_the_process() {
        let shutdown = Shutdown::new();
        shutdown.spawn(std::future::pending::<()>());
        let drained = shutdown.drain_within(Some(SHORT), SHORT).await;
        assert_eq!(drained, Drained::Abandoned { tasks: 1 });
    }
}
