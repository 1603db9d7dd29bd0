//! How the check of a node ends when it does not simply succeed.

use super::witness::Ended;
use crate::resource::state::Action;
use crate::stack::error::StackError;
use crate::store::StoreError;
use crate::template::TemplateError;

/// Why the resource of a node did not come to the state that the traversal wants, by what follows from it.
#[derive(Debug, thiserror::Error)]
pub enum CheckEnd {
    /// Another engine, or another traversal, holds the resource or has changed it since we read it.
    #[error("the resource is already being updated")]
    Contended,
    /// The object has to be replaced by a new one.
    #[error("the resource requires replacement")]
    Replace,
    /// The object has been replaced, in this traversal, by the one of that row.
    #[error("the resource has been replaced")]
    Replaced(i64),
    /// The action failed and is recorded; `reason` names class, place and message.
    #[error("Resource {action} failed: {reason}")]
    Failed { action: Action, reason: String },
    /// The time of the stack's action is over.
    #[error("Timed out")]
    TimedOut,
    /// The stack was cancelled; it is marked already.
    #[error("the user cancelled")]
    Cancelled,
    /// This engine ends and gives the work back: the action is recorded as failed, for another engine to go on from.
    #[error("the engine stops")]
    HandedBack,
    /// This engine ends, and another one waits for the object from here on; it has the lock.
    #[error("another engine goes on")]
    PassedOn,
    #[error(transparent)]
    Stack(#[from] StackError),
}

impl CheckEnd {
    /// The kind of end, for whoever looks on.
    pub fn kind(&self) -> Ended {
        match self {
            Self::Failed { .. } | Self::TimedOut | Self::Stack(_) => Ended::Failed,
            Self::Contended => Ended::Contended,
            Self::Replace | Self::Replaced(_) => Ended::Replaced,
            Self::Cancelled => Ended::Cancelled,
            Self::HandedBack => Ended::HandedBack,
            Self::PassedOn => Ended::PassedOn,
        }
    }
}

impl From<StoreError> for CheckEnd {
    fn from(error: StoreError) -> Self {
        Self::Stack(error.into())
    }
}

impl From<TemplateError> for CheckEnd {
    fn from(error: TemplateError) -> Self {
        Self::Stack(error.into())
    }
}
