//! What became of a write that expected a state.

/// The outcome of a compare-and-swap, never a bare count.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[must_use]
pub enum Swap {
    /// The row was in the expected state and holds the new one now.
    Updated,
    /// Somebody else has changed the row: what we know of it is old.
    Lost,
    /// There is no such row any more.
    Gone,
}

impl Swap {
    pub fn is_updated(self) -> bool {
        self == Swap::Updated
    }
}
