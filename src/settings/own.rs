//! `[heat_engine_rs]`: what the Python engine has no option for. A Python engine ignores the group, so that one
//! heat.conf serves both.

use std::time::Duration;

use secrecy::SecretString;
use serde::Deserialize;

use super::option::*;
use super::typed;

pub const GROUP: &str = "heat_engine_rs";

pub const OPTIONS: &[OptionSpec] = &[
    integer("max_concurrent_checks", "128").min(1),
    integer("max_checks_in_flight", "4096").min(1),
    integer("max_queued_checks", "32").min(0),
    choice("fair_shares", "project", &["project", "stack", "none"]),
    integer("worker_threads", "0").min(0).max(1024),
    boolean("log_json", false),
    integer("max_message_bytes", "104857600").min(1024),
    boolean("hand_over_to_python", true),
    listen_address("metrics_address"),
    listen_address("health_address"),
    http_url("broker_management_url").secret(),
    integer("recovery_interval", "30").min(0),
    integer("recovery_patience", "60").min(1),
];

/// Between whom an engine divides its work evenly.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum FairShares {
    /// Between projects, and within a project between stacks.
    Project,
    Stack,
    /// First come, first served.
    None,
}

/// `[heat_engine_rs]`.
#[derive(Clone, Debug, Deserialize)]
pub struct OwnSettings {
    /// Checks that are worked on at a time; those that wait for something do not count.
    pub max_concurrent_checks: u32,
    /// Checks that are worked on or wait.
    pub max_checks_in_flight: u32,
    /// Checks of one stack that may wait in the queue, for each engine that takes from it; 0 is no limit.
    pub max_queued_checks: u32,
    pub fair_shares: FairShares,
    /// Threads of the runtime; 0: one for each CPU.
    pub worker_threads: usize,
    /// JSON lines instead of text, while `use_json` is left to the Python engines.
    pub log_json: bool,
    /// A larger message is logged and dropped.
    pub max_message_bytes: usize,
    /// Hand what is not served natively to a live Python engine.
    pub hand_over_to_python: bool,
    /// `host:port` at which metrics and health are told; empty: nowhere.
    pub metrics_address: String,
    /// `host:port` at which health alone is told; empty: nowhere.
    pub health_address: String,
    /// RabbitMQ's management API, for the doctor alone; with user and password, if they are not those of `transport_url`.
    #[serde(deserialize_with = "typed::optional_secret")]
    pub broker_management_url: Option<SecretString>,
    /// How often the tables are looked through for work that nobody does any more; zero: never.
    #[serde(deserialize_with = "typed::seconds")]
    pub recovery_interval: Duration,
    /// How long a message may be under way before it is taken for lost.
    #[serde(deserialize_with = "typed::seconds")]
    pub recovery_patience: Duration,
}

impl OwnSettings {
    /// Checks that have not come to hold their locks, at most: no more messages are taken than can be begun with, since until
    /// then a check's message is unacknowledged.
    pub fn checks_begun_at_a_time(&self) -> u32 {
        self.max_concurrent_checks.min(self.max_checks_in_flight)
    }
}
