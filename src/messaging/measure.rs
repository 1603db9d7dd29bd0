//! What is counted of the traffic with the broker.

use std::time::Duration;

use metrics::{counter, describe_counter, describe_histogram, histogram};

use super::error::PublishError;

const PUBLISHED: &str = "heat_engine_frames_published_total";
const UNREADABLE: &str = "heat_engine_frames_unreadable_total";
const CONNECTIONS: &str = "heat_engine_broker_connections_total";
const WAIT: &str = "heat_engine_delivery_wait_seconds";

pub fn describe() {
    describe_counter!(
        PUBLISHED,
        "Frames sent, by outcome (confirmed, undeliverable: no queue takes it, failed)"
    );
    describe_counter!(UNREADABLE, "Frames that were dropped because they hold no request");
    // An alert on an increase does not see a series that is born with it.
    counter!(UNREADABLE).increment(0);
    describe_counter!(
        CONNECTIONS,
        "Connections made to a broker, by purpose; more than one each is a reconnection"
    );
    describe_histogram!(
        WAIT,
        "How long requests waited in this engine for a place to be worked on, by topic"
    );
}

pub(super) fn published(outcome: &Result<(), PublishError>) {
    let outcome = match outcome {
        Ok(()) => "confirmed",
        Err(PublishError::Undeliverable { .. }) => "undeliverable",
        Err(_) => "failed",
    };
    counter!(PUBLISHED, "outcome" => outcome).increment(1);
}

pub(super) fn unreadable() {
    counter!(UNREADABLE).increment(1);
}

pub(super) fn connected(purpose: &'static str) {
    counter!(CONNECTIONS, "purpose" => purpose).increment(1);
}

pub(super) fn waited(topic: &str, time: Duration) {
    histogram!(WAIT, "topic" => topic.to_owned()).record(time.as_secs_f64());
}
