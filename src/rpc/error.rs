//! Why a request has no result, and what its caller is told.

use serde_json::{Map, Value};

use super::exception_formats;
use crate::exception::{RemoteException, chain, located_keywords};
use crate::messaging::{Exception, Fault};
use crate::python::literal::Literal;
use crate::store::StoreError;

/// Why a request has no result. The texts are those that clients show and match on.
#[derive(Debug, thiserror::Error)]
pub enum RequestError {
    #[error("The {entity} ({name}) could not be found.")]
    EntityNotFound { entity: &'static str, name: String },
    #[error("The Resource ({resource_name}) could not be found in Stack {stack_name}.")]
    ResourceNotFound { resource_name: String, stack_name: String },
    #[error("Multiple resources were found with the physical ID ({0}).")]
    PhysicalResourceIdAmbiguity(String),
    #[error("{0}")]
    NotFound(String),
    #[error("You are not authorized to use {0}.")]
    Forbidden(String),
    #[error("The Stack ({0}) already exists.")]
    StackExists(String),
    #[error("Request limit exceeded: {0}")]
    RequestLimitExceeded(String),
    #[error("{0} is not supported.")]
    NotSupported(String),
    #[error("Data supplied was not valid: {0}")]
    Invalid(String),
    #[error("Missing required credential: {0}")]
    MissingCredential(&'static str),
    #[error("The following parameters are immutable and may not be updated: {}", .0.join(", "))]
    ImmutableParameterModified(Vec<String>),
    /// What a check of the stack before it is stored found.
    #[error("{message}")]
    StackValidationFailed { message: String },
    /// A value in the arguments that makes no sense.
    #[error("{0}")]
    ValueError(String),
    /// A value that lacks what its kind would have.
    #[error("{0}")]
    AttributeError(String),
    /// Arguments that do not fit the method.
    #[error("{0}")]
    TypeError(String),
    /// A resource type or method that this engine does not have; another engine may.
    #[error("{0}")]
    NotServed(NotServed),
    #[error("{}", .0.for_users())]
    Store(#[source] StoreError),
    /// What a lower room says, in its own words.
    #[error("{0}")]
    Lower(Box<dyn RemoteException + Send + Sync>),
}

/// What only a Python engine can do.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum NotServed {
    #[error("The Resource Type ({0}) could not be found.")]
    ResourceType(String),
    #[error("{0} (no Python engine is alive to serve it)")]
    Feature(String),
}

impl<E> From<E> for RequestError
where
    E: RemoteException + Send + Sync + 'static,
{
    fn from(error: E) -> Self {
        Self::Lower(Box::new(error))
    }
}

impl From<StoreError> for RequestError {
    fn from(error: StoreError) -> Self {
        Self::Store(error)
    }
}

impl From<NotServed> for RequestError {
    fn from(what: NotServed) -> Self {
        Self::NotServed(what)
    }
}

impl RequestError {
    pub fn invalid_stack(message: impl Into<String>) -> Self {
        Self::StackValidationFailed {
            message: message.into(),
        }
    }

    /// The exception's class, as clients know it.
    pub fn class(&self) -> &str {
        match self {
            Self::EntityNotFound { .. } => "EntityNotFound",
            Self::ResourceNotFound { .. } => "ResourceNotFound",
            Self::PhysicalResourceIdAmbiguity(_) => "PhysicalResourceIDAmbiguity",
            Self::NotFound(_) => "NotFound",
            Self::Forbidden(_) => "Forbidden",
            Self::StackExists(_) => "StackExists",
            Self::RequestLimitExceeded(_) => "RequestLimitExceeded",
            Self::NotSupported(_) => "NotSupported",
            Self::Invalid(_) => "Invalid",
            Self::MissingCredential(_) => "MissingCredentialError",
            Self::ImmutableParameterModified(_) => "ImmutableParameterModified",
            Self::StackValidationFailed { .. } => "StackValidationFailed",
            Self::ValueError(_) => "ValueError",
            Self::AttributeError(_) => "AttributeError",
            Self::TypeError(_) => "TypeError",
            Self::NotServed(NotServed::ResourceType(_)) => "EntityNotFound",
            Self::NotServed(NotServed::Feature(_)) => "NotSupported",
            Self::Store(_) => "DBError",
            Self::Lower(error) => error.class_name(),
        }
    }

    /// The error and what led to it, for the log.
    pub fn chain(&self) -> String {
        match self {
            Self::Lower(error) => chain(&**error),
            other => chain(other),
        }
    }

    fn keywords(&self, message: &str) -> Map<String, Value> {
        match self {
            Self::StackValidationFailed { message } => located_keywords("", "", message),
            Self::Lower(error) => {
                let keywords = error.keywords();
                if keywords.is_empty() {
                    self.keywords_from_text(message)
                } else {
                    keywords
                }
            }
            _ => self.keywords_from_text(message),
        }
    }

    fn keywords_from_text(&self, message: &str) -> Map<String, Value> {
        match self.class() {
            // Without its parts at hand the whole message is the best that can be told.
            "StackValidationFailed" => located_keywords("", "", message),
            class => exception_formats::keywords(class, message),
        }
    }

    fn positional(&self, message: &str) -> Vec<Value> {
        match self {
            Self::ImmutableParameterModified(names) => names.iter().map(|name| Value::from(name.as_str())).collect(),
            // Its message is the key as Python writes it, which the client writes so again.
            _ if self.class() == "KeyError" => vec![key_of(message)],
            _ if self.class() == "NotFound" || is_builtin(self.class()) => vec![Value::from(message)],
            _ => Vec::new(),
        }
    }

    /// Whether the message may hold what is not for the log.
    pub fn quotes_the_caller(&self) -> bool {
        QUOTING.contains(&self.class())
    }

    /// Whether the caller is at fault: such errors are answered, not logged as ours.
    pub fn is_expected(&self) -> bool {
        match self {
            Self::Lower(error) => !OURS.contains(&error.class_name()) && BUILT_BY_CALLERS.contains(&error.module()),
            Self::Store(error) => error.is_of_the_users_making(),
            _ => true,
        }
    }
}

/// No caller can do anything about these. The second is a stored secret that our key does not open.
const OURS: [&str; 2] = ["Error", "InvalidEncryptionKey"];

/// What speaks of values from templates and parameters, which may be hidden ones.
const QUOTING: [&str; 4] = ["StackValidationFailed", "InvalidSchemaError", "ValueError", "TypeError"];

/// The homes of exceptions that a caller makes sense of.
const BUILT_BY_CALLERS: [&str; 2] = ["heat.common.exception", "builtins"];

/// What a message says that was missing.
fn key_of(message: &str) -> Value {
    let key = Literal::parse(message).ok();
    let key = key.as_ref().and_then(Literal::as_text);
    Value::from(key.unwrap_or(message))
}

/// Python's own exceptions, which have no keyword arguments.
fn is_builtin(class: &str) -> bool {
    const BUILTINS: &[&str] = &[
        "AssertionError",
        "AttributeError",
        "Exception",
        "IndexError",
        "KeyError",
        "RuntimeError",
        "TypeError",
        "ValueError",
    ];
    BUILTINS.contains(&class)
}

impl From<RequestError> for Fault {
    fn from(error: RequestError) -> Self {
        let message = match &error {
            RequestError::NotServed(NotServed::Feature(_)) => {
                format!("{error} is not supported.")
            }
            _ => error.to_string(),
        };
        let class = error.class().to_owned();
        let builtin = is_builtin(&class);
        let module = match &error {
            RequestError::Store(_) => "oslo_db.exception",
            _ if builtin => "builtins",
            RequestError::Lower(error) => error.module(),
            _ => "heat.common.exception",
        };
        Fault::from(Exception {
            keyword_arguments: if builtin { Map::new() } else { error.keywords(&message) },
            arguments: error.positional(&message),
            // heat-api cuts a message off where a traceback begins, and takes one without for its own.
            traceback: vec![
                "Traceback (most recent call last):\n".to_owned(),
                format!("{module}.{class}: {message}\n"),
            ],
            module: module.to_owned(),
            class,
            message,
        })
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;
    use crate::template::TemplateError;

    fn fault(error: RequestError) -> Fault {
        error.into()
    }

    #[test]
    fn heats_exceptions_carry_their_keywords() {
        let fault = fault(RequestError::EntityNotFound {
            entity: "Stack",
            name: "web".to_owned(),
        });
        assert_eq!(fault.class, "EntityNotFound");
        assert_eq!(fault.module, "heat.common.exception");
        assert_eq!(
            Value::Object(fault.keyword_arguments.clone()),
            json!({"entity": "Stack", "name": "web"})
        );
        assert!(fault.arguments.is_empty());
    }

    #[test]
    fn pythons_exceptions_carry_their_text() {
        let fault = fault(RequestError::ValueError("Invalid timeout value -1".to_owned()));
        assert_eq!(
            (fault.module.as_str(), fault.class.as_str()),
            ("builtins", "ValueError")
        );
        assert_eq!(fault.arguments, [json!("Invalid timeout value -1")]);
        assert!(fault.keyword_arguments.is_empty());
    }

    #[test]
    fn a_missing_key_travels_as_it_is() {
        let fault = fault(
            TemplateError::Python {
                class: "KeyError",
                message: "'env.yaml'".to_owned(),
            }
            .into(),
        );
        assert_eq!(
            (fault.message.as_str(), fault.arguments.as_slice()),
            ("'env.yaml'", [json!("env.yaml")].as_slice())
        );
    }

    #[test]
    fn a_text_that_is_its_own_format_travels_by_position() {
        let fault = fault(RequestError::NotFound("Specified output key x not found.".to_owned()));
        assert_eq!(fault.arguments, [json!("Specified output key x not found.")]);
        assert!(fault.keyword_arguments.is_empty());
    }

    #[test]
    fn an_unknown_type_is_the_oracles_error() {
        let fault = fault(NotServed::ResourceType("OS::No::Such".to_owned()).into());
        assert_eq!(fault.message, "The Resource Type (OS::No::Such) could not be found.");
        assert_eq!(
            Value::Object(fault.keyword_arguments.clone()),
            json!({"entity": "Resource Type", "name": "OS::No::Such"})
        );
    }
}
