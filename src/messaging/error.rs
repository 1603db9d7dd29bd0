//! Why the bus cannot be used, and why a frame did not get onto it.

use std::time::Duration;

/// Why the bus cannot be used at all: something in the configuration.
#[derive(Debug, thiserror::Error)]
pub enum SetupError {
    #[error("transport_url: {0}")]
    TransportUrl(String),
    #[error("the query of transport_url: {option}: {problem}")]
    Query { option: String, problem: String },
    #[error("[oslo_messaging_rabbit] {option}: {problem}")]
    Option { option: String, problem: String },
    #[error("the name of a queue could not be taken from /dev/shm, as use_queue_manager asks")]
    QueueName(#[source] std::io::Error),
}

/// Why a frame did not get onto the bus.
#[derive(Debug, thiserror::Error)]
pub enum PublishError {
    #[error("no queue takes messages for {routing_key} on exchange '{exchange}'")]
    Undeliverable { exchange: String, routing_key: String },
    #[error("no broker took the message for {routing_key} within {waited:?}")]
    TimedOut { routing_key: String, waited: Duration },
    #[error("the bus is closed")]
    Closed,
    #[error("the broker takes no message of {bytes} bytes")]
    TooLarge { bytes: usize },
    #[error("a name of more than 255 bytes does not fit into a frame")]
    NameTooLong,
}

impl SetupError {
    pub(super) fn option(option: &str, problem: impl Into<String>) -> Self {
        Self::Option {
            option: option.to_owned(),
            problem: problem.into(),
        }
    }
}
