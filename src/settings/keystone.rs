//! `[trustee]` and `[keystone_authtoken]`: whom the engine is for Keystone, and where Keystone is.

use secrecy::SecretString;
use serde::Deserialize;

use super::option::*;
use super::typed;

pub const TRUSTEE_OPTIONS: &[OptionSpec] = &[
    text_unset("auth_type").formerly(&[was("auth_plugin")]),
    text_unset("auth_section"),
    text_unset("auth_url"),
    text_unset("username").formerly(&[was("user-name"), was("user_name")]),
    text_unset("user_id"),
    text_unset("user_domain_id"),
    text_unset("user_domain_name"),
    text_unset("password").secret(),
    text_unset("project_id"),
    text_unset("project_name"),
    text_unset("project_domain_id"),
    text_unset("project_domain_name"),
    text_unset("domain_id"),
    text_unset("domain_name"),
    text_unset("system_scope"),
    text_unset("default_domain_id"),
    text_unset("default_domain_name"),
    text_unset("trust_id").instead("the trust of the stack is used, as in the Python engine"),
];

/// `[trustee]`: the user to whom stack owners delegate; it consumes their trusts.
#[derive(Clone, Debug, Deserialize)]
pub struct TrusteeSettings {
    /// `password` or `v3password`; others are refused when they are first needed.
    pub auth_type: Option<String>,
    /// Another group that holds these options.
    pub auth_section: Option<String>,
    pub auth_url: Option<String>,
    pub username: Option<String>,
    pub user_id: Option<String>,
    pub user_domain_id: Option<String>,
    pub user_domain_name: Option<String>,
    #[serde(deserialize_with = "typed::optional_secret")]
    pub password: Option<SecretString>,
    pub project_id: Option<String>,
    pub project_name: Option<String>,
    pub project_domain_id: Option<String>,
    pub project_domain_name: Option<String>,
    pub domain_id: Option<String>,
    pub domain_name: Option<String>,
    pub system_scope: Option<String>,
    /// For the user and the project, where they name no domain of their own.
    pub default_domain_id: Option<String>,
    pub default_domain_name: Option<String>,
}

pub const AUTHTOKEN_OPTIONS: &[OptionSpec] = &[text_unset("www_authenticate_uri"), text_unset("region_name")];

/// `[keystone_authtoken]`: the API's section, of which the engine reads two options.
#[derive(Clone, Debug, Deserialize)]
pub struct KeystoneAuthtokenSettings {
    /// Where Keystone is, when `[clients_keystone] auth_uri` does not say.
    pub www_authenticate_uri: Option<String>,
    /// The region in which Keystone is looked for.
    pub region_name: Option<String>,
}
