//! The engine at its real work: stacks, brought about by the daemon on a vhost and a database of its own.

mod courier;
mod deaths;
mod deliveries;
mod interrupted;
mod mixed;
mod site;
mod stopping;
mod templates;
mod together;
