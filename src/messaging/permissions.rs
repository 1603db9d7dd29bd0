//! What the user of the transport URL may do, tried on all names that an engine uses.
//!
//! Permissions are patterns of names: that one name is allowed says nothing of the next. The broker looks at them before it
//! looks at what it is asked for. So a queue of this visit stands for those that bear an engine's id, and what must not
//! happen to a queue or an exchange that engines share is asked for in a way that no broker does: with a value of a wrong
//! type.

use futures_util::{StreamExt, stream};
use lapin::options::{
    BasicConsumeOptions, BasicGetOptions, BasicPublishOptions, ConfirmSelectOptions, ExchangeDeclareOptions,
    QueueDeclareOptions,
};
use lapin::types::{AMQPValue, FieldTable};
use lapin::{BasicProperties, Channel};

use super::bus::Bus;
use super::connection::Live;
use super::declare::{
    ACCESS_REFUSED, DeclareError, NOT_FOUND, PRECONDITION_FAILED, RESOURCE_LOCKED, delete_own_queue, exchange_exists,
    queue_state, short,
};
use super::error::PublishError;
use super::examine::{has_code, told};
use super::queue_manager::hex_id;

/// What the user needs to be allowed, in RabbitMQ's terms.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Permission {
    Configure,
    Write,
    Read,
}

impl Permission {
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Configure => "configure",
            Self::Write => "write",
            Self::Read => "read",
        }
    }
}

/// Questions that wait for their answers at a time.
const AT_A_TIME: usize = 8;

/// What trying the permissions has shown.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Tried {
    pub refusals: Vec<Refusal>,
    /// What kept the broker from telling, in its words.
    pub unanswered: Vec<String>,
}

/// A permission that the user lacks on one name.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Refusal {
    pub permission: Permission,
    /// `queue engine`, `exchange heat`.
    pub on: String,
    /// The broker's words.
    pub reason: String,
}

/// Something that an engine does.
enum Deed {
    DeclareExchange(String),
    Publish {
        exchange: String,
        routing_key: String,
    },
    DeclareQueue(Queue),
    /// Takes writing to the queue, and reading from the exchange.
    Bind {
        queue: String,
        exchange: String,
    },
    Read(Queue),
}

#[derive(Clone)]
struct Queue {
    name: String,
    /// Made for this visit; others may hold somebody's messages, and be read.
    is_ours: bool,
}

impl Bus {
    /// What the broker does not allow, of all that serving these topics and writing to these queues of notifications takes.
    /// Nothing is left behind, and nothing reaches anybody.
    pub async fn examine_permissions(&self, topics: &[&str], notifications: &[&str]) -> Result<Tried, PublishError> {
        let live = &self.live_to_examine().await?;
        let id = format!("doctor_{:.8}", hex_id(&self.shared.clock));
        let attempts = stream::iter(self.deeds(topics, notifications, &id))
            .map(async |deed| (live.answered(deed.attempt(live)).await, deed))
            .buffered(AT_A_TIME);
        let attempts: Vec<_> = attempts.collect().await;
        let mut tried = Tried::default();
        for (outcome, deed) in attempts {
            match (outcome, deed) {
                (Ok(()), Deed::DeclareQueue(Queue { name, is_ours: true })) => {
                    let _ = live.answered(delete_own_queue(live, &name)).await;
                }
                (Ok(()), _) => {}
                (Err(error), deed) => tried.take(&deed, error),
            }
        }
        Ok(tried)
    }

    fn deeds(&self, topics: &[&str], notifications: &[&str], id: &str) -> Vec<Deed> {
        let control = self.shared.topology.control_exchange().name;
        let ours = |name: String| Queue { name, is_ours: true };
        let shared = |name: &str| Queue {
            name: name.to_owned(),
            is_ours: false,
        };
        let bind = |queue: &Queue, exchange: &str| Deed::Bind {
            queue: queue.name.clone(),
            exchange: exchange.to_owned(),
        };
        let publish = |exchange: &str, routing_key: &str| Deed::Publish {
            exchange: exchange.to_owned(),
            routing_key: routing_key.to_owned(),
        };
        let replies = ours(format!("reply_{id}"));
        let mut deeds = vec![
            Deed::DeclareQueue(replies.clone()),
            Deed::Read(replies.clone()),
            publish("", &replies.name),
            Deed::DeclareExchange(control.clone()),
        ];
        for topic in topics {
            let fanout = self.shared.topology.fanout_exchange(topic).name;
            deeds.push(Deed::DeclareExchange(fanout.clone()));
            deeds.push(publish(&fanout, topic));
            deeds.push(publish(&control, topic));
            let queues = [
                (shared(topic), &control),
                (ours(format!("{topic}.{id}")), &control),
                (ours(format!("{fanout}_{id}")), &fanout),
            ];
            for (queue, exchange) in queues {
                deeds.push(Deed::DeclareQueue(queue.clone()));
                deeds.push(bind(&queue, exchange));
                deeds.push(Deed::Read(queue));
            }
        }
        for name in notifications {
            let queue = shared(name);
            deeds.push(bind(&queue, &control));
            deeds.push(Deed::DeclareQueue(queue));
        }
        deeds
    }
}

impl Tried {
    fn take(&mut self, deed: &Deed, error: DeclareError) {
        if has_code(&error, &[NOT_FOUND, PRECONDITION_FAILED, RESOURCE_LOCKED]) {
            return;
        }
        let is_refused = has_code(&error, &[ACCESS_REFUSED]);
        let reason = told(error);
        let (permission, on) = deed.takes(&reason);
        if !is_refused {
            self.unanswered.push(format!("{}, {on}: {reason}", permission.as_str()));
            return;
        }
        // Of an exchange to which several queues may not be bound it is told once.
        let is_known = |known: &Refusal| (known.permission, &known.on) == (permission, &on);
        if !self.refusals.iter().any(is_known) {
            self.refusals.push(Refusal { permission, on, reason });
        }
    }
}

impl Deed {
    /// A refusal closes the channel, so each has one to itself.
    async fn attempt(&self, live: &Live) -> Result<(), DeclareError> {
        // One that is there is compared with what we would make, which tells whether we may.
        let is_compared = match self {
            Self::DeclareExchange(name) => exchange_exists(live, name).await?,
            Self::DeclareQueue(queue) if !queue.is_ours => queue_state(live, &queue.name).await?.is_some(),
            _ => false,
        };
        if is_compared {
            return Ok(());
        }
        let channel = live.channel().await?;
        self.ask(&channel).await?;
        let _ = channel.close(200, "OK".into()).await;
        Ok(())
    }

    async fn ask(&self, channel: &Channel) -> Result<(), DeclareError> {
        match self {
            Self::DeclareExchange(name) => {
                let (kind, options) = (lapin::ExchangeKind::Topic, ExchangeDeclareOptions::default());
                let arguments = impossible("alternate-exchange", AMQPValue::LongInt(1));
                channel.exchange_declare(short(name)?, kind, options, arguments).await?;
            }
            Self::Publish { exchange, routing_key } => {
                channel.confirm_select(ConfirmSelectOptions::default()).await?;
                let (exchange, routing_key) = (short(exchange)?, short(routing_key)?);
                let expires_never = BasicProperties::default().with_expiration("never".into());
                let confirmation = channel
                    .basic_publish(
                        exchange,
                        routing_key,
                        BasicPublishOptions::default(),
                        b"",
                        expires_never,
                    )
                    .await?;
                confirmation.await?;
            }
            Self::DeclareQueue(Queue { name, is_ours }) => {
                let options = QueueDeclareOptions {
                    exclusive: true,
                    ..QueueDeclareOptions::default()
                };
                let arguments = match is_ours {
                    true => FieldTable::default(),
                    false => impossible("x-expires", AMQPValue::LongString("never".into())),
                };
                channel.queue_declare(short(name)?, options, arguments).await?;
            }
            // There is no such binding to take away, and the broker does not mind.
            Self::Bind { queue, exchange } => {
                let (key, none) = (short("doctor")?, FieldTable::default());
                channel.queue_unbind(short(queue)?, short(exchange)?, key, none).await?;
            }
            Self::Read(Queue { name, is_ours: true }) => {
                channel.basic_get(short(name)?, BasicGetOptions::default()).await?;
            }
            Self::Read(Queue { name, is_ours: false }) => {
                let options = BasicConsumeOptions::default();
                let arguments = impossible("x-priority", AMQPValue::LongString("never".into()));
                channel
                    .basic_consume(short(name)?, "doctor".into(), options, arguments)
                    .await?;
            }
        }
        Ok(())
    }

    /// The permission that it takes, and on what. Where it takes two, the broker's words tell which of them is lacking.
    fn takes(&self, reason: &str) -> (Permission, String) {
        let of_exchange = |name: &str| match name {
            "" => "the default exchange".to_owned(),
            name => format!("exchange {name}"),
        };
        let of_queue = |name: &str| format!("queue {name}");
        match self {
            Self::DeclareExchange(name) => (Permission::Configure, of_exchange(name)),
            Self::Publish { exchange, .. } => (Permission::Write, of_exchange(exchange)),
            Self::DeclareQueue(queue) => (Permission::Configure, of_queue(&queue.name)),
            Self::Bind { exchange, .. } if reason.contains("to exchange '") => {
                (Permission::Read, of_exchange(exchange))
            }
            Self::Bind { queue, .. } => (Permission::Write, of_queue(queue)),
            Self::Read(queue) => (Permission::Read, of_queue(&queue.name)),
        }
    }
}

/// An argument of which no broker makes anything: text where it takes a number, or a number where it takes text.
fn impossible(name: &str, value: AMQPValue) -> FieldTable {
    let mut arguments = FieldTable::default();
    arguments.insert(name.into(), value);
    arguments
}
