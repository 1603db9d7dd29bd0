//! Frames that go from engine to engine.
//!
//! Engines of one host read the same queue, so a frame that one of them cannot serve may come back to it. The frame
//! itself is not touched; how often it was handed on stands in a header, which oslo.messaging does not read.

use lapin::types::AMQPValue;

use super::request::Frame;

const HEADER: &str = "x-heat-engine-rs-handovers";

impl Frame {
    /// How often engines have handed this frame on.
    pub fn handovers(&self) -> u32 {
        let value = self
            .properties
            .headers()
            .as_ref()
            .and_then(|headers| headers.inner().get(HEADER));
        value.and_then(AMQPValue::as_long_uint).unwrap_or(0)
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

#[cfg(test)]
mod tests {
    use bytes::Bytes;
    use lapin::BasicProperties;

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
        assert_eq!(twice.body(), frame.body());
        assert_eq!(twice.properties.expiration(), frame.properties.expiration());
    }
}
