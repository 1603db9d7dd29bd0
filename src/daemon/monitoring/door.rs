//! The door at which monitoring knocks: a few pages over HTTP, for whoever may reach the address.

use std::convert::Infallible;
use std::sync::Arc;
use std::time::Duration;

use http_body_util::Full;
use hyper::body::{Bytes, Incoming};
use hyper::header::{ALLOW, CONTENT_TYPE, HeaderValue};
use hyper::server::conn::http1;
use hyper::service::service_fn;
use hyper::{Method, Request, Response, StatusCode};
use hyper_util::rt::{TokioIo, TokioTimer};
use serde_json::json;
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::{OwnedSemaphorePermit, Semaphore};

use super::Monitoring;

/// Prometheus has one, an orchestrator another; nobody needs many.
const MOST_CONNECTIONS: usize = 32;
const LONGEST_CONNECTION: Duration = Duration::from_secs(30);
const BETWEEN_ATTEMPTS: Duration = Duration::from_secs(10);

/// What is told at an address.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Shows {
    Health,
    HealthAndMetrics,
}

/// Serves until the process ends. An address that is taken (by an engine that is about to end, perhaps) is tried again:
/// that nobody can look at an engine is no reason for it not to work.
pub async fn keep_open(address: String, shows: Shows, monitoring: Monitoring) {
    let listener = listen(&address).await;
    let with_metrics = shows == Shows::HealthAndMetrics;
    tracing::info!(address, with_metrics, "monitoring can look at this engine");
    let places = Arc::new(Semaphore::new(MOST_CONNECTIONS));
    loop {
        let Ok(place) = places.clone().acquire_owned().await else {
            return;
        };
        match listener.accept().await {
            Ok((stream, _)) => drop(tokio::spawn(serve(stream, shows, monitoring.clone(), place))),
            // Too many open files, most often.
            Err(error) => {
                tracing::debug!(%error, "a connection for monitoring was not accepted");
                tokio::time::sleep(Duration::from_secs(1)).await;
            }
        }
    }
}

async fn listen(address: &str) -> TcpListener {
    let mut told = false;
    loop {
        match TcpListener::bind(address).await {
            Ok(listener) => return listener,
            Err(error) if !told => {
                told = true;
                tracing::error!(address, %error, "nobody can look at this engine for now; trying again");
            }
            Err(_) => {}
        }
        tokio::time::sleep(BETWEEN_ATTEMPTS).await;
    }
}

async fn serve(stream: TcpStream, shows: Shows, monitoring: Monitoring, place: OwnedSemaphorePermit) {
    let answering = service_fn(move |request: Request<Incoming>| {
        let answer = answer(request.method(), request.uri().path(), shows, &monitoring);
        std::future::ready(Ok::<_, Infallible>(answer))
    });
    let connection = http1::Builder::new()
        .timer(TokioTimer::new())
        .keep_alive(false)
        .serve_connection(TokioIo::new(stream), answering);
    // Whoever breaks off has what they wanted, or nobody to tell it to.
    let _ = tokio::time::timeout(LONGEST_CONNECTION, connection).await;
    drop(place);
}

fn answer(method: &Method, path: &str, shows: Shows, monitoring: &Monitoring) -> Response<Full<Bytes>> {
    if !matches!(*method, Method::GET | Method::HEAD) {
        let mut refusal = text(StatusCode::METHOD_NOT_ALLOWED, "only GET\n".to_owned());
        refusal
            .headers_mut()
            .insert(ALLOW, HeaderValue::from_static("GET, HEAD"));
        return refusal;
    }
    match (path, shows) {
        ("/live", _) => health("alive", "stuck", &monitoring.stuck_parts()),
        ("/ready", _) => health("ready", "not ready", &monitoring.obstacles()),
        ("/metrics", Shows::HealthAndMetrics) => match monitoring.metrics() {
            Some(metrics) => page(StatusCode::OK, "text/plain; version=0.0.4; charset=utf-8", metrics),
            None => text(StatusCode::NOT_FOUND, "metrics are off\n".to_owned()),
        },
        (_, Shows::HealthAndMetrics) => text(
            StatusCode::NOT_FOUND,
            "there are /live, /ready and /metrics\n".to_owned(),
        ),
        _ => text(StatusCode::NOT_FOUND, "there are /live and /ready\n".to_owned()),
    }
}

fn health(good: &str, bad: &str, reasons: &[String]) -> Response<Full<Bytes>> {
    let (code, status) = match reasons {
        [] => (StatusCode::OK, good),
        _ => (StatusCode::SERVICE_UNAVAILABLE, bad),
    };
    let body = json!({ "status": status, "reasons": reasons });
    page(code, "application/json", format!("{body}\n"))
}

fn text(code: StatusCode, body: String) -> Response<Full<Bytes>> {
    page(code, "text/plain; charset=utf-8", body)
}

fn page(code: StatusCode, content_type: &'static str, body: String) -> Response<Full<Bytes>> {
    let mut response = Response::new(Full::new(Bytes::from(body)));
    *response.status_mut() = code;
    response
        .headers_mut()
        .insert(CONTENT_TYPE, HeaderValue::from_static(content_type));
    response
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_what_is_shown_is_told() {
        let monitoring = Monitoring::default();
        let code = |method: Method, path: &str, shows| answer(&method, path, shows, &monitoring).status().as_u16();
        assert_eq!(code(Method::GET, "/live", Shows::Health), 200);
        assert_eq!(
            code(Method::HEAD, "/ready", Shows::Health),
            503,
            "nothing is connected yet"
        );
        assert_eq!(code(Method::GET, "/metrics", Shows::Health), 404);
        assert_eq!(
            code(Method::GET, "/metrics", Shows::HealthAndMetrics),
            404,
            "metrics are off"
        );
        assert_eq!(code(Method::GET, "/", Shows::HealthAndMetrics), 404);
        assert_eq!(code(Method::POST, "/live", Shows::Health), 405);
    }
}
