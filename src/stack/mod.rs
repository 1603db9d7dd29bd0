//! The stack as a whole: definition, state, dependencies, outputs, update, notifications, events.

pub mod credentials;
pub mod definition;
pub mod dependencies;
pub mod error;
pub mod identifier;
pub mod known;
mod loaded;
pub mod node;
pub mod services;
pub mod state;
pub mod templates;

pub use loaded::{Stack, identity_of};
