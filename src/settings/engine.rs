//! `[DEFAULT]`: what the engine itself does, and the small groups that belong to it.

use std::path::PathBuf;
use std::time::Duration;

use secrecy::SecretString;
use serde::Deserialize;

use super::option::*;
use super::typed::{self, Limit};

/// In seconds.
const A_YEAR: i64 = 31_536_000;

pub const OPTIONS: &[OptionSpec] = &[
    hostname("host"),
    // Stacks and their limits.
    integer("max_resources_per_stack", "1000"),
    integer("max_stacks_per_tenant", "512"),
    integer("max_nested_stack_depth", "5"),
    integer("max_template_size", "524288"),
    integer("max_json_body_size", "1048576"),
    integer("max_events_per_stack", "1000"),
    integer("event_purge_batch_size", "200").min(1),
    integer("max_snapshots_per_stack", "32").handed_over(),
    integer("max_software_configs_per_tenant", "4096").handed_over(),
    integer("max_software_deployments_per_tenant", "4096").handed_over(),
    integer("max_server_name_length", "53").max(53).handed_over(),
    integer("stack_action_timeout", "3600"),
    list("hidden_stack_tags", ""),
    boolean("enable_stack_abandon", false).handed_over(),
    boolean("enable_stack_adopt", false).handed_over(),
    boolean("convergence_engine", true),
    boolean("observe_on_update", false),
    boolean("stack_scheduler_hints", false).handed_over(),
    // Retries and waits.
    integer("action_retry_limit", "5"),
    integer("client_retry_limit", "2"),
    integer("error_wait_time", "240"),
    integer("engine_life_check_timeout", "2"),
    integer("max_interface_check_attempts", "10").min(1).handed_over(),
    integer("periodic_interval", "60").min(1).max(A_YEAR),
    number("template_fetch_timeout", "60").min(0).handed_over(),
    number("metadata_put_timeout", "60").min(0).handed_over(),
    // What is kept, and how.
    text("auth_encryption_key", "notgood but just long enough i t").secret(),
    boolean("encrypt_parameters_and_properties", false),
    // Acting for a user later.
    choice("deferred_auth_method", "trusts", &["password", "trusts"]),
    choice("reauthentication_auth_method", "", &["", "trusts"]),
    boolean("allow_trusts_redelegation", false),
    list("trusts_delegated_roles", ""),
    // Users that stacks make.
    text("heat_stack_user_role", "heat_stack_user"),
    text_unset("stack_user_domain_id"),
    text_unset("stack_user_domain_name"),
    text_unset("stack_domain_admin"),
    text_unset("stack_domain_admin_password").secret(),
    // Where servers call back.
    http_url("heat_metadata_server_url").handed_over(),
    http_url("heat_waitcondition_server_url").handed_over(),
    choice(
        "server_keystone_endpoint_type",
        "",
        &["", "public", "internal", "admin"],
    )
    .handed_over(),
    text("instance_connection_is_secure", "0").handed_over(),
    text("instance_connection_https_validate_certificates", "1").handed_over(),
    choice(
        "default_software_config_transport",
        "POLL_SERVER_CFN",
        &["POLL_SERVER_CFN", "POLL_SERVER_HEAT", "POLL_TEMP_URL", "ZAQAR_MESSAGE"],
    )
    .handed_over(),
    choice(
        "default_deployment_signal_transport",
        "CFN_SIGNAL",
        &["CFN_SIGNAL", "TEMP_URL_SIGNAL", "HEAT_SIGNAL", "ZAQAR_SIGNAL"],
    )
    .handed_over(),
    choice(
        "default_user_data_format",
        "HEAT_CFNTOOLS",
        &["HEAT_CFNTOOLS", "RAW", "SOFTWARE_CONFIG"],
    )
    .handed_over(),
    // Where services are.
    text_unset("region_name_for_services"),
    text_unset("region_name_for_shared_services"),
    list("shared_services_types", "image,volumev3"),
    microversion("max_nova_api_microversion", "2").handed_over(),
    microversion("max_cinder_api_microversion", "3").handed_over(),
    microversion("max_ironic_api_microversion", "1").handed_over(),
    // Files beside heat.conf.
    text("environment_dir", "/etc/heat/environment.d"),
    text("template_dir", "/etc/heat/templates"),
    text_unset("loadbalancer_template").handed_over(),
    // Notifications.
    text("default_notification_level", "INFO"),
    text_unset("default_publisher_id"),
    // Python's own.
    integer_unset("num_engine_workers").min(1).instead(
        "one process serves what many Python workers did; `executor_thread_pool_size` bounds the requests and \
         `[heat_engine_rs] max_concurrent_checks` the checks that run at a time",
    ),
    list(
        "plugin_dirs",
        "/usr/lib64/heat,/usr/lib/heat,/usr/local/lib/heat,/usr/local/lib64/heat",
    )
    .instead("Python plug-ins cannot be loaded; a resource type that only they know is handed to a live Python engine"),
    text("cloud_backend", "heat.engine.clients.OpenStackClients")
        .instead("the name of a Python class; the own OpenStack clients are used"),
    text(
        "keystone_backend",
        "heat.engine.clients.os.keystone.heat_keystoneclient.KsClientWrapper",
    )
    .instead("the name of a Python class; the own Keystone client is used"),
    integer("graceful_shutdown_timeout", "60"),
    boolean("log_options", true)
        .instead("the options in force are logged at DEBUG when the daemon starts; `--check-config` prints them"),
    boolean("run_external_periodic_tasks", true).instead("the engine has none"),
    text_unset("backdoor_port").instead("there is no backdoor into the process"),
    text_unset("backdoor_socket").instead("there is no backdoor into the process"),
];

/// `[DEFAULT]`, as far as it is the engine's.
#[derive(Clone, Debug, Deserialize)]
pub struct EngineSettings {
    /// Name of this engine's node; the server of the `engine` topic and a column of the service table.
    pub host: String,
    pub max_resources_per_stack: Limit,
    pub max_stacks_per_tenant: Limit,
    pub max_nested_stack_depth: u32,
    /// Bytes.
    pub max_template_size: u64,
    /// Bytes.
    pub max_json_body_size: u64,
    /// 0: no event is ever purged.
    pub max_events_per_stack: u64,
    pub event_purge_batch_size: u64,
    pub max_snapshots_per_stack: Limit,
    pub max_software_configs_per_tenant: Limit,
    pub max_software_deployments_per_tenant: Limit,
    pub max_server_name_length: u32,
    #[serde(deserialize_with = "typed::seconds")]
    pub stack_action_timeout: Duration,
    pub hidden_stack_tags: Vec<String>,
    pub enable_stack_abandon: bool,
    pub enable_stack_adopt: bool,
    pub convergence_engine: bool,
    pub observe_on_update: bool,
    pub stack_scheduler_hints: bool,
    /// A negative number means none, as 0 does.
    pub action_retry_limit: i64,
    /// A negative number means none, as 0 does.
    pub client_retry_limit: i64,
    #[serde(deserialize_with = "typed::seconds")]
    pub error_wait_time: Duration,
    #[serde(deserialize_with = "typed::seconds")]
    pub engine_life_check_timeout: Duration,
    pub max_interface_check_attempts: u32,
    #[serde(deserialize_with = "typed::seconds")]
    pub periodic_interval: Duration,
    #[serde(deserialize_with = "typed::seconds")]
    pub template_fetch_timeout: Duration,
    #[serde(deserialize_with = "typed::seconds")]
    pub metadata_put_timeout: Duration,
    #[serde(deserialize_with = "typed::secret")]
    pub auth_encryption_key: SecretString,
    pub encrypt_parameters_and_properties: bool,
    pub deferred_auth_method: DeferredAuthMethod,
    pub reauthentication_auth_method: ReauthenticationMethod,
    pub allow_trusts_redelegation: bool,
    pub trusts_delegated_roles: Vec<String>,
    pub heat_stack_user_role: String,
    pub stack_user_domain_id: Option<String>,
    pub stack_user_domain_name: Option<String>,
    pub stack_domain_admin: Option<String>,
    #[serde(deserialize_with = "typed::optional_secret")]
    pub stack_domain_admin_password: Option<SecretString>,
    pub heat_metadata_server_url: Option<String>,
    pub heat_waitcondition_server_url: Option<String>,
    /// Empty: servers authenticate at `www_authenticate_uri`.
    pub server_keystone_endpoint_type: String,
    pub instance_connection_is_secure: String,
    pub instance_connection_https_validate_certificates: String,
    pub default_software_config_transport: String,
    pub default_deployment_signal_transport: String,
    pub default_user_data_format: String,
    pub region_name_for_services: Option<String>,
    pub region_name_for_shared_services: Option<String>,
    pub shared_services_types: Vec<String>,
    pub max_nova_api_microversion: Option<String>,
    pub max_cinder_api_microversion: Option<String>,
    pub max_ironic_api_microversion: Option<String>,
    pub environment_dir: PathBuf,
    pub template_dir: PathBuf,
    pub loadbalancer_template: Option<PathBuf>,
    pub default_notification_level: String,
    pub default_publisher_id: Option<String>,
    /// How long what runs may go on after the order to stop; zero: without end.
    #[serde(deserialize_with = "typed::seconds")]
    pub graceful_shutdown_timeout: Duration,
}

/// What an engine keeps of a user, to act for them when their token is gone.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum DeferredAuthMethod {
    Password,
    Trusts,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
pub enum ReauthenticationMethod {
    #[serde(rename = "")]
    None,
    #[serde(rename = "trusts")]
    Trusts,
}

pub const YAQL_OPTIONS: &[OptionSpec] = &[integer("limit_iterators", "200"), integer("memory_quota", "10000")];

/// `[yaql]`: what an expression of a template may use.
#[derive(Clone, Debug, Deserialize)]
pub struct YaqlSettings {
    /// The most elements that one collection may have.
    pub limit_iterators: i64,
    /// Bytes.
    pub memory_quota: i64,
}

pub const REVISION_OPTIONS: &[OptionSpec] = &[text("heat_revision", "unknown")];

/// `[revision]`: what `get_revision` answers.
#[derive(Clone, Debug, Deserialize)]
pub struct RevisionSettings {
    pub heat_revision: String,
}

pub const VOLUMES_OPTIONS: &[OptionSpec] = &[boolean("backups_enabled", true).handed_over()];

/// `[volumes]`.
#[derive(Clone, Debug, Deserialize)]
pub struct VolumesSettings {
    pub backups_enabled: bool,
}

pub const AUTH_PASSWORD_OPTIONS: &[OptionSpec] = &[boolean("multi_cloud", false), http_url_list("allowed_auth_uris")];

/// `[auth_password]`.
#[derive(Clone, Debug, Deserialize)]
pub struct AuthPasswordSettings {
    pub multi_cloud: bool,
    pub allowed_auth_uris: Vec<String>,
}
