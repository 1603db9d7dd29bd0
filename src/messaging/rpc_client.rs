//! Casts and calls to other services.

use std::time::Duration;

use serde_json::{Map, Value};
use tokio::time::Instant;

use super::bus::Bus;
use super::envelope;
use super::error::{PublishError, SetupError};
use super::fault::Fault;
use super::publisher::{Destination, Outgoing};
use super::queue_manager::hex_id;
use super::reply_queue::Expectation;
use super::request::pack_context;

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
    bus: Bus,
}

impl RpcClient {
    pub fn new(bus: &Bus) -> Self {
        Self { bus: bus.clone() }
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
        let message = self.message(target, method, arguments);
        let frame = self.frame(target, self.finish(message, context), None);
        let patience = self.bus.options().rabbit.kombu_missing_consumer_retry_timeout;
        self.bus
            .shared
            .publisher
            .publish_patiently(&frame, patience, None)
            .await
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
        let waiting = self.call_until_answered(target, method, arguments, context, timeout);
        match tokio::time::timeout(timeout, waiting).await {
            Ok(Err(CallError::Publish(PublishError::TimedOut { .. } | PublishError::Undeliverable { .. })))
            | Err(_) => Err(CallError::TimedOut {
                method: method.to_owned(),
                routing_key: target.routing_key(),
                timeout,
            }),
            Ok(answer) => answer,
        }
    }

    async fn call_until_answered(
        &self,
        target: &Target,
        method: &str,
        arguments: Map<String, Value>,
        context: &Map<String, Value>,
        timeout: Duration,
    ) -> Result<Value, CallError> {
        let deadline = Instant::now() + timeout;
        let reply_queue = self.bus.reply_queue()?;
        if !reply_queue.exists().await {
            return Err(PublishError::Closed.into());
        }
        let message_id = hex_id(&self.bus.shared.clock);
        let mut message = self.message(target, method, arguments);
        message.insert("_msg_id".to_owned(), message_id.clone().into());
        message.insert("_reply_q".to_owned(), reply_queue.name().into());
        message.insert("_timeout".to_owned(), Value::Null);
        let expectation = reply_queue.expect(&message_id);
        let frame = self.frame(target, self.finish(message, context), Some(timeout));
        self.bus
            .shared
            .publisher
            .publish_patiently(&frame, timeout, Some(deadline))
            .await?;
        answer(expectation, method).await
    }

    fn message(&self, target: &Target, method: &str, arguments: Map<String, Value>) -> Map<String, Value> {
        let mut message = Map::new();
        message.insert("method".to_owned(), method.into());
        message.insert("args".to_owned(), Value::Object(arguments));
        message.insert("version".to_owned(), target.version.as_str().into());
        message
    }

    fn finish(&self, mut message: Map<String, Value>, context: &Map<String, Value>) -> Map<String, Value> {
        message.insert("_unique_id".to_owned(), hex_id(&self.bus.shared.clock).into());
        pack_context(&mut message, context);
        message
    }

    fn frame(&self, target: &Target, message: Map<String, Value>, expiration: Option<Duration>) -> Outgoing {
        let topology = &self.bus.shared.topology;
        let (exchange, routing_key) = if target.fanout {
            (topology.fanout_exchange(&target.topic), String::new())
        } else {
            (topology.control_exchange(), target.routing_key())
        };
        let compression = self.bus.shared.compression;
        // That nobody listens is nothing special for a message to all who do.
        Outgoing::new(
            Destination::Exchange(exchange),
            routing_key,
            envelope::seal(message),
            compression,
        )
        .mandatory(!target.fanout)
        .expires_after(expiration)
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
