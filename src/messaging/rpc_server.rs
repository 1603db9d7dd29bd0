//! Serves the requests of a target.

use std::sync::Arc;

use super::bus::Bus;
use super::request::Dispatch;

/// What a server listens on, and how much of it at a time.
#[derive(Clone, Debug)]
pub struct ServerOptions {
    pub topic: String,
    pub server: String,
    /// Requests up to this version are served (same major number, no higher minor number).
    pub version: String,
    /// Requests worked on at the same time.
    pub concurrency: usize,
    /// Unacknowledged messages that the broker may have out to us on each queue; 0 is no limit.
    pub prefetch: u16,
}

/// A running server.
#[derive(Debug)]
pub struct RpcServer {
    bus: Bus,
}

impl RpcServer {
    pub(super) fn start(bus: Bus, _options: ServerOptions, _dispatch: Arc<dyn Dispatch>) -> Self {
        Self { bus }
    }

    /// Resolves once all queues are consumed.
    pub async fn ready(&self) {}

    /// Takes no new requests; what was delivered but not begun goes back to its queue.
    pub async fn stop_consuming(&self) {}

    /// Requests being worked on.
    pub fn running(&self) -> usize {
        0
    }

    /// Resolves when no request is being worked on and every reply is out.
    pub async fn idle(&self) {}

    /// Ends at once; what is unacknowledged goes back to its queue.
    pub async fn close(self) {}

    pub fn bus(&self) -> &Bus {
        &self.bus
    }
}
