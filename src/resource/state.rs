//! What a resource or a stack is doing, and how it went: the two words of every state.

use std::fmt;
use std::str::FromStr;

/// What is being done, or was done last.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Action {
    /// Nothing yet: the row exists, the object does not.
    Init,
    Create,
    Delete,
    Update,
    Rollback,
    Suspend,
    Resume,
    Adopt,
    Snapshot,
    Check,
    Restore,
}

/// How it went.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Status {
    InProgress,
    Failed,
    Complete,
}

const ACTIONS: [(Action, &str); 11] = [
    (Action::Init, "INIT"),
    (Action::Create, "CREATE"),
    (Action::Delete, "DELETE"),
    (Action::Update, "UPDATE"),
    (Action::Rollback, "ROLLBACK"),
    (Action::Suspend, "SUSPEND"),
    (Action::Resume, "RESUME"),
    (Action::Adopt, "ADOPT"),
    (Action::Snapshot, "SNAPSHOT"),
    (Action::Check, "CHECK"),
    (Action::Restore, "RESTORE"),
];

const STATUSES: [(Status, &str); 3] = [
    (Status::InProgress, "IN_PROGRESS"),
    (Status::Failed, "FAILED"),
    (Status::Complete, "COMPLETE"),
];

/// A word in a state column that is neither an action nor a status.
#[derive(Debug, thiserror::Error)]
#[error("{0:?} is no action or status")]
pub struct UnknownState(String);

impl Action {
    pub fn as_str(self) -> &'static str {
        ACTIONS[self as usize].1
    }
}

impl Status {
    pub fn as_str(self) -> &'static str {
        STATUSES[self as usize].1
    }
}

impl fmt::Display for Action {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}

impl fmt::Display for Status {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}

impl FromStr for Action {
    type Err = UnknownState;

    fn from_str(word: &str) -> Result<Self, UnknownState> {
        ACTIONS
            .iter()
            .find(|(_, name)| *name == word)
            .map(|(action, _)| *action)
            .ok_or_else(|| UnknownState(word.to_owned()))
    }
}

impl FromStr for Status {
    type Err = UnknownState;

    fn from_str(word: &str) -> Result<Self, UnknownState> {
        STATUSES
            .iter()
            .find(|(_, name)| *name == word)
            .map(|(status, _)| *status)
            .ok_or_else(|| UnknownState(word.to_owned()))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_word_reads_back_as_what_wrote_it() {
        for (action, word) in ACTIONS {
            assert_eq!(action.as_str(), word);
            assert_eq!(word.parse::<Action>().unwrap(), action);
        }
        for (status, word) in STATUSES {
            assert_eq!(status.as_str(), word);
            assert_eq!(word.parse::<Status>().unwrap(), status);
        }
        assert!("DONE".parse::<Status>().is_err());
    }
}
