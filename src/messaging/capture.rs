//! Frames that somebody has kept, as files: the body of a message as the broker has it, the message that is in its
//! envelope, or what the management API shows of a queue.

use serde_json::{Map, Value};

use super::envelope::{self, Unreadable};
use super::request::{Incoming, Malformed};
use super::version::{self, Unserved};

/// A request that is not on the bus any more.
#[derive(Clone, Debug)]
pub struct CapturedRequest {
    pub method: String,
    pub arguments: Map<String, Value>,
    pub context: Map<String, Value>,
    pub version: String,
    pub namespace: Option<String>,
}

/// Why a capture is no request.
#[derive(Debug, thiserror::Error)]
pub enum CaptureError {
    #[error("{0}")]
    Unreadable(String),
    #[error("it is no RPC request: {0}")]
    NoRequest(String),
    #[error("it holds {0} messages; keep one")]
    Several(usize),
}

impl CapturedRequest {
    pub fn read(body: &[u8], limit: usize) -> Result<Self, CaptureError> {
        let message = match payload(body)? {
            Some(payload) => envelope::open(payload.as_bytes(), limit),
            None => envelope::open(body, limit),
        };
        let request = Incoming::read(message.map_err(with_causes)?);
        let request = request.map_err(|error: Malformed| CaptureError::NoRequest(error.to_string()))?;
        Ok(Self {
            method: request.method,
            arguments: request.arguments,
            context: request.context,
            version: request.version,
            namespace: request.namespace,
        })
    }

    /// Whether a server of version `served` would take it off the bus.
    pub fn check_version(&self, served: &str) -> Result<(), Unserved> {
        version::check(served, self.namespace.as_deref(), &self.version)
    }
}

/// The body within what the management API gives for messages of a queue: a list of objects.
fn payload(body: &[u8]) -> Result<Option<String>, CaptureError> {
    let Ok(Value::Array(messages)) = serde_json::from_slice(body) else {
        return Ok(None);
    };
    match messages.as_slice() {
        [message] => Ok(message.get("payload").and_then(Value::as_str).map(str::to_owned)),
        several => Err(CaptureError::Several(several.len())),
    }
}

fn with_causes(error: Unreadable) -> CaptureError {
    let causes = std::iter::successors(Some(&error as &dyn std::error::Error), |error| error.source());
    let texts: Vec<String> = causes.map(ToString::to_string).collect();
    CaptureError::Unreadable(texts.join(": "))
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn read(body: &Value) -> Result<CapturedRequest, CaptureError> {
        CapturedRequest::read(body.to_string().as_bytes(), 10_000)
    }

    #[test]
    fn a_frame_is_read_in_each_of_its_forms() {
        let inner = json!({"method": "check_resource", "args": {"resource_id": 7}, "_context_tenant_id": "p"});
        let sealed = json!({"oslo.version": "2.0", "oslo.message": inner.to_string()});
        let of_queue = json!([{"payload": sealed.to_string(), "routing_key": "engine_worker"}]);
        for form in [inner, sealed, of_queue] {
            let request = read(&form).unwrap();
            assert_eq!(request.method, "check_resource");
            assert_eq!(request.arguments["resource_id"], 7);
            assert_eq!(request.context["tenant_id"], "p");
        }
    }

    #[test]
    fn what_the_bus_would_not_deliver_is_not_served() {
        let served = |more: Value| {
            let mut frame = json!({"method": "m"});
            let more = more.as_object().expect("an object").clone();
            frame.as_object_mut().expect("an object").extend(more);
            read(&frame).unwrap().check_version("1.9")
        };
        for good in [
            json!({}),
            json!({"version": "1.9"}),
            json!({"version": "1.2", "namespace": null}),
        ] {
            assert_eq!(served(good.clone()), Ok(()), "{good}");
        }
        for odd in [
            json!({"version": "9.9"}),
            json!({"version": "1.10"}),
            json!({"version": 1}),
            json!({"namespace": "n"}),
        ] {
            assert_eq!(served(odd.clone()), Err(Unserved), "{odd}");
        }
    }

    #[test]
    fn what_is_no_frame_says_why() {
        let error = |body: &[u8]| CapturedRequest::read(body, 100).unwrap_err().to_string();
        assert!(
            error(b"{\"method\": \"ch").starts_with("its body is not JSON: "),
            "{}",
            error(b"{\"method\": \"ch")
        );
        assert_eq!(error(b"{}"), "it is no RPC request: there is no method");
        assert_eq!(error(b"[{}, {}]"), "it holds 2 messages; keep one");
    }
}
