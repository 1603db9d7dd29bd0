//! What can go wrong with an expression, in the oracle's words.

use crate::python::PythonError;
use crate::python::repr::repr_text;

#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum Error {
    #[error("Parse error: unexpected end of statement")]
    UnexpectedEnd,
    #[error("Parse error: unexpected '{token}' at position {position} of expression '{expression}'")]
    UnexpectedToken {
        token: String,
        position: usize,
        expression: String,
    },
    #[error("Lexical error: illegal character '{character}' at position {position}")]
    IllegalCharacter { character: char, position: usize },
    #[error("Unknown function \"{0}\"")]
    UnknownFunction(String),
    #[error("Unknown method \"{name}\" for receiver {receiver}")]
    UnknownMethod { name: String, receiver: String },
    #[error("No function \"{0}\" matches supplied arguments")]
    NoMatchingFunction(String),
    #[error("No method \"{name}\" for receiver {receiver} matches supplied arguments")]
    NoMatchingMethod { name: String, receiver: String },
    #[error("Ambiguous function \"{0}\"")]
    AmbiguousFunction(String),
    #[error("Ambiguous method \"{name}\" for receiver {receiver}")]
    AmbiguousMethod { name: String, receiver: String },
    #[error("Invalid argument {0}")]
    InvalidArgument(String),
    #[error("Cannot convert mapping to keyword argument")]
    MappingTranslation,
    #[error("Collection length exceeds {0} elements")]
    CollectionTooLarge(i64),
    #[error("Expression consumed too much memory")]
    MemoryQuotaExceeded,
    /// Where the oracle would not come to an end in any useful time.
    #[error("Expression takes more than {0} steps")]
    TooManySteps(u64),
    #[error("The expressions of the template take more than {0} steps together")]
    TooManyStepsTogether(u64),
    /// What Python itself raises.
    #[error(transparent)]
    Python(#[from] PythonError),
}

impl Error {
    /// The class under which Python knows it.
    pub fn class_name(&self) -> &'static str {
        match self {
            Self::UnexpectedEnd | Self::UnexpectedToken { .. } => "YaqlGrammarException",
            Self::IllegalCharacter { .. } => "YaqlLexicalException",
            Self::UnknownFunction(_) => "NoFunctionRegisteredException",
            Self::UnknownMethod { .. } => "NoMethodRegisteredException",
            Self::NoMatchingFunction(_) => "NoMatchingFunctionException",
            Self::NoMatchingMethod { .. } => "NoMatchingMethodException",
            Self::AmbiguousFunction(_) => "AmbiguousFunctionException",
            Self::AmbiguousMethod { .. } => "AmbiguousMethodException",
            Self::InvalidArgument(_) => "ArgumentException",
            Self::MappingTranslation => "MappingTranslationException",
            Self::CollectionTooLarge(_) => "CollectionTooLargeException",
            Self::MemoryQuotaExceeded => "MemoryQuotaExceededException",
            Self::TooManySteps(_) | Self::TooManyStepsTogether(_) => "YaqlException",
            Self::Python(error) => error.class,
        }
    }

    /// Whether it is one of yaql's own exceptions, which Heat rewords when an expression is read.
    pub fn is_yaqls_own(&self) -> bool {
        !matches!(self, Self::Python(_))
    }

    /// The message is the key as Python shows it.
    pub(super) fn key_error(shown_key: String) -> Self {
        PythonError::new("KeyError", shown_key).into()
    }

    pub(super) fn type_error(message: impl Into<String>) -> Self {
        PythonError::type_error(message).into()
    }

    pub(super) fn value_error(message: impl Into<String>) -> Self {
        PythonError::value_error(message).into()
    }

    pub(super) fn index_error(message: impl Into<String>) -> Self {
        PythonError::new("IndexError", message).into()
    }

    pub(super) fn attribute_error(message: impl Into<String>) -> Self {
        PythonError::new("AttributeError", message).into()
    }

    /// An iterator has nothing (more) to give, and nobody said what to take instead.
    pub(super) fn stop_iteration(message: impl Into<String>) -> Self {
        PythonError::new("StopIteration", message).into()
    }

    pub(super) fn recursion() -> Self {
        PythonError::new("RecursionError", "maximum recursion depth exceeded").into()
    }

    pub(super) fn no_attribute(class: &str, attribute: &str) -> Self {
        Self::attribute_error(format!("'{class}' object has no attribute {}", repr_text(attribute)))
    }
}
