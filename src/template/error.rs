//! What can be wrong with a template, in the words that users of Heat know.

use serde_json::{Map, Value};

use crate::exception::{RemoteException, located_keywords};
use crate::python::repr;

#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum TemplateError {
    #[error("{}", located(error, path, message))]
    StackValidationFailed {
        error: String,
        path: Vec<String>,
        message: String,
    },
    #[error("{message}")]
    InvalidSchemaError { message: String },
    #[error("The template version is invalid: {explanation}")]
    InvalidTemplateVersion { explanation: String },
    #[error("The template section is invalid: {section}")]
    InvalidTemplateSection { section: String },
    #[error("The specified reference \"{resource}\" (in {key}) is incorrect.")]
    InvalidTemplateReference { resource: String, key: String },
    #[error("The Referenced Attribute ({resource} {key}) is incorrect.")]
    InvalidTemplateAttribute { resource: String, key: String },
    #[error("The Parameter ({key}) was not provided.")]
    UserParameterMissing { key: String },
    #[error("The Parameter ({key}) was not defined in template.")]
    UnknownUserParameter { key: String },
    #[error("The following parameters are immutable and may not be updated: {keys}")]
    ImmutableParameterModified { keys: String },
    #[error("Invalid merge strategy '{strategy}' for parameter '{param}'.")]
    InvalidMergeStrategyForParam { strategy: String, param: String },
    #[error("Conflicting merge strategy '{strategy}' for parameter '{param}' in file '{env_file}'.")]
    ConflictingMergeStrategyForParam {
        strategy: String,
        param: String,
        env_file: String,
    },
    #[error("{message}")]
    InvalidBreakPointHook { message: String },
    #[error("{message}")]
    InvalidRestrictedAction { message: String },
    #[error("The {entity} ({name}) could not be found.")]
    EntityNotFound { entity: String, name: String },
    #[error("Invalid dependency with external {resource_type} resource: {external_id}")]
    InvalidExternalResourceDependency { resource_type: String, external_id: String },
    #[error("{feature} is not supported.")]
    NotSupported { feature: String },
    #[error("Request limit exceeded: {message}")]
    RequestLimitExceeded { message: String },
    /// All functions of a template together cost too much.
    #[error("Request limit exceeded: {message}")]
    AllowanceExceeded { message: String },
    /// What Python raises as one of its own exceptions.
    #[error("{message}")]
    Python { class: &'static str, message: String },
    /// What a service answered to the question that a function asks.
    #[error(transparent)]
    Cloud(#[from] CloudFault),
}

/// An error of another service, as the exception of Python's client for it.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{message}")]
pub struct CloudFault {
    pub class: &'static str,
    pub module: &'static str,
    pub message: String,
}

impl TemplateError {
    /// A validation failure that has only a message.
    pub fn invalid(message: impl Into<String>) -> Self {
        Self::invalid_at(&[], message)
    }

    pub fn invalid_at(path: &[&str], message: impl Into<String>) -> Self {
        Self::StackValidationFailed {
            error: String::new(),
            path: path.iter().map(|part| (*part).to_owned()).collect(),
            message: message.into(),
        }
    }

    pub fn schema(message: impl Into<String>) -> Self {
        Self::InvalidSchemaError {
            message: message.into(),
        }
    }

    pub(crate) fn value_error(message: impl Into<String>) -> Self {
        Self::Python {
            class: "ValueError",
            message: message.into(),
        }
    }

    /// The error as Python's validation passes it on when it meets it at a place: class and message of the cause, and
    /// the place before whatever place the cause names.
    pub fn located_at(self, mut place: Vec<String>) -> Self {
        match self {
            Self::StackValidationFailed { error, path, message } => {
                place.extend(path);
                Self::StackValidationFailed {
                    error,
                    path: place,
                    message,
                }
            }
            other => Self::StackValidationFailed {
                error: other.class_name().to_owned(),
                path: place,
                message: other.to_string(),
            },
        }
    }
}

impl RemoteException for TemplateError {
    fn class_name(&self) -> &'static str {
        match self {
            Self::StackValidationFailed { .. } => "StackValidationFailed",
            Self::InvalidSchemaError { .. } => "InvalidSchemaError",
            Self::InvalidTemplateVersion { .. } => "InvalidTemplateVersion",
            Self::InvalidTemplateSection { .. } => "InvalidTemplateSection",
            Self::InvalidTemplateReference { .. } => "InvalidTemplateReference",
            Self::InvalidTemplateAttribute { .. } => "InvalidTemplateAttribute",
            Self::UserParameterMissing { .. } => "UserParameterMissing",
            Self::UnknownUserParameter { .. } => "UnknownUserParameter",
            Self::ImmutableParameterModified { .. } => "ImmutableParameterModified",
            Self::InvalidMergeStrategyForParam { .. } => "InvalidMergeStrategyForParam",
            Self::ConflictingMergeStrategyForParam { .. } => "ConflictingMergeStrategyForParam",
            Self::InvalidBreakPointHook { .. } => "InvalidBreakPointHook",
            Self::InvalidRestrictedAction { .. } => "InvalidRestrictedAction",
            Self::EntityNotFound { .. } => "EntityNotFound",
            Self::InvalidExternalResourceDependency { .. } => "InvalidExternalResourceDependency",
            Self::NotSupported { .. } => "NotSupported",
            Self::RequestLimitExceeded { .. } | Self::AllowanceExceeded { .. } => "RequestLimitExceeded",
            Self::Python { class, .. } => class,
            Self::Cloud(fault) => fault.class,
        }
    }

    fn module(&self) -> &'static str {
        match self {
            Self::Python { .. } => "builtins",
            Self::Cloud(fault) => fault.module,
            _ => "heat.common.exception",
        }
    }

    fn keywords(&self) -> Map<String, Value> {
        match self {
            Self::StackValidationFailed { error, path, message } => {
                located_keywords(error, &dotted_path(path), message)
            }
            Self::InvalidSchemaError { message }
            | Self::InvalidBreakPointHook { message }
            | Self::InvalidRestrictedAction { message } => single_keyword("message", message),
            _ => Map::new(),
        }
    }
}

fn single_keyword(name: &str, text: &str) -> Map<String, Value> {
    Map::from_iter([(name.to_owned(), Value::from(text))])
}

/// `resources.a.properties.list[0]`: numbers are indices, everything else a name.
pub fn dotted_path(path: &[String]) -> String {
    let mut text = String::new();
    for part in path {
        let is_index = !part.is_empty() && part.bytes().all(|byte| byte.is_ascii_digit());
        if is_index {
            text.push_str(&format!("[{part}]"));
        } else {
            if !text.is_empty() {
                text.push('.');
            }
            text.push_str(part);
        }
    }
    text
}

fn located(error: &str, path: &[String], message: &str) -> String {
    let with_colon = |text: &str| {
        if text.is_empty() {
            String::new()
        } else {
            format!("{text}: ")
        }
    };
    format!("{}{}{message}", with_colon(error), with_colon(&dotted_path(path)))
}

/// What kept a value from being computed.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum Fault {
    #[error("{0}")]
    TypeError(String),
    #[error("{0}")]
    ValueError(String),
    /// Python shows what a KeyError is about as it would be written in a program: a message in quotes.
    #[error("{}", repr(.0))]
    KeyError(Value),
    #[error("{0}")]
    AttributeError(String),
    /// Any other exception that Python would raise.
    #[error("{message}")]
    Raised { class: &'static str, message: String },
    /// An attribute whose value the resource could not tell.
    #[error("{0}")]
    Attribute(String),
    #[error(transparent)]
    Template(#[from] TemplateError),
}

impl Fault {
    /// Python's class for it.
    pub fn class_name(&self) -> &'static str {
        match self {
            Self::TypeError(_) => "TypeError",
            Self::ValueError(_) => "ValueError",
            Self::KeyError(_) => "KeyError",
            Self::AttributeError(_) => "AttributeError",
            Self::Raised { class, .. } => class,
            Self::Attribute(_) => "Exception",
            Self::Template(error) => error.class_name(),
        }
    }

    pub(crate) fn limit(message: impl Into<String>) -> Self {
        Self::Template(TemplateError::RequestLimitExceeded {
            message: message.into(),
        })
    }
}

/// A failed resolution: what was wrong, and where in the expression.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{fault}")]
pub struct ResolveError {
    /// Innermost step first, as it is collected on the way out.
    steps: Vec<String>,
    pub fault: Fault,
}

impl ResolveError {
    pub(crate) fn below(mut self, step: impl Into<String>) -> Self {
        self.steps.push(step.into());
        self
    }

    /// The place inside the expression, from outside in: `list[0].str_replace.params`.
    pub fn path(&self) -> String {
        let steps: Vec<String> = self.steps.iter().rev().cloned().collect();
        dotted_path(&steps)
    }

    pub fn class_name(&self) -> &'static str {
        self.fault.class_name()
    }

    /// Whether it may go away with the values of parameters.
    pub(crate) fn is_about_values(&self) -> bool {
        matches!(self.fault, Fault::Template(TemplateError::UserParameterMissing { .. }))
    }
}

impl<F: Into<Fault>> From<F> for ResolveError {
    fn from(fault: F) -> Self {
        Self {
            steps: Vec::new(),
            fault: fault.into(),
        }
    }
}

impl From<ResolveError> for TemplateError {
    fn from(error: ResolveError) -> Self {
        match error.fault {
            Fault::Template(error) => error,
            fault => Self::Python {
                class: fault.class_name(),
                message: fault.to_string(),
            },
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn places_are_written_as_heat_writes_them() {
        let path = ["resources", "a", "properties", "list", "0", "x"]
            .map(str::to_owned)
            .to_vec();
        let error = TemplateError::StackValidationFailed {
            error: "Property error".to_owned(),
            path,
            message: "wrong".to_owned(),
        };
        assert_eq!(
            error.to_string(),
            "Property error: resources.a.properties.list[0].x: wrong"
        );
        assert_eq!(TemplateError::invalid("wrong").to_string(), "wrong");
    }

    #[test]
    fn a_key_error_is_shown_quoted() {
        assert_eq!(Fault::KeyError("it's".into()).to_string(), "\"it's\"");
    }
}
