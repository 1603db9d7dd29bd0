//! The wire against RabbitMQ and the real oslo.messaging.

pub mod broker;
mod encryption;
mod methods;
mod outages;
mod peer;
mod rpc;
mod topology;
mod trouble;
