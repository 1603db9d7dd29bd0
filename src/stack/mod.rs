//! The stack as a whole: definition, state, dependencies, outputs, update, notifications, events.

pub mod identifier;
