//! The one queue to which the replies to all calls of this process come.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use futures_util::StreamExt;
use lapin::message::Delivery;
use lapin::options::{BasicAckOptions, BasicConsumeOptions};
use serde_json::{Map, Value};
use tokio::sync::{mpsc, watch};
use tokio_util::sync::CancellationToken;

use super::connection::{Link, Live};
use super::declare::{DeclareError, declare_queue, short, table, until_unread};
use super::envelope;
use super::topology::{Argument, QueueDeclaration, Topology};

const PAUSE_AFTER_ERROR: Duration = Duration::from_millis(500);

type Waiting = Arc<Mutex<HashMap<String, mpsc::UnboundedSender<Map<String, Value>>>>>;

#[derive(Debug)]
pub(super) struct ReplyQueue {
    name: String,
    waiting: Waiting,
    /// Whether the queue has been there at all; from then on replies wait in it while we are away.
    exists: watch::Receiver<bool>,
    stopped: CancellationToken,
}

impl ReplyQueue {
    pub(super) fn start(
        link: Link,
        topology: &Topology,
        max_frame_bytes: usize,
        closed: CancellationToken,
        unique: &str,
    ) -> Self {
        let name = format!("reply_{unique}");
        let waiting = Waiting::default();
        let (exists_sender, exists) = watch::channel(false);
        let stopped = closed.child_token();
        let reader = Reader {
            link,
            queue: topology.reply_queue(&name),
            consumer_arguments: topology.consumer_arguments(),
            max_frame_bytes,
            waiting: waiting.clone(),
            exists: exists_sender,
            stopped: stopped.clone(),
        };
        tokio::spawn(reader.run());
        Self {
            name,
            waiting,
            exists,
            stopped,
        }
    }

    /// Reads no more, so that the queue can go: a reader would declare it anew.
    pub(super) async fn stop(&self) {
        self.stopped.cancel();
        let mut exists = self.exists.clone();
        while exists.changed().await.is_ok() {}
    }

    pub(super) fn name(&self) -> &str {
        &self.name
    }

    /// Resolves once replies have a place to come to; false if the bus closes instead.
    pub(super) async fn exists(&self) -> bool {
        self.exists.clone().wait_for(|exists| *exists).await.is_ok()
    }

    pub(super) fn expect(&self, message_id: &str) -> Expectation {
        let (sender, replies) = mpsc::unbounded_channel();
        lock(&self.waiting).insert(message_id.to_owned(), sender);
        Expectation {
            message_id: message_id.to_owned(),
            waiting: self.waiting.clone(),
            replies,
        }
    }
}

/// Receives the replies to one call, until it is dropped.
#[derive(Debug)]
pub(super) struct Expectation {
    message_id: String,
    waiting: Waiting,
    pub(super) replies: mpsc::UnboundedReceiver<Map<String, Value>>,
}

impl Drop for Expectation {
    fn drop(&mut self) {
        lock(&self.waiting).remove(&self.message_id);
    }
}

fn lock(waiting: &Waiting) -> MutexGuard<'_, HashMap<String, mpsc::UnboundedSender<Map<String, Value>>>> {
    waiting.lock().unwrap_or_else(PoisonError::into_inner)
}

struct Reader {
    link: Link,
    queue: QueueDeclaration,
    consumer_arguments: Vec<(&'static str, Argument)>,
    max_frame_bytes: usize,
    waiting: Waiting,
    exists: watch::Sender<bool>,
    stopped: CancellationToken,
}

impl Reader {
    async fn run(self) {
        let stopped = self.stopped.clone();
        stopped.run_until_cancelled(self.read_for_ever()).await;
    }

    async fn read_for_ever(&self) {
        while let Ok(live) = self.link.live().await {
            match live.answered(self.read(&live)).await {
                Err(error) if live.is_up() => tracing::warn!(
                    queue = self.queue.name,
                    error = &error as &dyn std::error::Error,
                    "cannot read replies; subscribing again"
                ),
                Err(error) => tracing::debug!(queue = self.queue.name, %error, "replies wait for the next connection"),
                Ok(()) => {}
            }
            tokio::time::sleep(PAUSE_AFTER_ERROR).await;
        }
    }

    /// Returns when the subscription ends: the broker cancels it when the queue is deleted.
    async fn read(&self, live: &Live) -> Result<(), DeclareError> {
        declare_queue(live, &self.queue).await?;
        let channel = live.channel().await?;
        let name = short(&self.queue.name)?;
        let arguments = table(&self.consumer_arguments);
        let mut replies = channel
            .basic_consume(name, "1".into(), BasicConsumeOptions::default(), arguments)
            .await?;
        self.exists.send_replace(true);
        let mut unread = std::pin::pin!(until_unread(live, &self.queue.name));
        loop {
            let next = tokio::select! {
                next = replies.next() => next,
                () = &mut unread => None,
            };
            let Some(delivery) = next else { return Ok(()) };
            let delivery = delivery?;
            delivery.acker.ack(BasicAckOptions::default()).await?;
            self.pass_on(&delivery);
        }
    }

    fn pass_on(&self, delivery: &Delivery) {
        let reply = match envelope::read(&delivery.data, &delivery.properties, self.max_frame_bytes) {
            Ok(reply) => reply.keys,
            Err(error) => {
                let ids = envelope::ids_of_unreadable(&delivery.data);
                tracing::error!(
                    error = &error as &dyn std::error::Error,
                    tag = delivery.delivery_tag,
                    bytes = delivery.data.len(),
                    message_id = ids.message_id,
                    "dropped a reply that cannot be read"
                );
                return;
            }
        };
        let message_id = reply.get("_msg_id").and_then(Value::as_str).unwrap_or_default();
        let waiting = lock(&self.waiting).get(message_id).cloned();
        let passed_on = waiting.is_some_and(|waiting| waiting.send(reply.clone()).is_ok());
        if !passed_on {
            tracing::info!(message_id, "dropped a reply that nobody waits for (any more)");
        }
    }
}
