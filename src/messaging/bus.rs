//! The handle to the message bus that the rest of the engine holds.

use std::sync::Arc;
use std::time::Duration;

use tokio::sync::watch;

use super::options::Options;
use super::request::{Dispatch, Frame};
use super::rpc_client::RpcClient;
use super::rpc_server::{RpcServer, ServerOptions};
use crate::clock::Clock;

/// Why the bus cannot be used at all: something in the configuration.
#[derive(Debug, thiserror::Error)]
pub enum SetupError {
    #[error("transport_url: {0}")]
    TransportUrl(String),
    #[error("[oslo_messaging_rabbit] {option}: {problem}")]
    Option { option: &'static str, problem: String },
}

/// Why a frame did not get onto the bus.
#[derive(Debug, thiserror::Error)]
pub enum PublishError {
    #[error("no queue takes messages for {routing_key} on exchange '{exchange}'")]
    Undeliverable { exchange: String, routing_key: String },
    #[error("no broker took the message for {routing_key} in {waited:?}")]
    TimedOut { routing_key: String, waited: Duration },
    #[error("the bus is closed")]
    Closed,
    #[error("a name of more than 255 bytes does not fit into a frame")]
    NameTooLong,
}

/// How the engine stands with its brokers.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Health {
    /// Both connections (for publishing, for consuming) are up.
    pub connected: bool,
    /// The broker's reason for taking no messages at the moment.
    pub blocked: Option<String>,
    /// `host:port` of the broker in use.
    pub broker: Option<String>,
}

/// A cheap handle to the connections to the brokers; they are kept up behind it for as long as it lives.
#[derive(Clone, Debug)]
pub struct Bus {
    options: Arc<Options>,
    health: watch::Receiver<Health>,
}

impl Bus {
    /// Checks the options and starts to connect; it does not wait for a broker.
    pub fn open(options: Options, _clock: Clock) -> Result<Self, SetupError> {
        let (_sender, health) = watch::channel(Health::default());
        Ok(Self {
            options: Arc::new(options),
            health,
        })
    }

    pub async fn connected(&self) -> Result<(), PublishError> {
        let mut health = self.health.clone();
        health
            .wait_for(|health| health.connected)
            .await
            .map(|_| ())
            .map_err(|_| PublishError::Closed)
    }

    pub fn health(&self) -> Health {
        self.health.borrow().clone()
    }

    pub fn health_changes(&self) -> watch::Receiver<Health> {
        self.health.clone()
    }

    pub fn options(&self) -> &Options {
        &self.options
    }

    pub fn rpc_client(&self) -> RpcClient {
        RpcClient { bus: self.clone() }
    }

    /// Consumes the queues of a target and hands every request to `dispatch`.
    pub fn serve(&self, options: ServerOptions, dispatch: Arc<dyn Dispatch>) -> RpcServer {
        RpcServer::start(self.clone(), options, dispatch)
    }

    /// Hands a request on, body and properties unchanged, to a queue of the control exchange.
    pub async fn forward(&self, _frame: &Frame, _routing_key: &str) -> Result<(), PublishError> {
        Err(PublishError::Closed)
    }

    /// Deletes a queue of ours that nobody will read again; false if it is in use, holds messages or is gone.
    pub async fn delete_idle_queue(&self, _name: &str) -> Result<bool, PublishError> {
        Err(PublishError::Closed)
    }

    /// Closes the connections; what is published afterwards fails.
    pub async fn close(&self) {}
}
