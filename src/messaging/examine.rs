//! Whether brokers, exchanges and queues are as the options want them, for an operator who asks.

use std::time::Duration;

use futures_util::future::join_all;
use lapin::Connection;
use secrecy::SecretString;
use serde_json::{Map, Value};
use tokio::time::Instant;

use super::bus::Bus;
use super::connection::Live;
use super::declare::{
    ACCESS_REFUSED, DeclareError, PRECONDITION_FAILED, RESOURCE_LOCKED, exchange_exists, queue_state, reply_code,
    try_exchange, try_queue,
};
use super::dial::{Dialer, reason_of};
use super::error::{PublishError, SetupError};
use super::options::Options;
use super::tls;
use super::topology::{Argument, ExchangeDeclaration, QueueDeclaration};

/// Connects to each broker of the transport URL once. `host:port`, and how long it took or why it failed.
pub async fn try_brokers(
    mut options: Options,
    patience: Duration,
) -> Result<Vec<(String, Result<Duration, String>)>, SetupError> {
    let url = options.resolve()?;
    let tls = tls::connector(&options.rabbit)?;
    let dialer = Dialer::new(&options, &url, tls, "examining");
    let attempts = url.brokers.iter().map(async |broker| {
        let began = Instant::now();
        let outcome = tokio::time::timeout(patience, dialer.dial(broker)).await;
        let took = began.elapsed();
        let outcome = match outcome {
            Ok(Ok(connection)) => {
                say_goodbye(connection).await;
                Ok(took)
            }
            Ok(Err(error)) => Err(reason_of(&error)),
            Err(_) => Err(format!("no answer within {patience:?}")),
        };
        (broker.address(), outcome)
    });
    Ok(join_all(attempts).await)
}

async fn say_goodbye(connection: Connection) {
    const PATIENCE: Duration = Duration::from_secs(5);
    let _ = tokio::time::timeout(PATIENCE, connection.close(200, "OK".into())).await;
}

/// How an exchange or a queue compares with what this engine would make.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Fit {
    /// Nobody has made it yet.
    Missing,
    Fits,
    /// The broker's words for what is otherwise.
    Differs(String),
    /// It is there, and the user may not declare it: nobody can tell how it was made.
    Refused(String),
    /// It is there, and something else kept the broker from telling.
    Unanswered(String),
}

/// A queue of a topic as the options want it.
#[derive(Clone, Debug, PartialEq)]
pub struct ExpectedQueue {
    pub name: String,
    pub durable: bool,
    pub auto_delete: bool,
    pub arguments: Map<String, Value>,
}

/// As whom, and where, the options log in to the first broker.
#[derive(Clone, Debug)]
pub struct BrokerLogin {
    pub user: String,
    pub password: SecretString,
    pub virtual_host: String,
}

impl BrokerLogin {
    pub fn of(mut options: Options) -> Result<Self, SetupError> {
        let url = options.resolve()?;
        let first = url.brokers.into_iter().next();
        let (user, password) = first
            .map(|broker| (broker.username, broker.password))
            .unwrap_or_default();
        Ok(Self {
            user,
            password: password.into(),
            virtual_host: url.virtual_host,
        })
    }
}

impl Bus {
    /// The exchanges of requests: that of all topics, and one for the fanouts of each.
    pub fn expected_exchanges(&self, topics: &[&str]) -> Vec<ExchangeDeclaration> {
        let topology = &self.shared.topology;
        let fanouts = topics.iter().map(|topic| topology.fanout_exchange(topic));
        std::iter::once(topology.control_exchange()).chain(fanouts).collect()
    }

    pub fn expected_queue(&self, name: &str) -> ExpectedQueue {
        let queue = self.shared.topology.topic_queue(name);
        let arguments = queue.arguments.into_iter().map(|(name, argument)| {
            let value = match argument {
                Argument::Number(number) => Value::from(number),
                Argument::Text(text) => Value::from(text),
                Argument::Flag(flag) => Value::from(flag),
            };
            (name.to_owned(), value)
        });
        ExpectedQueue {
            name: queue.name,
            durable: queue.durable,
            auto_delete: queue.auto_delete,
            arguments: arguments.collect(),
        }
    }

    /// Compares an exchange with what the options ask for. One that is not there is not made.
    pub async fn examine_exchange(&self, exchange: &ExchangeDeclaration) -> Result<Fit, PublishError> {
        let live = self.live_to_examine().await?;
        match live.answered(exchange_exists(&live, &exchange.name)).await {
            Ok(false) => return Ok(Fit::Missing),
            Ok(true) => {}
            Err(error) => return Ok(fit(Err(error))),
        }
        Ok(fit(live.answered(try_exchange(&live, exchange)).await))
    }

    /// Compares a queue of a topic with what the options ask for. A queue that is not there is not made, and none is bound.
    pub async fn examine_queue(&self, name: &str) -> Result<Fit, PublishError> {
        let live = self.live_to_examine().await?;
        match live.answered(queue_state(&live, name)).await {
            Ok(None) => return Ok(Fit::Missing),
            Ok(Some(_)) => {}
            Err(error) => return Ok(fit(Err(error))),
        }
        let queue = QueueDeclaration {
            exchange: None,
            ..self.shared.topology.topic_queue(name)
        };
        Ok(fit(live.answered(try_queue(&live, &queue)).await))
    }

    pub(super) async fn live_to_examine(&self) -> Result<std::sync::Arc<Live>, PublishError> {
        self.shared.consuming.live().await.map_err(|_| PublishError::Closed)
    }
}

/// Only some of the broker's codes say that a thing is otherwise.
fn fit(declared: Result<(), DeclareError>) -> Fit {
    match declared {
        Ok(()) => Fit::Fits,
        // Exclusive to the connection that made it.
        Err(error) if has_code(&error, &[PRECONDITION_FAILED, RESOURCE_LOCKED]) => Fit::Differs(told(error)),
        Err(error) if has_code(&error, &[ACCESS_REFUSED]) => Fit::Refused(told(error)),
        Err(error) => Fit::Unanswered(told(error)),
    }
}

pub(super) fn has_code(error: &DeclareError, codes: &[u16]) -> bool {
    match error {
        DeclareError::Broker(error) => reply_code(error).is_some_and(|code| codes.contains(&code)),
        DeclareError::NameTooLong => false,
    }
}

pub(super) fn told(error: DeclareError) -> String {
    match error {
        DeclareError::Broker(error) => reason_of(&error),
        DeclareError::NameTooLong => error.to_string(),
    }
}
