//! Integration tests against the real parts of the lab (`tests/lab/up`): one binary, a module a capability.

mod cloud;
mod convergence;
mod daemon;
mod lab;
mod messaging;
mod resources;
mod rpc;
mod schema;
mod settings;
mod store;
