//! The only room that names AMQP: what oslo.messaging is to a Python engine.
//!
//! A [`Bus`] keeps the connections up; requests come in through an [`RpcServer`] and go out through an [`RpcClient`];
//! a [`Notifier`] tells other services what happened. Everything that can be seen on the broker (exchanges, queues,
//! frames) equals what a Python engine under the same options makes, for both kinds share it.

mod bus;
mod capture;
mod compression;
mod connection;
mod declare;
mod dial;
mod envelope;
mod error;
mod examine;
mod fault;
mod handover;
pub mod measure;
mod notifier;
mod options;
mod permissions;
mod publisher;
mod pulse;
mod queue_manager;
mod replies;
mod reply_queue;
mod request;
mod rpc_client;
mod rpc_server;
mod settlement;
mod tls;
mod topology;
mod transport_url;
mod version;

pub use bus::{Bus, Health, HealthWatch};
pub use capture::{CaptureError, CapturedRequest};
pub use declare::QueueState;
pub use error::{PublishError, SetupError};
pub use examine::{BrokerLogin, ExpectedQueue, Fit, try_brokers};
pub use fault::{Exception, Fault};
pub use notifier::{Notifier, unsupported_drivers};
pub use options::Options;
pub use permissions::{Permission, Refusal, Tried};
pub use pulse::Pulse;
pub use request::{Answer, Dispatch, Frame, Receipt, ReplyAddress, Request};
pub use rpc_client::{CallError, RpcClient, Target};
pub use rpc_server::{RpcServer, ServerOptions};
pub use topology::{ExchangeDeclaration, ExchangeKind};
pub use version::Unserved;
