//! Frames that go from engine to engine.
//!
//! Engines of one host read the same queue, so a frame that one of them cannot serve may come back to it. The frame
//! itself is not touched; how often it was handed on stands in a header, which oslo.messaging does not read.

use lapin::BasicProperties;
use lapin::types::AMQPValue;

use super::request::Frame;

const HEADER: &str = "x-heat-engine-rs-handovers";

impl Frame {
    /// How often engines have handed this frame on.
    pub fn handovers(&self) -> u32 {
        count(&self.properties)
    }

    /// The frame as it goes to the next engine.
    #[must_use]
    pub fn handed_over(&self) -> Self {
        let mut headers = self.properties.headers().clone().unwrap_or_default();
        headers.insert(HEADER.into(), AMQPValue::LongUInt(self.handovers().saturating_add(1)));
        let mut next = self.clone();
        next.properties = next.properties.with_headers(headers);
        next
    }
}

fn count(properties: &BasicProperties) -> u32 {
    let headers = properties.headers().as_ref();
    let value = headers.and_then(|headers| headers.inner().get(HEADER));
    value.and_then(AMQPValue::as_long_uint).unwrap_or(0)
}

/// What tells a request from its own duplicates. One that comes back from a queue that we passed it to is none, even
/// while we have not finished passing it on.
pub(super) fn request_key(unique_id: &str, properties: &BasicProperties) -> String {
    match count(properties) {
        0 => unique_id.to_owned(),
        handovers => format!("{unique_id}, handed over {handovers} times"),
    }
}

#[cfg(test)]
mod tests {
    use bytes::Bytes;

    use super::*;

    #[test]
    fn each_handover_counts_and_changes_nothing_else() {
        let frame = Frame {
            body: Bytes::from_static(b"{}"),
            properties: BasicProperties::default().with_expiration("60000".into()),
            routing_key: String::new(),
            redelivered: false,
        };
        let twice = frame.handed_over().handed_over();
        assert_eq!((frame.handovers(), twice.handovers()), (0, 2));
        assert_ne!(
            request_key("u", &twice.properties),
            request_key("u", &frame.handed_over().properties)
        );
        assert_eq!(twice.body(), frame.body());
        assert_eq!(twice.properties.expiration(), frame.properties.expiration());
    }
}
