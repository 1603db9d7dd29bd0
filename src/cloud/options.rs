//! The settings of this room.

use secrecy::SecretString;

use crate::settings::{
    ClientSettings, ClientsSettings, DeferredAuthMethod, ReauthenticationMethod, Settings, TrusteeSettings,
};

/// What the operator says about the cloud around the engine.
#[derive(Clone, Debug)]
pub struct CloudOptions {
    pub clients: ClientsSettings,
    /// `[keystone_authtoken] www_authenticate_uri`, used when `[clients_keystone] auth_uri` is not set.
    pub www_authenticate_uri: Option<String>,
    /// `[keystone_authtoken] region_name`: where Keystone is, if not where everything is.
    pub keystone_region_name: Option<String>,
    /// `[trustee]`: the engine's own user, who acts through trusts.
    pub trustee: TrusteeSettings,
    pub region_name_for_services: Option<String>,
    pub region_name_for_shared_services: Option<String>,
    pub shared_services_types: Vec<String>,
    pub client_retry_limit: usize,
    pub stack_user_domain_id: Option<String>,
    pub stack_user_domain_name: Option<String>,
    pub stack_domain_admin: Option<String>,
    pub stack_domain_admin_password: Option<SecretString>,
    pub deferred_auth_method: DeferredAuthMethod,
    pub trusts_delegated_roles: Vec<String>,
    pub reauthentication_auth_method: ReauthenticationMethod,
    pub allow_trusts_redelegation: bool,
}

impl From<&Settings> for CloudOptions {
    fn from(settings: &Settings) -> Self {
        let engine = &settings.engine;
        Self {
            clients: settings.clients.clone(),
            www_authenticate_uri: settings.keystone_authtoken.www_authenticate_uri.clone(),
            keystone_region_name: settings.keystone_authtoken.region_name.clone(),
            trustee: settings.trustee.clone(),
            region_name_for_services: engine.region_name_for_services.clone(),
            region_name_for_shared_services: engine.region_name_for_shared_services.clone(),
            shared_services_types: engine.shared_services_types.clone(),
            client_retry_limit: usize::try_from(engine.client_retry_limit).unwrap_or(0),
            stack_user_domain_id: engine.stack_user_domain_id.clone(),
            stack_user_domain_name: engine.stack_user_domain_name.clone(),
            stack_domain_admin: engine.stack_domain_admin.clone(),
            stack_domain_admin_password: engine.stack_domain_admin_password.clone(),
            deferred_auth_method: engine.deferred_auth_method,
            trusts_delegated_roles: engine.trusts_delegated_roles.clone(),
            reauthentication_auth_method: engine.reauthentication_auth_method,
            allow_trusts_redelegation: engine.allow_trusts_redelegation,
        }
    }
}

impl CloudOptions {
    pub fn client(&self, service: &str) -> ClientSettings {
        self.clients.for_service(service)
    }

    /// Where Keystone is, as heat.conf says it.
    pub fn configured_auth_url(&self) -> Option<&str> {
        self.clients
            .keystone_auth_uri
            .as_deref()
            .or(self.www_authenticate_uri.as_deref())
    }

    /// Whether trusts may be passed on: of use only where work goes on with the trust and not with the caller's token.
    pub fn trusts_may_be_redelegated(&self) -> bool {
        self.allow_trusts_redelegation && self.reauthentication_auth_method == ReauthenticationMethod::Trusts
    }
}
