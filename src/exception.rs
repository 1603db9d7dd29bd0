//! What a Python client knows an error as.
//!
//! heat-api and heatclient match on the class name of a remote exception and show its message. Each layer's error
//! tells the class; its `Display` is the message, word for word what the Python engine says.

use serde_json::{Map, Value};

/// An error that can travel to a Python caller.
pub trait RemoteException: std::error::Error {
    /// The class in `heat.common.exception`, for example `StackValidationFailed`.
    fn class_name(&self) -> &'static str;

    /// The module of that class. Only Heat's own is rebuilt by heat-api; any other error is a fault of the server to it.
    fn module(&self) -> &'static str {
        "heat.common.exception"
    }

    /// The keyword arguments from which the caller builds the exception anew.
    ///
    /// What a user reads is the text that the caller makes of them, not our message. Most messages can be taken apart
    /// again by their format, so only an error whose parts cannot be told from its text needs to say them.
    fn keywords(&self) -> Map<String, Value> {
        Map::new()
    }
}

/// An error and what led to it, on one line, for logs and terminals. An error that only passes another one on, or ends
/// with its text, is not told twice.
pub fn chain(error: &dyn std::error::Error) -> String {
    let mut text = error.to_string();
    let mut cause = error.source();
    while let Some(error) = cause {
        let more = error.to_string();
        if !text.ends_with(&more) {
            text.push_str(": ");
            text.push_str(&more);
        }
        cause = error.source();
    }
    text
}

/// The keyword arguments of an exception that names a place (`StackValidationFailed`, `ResourceFailure`).
///
/// Its class keeps them in the shape in which it joins them; a caller that builds it anew therefore shows one colon more
/// than the message has (`Property error: : resources.a.properties: : …`), which is what users of Heat are used to.
pub fn located_keywords(error: &str, dotted_path: &str, message: &str) -> Map<String, Value> {
    let with_colon = |text: &str| {
        if text.is_empty() {
            String::new()
        } else {
            format!("{text}: ")
        }
    };
    let mut keywords = Map::new();
    keywords.insert("error".to_owned(), Value::String(with_colon(error)));
    keywords.insert("path".to_owned(), Value::String(with_colon(dotted_path)));
    keywords.insert("message".to_owned(), Value::String(message.to_owned()));
    keywords
}

#[cfg(test)]
mod tests {
    use super::*;

    #[derive(Debug, thiserror::Error)]
    enum Error {
        #[error("no connection")]
        Plain(#[source] std::io::Error),
        #[error("no connection: {0}")]
        Telling(#[source] std::io::Error),
        #[error("{0}")]
        Passing(#[source] Box<Error>),
    }

    #[test]
    fn nothing_is_told_twice() {
        let cause = || std::io::Error::other("refused");
        for error in [Error::Plain(cause()), Error::Telling(cause())] {
            assert_eq!(chain(&error), "no connection: refused");
            assert_eq!(chain(&Error::Passing(Box::new(error))), "no connection: refused");
        }
    }
}
