//! What the wire needs to know, in the terms of `[DEFAULT]`, `[oslo_messaging_rabbit]` and
//! `[oslo_messaging_notifications]`.

use std::path::PathBuf;
use std::time::Duration;

/// How to reach the brokers, and how to behave on them.
#[derive(Clone, Debug)]
pub struct Options {
    /// `[DEFAULT] transport_url`; its query part overrides fields of [`RabbitOptions`] by name.
    pub transport_url: String,
    /// `[DEFAULT] control_exchange`; Heat's own default is `heat`.
    pub control_exchange: String,
    /// `[DEFAULT] rpc_response_timeout`: how long a call waits unless it says otherwise.
    pub rpc_response_timeout: Duration,
    /// `[DEFAULT] rpc_ping_enabled`: answer `oslo_rpc_server_ping` with `pong`.
    pub rpc_ping_enabled: bool,
    pub rabbit: RabbitOptions,
    /// Frames larger than this are dropped before anybody parses them.
    pub max_frame_bytes: usize,
    /// What this process is called on the broker's list of connections.
    pub connection_name: String,
}

impl Default for Options {
    fn default() -> Self {
        Self {
            transport_url: "rabbit://".to_owned(),
            control_exchange: "heat".to_owned(),
            rpc_response_timeout: Duration::from_secs(60),
            rpc_ping_enabled: false,
            rabbit: RabbitOptions::default(),
            max_frame_bytes: 100 * 1024 * 1024,
            connection_name: "heat-engine".to_owned(),
        }
    }
}

/// `[oslo_messaging_rabbit]`, field by field; the names are those of the options.
#[derive(Clone, Debug)]
pub struct RabbitOptions {
    pub ssl: bool,
    pub ssl_version: String,
    pub ssl_key_file: Option<PathBuf>,
    pub ssl_cert_file: Option<PathBuf>,
    pub ssl_ca_file: Option<PathBuf>,
    pub ssl_enforce_hostname_verification: bool,
    pub kombu_reconnect_delay: Duration,
    pub kombu_reconnect_splay: Duration,
    pub kombu_compression: Option<String>,
    pub kombu_missing_consumer_retry_timeout: Duration,
    pub kombu_failover_strategy: FailoverStrategy,
    pub rabbit_login_method: LoginMethod,
    pub rabbit_retry_interval: Duration,
    pub rabbit_retry_backoff: Duration,
    pub rabbit_interval_max: Duration,
    pub rabbit_ha_queues: bool,
    pub rabbit_quorum_queue: bool,
    pub rabbit_transient_quorum_queue: bool,
    pub rabbit_quorum_delivery_limit: u32,
    pub rabbit_quorum_max_memory_length: u32,
    pub rabbit_quorum_max_memory_bytes: u32,
    pub rabbit_transient_queues_ttl: Duration,
    pub rabbit_qos_prefetch_count: u16,
    pub rabbit_stream_fanout: bool,
    pub heartbeat_timeout_threshold: Duration,
    pub direct_mandatory_flag: bool,
    pub enable_cancel_on_failover: bool,
    pub amqp_durable_queues: bool,
    pub amqp_auto_delete: bool,
    pub use_queue_manager: bool,
    pub hostname: String,
    pub processname: String,
}

impl Default for RabbitOptions {
    fn default() -> Self {
        Self {
            ssl: false,
            ssl_version: String::new(),
            ssl_key_file: None,
            ssl_cert_file: None,
            ssl_ca_file: None,
            ssl_enforce_hostname_verification: true,
            kombu_reconnect_delay: Duration::from_secs(1),
            kombu_reconnect_splay: Duration::ZERO,
            kombu_compression: None,
            kombu_missing_consumer_retry_timeout: Duration::from_secs(60),
            kombu_failover_strategy: FailoverStrategy::RoundRobin,
            rabbit_login_method: LoginMethod::Amqplain,
            rabbit_retry_interval: Duration::from_secs(1),
            rabbit_retry_backoff: Duration::from_secs(2),
            rabbit_interval_max: Duration::from_secs(30),
            rabbit_ha_queues: false,
            rabbit_quorum_queue: false,
            rabbit_transient_quorum_queue: false,
            rabbit_quorum_delivery_limit: 0,
            rabbit_quorum_max_memory_length: 0,
            rabbit_quorum_max_memory_bytes: 0,
            rabbit_transient_queues_ttl: Duration::from_secs(1800),
            rabbit_qos_prefetch_count: 0,
            rabbit_stream_fanout: false,
            heartbeat_timeout_threshold: Duration::from_secs(60),
            direct_mandatory_flag: true,
            enable_cancel_on_failover: false,
            amqp_durable_queues: false,
            amqp_auto_delete: false,
            use_queue_manager: false,
            hostname: String::new(),
            processname: "heat-engine".to_owned(),
        }
    }
}

/// `kombu_failover_strategy`: which broker is tried next.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum FailoverStrategy {
    RoundRobin,
    Shuffle,
}

/// `rabbit_login_method`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum LoginMethod {
    Plain,
    Amqplain,
    External,
    RabbitCrDemo,
}

/// `[oslo_messaging_notifications]`.
#[derive(Clone, Debug)]
pub struct NotificationOptions {
    pub drivers: Vec<NotificationDriver>,
    pub topics: Vec<String>,
    /// Where notifications go, if not where RPC goes.
    pub transport_url: Option<String>,
    /// Attempts after the first for each notification; `None` tries for ever.
    pub retry: Option<u32>,
    /// Notifications held while the broker is away; when it is full, `notify` waits.
    pub backlog: usize,
}

impl Default for NotificationOptions {
    fn default() -> Self {
        Self {
            drivers: Vec::new(),
            topics: vec!["notifications".to_owned()],
            transport_url: None,
            retry: None,
            backlog: 10_000,
        }
    }
}

/// A `driver` of `[oslo_messaging_notifications]`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum NotificationDriver {
    /// Without an envelope.
    Messaging,
    MessagingV2,
    Log,
    Noop,
}
