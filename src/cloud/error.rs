//! What can go wrong between the engine and another service, in the words that Python's clients use.
//!
//! These texts end in status reasons and remote exceptions, where users and their scripts match on them; class names do
//! too, since a failed resource's reason starts with one.

use std::time::Duration;

use serde_json::{Map, Value};

use super::wording::Wording;
use crate::exception::RemoteException;

/// What the caller should make of a failure.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Advice {
    /// The same request may succeed later.
    Retry,
    /// What was asked for does not exist.
    NotFound,
    /// Something is in the way: a name in use, an object still needed.
    Conflict,
    Unauthorized,
    Forbidden,
    /// A quota or size limit.
    OverLimit,
    /// It will not get better without the user.
    Fail,
}

/// An answer with a status of 400 or above, in the words of Python's client for that service.
#[derive(Clone, Debug, thiserror::Error, PartialEq, Eq)]
#[error("{message} (HTTP {status}){}", request_id_text(.request_id))]
pub struct HttpError {
    pub status: u16,
    pub message: String,
    pub request_id: Option<String>,
    pub retry_after: Option<Duration>,
    pub wording: Wording,
}

fn request_id_text(request_id: &Option<String>) -> String {
    match request_id.as_deref() {
        None | Some("") => String::new(),
        Some(id) => format!(" (Request-ID: {id})"),
    }
}

#[derive(Debug, thiserror::Error)]
pub enum CloudError {
    #[error(transparent)]
    Http(#[from] HttpError),
    #[error("Unable to establish connection to {url}: {reason}")]
    Connect {
        url: String,
        reason: String,
        source: reqwest::Error,
    },
    #[error("Request to {url} timed out")]
    Timeout { url: String },
    #[error("SSL exception connecting to {url}: {reason}")]
    Tls {
        url: String,
        reason: String,
        source: reqwest::Error,
    },
    #[error("Invalid response from server.")]
    InvalidResponse { url: String, reason: String },
    #[error("The service catalog is empty.")]
    EmptyCatalog,
    #[error("{0}")]
    EndpointNotFound(String),
    #[error("Authorization failed.{}", reason_text(.reason))]
    AuthorizationFailure { reason: String },
    #[error("Missing required credential: {required}")]
    MissingCredential { required: String },
    #[error("The {entity} ({name}) could not be found.")]
    EntityNotFound { entity: &'static str, name: String },
    #[error("Keystone has more than one service with same name {service}. Please use service id instead of name")]
    ServiceNameConflict { service: String },
    #[error("ClientException")]
    NoUniqueMatch,
    /// Heat's plain `Error`.
    #[error("{0}")]
    Misconfigured(String),
    #[error("{0}")]
    WrongPlace(String),
}

fn reason_text(reason: &str) -> String {
    if reason.is_empty() {
        String::new()
    } else {
        format!(" {reason}")
    }
}

impl CloudError {
    pub fn authorization_failure() -> Self {
        Self::AuthorizationFailure { reason: String::new() }
    }

    pub fn advice(&self) -> Advice {
        match self {
            Self::Http(error) => match error.status {
                401 => Advice::Unauthorized,
                403 => Advice::Forbidden,
                404 => Advice::NotFound,
                409 => Advice::Conflict,
                413 => Advice::OverLimit,
                408 | 429 | 500 | 502..=504 => Advice::Retry,
                _ => Advice::Fail,
            },
            Self::Connect { .. } | Self::Timeout { .. } | Self::InvalidResponse { .. } => Advice::Retry,
            Self::AuthorizationFailure { .. } | Self::MissingCredential { .. } => Advice::Unauthorized,
            Self::EntityNotFound { .. } => Advice::NotFound,
            Self::Tls { .. }
            | Self::EmptyCatalog
            | Self::EndpointNotFound(_)
            | Self::ServiceNameConflict { .. }
            | Self::NoUniqueMatch
            | Self::Misconfigured(_)
            | Self::WrongPlace(_) => Advice::Fail,
        }
    }

    pub fn is_not_found(&self) -> bool {
        self.advice() == Advice::NotFound
    }

    pub fn is_conflict(&self) -> bool {
        self.advice() == Advice::Conflict
    }

    pub fn is_unauthorized(&self) -> bool {
        self.advice() == Advice::Unauthorized
    }

    /// The service does not exist in this cloud (any more): for a deletion that means there is nothing to clean.
    pub fn is_missing_endpoint(&self) -> bool {
        matches!(self, Self::EmptyCatalog | Self::EndpointNotFound(_))
    }
}

/// The name of the Python exception in whose place this error stands.
impl RemoteException for CloudError {
    fn class_name(&self) -> &'static str {
        match self {
            Self::Http(error) => error.wording.class_name(error.status),
            Self::Connect { .. } => "ConnectFailure",
            Self::Timeout { .. } => "ConnectTimeout",
            Self::Tls { .. } => "SSLError",
            Self::InvalidResponse { .. } => "InvalidResponse",
            Self::EmptyCatalog => "EmptyCatalog",
            Self::EndpointNotFound(_) => "EndpointNotFound",
            Self::AuthorizationFailure { .. } => "AuthorizationFailure",
            Self::MissingCredential { .. } => "MissingCredentialError",
            Self::EntityNotFound { .. } => "EntityNotFound",
            Self::ServiceNameConflict { .. } => "KeystoneServiceNameConflict",
            Self::NoUniqueMatch => "NoUniqueMatch",
            Self::Misconfigured(_) => "Error",
            Self::WrongPlace(_) => "ValueError",
        }
    }

    fn module(&self) -> &'static str {
        match self {
            Self::AuthorizationFailure { .. }
            | Self::MissingCredential { .. }
            | Self::EntityNotFound { .. }
            | Self::ServiceNameConflict { .. }
            | Self::Misconfigured(_) => "heat.common.exception",
            Self::NoUniqueMatch => "keystoneclient.exceptions",
            Self::WrongPlace(_) => "builtins",
            Self::Http(error) => error.wording.module(),
            Self::Connect { .. } | Self::Timeout { .. } | Self::Tls { .. } => "keystoneauth1.exceptions.connection",
            Self::InvalidResponse { .. } => "keystoneauth1.exceptions.response",
            Self::EmptyCatalog | Self::EndpointNotFound(_) => "keystoneauth1.exceptions.catalog",
        }
    }

    fn keywords(&self) -> Map<String, Value> {
        let pairs: &[(&str, &str)] = match self {
            Self::AuthorizationFailure { reason } => &[("failure_reason", reason)],
            Self::MissingCredential { required } => &[("required", required)],
            Self::EntityNotFound { entity, name } => &[("entity", entity), ("name", name)],
            Self::ServiceNameConflict { service } => &[("service", service)],
            Self::Misconfigured(message) => &[("message", message)],
            _ => &[],
        };
        pairs
            .iter()
            .map(|(key, value)| ((*key).to_owned(), Value::from(*value)))
            .collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn texts_are_those_of_the_python_clients() {
        let error = HttpError {
            status: 404,
            message: "Could not find project: x.".to_owned(),
            request_id: Some("req-1".to_owned()),
            retry_after: None,
            wording: Wording::Keystoneauth,
        };
        assert_eq!(
            error.to_string(),
            "Could not find project: x. (HTTP 404) (Request-ID: req-1)"
        );
        assert_eq!(CloudError::from(error).class_name(), "NotFound");
        assert_eq!(CloudError::authorization_failure().to_string(), "Authorization failed.");
    }
}
