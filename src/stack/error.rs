//! What can go wrong with a stack as a whole.

use crate::cloud::CloudError;
use crate::exception::RemoteException;
use crate::identity::crypt::CryptError;
use crate::messaging::{CallError, PublishError};
use crate::resource::failure::Failure;
use crate::store::StoreError;
use crate::template::{ResolveError, TemplateError};

#[derive(Debug, thiserror::Error)]
pub enum StackError {
    #[error("{0}")]
    Template(#[from] TemplateError),
    #[error("the database failed")]
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
    TemplateUnreadable(#[source] serde_json::Error),
    #[error("the template does not define resource {0}")]
    ResourceNotDefined(String),
    /// A resource could not tell one of its attributes.
    #[error("{0}")]
    Attribute(Failure),
    #[error("Circular Dependency Found: {0}")]
    Circular(String),
}

impl StackError {
    /// Resources that wait for each other.
    pub fn circular(names: &[String]) -> Self {
        Self::Circular(format!("{{{}}}", names.join(", ")))
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
            Self::Attribute(failure) => failure.class_name(),
            Self::ResourceNotDefined(_) => "KeyError",
            Self::Store(_) | Self::Publish(_) | Self::Call(_) | Self::TemplateUnreadable(_) => "Error",
        }
    }
}
