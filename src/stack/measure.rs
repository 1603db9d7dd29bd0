//! What is counted of stacks.

use metrics::{counter, describe_counter};

use crate::resource::state::{Action, Status};

const STATES: &str = "heat_engine_stack_states_total";

pub fn describe() {
    describe_counter!(STATES, "States that this engine gave to stacks, by action and status");
}

pub(super) fn state_set(action: Action, status: Status) {
    counter!(STATES, "action" => action.as_str(), "status" => status.as_str()).increment(1);
}
