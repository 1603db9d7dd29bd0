//! The one door to time and randomness, so that a test can hold either still.

use std::sync::Arc;
use std::time::Duration;

use chrono::{NaiveDateTime, Offset, TimeZone, Timelike, Utc};
use rand::RngExt;

/// What the engine asks of the world about time and chance.
pub trait TimeSource: Send + Sync {
    /// Wall-clock time in UTC with microseconds, as `oslo_utils.timeutils.utcnow()` gives it.
    fn utc_now(&self) -> NaiveDateTime;
    /// A random 64-bit number; everything random is derived from it.
    fn random_u64(&self) -> u64;
}

struct SystemTime;

impl TimeSource for SystemTime {
    #[expect(clippy::disallowed_methods, reason = "this is the door")]
    fn utc_now(&self) -> NaiveDateTime {
        let now = Utc::now().naive_utc();
        now.with_nanosecond(now.nanosecond() / 1000 * 1000).unwrap_or(now)
    }

    #[expect(clippy::disallowed_methods, reason = "this is the door")]
    fn random_u64(&self) -> u64 {
        rand::rng().random()
    }
}

/// A cheap handle to a [`TimeSource`].
#[derive(Clone)]
pub struct Clock(Arc<dyn TimeSource>);

impl Clock {
    pub fn system() -> Self {
        Self(Arc::new(SystemTime))
    }

    pub fn from_source(source: impl TimeSource + 'static) -> Self {
        Self(Arc::new(source))
    }

    pub fn utc_now(&self) -> NaiveDateTime {
        self.0.utc_now()
    }

    /// How many seconds local time is ahead of UTC now.
    pub fn local_offset(&self) -> i32 {
        chrono::Local
            .offset_from_utc_datetime(&self.utc_now())
            .fix()
            .local_minus_utc()
    }

    /// A random UUID (version 4) in its usual text form.
    pub fn new_uuid(&self) -> String {
        uuid::Builder::from_random_bytes(self.random_bytes())
            .into_uuid()
            .to_string()
    }

    pub fn random_bytes<const N: usize>(&self) -> [u8; N] {
        let mut bytes = [0; N];
        for chunk in bytes.chunks_mut(8) {
            let word = self.0.random_u64().to_le_bytes();
            chunk.copy_from_slice(&word[..chunk.len()]);
        }
        bytes
    }

    /// A number in `0..limit`, without modulo bias that matters for limits below 2^32.
    ///
    /// # Panics
    /// When `limit` is zero: there is no such number.
    pub fn random_below(&self, limit: u64) -> u64 {
        assert!(limit > 0, "no number is below zero");
        self.0.random_u64() % limit
    }

    /// A duration drawn evenly from zero to `most`.
    pub fn random_duration(&self, most: Duration) -> Duration {
        let micros = u64::try_from(most.as_micros()).unwrap_or(u64::MAX - 1);
        Duration::from_micros(self.random_below(micros.saturating_add(1)))
    }
}

impl std::fmt::Debug for Clock {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("Clock")
    }
}
