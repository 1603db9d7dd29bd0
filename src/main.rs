//! heat-engine-rs: the command line.
fn main() {}
