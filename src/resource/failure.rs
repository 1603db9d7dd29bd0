//! How an operation on a resource fails, in the two languages that need to know: the framework, which must decide
//! what to do next, and the user, who reads `ValueError: resources.db: …` in the resource's status reason.

use std::fmt;

use crate::cloud::CloudError;
use crate::exception::RemoteException;

/// What is to be done about a [`Failure`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Remedy {
    /// Nothing: the user must act.
    Terminal,
    /// The object is half made, in error, or busy: undo and try again within `[DEFAULT] action_retry_limit`.
    RetryAction,
    /// The object that was asked for is not there.
    Missing,
}

/// An operation that did not succeed.
#[derive(Clone, Debug)]
pub struct Failure {
    /// The exception's class as the Python engine would name it: it is the first word of the status reason.
    pub class: &'static str,
    pub message: String,
    pub remedy: Remedy,
    /// Below the resource, for what fails inside it (`properties`, `groups`, `0`).
    pub path: Vec<String>,
}

impl Failure {
    pub fn terminal(class: &'static str, message: impl Into<String>) -> Self {
        Self {
            class,
            message: message.into(),
            remedy: Remedy::Terminal,
            path: Vec::new(),
        }
    }

    pub fn retry_action(class: &'static str, message: impl Into<String>) -> Self {
        Self {
            remedy: Remedy::RetryAction,
            ..Self::terminal(class, message)
        }
    }

    pub fn missing(class: &'static str, message: impl Into<String>) -> Self {
        Self {
            remedy: Remedy::Missing,
            ..Self::terminal(class, message)
        }
    }

    /// The text of a resource's status reason: class, place and message.
    pub fn reason(&self, resource_name: &str) -> String {
        let mut path = vec!["resources", resource_name];
        path.extend(self.path.iter().map(String::as_str));
        format!("{}{}{}", prefix(self.class), prefix(&dotted(&path)), self.message)
    }
}

fn prefix(text: &str) -> String {
    if text.is_empty() {
        String::new()
    } else {
        format!("{text}: ")
    }
}

/// `resources.a.properties.list[0]`: numbers are indices, everything else a name.
pub fn dotted<S: AsRef<str>>(path: &[S]) -> String {
    let mut text = String::new();
    for part in path.iter().map(AsRef::as_ref) {
        if !part.is_empty() && part.bytes().all(|byte| byte.is_ascii_digit()) {
            text.push('[');
            text.push_str(part);
            text.push(']');
        } else {
            if !text.is_empty() {
                text.push('.');
            }
            text.push_str(part);
        }
    }
    text
}

impl fmt::Display for Failure {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.message)
    }
}

impl std::error::Error for Failure {}

impl From<CloudError> for Failure {
    fn from(error: CloudError) -> Self {
        let remedy = if error.is_not_found() {
            Remedy::Missing
        } else if error.is_conflict() {
            // Something may still be holding on to it, or letting go.
            Remedy::RetryAction
        } else {
            Remedy::Terminal
        };
        Self {
            remedy,
            ..Self::terminal(error.class_name(), error.to_string())
        }
    }
}

impl RemoteException for Failure {
    fn class_name(&self) -> &'static str {
        self.class
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_reason_names_class_and_place() {
        let failure = Failure::terminal("ValueError", "Test Resource failed db");
        assert_eq!(
            failure.reason("db"),
            "ValueError: resources.db: Test Resource failed db"
        );
    }

    #[test]
    fn numbers_in_a_path_are_indices() {
        assert_eq!(
            dotted(&["resources", "a", "properties", "l", "0", "x"]),
            "resources.a.properties.l[0].x"
        );
    }
}
