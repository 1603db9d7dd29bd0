//! Whether brokers and queues are as the options want them, for an operator who asks.

use std::time::Duration;

use futures_util::future::join_all;
use lapin::Channel;
use lapin::options::{
    BasicGetOptions, BasicPublishOptions, ConfirmSelectOptions, QueueDeclareOptions, QueueDeleteOptions,
};
use lapin::types::FieldTable;
use lapin::{BasicProperties, Connection};
use tokio::time::Instant;

use super::bus::Bus;
use super::connection::Live;
use super::declare::{DeclareError, queue_state, short, try_queue};
use super::dial::{Dialer, reason_of};
use super::error::{PublishError, SetupError};
use super::options::Options;
use super::queue_manager::hex_id;
use super::tls;

/// Connects to each broker of the transport URL once. `host:port`, and how long it took or why it failed.
pub async fn try_brokers(mut options: Options) -> Result<Vec<(String, Result<Duration, String>)>, SetupError> {
    let url = options.resolve()?;
    let tls = tls::connector(&options.rabbit)?;
    let dialer = Dialer::new(&options, &url, tls, "examining");
    let attempts = url.brokers.iter().map(async |broker| {
        let began = Instant::now();
        let outcome = dialer.dial(broker).await;
        let took = began.elapsed();
        let outcome = match outcome {
            Ok(connection) => {
                say_goodbye(connection).await;
                Ok(took)
            }
            Err(error) => Err(reason_of(&error)),
        };
        (broker.address(), outcome)
    });
    Ok(join_all(attempts).await)
}

async fn say_goodbye(connection: Connection) {
    const PATIENCE: Duration = Duration::from_secs(5);
    let _ = tokio::time::timeout(PATIENCE, connection.close(200, "OK".into())).await;
}

/// How a queue is compared with what this engine would make.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum QueueFit {
    /// Nobody has made it yet.
    Missing,
    Fits,
    /// The broker's words for what is otherwise.
    Differs(String),
}

/// What the user of the transport URL needs to be allowed, in RabbitMQ's terms.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
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

impl Bus {
    /// Compares a queue of a topic with what the options ask for. A queue that is not there is not made.
    pub async fn examine_queue(&self, name: &str) -> Result<QueueFit, PublishError> {
        let live = self.live_to_examine().await?;
        match live.answered(queue_state(&live, name)).await {
            Ok(None) => return Ok(QueueFit::Missing),
            Ok(Some(_)) => {}
            Err(error) => return Ok(QueueFit::Differs(told(error))),
        }
        let queue = self.shared.topology.topic_queue(name);
        match live.answered(try_queue(&live, &queue)).await {
            Ok(()) => Ok(QueueFit::Fits),
            Err(error) => Ok(QueueFit::Differs(told(error))),
        }
    }

    /// What the broker does not allow, tried on a queue that goes again.
    pub async fn examine_permissions(&self) -> Result<Vec<(Permission, String)>, PublishError> {
        let live = self.live_to_examine().await?;
        let name = format!("heat_engine_rs_doctor_{}", hex_id(&self.shared.clock));
        let mut refusals = Vec::new();
        for permission in [Permission::Configure, Permission::Write, Permission::Read] {
            // A refusal closes the channel.
            let trying = async { try_permission(&live.channel().await?, permission, &name).await };
            if let Err(error) = live.answered(trying).await {
                refusals.push((permission, told(error)));
                if permission == Permission::Configure {
                    break;
                }
            }
        }
        let tidying = async {
            let options = QueueDeleteOptions::default();
            live.channel().await?.queue_delete(name.as_str().into(), options).await
        };
        let _ = live.answered(tidying).await;
        Ok(refusals)
    }

    async fn live_to_examine(&self) -> Result<std::sync::Arc<Live>, PublishError> {
        self.shared.consuming.live().await.map_err(|_| PublishError::Closed)
    }
}

async fn try_permission(channel: &Channel, permission: Permission, name: &str) -> Result<(), DeclareError> {
    let queue = short(name)?;
    match permission {
        Permission::Configure => {
            let options = QueueDeclareOptions {
                auto_delete: true,
                ..QueueDeclareOptions::default()
            };
            channel.queue_declare(queue, options, FieldTable::default()).await?;
        }
        Permission::Write => {
            channel.confirm_select(ConfirmSelectOptions::default()).await?;
            let (options, properties) = (BasicPublishOptions::default(), BasicProperties::default());
            let confirmation = channel
                .basic_publish("".into(), queue, options, b"", properties)
                .await?;
            confirmation.await?;
        }
        Permission::Read => {
            channel.basic_get(queue, BasicGetOptions { no_ack: true }).await?;
        }
    }
    Ok(())
}

fn told(error: DeclareError) -> String {
    match error {
        DeclareError::Broker(error) => reason_of(&error),
        DeclareError::NameTooLong => error.to_string(),
    }
}
