//! What patterns of one origin may cost together.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

/// A second or two, of which a template that means well takes next to nothing.
const BACKTRACKS: u64 = 50_000_000;
/// In states of compiled programs, of which a tenth of a microsecond is spent on each.
const STATES: u64 = 3_000_000;

/// What is left for the patterns of one template, or of one request. Clones share it. How much a pattern takes depends on
/// the texts alone, so that the same template is refused, or not, on every machine.
#[derive(Debug, Clone)]
pub struct Patience(Arc<Left>);

#[derive(Debug)]
struct Left {
    first: AtomicU64,
    further: AtomicU64,
    states: AtomicU64,
}

impl Default for Patience {
    fn default() -> Self {
        Self(Arc::new(Left {
            first: AtomicU64::new(BACKTRACKS),
            further: AtomicU64::new(BACKTRACKS),
            states: AtomicU64::new(STATES),
        }))
    }
}

impl Patience {
    /// Pays for an attempt to match, if there is as much left. What takes long uses up what there is for its like, and not
    /// what there is for the first, short attempts of others.
    pub(super) fn try_for(&self, backtracks: u64, is_first: bool) -> bool {
        let left = if is_first { &self.0.first } else { &self.0.further };
        take(left, backtracks)
    }

    /// Pays for a program, if there is as much left.
    pub(super) fn compile(&self, states: u64) -> bool {
        take(&self.0.states, states)
    }
}

fn take(left: &AtomicU64, wanted: u64) -> bool {
    left.fetch_update(Ordering::Relaxed, Ordering::Relaxed, |left| left.checked_sub(wanted))
        .is_ok()
}
