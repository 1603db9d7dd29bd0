//! oslo.messaging: `[DEFAULT]` transport, `[oslo_messaging_rabbit]`, `[oslo_messaging_notifications]`.

use std::time::Duration;

use secrecy::SecretString;
use serde::Deserialize;

use super::option::*;
use super::typed;

pub const DEFAULT_OPTIONS: &[OptionSpec] = &[
    text("transport_url", "rabbit://").secret(),
    text("control_exchange", "heat"),
    integer("rpc_response_timeout", "60"),
    integer("executor_thread_pool_size", "64").formerly(&[was("rpc_thread_pool_size")]),
    boolean("rpc_ping_enabled", false),
];

pub const RABBIT_OPTIONS: &[OptionSpec] = &[
    boolean("amqp_durable_queues", false),
    boolean("amqp_auto_delete", false),
    integer("rpc_conn_pool_size", "30")
        .min(1)
        .instead("publishers share one connection with a channel for each; the broker sees fewer connections"),
    integer("conn_pool_min_size", "2").instead("there is no pool of connections"),
    integer("conn_pool_ttl", "1200").instead("there is no pool of connections"),
    boolean("ssl", false),
    text("ssl_version", "").instead("TLS 1.2 and 1.3 are offered, older ones never"),
    text("ssl_key_file", ""),
    text("ssl_cert_file", ""),
    text("ssl_ca_file", ""),
    boolean("ssl_enforce_hostname_verification", true),
    boolean("ssl_enforce_fips_mode", false).instead("deprecated and without effect in the Python engine, too"),
    number("kombu_reconnect_delay", "1.0").between(0.0, 4.5),
    number("kombu_reconnect_splay", "0.0").min(0),
    text_unset("kombu_compression"),
    integer("kombu_missing_consumer_retry_timeout", "60").formerly(&[was("kombu_reconnect_timeout")]),
    choice("kombu_failover_strategy", "round-robin", &["round-robin", "shuffle"]),
    choice(
        "rabbit_login_method",
        "AMQPLAIN",
        &["PLAIN", "AMQPLAIN", "EXTERNAL", "RABBIT-CR-DEMO"],
    ),
    integer("rabbit_retry_interval", "1").min(1),
    integer("rabbit_retry_backoff", "2").min(0),
    integer("rabbit_interval_max", "30").min(1),
    boolean("rabbit_ha_queues", false),
    boolean("rabbit_quorum_queue", false),
    boolean("rabbit_transient_quorum_queue", false),
    integer("rabbit_quorum_delivery_limit", "0"),
    integer("rabbit_quorum_max_memory_length", "0"),
    integer("rabbit_quorum_max_memory_bytes", "0"),
    integer("rabbit_transient_queues_ttl", "1800").min(0),
    integer("rabbit_qos_prefetch_count", "0"),
    integer("heartbeat_timeout_threshold", "60"),
    integer("heartbeat_rate", "3").instead("heartbeats are sent twice in heartbeat_timeout_threshold"),
    boolean("direct_mandatory_flag", true).instead("replies are always mandatory, as in the Python engine"),
    boolean("enable_cancel_on_failover", false),
    boolean("use_queue_manager", false),
    hostname("hostname"),
    text("processname", "heat-engine"),
    boolean("rabbit_stream_fanout", false),
];

pub const NOTIFICATION_OPTIONS: &[OptionSpec] = &[
    repeated("driver", &[]),
    text_unset("transport_url").secret(),
    list("topics", "notifications"),
    integer("retry", "-1"),
];

/// All that the messaging room needs.
#[derive(Clone, Debug)]
pub struct MessagingSettings {
    pub transport: TransportSettings,
    pub rabbit: RabbitSettings,
    pub notifications: NotificationSettings,
}

/// `[DEFAULT]`, as far as it is oslo.messaging's.
#[derive(Clone, Debug, Deserialize)]
pub struct TransportSettings {
    #[serde(deserialize_with = "typed::secret")]
    pub transport_url: SecretString,
    pub control_exchange: String,
    #[serde(deserialize_with = "typed::seconds")]
    pub rpc_response_timeout: Duration,
    /// How many messages of one server are dispatched at a time.
    pub executor_thread_pool_size: u32,
    pub rpc_ping_enabled: bool,
}

/// `[oslo_messaging_rabbit]`.
#[derive(Clone, Debug, Deserialize)]
pub struct RabbitSettings {
    pub amqp_durable_queues: bool,
    pub amqp_auto_delete: bool,
    pub ssl: bool,
    pub ssl_key_file: String,
    pub ssl_cert_file: String,
    /// Empty: the certificate authorities of the system.
    pub ssl_ca_file: String,
    /// Whether the certificate must name the broker; its chain of trust is checked in any case.
    pub ssl_enforce_hostname_verification: bool,
    #[serde(deserialize_with = "typed::seconds")]
    pub kombu_reconnect_delay: Duration,
    #[serde(deserialize_with = "typed::seconds")]
    pub kombu_reconnect_splay: Duration,
    /// `gzip`: bodies of published messages are compressed.
    pub kombu_compression: Option<String>,
    #[serde(deserialize_with = "typed::seconds")]
    pub kombu_missing_consumer_retry_timeout: Duration,
    pub kombu_failover_strategy: FailoverStrategy,
    pub rabbit_login_method: LoginMethod,
    #[serde(deserialize_with = "typed::seconds")]
    pub rabbit_retry_interval: Duration,
    #[serde(deserialize_with = "typed::seconds")]
    pub rabbit_retry_backoff: Duration,
    #[serde(deserialize_with = "typed::seconds")]
    pub rabbit_interval_max: Duration,
    pub rabbit_ha_queues: bool,
    pub rabbit_quorum_queue: bool,
    pub rabbit_transient_quorum_queue: bool,
    /// 0: the argument is left out.
    pub rabbit_quorum_delivery_limit: i64,
    /// 0: the argument is left out.
    pub rabbit_quorum_max_memory_length: i64,
    /// 0: the argument is left out.
    pub rabbit_quorum_max_memory_bytes: i64,
    /// Seconds after which an unused reply or fanout queue expires; 0: the argument is left out.
    pub rabbit_transient_queues_ttl: i64,
    /// 0: no limit.
    pub rabbit_qos_prefetch_count: u16,
    /// Zero: no heartbeats.
    #[serde(deserialize_with = "typed::seconds")]
    pub heartbeat_timeout_threshold: Duration,
    /// Checks within `heartbeat_timeout_threshold`.
    pub heartbeat_rate: u32,
    pub enable_cancel_on_failover: bool,
    pub use_queue_manager: bool,
    /// Part of queue names under `use_queue_manager`.
    pub hostname: String,
    /// Part of queue names under `use_queue_manager`.
    pub processname: String,
    pub rabbit_stream_fanout: bool,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum FailoverStrategy {
    RoundRobin,
    Shuffle,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
pub enum LoginMethod {
    #[serde(rename = "PLAIN")]
    Plain,
    #[serde(rename = "AMQPLAIN")]
    AmqPlain,
    #[serde(rename = "EXTERNAL")]
    External,
    #[serde(rename = "RABBIT-CR-DEMO")]
    RabbitCrDemo,
}

/// `[oslo_messaging_notifications]`.
#[derive(Clone, Debug, Deserialize)]
pub struct NotificationSettings {
    /// Names as oslo.messaging has them (`messagingv2`, `noop`, …); none: nothing is sent.
    #[serde(rename = "driver")]
    pub drivers: Vec<String>,
    /// `None`: the transport of RPC.
    #[serde(deserialize_with = "typed::optional_secret")]
    pub transport_url: Option<SecretString>,
    pub topics: Vec<String>,
    /// Attempts to send once more; -1: without end.
    pub retry: i64,
}
