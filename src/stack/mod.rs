//! The stack as a whole: definition, state, dependencies, outputs, update, notifications, events.

pub mod dependencies;
pub mod identifier;
pub mod node;
