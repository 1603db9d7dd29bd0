//! One check under way, as all that takes part in it sees it.

use async_trait::async_trait;
use tokio::time::Instant;

use super::engine::Convergence;
use super::request::CheckRequest;
use super::running::RunningCheck;
use super::turns::Turn;
use super::witness::Decision;
use crate::identity::RequestContext;
use crate::stack::Stack;

/// Told when the work is safely recorded, so that its message need not come again.
#[async_trait]
pub trait Receipt: Send + Sync {
    async fn acknowledge(&self);
}

/// Of work that no queue will bring again.
pub struct NoReceipt;

#[async_trait]
impl Receipt for NoReceipt {
    async fn acknowledge(&self) {}
}

/// What a check works with.
pub(super) struct Work<'a> {
    pub engine: &'a Convergence,
    pub context: &'a RequestContext,
    pub request: &'a CheckRequest,
    pub stack: &'a Stack,
    pub receipt: &'a dyn Receipt,
    pub running: &'a RunningCheck,
    /// When the stack's time is over.
    pub deadline: Instant,
    /// Laid down while the check only waits.
    pub turn: &'a Turn,
}

impl Work<'_> {
    pub fn decide(&self, what: Decision, why: impl FnOnce() -> String) {
        self.engine.watch.decide(what, why);
    }
}
