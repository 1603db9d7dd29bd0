//! Notifications for other services (`orchestration.stack.create.start` and the like), in the background: the work that
//! they tell of does not wait for the broker.

use std::sync::Arc;
use std::time::Duration;

use chrono::{NaiveDateTime, Timelike};
use serde_json::{Map, Value};
use tokio::sync::{mpsc, watch};

use super::bus::Bus;
use super::envelope;
use super::error::{PublishError, SetupError};
use super::publisher::{Destination, Outgoing};
use super::queue_manager::hex_id;
use super::request::pack_context;
use crate::clock::Clock;
use crate::journal::{Entry, Journal, Message, MessageKind, Outcome};
use crate::python::json::dumps;
use crate::python::mask::masked;
use crate::settings::NotificationSettings;

/// Notifications held while the broker is away. Who notifies after that waits.
const BACKLOG: usize = 10_000;
/// What one attempt may take where `retry` limits their number.
const ATTEMPT: Duration = Duration::from_secs(10);

/// A `driver` of `[oslo_messaging_notifications]`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Driver {
    /// Without an envelope.
    Messaging,
    MessagingV2,
    Log,
    Nothing,
}

impl Driver {
    fn named(name: &str) -> Option<Self> {
        match name {
            "messaging" => Some(Self::Messaging),
            "messagingv2" => Some(Self::MessagingV2),
            "log" => Some(Self::Log),
            "noop" | "test" | "" => Some(Self::Nothing),
            _ => None,
        }
    }
}

/// Sends notifications; a cheap handle.
#[derive(Clone, Debug)]
pub struct Notifier {
    /// None: nobody is told anything.
    sender: Option<mpsc::Sender<Notification>>,
    drivers: Arc<[Driver]>,
    clock: Clock,
    /// Sent, or given up.
    done: watch::Receiver<u64>,
    queued: Arc<watch::Sender<u64>>,
    /// The bus of notifications, if it is not that of RPC.
    own_bus: Option<Bus>,
    journal: Journal,
}

#[derive(Debug)]
struct Notification {
    message: Map<String, Value>,
    priority: String,
}

impl Notifier {
    /// Publishes on `rpc_bus` unless the settings name a transport of their own.
    pub fn start(settings: &NotificationSettings, rpc_bus: &Bus, clock: Clock) -> Result<Self, SetupError> {
        let (mut notifier, done_sender) = Self::silent(settings, clock.clone());
        let publishes = notifier.drivers.iter().any(|driver| *driver != Driver::Log);
        if !publishes {
            return Ok(notifier);
        }
        let bus = match &settings.transport_url {
            None => rpc_bus.clone(),
            Some(url) => {
                let mut options = rpc_bus.options().clone();
                options.transport.transport_url = url.clone();
                let bus = Bus::open(options, clock.clone())?;
                notifier.own_bus = Some(bus.clone());
                bus
            }
        };
        let (sender, queue) = mpsc::channel(BACKLOG);
        let publisher = Publisher {
            bus,
            drivers: notifier.drivers.clone(),
            topics: settings.topics.clone(),
            retry: u32::try_from(settings.retry).ok(),
            done: done_sender,
        };
        tokio::spawn(publisher.run(queue));
        notifier.sender = Some(sender);
        Ok(notifier)
    }

    /// One that tells `journal` what it would send, and sends nothing.
    pub fn rehearsing(settings: &NotificationSettings, clock: Clock, journal: Journal) -> Self {
        Self::silent(settings, clock).0.watched(journal)
    }

    fn silent(settings: &NotificationSettings, clock: Clock) -> (Self, watch::Sender<u64>) {
        let (queued, _) = watch::channel(0);
        let (done_sender, done) = watch::channel(0);
        let notifier = Self {
            sender: None,
            drivers: settings
                .drivers
                .iter()
                .filter_map(|name| Driver::named(name))
                .filter(|driver| *driver != Driver::Nothing)
                .collect(),
            clock,
            done,
            queued: Arc::new(queued),
            own_bus: None,
            journal: Journal::default(),
        };
        (notifier, done_sender)
    }

    /// The same notifier, for somebody who looks on.
    #[must_use]
    pub fn watched(self, journal: Journal) -> Self {
        Self { journal, ..self }
    }

    /// Queues a notification. Waits only if thousands of them are waiting for the broker already.
    ///
    /// `priority` is as oslo.messaging writes it into the message (`INFO`, `ERROR`); `context` has no credentials.
    pub async fn notify(
        &self,
        context: &Map<String, Value>,
        publisher_id: &str,
        event_type: &str,
        priority: &str,
        payload: Value,
    ) {
        if self.drivers.is_empty() {
            return;
        }
        let mut message = Map::new();
        message.insert("message_id".to_owned(), self.clock.new_uuid().into());
        message.insert("publisher_id".to_owned(), publisher_id.into());
        message.insert("event_type".to_owned(), event_type.into());
        message.insert("priority".to_owned(), priority.into());
        message.insert("payload".to_owned(), payload);
        message.insert("timestamp".to_owned(), python_text(self.clock.utc_now()).into());
        self.journal.note(|| {
            Entry::Message(Message {
                kind: MessageKind::Notification,
                to: priority.to_ascii_lowercase(),
                name: event_type.to_owned(),
                content: message.clone(),
                took: Duration::ZERO,
                outcome: match self.journal.rehearses() {
                    true => Outcome::Imagined,
                    false => Outcome::Done,
                },
            })
        });
        if self.journal.rehearses() {
            return;
        }
        if self.drivers.contains(&Driver::Log) {
            log(&message, event_type, priority);
        }
        let Some(sender) = &self.sender else {
            return;
        };
        message.insert("_unique_id".to_owned(), hex_id(&self.clock).into());
        pack_context(&mut message, context);
        let notification = Notification {
            message,
            priority: priority.to_ascii_lowercase(),
        };
        self.queued.send_modify(|count| *count += 1);
        if sender.send(notification).await.is_err() {
            tracing::error!(event_type, "dropped a notification: the bus is closed");
        }
    }

    /// Resolves when everything queued so far is out, or given up.
    pub async fn flushed(&self) {
        let queued = *self.queued.borrow();
        let _ = self.done.clone().wait_for(|done| *done >= queued).await;
    }

    /// Closes the connections that are the notifications' own.
    pub async fn close(&self) {
        if let Some(bus) = &self.own_bus {
            bus.close().await;
        }
    }
}

/// Drivers in the settings that get no notifications, since only the Python engine has them.
pub fn unsupported_drivers(settings: &NotificationSettings) -> Vec<&str> {
    let names = settings.drivers.iter().map(String::as_str);
    names.filter(|name| Driver::named(name).is_none()).collect()
}

/// `str()` of a Python datetime: the fraction is left out where it is zero.
fn python_text(time: NaiveDateTime) -> String {
    match time.nanosecond() / 1000 {
        0 => time.format("%Y-%m-%d %H:%M:%S").to_string(),
        micros => format!("{}.{micros:06}", time.format("%Y-%m-%d %H:%M:%S")),
    }
}

struct Publisher {
    bus: Bus,
    drivers: Arc<[Driver]>,
    topics: Vec<String>,
    /// Attempts after the first; `None`: without end.
    retry: Option<u32>,
    done: watch::Sender<u64>,
}

impl Publisher {
    /// One after the other, so that `start` is never read after `end`.
    async fn run(self, mut queue: mpsc::Receiver<Notification>) {
        while let Some(notification) = queue.recv().await {
            for driver in self.drivers.iter() {
                let body = match driver {
                    Driver::MessagingV2 => envelope::seal(notification.message.clone()),
                    Driver::Messaging => envelope::bare(notification.message.clone()),
                    Driver::Log | Driver::Nothing => continue,
                };
                for topic in &self.topics {
                    let queue = format!("{topic}.{}", notification.priority);
                    let queue = self.bus.shared.topology.notification_queue(&queue);
                    let (name, to) = (queue.name.clone(), Destination::Kept(Box::new(queue)));
                    self.publish(&Outgoing::new(to, name, body.clone(), self.bus.shared.compression))
                        .await;
                }
            }
            self.done.send_modify(|count| *count += 1);
        }
    }

    async fn publish(&self, frame: &Outgoing) {
        let publisher = &self.bus.shared.publisher;
        let sent = match self.retry {
            None => publisher.publish(frame, None).await,
            Some(retry) => {
                let patience = ATTEMPT.saturating_mul(retry.saturating_add(1));
                publisher
                    .publish(frame, Some(tokio::time::Instant::now() + patience))
                    .await
            }
        };
        match sent {
            Ok(()) => {}
            Err(PublishError::Closed) => tracing::warn!(topic = frame.routing_key, "dropped a notification at the end"),
            Err(error) => tracing::error!(topic = frame.routing_key, %error, "could not send a notification"),
        }
    }
}

fn log(message: &Map<String, Value>, event_type: &str, priority: &str) {
    let text = dumps(&masked(&Value::Object(message.clone())));
    match priority {
        "DEBUG" => tracing::debug!(target: "oslo.messaging.notification", event_type, "{text}"),
        "WARN" => tracing::warn!(target: "oslo.messaging.notification", event_type, "{text}"),
        "ERROR" | "CRITICAL" => tracing::error!(target: "oslo.messaging.notification", event_type, "{text}"),
        _ => tracing::info!(target: "oslo.messaging.notification", event_type, "{text}"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use chrono::NaiveDate;

    #[test]
    fn time_is_pythons() {
        let time = |micro| {
            NaiveDate::from_ymd_opt(2026, 11, 29)
                .unwrap()
                .and_hms_micro_opt(14, 5, 3, micro)
                .unwrap()
        };
        assert_eq!(python_text(time(741)), "2026-11-29 14:05:03.000741");
        assert_eq!(python_text(time(0)), "2026-11-29 14:05:03");
    }
}
