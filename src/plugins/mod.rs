//! Resource types: a folder a service, a file a type; one static table lists them all.

pub mod questions;
