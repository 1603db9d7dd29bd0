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

/// How a check comes to its resource.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Beginning {
    /// Nobody has the lock, and everything is to be done.
    Afresh,
    /// Another engine has begun the action and asked for the object, and the lock is ours by now: what is left is to wait.
    Inherited,
}

/// What a check has from the moment on at which it begins.
pub(super) struct Begun<'a> {
    pub beginning: Beginning,
    pub receipt: &'a dyn Receipt,
    pub running: RunningCheck,
    pub turn: Turn,
}

/// What a check works with.
pub(super) struct Work<'a> {
    pub engine: &'a Convergence,
    pub context: &'a RequestContext,
    pub request: &'a CheckRequest,
    pub stack: &'a Stack,
    pub beginning: Beginning,
    pub receipt: &'a dyn Receipt,
    pub running: &'a RunningCheck,
    /// When the stack's time is over.
    pub deadline: Instant,
    /// Laid down while the check only waits.
    pub turn: &'a Turn,
}

impl Work<'_> {
    pub fn is_inherited(&self) -> bool {
        self.beginning == Beginning::Inherited
    }

    pub fn decide(&self, what: Decision, why: impl FnOnce() -> String) {
        self.engine.watch.decide(what, why);
    }
}
