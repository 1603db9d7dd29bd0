//! How much of all that could be tried a run tries: by itself as much as takes seconds, with `EVERY_STEP=1` everything
//! (docs/reliability.md tells what that came to).

fn is_everything() -> bool {
    std::env::var_os("EVERY_STEP").is_some()
}

/// How far apart the steps are that are tried.
pub fn every(steps: usize) -> usize {
    if is_everything() { 1 } else { steps }
}

/// How often something is tried that depends on the moment.
pub fn times(few: usize, all: usize) -> usize {
    if is_everything() { all } else { few }
}
