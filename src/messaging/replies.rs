//! Sends replies to callers, who may be gone by then.

use std::collections::HashMap;
use std::convert::Infallible;
use std::sync::{Mutex, PoisonError};
use std::time::Duration;

use serde_json::{Map, Value};
use tokio::time::Instant;

use super::bus::Bus;
use super::envelope;
use super::error::PublishError;
use super::fault::Fault;
use super::publisher::{Destination, Outgoing};
use super::queue_manager::hex_id;
use super::request::ReplyAddress;

/// For this long a caller that was found gone gets no replies.
const GONE_FOR: Duration = Duration::from_secs(60);
const REMEMBERED: usize = 200;

#[derive(Debug)]
pub(super) struct Replies {
    bus: Bus,
    /// Queues of callers that are gone, so that each further reply to them does not wait for them to come back.
    gone: Mutex<HashMap<String, Instant>>,
}

impl Replies {
    pub(super) fn new(bus: Bus) -> Self {
        Self {
            bus,
            gone: Mutex::default(),
        }
    }

    /// Sends the outcome of a request. A caller whose queue is missing may be reconnecting, and gets a while for it.
    pub(super) async fn send(&self, to: &ReplyAddress, outcome: Result<Value, Fault>) {
        if self.is_gone(&to.queue) {
            tracing::warn!(
                queue = to.queue,
                message_id = to.message_id,
                "dropped the reply to a caller that is gone"
            );
            return;
        }
        let (result, failure) = match outcome {
            Ok(result) => (result, Value::Null),
            Err(fault) => (Value::Null, fault.to_wire().into()),
        };
        let patience = self.bus.options().rabbit.kombu_missing_consumer_retry_timeout;
        let mut sent = self.publish(self.frame(to, result, failure, true), patience).await;
        if let Err(PublishError::TooLarge { bytes }) = sent {
            tracing::warn!(
                queue = to.queue,
                message_id = to.message_id,
                bytes,
                "the broker takes no reply of this size; telling the caller"
            );
            let failure = Fault::too_large_an_answer(bytes).to_wire().into();
            sent = self.publish(self.frame(to, Value::Null, failure, true), patience).await;
        }
        match sent {
            Ok(()) => tracing::debug!(queue = to.queue, message_id = to.message_id, "replied"),
            Err(PublishError::Undeliverable { .. }) => {
                tracing::info!(
                    queue = to.queue,
                    message_id = to.message_id,
                    ?patience,
                    "dropped a reply: its caller is gone"
                );
                self.remember_gone(&to.queue);
            }
            Err(error) => {
                tracing::error!(queue = to.queue, message_id = to.message_id, %error, "dropped a reply");
            }
        }
    }

    async fn publish(&self, frame: Outgoing, patience: Duration) -> Result<(), PublishError> {
        let publisher = &self.bus.shared.publisher;
        publisher.publish_patiently(&frame, patience, None).await
    }

    /// Tells the caller at every interval that its request is still being worked on.
    pub(super) async fn send_signs_of_life(&self, to: &ReplyAddress, interval: Duration) -> Infallible {
        loop {
            tokio::time::sleep(interval).await;
            let frame = self.frame(to, Value::Null, Value::Null, false);
            if let Err(error) = self.bus.shared.publisher.publish(&frame, None).await {
                tracing::debug!(queue = to.queue, message_id = to.message_id, %error, "no sign of life sent");
                break;
            }
        }
        std::future::pending().await
    }

    fn frame(&self, to: &ReplyAddress, result: Value, failure: Value, ending: bool) -> Outgoing {
        let mut message = Map::new();
        message.insert("result".to_owned(), result);
        message.insert("failure".to_owned(), failure);
        message.insert("ending".to_owned(), ending.into());
        message.insert("_msg_id".to_owned(), to.message_id.as_str().into());
        message.insert("_unique_id".to_owned(), hex_id(&self.bus.shared.clock).into());
        let compression = self.bus.shared.compression;
        Outgoing::new(
            Destination::DefaultExchange,
            to.queue.clone(),
            envelope::seal(message),
            compression,
        )
        .mandatory(true)
    }

    fn is_gone(&self, queue: &str) -> bool {
        let mut gone = self.gone.lock().unwrap_or_else(PoisonError::into_inner);
        gone.retain(|_, since| since.elapsed() < GONE_FOR);
        gone.contains_key(queue)
    }

    fn remember_gone(&self, queue: &str) {
        let mut gone = self.gone.lock().unwrap_or_else(PoisonError::into_inner);
        if gone.len() < REMEMBERED {
            gone.insert(queue.to_owned(), Instant::now());
        }
    }
}
