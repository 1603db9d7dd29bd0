//! When a unit of work runs again.
//!
//! The one place for it: deadlocks, lock waits, rows that changed under a snapshot, refused certification and lost
//! connections, within the limits of `[database] db_max_retries` and its neighbours.

use std::time::Duration;

use super::error::{StoreError, Transience};
use crate::clock::Clock;

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RetryLimits {
    /// `db_max_retries`; `None` is no limit (-1).
    pub max_retries: Option<u32>,
    /// `db_retry_interval`
    pub interval: Duration,
    /// `db_inc_retry_interval`
    pub increasing: bool,
    /// `db_max_retry_interval`
    pub max_interval: Duration,
}

impl Default for RetryLimits {
    fn default() -> Self {
        Self {
            max_retries: Some(20),
            interval: Duration::from_secs(1),
            increasing: true,
            max_interval: Duration::from_secs(10),
        }
    }
}

/// The retries of one unit of work.
pub(super) struct Retries<'a> {
    limits: &'a RetryLimits,
    clock: &'a Clock,
    made: u32,
    interval: Duration,
}

impl<'a> Retries<'a> {
    pub fn new(limits: &'a RetryLimits, clock: &'a Clock) -> Self {
        Self {
            limits,
            clock,
            made: 0,
            interval: limits.interval,
        }
    }

    /// How long to wait before the unit runs again; `None` if it must not.
    pub fn pause_after(&mut self, error: &StoreError) -> Option<Duration> {
        let transience = error.transience()?;
        if self.limits.max_retries.is_some_and(|most| self.made >= most) {
            return None;
        }
        let pause = match transience {
            Transience::LostConnection => self.interval,
            // Whoever collided would collide again after equal pauses.
            _ => self.clock.random_duration(self.interval),
        };
        self.made += 1;
        if self.limits.increasing {
            self.interval = self.interval.saturating_mul(2).min(self.limits.max_interval);
        }
        Some(pause)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn lost_connection() -> StoreError {
        sqlx::Error::Protocol("broken".to_owned()).into()
    }

    #[test]
    fn pauses_double_up_to_the_limit_and_end() {
        let limits = RetryLimits {
            max_retries: Some(6),
            ..RetryLimits::default()
        };
        let clock = Clock::system();
        let mut retries = Retries::new(&limits, &clock);
        let pauses: Vec<_> = std::iter::from_fn(|| retries.pause_after(&lost_connection()))
            .map(|pause| pause.as_secs())
            .collect();
        assert_eq!(pauses, [1, 2, 4, 8, 10, 10]);
    }

    #[test]
    fn what_is_not_transient_is_not_tried_again() {
        let limits = RetryLimits::default();
        let clock = Clock::system();
        assert!(Retries::new(&limits, &clock).pause_after(&StoreError::Closed).is_none());
    }
}
