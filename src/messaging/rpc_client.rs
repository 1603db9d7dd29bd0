//! Casts and calls to other services.

use std::time::Duration;

use serde_json::{Map, Value};

use super::bus::{Bus, PublishError};
use super::fault::Fault;

/// Whom a message is for.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Target {
    pub topic: String,
    /// One server of the topic, by name.
    pub server: Option<String>,
    /// All servers of the topic.
    pub fanout: bool,
    pub version: String,
}

impl Target {
    pub fn topic(topic: impl Into<String>, version: impl Into<String>) -> Self {
        Self {
            topic: topic.into(),
            server: None,
            fanout: false,
            version: version.into(),
        }
    }

    pub fn server(mut self, server: impl Into<String>) -> Self {
        self.server = Some(server.into());
        self
    }

    pub fn fanout(mut self) -> Self {
        self.fanout = true;
        self
    }
}

/// Why a call has no result.
#[derive(Debug, thiserror::Error)]
pub enum CallError {
    #[error("no reply to {method} within {timeout:?}")]
    TimedOut { method: String, timeout: Duration },
    #[error("{}: {}", .0.class, .0.message)]
    Remote(Box<Fault>),
    #[error("a call cannot be sent to all servers of a topic")]
    Fanout,
    #[error("the call could not be sent")]
    Publish(#[from] PublishError),
}

/// Sends requests; a cheap handle.
#[derive(Clone, Debug)]
pub struct RpcClient {
    pub(super) bus: Bus,
}

impl RpcClient {
    /// Sends a request that nobody answers; returns once the broker has it.
    pub async fn cast(
        &self,
        _target: &Target,
        _method: &str,
        _arguments: Map<String, Value>,
        _context: &Map<String, Value>,
    ) -> Result<(), PublishError> {
        Err(PublishError::Closed)
    }

    /// Sends a request and waits for the answer.
    pub async fn call(
        &self,
        _target: &Target,
        _method: &str,
        _arguments: Map<String, Value>,
        _context: &Map<String, Value>,
        _timeout: Duration,
    ) -> Result<Value, CallError> {
        Err(CallError::Publish(PublishError::Closed))
    }

    pub fn bus(&self) -> &Bus {
        &self.bus
    }
}
