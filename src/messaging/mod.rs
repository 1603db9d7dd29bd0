//! The only room that names AMQP: topology, envelope, RPC server and client, notifications, as oslo.messaging has them.

mod bus;
mod fault;
mod handover;
mod notifier;
mod options;
mod request;
mod rpc_client;
mod rpc_server;

pub use bus::{Bus, Health, PublishError, SetupError};
pub use fault::Fault;
pub use notifier::Notifier;
pub use options::{FailoverStrategy, LoginMethod, NotificationDriver, NotificationOptions, Options, RabbitOptions};
pub use request::{Answer, Dispatch, Frame, Request};
pub use rpc_client::{CallError, RpcClient, Target};
pub use rpc_server::{RpcServer, ServerOptions};
