//! The engine at its real work: stacks, brought about by the daemon on a vhost and a database of its own.

pub mod courier;
mod deaths;
mod deliveries;
mod interrupted;
pub mod linked;
mod mixed;
pub mod remains;
pub mod site;
mod stopping;
pub mod templates;
mod together;
