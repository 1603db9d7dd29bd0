//! The settings of this room, apart from where they are read.

use std::collections::BTreeMap;
use std::path::PathBuf;

use secrecy::SecretString;

use crate::identity::credentials::DeferredAuthMethod;

/// What the operator says about the cloud around the engine.
#[derive(Clone, Debug)]
pub struct CloudOptions {
    /// `[clients_keystone] auth_uri`.
    pub auth_uri: Option<String>,
    /// `[keystone_authtoken] www_authenticate_uri`, used when `auth_uri` is not set.
    pub www_authenticate_uri: Option<String>,
    /// `[keystone_authtoken] region_name`: where Keystone is, if not where everything is.
    pub keystone_region_name: Option<String>,
    /// `[trustee]`: the engine's own user, who acts through trusts.
    pub trustee: Option<Login>,
    /// `[clients]`, the defaults for all services.
    pub client_defaults: ClientOptions,
    /// `[clients_<name>]`, by name.
    pub clients: BTreeMap<String, ClientOptions>,
    pub region_name_for_services: Option<String>,
    pub region_name_for_shared_services: Option<String>,
    pub shared_services_types: Vec<String>,
    pub client_retry_limit: u32,
    pub stack_user_domain_id: Option<String>,
    pub stack_user_domain_name: Option<String>,
    pub stack_domain_admin: Option<String>,
    pub stack_domain_admin_password: Option<SecretString>,
    pub heat_stack_user_role: String,
    pub deferred_auth_method: DeferredAuthMethod,
    pub trusts_delegated_roles: Vec<String>,
    /// `reauthentication_auth_method = trusts`: work goes on with the stored trust, not with the caller's token.
    pub reauthenticate_by_trust: bool,
    pub allow_trusts_redelegation: bool,
}

/// A user whom the engine can log in as.
#[derive(Clone, Debug, Default)]
pub struct Login {
    pub auth_url: Option<String>,
    pub user_id: Option<String>,
    pub username: Option<String>,
    pub password: SecretString,
    pub user_domain_id: Option<String>,
    pub user_domain_name: Option<String>,
}

/// How to reach one service; what is not set here is taken from the defaults of all.
#[derive(Clone, Debug, Default)]
pub struct ClientOptions {
    /// `public`, `internal` or `admin`, each also with `URL` after it.
    pub endpoint_type: Option<String>,
    pub ca_file: Option<PathBuf>,
    pub cert_file: Option<PathBuf>,
    pub key_file: Option<PathBuf>,
    pub insecure: Option<bool>,
}

impl Default for CloudOptions {
    fn default() -> Self {
        Self {
            auth_uri: None,
            www_authenticate_uri: None,
            keystone_region_name: None,
            trustee: None,
            client_defaults: ClientOptions::default(),
            clients: BTreeMap::new(),
            region_name_for_services: None,
            region_name_for_shared_services: None,
            shared_services_types: vec!["image".to_owned(), "volumev3".to_owned()],
            client_retry_limit: 2,
            stack_user_domain_id: None,
            stack_user_domain_name: None,
            stack_domain_admin: None,
            stack_domain_admin_password: None,
            heat_stack_user_role: "heat_stack_user".to_owned(),
            deferred_auth_method: DeferredAuthMethod::Trusts,
            trusts_delegated_roles: Vec::new(),
            reauthenticate_by_trust: false,
            allow_trusts_redelegation: false,
        }
    }
}

impl CloudOptions {
    /// The options of one service, each filled from the defaults where it is not set.
    pub fn client(&self, name: &str) -> ClientOptions {
        let own = self.clients.get(name).cloned().unwrap_or_default();
        let defaults = &self.client_defaults;
        ClientOptions {
            endpoint_type: own.endpoint_type.or_else(|| defaults.endpoint_type.clone()),
            ca_file: own.ca_file.or_else(|| defaults.ca_file.clone()),
            cert_file: own.cert_file.or_else(|| defaults.cert_file.clone()),
            key_file: own.key_file.or_else(|| defaults.key_file.clone()),
            insecure: own.insecure.or(defaults.insecure),
        }
    }

    /// Whether heat.conf names a domain for the users that stacks make.
    pub fn has_stack_domain(&self) -> bool {
        self.stack_user_domain_id.is_some() || self.stack_user_domain_name.is_some()
    }

    /// Where Keystone is, as heat.conf says it.
    pub fn configured_auth_url(&self) -> Option<&str> {
        self.auth_uri.as_deref().or(self.www_authenticate_uri.as_deref())
    }
}
