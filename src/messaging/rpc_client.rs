//! Casts and calls to other services.

use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use serde_json::{Map, Value};
use tokio::time::Instant;

use super::bus::Bus;
use super::declare::QueueState;
use super::envelope;
use super::error::{PublishError, SetupError};
use super::fault::Fault;
use super::publisher::{Destination, Outgoing};
use super::queue_manager::hex_id;
use super::reply_queue::Expectation;
use super::request::message_text;
use crate::journal::{self, Entry, Journal, MessageKind, Outcome};

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

    fn routing_key(&self) -> String {
        match &self.server {
            Some(server) => format!("{}.{server}", self.topic),
            None => self.topic.clone(),
        }
    }
}

/// Why a call has no result.
#[derive(Debug, thiserror::Error)]
pub enum CallError {
    #[error("no reply to {method} from {routing_key} within {timeout:?}")]
    TimedOut {
        method: String,
        routing_key: String,
        timeout: Duration,
    },
    /// Which says nothing of who was to answer.
    #[error("no broker took {method} for {routing_key} within {timeout:?}")]
    NotSent {
        method: String,
        routing_key: String,
        timeout: Duration,
    },
    #[error("{method} failed at the other end")]
    Remote {
        method: String,
        #[source]
        fault: Fault,
    },
    #[error("a call cannot be sent to all servers of a topic")]
    Fanout,
    #[error("the call could not be sent")]
    Publish(#[from] PublishError),
    #[error("there is no queue for the reply")]
    ReplyQueue(#[from] SetupError),
}

/// Sends requests; a cheap handle.
#[derive(Clone, Debug)]
pub struct RpcClient {
    /// None in a rehearsal.
    bus: Option<Bus>,
    journal: Journal,
}

impl RpcClient {
    pub fn new(bus: &Bus) -> Self {
        Self {
            bus: Some(bus.clone()),
            journal: Journal::default(),
        }
    }

    /// One that tells what it would send and needs no broker. Nobody answers its calls.
    pub fn rehearsing(journal: Journal) -> Self {
        Self { bus: None, journal }
    }

    /// The same client, for somebody who looks on.
    #[must_use]
    pub fn watched(self, journal: Journal) -> Self {
        Self { journal, ..self }
    }

    /// Sends a request that nobody answers; returns once the broker has confirmed it.
    ///
    /// While no broker is there it waits. While a broker is there but no queue, as after a restart of it,
    /// it waits as long as a reply would (`kombu_missing_consumer_retry_timeout`): oslo.messaging loses such a cast.
    pub async fn cast(
        &self,
        target: &Target,
        method: &str,
        arguments: Map<String, Value>,
        context: &Map<String, Value>,
    ) -> Result<(), PublishError> {
        let missing_queue = |bus: &Bus| bus.options().rabbit.kombu_missing_consumer_retry_timeout;
        self.cast_within(missing_queue, target, method, arguments, context)
            .await
    }

    /// As [`Self::cast`], to a server that may be gone: does not wait for its queue to come back.
    pub async fn cast_if_served(
        &self,
        target: &Target,
        method: &str,
        arguments: Map<String, Value>,
        context: &Map<String, Value>,
    ) -> Result<(), PublishError> {
        self.cast_within(|_| Duration::ZERO, target, method, arguments, context)
            .await
    }

    async fn cast_within(
        &self,
        patience: impl Fn(&Bus) -> Duration,
        target: &Target,
        method: &str,
        arguments: Map<String, Value>,
        context: &Map<String, Value>,
    ) -> Result<(), PublishError> {
        let note = self.note(MessageKind::Cast, target, method, &arguments);
        let Some(bus) = &self.bus else {
            note.end(Outcome::Imagined);
            return Ok(());
        };
        let message = message(target, method, arguments);
        let frame = frame(bus, target, &finish(bus, message, context), None);
        // Apart, as below: whoever may have to send something need not keep room for all of it while he waits.
        let sent = Box::pin(bus.shared.publisher.publish_patiently(&frame, patience(bus), None)).await;
        note.end(Outcome::of(&sent));
        sent
    }

    /// What waits for the servers of a topic; `None` if that cannot be told at the moment.
    pub async fn backlog(&self, topic: &str) -> Option<QueueState> {
        let bus = self.bus.as_ref()?;
        let queue = bus.shared.topology.topic_queue(topic);
        bus.queue_state(&queue.name).await.ok().flatten()
    }

    /// Sends a request and waits for the answer, all in all no longer than `timeout`.
    pub async fn call(
        &self,
        target: &Target,
        method: &str,
        arguments: Map<String, Value>,
        context: &Map<String, Value>,
        timeout: Duration,
    ) -> Result<Value, CallError> {
        if target.fanout {
            return Err(CallError::Fanout);
        }
        let note = self.note(MessageKind::Call, target, method, &arguments);
        let Some(bus) = &self.bus else {
            note.end(Outcome::Imagined);
            return Err(timed_out(target, method, timeout));
        };
        let is_sent = AtomicBool::new(false);
        let waiting = Box::pin(call_until_answered(
            bus, target, method, arguments, context, timeout, &is_sent,
        ));
        let answer = match tokio::time::timeout(timeout, waiting).await {
            Ok(Err(CallError::Publish(PublishError::Undeliverable { .. }))) => Err(timed_out(target, method, timeout)),
            Err(_) if is_sent.load(Ordering::Relaxed) => Err(timed_out(target, method, timeout)),
            Ok(Err(CallError::Publish(PublishError::TimedOut { .. }))) | Err(_) => Err(CallError::NotSent {
                method: method.to_owned(),
                routing_key: target.routing_key(),
                timeout,
            }),
            Ok(answer) => answer,
        };
        note.end(Outcome::of(&answer));
        answer
    }

    fn note(&self, kind: MessageKind, target: &Target, method: &str, arguments: &Map<String, Value>) -> Note {
        Note(self.journal.is_read().then(|| {
            let message = journal::Message {
                kind,
                to: target.routing_key(),
                name: method.to_owned(),
                content: arguments.clone(),
                took: Duration::ZERO,
                outcome: Outcome::Done,
            };
            (self.journal.clone(), Instant::now(), message)
        }))
    }
}

/// What is told of a message once it is sent.
struct Note(Option<(Journal, Instant, journal::Message)>);

impl Note {
    fn end(self, outcome: Outcome) {
        if let Some((journal, began, message)) = self.0 {
            let took = began.elapsed();
            journal.note(|| {
                Entry::Message(journal::Message {
                    took,
                    outcome,
                    ..message
                })
            });
        }
    }
}

async fn call_until_answered(
    bus: &Bus,
    target: &Target,
    method: &str,
    arguments: Map<String, Value>,
    context: &Map<String, Value>,
    timeout: Duration,
    is_sent: &AtomicBool,
) -> Result<Value, CallError> {
    let deadline = Instant::now() + timeout;
    let reply_queue = bus.reply_queue()?;
    if !reply_queue.exists().await {
        return Err(PublishError::Closed.into());
    }
    let message_id = hex_id(&bus.shared.clock);
    let mut message = message(target, method, arguments);
    message.insert("_msg_id".to_owned(), message_id.clone().into());
    message.insert("_reply_q".to_owned(), reply_queue.name().into());
    message.insert("_timeout".to_owned(), Value::Null);
    let expectation = reply_queue.expect(&message_id);
    let frame = frame(bus, target, &finish(bus, message, context), Some(timeout));
    bus.shared
        .publisher
        .publish_patiently(&frame, timeout, Some(deadline))
        .await?;
    is_sent.store(true, Ordering::Relaxed);
    answer(expectation, method).await
}

fn message(target: &Target, method: &str, arguments: Map<String, Value>) -> Map<String, Value> {
    let mut message = Map::new();
    message.insert("method".to_owned(), method.into());
    message.insert("args".to_owned(), Value::Object(arguments));
    message.insert("version".to_owned(), target.version.as_str().into());
    message
}

fn finish(bus: &Bus, mut message: Map<String, Value>, context: &Map<String, Value>) -> String {
    message.insert("_unique_id".to_owned(), hex_id(&bus.shared.clock).into());
    message_text(&message, context)
}

fn frame(bus: &Bus, target: &Target, message: &str, expiration: Option<Duration>) -> Outgoing {
    let topology = &bus.shared.topology;
    let (exchange, routing_key) = if target.fanout {
        (topology.fanout_exchange(&target.topic), String::new())
    } else {
        (topology.control_exchange(), target.routing_key())
    };
    let compression = bus.shared.compression;
    // That nobody listens is nothing special for a message to all who do.
    Outgoing::new(
        Destination::Exchange(exchange),
        routing_key,
        envelope::seal_text(message),
        compression,
    )
    .mandatory(!target.fanout)
    .expires_after(expiration)
}

fn timed_out(target: &Target, method: &str, timeout: Duration) -> CallError {
    CallError::TimedOut {
        method: method.to_owned(),
        routing_key: target.routing_key(),
        timeout,
    }
}

/// A caller of oslo.messaging takes the last result that is not null, up to the frame that ends the reply.
async fn answer(mut expectation: Expectation, method: &str) -> Result<Value, CallError> {
    let mut result = Value::Null;
    while let Some(mut reply) = expectation.replies.recv().await {
        let ending = reply.get("ending").is_some_and(|ending| ending == &Value::Bool(true));
        match reply.get("failure") {
            None | Some(Value::Null) => {}
            Some(failure) => {
                return Err(CallError::Remote {
                    method: method.to_owned(),
                    fault: Fault::from_wire(failure),
                });
            }
        }
        match reply.remove("result") {
            None | Some(Value::Null) => {}
            Some(value) => result = value,
        }
        if ending {
            return Ok(result);
        }
    }
    Err(PublishError::Closed.into())
}
