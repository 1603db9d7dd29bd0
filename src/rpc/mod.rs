//! The engine contract that heat-api calls: a file a family, one dispatch table.
//!
//! `contract` answers topic `engine`, `worker` topic `engine_worker` and `listener` what engines ask of each other. What
//! this engine cannot do goes through `handover` to one that can.

pub mod arguments;
pub mod call;
pub mod contract;
pub mod error;
mod events;
mod exception_formats;
mod filters;
mod find;
mod format_resource;
mod format_stack;
pub mod handover;
pub mod language;
pub mod listener;
mod listing;
pub mod measure;
mod outputs;
mod preview;
mod resource_types;
mod resources;
mod served;
pub mod servers;
mod services;
mod stack_arguments;
mod stack_request;
mod stacks_read;
mod stacks_write;
mod templates;
mod time;
pub mod worker;
