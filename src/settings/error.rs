//! Why a configuration cannot be used: one line that an operator can act on.

use std::fmt;
use std::path::{Path, PathBuf};

use thiserror::Error;

#[derive(Debug, Error)]
pub enum SettingsError {
    #[error("cannot read {}", path.display())]
    Unreadable { path: PathBuf, source: std::io::Error },

    #[error("configuration directory {} does not exist", path.display())]
    NoSuchDirectory { path: PathBuf },

    #[error("{}:{line}: {problem}", path.display())]
    Syntax {
        path: PathBuf,
        line: usize,
        problem: SyntaxProblem,
    },

    #[error("{origin}: [{group}] {option}: {problem}")]
    BadValue {
        origin: Origin,
        group: String,
        option: String,
        problem: String,
    },
}

impl SettingsError {
    /// Group and option, where the error is about one.
    pub fn about(&self) -> Option<(&str, &str)> {
        match self {
            SettingsError::BadValue { group, option, .. } => Some((group, option)),
            _ => None,
        }
    }
}

/// What is wrong with a line of a file.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Error)]
pub enum SyntaxProblem {
    #[error("no ':' or '=' in an assignment")]
    NoAssignment,
    #[error("the name of the option is missing before ':' or '='")]
    EmptyKey,
    #[error("a line that starts with white space continues an option, but there is none above it")]
    UnexpectedContinuation,
    #[error("a group must end with ']' (nothing may follow on the line)")]
    UnclosedSection,
    #[error("the name of the group is empty")]
    EmptySection,
    #[error("an option before the first [group]")]
    NoSection,
    #[error("not UTF-8")]
    NotUtf8,
}

/// Where a value comes from.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Origin {
    Default,
    File { path: PathBuf, line: usize },
    Environment { variable: String },
    CommandLine { option: String },
}

impl Origin {
    pub fn file(path: &Path, line: usize) -> Self {
        Origin::File {
            path: path.to_owned(),
            line,
        }
    }
}

impl fmt::Display for Origin {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Origin::Default => f.write_str("default"),
            Origin::File { path, line } => write!(f, "{}:{line}", path.display()),
            Origin::Environment { variable } => write!(f, "environment variable {variable}"),
            Origin::CommandLine { option } => write!(f, "command line {option}"),
        }
    }
}
