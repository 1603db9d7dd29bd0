//! Traversals, the worker that checks one resource, sync points, locks, cancelling.
//!
//! Engines agree on nothing but rows: a traversal is a column of the stack, a lock is a column of the resource, and a
//! node is ready when its sync point says so. Everything here is written so that it can be done twice and can break off
//! anywhere.

pub mod cancel;
pub mod check;
pub mod complete;
pub mod engine;
mod error;
mod gatherings;
pub mod graph;
mod held;
mod lock;
pub mod measure;
mod meeting;
mod node_data;
pub mod operation;
mod pace;
mod passing_on;
pub mod peers;
mod picture;
mod propagate;
mod record;
pub mod recover;
pub mod request;
pub mod running;
mod state_write;
mod subject;
pub mod survey;
mod sync_point;
mod tracked;
pub mod traversal;
mod turns;
mod unserved;
pub mod witness;
pub mod work;
pub mod worker_client;
