//! Integration tests against the real parts of the lab (`tests/lab/up`): one binary, a module a capability.

mod by_hand;
mod cloud;
mod convergence;
mod daemon;
mod doctor;
mod extent;
mod fairness;
mod fault_proxy;
mod faults;
mod keystone_types;
#[allow(dead_code, reason = "the rooms' tests come one by one; each uses a part of it")]
mod lab;
mod language_fuzz;
mod language;
mod link;
mod messaging;
mod metrics;
mod nova;
mod offline;
mod outages;
mod process_group;
mod properties;
mod recovery;
mod resources;
mod rpc;
mod schema;
mod settings;
mod store;
mod template;
mod tools;
mod yaql;
mod zones;
