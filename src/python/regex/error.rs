//! Why a pattern is none, or gives no answer.

#[derive(Debug, thiserror::Error)]
pub enum RegexError {
    /// In Python's words, with the place.
    #[error("{0}")]
    Syntax(String),
    /// What Python refuses with an `OverflowError`.
    #[error("{0}")]
    Overflow(&'static str),
    /// What Python refuses with a `ValueError`.
    #[error("{0}")]
    Value(&'static str),
    #[error("the pattern is too long or nested too deeply")]
    TooComplex,
    #[error("the pattern cannot be compiled")]
    Compile(#[source] Box<fancy_regex::Error>),
    #[error("matching took too many steps")]
    TooManySteps,
}

impl RegexError {
    /// Python's class for it, or for what comes nearest.
    pub fn class_name(&self) -> &'static str {
        match self {
            Self::Overflow(_) => "OverflowError",
            Self::Value(_) => "ValueError",
            Self::Syntax(_) | Self::TooComplex | Self::Compile(_) | Self::TooManySteps => "error",
        }
    }
}
