//! The only code that sends HTTP.
//!
//! A [`Cloud`] is the engine's one pool of connections and tokens. A [`Session`] says who acts: a caller with the token
//! that came with the request, the owner of a stack through their trust, or one of the engine's own users. Services are
//! found in the catalogue that comes with the token. Errors speak as Python's clients do, since their texts end in rows
//! and replies.

mod access;
mod broker_management;
mod error;
mod examine;
mod keystone;
mod login;
pub mod measure;
mod names;
mod nova;
mod options;
mod service;
mod session;
mod stored_credentials;
mod transport;
mod wording;

use std::fmt;
use std::sync::Arc;

pub use access::{Access, EndpointFilter, Role};
pub use broker_management::BrokerManagement;
pub use error::{Advice, CloudError, HttpError};
pub use keystone::Keystone;
pub use names::Entity;
pub use options::CloudOptions;
pub use service::{KEYSTONE, NEUTRON, NOVA, Service};
pub use session::{ServiceClient, ServiceRequest, Session, segment};
pub use transport::{Response, TransportSetupError};
pub use wording::Wording;

use crate::clock::Clock;
use crate::identity::RequestContext;
use crate::journal::Journal;
use crate::settings::ClientSettings;
use login::{Domain, LoginRequest, Proof, Scope, Secret, TokenCache, UserName};
use secrecy::ExposeSecret;
use session::{Authentication, GivenToken, Trustor, versioned};
use transport::Transport;

/// Whether the certificates and keys that heat.conf names for a service can be used.
pub fn check_client(settings: &ClientSettings) -> Result<(), TransportSetupError> {
    Transport::new(settings, 0, Clock::system(), Journal::default()).map(|_| ())
}

/// The engine's door to all other services; a cheap handle.
#[derive(Clone)]
pub struct Cloud(Arc<Inner>);

struct Inner {
    options: CloudOptions,
    transport: Transport,
    tokens: TokenCache,
}

impl fmt::Debug for Cloud {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Cloud")
    }
}

impl Cloud {
    /// # Errors
    /// When a certificate or key that heat.conf names cannot be read or used.
    pub fn new(options: CloudOptions, clock: Clock) -> Result<Self, TransportSetupError> {
        Self::watched(options, clock, Journal::default())
    }

    /// As [`Self::new`], for somebody who looks on. In a rehearsal, what would change something at a service is not sent,
    /// and answered as if it had succeeded.
    ///
    /// # Errors
    /// As [`Self::new`].
    pub fn watched(options: CloudOptions, clock: Clock, journal: Journal) -> Result<Self, TransportSetupError> {
        let client = options.client("keystone");
        let transport = Transport::new(&client, options.client_retry_limit, clock.clone(), journal)?;
        Ok(Self(Arc::new(Inner {
            options,
            transport,
            tokens: TokenCache::new(clock),
        })))
    }

    pub fn options(&self) -> &CloudOptions {
        &self.0.options
    }

    fn transport(&self) -> &Transport {
        &self.0.transport
    }

    async fn log_in(
        &self,
        login: &LoginRequest,
        refused: Option<&Arc<Access>>,
        global_request_id: &str,
    ) -> Result<Arc<Access>, CloudError> {
        self.0
            .tokens
            .access(login, refused, &self.0.transport, global_request_id)
            .await
    }

    /// The session of whoever `context` stands for.
    ///
    /// A trust comes first, since a token that was got with one cannot get another; then the token with its
    /// description, a password, a token alone. Nothing is sent yet, and who has none of them is refused only when it is needed.
    pub fn session(&self, context: &RequestContext) -> Result<Session, CloudError> {
        let keystone_url = self.keystone_url(context)?;
        let authentication = if let Some(trust_id) = given(&context.trust_id) {
            login(self.trustee_login(&keystone_url, Scope::Trust(trust_id.to_owned()))?)
        } else if let Some(description) = &context.auth_token_info {
            let token = context.auth_token.clone().unwrap_or_default();
            Authentication::Given(Arc::new(GivenToken::new(token, description.clone())))
        } else if let Some(password) = given(&context.password) {
            login(LoginRequest {
                keystone_url: keystone_url.clone(),
                proof: Proof::Password {
                    user: UserName::Name {
                        name: context.username.clone().unwrap_or_default(),
                        domain: Domain::of(given(&context.user_domain_id), None),
                    },
                    password: Secret::new(password),
                },
                scope: given(&context.project_id).map_or(Scope::Default, |id| Scope::Project(id.to_owned())),
            })
        } else if let Some(token) = given(&context.auth_token) {
            login(LoginRequest {
                keystone_url: keystone_url.clone(),
                proof: Proof::Token(Secret::new(token)),
                scope: Scope::Default,
            })
        } else {
            Authentication::Nothing
        };
        Ok(Session::new(
            self.clone(),
            authentication,
            keystone_url,
            given(&context.trust_id).map(|_| Trustor {
                user_id: context.trustor_user_id.clone(),
            }),
            context.region_name.clone(),
            context.global_id().to_owned(),
        ))
    }

    /// Keystone's calls, as whoever `context` stands for.
    pub fn keystone(&self, context: &RequestContext) -> Result<Keystone, CloudError> {
        Ok(Keystone::new(self.session(context)?, context))
    }

    /// Fills in what is not stored of a context: roles and domains, as Keystone tells them with the token.
    ///
    /// Must happen before a context of stored credentials goes on the wire; does nothing to others.
    pub async fn complete_context(&self, mut context: RequestContext) -> Result<RequestContext, CloudError> {
        if context.roles_unknown {
            let access = match self.session(&context)?.access().await {
                Err(error) if error.is_unauthorized() || error.is_not_found() => {
                    return Err(CloudError::authorization_failure());
                }
                outcome => outcome?,
            };
            context.roles = access.role_names();
            context.user_domain_id = access.user_domain_id.clone();
            context.project_domain_id = access.project_domain_id.clone();
            context.roles_unknown = false;
        }
        Ok(context)
    }

    /// Keystone's versioned URL for this caller.
    fn keystone_url(&self, context: &RequestContext) -> Result<String, CloudError> {
        let url = given(&context.auth_url).or_else(|| self.options().configured_auth_url());
        let Some(url) = url else {
            tracing::error!("no address of Keystone: set auth_uri in section [clients_keystone] of heat.conf");
            return Err(CloudError::authorization_failure());
        };
        Ok(v3(url))
    }

    /// The engine's own user, with `scope`.
    fn trustee_login(&self, keystone_url: &str, scope: Scope) -> Result<LoginRequest, CloudError> {
        let trustee = &self.options().trustee;
        let can_log_in = matches!(trustee.auth_type.as_deref(), Some("password" | "v3password"));
        let user = match (&trustee.user_id, &trustee.username) {
            (Some(id), _) if can_log_in => UserName::Id(id.clone()),
            (None, Some(name)) if can_log_in => UserName::Name {
                name: name.clone(),
                domain: Domain::of(trustee.user_domain_id.as_deref(), trustee.user_domain_name.as_deref()),
            },
            _ => {
                tracing::error!("section [trustee] of heat.conf does not say how the engine's own user logs in");
                return Err(CloudError::authorization_failure());
            }
        };
        Ok(LoginRequest {
            keystone_url: trustee.auth_url.as_deref().map_or_else(|| keystone_url.to_owned(), v3),
            proof: Proof::Password {
                user,
                password: Secret::new(trustee.password.as_ref().map_or("", ExposeSecret::expose_secret)),
            },
            scope,
        })
    }

    /// The administrator of the domain in which stacks have users.
    fn domain_admin_login(&self, keystone_url: &str) -> Option<LoginRequest> {
        let options = self.options();
        let domain = Domain::of(
            options.stack_user_domain_id.as_deref(),
            options.stack_user_domain_name.as_deref(),
        )?;
        Some(LoginRequest {
            keystone_url: keystone_url.to_owned(),
            proof: Proof::Password {
                user: UserName::Name {
                    name: options.stack_domain_admin.clone().unwrap_or_default(),
                    domain: Some(domain.clone()),
                },
                password: Secret::new(
                    options
                        .stack_domain_admin_password
                        .as_ref()
                        .map_or("", ExposeSecret::expose_secret),
                ),
            },
            scope: Scope::Domain(domain),
        })
    }
}

fn login(request: LoginRequest) -> Authentication {
    Authentication::Login(Arc::new(request))
}

/// An empty text says as little as none.
fn given(value: &Option<String>) -> Option<&str> {
    value.as_deref().filter(|text| !text.is_empty())
}

/// Version 2 of Keystone's API is long gone, but not from all settings.
fn v3(url: &str) -> String {
    versioned(&url.replace("v2.0", "v3"), Some("v3"))
}
