//! Traversals, the worker that checks one resource, sync points, locks, cancelling.

pub mod graph;
pub mod running;
pub mod turns;
