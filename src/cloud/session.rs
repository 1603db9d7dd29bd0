//! A session: somebody's token and the services that it opens.

use std::fmt;
use std::sync::{Arc, OnceLock};

use percent_encoding::{AsciiSet, NON_ALPHANUMERIC, utf8_percent_encode};
use reqwest::header::{HeaderName, HeaderValue};
use reqwest::{Method, StatusCode};
use serde_json::Value;

use super::Cloud;
use super::access::{Access, EndpointFilter};
use super::error::CloudError;
use super::login::{LoginRequest, parse_url};
use super::service::{KEYSTONE, Service};
use super::transport::{Request, Response};

/// What a path segment may hold as it is.
const SEGMENT: &AsciiSet = &NON_ALPHANUMERIC.remove(b'-').remove(b'.').remove(b'_').remove(b'~');

/// How a session comes by its token.
#[derive(Clone, Debug)]
pub(super) enum Authentication {
    /// A caller's token, as it came. When it is refused there is no way to another.
    Given(Arc<GivenToken>),
    /// Something that can log in again.
    Login(Arc<LoginRequest>),
    /// The caller has nothing to show. What the engine asks for by a login of its own needs nothing of the caller's.
    Nothing,
}

/// A token with its description, which most sessions never look into.
pub(super) struct GivenToken {
    token: String,
    description: Arc<Value>,
    access: OnceLock<Arc<Access>>,
}

impl GivenToken {
    pub fn new(token: String, description: Arc<Value>) -> Self {
        Self {
            token,
            description,
            access: OnceLock::new(),
        }
    }

    fn access(&self) -> Arc<Access> {
        let read = || Arc::new(Access::from_description(self.token.clone(), &self.description));
        self.access.get_or_init(read).clone()
    }
}

/// Says whose token it is; not the token.
impl fmt::Debug for GivenToken {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.access().fmt(f)
    }
}

/// Whose login it is, for the log.
impl fmt::Display for Authentication {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Given(_) => f.write_str("the caller"),
            Self::Login(login) => login.fmt(f),
            Self::Nothing => f.write_str("nobody"),
        }
    }
}

/// Somebody's access to the cloud. Cheap to clone and to make: tokens and connections are the [`Cloud`]'s.
#[derive(Clone)]
pub struct Session {
    cloud: Cloud,
    authentication: Authentication,
    /// Keystone's versioned URL, without a slash at its end.
    keystone_url: String,
    /// Whom a trust must make us.
    trustor: Option<Trustor>,
    region_name: Option<String>,
    global_request_id: String,
}

/// The giver of a trust, as stored with it.
#[derive(Clone, Debug)]
pub(super) struct Trustor {
    pub user_id: Option<String>,
}

impl fmt::Debug for Session {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Session")
            .field("authentication", &self.authentication)
            .finish_non_exhaustive()
    }
}

impl Session {
    pub(super) fn new(
        cloud: Cloud,
        authentication: Authentication,
        keystone_url: String,
        trustor: Option<Trustor>,
        region_name: Option<String>,
        global_request_id: String,
    ) -> Self {
        Self {
            cloud,
            authentication,
            keystone_url,
            trustor,
            region_name,
            global_request_id,
        }
    }

    /// The same caller's request by another login.
    pub(super) fn with_login(&self, login: LoginRequest) -> Self {
        Self {
            keystone_url: login.keystone_url.clone(),
            authentication: Authentication::Login(Arc::new(login)),
            trustor: None,
            ..self.clone()
        }
    }

    pub fn cloud(&self) -> &Cloud {
        &self.cloud
    }

    pub(super) fn keystone_url(&self) -> &str {
        &self.keystone_url
    }

    /// The token and what it says; logs in when there is none, or it is near its end.
    pub async fn access(&self) -> Result<Arc<Access>, CloudError> {
        self.access_unless(None).await
    }

    async fn access_unless(&self, refused: Option<&Arc<Access>>) -> Result<Arc<Access>, CloudError> {
        let access = match &self.authentication {
            Authentication::Given(token) => token.access(),
            Authentication::Login(login) => self.cloud.log_in(login, refused, &self.global_request_id).await?,
            Authentication::Nothing => {
                tracing::error!(
                    request_id = self.global_request_id,
                    "no password, trust or token to reach Keystone with"
                );
                return Err(CloudError::authorization_failure());
            }
        };
        self.trustor.as_ref().map_or(Ok(()), |trustor| trustor.check(&access))?;
        Ok(access)
    }

    /// Keystone's API. A login that Keystone refuses is an authorization failure here; a refused request is not.
    pub async fn keystone(&self) -> Result<ServiceClient, CloudError> {
        self.authorized().await?;
        Ok(self.service(&KEYSTONE))
    }

    /// As [`Self::access`], with the one error for every refused login.
    pub(super) async fn authorized(&self) -> Result<Arc<Access>, CloudError> {
        match self.access().await {
            Err(CloudError::Http(error)) if error.status == StatusCode::UNAUTHORIZED.as_u16() => {
                tracing::error!(who = %self.authentication, keystone = self.keystone_url, %error, "Keystone refused a login");
                Err(CloudError::authorization_failure())
            }
            outcome => outcome,
        }
    }

    fn can_renew(&self) -> bool {
        match &self.authentication {
            Authentication::Given(_) | Authentication::Nothing => false,
            Authentication::Login(login) => login.can_repeat(),
        }
    }

    pub fn service(&self, service: &'static Service) -> ServiceClient {
        ServiceClient {
            session: self.clone(),
            service,
            endpoint_override: None,
        }
    }

    /// The region whose endpoints are taken.
    fn region_for(&self, service: &Service) -> Option<&str> {
        let options = self.cloud.options();
        let own = self.region_name.as_deref().filter(|name| !name.is_empty());
        let shared = options.region_name_for_shared_services.as_deref();
        let keystone = options.keystone_region_name.as_deref();
        if *service == KEYSTONE && keystone.is_some() {
            keystone
        } else if shared.is_some() && is_shared(service, &options.shared_services_types) {
            shared
        } else {
            own.or(options.region_name_for_services.as_deref())
        }
    }
}

impl Trustor {
    /// A token that was got with a trust must make us the trustor, or work would be done, and its results owned, by the
    /// engine's own user.
    fn check(&self, access: &Access) -> Result<(), CloudError> {
        let fault = if !access.is_trust_scoped {
            "the token got with a trust is not scoped to it"
        } else if access.user_id != self.user_id {
            "the token got with a trust is not the trustor's"
        } else {
            return Ok(());
        };
        tracing::error!("{fault}");
        Err(CloudError::authorization_failure())
    }
}

fn is_shared(service: &Service, shared_types: &[String]) -> bool {
    service
        .types
        .iter()
        .any(|own| shared_types.iter().any(|shared| shared == own))
}

/// One service, as one session sees it.
#[derive(Clone, Debug)]
pub struct ServiceClient {
    session: Session,
    service: &'static Service,
    endpoint_override: Option<String>,
}

impl ServiceClient {
    /// The same service at an address that the catalogue does not tell.
    pub fn at(self, url: String) -> Self {
        Self {
            endpoint_override: Some(url),
            ..self
        }
    }

    pub fn session(&self) -> &Session {
        &self.session
    }

    /// The service's URL without a slash at its end, with its version.
    pub async fn endpoint(&self) -> Result<String, CloudError> {
        let access = self.session.access().await?;
        self.endpoint_for(&access)
    }

    fn endpoint_for(&self, access: &Access) -> Result<String, CloudError> {
        let found = match &self.endpoint_override {
            Some(url) => url,
            None => {
                let interface = self.session.cloud.options().client(self.service.name).endpoint_type;
                access.endpoint(&EndpointFilter {
                    service_types: self.service.types,
                    interface: interface.interface(),
                    region_name: self.session.region_for(self.service),
                })?
            }
        };
        Ok(versioned(found, self.service.version))
    }

    pub fn get(&self, path: impl Into<String>) -> ServiceRequest<'_> {
        self.request(Method::GET, path)
    }

    pub fn post(&self, path: impl Into<String>, body: Value) -> ServiceRequest<'_> {
        self.request(Method::POST, path).json(body)
    }

    pub fn patch(&self, path: impl Into<String>, body: Value) -> ServiceRequest<'_> {
        self.request(Method::PATCH, path).json(body)
    }

    pub fn put(&self, path: impl Into<String>) -> ServiceRequest<'_> {
        self.request(Method::PUT, path)
    }

    pub fn delete(&self, path: impl Into<String>) -> ServiceRequest<'_> {
        self.request(Method::DELETE, path)
    }

    /// A request for `path` below the endpoint; segments that are data go through [`segment`].
    pub fn request(&self, method: Method, path: impl Into<String>) -> ServiceRequest<'_> {
        ServiceRequest {
            client: self,
            method,
            path: path.into(),
            query: Vec::new(),
            headers: Vec::new(),
            body: None,
            repeatable: None,
        }
    }
}

/// A request in the making.
#[must_use = "a request does nothing until it is sent"]
pub struct ServiceRequest<'a> {
    client: &'a ServiceClient,
    method: Method,
    path: String,
    query: Vec<(String, String)>,
    headers: Vec<(HeaderName, String)>,
    body: Option<Value>,
    repeatable: Option<bool>,
}

impl ServiceRequest<'_> {
    pub fn query(mut self, key: &str, value: &str) -> Self {
        self.query.push((key.to_owned(), value.to_owned()));
        self
    }

    pub fn json(mut self, body: Value) -> Self {
        self.body = Some(body);
        self
    }

    /// Asks for a microversion, as `OpenStack-API-Version: compute 2.90`.
    pub fn microversion(mut self, version: &str) -> Self {
        let service_type = self.client.service.types.first().copied().unwrap_or_default();
        self.headers.push((
            HeaderName::from_static("openstack-api-version"),
            format!("{service_type} {version}"),
        ));
        self
    }

    /// Overrides what the method says about whether the request may be sent twice.
    pub fn repeatable(mut self, repeatable: bool) -> Self {
        self.repeatable = Some(repeatable);
        self
    }

    /// Sends; a refused token is renewed once where that can be done.
    pub async fn send(self) -> Result<Response, CloudError> {
        let session = &self.client.session;
        let access = session.access().await?;
        let refusal = match self.send_as(&access).await {
            Err(error) if is_refused_token(&error) && session.can_renew() => error,
            outcome => return outcome,
        };
        tracing::debug!(error = %refusal, "token refused, getting a new one");
        let renewed = session.access_unless(Some(&access)).await?;
        self.send_as(&renewed).await
    }

    /// Sends, and takes the value under `key` of the answer.
    pub async fn send_for(self, key: &str) -> Result<Value, CloudError> {
        self.send().await?.json_under(key)
    }

    async fn send_as(&self, access: &Access) -> Result<Response, CloudError> {
        let endpoint = self.client.endpoint_for(access)?;
        let mut url = parse_url(&format!("{endpoint}/{}", self.path.trim_start_matches('/')))?;
        if !self.query.is_empty() {
            url.query_pairs_mut().extend_pairs(&self.query);
        }
        let mut request = Request::new(self.client.service.name, self.method.clone(), url);
        request.wording = self.client.service.wording;
        request
            .headers
            .insert(reqwest::header::ACCEPT, HeaderValue::from_static("application/json"));
        for (name, value) in &self.headers {
            if let Ok(value) = HeaderValue::from_str(value) {
                request.headers.insert(name.clone(), value);
            }
        }
        if let Some(body) = &self.body {
            request.set_json(body);
        }
        request.repeatable = self.repeatable.unwrap_or(request.repeatable);
        request.set_token(&access.token)?;
        let session = &self.client.session;
        request.set_request_id(&session.global_request_id);
        session.cloud.transport().send(&request).await
    }
}

fn is_refused_token(error: &CloudError) -> bool {
    matches!(error, CloudError::Http(error) if error.status == StatusCode::UNAUTHORIZED.as_u16())
}

/// Adds the version to a URL whose last segment is none.
pub(super) fn versioned(url: &str, version: Option<&str>) -> String {
    let url = url.trim_end_matches('/');
    let last = url.rsplit('/').next().unwrap_or_default();
    let names_a_version = last
        .strip_prefix('v')
        .is_some_and(|number| number.starts_with(|first: char| first.is_ascii_digit()));
    match version {
        Some(version) if !names_a_version => format!("{url}/{version}"),
        _ => url.to_owned(),
    }
}

/// Text as one segment of a path, whatever it holds.
pub fn segment(text: &str) -> String {
    match text {
        // URL parsers take dots alone as steps, however they are written.
        "." | ".." => text.replace('.', "%252E"),
        _ => utf8_percent_encode(text, SEGMENT).to_string(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn urls_get_their_version() {
        assert_eq!(versioned("http://k:5000", Some("v3")), "http://k:5000/v3");
        assert_eq!(versioned("http://k/identity/v3/", Some("v3")), "http://k/identity/v3");
        assert_eq!(versioned("http://k/vault", Some("v3")), "http://k/vault/v3");
        assert_eq!(versioned("http://k/", None), "http://k");
    }

    #[test]
    fn data_stays_one_segment() {
        assert_eq!(segment("a/b?c#ü"), "a%2Fb%3Fc%23%C3%BC");
        let url = parse_url(&format!("http://k/v3/users/{}", segment(".."))).unwrap();
        assert_eq!(url.path(), "/v3/users/%252E%252E");
    }
}
