//! How failed requests are told. Each of Python's clients has exceptions, and ways to read an answer, of its own.

use serde_json::Value;

use crate::python::to_text;
use crate::python::value::is_true;

/// Whose words and classes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Wording {
    Keystoneauth,
    Novaclient,
}

impl Wording {
    /// The class of the exception that stands for a status.
    pub fn class_name(self, status: u16) -> &'static str {
        self.known(status)
            .map_or_else(|| self.unknown(status).0, |(class, _)| class)
    }

    /// The module of that class.
    pub fn module(self) -> &'static str {
        match self {
            Self::Keystoneauth => "keystoneauth1.exceptions.http",
            Self::Novaclient => "novaclient.exceptions",
        }
    }

    /// In which header of an answer its request's id is.
    pub fn request_id_header(self) -> &'static str {
        match self {
            Self::Keystoneauth => "x-openstack-request-id",
            Self::Novaclient => "x-compute-request-id",
        }
    }

    /// What an answer says went wrong.
    pub fn message(self, status: u16, content_type: &str, body: &[u8]) -> String {
        let read = match self {
            Self::Keystoneauth if !content_type.starts_with("application/json") => None,
            Self::Keystoneauth => serde_json::from_slice(body)
                .ok()
                .and_then(|body| told_to_keystoneauth(&body)),
            Self::Novaclient => serde_json::from_slice(body)
                .ok()
                .and_then(|body| told_to_novaclient(&body)),
        };
        read.unwrap_or_else(|| self.default_message(status).to_owned())
    }

    fn default_message(self, status: u16) -> &'static str {
        self.known(status)
            .map_or_else(|| self.unknown(status).1, |(_, message)| message)
    }

    /// Class and message for statuses without one of their own.
    fn unknown(self, status: u16) -> (&'static str, &'static str) {
        match (self, status) {
            (Self::Novaclient, _) => ("ClientException", "Unknown Error"),
            (Self::Keystoneauth, 500..600) => ("HttpServerError", "HTTP Server Error"),
            (Self::Keystoneauth, 400..500) => ("HTTPClientError", "HTTP Client Error"),
            (Self::Keystoneauth, _) => ("HttpError", "HTTP Error"),
        }
    }

    fn known(self, status: u16) -> Option<(&'static str, &'static str)> {
        match self {
            Self::Keystoneauth => known_to_keystoneauth(status),
            Self::Novaclient => known_to_novaclient(status),
        }
    }
}

/// Services answer in the style of Keystone or of the API working group.
fn told_to_keystoneauth(body: &Value) -> Option<String> {
    if let Some(error) = body.get("error").and_then(Value::as_object) {
        return Some(error.get("message")?.as_str()?.to_owned()).filter(|message| !message.is_empty());
    }
    let Some(errors) = body.get("errors").and_then(Value::as_array) else {
        return Some("Unrecognized schema in response body.".to_owned());
    };
    let title = errors.first()?.get("title").and_then(Value::as_str).unwrap_or("None");
    let introduction = match errors.len() {
        1 => "",
        _ => "Multiple error responses, showing first only: ",
    };
    Some(format!("{introduction}{title}"))
}

/// The message stands by itself, or in the one map that the body consists of.
fn told_to_novaclient(body: &Value) -> Option<String> {
    if !is_true(body) {
        return None;
    }
    let Some(entries) = body.as_object() else {
        return Some("n/a".to_owned());
    };
    let message = match entries.get("message") {
        Some(message) => message,
        None => entries.values().next()?.get("message")?,
    };
    is_true(message).then(|| to_text(message))
}

fn known_to_keystoneauth(status: u16) -> Option<(&'static str, &'static str)> {
    Some(match status {
        400 => ("BadRequest", "Bad Request"),
        401 => ("Unauthorized", "Unauthorized"),
        402 => ("PaymentRequired", "Payment Required"),
        403 => ("Forbidden", "Forbidden"),
        404 => ("NotFound", "Not Found"),
        405 => ("MethodNotAllowed", "Method Not Allowed"),
        406 => ("NotAcceptable", "Not Acceptable"),
        407 => ("ProxyAuthenticationRequired", "Proxy Authentication Required"),
        408 => ("RequestTimeout", "Request Timeout"),
        409 => ("Conflict", "Conflict"),
        410 => ("Gone", "Gone"),
        411 => ("LengthRequired", "Length Required"),
        412 => ("PreconditionFailed", "Precondition Failed"),
        413 => ("RequestEntityTooLarge", "Request Entity Too Large"),
        414 => ("RequestUriTooLong", "Request-URI Too Long"),
        415 => ("UnsupportedMediaType", "Unsupported Media Type"),
        416 => ("RequestedRangeNotSatisfiable", "Requested Range Not Satisfiable"),
        417 => ("ExpectationFailed", "Expectation Failed"),
        422 => ("UnprocessableEntity", "Unprocessable Entity"),
        429 => ("TooManyRequests", "Too Many Requests"),
        500 => ("InternalServerError", "Internal Server Error"),
        501 => ("HttpNotImplemented", "Not Implemented"),
        502 => ("BadGateway", "Bad Gateway"),
        503 => ("ServiceUnavailable", "Service Unavailable"),
        504 => ("GatewayTimeout", "Gateway Timeout"),
        505 => ("HttpVersionNotSupported", "HTTP Version Not Supported"),
        _ => return None,
    })
}

fn known_to_novaclient(status: u16) -> Option<(&'static str, &'static str)> {
    Some(match status {
        400 => ("BadRequest", "Bad request"),
        401 => ("Unauthorized", "Unauthorized"),
        403 => ("Forbidden", "Forbidden"),
        404 => ("NotFound", "Not found"),
        405 => ("MethodNotAllowed", "Method Not Allowed"),
        406 => ("NotAcceptable", "Not Acceptable"),
        409 => ("Conflict", "Conflict"),
        413 => ("OverLimit", "Over limit"),
        429 => ("RateLimit", "Rate limit"),
        501 => ("HTTPNotImplemented", "Not Implemented"),
        _ => return None,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn keystoneauth_knows_every_status() {
        let wording = Wording::Keystoneauth;
        assert_eq!(wording.class_name(404), "NotFound");
        assert_eq!(wording.class_name(599), "HttpServerError");
        assert_eq!(wording.message(418, "text/html", b"<html>"), "HTTP Client Error");
        let json = "application/json; charset=utf-8";
        assert_eq!(
            wording.message(409, json, br#"{"error": {"message": "taken"}}"#),
            "taken"
        );
        assert_eq!(
            wording.message(409, json, b"{}"),
            "Unrecognized schema in response body."
        );
    }

    #[test]
    fn novaclient_reads_whatever_is_json() {
        let wording = Wording::Novaclient;
        for (status, body, class, message) in [
            (
                403,
                r#"{"forbidden": {"code": 403, "message": "no"}}"#,
                "Forbidden",
                "no",
            ),
            (500, r#"{"message": "flat"}"#, "ClientException", "flat"),
            (500, r#"{"message": null}"#, "ClientException", "Unknown Error"),
            (500, r#"{"fault": {}}"#, "ClientException", "Unknown Error"),
            (503, "<html>", "ClientException", "Unknown Error"),
            (404, "", "NotFound", "Not found"),
            (413, "{}", "OverLimit", "Over limit"),
            (429, "[]", "RateLimit", "Rate limit"),
            (400, "[1]", "BadRequest", "n/a"),
        ] {
            assert_eq!(wording.class_name(status), class, "{status}");
            assert_eq!(
                wording.message(status, "text/plain", body.as_bytes()),
                message,
                "{body}"
            );
        }
    }
}
