//! What is counted of the requests of the contract.

use std::time::Duration;

use metrics::{counter, describe_counter, describe_histogram, histogram};

const REQUESTS: &str = "heat_engine_requests_total";
const SECONDS: &str = "heat_engine_request_seconds";

pub fn describe() {
    describe_counter!(
        REQUESTS,
        "Requests of heat-api, by method and outcome (answered, refused, failed, handed_over)"
    );
    describe_histogram!(SECONDS, "How long requests of heat-api took, by method");
}

/// How a request of the contract ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Outcome {
    Answered,
    /// The caller's mistake.
    Refused,
    /// Ours, or that of what we need.
    Failed,
    HandedOver,
}

pub(super) fn requested(method: &str, outcome: Outcome, took: Duration) {
    let outcome = match outcome {
        Outcome::Answered => "answered",
        Outcome::Refused => "refused",
        Outcome::Failed => "failed",
        Outcome::HandedOver => "handed_over",
    };
    counter!(REQUESTS, "method" => method.to_owned(), "outcome" => outcome).increment(1);
    histogram!(SECONDS, "method" => method.to_owned()).record(took.as_secs_f64());
}
