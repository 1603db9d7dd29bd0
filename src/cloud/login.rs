//! Getting a token: what authenticates, and the tokens that it has bought.
//!
//! One token is kept for each thing that authenticates, whichever stack or request needs it. Whoever finds it missing,
//! old or refused gets a new one while the others wait, so that a thousand checks make one login.

use std::fmt;
use std::hash::{Hash, Hasher};
use std::sync::Arc;
use std::time::Duration;

use reqwest::{Method, Url};
use secrecy::{ExposeSecret, SecretString};
use serde_json::{Value, json};
use tokio::sync::Mutex;

use super::access::Access;
use super::error::CloudError;
use super::service::KEYSTONE;
use super::transport::{Request, Transport};
use crate::clock::Clock;

/// A token with less life than this is renewed before it is used: the request may queue behind others.
const RENEW_BEFORE_EXPIRY: Duration = Duration::from_secs(30);
const MAX_KEPT_TOKENS: u64 = 10_000;
const KEEP_UNUSED_FOR: Duration = Duration::from_secs(3600);

/// Everything that decides which token one gets.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(super) struct LoginRequest {
    /// Keystone's versioned URL, without a slash at its end.
    pub keystone_url: String,
    pub proof: Proof,
    pub scope: Scope,
}

#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(super) enum Proof {
    Password {
        user: UserName,
        password: Secret,
    },
    /// A token somebody gave us without its description: Keystone is asked for that, and no new token can be got.
    Token(Secret),
}

/// Who logs in, for the log.
impl fmt::Display for LoginRequest {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.proof {
            Proof::Password { user, .. } => {
                let (UserName::Id(user) | UserName::Name { name: user, .. }) = user;
                write!(f, "user {user}")?;
            }
            Proof::Token(_) => f.write_str("the caller's token")?,
        }
        match &self.scope {
            Scope::Default => Ok(()),
            Scope::Project(id) => write!(f, " for project {id}"),
            Scope::Domain(Domain::Id(domain) | Domain::Name(domain)) => write!(f, " for domain {domain}"),
            Scope::Trust(_) => f.write_str(" by a stack's trust"),
        }
    }
}

#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(super) enum UserName {
    Id(String),
    Name { name: String, domain: Option<Domain> },
}

#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(super) enum Domain {
    Id(String),
    Name(String),
}

#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(super) enum Scope {
    /// Keystone's choice: the user's default project, or none.
    Default,
    Project(String),
    Domain(Domain),
    Trust(String),
}

/// A secret that can be part of a key.
#[derive(Clone)]
pub(super) struct Secret(SecretString);

impl Secret {
    pub fn new(text: &str) -> Self {
        Self(text.to_owned().into())
    }

    fn expose(&self) -> &str {
        self.0.expose_secret()
    }
}

impl PartialEq for Secret {
    fn eq(&self, other: &Self) -> bool {
        self.expose() == other.expose()
    }
}

impl Eq for Secret {}

impl Hash for Secret {
    fn hash<H: Hasher>(&self, state: &mut H) {
        self.expose().hash(state);
    }
}

impl fmt::Debug for Secret {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("***")
    }
}

impl Domain {
    fn to_json(&self) -> Value {
        match self {
            Self::Id(id) => json!({ "id": id }),
            Self::Name(name) => json!({ "name": name }),
        }
    }

    /// The id if there is one, else the name.
    pub fn of(id: Option<&str>, name: Option<&str>) -> Option<Self> {
        match (id, name) {
            (Some(id), _) => Some(Self::Id(id.to_owned())),
            (None, Some(name)) => Some(Self::Name(name.to_owned())),
            (None, None) => None,
        }
    }
}

impl LoginRequest {
    /// Whether sending it again gets a new token.
    pub fn can_repeat(&self) -> bool {
        matches!(self.proof, Proof::Password { .. })
    }

    fn body(user: &UserName, password: &Secret, scope: &Scope) -> Value {
        let mut user = match user {
            UserName::Id(id) => json!({ "id": id }),
            UserName::Name { name, domain: None } => json!({ "name": name }),
            UserName::Name {
                name,
                domain: Some(domain),
            } => json!({ "name": name, "domain": domain.to_json() }),
        };
        user["password"] = Value::from(password.expose());
        let mut auth = json!({ "identity": { "methods": ["password"], "password": { "user": user } } });
        match scope {
            Scope::Default => {}
            Scope::Project(id) => auth["scope"] = json!({ "project": { "id": id } }),
            Scope::Domain(domain) => auth["scope"] = json!({ "domain": domain.to_json() }),
            Scope::Trust(id) => auth["scope"] = json!({ "OS-TRUST:trust": { "id": id } }),
        }
        json!({ "auth": auth })
    }

    async fn send(&self, transport: &Transport, global_request_id: &str) -> Result<Access, CloudError> {
        let url = parse_url(&format!("{}/auth/tokens", self.keystone_url))?;
        let (mut request, given_token) = match &self.proof {
            Proof::Password { user, password } => {
                let mut request = Request::new(KEYSTONE.name, Method::POST, url);
                request.set_json(&Self::body(user, password, &self.scope));
                // A second token does no harm.
                request.repeatable = true;
                request.changes = false;
                (request, None)
            }
            Proof::Token(token) => {
                let mut request = Request::new(KEYSTONE.name, Method::GET, url);
                request.set_token(token.expose())?;
                request.set_subject_token(token.expose())?;
                (request, Some(token.expose().to_owned()))
            }
        };
        request.set_request_id(global_request_id);
        let response = transport.send(&request).await?;
        let description = response.json()?;
        let token = given_token.or_else(|| response.header("x-subject-token").map(str::to_owned));
        match token {
            Some(token) if description["token"].is_object() => Ok(Access::from_description(token, &description)),
            _ => Err(response.invalid("it holds no token".to_owned())),
        }
    }
}

pub(super) fn parse_url(text: &str) -> Result<Url, CloudError> {
    Url::parse(text).map_err(|error| CloudError::InvalidResponse {
        url: text.to_owned(),
        reason: error.to_string(),
    })
}

type Slot = Arc<Mutex<Option<Arc<Access>>>>;

/// The tokens that were bought.
pub(super) struct TokenCache {
    slots: moka::future::Cache<LoginRequest, Slot>,
    clock: Clock,
}

impl TokenCache {
    pub fn new(clock: Clock) -> Self {
        Self {
            slots: moka::future::Cache::builder()
                .max_capacity(MAX_KEPT_TOKENS)
                .time_to_idle(KEEP_UNUSED_FOR)
                .build(),
            clock,
        }
    }

    /// A token for `login`: the one that is kept, unless it is near its end or is `refused`, the one that a service
    /// has just answered 401 to.
    pub async fn access(
        &self,
        login: &LoginRequest,
        refused: Option<&Arc<Access>>,
        transport: &Transport,
        global_request_id: &str,
    ) -> Result<Arc<Access>, CloudError> {
        let slot = self.slots.get_with_by_ref(login, async { Slot::default() }).await;
        let mut kept = slot.lock().await;
        if let Some(access) = kept.as_ref()
            && !access.expires_within(RENEW_BEFORE_EXPIRY, self.clock.utc_now())
            && refused.is_none_or(|refused| !Arc::ptr_eq(access, refused))
        {
            return Ok(access.clone());
        }
        *kept = None;
        let access = Arc::new(login.send(transport, global_request_id).await?);
        *kept = Some(access.clone());
        Ok(access)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn secrets_stay_out_of_debug_text() {
        let login = LoginRequest {
            keystone_url: "http://keystone/v3".to_owned(),
            proof: Proof::Password {
                user: UserName::Id("u1".to_owned()),
                password: Secret::new("hush"),
            },
            scope: Scope::Trust("t1".to_owned()),
        };
        assert!(!format!("{login:?}").contains("hush"));
    }

    #[test]
    fn a_trust_is_the_scope_of_the_trustees_login() {
        let body = LoginRequest::body(
            &UserName::Name {
                name: "heat".to_owned(),
                domain: Domain::of(Some("default"), Some("ignored")),
            },
            &Secret::new("hush"),
            &Scope::Trust("t1".to_owned()),
        );
        assert_eq!(
            body,
            json!({"auth": {
                "identity": {"methods": ["password"], "password": {"user": {
                    "name": "heat", "domain": {"id": "default"}, "password": "hush"}}},
                "scope": {"OS-TRUST:trust": {"id": "t1"}}}})
        );
    }
}
