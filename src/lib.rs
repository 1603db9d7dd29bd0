//! heat-engine-rs: OpenStack Heat's `heat-engine`, speaking the same RPC topics and working on the same tables.
//!
//! The rooms of the house and the invariants that hold it up are described in `docs/architecture.md`. Lower rooms
//! know nothing of upper ones; the list below runs from the top to the ground.

pub mod cli;
pub mod doctor;
pub mod daemon;
pub mod rpc;
pub mod convergence;
pub mod stack;
pub mod plugins;
pub mod resource;
pub mod cloud;
pub mod identity;
pub mod template;
pub mod yaql;
pub mod store;
pub mod messaging;
pub mod settings;
pub mod python;
pub mod journal;
pub mod clock;
pub mod exception;
pub mod near;
