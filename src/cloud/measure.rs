//! What is counted of requests to other services.

use std::time::Duration;

use metrics::{counter, describe_counter, describe_histogram, histogram};
use reqwest::Method;

const REQUESTS: &str = "heat_engine_http_requests_total";
const SECONDS: &str = "heat_engine_http_request_seconds";

pub fn describe() {
    describe_counter!(
        REQUESTS,
        "Requests to other services, each attempt, by service, method and status (none: no answer)"
    );
    describe_histogram!(SECONDS, "How long other services took to answer, by service");
}

/// One attempt is over. `status` is that of the answer, if there was one.
pub(super) fn attempted(service: &'static str, method: &Method, status: Option<u16>, took: Duration) {
    let code = status.map_or_else(|| "none".to_owned(), |status| status.to_string());
    counter!(REQUESTS, "service" => service, "method" => method.to_string(), "code" => code).increment(1);
    histogram!(SECONDS, "service" => service).record(took.as_secs_f64());
}
