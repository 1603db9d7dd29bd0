//! Topic `heat-engine-listener`: what engines ask of each other.

use async_trait::async_trait;
use serde_json::{Value, json};

use super::arguments::{Arguments, Signature};
use super::error::RequestError;
use crate::convergence::peers::KIND_MARK;
use crate::convergence::running::RunningChecks;
use crate::messaging::{Answer, Dispatch, Fault, Request};

pub use crate::convergence::peers::{LISTENER_TOPIC, LISTENER_VERSION};

const METHODS: &[(&str, Signature)] = &[
    ("listening", Signature::new(&[], &[])),
    ("send", Signature::new(&["stack_identity", "message"], &[])),
    ("stop_stack", Signature::new(&["stack_identity"], &[])),
];

/// Answers for one engine, by its id.
#[derive(Clone, Debug)]
pub struct Listener {
    running: RunningChecks,
}

impl Listener {
    pub fn new(running: RunningChecks) -> Self {
        Self { running }
    }

    fn answer(&self, request: &Request) -> Result<Value, RequestError> {
        let Some((name, signature)) = METHODS.iter().find(|(name, _)| *name == request.method) else {
            return Err(RequestError::TypeError(format!(
                "{} is no method of an engine",
                request.method
            )));
        };
        signature.check(&format!("EngineListener.{name}"), &request.arguments)?;
        let arguments = Arguments::new(request.arguments.clone());
        match *name {
            "listening" if request.context.contains_key(KIND_MARK) => {
                Ok(json!({ KIND_MARK: env!("CARGO_PKG_VERSION") }))
            }
            "listening" => Ok(Value::Bool(true)),
            // Both end what runs for the stack here: the one at its next step, as is the only way with us, the other
            // by a message that asks for it.
            _ => {
                let identity = arguments.map("stack_identity")?;
                let stack_id = identity
                    .and_then(|identity| identity.get("stack_id"))
                    .and_then(Value::as_str);
                let Some(stack_id) = stack_id else {
                    return Err(RequestError::ValueError("stack_identity names no stack_id".to_owned()));
                };
                self.running.cancel(stack_id);
                Ok(Value::Null)
            }
        }
    }
}

#[async_trait]
impl Dispatch for Listener {
    fn contains(&self, method: &str) -> bool {
        METHODS.iter().any(|(name, _)| *name == method)
    }

    async fn call(&self, request: Request) -> Result<Answer, Fault> {
        self.answer(&request).map(Answer::from).map_err(Fault::from)
    }
}
