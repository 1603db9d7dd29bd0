//! `[cache]` and the three groups that say what is cached for how long.

use std::time::Duration;

use serde::Deserialize;

use super::option::*;
use super::typed;

const IN_PROCESS: &str = "the cache is in the process; one engine serves what many Python workers shared a server for";

pub const OPTIONS: &[OptionSpec] = &[
    boolean("enabled", false),
    integer("expiration_time", "600")
        .min(1)
        .instead("each of the groups below has its own"),
    integer_unset("backend_expiration_time").min(1).instead(IN_PROCESS),
    choice(
        "backend",
        "dogpile.cache.null",
        &[
            "oslo_cache.memcache_pool",
            "oslo_cache.dict",
            "oslo_cache.etcd3gw",
            "dogpile.cache.pymemcache",
            "dogpile.cache.memcached",
            "dogpile.cache.pylibmc",
            "dogpile.cache.bmemcached",
            "dogpile.cache.dbm",
            "dogpile.cache.redis",
            "dogpile.cache.redis_sentinel",
            "dogpile.cache.memory",
            "dogpile.cache.memory_pickle",
            "dogpile.cache.null",
        ],
    ),
    repeated("backend_argument", &[]).secret().instead(IN_PROCESS),
    text("config_prefix", "cache.oslo").instead(IN_PROCESS),
    boolean("debug_cache_backend", false).instead(IN_PROCESS),
    boolean("enable_retry_client", false).instead(IN_PROCESS),
    boolean("enable_socket_keepalive", false).instead(IN_PROCESS),
    number("hashclient_dead_timeout", "60")
        .formerly(&[was("dead_timeout")])
        .instead(IN_PROCESS),
    integer("hashclient_retry_attempts", "2").min(1).instead(IN_PROCESS),
    number("hashclient_retry_timeout", "1")
        .formerly(&[was("hashclient_retry_delay")])
        .instead(IN_PROCESS),
    integer("memcache_dead_retry", "300").instead(IN_PROCESS),
    integer("memcache_pool_connection_get_timeout", "10").instead(IN_PROCESS),
    boolean("memcache_pool_flush_on_reconnect", false).instead(IN_PROCESS),
    integer("memcache_pool_maxsize", "10").instead(IN_PROCESS),
    integer("memcache_pool_unused_timeout", "60").instead(IN_PROCESS),
    boolean("memcache_sasl_enabled", false).instead(IN_PROCESS),
    list("memcache_servers", "localhost:11211").instead(IN_PROCESS),
    text_unset("username")
        .formerly(&[was_in("cache", "memcache_username"), was_in("cache", "redis_username")])
        .instead(IN_PROCESS),
    text_unset("password")
        .secret()
        .formerly(&[was_in("cache", "memcache_password"), was_in("cache", "redis_password")])
        .instead(IN_PROCESS),
    list("proxies", "").instead(IN_PROCESS),
    integer("redis_db", "0").min(0).instead(IN_PROCESS),
    text("redis_sentinel_service_name", "mymaster").instead(IN_PROCESS),
    list("redis_sentinels", "localhost:26379").instead(IN_PROCESS),
    text("redis_server", "localhost:6379").instead(IN_PROCESS),
    integer("retry_attempts", "2").min(1).instead(IN_PROCESS),
    number("retry_delay", "0").instead(IN_PROCESS),
    integer("socket_keepalive_count", "1").min(0).instead(IN_PROCESS),
    integer("socket_keepalive_idle", "1").min(0).instead(IN_PROCESS),
    integer("socket_keepalive_interval", "1").min(0).instead(IN_PROCESS),
    number("socket_timeout", "1.0")
        .formerly(&[
            was_in("cache", "memcache_socket_timeout"),
            was_in("cache", "redis_socket_timeout"),
        ])
        .instead(IN_PROCESS),
    text_unset("tls_allowed_ciphers").instead(IN_PROCESS),
    text_unset("tls_cafile").instead(IN_PROCESS),
    text_unset("tls_certfile").instead(IN_PROCESS),
    boolean("tls_enabled", false).instead(IN_PROCESS),
    text_unset("tls_keyfile").instead(IN_PROCESS),
];

pub const CONSTRAINT_VALIDATION_OPTIONS: &[OptionSpec] = &[boolean("caching", true), integer("expiration_time", "60")];
pub const RESOURCE_FINDER_OPTIONS: &[OptionSpec] = &[boolean("caching", true), integer("expiration_time", "3600")];
pub const SERVICE_EXTENSION_OPTIONS: &[OptionSpec] = &[boolean("caching", true), integer("expiration_time", "3600")];

#[derive(Clone, Debug)]
pub struct CacheSettings {
    /// `[constraint_validation_cache]`: "is there such a project, flavor, …".
    pub constraint_validation: CachedFor,
    /// `[resource_finder_cache]`: names to ids.
    pub resource_finder: CachedFor,
    /// `[service_extension_cache]`: which extensions a service has.
    pub service_extension: CachedFor,
}

/// One thing that may be cached.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
pub struct CachedFor {
    /// Already false when `[cache] enabled` is, or its backend is the one that keeps nothing.
    pub caching: bool,
    #[serde(deserialize_with = "typed::seconds")]
    pub expiration_time: Duration,
}

/// The switch over all of them.
#[derive(Clone, Debug, Deserialize)]
pub(super) struct CacheSwitch {
    enabled: bool,
    backend: String,
}

impl CacheSwitch {
    pub(super) fn apply(&self, cached: CachedFor) -> CachedFor {
        let keeps_something = self.enabled && self.backend != "dogpile.cache.null";
        CachedFor {
            caching: cached.caching && keeps_something,
            ..cached
        }
    }
}
