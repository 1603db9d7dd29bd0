//! The JSON of a frame: oslo.messaging's envelope 2.0 and the message in it.

use bytes::Bytes;
use lapin::BasicProperties;
use serde_json::{Map, Value};
use tokio::sync::Semaphore;

use super::compression::{self, Undecodable};
use super::version;
use crate::python::json::{dumps, write_string};
use crate::python::json_reader::{JsonError, Misfit, loads_noting};

const VERSION_KEY: &str = "oslo.version";
const MESSAGE_KEY: &str = "oslo.message";
const ENVELOPE_VERSION: &str = "2.0";

/// Bodies up to this many bytes are read in less than a millisecond or two.
const READ_AT_ONCE: usize = 128 * 1024;
static LARGE_BODIES: Semaphore = Semaphore::const_new(2);

/// Why a body is no message.
#[derive(Debug, thiserror::Error)]
pub(super) enum Unreadable {
    #[error("it has {size} bytes, more than the {limit} allowed")]
    TooLarge { size: usize, limit: usize },
    #[error("it cannot be decompressed")]
    Compressed(#[from] Undecodable),
    #[error("its {part} is not JSON")]
    NotJson { part: &'static str, source: JsonError },
    #[error("its {part} is not a JSON object")]
    NotAnObject { part: &'static str },
    #[error("its oslo.message is not a text")]
    MessageNotText,
    #[error("its envelope has version {0}, and we read 2.0")]
    UnknownEnvelope(String),
    #[error("reading it broke off")]
    BrokeOff,
}

/// A message as it came.
#[derive(Debug, Default)]
pub(super) struct Message {
    pub(super) keys: Map<String, Value>,
    /// What Python put into it and has something else in its place here.
    pub(super) misfit: Option<Misfit>,
}

/// Puts a message into its envelope.
pub(super) fn seal(message: Map<String, Value>) -> Bytes {
    seal_text(&dumps(&Value::Object(message)))
}

/// As [`seal`], for a message that is text already.
pub(super) fn seal_text(message: &str) -> Bytes {
    // Each quote in it gets a backslash.
    let mut text = String::with_capacity(message.len() * 5 / 4 + 64);
    text.push_str(&format!(
        r#"{{"{VERSION_KEY}": "{ENVELOPE_VERSION}", "{MESSAGE_KEY}": "#
    ));
    write_string(&mut text, message);
    text.push('}');
    text.into()
}

/// A message without an envelope, as the oldest notifications are.
pub(super) fn bare(message: Map<String, Value>) -> Bytes {
    dumps(&Value::Object(message)).into()
}

/// Takes the message out of a frame's body.
pub(super) fn read(body: &[u8], properties: &BasicProperties, limit: usize) -> Result<Message, Unreadable> {
    match compression::header(properties) {
        None => open(body, limit),
        Some(name) => open(&compression::undo(&name, body, limit)?, limit),
    }
}

/// As [`read`]. A large body is read aside, for reading takes seconds then in which this thread would serve nobody; and
/// few of them at a time, for what is read takes many times the body's memory. The body is left as it was.
pub(super) async fn read_aside(
    body: &mut Vec<u8>,
    properties: &BasicProperties,
    limit: usize,
) -> Result<Message, Unreadable> {
    if body.len() <= READ_AT_ONCE {
        return read(body, properties, limit);
    }
    let _place = LARGE_BODIES.acquire().await;
    let (taken, properties) = (std::mem::take(body), properties.clone());
    let reading = tokio::task::spawn_blocking(move || {
        let message = read(&taken, &properties, limit);
        (message, taken)
    });
    match reading.await {
        Ok((message, taken)) => {
            *body = taken;
            message
        }
        Err(_) => Err(Unreadable::BrokeOff),
    }
}

/// By what a frame can be found again in the logs of its sender.
#[derive(Debug, Default, PartialEq, Eq)]
pub(super) struct Ids {
    pub(super) unique_id: Option<String>,
    pub(super) message_id: Option<String>,
}

/// The ids of a frame that cannot be read, if they can be made out in it.
pub(super) fn ids_of_unreadable(body: &[u8]) -> Ids {
    Ids {
        unique_id: id_after(body, b"_unique_id"),
        message_id: id_after(body, b"_msg_id"),
    }
}

/// The id behind a key, whether the message is text in an envelope (and its quotes have backslashes) or not.
/// oslo.messaging writes its keys behind the arguments, where a tenant's data could hold the same word.
fn id_after(body: &[u8], key: &[u8]) -> Option<String> {
    const LONGEST: usize = 64;
    let behind = memchr::memmem::rfind(body, key)? + key.len();
    let is_id = |byte: &&u8| byte.is_ascii_alphanumeric() || **byte == b'-';
    let rest = body.get(behind..)?;
    let separator = rest.iter().take_while(|byte| b"\\\": ".contains(byte)).count();
    let id: Vec<u8> = rest[separator..]
        .iter()
        .take_while(is_id)
        .take(LONGEST)
        .copied()
        .collect();
    let is_text = rest[..separator].ends_with(b"\"");
    String::from_utf8(id).ok().filter(|id| is_text && !id.is_empty())
}

/// A body without an envelope is a message itself.
pub(super) fn open(body: &[u8], limit: usize) -> Result<Message, Unreadable> {
    if body.len() > limit {
        return Err(Unreadable::TooLarge {
            size: body.len(),
            limit,
        });
    }
    let message = object("body", body)?;
    if !(message.keys.contains_key(VERSION_KEY) && message.keys.contains_key(MESSAGE_KEY)) {
        return Ok(message);
    }
    let mut outer = message.keys;
    let envelope_version = outer[VERSION_KEY].as_str().unwrap_or_default();
    if !version::is_compatible(ENVELOPE_VERSION, envelope_version) {
        return Err(Unreadable::UnknownEnvelope(outer[VERSION_KEY].to_string()));
    }
    match outer.remove(MESSAGE_KEY) {
        Some(Value::String(message)) => object("oslo.message", message.as_bytes()),
        _ => Err(Unreadable::MessageNotText),
    }
}

fn object(part: &'static str, text: &[u8]) -> Result<Message, Unreadable> {
    match parse(text) {
        Ok((Value::Object(keys), misfit)) => Ok(Message { keys, misfit }),
        Ok(_) => Err(Unreadable::NotAnObject { part }),
        Err(source) => Err(Unreadable::NotJson { part, source }),
    }
}

/// Reads what Python writes: its NaN, Infinity and lone surrogates too, which JSON does not have.
fn parse(text: &[u8]) -> Result<(Value, Option<Misfit>), JsonError> {
    match std::str::from_utf8(text) {
        Ok(text) => loads_noting(text),
        Err(error) => Err(JsonError {
            reason: "Not UTF-8",
            line: 1,
            column: 1,
            offset: error.valid_up_to(),
        }),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use rstest::rstest;
    use serde_json::json;

    #[test]
    fn a_sealed_message_is_text_in_an_object() {
        let Value::Object(message) = json!({"method": "größe", "n": 1.0}) else {
            unreachable!()
        };
        let body = seal(message.clone());
        let expected = r#"{"oslo.version": "2.0", "oslo.message": "{\"method\": \"gr\\u00f6\\u00dfe\", \"n\": 1.0}"}"#;
        assert_eq!(std::str::from_utf8(&body).unwrap(), expected);
        assert_eq!(open(&body, 1000).unwrap().keys, message);
    }

    #[test]
    fn a_body_without_an_envelope_is_the_message() {
        assert_eq!(open(br#"{"method": "m"}"#, 100).unwrap().keys["method"], "m");
    }

    #[rstest]
    #[case::nothing("")]
    #[case::no_json("hello")]
    #[case::half(r#"{"oslo.version": "2.0", "oslo.mess"#)]
    #[case::list("[]")]
    #[case::number("1")]
    #[case::inner_no_json(r#"{"oslo.version": "2.0", "oslo.message": "hello"}"#)]
    #[case::inner_list(r#"{"oslo.version": "2.0", "oslo.message": "[]"}"#)]
    #[case::inner_object(r#"{"oslo.version": "2.0", "oslo.message": {}}"#)]
    #[case::newer(r#"{"oslo.version": "2.1", "oslo.message": "{}"}"#)]
    #[case::other(r#"{"oslo.version": "3.0", "oslo.message": "{}"}"#)]
    #[case::odd_version(r#"{"oslo.version": 2.0, "oslo.message": "{}"}"#)]
    #[case::long(&"x".repeat(1001))]
    fn is_unreadable(#[case] body: &str) {
        assert!(open(body.as_bytes(), 1000).is_err());
    }

    #[test]
    fn depth_has_a_limit() {
        let nested = |levels: usize| {
            let inside = levels - 1;
            format!(r#"{{"a": {}1{}}}"#, "[".repeat(inside), "]".repeat(inside))
        };
        let read = |text: String| open(text.as_bytes(), text.len());
        assert!(read(nested(500)).is_ok());
        assert!(read(nested(501)).is_err());
        assert!(read(nested(100_000)).is_err());
    }

    #[rstest]
    #[case::cut_off(
        r#"{"method": "m", "args": {}, "_unique_id": "1a-2b", "_msg_id": "3c"#,
        Some("1a-2b"),
        Some("3c")
    )]
    #[case::in_an_envelope(
        r#"{"oslo.version": "9", "oslo.message": "{\"_unique_id\": \"1a\"}"}"#,
        Some("1a"),
        None
    )]
    #[case::a_tenants(r#"{"args": {"_msg_id": "no"}, "_msg_id": "yes""#, None, Some("yes"))]
    #[case::no_text(r#"{"_unique_id": null, "_msg_id": 7}"#, None, None)]
    #[case::at_the_end(r#"{"_unique_id"#, None, None)]
    #[case::nothing("", None, None)]
    fn ids_are_made_out(#[case] body: &str, #[case] unique_id: Option<&str>, #[case] message_id: Option<&str>) {
        let ids = ids_of_unreadable(body.as_bytes());
        assert_eq!(
            (ids.unique_id.as_deref(), ids.message_id.as_deref()),
            (unique_id, message_id)
        );
    }
}
