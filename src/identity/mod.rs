//! Who asks, and what is kept so that the engine can act for them later.
//!
//! Everything here is decided without asking another service: [`context`] is the caller as the bus describes them,
//! [`credentials`] what a stack keeps of them,
//! [`crypt`] how that is kept, [`policy`] what they may use. [`token_descriptions`] keeps what many requests say once.

pub mod context;
pub mod credentials;
pub mod crypt;
pub mod policy;
pub mod token_descriptions;

pub use context::RequestContext;
