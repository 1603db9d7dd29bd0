//! What can go wrong with a stack as a whole.

use serde_json::{Map, Value};

use crate::cloud::CloudError;
use crate::exception::{RemoteException, located_keywords};
use crate::identity::crypt::CryptError;
use crate::messaging::{CallError, PublishError};
use crate::python::json_reader::JsonError;
use crate::resource::failure::{Failure, dotted};
use crate::resource::properties::PropertyError;
use crate::store::StoreError;
use crate::template::{ResolveError, TemplateError};

#[derive(Debug, thiserror::Error)]
pub enum StackError {
    #[error("{0}")]
    Template(#[from] TemplateError),
    #[error("{}", .0.for_users())]
    Store(#[from] StoreError),
    #[error("{0}")]
    Cloud(#[from] CloudError),
    #[error("{0}")]
    Crypt(#[from] CryptError),
    #[error("a message could not be sent")]
    Publish(#[from] PublishError),
    #[error("a call failed")]
    Call(#[from] CallError),
    #[error("The template with id {0} could not be found")]
    TemplateMissing(i64),
    #[error("a stored template is not JSON")]
    TemplateUnreadable(#[source] JsonError),
    #[error("the template does not define resource {0}")]
    ResourceNotDefined(String),
    /// A resource could not tell one of its attributes.
    #[error("{0}")]
    Attribute(Failure),
    #[error("Circular Dependency Found: {0}")]
    Circular(String),
    /// A property of a resource does not fit the type.
    #[error("{0}")]
    Property(PropertyError),
    /// An update that the type refuses.
    #[error("{0}")]
    Refused(Failure),
    /// The cloud lacks the service that a type needs.
    #[error(
        "HEAT-E{UNAVAILABLE_CODE} Service {service} is not available for resource type {type_name}, reason: {reason}"
    )]
    TypeUnavailable {
        service: String,
        type_name: String,
        reason: String,
    },
    #[error("Attempt to use stored_context with no user_creds")]
    NoStoredCredentials,
}

/// The number by which callers of a validation can ask to ignore that a service is not there.
pub const UNAVAILABLE_CODE: &str = "99001";

impl StackError {
    /// The error's number, if it has one.
    pub fn code(&self) -> Option<&'static str> {
        matches!(self, Self::TypeUnavailable { .. }).then_some(UNAVAILABLE_CODE)
    }

    /// Whether the services do not let us in.
    pub fn is_authorization_failure(&self) -> bool {
        self.class_name() == "AuthorizationFailure"
    }

    /// Resources that wait for each other.
    pub fn circular(names: &[String]) -> Self {
        Self::Circular(format!("{{{}}}", names.join(", ")))
    }
}

impl StackError {
    /// Whether the database or the broker is to blame, so that the same may succeed later.
    pub fn is_outage(&self) -> bool {
        match self {
            Self::Store(error) => error.transience().is_some(),
            Self::Publish(error) => matches!(error, PublishError::TimedOut { .. }),
            _ => false,
        }
    }
}

impl From<ResolveError> for StackError {
    fn from(error: ResolveError) -> Self {
        Self::Template(error.into())
    }
}

impl RemoteException for StackError {
    fn class_name(&self) -> &'static str {
        match self {
            Self::Template(error) => error.class_name(),
            Self::Cloud(error) => error.class_name(),
            Self::Crypt(error) => error.class_name(),
            Self::Circular(_) => "CircularDependencyException",
            Self::TemplateMissing(_) => "NotFound",
            Self::Attribute(failure) | Self::Refused(failure) => failure.class_name(),
            Self::Property(error) => error.class_name(),
            Self::TypeUnavailable { .. } => "ResourceTypeUnavailable",
            Self::NoStoredCredentials => "Error",
            Self::ResourceNotDefined(_) => "KeyError",
            Self::Store(_) | Self::Publish(_) | Self::Call(_) | Self::TemplateUnreadable(_) => "Error",
        }
    }

    fn keywords(&self) -> Map<String, Value> {
        match self {
            Self::Template(error) => error.keywords(),
            Self::Cloud(error) => error.keywords(),
            Self::Crypt(error) => error.keywords(),
            Self::Property(error) => located_keywords(error.heading, &dotted(&error.path), &error.message),
            _ => Map::new(),
        }
    }

    fn module(&self) -> &'static str {
        match self {
            Self::Cloud(error) => error.module(),
            _ => "heat.common.exception",
        }
    }
}
