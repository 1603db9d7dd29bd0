//! Makes exchanges, queues and bindings on the broker.
//!
//! The broker answers a declaration that it refuses by closing the channel, so each one has a channel to itself.

use std::time::Duration;

use lapin::ErrorKind;
use lapin::options::{ExchangeDeclareOptions, QueueBindOptions, QueueDeclareOptions, QueueDeleteOptions};
use lapin::types::{AMQPValue, FieldTable, ShortString};

use super::connection::Live;
use super::topology::{Argument, ExchangeDeclaration, ExchangeKind, QueueDeclaration};

pub(super) const ACCESS_REFUSED: u16 = 403;
pub(super) const NOT_FOUND: u16 = 404;
pub(super) const RESOURCE_LOCKED: u16 = 405;
pub(super) const PRECONDITION_FAILED: u16 = 406;

/// How often a queue that is read is looked for.
const LOOK_FOR_QUEUE: Duration = Duration::from_secs(10);

/// Why the broker did not take a declaration.
#[derive(Debug, thiserror::Error)]
pub(super) enum DeclareError {
    #[error("a name of more than 255 bytes does not fit into a frame")]
    NameTooLong,
    #[error("the broker refused it")]
    Broker(#[from] lapin::Error),
}

/// A queue, as the broker tells of it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct QueueState {
    /// Messages that no consumer has been given.
    pub waiting: u32,
    pub consumers: u32,
}

pub(super) fn short(name: &str) -> Result<ShortString, DeclareError> {
    ShortString::try_new(name).map_err(|_| DeclareError::NameTooLong)
}

/// Declares an exchange, once for each connection.
pub(super) async fn declare_exchange(live: &Live, exchange: &ExchangeDeclaration) -> Result<(), DeclareError> {
    if live.has_declared(&exchange.name) {
        return Ok(());
    }
    match try_exchange(live, exchange).await {
        Err(DeclareError::Broker(error)) if is_other_durability(&error) => {
            warn_of_other_durability(&exchange.name);
            let as_it_is = ExchangeDeclaration {
                durable: !exchange.durable,
                ..exchange.clone()
            };
            try_exchange(live, &as_it_is).await?;
        }
        other => other?,
    }
    live.remember_declared(&exchange.name);
    Ok(())
}

/// Declares a queue, its exchange and what binds them.
pub(super) async fn declare_queue(live: &Live, queue: &QueueDeclaration) -> Result<(), DeclareError> {
    match try_queue(live, queue).await {
        Err(DeclareError::Broker(error)) if is_other_durability(&error) => {
            warn_of_other_durability(&queue.name);
            let mut lasting_only_while_used = queue.clone();
            lasting_only_while_used.durable = false;
            if let Some(exchange) = &mut lasting_only_while_used.exchange {
                exchange.durable = false;
                exchange.auto_delete = queue.auto_delete;
            }
            try_queue(live, &lasting_only_while_used).await
        }
        Err(DeclareError::Broker(error)) if reply_code(&error) == Some(NOT_FOUND) => {
            // It was on a node of the cluster that is down: it cannot be declared, but it can be deleted.
            tracing::warn!(queue = queue.name, %error, "the queue is on a node that is down; making it anew");
            let channel = live.channel().await?;
            let _ = channel
                .queue_delete(short(&queue.name)?, QueueDeleteOptions::default())
                .await;
            try_queue(live, queue).await
        }
        other => other,
    }
}

pub(super) async fn try_exchange(live: &Live, exchange: &ExchangeDeclaration) -> Result<(), DeclareError> {
    let channel = live.channel().await?;
    declare_exchange_on(&channel, exchange).await
}

async fn declare_exchange_on(channel: &lapin::Channel, exchange: &ExchangeDeclaration) -> Result<(), DeclareError> {
    let kind = match exchange.kind {
        ExchangeKind::Topic => lapin::ExchangeKind::Topic,
        ExchangeKind::Fanout => lapin::ExchangeKind::Fanout,
    };
    let options = ExchangeDeclareOptions {
        durable: exchange.durable,
        auto_delete: exchange.auto_delete,
        ..ExchangeDeclareOptions::default()
    };
    channel
        .exchange_declare(short(&exchange.name)?, kind, options, FieldTable::default())
        .await?;
    Ok(())
}

pub(super) async fn try_queue(live: &Live, queue: &QueueDeclaration) -> Result<(), DeclareError> {
    let channel = live.channel().await?;
    if let Some(exchange) = &queue.exchange {
        declare_exchange_on(&channel, exchange).await?;
    }
    let options = QueueDeclareOptions {
        durable: queue.durable,
        auto_delete: queue.auto_delete,
        ..QueueDeclareOptions::default()
    };
    channel
        .queue_declare(short(&queue.name)?, options, table(&queue.arguments))
        .await?;
    if let Some(exchange) = &queue.exchange {
        channel
            .queue_bind(
                short(&queue.name)?,
                short(&exchange.name)?,
                short(&queue.routing_key)?,
                QueueBindOptions::default(),
                FieldTable::default(),
            )
            .await?;
    }
    Ok(())
}

pub(super) async fn exchange_exists(live: &Live, name: &str) -> Result<bool, DeclareError> {
    let channel = live.channel().await?;
    let passive = ExchangeDeclareOptions {
        passive: true,
        ..ExchangeDeclareOptions::default()
    };
    // Of one that is there, a passive declaration compares nothing.
    let declared = channel.exchange_declare(short(name)?, lapin::ExchangeKind::Topic, passive, FieldTable::default());
    match declared.await {
        Ok(()) => Ok(true),
        Err(error) if reply_code(&error) == Some(NOT_FOUND) => Ok(false),
        Err(error) => Err(error.into()),
    }
}

/// What a queue holds and who reads it; `None` if there is none of that name.
pub(super) async fn queue_state(live: &Live, name: &str) -> Result<Option<QueueState>, DeclareError> {
    let channel = live.channel().await?;
    let passive = QueueDeclareOptions {
        passive: true,
        ..QueueDeclareOptions::default()
    };
    match channel
        .queue_declare(short(name)?, passive, FieldTable::default())
        .await
    {
        Ok(queue) => {
            // A channel that nobody closes may stay open as long as the connection.
            let _ = channel.close(200, "OK".into()).await;
            Ok(Some(QueueState {
                waiting: queue.message_count(),
                consumers: queue.consumer_count(),
            }))
        }
        Err(error) if reply_code(&error) == Some(NOT_FOUND) => Ok(None),
        Err(error) => Err(error.into()),
    }
}

/// Resolves when a queue that we read is found to be missing, or to have no reader. The broker ends the subscriptions to a
/// queue that goes; but one that is made in the moment in which the queue's node leaves a cluster may never hear of it, and
/// another engine may have made the queue anew meanwhile.
pub(super) async fn until_unread(live: &Live, name: &str) {
    let mut is_doubtful = false;
    loop {
        tokio::time::sleep(LOOK_FOR_QUEUE).await;
        match live.answered(queue_state(live, name)).await {
            Ok(None) => break,
            Ok(Some(queue)) if queue.consumers == 0 && is_doubtful => break,
            Ok(Some(queue)) => is_doubtful = queue.consumers == 0,
            Err(error) => tracing::debug!(queue = name, %error, "could not ask for a queue"),
        }
    }
    tracing::warn!(
        queue = name,
        "the queue is gone, or another one than ours, and nobody has told us; subscribing again"
    );
}

/// Deletes a queue that has no consumers, and if so told no messages. False if it has. (One that is not there counts as
/// deleted.)
pub(super) async fn delete_unread_queue(live: &Live, name: &str, if_empty: bool) -> Result<bool, DeclareError> {
    let channel = live.channel().await?;
    let options = QueueDeleteOptions {
        if_unused: true,
        if_empty,
        nowait: false,
    };
    match channel.queue_delete(short(name)?, options).await {
        Ok(_) => Ok(true),
        Err(error) if reply_code(&error) == Some(PRECONDITION_FAILED) => Ok(false),
        Err(error) => Err(error.into()),
    }
}

/// Deletes a queue that is ours alone, with what is in it.
pub(super) async fn delete_own_queue(live: &Live, name: &str) -> Result<(), DeclareError> {
    let channel = live.channel().await?;
    channel
        .queue_delete(short(name)?, QueueDeleteOptions::default())
        .await?;
    Ok(())
}

pub(super) fn table(arguments: &[(&'static str, Argument)]) -> FieldTable {
    let mut table = FieldTable::default();
    for (name, argument) in arguments {
        let value = match argument {
            Argument::Number(number) => match i32::try_from(*number) {
                Ok(small) => AMQPValue::LongInt(small),
                Err(_) => AMQPValue::LongLongInt(*number),
            },
            Argument::Text(text) => AMQPValue::LongString((*text).into()),
            Argument::Flag(flag) => AMQPValue::Boolean(*flag),
        };
        table.insert((*name).into(), value);
    }
    table
}

pub(super) fn reply_code(error: &lapin::Error) -> Option<u16> {
    match error.kind() {
        ErrorKind::ProtocolError(error) => Some(error.get_id()),
        _ => None,
    }
}

/// A service that shares the exchange with us made it with the other setting of `amqp_durable_queues`.
fn is_other_durability(error: &lapin::Error) -> bool {
    match error.kind() {
        ErrorKind::ProtocolError(error) => error.get_message().as_str().contains("inequivalent arg 'durable'"),
        _ => false,
    }
}

fn warn_of_other_durability(name: &str) {
    tracing::warn!(
        name,
        "exists with another durability: a service with other options made it; using it as it is"
    );
}
