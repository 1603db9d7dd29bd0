//! What is counted of checks and of the ends of stacks' actions.

use std::time::Duration;

use metrics::{counter, describe_counter, describe_histogram, histogram};

use super::error::CheckEnd;
use crate::plugins::TYPES;
use crate::stack::node::Node;

const CHECKS: &str = "heat_engine_checks_total";
const ERROR: &str = "error";
const SECONDS: &str = "heat_engine_check_seconds";

pub fn describe() {
    describe_counter!(
        CHECKS,
        "Checks of resources that this engine worked on, by type, node (update or cleanup) and outcome"
    );
    // An alert on an increase does not see a series that is born with it.
    for resource_type in TYPES {
        for kind in ["update", "cleanup"] {
            counter!(CHECKS, "type" => resource_type.name, "node" => kind, "outcome" => ERROR).increment(0);
        }
    }
    describe_histogram!(SECONDS, "How long a check took, its waiting included, by type");
}

/// A check is over; without `end` the resource is as the traversal wants it.
pub(super) fn checked(type_name: &'static str, node: &Node, end: Option<&CheckEnd>, took: Duration) {
    let kind = if node.is_update { "update" } else { "cleanup" };
    counter!(CHECKS, "type" => type_name, "node" => kind, "outcome" => outcome(end)).increment(1);
    histogram!(SECONDS, "type" => type_name).record(took.as_secs_f64());
}

fn outcome(end: Option<&CheckEnd>) -> &'static str {
    match end {
        None => "done",
        Some(CheckEnd::Contended) => "contended",
        Some(CheckEnd::Replace | CheckEnd::Replaced(_)) => "replaced",
        Some(CheckEnd::Failed { .. }) => "failed",
        Some(CheckEnd::TimedOut) => "timed_out",
        Some(CheckEnd::Cancelled) => "cancelled",
        Some(CheckEnd::HandedBack) => "handed_back",
        Some(CheckEnd::PassedOn) => "passed_on",
        Some(CheckEnd::Stack(_)) => ERROR,
    }
}
