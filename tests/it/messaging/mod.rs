//! The wire against RabbitMQ and the real oslo.messaging.

pub mod broker;
mod encryption;
mod methods;
mod outages;
mod peer;
mod rpc;
pub mod topology;
mod trouble;
