//! What a Python client knows an error as.
//!
//! heat-api and heatclient match on the class name of a remote exception and show its message. Each layer's error
//! tells the class; its `Display` is the message, word for word what the Python engine says.

/// An error that can travel to a Python caller.
pub trait RemoteException: std::error::Error {
    /// The class in `heat.common.exception`, for example `StackValidationFailed`.
    fn class_name(&self) -> &'static str;
}
