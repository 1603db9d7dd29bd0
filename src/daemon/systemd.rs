//! What systemd is told (`sd_notify`); without systemd all of this does nothing.

use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use sd_notify::NotifyState;
use tokio_util::sync::CancellationToken;
use tracing::{debug, error, warn};

/// How far ahead the stop timeout is pushed while work is finished, and how often.
const STOP_EXTENSION: Duration = Duration::from_secs(30);
const STOP_EXTENSION_EVERY: Duration = Duration::from_secs(10);

pub fn ready(status: &str) {
    tell(&[NotifyState::Ready, NotifyState::Status(status)]);
}

/// One line for `systemctl status`.
pub fn status(text: &str) {
    tell(&[NotifyState::Status(text)]);
}

pub fn reloading() {
    match NotifyState::monotonic_usec_now() {
        Ok(now) => tell(&[NotifyState::Reloading, now]),
        Err(error) => debug!("no monotonic time for systemd: {error}"),
    }
}

pub fn reloaded() {
    tell(&[NotifyState::Ready]);
}

pub fn stopping() {
    tell(&[NotifyState::Stopping, NotifyState::Status("finishing what runs")]);
}

/// The grace period is the operator's, not the unit's: keep systemd from killing before it is over.
pub async fn extend_stop_timeout(until: CancellationToken) {
    while !until.is_cancelled() {
        let microseconds = u32::try_from(STOP_EXTENSION.as_micros()).unwrap_or(u32::MAX);
        tell(&[NotifyState::ExtendTimeoutUsec(microseconds)]);
        tokio::select! {
            () = until.cancelled() => {}
            () = tokio::time::sleep(STOP_EXTENSION_EVERY) => {}
        }
    }
}

/// What the parts of the engine say about their own progress.
#[derive(Clone, Default)]
pub struct Liveness(Arc<Mutex<Vec<Check>>>);

/// The parts that are stuck.
type Check = Box<dyn Fn() -> Vec<&'static str> + Send>;

impl Liveness {
    pub fn watch(&self, stuck_parts: impl Fn() -> Vec<&'static str> + Send + 'static) {
        self.0
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
            .push(Box::new(stuck_parts));
    }

    pub fn stuck_parts(&self) -> Vec<&'static str> {
        self.0
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
            .iter()
            .flat_map(|check| check())
            .collect()
    }
}

/// Feed the watchdog (`WatchdogSec=`) as long as every part makes progress; systemd restarts an engine that does not.
/// A runtime whose threads are all stuck does not come here, which says the same.
pub async fn feed_watchdog(liveness: Liveness, until: CancellationToken) {
    let Some(period) = sd_notify::watchdog_enabled() else {
        return;
    };
    let mut was_alive = true;
    loop {
        let stuck = liveness.stuck_parts();
        let alive = stuck.is_empty();
        if alive {
            tell(&[NotifyState::Watchdog]);
        } else if was_alive {
            let stuck = stuck.join(", ");
            error!(
                stuck,
                "no progress; systemd restarts the engine if this lasts for {period:?}"
            );
        }
        was_alive = alive;
        tokio::select! {
            () = until.cancelled() => return,
            () = tokio::time::sleep(period / 2) => {}
        }
    }
}

fn tell(states: &[NotifyState<'_>]) {
    if let Err(error) = sd_notify::notify(states) {
        warn!("systemd cannot be notified: {error}");
    }
}
