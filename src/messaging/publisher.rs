//! Puts frames onto the bus, at least once each.
//!
//! A frame counts as sent when the broker has confirmed it; until then its publisher holds it and sends it again on the
//! next connection. Each publish has a channel (a lane) to itself until its confirmation is in: so a broken
//! channel hurts one frame only, and a frame that the broker returns as unroutable cannot be taken for another.

use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use bytes::Bytes;
use lapin::options::{BasicPublishOptions, ConfirmSelectOptions};
use lapin::types::FieldTable;
use lapin::{BasicProperties, Channel, Confirmation};
use tokio::sync::Semaphore;
use tokio::time::Instant;

use super::compression::Compression;
use super::connection::{Link, Live};
use super::declare::{
    self, DeclareError, PRECONDITION_FAILED, QueueState, declare_exchange, declare_queue, reply_code, short,
};
use super::error::PublishError;
use super::measure;
use super::topology::{ExchangeDeclaration, QueueDeclaration};

/// Publishes under way at a time. One takes about a millisecond, with quorum queues ten.
const LANES: usize = 32;
/// After this a confirmation is thought lost, and the frame is sent again.
const CONFIRM_PATIENCE: Duration = Duration::from_secs(60);
/// How long the broker may take to tell of a queue.
const QUESTION_PATIENCE: Duration = Duration::from_secs(10);
const PAUSE_AFTER_ERROR: Duration = Duration::from_millis(500);
/// A queue of the default exchange that there is not.
const TO_NOBODY: &str = "heat-engine-rs.to-nobody";
/// Pause before another look whether a queue has come (back) into being; oslo.messaging's own.
const PAUSE_WHILE_NO_QUEUE: Duration = Duration::from_millis(250);

/// A frame to be sent.
#[derive(Clone, Debug)]
pub(super) struct Outgoing {
    pub(super) to: Destination,
    pub(super) routing_key: String,
    /// Whether a frame that no queue takes is an error.
    pub(super) mandatory: bool,
    pub(super) body: Bytes,
    pub(super) properties: BasicProperties,
}

/// Where a frame goes, and what must exist before.
#[derive(Clone, Debug)]
pub(super) enum Destination {
    /// Straight into the queue that the routing key names.
    DefaultExchange,
    Exchange(ExchangeDeclaration),
    /// An exchange with a queue that keeps the frame for later readers.
    Kept(Box<QueueDeclaration>),
}

impl Destination {
    fn exchange_name(&self) -> &str {
        match self {
            Self::DefaultExchange => "",
            Self::Exchange(exchange) => &exchange.name,
            Self::Kept(queue) => queue.exchange.as_ref().map_or("", |exchange| &exchange.name),
        }
    }
}

fn properties() -> BasicProperties {
    BasicProperties::default()
        .with_content_type("application/json".into())
        .with_content_encoding("utf-8".into())
        .with_headers(FieldTable::default())
        .with_delivery_mode(2)
        .with_priority(0)
}

impl Outgoing {
    /// A frame as oslo.messaging sends it.
    pub(super) fn new(to: Destination, routing_key: String, body: Bytes, compression: Compression) -> Self {
        let (body, properties) = compression.apply(body, properties());
        Self {
            to,
            routing_key,
            mandatory: false,
            body,
            properties,
        }
    }

    pub(super) fn mandatory(mut self, mandatory: bool) -> Self {
        self.mandatory = mandatory;
        self
    }

    /// The broker drops it if nobody has taken it by then.
    pub(super) fn expires_after(mut self, time: Option<Duration>) -> Self {
        if let Some(time) = time {
            self.properties = self.properties.with_expiration(time.as_millis().to_string().into());
        }
        self
    }
}

#[derive(Debug)]
pub(super) struct Publisher {
    link: Link,
    idle: Mutex<Vec<Lane>>,
    permits: Arc<Semaphore>,
}

/// A channel in confirm mode, with nothing under way.
#[derive(Debug)]
struct Lane {
    channel: Channel,
    generation: u64,
}

/// Why one attempt came to nothing.
#[derive(Debug)]
enum Failure {
    /// No queue takes it.
    Returned,
    /// It can never be sent.
    Hopeless(PublishError),
    /// The next attempt may succeed.
    Transient(Box<dyn std::error::Error + Send + Sync>),
}

impl From<lapin::Error> for Failure {
    fn from(error: lapin::Error) -> Self {
        Self::Transient(error.into())
    }
}

/// What the broker says of a message that is larger than its `max_message_size`. The code alone says too little.
fn is_about_size(error: &lapin::Error) -> bool {
    reply_code(error) == Some(PRECONDITION_FAILED) && error.to_string().contains("larger than configured max size")
}

impl From<DeclareError> for Failure {
    fn from(error: DeclareError) -> Self {
        match error {
            DeclareError::NameTooLong => Self::Hopeless(PublishError::NameTooLong),
            DeclareError::Broker(error) => error.into(),
        }
    }
}

impl Publisher {
    pub(super) fn new(link: Link) -> Self {
        Self {
            link,
            idle: Mutex::default(),
            permits: Arc::new(Semaphore::new(LANES)),
        }
    }

    /// Sends a frame; returns once the broker has confirmed it. Tries until the deadline, or for ever.
    ///
    /// Dropping the future may leave the frame sent or unsent.
    pub(super) async fn publish(&self, frame: &Outgoing, deadline: Option<Instant>) -> Result<(), PublishError> {
        let start = Instant::now();
        let sending = self.publish_whatever_it_takes(frame);
        let sent = match deadline {
            None => sending.await,
            Some(deadline) => tokio::time::timeout_at(deadline, sending).await.unwrap_or_else(|_| {
                Err(PublishError::TimedOut {
                    routing_key: frame.routing_key.clone(),
                    waited: start.elapsed(),
                })
            }),
        };
        measure::published(&sent);
        sent
    }

    /// As `publish`, for a frame whose queue may be missing for a moment, as all are after a restart of the broker.
    pub(super) async fn publish_patiently(
        &self,
        frame: &Outgoing,
        patience: Duration,
        deadline: Option<Instant>,
    ) -> Result<(), PublishError> {
        let mut missing_since = None;
        loop {
            match self.publish(frame, deadline).await {
                Err(PublishError::Undeliverable { exchange, routing_key }) => {
                    let since = *missing_since.get_or_insert_with(Instant::now);
                    let next = Instant::now() + PAUSE_WHILE_NO_QUEUE;
                    if next >= since + patience || deadline.is_some_and(|deadline| next >= deadline) {
                        return Err(PublishError::Undeliverable { exchange, routing_key });
                    }
                    tracing::debug!(exchange, routing_key, "no queue takes the frame yet");
                    tokio::time::sleep_until(next).await;
                }
                other => return other,
            }
        }
    }

    /// Publishes what no queue takes, unless it is known already that the broker takes nothing.
    pub(super) async fn feel_for_alarm(&self) {
        let state = self.link.state().borrow().clone();
        let (Some(live), None) = (state.live, state.blocked) else {
            return;
        };
        let nothing = Outgoing {
            to: Destination::DefaultExchange,
            routing_key: TO_NOBODY.to_owned(),
            mandatory: false,
            body: Vec::new().into(),
            properties: BasicProperties::default(),
        };
        if let Err(error) = live.answered(self.attempt(&live, &nothing)).await {
            tracing::debug!(?error, "the broker was felt for in vain");
        }
    }

    async fn publish_whatever_it_takes(&self, frame: &Outgoing) -> Result<(), PublishError> {
        loop {
            let live = self.link.unblocked().await.map_err(|_| PublishError::Closed)?;
            let permit = self.permits.acquire().await.map_err(|_| PublishError::Closed)?;
            let sent = live.answered(self.attempt(&live, frame)).await;
            drop(permit);
            match sent {
                Ok(()) => return Ok(()),
                Err(Failure::Returned) => {
                    return Err(PublishError::Undeliverable {
                        exchange: frame.to.exchange_name().to_owned(),
                        routing_key: frame.routing_key.clone(),
                    });
                }
                Err(Failure::Hopeless(error)) => return Err(error),
                Err(Failure::Transient(error)) => {
                    tell_of_repetition(&live, frame, &*error);
                    live.forget_declared();
                    tokio::time::sleep(PAUSE_AFTER_ERROR).await;
                }
            }
        }
    }

    async fn attempt(&self, live: &Live, frame: &Outgoing) -> Result<(), Failure> {
        let (exchange, routing_key) = (short(frame.to.exchange_name())?, short(&frame.routing_key)?);
        match &frame.to {
            Destination::DefaultExchange => {}
            Destination::Exchange(exchange) => declare_exchange(live, exchange).await?,
            Destination::Kept(queue) => keep_in_queue(live, queue).await?,
        }
        let lane = self.lane(live).await?;
        let options = BasicPublishOptions {
            mandatory: frame.mandatory,
            immediate: false,
        };
        let properties = frame.properties.clone();
        let confirmation = lane
            .channel
            .basic_publish(exchange, routing_key, options, &frame.body, properties);
        let too_large = |error| match is_about_size(&error) {
            true => Failure::Hopeless(PublishError::TooLarge {
                bytes: frame.body.len(),
            }),
            false => error.into(),
        };
        let confirmation = confirmation.await.map_err(too_large)?;
        // Only a lane whose confirmation is in may be used again; all others are dropped and their channel closed.
        let outcome = tokio::time::timeout(CONFIRM_PATIENCE, confirmation)
            .await
            .map_err(|elapsed| Failure::Transient(elapsed.into()))?
            .map_err(too_large)?;
        self.put_back(lane);
        match outcome {
            Confirmation::Ack(None) => Ok(()),
            Confirmation::Ack(Some(_)) | Confirmation::Nack(Some(_)) => Err(Failure::Returned),
            Confirmation::Nack(None) => Err(Failure::Transient("the broker could not take it".into())),
            Confirmation::NotRequested => Err(Failure::Transient("the broker does not confirm".into())),
        }
    }

    async fn lane(&self, live: &Live) -> Result<Lane, lapin::Error> {
        if let Some(lane) = self.take_idle(live.generation()) {
            return Ok(lane);
        }
        let channel = live.channel().await?;
        channel.confirm_select(ConfirmSelectOptions::default()).await?;
        Ok(Lane {
            channel,
            generation: live.generation(),
        })
    }

    fn take_idle(&self, generation: u64) -> Option<Lane> {
        let mut idle = self.idle.lock().unwrap_or_else(PoisonError::into_inner);
        idle.retain(|lane| lane.generation == generation && lane.channel.status().connected());
        idle.pop()
    }

    fn put_back(&self, lane: Lane) {
        self.idle.lock().unwrap_or_else(PoisonError::into_inner).push(lane);
    }

    pub(super) async fn queue_state(&self, name: &str) -> Result<Option<QueueState>, PublishError> {
        let asking = async {
            loop {
                let live = self.link.live().await.map_err(|_| PublishError::Closed)?;
                match live.answered(declare::queue_state(&live, name)).await {
                    Ok(state) => return Ok(state),
                    Err(DeclareError::NameTooLong) => return Err(PublishError::NameTooLong),
                    Err(DeclareError::Broker(error)) => {
                        tracing::debug!(queue = name, %error, "could not ask for a queue; trying again");
                        tokio::time::sleep(PAUSE_AFTER_ERROR).await;
                    }
                }
            }
        };
        tokio::time::timeout(QUESTION_PATIENCE, asking)
            .await
            .unwrap_or_else(|_| {
                Err(PublishError::TimedOut {
                    routing_key: name.to_owned(),
                    waited: QUESTION_PATIENCE,
                })
            })
    }

    pub(super) async fn delete_unread_queue(&self, name: &str, if_empty: bool) -> Result<bool, PublishError> {
        loop {
            let live = self.link.live().await.map_err(|_| PublishError::Closed)?;
            match live.answered(declare::delete_unread_queue(&live, name, if_empty)).await {
                Ok(deleted) => return Ok(deleted),
                Err(DeclareError::NameTooLong) => return Err(PublishError::NameTooLong),
                Err(DeclareError::Broker(error)) => {
                    tracing::debug!(queue = name, %error, "could not delete a queue; trying again");
                    tokio::time::sleep(PAUSE_AFTER_ERROR).await;
                }
            }
        }
    }
}

/// That a connection is lost is told once, by whoever makes the next one.
fn tell_of_repetition(live: &Live, frame: &Outgoing, error: &(dyn std::error::Error + 'static)) {
    let (exchange, routing_key) = (frame.to.exchange_name(), &frame.routing_key);
    if live.is_up() {
        tracing::warn!(
            error,
            exchange,
            routing_key,
            "a frame was not confirmed; sending it again"
        );
    } else {
        tracing::debug!(error, exchange, routing_key, "a frame waits for the next connection");
    }
}

async fn keep_in_queue(live: &Live, queue: &QueueDeclaration) -> Result<(), DeclareError> {
    // A queue and an exchange may have the same name; this is not a name of an exchange.
    let remembered = format!("queue {}", queue.name);
    if !live.has_declared(&remembered) {
        declare_queue(live, queue).await?;
        live.remember_declared(&remembered);
    }
    Ok(())
}
