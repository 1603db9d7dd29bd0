//! The handle to the message bus that the rest of the engine holds.

use std::sync::{Arc, OnceLock};
use std::time::Duration;

use tokio::sync::watch;
use tokio_util::sync::CancellationToken;

use super::compression::Compression;
use super::connection::{Link, LinkState, Told};
use super::declare::{self, QueueState};
use super::error::{PublishError, SetupError};
use super::options::Options;
use super::publisher::{Destination, Outgoing, Publisher};
use super::queue_manager::QueueNames;
use super::reply_queue::ReplyQueue;
use super::request::Frame;
use super::tls;
use super::topology::Topology;
use crate::clock::Clock;

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

impl Shared {
    fn start_reply_queue(&self, unique: &str) -> ReplyQueue {
        let link = self.consuming.clone();
        let max_frame_bytes = self.options.max_frame_bytes;
        ReplyQueue::start(link, &self.topology, max_frame_bytes, self.closed.clone(), unique)
    }
}

impl Drop for Shared {
    fn drop(&mut self) {
        self.closed.cancel();
    }
}

const FEEL_FOR_ALARMS: Duration = Duration::from_secs(10);

impl Bus {
    /// Checks the options and starts to connect; it does not wait for a broker.
    pub fn open(mut options: Options, clock: Clock) -> Result<Self, SetupError> {
        let url = options.resolve()?;
        let tls = tls::connector(&options.rabbit)?;
        let compression = Compression::named(options.rabbit.kombu_compression.as_deref())?;
        let closed = CancellationToken::new();
        let told = Told::default();
        let link = |purpose| {
            let (tls, told) = (tls.clone(), told.clone());
            Link::start(&options, &url, tls, purpose, clock.clone(), closed.clone(), told)
        };
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

    /// Keeps in touch with the broker for as long as the bus is open, so that an alarm is known of by whoever has nothing to
    /// send, too: a broker tells a connection of it when that publishes.
    pub async fn feel_for_alarms(self) {
        let closed = self.shared.closed.clone();
        let feeling = async {
            loop {
                tokio::time::sleep(FEEL_FOR_ALARMS).await;
                self.shared.publisher.feel_for_alarm().await;
            }
        };
        closed.run_until_cancelled(feeling).await;
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

    /// What a queue holds and who reads it; `None` if there is none of that name. Waits for no broker.
    pub async fn queue_state(&self, name: &str) -> Result<Option<QueueState>, PublishError> {
        self.shared.publisher.queue_state(name).await
    }

    /// Deletes a queue that nobody will read again. False if somebody reads it, or if it holds messages.
    pub async fn delete_idle_queue(&self, name: &str) -> Result<bool, PublishError> {
        self.shared.publisher.delete_unread_queue(name, true).await
    }

    /// Deletes a queue that nobody reads, with what is in it. False if somebody does.
    pub async fn delete_unread_queue(&self, name: &str) -> Result<bool, PublishError> {
        self.shared.publisher.delete_unread_queue(name, false).await
    }

    /// Closes the connections; what is published afterwards fails. The queue for replies goes, unless its name is made
    /// to be found again.
    pub async fn close(&self) {
        if let Some(queue) = self.shared.reply_queue.get()
            && !self.options().rabbit.use_queue_manager
        {
            queue.stop().await;
            self.delete_own_queue(queue.name()).await;
        }
        self.shared.closed.cancel();
        for link in [&self.shared.publishing, &self.shared.consuming] {
            link.ended().await;
        }
    }

    /// Deletes a queue that is ours alone, with what is in it. Without a broker it stays.
    pub(super) async fn delete_own_queue(&self, name: &str) {
        let live = self.shared.consuming.state().borrow().live.clone();
        if let Some(live) = live
            && let Err(error) = live.answered(declare::delete_own_queue(&live, name)).await
        {
            tracing::debug!(queue = name, %error, "left a queue behind");
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
            .get_or_init(|| self.shared.start_reply_queue(&unique)))
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
        blocked: publishing.blocked.clone().or_else(|| consuming.blocked.clone()),
        broker: publishing.broker(),
    }
}
