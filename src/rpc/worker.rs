//! Topic `engine_worker`: the work on single resources.

use std::time::Duration;

use async_trait::async_trait;
use serde_json::{Map, Value};
use tracing::{Instrument, Span};

use super::arguments::{Arguments, Signature};
use super::error::{NotServed, RequestError};
use super::handover::{Handed, Handover, HandoverError};
use crate::convergence::engine::Convergence;
use crate::convergence::request::{CheckRequest, Checked};
use crate::convergence::running::RunningChecks;
use crate::convergence::work::Receipt;
use crate::exception::chain;
use crate::identity::RequestContext;
use crate::identity::token_descriptions::TokenDescriptions;
use crate::messaging;
use crate::messaging::{Answer, Dispatch, Fault, Request};
use crate::resource::failure::Failure;
use crate::stack::node::{Node, Subject};

use crate::convergence::worker_client::TAKE_OVER;
pub use crate::convergence::worker_client::{WORKER_TOPIC, WORKER_VERSION};

/// Before a message that met an outage goes back to its queue.
const OUTAGE_PAUSE: Duration = Duration::from_secs(2);

const CHECK: &str = "check_resource";
const CANCEL: &str = "cancel_check_resource";
const DELETE_SNAPSHOT: &str = "check_resource_delete_snapshot";

const OPTIONS_OF_A_CHECK: &[&str] = &[
    "converge",
    "skip_propagate",
    "accumulated_failures",
    "node_type",
    "abandon",
];

const METHODS: &[(&str, Signature)] = &[
    (
        CHECK,
        Signature::new(
            &[
                "resource_id",
                "current_traversal",
                "data",
                "is_update",
                "adopt_stack_data",
            ],
            OPTIONS_OF_A_CHECK,
        ),
    ),
    (CANCEL, Signature::new(&["stack_id"], &[])),
    (
        DELETE_SNAPSHOT,
        Signature::new(
            &["snapshot_id", "resource_name"],
            &["start_time", "is_stack_delete", "current_traversal"],
        ),
    ),
    (
        TAKE_OVER,
        Signature::new(
            &[
                "resource_id",
                "current_traversal",
                "data",
                "is_update",
                "adopt_stack_data",
                "holder",
            ],
            OPTIONS_OF_A_CHECK,
        ),
    ),
];

#[derive(Clone)]
pub struct Worker {
    pub convergence: Convergence,
    pub handover: Handover,
    pub tokens: TokenDescriptions,
}

/// Acknowledges a message once its work is recorded, so that a crash before that brings it back.
struct Delivery(messaging::Receipt);

#[async_trait]
impl Receipt for Delivery {
    async fn acknowledge(&self) {
        self.0.acknowledge().await;
    }
}

#[async_trait]
impl Dispatch for Worker {
    fn contains(&self, method: &str) -> bool {
        METHODS.iter().any(|(name, _)| *name == method)
    }

    async fn call(&self, mut request: Request) -> Result<Answer, Fault> {
        let new_request_id = || format!("req-{}", self.convergence.services.clock.new_uuid());
        // What came on the wire is not kept beside what was made of it: a check may wait for hours.
        let mut context = RequestContext::from_wire(&std::mem::take(&mut request.context), new_request_id);
        if let Ok(context) = &mut context {
            self.tokens.share(context);
        }
        let span = context.as_ref().map_or_else(|_| Span::none(), RequestContext::span);
        let arguments = Arguments::new(std::mem::take(&mut request.arguments));
        let working = async {
            let worked = match context {
                Ok(context) => self.work(&request, arguments, &context).await,
                Err(error) => Err(RequestError::ValueError(error.to_string())),
            };
            worked.map_err(|error| {
                let (method, unique_id) = (&request.method, &request.unique_id);
                tracing::error!(method, unique_id, error = %error.chain(), "the work failed");
                Fault::from(error)
            })
        };
        working.instrument(span).await
    }
}

impl Worker {
    async fn work(
        &self,
        request: &Request,
        arguments: Arguments,
        context: &RequestContext,
    ) -> Result<Answer, RequestError> {
        let Some((name, signature)) = METHODS.iter().find(|(name, _)| *name == request.method) else {
            return Err(RequestError::TypeError(format!(
                "{} is no method of a worker",
                request.method
            )));
        };
        signature.check(&format!("WorkerService.{name}"), arguments.all())?;
        match *name {
            CANCEL => cancel(&self.convergence.running, &arguments),
            TAKE_OVER => self.take_over(arguments, context).await,
            CHECK => self.check(request, check_request(arguments)?, context).await,
            _ => self.hand_over(request, "snapshots").await,
        }
    }

    async fn check(
        &self,
        request: &Request,
        check: CheckRequest,
        context: &RequestContext,
    ) -> Result<Answer, RequestError> {
        let receipt = Delivery(request.receipt());
        let checked = match self.convergence.check_resource(context, &check, &receipt).await {
            Err(error) if error.is_outage() => {
                // The outage itself is told where it is watched; every message that meets it need not.
                tracing::debug!(node = %check.node, error = %chain(&error), "put back until the outage is over");
                tokio::time::sleep(OUTAGE_PAUSE).await;
                request.requeue().await;
                return Ok(Answer::HandedOver);
            }
            outcome => outcome?,
        };
        match checked {
            Checked::Done => Ok(Answer::Value(Value::Null)),
            Checked::NotServed(reason) => match self.handover.work(&request.frame).await {
                Ok(Handed::Over) => {
                    tracing::info!(node = %check.node, "handed to a Python engine: {reason}");
                    Ok(Answer::HandedOver)
                }
                Ok(Handed::NoEngine) => {
                    let failure = Failure::terminal("EntityNotFound", reason);
                    self.convergence.fail_unserved(context, &check, &failure).await?;
                    Ok(Answer::Value(Value::Null))
                }
                Err(error) => Ok(put_back(request, &error).await),
            },
        }
    }

    async fn take_over(&self, arguments: Arguments, context: &RequestContext) -> Result<Answer, RequestError> {
        let holder = arguments.required_text("holder")?.to_owned();
        let check = check_request(arguments)?;
        let taken = self
            .convergence
            .take_over_check(context.clone(), check, &holder)
            .await?;
        Ok(Answer::Value(Value::Bool(taken)))
    }

    async fn hand_over(&self, request: &Request, what: &str) -> Result<Answer, RequestError> {
        match self.handover.work(&request.frame).await {
            Ok(Handed::Over) => Ok(Answer::HandedOver),
            Ok(Handed::NoEngine) => Err(NotServed::Feature(format!("Work on {what}")).into()),
            Err(error) => Ok(put_back(request, &error).await),
        }
    }
}

/// The frame is still ours and unanswered: another engine, or we in a while, may have more luck.
async fn put_back(request: &Request, error: &HandoverError) -> Answer {
    tracing::error!(
        error = error as &dyn std::error::Error,
        "cannot hand the work over; put back"
    );
    request.requeue().await;
    Answer::HandedOver
}

fn cancel(running: &RunningChecks, arguments: &Arguments) -> Result<Answer, RequestError> {
    running.cancel(arguments.required_text("stack_id")?);
    Ok(Answer::Value(Value::Null))
}

/// A worker that takes no work, but can be told to stop the one that it has.
pub struct BusyWorker {
    pub running: RunningChecks,
}

#[async_trait]
impl Dispatch for BusyWorker {
    fn contains(&self, method: &str) -> bool {
        method == CANCEL
    }

    async fn call(&self, request: Request) -> Result<Answer, Fault> {
        cancel(&self.running, &Arguments::new(request.arguments)).map_err(Fault::from)
    }
}

/// A `check_resource` as its message has it.
pub fn read_check(method: &str, arguments: Map<String, Value>) -> Result<CheckRequest, RequestError> {
    let (_, signature) = &METHODS[0];
    if method != CHECK {
        return Err(RequestError::TypeError(format!("it is a {method}, not a {CHECK}")));
    }
    signature.check(&format!("WorkerService.{CHECK}"), &arguments)?;
    check_request(Arguments::new(arguments))
}

fn check_request(mut arguments: Arguments) -> Result<CheckRequest, RequestError> {
    let is_snapshot = arguments.text("node_type")? == Some("snapshot");
    let id = arguments.value("resource_id");
    let subject = match is_snapshot {
        true => id.and_then(Value::as_str).map(|id| Subject::Snapshot(id.to_owned())),
        false => arguments.integer("resource_id")?.map(Subject::Resource),
    };
    let subject = subject.ok_or_else(|| RequestError::ValueError("resource_id names nothing".to_owned()))?;
    Ok(CheckRequest {
        node: Node {
            subject,
            is_update: arguments.flag("is_update", false),
        },
        traversal: arguments.required_text("current_traversal")?.to_owned(),
        input_data: arguments.take("data"),
        adopt_stack_data: arguments.take("adopt_stack_data"),
        converge: arguments.flag("converge", false),
        skip_propagate: arguments.flag("skip_propagate", false),
        accumulated_failures: arguments.map("accumulated_failures")?.cloned(),
        abandon: arguments.flag("abandon", false),
    })
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn a_frame_of_the_python_engine_is_understood() {
        let Value::Object(arguments) = json!({
            "resource_id": 6209, "current_traversal": "3e23", "data": {"input_data": {}}, "is_update": true,
            "adopt_stack_data": null, "converge": false, "skip_propagate": false, "accumulated_failures": null,
            "node_type": "resource", "abandon": false
        }) else {
            unreachable!()
        };
        METHODS[0].1.check("WorkerService.check_resource", &arguments).unwrap();
        let check = check_request(Arguments::new(arguments)).unwrap();
        assert_eq!(check.node, Node::update(6209));
        assert_eq!(check.input_data, json!({"input_data": {}}));
        assert!(check.adopt_stack_data.is_null() && check.accumulated_failures.is_none());
    }
}
