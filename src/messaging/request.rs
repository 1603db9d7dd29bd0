//! A request as it came off the wire, and what its handler may do with it.

use std::sync::Arc;
use std::time::Duration;

use async_trait::async_trait;
use bytes::Bytes;
use lapin::BasicProperties;
use serde_json::{Map, Value};

use super::envelope::Message;
use super::fault::Fault;
use super::settlement::Settlement;
use crate::python::json::{dumps_map, write, write_string};
use crate::python::json_reader::Misfit;

const CONTEXT_PREFIX: &str = "_context_";
const ARGUMENTS: &str = "args";

/// The frame of a request exactly as the broker delivered it, for handing it on unchanged.
#[derive(Clone, Debug)]
pub struct Frame {
    pub(super) body: Bytes,
    pub(super) properties: BasicProperties,
    pub(super) routing_key: String,
    pub(super) redelivered: bool,
}

impl Frame {
    pub fn body(&self) -> &[u8] {
        &self.body
    }

    /// The routing key by which it came: the topic, or `topic.server`; empty if it was sent to all servers.
    pub fn routing_key(&self) -> &str {
        &self.routing_key
    }

    /// Whether the broker has delivered this frame before, to us or to another engine.
    pub fn redelivered(&self) -> bool {
        self.redelivered
    }
}

/// Where the reply to a call goes.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ReplyAddress {
    pub message_id: String,
    pub queue: String,
}

/// One RPC request.
#[derive(Debug)]
pub struct Request {
    pub method: String,
    pub arguments: Map<String, Value>,
    /// The caller's context: the `_context_` keys without their prefix, in their order.
    pub context: Map<String, Value>,
    pub version: String,
    pub unique_id: Option<String>,
    /// Where somebody waits for the reply; a cast has none.
    pub reply_to: Option<ReplyAddress>,
    /// What the arguments held that has something else in its place now; its path begins with an argument's name.
    pub misfit: Option<Misfit>,
    pub frame: Frame,
    pub(super) settlement: Arc<Settlement>,
}

impl Request {
    /// Tells the broker that the work is done or safely recorded. The server does so at the latest when the handler
    /// returns; doing it twice is harmless.
    pub async fn acknowledge(&self) {
        self.settlement.acknowledge().await;
    }

    /// Gives the request back to its queue, for another engine or a later time. Nothing is replied.
    pub async fn requeue(&self) {
        self.settlement.requeue().await;
    }

    /// For a handler that outlives its request: lets it acknowledge after the arguments have been taken apart.
    pub fn receipt(&self) -> Receipt {
        Receipt(self.settlement.clone())
    }
}

/// The right to acknowledge a request, or to give it back.
#[derive(Clone, Debug)]
pub struct Receipt(Arc<Settlement>);

impl Receipt {
    pub async fn acknowledge(&self) {
        self.0.acknowledge().await;
    }

    pub async fn requeue(&self) {
        self.0.requeue().await;
    }
}

/// What a handler has to say at the end of a request.
#[derive(Debug)]
pub enum Answer {
    /// The result, sent to the caller if there is one.
    Value(Value),
    /// The frame went to another engine, which will answer the caller.
    HandedOver,
}

impl From<Value> for Answer {
    fn from(value: Value) -> Self {
        Self::Value(value)
    }
}

/// The methods behind an RPC server.
#[async_trait]
pub trait Dispatch: Send + Sync + 'static {
    /// Whether the method is part of the contract; all others are answered as unknown.
    fn contains(&self, method: &str) -> bool;

    async fn call(&self, request: Request) -> Result<Answer, Fault>;
}

/// A message taken apart, before anybody has looked whether it is for us.
#[derive(Debug)]
pub(super) struct Incoming {
    pub(super) method: String,
    pub(super) arguments: Map<String, Value>,
    pub(super) context: Map<String, Value>,
    pub(super) namespace: Option<String>,
    pub(super) version: String,
    pub(super) unique_id: Option<String>,
    pub(super) reply_to: Option<ReplyAddress>,
    /// In the arguments.
    pub(super) misfit: Option<Misfit>,
    /// The caller gives up after this time without a sign of life.
    pub(super) call_monitor_timeout: Option<Duration>,
}

/// A message that is no request.
#[derive(Debug, thiserror::Error)]
#[error("{problem}")]
pub(super) struct Malformed {
    pub(super) problem: String,
    pub(super) unique_id: Option<String>,
    /// If that much could be read: the caller can be told.
    pub(super) reply_to: Option<ReplyAddress>,
}

impl Incoming {
    /// Takes its keys out one by one (and not by `remove`, which would move others into the gaps).
    pub(super) fn read(message: Message) -> Result<Self, Malformed> {
        let misfit = message.misfit.and_then(in_arguments);
        let mut message = message.keys;
        let unique_id = text(message.get("_unique_id"));
        let reply_to = match (text(message.get("_msg_id")), text(message.get("_reply_q"))) {
            (Some(message_id), Some(queue)) => Some(ReplyAddress { message_id, queue }),
            _ => None,
        };
        let malformed = |problem: String| Malformed {
            problem,
            unique_id: unique_id.clone(),
            reply_to: reply_to.clone(),
        };
        let method = match message.shift_remove("method") {
            Some(Value::String(method)) => method,
            Some(other) => return Err(malformed(format!("the method is a {}", kind(&other)))),
            None => return Err(malformed("there is no method".to_owned())),
        };
        let arguments = match message.shift_remove(ARGUMENTS) {
            Some(Value::Object(arguments)) => arguments,
            Some(other) => return Err(malformed(format!("the arguments of {method} are a {}", kind(&other)))),
            None => Map::new(),
        };
        let namespace = match message.shift_remove("namespace") {
            Some(Value::String(namespace)) => Some(namespace),
            Some(Value::Null) | None => None,
            Some(other) => return Err(malformed(format!("the namespace is a {}", kind(&other)))),
        };
        let version = match message.shift_remove("version") {
            Some(Value::String(version)) => version,
            Some(other) => other.to_string(),
            None => "1.0".to_owned(),
        };
        let call_monitor_timeout = call_monitor_timeout(message.get("_timeout"));
        let context = message
            .into_iter()
            .filter_map(|(key, value)| Some((key.strip_prefix(CONTEXT_PREFIX)?.to_owned(), value)))
            .collect();
        Ok(Self {
            method,
            arguments,
            context,
            namespace,
            version,
            unique_id,
            reply_to,
            misfit,
            call_monitor_timeout,
        })
    }
}

fn in_arguments(mut misfit: Misfit) -> Option<Misfit> {
    let is_argument = misfit.path.first().is_some_and(|key| key == ARGUMENTS);
    is_argument.then(|| {
        misfit.path.remove(0);
        misfit
    })
}

fn text(value: Option<&Value>) -> Option<String> {
    value
        .and_then(Value::as_str)
        .filter(|text| !text.is_empty())
        .map(str::to_owned)
}

/// Whole seconds, two or more: a sign of life is due after half of them, and not more than one a second.
fn call_monitor_timeout(value: Option<&Value>) -> Option<Duration> {
    let value = value?;
    let seconds = match value {
        Value::Null => return None,
        Value::Number(number) => number.as_f64().map(f64::trunc),
        Value::String(text) => text.trim().parse::<u32>().ok().map(f64::from),
        _ => None,
    };
    match seconds {
        Some(seconds) if (2.0..1e9).contains(&seconds) => Some(Duration::from_secs_f64(seconds)),
        Some(0.0) => None,
        _ => {
            tracing::warn!(timeout = %value, "the caller asks for signs of life at an interval that makes no sense");
            None
        }
    }
}

fn kind(value: &Value) -> &'static str {
    match value {
        Value::Null => "null",
        Value::Bool(_) => "boolean",
        Value::Number(_) => "number",
        Value::String(_) => "text",
        Value::Array(_) => "list",
        Value::Object(_) => "map",
    }
}

/// A message with its context, as text.
pub(super) fn message_text(message: &Map<String, Value>, context: &Map<String, Value>) -> String {
    let mut text = dumps_map(message);
    // The closing brace; a message is never empty.
    text.pop();
    for (key, value) in context {
        text.push_str(", ");
        write_string(&mut text, &format!("{CONTEXT_PREFIX}{key}"));
        text.push_str(": ");
        write(&mut text, value);
    }
    text.push('}');
    text
}

/// The keys of a context, as a message carries them.
pub(super) fn pack_context(message: &mut Map<String, Value>, context: &Map<String, Value>) {
    for (key, value) in context {
        message.insert(format!("{CONTEXT_PREFIX}{key}"), value.clone());
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use rstest::rstest;
    use serde_json::json;

    fn read(message: Value) -> Result<Incoming, Malformed> {
        let Value::Object(message) = message else {
            unreachable!()
        };
        Incoming::read(Message {
            keys: message,
            misfit: None,
        })
    }

    #[test]
    fn takes_a_call_apart() {
        let request = read(json!({
            "method": "m", "args": {"b": 1, "a": 2}, "version": "1.5", "_msg_id": "i", "_reply_q": "q", "_timeout": 10,
            "_unique_id": "u", "_context_z": 1, "_context_a": null,
        }))
        .unwrap();
        assert_eq!(request.method, "m");
        assert_eq!(request.arguments.keys().collect::<Vec<_>>(), ["b", "a"]);
        assert_eq!(request.context.keys().collect::<Vec<_>>(), ["z", "a"]);
        assert_eq!(request.version, "1.5");
        assert_eq!(request.unique_id.as_deref(), Some("u"));
        let address = ReplyAddress {
            message_id: "i".to_owned(),
            queue: "q".to_owned(),
        };
        assert_eq!(request.reply_to, Some(address));
        assert_eq!(request.call_monitor_timeout, Some(Duration::from_secs(10)));
    }

    #[test]
    fn a_bare_cast_has_defaults() {
        let request = read(json!({"method": "m"})).unwrap();
        assert_eq!(
            (request.version.as_str(), request.reply_to, request.arguments.len()),
            ("1.0", None, 0)
        );
    }

    #[rstest]
    #[case::no_method(json!({"args": {}}))]
    #[case::method_of_another_kind(json!({"method": 1}))]
    #[case::arguments_in_a_list(json!({"method": "m", "args": []}))]
    #[case::no_arguments(json!({"method": "m", "args": null}))]
    #[case::namespace_of_another_kind(json!({"method": "m", "namespace": 3}))]
    fn is_no_request(#[case] mut message: Value) {
        message["_unique_id"] = "u".into();
        message["_msg_id"] = "i".into();
        message["_reply_q"] = "q".into();
        let malformed = read(message).unwrap_err();
        assert_eq!(malformed.unique_id.as_deref(), Some("u"));
        assert!(malformed.reply_to.is_some());
    }

    #[rstest]
    #[case(json!(10), Some(10))]
    #[case(json!(2.9), Some(2))]
    #[case(json!("30"), Some(30))]
    #[case(json!(1), None)]
    #[case(json!(-5), None)]
    #[case(json!(null), None)]
    #[case(json!("soon"), None)]
    #[case(json!([1]), None)]
    #[case(json!(1e300), None)]
    fn signs_of_life_need_an_interval(#[case] timeout: Value, #[case] seconds: Option<u64>) {
        assert_eq!(call_monitor_timeout(Some(&timeout)), seconds.map(Duration::from_secs));
    }
}
