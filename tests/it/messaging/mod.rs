//! The wire against RabbitMQ and the real oslo.messaging.

mod encryption;
mod methods;
mod peer;
mod rpc;
mod topology;
mod trouble;
