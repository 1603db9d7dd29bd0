//! Messages to the workers of all engines, this one among them.

use std::time::Duration;

use serde_json::{Map, Value, json};

use super::meeting::Meeting;
use super::request::CheckRequest;
use crate::identity::RequestContext;
use crate::messaging::{CallError, PublishError, RpcClient, Target};
use crate::stack::node::{Node, Subject};
use crate::stack::services::Services;

pub const WORKER_TOPIC: &str = "engine_worker";
pub const WORKER_VERSION: &str = "1.9";

/// What our engines ask of each other, and no Python engine of us.
pub const TAKE_OVER: &str = "take_over_check";

/// The version in which `cancel_check_resource` came: what Python clients ask for.
const CANCEL_VERSION: &str = "1.3";

/// One `check_resource`.
#[derive(Clone, Debug)]
pub struct CheckMessage<'a> {
    pub node: &'a Node,
    pub traversal: &'a str,
    /// As a sync point holds it: `{"input_data": {…}}`.
    pub input_data: Value,
    pub adopt_stack_data: Value,
    pub converge: bool,
    pub skip_propagate: bool,
    pub accumulated_failures: Option<Map<String, Value>>,
    pub abandon: bool,
}

impl<'a> CheckMessage<'a> {
    pub fn new(node: &'a Node, traversal: &'a str) -> Self {
        Self {
            node,
            traversal,
            input_data: Meeting::default().into_input_data(),
            adopt_stack_data: Value::Null,
            converge: false,
            skip_propagate: false,
            accumulated_failures: None,
            abandon: false,
        }
    }

    fn arguments(self) -> Map<String, Value> {
        let (id, kind) = match &self.node.subject {
            Subject::Resource(id) => (json!(id), "resource"),
            Subject::Snapshot(id) => (json!(id), "snapshot"),
        };
        let failures = self.accumulated_failures.filter(|failures| !failures.is_empty());
        Map::from_iter([
            ("resource_id".to_owned(), id),
            ("current_traversal".to_owned(), json!(self.traversal)),
            ("data".to_owned(), self.input_data),
            ("is_update".to_owned(), json!(self.node.is_update)),
            ("adopt_stack_data".to_owned(), self.adopt_stack_data),
            ("converge".to_owned(), json!(self.converge)),
            ("skip_propagate".to_owned(), json!(self.skip_propagate)),
            (
                "accumulated_failures".to_owned(),
                failures.map_or(Value::Null, Value::Object),
            ),
            ("node_type".to_owned(), json!(kind)),
            ("abandon".to_owned(), json!(self.abandon)),
        ])
    }
}

impl CheckRequest {
    /// The message that asks for it.
    pub fn to_arguments(&self) -> Map<String, Value> {
        let message = CheckMessage {
            node: &self.node,
            traversal: &self.traversal,
            input_data: self.input_data.clone(),
            adopt_stack_data: self.adopt_stack_data.clone(),
            converge: self.converge,
            skip_propagate: self.skip_propagate,
            accumulated_failures: self.accumulated_failures.clone(),
            abandon: self.abandon,
        };
        message.arguments()
    }
}

pub async fn check_resource(
    rpc: &RpcClient,
    context: &RequestContext,
    message: CheckMessage<'_>,
) -> Result<(), PublishError> {
    tracing::debug!(node = %message.node, traversal = message.traversal, "cast check_resource");
    let target = Target::topic(WORKER_TOPIC, WORKER_VERSION);
    rpc.cast(&target, "check_resource", message.arguments(), &context.to_wire())
        .await
}

/// How long an engine may take to say whether it takes over a check.
const TAKING_OVER: Duration = Duration::from_secs(5);

/// Asks another engine of our kind to wait for the resource of a check, which we hold, in our place.
pub(super) async fn take_over_check(
    services: &Services,
    context: &RequestContext,
    request: &CheckRequest,
    engine_id: &str,
) -> Result<bool, CallError> {
    let target = Target::topic(WORKER_TOPIC, WORKER_VERSION).server(engine_id);
    let mut arguments = request.to_arguments();
    arguments.insert("holder".to_owned(), json!(services.engine_id));
    let context = context.to_wire();
    let answer = services.rpc.call(&target, TAKE_OVER, arguments, &context, TAKING_OVER);
    Ok(answer.await? == Value::Bool(true))
}

/// Tells one engine to stop what it does for a stack. One that has no queue is gone, and does nothing.
pub async fn cancel_check_resource(
    rpc: &RpcClient,
    context: &RequestContext,
    stack_id: &str,
    engine_id: &str,
) -> Result<(), PublishError> {
    let target = Target::topic(WORKER_TOPIC, CANCEL_VERSION).server(engine_id);
    let arguments = Map::from_iter([("stack_id".to_owned(), json!(stack_id))]);
    let context = context.to_wire();
    let sent = rpc.cast_if_served(&target, "cancel_check_resource", arguments, &context);
    match sent.await {
        Err(PublishError::Undeliverable { .. }) => {
            tracing::info!(
                engine_id,
                stack_id,
                "the engine that holds resources of the stack is gone"
            );
            Ok(())
        }
        sent => sent,
    }
}
