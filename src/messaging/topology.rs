//! Which exchanges and queues there are, by what options, with what arguments.
//!
//! Whoever comes first declares a queue; whoever comes second must declare it alike, or the broker closes the channel.
//! So all of this equals what a Python engine with the same options declares.

use std::fmt;

use super::options::Options;
use crate::settings::RabbitSettings;

const EXPIRES: &str = "x-expires";

/// Milliseconds: as long as a connection may take to come back. Not "with its last consumer" (`auto_delete`), since quorum
/// queues cannot do that, and since a process may die before it consumes at all.
const PASSING_QUEUE_LASTS: i64 = 30_000;

/// An argument of a queue or a consumer.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Argument {
    Number(i64),
    Text(&'static str),
    Flag(bool),
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ExchangeKind {
    Topic,
    Fanout,
}

/// As AMQP calls it.
impl fmt::Display for ExchangeKind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Topic => "topic",
            Self::Fanout => "fanout",
        })
    }
}

/// An exchange as the options want it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ExchangeDeclaration {
    pub name: String,
    pub kind: ExchangeKind,
    pub durable: bool,
    pub auto_delete: bool,
}

/// A queue; without an exchange it is reached through the default one, by its name.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct QueueDeclaration {
    pub(super) name: String,
    pub(super) durable: bool,
    pub(super) auto_delete: bool,
    pub(super) arguments: Vec<(&'static str, Argument)>,
    pub(super) exchange: Option<ExchangeDeclaration>,
    pub(super) routing_key: String,
}

/// The declarations that one set of options asks for.
#[derive(Clone, Debug)]
pub(super) struct Topology {
    control_exchange: String,
    rabbit: RabbitSettings,
}

impl Topology {
    pub(super) fn new(options: &Options) -> Self {
        Self {
            control_exchange: options.transport.control_exchange.clone(),
            rabbit: options.rabbit.clone(),
        }
    }

    /// The exchange of topics and of notifications.
    pub(super) fn control_exchange(&self) -> ExchangeDeclaration {
        ExchangeDeclaration {
            name: self.control_exchange.clone(),
            kind: ExchangeKind::Topic,
            durable: self.durable(),
            auto_delete: self.rabbit.amqp_auto_delete,
        }
    }

    /// The exchange that reaches all servers of a topic.
    pub(super) fn fanout_exchange(&self, topic: &str) -> ExchangeDeclaration {
        ExchangeDeclaration {
            name: format!("{topic}_fanout"),
            kind: ExchangeKind::Fanout,
            durable: self.rabbit.rabbit_transient_quorum_queue,
            auto_delete: true,
        }
    }

    /// The queue that the servers of a topic share, or (`topic.server`) that of one of them.
    pub(super) fn topic_queue(&self, name: &str) -> QueueDeclaration {
        QueueDeclaration {
            name: name.to_owned(),
            durable: self.durable(),
            auto_delete: self.rabbit.amqp_auto_delete,
            arguments: self.lasting_arguments(),
            exchange: Some(self.control_exchange()),
            routing_key: name.to_owned(),
        }
    }

    /// The queue of a server that nobody misses, and that no table knows: it goes by itself soon after it is left.
    pub(super) fn passing_queue(&self, name: &str) -> QueueDeclaration {
        let mut arguments = self.kind_arguments(self.rabbit.rabbit_transient_quorum_queue);
        arguments.push((EXPIRES, Argument::Number(PASSING_QUEUE_LASTS)));
        QueueDeclaration {
            name: name.to_owned(),
            durable: self.rabbit.rabbit_transient_quorum_queue,
            auto_delete: false,
            arguments,
            exchange: Some(self.control_exchange()),
            routing_key: name.to_owned(),
        }
    }

    /// The queue through which one server hears what all servers of a topic hear.
    pub(super) fn fanout_queue(&self, topic: &str, unique: &str) -> QueueDeclaration {
        QueueDeclaration {
            name: format!("{topic}_fanout_{unique}"),
            durable: self.rabbit.rabbit_transient_quorum_queue,
            auto_delete: false,
            arguments: self.transient_arguments(),
            exchange: Some(self.fanout_exchange(topic)),
            routing_key: topic.to_owned(),
        }
    }

    /// The queue to which replies come.
    pub(super) fn reply_queue(&self, name: &str) -> QueueDeclaration {
        QueueDeclaration {
            name: name.to_owned(),
            durable: self.rabbit.rabbit_transient_quorum_queue,
            auto_delete: false,
            arguments: self.transient_arguments(),
            exchange: None,
            routing_key: String::new(),
        }
    }

    /// The queue that keeps notifications for whoever will read them (`notifications.info`).
    pub(super) fn notification_queue(&self, name: &str) -> QueueDeclaration {
        self.topic_queue(name)
    }

    pub(super) fn consumer_arguments(&self) -> Vec<(&'static str, Argument)> {
        if self.rabbit.enable_cancel_on_failover {
            vec![("x-cancel-on-ha-failover", Argument::Flag(true))]
        } else {
            Vec::new()
        }
    }

    fn durable(&self) -> bool {
        self.rabbit.amqp_durable_queues || self.rabbit.rabbit_quorum_queue
    }

    fn lasting_arguments(&self) -> Vec<(&'static str, Argument)> {
        self.kind_arguments(self.rabbit.rabbit_quorum_queue)
    }

    fn transient_arguments(&self) -> Vec<(&'static str, Argument)> {
        let mut arguments = self.kind_arguments(self.rabbit.rabbit_transient_quorum_queue);
        let seconds = self.rabbit.rabbit_transient_queues_ttl;
        if seconds > 0 {
            arguments.push((EXPIRES, Argument::Number(seconds.saturating_mul(1000))));
        }
        arguments
    }

    fn kind_arguments(&self, quorum: bool) -> Vec<(&'static str, Argument)> {
        let mut arguments = Vec::new();
        if self.rabbit.rabbit_ha_queues {
            arguments.push(("x-ha-policy", Argument::Text("all")));
        }
        if quorum {
            arguments.push(("x-queue-type", Argument::Text("quorum")));
            let limits = [
                ("x-delivery-limit", self.rabbit.rabbit_quorum_delivery_limit),
                ("x-max-in-memory-length", self.rabbit.rabbit_quorum_max_memory_length),
                ("x-max-in-memory-bytes", self.rabbit.rabbit_quorum_max_memory_bytes),
            ];
            let set = limits.into_iter().filter(|(_, limit)| *limit != 0);
            arguments.extend(set.map(|(name, limit)| (name, Argument::Number(limit))));
        }
        arguments
    }
}
