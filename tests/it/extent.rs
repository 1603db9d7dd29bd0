//! How much of all that could be tried a run tries: by itself as much as takes seconds, with `EVERY_STEP=1` everything
//! (docs/reliability.md tells what that came to).

fn is_everything() -> bool {
    std::env::var_os("EVERY_STEP").is_some()
}

/// The numbers of the steps that are tried: in strides from `first` on, so that not all who stride try the same; or all.
pub fn steps(first: usize, stride: usize) -> impl Iterator<Item = usize> {
    let (first, stride) = if is_everything() { (0, 1) } else { (first, stride) };
    (first..).step_by(stride)
}

/// How often something is tried that depends on the moment.
pub fn times(few: usize, all: usize) -> usize {
    if is_everything() { all } else { few }
}
