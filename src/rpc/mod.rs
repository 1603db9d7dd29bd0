//! The engine contract that heat-api calls: a file a family, one dispatch table.

pub mod arguments;
pub mod error;
mod exception_formats;
pub mod filters;
pub mod handover;
pub mod listener;
pub mod peers;
pub mod stack_arguments;
pub mod time;
