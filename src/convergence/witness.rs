//! What a check tells somebody who looks on: what it found, what it decided and why, what it asked the type to do.
//!
//! An engine's [`Watch`] is empty, and nothing is put together for it. One check that is run by hand (`--once`) fills it.
//! In a rehearsal the type is not asked to act; what it would have made of the object stays unknown.

use std::fmt;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use serde_json::Value;

use crate::resource::failure::Failure;
use crate::resource::properties::Properties;
use crate::stack::node::Node;
use crate::store::SyncPointKey;

/// One thing that a check has found or done.
#[derive(Debug)]
pub enum Step<'a> {
    /// The definition of the resource as it was last brought to, and as the stack's template has it, functions as written.
    Definition {
        before: Option<Value>,
        after: Option<Value>,
    },
    /// With their values, as the type reads them. What is made has no before, what is cleaned up no after.
    Properties {
        before: Option<&'a Properties>,
        after: Option<&'a Properties>,
    },
    Decided {
        what: Decision,
        why: String,
    },
    /// The type was asked to act.
    Asked {
        call: &'static str,
        took: Duration,
        failure: Option<&'a Failure>,
    },
    /// The type would have been asked to act.
    WouldAsk {
        call: &'static str,
    },
    /// The object is not as it should be yet.
    Waits {
        pause: Duration,
    },
    /// The node has arrived where others wait for it.
    Arrived {
        at: &'a SyncPointKey,
        /// Who is still to come; `None`: there is no such sync point any more.
        missing: Option<Vec<&'a Node>>,
        /// False if it had been there before.
        news: bool,
    },
    /// The type has come by a value that is nobody else's.
    Secret(&'a str),
    /// The check did not simply succeed.
    Ended {
        how: Ended,
        reason: String,
    },
}

/// How a check ends that does not simply succeed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Ended {
    /// The resource, and the stack with it.
    Failed,
    /// Somebody else has the resource, or had it in the meantime.
    Contended,
    /// Another row takes the resource's place.
    Replaced,
    Cancelled,
    /// This process was told to end: the check goes back to the queue.
    HandedBack,
    /// Another engine has taken it over.
    PassedOn,
}

impl Ended {
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Failed => "failed",
            Self::Contended => "contended",
            Self::Replaced => "replaced",
            Self::Cancelled => "cancelled",
            Self::HandedBack => "handed back",
            Self::PassedOn => "passed on",
        }
    }
}

/// What is to become of a resource, or of its message.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Decision {
    Create,
    TakeOver,
    Update,
    Replace,
    /// The resource has been replaced already, and its replacement is to be seen to.
    GoOnWithReplacement,
    /// Everything is asked for: only to be waited for.
    GoOnWaiting,
    Unchanged,
    Refuse,
    Delete,
    /// Deleted here, and kept where it is.
    Retain,
    RemoveRow,
    /// Not what this node has to clean up.
    LeaveAlone,
    /// Only told on.
    PassOver,
    Nothing,
    HandOver,
    FailStack,
    BeginTraversal,
}

impl Decision {
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Create => "create",
            Self::TakeOver => "take over",
            Self::Update => "update in place",
            Self::Replace => "replace",
            Self::GoOnWithReplacement => "go on with the replacement",
            Self::GoOnWaiting => "go on waiting",
            Self::Unchanged => "leave unchanged",
            Self::Refuse => "refuse",
            Self::Delete => "delete",
            Self::Retain => "retain",
            Self::RemoveRow => "remove the row",
            Self::LeaveAlone => "leave alone",
            Self::PassOver => "pass over",
            Self::Nothing => "do nothing",
            Self::HandOver => "hand over",
            Self::FailStack => "fail the stack",
            Self::BeginTraversal => "begin a traversal",
        }
    }
}

/// What a rehearsal says in the place of what only the type could tell.
pub(super) const NOT_KNOWN_YET: &str = "(known when it is done)";

/// A cheap handle to whoever looks on; by default nobody does.
#[derive(Clone, Default)]
pub struct Watch(Option<Arc<Watcher>>);

struct Watcher {
    rehearses: bool,
    /// Something was not asked of the type that would have been.
    left_out: AtomicBool,
    tell: Box<dyn Fn(&Step<'_>) + Send + Sync>,
}

impl Watch {
    pub fn new(rehearses: bool, tell: impl Fn(&Step<'_>) + Send + Sync + 'static) -> Self {
        Self(Some(Arc::new(Watcher {
            rehearses,
            left_out: AtomicBool::new(false),
            tell: Box::new(tell),
        })))
    }

    pub(super) fn is_read(&self) -> bool {
        self.0.is_some()
    }

    pub(super) fn tell<'s>(&self, step: impl FnOnce() -> Step<'s>) {
        if let Some(watcher) = &self.0 {
            (watcher.tell)(&step());
        }
    }

    pub(super) fn decide(&self, what: Decision, why: impl FnOnce() -> String) {
        self.tell(|| Step::Decided { what, why: why() });
    }

    pub(super) fn rehearses(&self) -> bool {
        self.0.as_ref().is_some_and(|watcher| watcher.rehearses)
    }

    /// Whether this is a rehearsal, in which the type is not to be asked to act.
    pub(super) fn leaves_out(&self, call: &'static str) -> bool {
        let Some(watcher) = self.0.as_ref().filter(|watcher| watcher.rehearses) else {
            return false;
        };
        watcher.left_out.store(true, Ordering::Relaxed);
        (watcher.tell)(&Step::WouldAsk { call });
        true
    }

    /// Whether the type was left out, so that what it has to tell of the object is not known.
    pub(super) fn has_left_out(&self) -> bool {
        self.0
            .as_ref()
            .is_some_and(|watcher| watcher.left_out.load(Ordering::Relaxed))
    }
}

impl fmt::Debug for Watch {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Watch({})", if self.0.is_some() { "on" } else { "off" })
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Mutex;

    use super::*;

    #[test]
    fn nothing_is_put_together_for_nobody() {
        let watch = Watch::default();
        watch.decide(Decision::Create, || unreachable!("nobody looks on"));
        assert!(!watch.rehearses() && !watch.leaves_out("make") && !watch.has_left_out());
    }

    #[test]
    fn a_rehearsal_leaves_the_type_out() {
        let told = Arc::new(Mutex::new(Vec::new()));
        let keep = told.clone();
        let watch = Watch::new(true, move |step| keep.lock().unwrap().push(format!("{step:?}")));
        assert!(!watch.has_left_out());
        assert!(watch.leaves_out("make") && watch.has_left_out());
        assert_eq!(*told.lock().unwrap(), [r#"WouldAsk { call: "make" }"#]);
    }
}
