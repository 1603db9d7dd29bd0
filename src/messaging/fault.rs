//! Exceptions as oslo.messaging puts them into a reply.
//!
//! A Python client makes an exception of the class again, if the module is one that it allows, from `args` and
//! `kwargs`; its text becomes `message`, a newline, and the traceback. heat-api cuts at the first newline.

use serde_json::{Map, Value, json};

use crate::exception::RemoteException;
use crate::python::json::dumps;

const HEAT_EXCEPTIONS: &str = "heat.common.exception";
const RPC_DISPATCHER: &str = "oslo_messaging.rpc.dispatcher";
const REMOTE_SUFFIX: &str = "_Remote";

/// An exception on the wire; a pointer, so that results stay small.
#[derive(Clone, Debug, PartialEq)]
pub struct Fault(Box<Exception>);

/// What an exception consists of there.
#[derive(Clone, Debug, PartialEq)]
pub struct Exception {
    pub class: String,
    pub module: String,
    pub message: String,
    /// Positional and keyword arguments of the exception's constructor.
    pub arguments: Vec<Value>,
    pub keyword_arguments: Map<String, Value>,
    pub traceback: Vec<String>,
}

impl std::ops::Deref for Fault {
    type Target = Exception;

    fn deref(&self) -> &Exception {
        &self.0
    }
}

impl From<Exception> for Fault {
    fn from(exception: Exception) -> Self {
        Self(Box::new(exception))
    }
}

impl std::fmt::Display for Fault {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{}: {}", self.class, self.message)
    }
}

impl std::error::Error for Fault {}

impl Fault {
    /// An exception of `heat.common.exception`. The client rebuilds it from the keyword arguments, and those that
    /// its text is made of should be there.
    pub fn heat(class: &str, message: impl Into<String>, keyword_arguments: Map<String, Value>) -> Self {
        Self::new(HEAT_EXCEPTIONS, class, message).with_keyword_arguments(keyword_arguments)
    }

    pub fn from_exception(exception: &dyn RemoteException) -> Self {
        Self::heat(exception.class_name(), exception.to_string(), exception.keywords())
    }

    /// An exception that the client cannot take for one of Heat's: an internal error, which heat-api answers with 500.
    pub fn internal(message: impl Into<String>) -> Self {
        Self::new("builtins", "RuntimeError", message).with_message_as_argument()
    }

    pub(super) fn too_large_an_answer(bytes: usize) -> Self {
        let message = format!("the answer is larger than the message broker takes ({bytes} bytes)");
        let keyword_arguments = Map::from_iter([("message".to_owned(), message.as_str().into())]);
        Self::heat(
            "RequestLimitExceeded",
            format!("Request limit exceeded: {message}"),
            keyword_arguments,
        )
    }

    pub(super) fn no_such_method(method: &str) -> Self {
        let message = format!("Endpoint does not support RPC method {method}");
        Self::new(RPC_DISPATCHER, "NoSuchMethod", message).with_message_as_argument()
    }

    pub(super) fn unsupported_version(version: &str, method: &str) -> Self {
        let message = format!("Endpoint does not support RPC version {version}. Attempted method: {method}");
        Self::new(RPC_DISPATCHER, "UnsupportedVersion", message).with_message_as_argument()
    }

    pub(super) fn malformed(problem: &str) -> Self {
        Self::new("builtins", "TypeError", format!("malformed request: {problem}")).with_message_as_argument()
    }

    fn new(module: &str, class: &str, message: impl Into<String>) -> Self {
        let message = message.into();
        // A client shows the traceback's last line where it shows a traceback; Python's ends like this.
        let traceback = vec![format!("{module}.{class}: {message}\n")];
        Self(Box::new(Exception {
            class: class.to_owned(),
            module: module.to_owned(),
            message,
            arguments: Vec::new(),
            keyword_arguments: Map::new(),
            traceback,
        }))
    }

    pub fn with_keyword_arguments(mut self, keyword_arguments: Map<String, Value>) -> Self {
        self.0.keyword_arguments = keyword_arguments;
        self
    }

    fn with_message_as_argument(mut self) -> Self {
        self.0.arguments = vec![self.message.clone().into()];
        self
    }

    /// The text under `failure` in a reply.
    pub(super) fn to_wire(&self) -> String {
        dumps(&json!({
            "class": self.class,
            "module": self.module,
            "message": self.message,
            "tb": self.traceback,
            "args": self.arguments,
            "kwargs": self.keyword_arguments,
        }))
    }

    /// Reads the text under `failure` in a reply. What cannot be read becomes the message of an internal error: the
    /// call has failed in any case.
    pub(super) fn from_wire(failure: &Value) -> Self {
        let parsed = failure.as_str().and_then(|text| serde_json::from_str(text).ok());
        let Some(Value::Object(mut fields)) = parsed else {
            return Self::internal(format!("unreadable failure: {failure}"));
        };
        let text = |field: Option<Value>| match field {
            Some(Value::String(text)) => text,
            _ => String::new(),
        };
        Self(Box::new(Exception {
            class: without_suffix(text(fields.remove("class"))),
            module: without_suffix(text(fields.remove("module"))),
            message: text(fields.remove("message")),
            arguments: match fields.remove("args") {
                Some(Value::Array(arguments)) => arguments,
                _ => Vec::new(),
            },
            keyword_arguments: match fields.remove("kwargs") {
                Some(Value::Object(arguments)) => arguments,
                _ => Map::new(),
            },
            traceback: match fields.remove("tb") {
                Some(Value::Array(lines)) => lines.into_iter().map(|line| text(Some(line))).collect(),
                _ => Vec::new(),
            },
        }))
    }
}

/// An exception that a Python service only passes on has the suffix in its names.
fn without_suffix(name: String) -> String {
    match name.strip_suffix(REMOTE_SUFFIX) {
        Some(stem) => stem.to_owned(),
        None => name,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn keys_are_in_oslos_order() {
        let Value::Object(arguments) = json!({"entity": "Stack", "name": "x"}) else {
            unreachable!()
        };
        let fault = Fault::heat("EntityNotFound", "The Stack (x) could not be found.", arguments);
        let expected = concat!(
            r#"{"class": "EntityNotFound", "module": "heat.common.exception", "#,
            r#""message": "The Stack (x) could not be found.", "#,
            r#""tb": ["heat.common.exception.EntityNotFound: The Stack (x) could not be found.\n"], "#,
            r#""args": [], "kwargs": {"entity": "Stack", "name": "x"}}"#
        );
        assert_eq!(fault.to_wire(), expected);
        assert_eq!(Fault::from_wire(&expected.into()), fault);
    }

    #[test]
    fn an_unreadable_failure_is_a_failure() {
        for failure in [json!(1), json!("no json"), json!("[]"), json!({"class": "x"})] {
            assert_eq!(Fault::from_wire(&failure).class, "RuntimeError");
        }
    }

    #[test]
    fn an_exception_passed_on_has_its_own_name() {
        let fault = Fault::from_wire(&r#"{"class": "NotFound_Remote", "module": "a.b_Remote"}"#.into());
        assert_eq!((fault.class.as_str(), fault.module.as_str()), ("NotFound", "a.b"));
    }
}
