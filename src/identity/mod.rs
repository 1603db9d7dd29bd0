//! Who asks, and what is kept so that the engine can act for them later.
//!
//! Everything here is decided without asking another service: [`context`] is the caller as the bus describes them,
//! [`credentials`] what a stack keeps of them,
//! [`crypt`] how that is kept, [`policy`] what they may use.

pub mod context;
pub mod credentials;
pub mod crypt;
pub mod policy;

pub use context::RequestContext;
