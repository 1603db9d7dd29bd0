//! A request as it came off the wire, and what its handler may do with it.

use std::sync::Arc;

use async_trait::async_trait;
use bytes::Bytes;
use lapin::BasicProperties;
use serde_json::{Map, Value};

use super::fault::Fault;

/// The frame of a request exactly as the broker delivered it, for handing it on unchanged.
#[derive(Clone, Debug)]
pub struct Frame {
    pub(super) body: Bytes,
    pub properties: BasicProperties,
    pub(super) redelivered: bool,
}

impl Frame {
    pub fn body(&self) -> &[u8] {
        &self.body
    }

    /// Whether the broker has delivered this frame before (to us or to another engine).
    pub fn redelivered(&self) -> bool {
        self.redelivered
    }
}

/// One RPC request.
#[derive(Debug)]
pub struct Request {
    pub method: String,
    pub arguments: Map<String, Value>,
    /// The caller's context: the `_context_` keys without their prefix, in their order.
    pub context: Map<String, Value>,
    pub version: String,
    /// Identifies a call to its caller; a cast has none.
    pub message_id: Option<String>,
    pub unique_id: Option<String>,
    pub reply_queue: Option<String>,
    pub frame: Frame,
    pub settlement: Arc<Settlement>,
}

/// Whether and how a delivery was settled with the broker.
#[derive(Debug, Default)]
pub struct Settlement {}

impl Request {
    /// Whether somebody waits for a reply.
    pub fn expects_reply(&self) -> bool {
        self.message_id.is_some() && self.reply_queue.is_some()
    }

    /// Tells the broker that the work is done or safely recorded. The server does so at the latest
    /// when the handler returns; doing it twice is harmless.
    pub async fn acknowledge(&self) {}

    /// Gives the request back to its queue, for another engine or a later time. Nothing is replied.
    pub async fn requeue(&self) {}
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
