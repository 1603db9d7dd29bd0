//! What is counted besides the store's own counters.

use metrics::{counter, describe_counter};

const LOST: &str = "heat_engine_swaps_lost_total";

pub fn describe() {
    describe_counter!(
        LOST,
        "Compare-and-swaps that found another state than they expected, by table"
    );
}

pub(super) fn swap_lost(table: &str) {
    counter!(LOST, "table" => table.to_owned()).increment(1);
}
