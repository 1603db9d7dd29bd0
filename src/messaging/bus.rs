//! The handle to the message bus that the rest of the engine holds.

use std::sync::{Arc, OnceLock};
use std::time::Duration;

use tokio::sync::watch;
use tokio_util::sync::CancellationToken;

use super::compression::Compression;
use super::connection::{Link, LinkState};
use super::options::Options;
use super::publisher::{Destination, Outgoing, Publisher};
use super::queue_manager::QueueNames;
use super::reply_queue::ReplyQueue;
use super::request::{Dispatch, Frame};
use super::rpc_client::RpcClient;
use super::rpc_server::{RpcServer, ServerOptions};
use super::tls;
use super::topology::Topology;
use crate::clock::Clock;

/// Why the bus cannot be used at all: something in the configuration.
#[derive(Debug, thiserror::Error)]
pub enum SetupError {
    #[error("[DEFAULT] transport_url: {0}")]
    TransportUrl(String),
    #[error("the query of transport_url names '{0}', which is no option of [oslo_messaging_rabbit]")]
    UnknownOption(String),
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
    /// `host:port` of the broker that takes our messages.
    pub broker: Option<String>,
}

/// A cheap handle to the connections to the brokers, which are kept up behind it until it is closed.
#[derive(Clone, Debug)]
pub struct Bus {
    pub(super) shared: Arc<Shared>,
}

#[derive(Debug)]
pub(super) struct Shared {
    pub(super) options: Options,
    pub(super) topology: Topology,
    pub(super) compression: Compression,
    pub(super) clock: Clock,
    pub(super) publisher: Publisher,
    pub(super) queue_names: QueueNames,
    /// A broker that is short of memory stops to read from those who publish. So what is consumed, and acknowledged,
    /// has a connection of its own.
    pub(super) consuming: Link,
    publishing: Link,
    reply_queue: OnceLock<ReplyQueue>,
    pub(super) closed: CancellationToken,
}

impl Drop for Shared {
    fn drop(&mut self) {
        self.closed.cancel();
    }
}

impl Bus {
    /// Checks the options and starts to connect; it does not wait for a broker.
    pub fn open(mut options: Options, clock: Clock) -> Result<Self, SetupError> {
        let url = options.resolve()?;
        let tls = tls::connector(&options.rabbit)?;
        let compression = Compression::named(options.rabbit.kombu_compression.as_deref())?;
        let closed = CancellationToken::new();
        let link = |purpose| Link::start(&options, &url, tls.clone(), purpose, clock.clone(), closed.clone());
        let (publishing, consuming) = (link("publishing"), link("consuming"));
        Ok(Self {
            shared: Arc::new(Shared {
                topology: Topology::new(&options),
                compression,
                publisher: Publisher::new(publishing.clone()),
                queue_names: QueueNames::new(&options.rabbit, clock.clone()),
                consuming,
                publishing,
                reply_queue: OnceLock::new(),
                options,
                clock,
                closed,
            }),
        })
    }

    /// Resolves when both connections are up.
    pub async fn connected(&self) -> Result<(), PublishError> {
        self.shared.publishing.live().await.map_err(|_| PublishError::Closed)?;
        self.shared.consuming.live().await.map_err(|_| PublishError::Closed)?;
        Ok(())
    }

    pub fn health(&self) -> Health {
        let consuming = self.shared.consuming.state().borrow().clone();
        let publishing = self.shared.publishing.state().borrow().clone();
        health(&publishing, &consuming)
    }

    pub fn health_watch(&self) -> HealthWatch {
        HealthWatch {
            publishing: self.shared.publishing.state(),
            consuming: self.shared.consuming.state(),
        }
    }

    pub fn options(&self) -> &Options {
        &self.shared.options
    }

    pub fn rpc_client(&self) -> RpcClient {
        RpcClient { bus: self.clone() }
    }

    /// Consumes the queues of a target and hands every request to `dispatch`.
    pub fn serve(&self, options: ServerOptions, dispatch: Arc<dyn Dispatch>) -> Result<RpcServer, SetupError> {
        RpcServer::start(self.clone(), options, dispatch)
    }

    /// Hands a request on, body and properties unchanged, to the queues of the control exchange that take
    /// `routing_key` (`topic.server`). Undeliverable at once if there are none.
    pub async fn forward(&self, frame: &Frame, routing_key: &str) -> Result<(), PublishError> {
        let outgoing = Outgoing {
            to: Destination::Exchange(self.shared.topology.control_exchange()),
            routing_key: routing_key.to_owned(),
            mandatory: true,
            body: frame.body.clone(),
            properties: frame.properties.clone(),
        };
        self.shared.publisher.publish(&outgoing, None).await
    }

    /// Deletes a queue that nobody will read again. False if somebody reads it, or if it holds messages.
    pub async fn delete_idle_queue(&self, name: &str) -> Result<bool, PublishError> {
        self.shared.publisher.delete_idle_queue(name).await
    }

    /// Closes the connections; what is published afterwards fails.
    pub async fn close(&self) {
        self.shared.closed.cancel();
        for link in [&self.shared.publishing, &self.shared.consuming] {
            link.ended().await;
        }
    }

    /// The queue for replies to our calls, made when the first call is.
    pub(super) fn reply_queue(&self) -> Result<&ReplyQueue, SetupError> {
        if let Some(queue) = self.shared.reply_queue.get() {
            return Ok(queue);
        }
        let unique = self.shared.queue_names.unique().map_err(SetupError::QueueName)?;
        Ok(self
            .shared
            .reply_queue
            .get_or_init(|| ReplyQueue::start(&self.shared, &unique)))
    }
}

/// Tells of changes of health.
#[derive(Debug)]
pub struct HealthWatch {
    publishing: watch::Receiver<LinkState>,
    consuming: watch::Receiver<LinkState>,
}

impl HealthWatch {
    /// Resolves when something has changed; nothing once the bus is closed.
    pub async fn changed(&mut self) -> Option<Health> {
        tokio::select! {
            changed = self.publishing.changed() => changed.ok()?,
            changed = self.consuming.changed() => changed.ok()?,
        }
        let consuming = self.consuming.borrow_and_update().clone();
        let publishing = self.publishing.borrow_and_update().clone();
        Some(health(&publishing, &consuming))
    }
}

fn health(publishing: &LinkState, consuming: &LinkState) -> Health {
    Health {
        connected: publishing.live.is_some() && consuming.live.is_some(),
        blocked: publishing.blocked.clone(),
        broker: publishing.broker(),
    }
}
