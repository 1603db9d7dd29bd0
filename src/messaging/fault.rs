//! Exceptions as oslo.messaging puts them into a reply.

use serde_json::{Map, Value};

use crate::exception::RemoteException;

/// An exception on the wire: what a Python client rebuilds its own exception from.
#[derive(Clone, Debug, PartialEq)]
pub struct Fault {
    pub class: String,
    pub module: String,
    pub message: String,
    /// Positional and keyword arguments of the exception's constructor.
    pub arguments: Vec<Value>,
    pub keyword_arguments: Map<String, Value>,
    pub traceback: Vec<String>,
}

impl Fault {
    /// An exception of `heat.common.exception`, rebuilt by the client from its keyword arguments.
    pub fn heat(class: &str, message: impl Into<String>, keyword_arguments: Map<String, Value>) -> Self {
        Self {
            class: class.to_owned(),
            module: "heat.common.exception".to_owned(),
            message: message.into(),
            arguments: Vec::new(),
            keyword_arguments,
            traceback: Vec::new(),
        }
    }

    pub fn from_exception(exception: &dyn RemoteException) -> Self {
        Self::heat(exception.class_name(), exception.to_string(), Map::new())
    }
}
