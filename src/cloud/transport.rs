//! One pool of connections, and what to do when a request does not get through.
//!
//! A request is repeated only when that cannot do harm: either it never reached a server, or the server says that it
//! did not act, or doing it twice is the same as doing it once.

use std::fmt;
use std::path::{Path, PathBuf};
use std::time::Duration;

use backon::BackoffBuilder;
use reqwest::header::{HeaderMap, HeaderName, HeaderValue, LOCATION, RETRY_AFTER};
use reqwest::{Certificate, Identity, Method, StatusCode, Url};
use serde::de::DeserializeOwned;
use serde_json::Value;
use tokio::time::Instant;

use super::error::{CloudError, HttpError};
use super::measure;
use super::wording::Wording;
use crate::clock::Clock;
use crate::journal::{self, Entry, Journal, Outcome};
use crate::settings::ClientSettings;

/// No answer of a control plane is larger; a service that sends more must not take the engine's memory.
const MAX_BODY_BYTES: usize = 64 * 1024 * 1024;
const CONNECT_TIMEOUT: Duration = Duration::from_secs(30);
/// Some calls answer only when their work is done; the common proxies give up long before this.
const READ_TIMEOUT: Duration = Duration::from_secs(300);
const MAX_REDIRECTS: usize = 10;
const FIRST_PAUSE: Duration = Duration::from_millis(500);
const LONGEST_PAUSE: Duration = Duration::from_secs(60);

const REQUEST_ID: HeaderName = HeaderName::from_static("x-openstack-request-id");
const SUBJECT_TOKEN: HeaderName = HeaderName::from_static("x-subject-token");
const AUTH_TOKEN: HeaderName = HeaderName::from_static("x-auth-token");

#[derive(Debug, thiserror::Error)]
pub enum TransportSetupError {
    #[error("cannot read {}", path.display())]
    Read {
        option: &'static str,
        path: PathBuf,
        source: std::io::Error,
    },
    #[error("{} is not usable", path.display())]
    Unusable {
        option: &'static str,
        path: PathBuf,
        source: reqwest::Error,
    },
    #[error("the TLS configuration is not usable")]
    Tls(#[source] reqwest::Error),
}

impl TransportSetupError {
    /// The option of `[clients]` or `[clients_<service>]` that it is about.
    pub fn option(&self) -> &'static str {
        match self {
            Self::Read { option, .. } | Self::Unusable { option, .. } => option,
            Self::Tls(_) => "ca_file",
        }
    }
}

/// A request, complete but for the token.
#[derive(Clone, Debug)]
pub(super) struct Request {
    /// Whom it is for, as `[clients_<service>]` names it.
    pub service: &'static str,
    pub method: Method,
    pub url: Url,
    pub headers: HeaderMap,
    pub body: Option<bytes::Bytes>,
    /// Whether sending it twice is the same as sending it once.
    pub repeatable: bool,
    /// Whether anything at the service is different afterwards.
    pub changes: bool,
    /// How its failure is told.
    pub wording: Wording,
}

impl Request {
    pub fn new(service: &'static str, method: Method, url: Url) -> Self {
        let repeatable = matches!(method, Method::GET | Method::HEAD | Method::PUT | Method::DELETE);
        let changes = !matches!(method, Method::GET | Method::HEAD);
        Self {
            service,
            method,
            url,
            headers: HeaderMap::new(),
            body: None,
            repeatable,
            changes,
            wording: Wording::Keystoneauth,
        }
    }

    pub fn set_json(&mut self, body: &Value) {
        self.headers.insert(
            reqwest::header::CONTENT_TYPE,
            HeaderValue::from_static("application/json"),
        );
        self.body = Some(body.to_string().into());
    }

    /// A token that cannot be a header is none that a service gave.
    pub fn set_token(&mut self, token: &str) -> Result<(), CloudError> {
        self.set_secret(AUTH_TOKEN, token)
    }

    /// The token that is asked about.
    pub fn set_subject_token(&mut self, token: &str) -> Result<(), CloudError> {
        self.set_secret(SUBJECT_TOKEN, token)
    }

    fn set_secret(&mut self, name: HeaderName, token: &str) -> Result<(), CloudError> {
        let mut value = HeaderValue::from_str(token).map_err(|_| CloudError::authorization_failure())?;
        value.set_sensitive(true);
        self.headers.insert(name, value);
        Ok(())
    }

    pub fn set_request_id(&mut self, id: &str) {
        if let Ok(value) = HeaderValue::from_str(id) {
            self.headers.insert(REQUEST_ID, value);
        }
    }
}

/// An answer that was not an error.
#[derive(Clone, Debug)]
pub struct Response {
    pub status: StatusCode,
    pub headers: HeaderMap,
    body: bytes::Bytes,
    url: String,
}

impl Response {
    /// As of a service that has done what it was asked for, and has nothing to say.
    fn empty(url: String) -> Self {
        Self {
            status: StatusCode::NO_CONTENT,
            headers: HeaderMap::new(),
            body: bytes::Bytes::new(),
            url,
        }
    }

    pub fn body(&self) -> &[u8] {
        &self.body
    }

    pub fn header(&self, name: &str) -> Option<&str> {
        self.headers.get(name)?.to_str().ok()
    }

    pub fn json(&self) -> Result<Value, CloudError> {
        self.decode()
    }

    /// The value under `key` of a body such as `{"project": {…}}`.
    pub fn json_under(&self, key: &str) -> Result<Value, CloudError> {
        match self.json()? {
            Value::Object(mut body) if body.contains_key(key) => Ok(body.remove(key).unwrap_or(Value::Null)),
            _ => Err(self.invalid(format!("no {key} in it"))),
        }
    }

    pub(super) fn invalid(&self, reason: String) -> CloudError {
        tracing::warn!(url = %self.url, status = %self.status, reason, "invalid answer of a service");
        CloudError::InvalidResponse {
            url: self.url.clone(),
            reason,
        }
    }

    fn decode<T: DeserializeOwned>(&self) -> Result<T, CloudError> {
        serde_json::from_slice(&self.body).map_err(|error| self.invalid(error.to_string()))
    }

    fn request_id(&self) -> Option<&str> {
        [Wording::Keystoneauth, Wording::Novaclient]
            .into_iter()
            .find_map(|wording| self.header(wording.request_id_header()))
    }

    fn into_error(self, wording: Wording) -> HttpError {
        let status = self.status.as_u16();
        let content_type = self.header("content-type").unwrap_or_default();
        HttpError {
            status,
            message: wording.message(status, content_type, &self.body),
            request_id: self.header(wording.request_id_header()).map(str::to_owned),
            retry_after: retry_after(&self.headers),
            wording,
        }
    }
}

fn retry_after(headers: &HeaderMap) -> Option<Duration> {
    let seconds = headers.get(RETRY_AFTER)?.to_str().ok()?.trim().parse().ok()?;
    Some(Duration::from_secs(seconds))
}

pub(super) struct Transport {
    client: reqwest::Client,
    clock: Clock,
    retry_limit: usize,
    journal: Journal,
}

impl fmt::Debug for Transport {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Transport")
            .field("retry_limit", &self.retry_limit)
            .finish_non_exhaustive()
    }
}

/// Why one attempt brought no usable answer, and whether another one may be made.
struct Failure {
    error: CloudError,
    may_repeat: bool,
    pause: Option<Duration>,
}

impl Transport {
    pub fn new(
        options: &ClientSettings,
        retry_limit: usize,
        clock: Clock,
        journal: Journal,
    ) -> Result<Self, TransportSetupError> {
        let mut builder = reqwest::Client::builder()
            .user_agent(concat!("heat-engine-rs/", env!("CARGO_PKG_VERSION")))
            .connect_timeout(CONNECT_TIMEOUT)
            .read_timeout(READ_TIMEOUT)
            .redirect(reqwest::redirect::Policy::none());
        let unusable = |option, path: &Path| {
            let path = path.to_owned();
            move |source| TransportSetupError::Unusable { option, path, source }
        };
        if options.insecure {
            builder = builder.tls_danger_accept_invalid_certs(true);
        } else if let Some(path) = given(&options.ca_file) {
            let certificates =
                Certificate::from_pem_bundle(&read("ca_file", path)?).map_err(unusable("ca_file", path))?;
            builder = builder.tls_certs_only(certificates);
        }
        if let (Some(certificate), Some(key)) = (given(&options.cert_file), given(&options.key_file)) {
            let mut pem = read("cert_file", certificate)?;
            pem.push(b'\n');
            pem.extend(read("key_file", key)?);
            let identity = Identity::from_pem(&pem).map_err(unusable("cert_file", certificate))?;
            builder = builder.identity(identity);
        }
        Ok(Self {
            client: builder.build().map_err(TransportSetupError::Tls)?,
            clock,
            retry_limit,
            journal,
        })
    }

    /// Sends until there is an answer, an error that repeating would not mend, or the limit of repetitions.
    pub async fn send(&self, request: &Request) -> Result<Response, CloudError> {
        let mut pauses = backon::ExponentialBuilder::default()
            .with_min_delay(FIRST_PAUSE)
            .with_max_delay(LONGEST_PAUSE)
            .with_max_times(self.retry_limit)
            .build();
        loop {
            let failure = match self.follow(request).await {
                Ok(response) => return Ok(response),
                Err(failure) => failure,
            };
            let Some(pause) = pauses.next().filter(|_| failure.may_repeat) else {
                return Err(failure.error);
            };
            let pause = failure.pause.unwrap_or(pause).min(LONGEST_PAUSE) + self.clock.random_duration(FIRST_PAUSE / 4);
            tracing::warn!(
                method = %request.method, url = %without_query(&request.url), error = %failure.error, ?pause,
                "request to another service failed and will be repeated"
            );
            tokio::time::sleep(pause).await;
        }
    }

    /// One attempt. Redirects keep method and body, and never take the token to another host.
    async fn follow(&self, request: &Request) -> Result<Response, Failure> {
        let mut url = request.url.clone();
        for _ in 0..MAX_REDIRECTS {
            let response = self.send_once(request, &url).await?;
            match redirect_target(&response, &url) {
                None => return judge(request, response),
                Some(target) if target.host() == url.host() => url = target,
                Some(target) => {
                    return Err(Failure::lasting(
                        response.invalid(format!("it redirects to another host, {}", without_query(&target))),
                    ));
                }
            }
        }
        Err(Failure::lasting(CloudError::InvalidResponse {
            url: without_query(&url),
            reason: "too many redirects".to_owned(),
        }))
    }

    async fn send_once(&self, request: &Request, url: &Url) -> Result<Response, Failure> {
        if self.journal.rehearses() && request.changes {
            self.note(
                request,
                url,
                Some(StatusCode::NO_CONTENT),
                Duration::ZERO,
                Outcome::Imagined,
            );
            return Ok(Response::empty(without_query(url)));
        }
        let began = Instant::now();
        let answer = self.exchange(request, url).await;
        let (status, outcome) = match &answer {
            Ok(response) => (Some(response.status), Outcome::Done),
            Err(failure) => (None, Outcome::Failed(failure.error.to_string())),
        };
        let took = began.elapsed();
        let code = status.map(|status| status.as_u16());
        measure::attempted(request.service, &request.method, code, took);
        self.note(request, url, status, took, outcome);
        answer
    }

    fn note(&self, request: &Request, url: &Url, status: Option<StatusCode>, took: Duration, outcome: Outcome) {
        self.journal.note(|| {
            Entry::Request(journal::Request {
                method: request.method.to_string(),
                url: without_query(url),
                status: status.map(|status| status.as_u16()),
                took,
                outcome,
            })
        });
    }

    async fn exchange(&self, request: &Request, url: &Url) -> Result<Response, Failure> {
        let mut builder = self
            .client
            .request(request.method.clone(), url.clone())
            .headers(request.headers.clone());
        if let Some(body) = &request.body {
            builder = builder.body(body.clone());
        }
        let shown_url = without_query(url);
        let mut answer = builder
            .send()
            .await
            .map_err(|error| connection_failure(request, &shown_url, error))?;
        let mut body = bytes::BytesMut::new();
        while let Some(chunk) = answer
            .chunk()
            .await
            .map_err(|error| connection_failure(request, &shown_url, error))?
        {
            if body.len() + chunk.len() > MAX_BODY_BYTES {
                return Err(Failure::lasting(CloudError::InvalidResponse {
                    url: shown_url,
                    reason: format!("it is larger than {MAX_BODY_BYTES} bytes"),
                }));
            }
            body.extend_from_slice(&chunk);
        }
        let response = Response {
            status: answer.status(),
            headers: std::mem::take(answer.headers_mut()),
            body: body.freeze(),
            url: shown_url,
        };
        tracing::debug!(
            method = %request.method, url = %response.url, status = %response.status.as_u16(),
            service_request_id = response.request_id(), "request to another service"
        );
        Ok(response)
    }
}

impl Failure {
    fn lasting(error: CloudError) -> Self {
        Self {
            error,
            may_repeat: false,
            pause: None,
        }
    }
}

/// An empty path is none.
fn given(path: &Option<PathBuf>) -> Option<&Path> {
    path.as_deref().filter(|path| !path.as_os_str().is_empty())
}

fn read(option: &'static str, path: &Path) -> Result<Vec<u8>, TransportSetupError> {
    std::fs::read(path).map_err(|source| TransportSetupError::Read {
        option,
        path: path.to_owned(),
        source,
    })
}

fn redirect_target(response: &Response, from: &Url) -> Option<Url> {
    match response.status.as_u16() {
        301..=303 | 305 | 307 | 308 => from.join(response.header(LOCATION.as_str())?).ok(),
        _ => None,
    }
}

/// Errors by status. A server that asks for patience has not acted; one that is merely unavailable may have.
fn judge(request: &Request, response: Response) -> Result<Response, Failure> {
    if response.status.as_u16() < 400 {
        return Ok(response);
    }
    let error = response.into_error(request.wording);
    let asks_for_patience = matches!(error.status, 429 | 503) && error.retry_after.is_some();
    let unavailable = matches!(error.status, 503 | 504);
    Err(Failure {
        may_repeat: asks_for_patience || (unavailable && request.repeatable),
        pause: error.retry_after,
        error: error.into(),
    })
}

fn connection_failure(request: &Request, url: &str, error: reqwest::Error) -> Failure {
    let never_sent = error.is_connect();
    let reason = root_cause(&error);
    let url = url.to_owned();
    let error = error.without_url();
    if never_sent && is_tls(&error) {
        return Failure::lasting(CloudError::Tls {
            url,
            reason,
            source: error,
        });
    }
    Failure {
        may_repeat: never_sent || request.repeatable,
        pause: None,
        error: if error.is_timeout() {
            CloudError::Timeout { url }
        } else {
            CloudError::Connect {
                url,
                reason,
                source: error,
            }
        },
    }
}

fn causes<'a>(
    error: &'a (dyn std::error::Error + 'static),
) -> impl Iterator<Item = &'a (dyn std::error::Error + 'static)> {
    std::iter::successors(Some(error), |error| error.source())
}

fn root_cause(error: &reqwest::Error) -> String {
    causes(error).last().map(ToString::to_string).unwrap_or_default()
}

/// The TLS library is not ours to name here; its errors say what they are about.
fn is_tls(error: &reqwest::Error) -> bool {
    causes(error).any(|cause| {
        let text = cause.to_string().to_lowercase();
        text.contains("certificate") || text.contains("tls")
    })
}

/// Query strings may hold what is not for logs.
fn without_query(url: &Url) -> String {
    let mut url = url.clone();
    url.set_query(None);
    url.into()
}
