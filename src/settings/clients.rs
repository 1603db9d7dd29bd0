//! `[clients]` and `[clients_<service>]`: how each OpenStack service is reached.

use std::collections::BTreeMap;
use std::path::PathBuf;

use serde::Deserialize;

use super::option::*;

const ENDPOINT_TYPES: &[&str] = &["publicURL", "internalURL", "adminURL", "public", "internal", "admin"];

/// Services that have a group of their own.
pub const SERVICES: &[&str] = &[
    "aodh",
    "barbican",
    "cinder",
    "designate",
    "glance",
    "heat",
    "keystone",
    "magnum",
    "manila",
    "mistral",
    "neutron",
    "nova",
    "octavia",
    "swift",
    "trove",
    "zaqar",
];

pub const DEFAULT_OPTIONS: &[OptionSpec] = &[
    choice("endpoint_type", "public", ENDPOINT_TYPES),
    text_unset("ca_file"),
    text_unset("cert_file"),
    text_unset("key_file"),
    boolean("insecure", false),
];

pub const SERVICE_OPTIONS: &[OptionSpec] = &[
    choice_unset("endpoint_type", ENDPOINT_TYPES),
    text_unset("ca_file"),
    text_unset("cert_file"),
    text_unset("key_file"),
    boolean_unset("insecure"),
];

pub const HEAT_OPTIONS: &[OptionSpec] = &[http_url("url")];
pub const KEYSTONE_OPTIONS: &[OptionSpec] = &[http_url("auth_uri")];
pub const HTTP_LOG_OPTIONS: &[OptionSpec] = &[boolean("http_log_debug", false)
    .instead("requests to every service are logged at DEBUG of `heat_engine::cloud`, without bodies and tokens")];

#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
pub enum EndpointType {
    #[serde(rename = "public", alias = "publicURL")]
    Public,
    #[serde(rename = "internal", alias = "internalURL")]
    Internal,
    #[serde(rename = "admin", alias = "adminURL")]
    Admin,
}

impl EndpointType {
    /// The name of the interface in a Keystone catalogue.
    pub fn interface(self) -> &'static str {
        match self {
            EndpointType::Public => "public",
            EndpointType::Internal => "internal",
            EndpointType::Admin => "admin",
        }
    }
}

/// How one service is reached.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize)]
pub struct ClientSettings {
    pub endpoint_type: EndpointType,
    pub ca_file: Option<PathBuf>,
    pub cert_file: Option<PathBuf>,
    pub key_file: Option<PathBuf>,
    /// Certificates of the service are not verified.
    pub insecure: bool,
}

/// What `[clients_<service>]` says beyond `[clients]`.
#[derive(Clone, Debug, Deserialize)]
pub struct ClientOverrides {
    pub endpoint_type: Option<EndpointType>,
    pub ca_file: Option<PathBuf>,
    pub cert_file: Option<PathBuf>,
    pub key_file: Option<PathBuf>,
    pub insecure: Option<bool>,
}

/// `[clients_keystone]`, as far as other services have nothing like it.
#[derive(Clone, Debug, Deserialize)]
pub(super) struct KeystoneClientSettings {
    pub auth_uri: Option<String>,
}

/// `[clients_heat]`, as far as other services have nothing like it.
#[derive(Clone, Debug, Deserialize)]
pub(super) struct HeatClientSettings {
    pub url: Option<String>,
}

#[derive(Clone, Debug)]
pub struct ClientsSettings {
    pub defaults: ClientSettings,
    pub services: BTreeMap<&'static str, ClientOverrides>,
    /// `[clients_keystone] auth_uri`: Keystone without a version in its path.
    pub keystone_auth_uri: Option<String>,
    /// `[clients_heat] url`: may hold `%(tenant_id)s`.
    pub heat_url: Option<String>,
}

impl ClientsSettings {
    /// How `service` (nova, keystone, …) is reached: its own group first, `[clients]` for the rest.
    pub fn for_service(&self, service: &str) -> ClientSettings {
        let mut settings = self.defaults.clone();
        let Some(own) = self.services.get(service) else {
            return settings;
        };
        settings.endpoint_type = own.endpoint_type.unwrap_or(settings.endpoint_type);
        settings.insecure = own.insecure.unwrap_or(settings.insecure);
        settings.ca_file = own.ca_file.clone().or(settings.ca_file);
        settings.cert_file = own.cert_file.clone().or(settings.cert_file);
        settings.key_file = own.key_file.clone().or(settings.key_file);
        settings
    }
}
