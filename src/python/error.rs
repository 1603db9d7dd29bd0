//! An exception that Python would raise: the name of its class and what `str()` says of it.

#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{message}")]
pub struct PythonError {
    pub class: &'static str,
    pub message: String,
}

impl PythonError {
    pub fn new(class: &'static str, message: impl Into<String>) -> Self {
        Self {
            class,
            message: message.into(),
        }
    }

    pub fn type_error(message: impl Into<String>) -> Self {
        Self::new("TypeError", message)
    }

    pub fn value_error(message: impl Into<String>) -> Self {
        Self::new("ValueError", message)
    }

    /// Python gives up, too, but only after it has filled the memory.
    pub fn too_much_memory() -> Self {
        Self::new("MemoryError", "")
    }
}
