//! Whether a message may still be waiting for its turn.
//!
//! The broker tells how many messages wait in the workers' queue, but not how many a Python engine has taken out of it and
//! not begun. So a node must have been ready for the time of patience before the queue was last seen empty; and while
//! anything else happens in the deployment, for several times as long, because its message may be one of those.

use std::time::Duration;

use chrono::{NaiveDateTime, TimeDelta};

use super::Recovery;
use crate::convergence::worker_client::WORKER_TOPIC;
use crate::stack::error::StackError;

/// How many times longer a busy deployment is given.
const BUSY: u32 = 5;

/// A queue that never runs empty must not keep what is lost from being found.
const NEVER_EMPTY: u32 = 20;

#[derive(Debug, Default)]
pub(super) struct Backlog {
    last_empty: Option<NaiveDateTime>,
}

impl Recovery {
    /// What was heard of before this moment for the last time is asleep.
    pub(super) async fn heard_before(&mut self) -> Result<NaiveDateTime, StackError> {
        let services = &self.engine.services;
        let now = services.clock.utc_now();
        let queue = self.bus.queue_state(WORKER_TOPIC).await?;
        let is_empty = queue.is_none_or(|queue| queue.waiting == 0);
        if is_empty {
            self.backlog.last_empty = Some(now);
        }
        let last_event = services.store.event_latest_at().await?;
        Ok(heard_before(now, self.backlog.last_empty, last_event, self.patience()))
    }
}

fn heard_before(
    now: NaiveDateTime,
    last_empty: Option<NaiveDateTime>,
    last_event: Option<NaiveDateTime>,
    patience: Duration,
) -> NaiveDateTime {
    let before = |moment: NaiveDateTime, times: u32| moment - delta(patience * times);
    let is_busy = last_event.is_some_and(|event| event > before(now, 1));
    let at_least = before(now, if is_busy { BUSY } else { 1 });
    let when_empty = last_empty.map_or(NaiveDateTime::MIN, |empty| before(empty, 1));
    at_least.min(when_empty).max(before(now, NEVER_EMPTY))
}

fn delta(duration: Duration) -> TimeDelta {
    TimeDelta::from_std(duration).unwrap_or(TimeDelta::MAX)
}

#[cfg(test)]
mod tests {
    use super::*;

    const PATIENCE: Duration = Duration::from_secs(60);

    fn at(seconds: i64) -> NaiveDateTime {
        chrono::DateTime::from_timestamp(1_000_000 + seconds, 0)
            .unwrap()
            .naive_utc()
    }

    #[test]
    fn a_quiet_deployment_is_given_the_time_of_patience() {
        assert_eq!(heard_before(at(1000), Some(at(1000)), Some(at(0)), PATIENCE), at(940));
        assert_eq!(heard_before(at(1000), Some(at(1000)), None, PATIENCE), at(940));
    }

    #[test]
    fn a_busy_one_several_times_as_long() {
        assert_eq!(heard_before(at(1000), Some(at(1000)), Some(at(990)), PATIENCE), at(700));
    }

    #[test]
    fn what_may_be_in_the_queue_is_not_lost() {
        assert_eq!(heard_before(at(1000), Some(at(500)), None, PATIENCE), at(440));
        assert_eq!(heard_before(at(5000), None, None, PATIENCE), at(3800));
    }
}
