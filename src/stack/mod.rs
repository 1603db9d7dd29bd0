//! The stack as a whole: definition, state, dependencies, outputs, update, notifications, events.

pub mod availability;
pub mod creation;
pub mod credentials;
pub mod definition;
pub mod dependencies;
pub mod error;
pub mod identifier;
pub mod known;
pub mod live;
mod loaded;
pub mod measure;
pub mod node;
pub mod outputs;
pub mod preview;
pub mod renewal;
pub mod services;
pub mod state;
pub mod stored;
pub mod templates;
pub mod validate;
mod zones;

pub use identifier::identity_of;
pub use loaded::{Stack, action_of, time_left};
