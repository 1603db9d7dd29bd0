//! All groups of heat.conf that the engine part of Heat 27.0.1 reads.

use super::option::{GroupSpec, OptionSpec, boolean, text, text_unset};
use super::{cache, clients, database, engine, keystone, logging, messaging, own, policy};

const NO_PROFILER: &str = "osprofiler's traces are not written";
const NO_FILE_LOCKS: &str = "no lock files are used";
const API_ONLY: &str = "read by heat-api";

const PROFILER_OPTIONS: &[OptionSpec] = &[
    boolean("enabled", false).instead(NO_PROFILER),
    boolean("trace_sqlalchemy", false).instead(NO_PROFILER),
    boolean("trace_requests", false).instead(NO_PROFILER),
];
const CONCURRENCY_OPTIONS: &[OptionSpec] = &[
    boolean("disable_process_locking", false).instead(NO_FILE_LOCKS),
    text_unset("lock_path").instead(NO_FILE_LOCKS),
];
const VERSIONED_OBJECTS_OPTIONS: &[OptionSpec] =
    &[boolean("fatal_exception_format_errors", false).instead("a debugging aid of Python's objects")];
const NOAUTH_OPTIONS: &[OptionSpec] = &[text("token_response", "").instead(API_ONLY)];

const fn clients_group(name: &'static str) -> GroupSpec {
    GroupSpec {
        name,
        tables: &[clients::SERVICE_OPTIONS],
    }
}

pub const GROUPS: &[GroupSpec] = &[
    GroupSpec {
        name: "DEFAULT",
        tables: &[engine::OPTIONS, messaging::DEFAULT_OPTIONS, logging::OPTIONS],
    },
    GroupSpec {
        name: "auth_password",
        tables: &[engine::AUTH_PASSWORD_OPTIONS],
    },
    GroupSpec {
        name: "cache",
        tables: &[cache::OPTIONS],
    },
    GroupSpec {
        name: "clients",
        tables: &[clients::DEFAULT_OPTIONS],
    },
    clients_group("clients_aodh"),
    clients_group("clients_barbican"),
    GroupSpec {
        name: "clients_cinder",
        tables: &[clients::SERVICE_OPTIONS, clients::HTTP_LOG_OPTIONS],
    },
    clients_group("clients_designate"),
    clients_group("clients_glance"),
    GroupSpec {
        name: "clients_heat",
        tables: &[clients::SERVICE_OPTIONS, clients::HEAT_OPTIONS],
    },
    GroupSpec {
        name: "clients_keystone",
        tables: &[clients::SERVICE_OPTIONS, clients::KEYSTONE_OPTIONS],
    },
    clients_group("clients_magnum"),
    clients_group("clients_manila"),
    clients_group("clients_mistral"),
    clients_group("clients_neutron"),
    GroupSpec {
        name: "clients_nova",
        tables: &[clients::SERVICE_OPTIONS, clients::HTTP_LOG_OPTIONS],
    },
    clients_group("clients_octavia"),
    clients_group("clients_swift"),
    clients_group("clients_trove"),
    clients_group("clients_zaqar"),
    GroupSpec {
        name: "constraint_validation_cache",
        tables: &[cache::CONSTRAINT_VALIDATION_OPTIONS],
    },
    GroupSpec {
        name: "database",
        tables: &[database::OPTIONS],
    },
    GroupSpec {
        name: "heat_engine_rs",
        tables: &[own::OPTIONS],
    },
    GroupSpec {
        name: "keystone_authtoken",
        tables: &[keystone::AUTHTOKEN_OPTIONS],
    },
    GroupSpec {
        name: "noauth",
        tables: &[NOAUTH_OPTIONS],
    },
    GroupSpec {
        name: "oslo_concurrency",
        tables: &[CONCURRENCY_OPTIONS],
    },
    GroupSpec {
        name: "oslo_messaging_metrics",
        tables: &[messaging::METRICS_OPTIONS],
    },
    GroupSpec {
        name: "oslo_messaging_notifications",
        tables: &[messaging::NOTIFICATION_OPTIONS],
    },
    GroupSpec {
        name: "oslo_messaging_rabbit",
        tables: &[messaging::RABBIT_OPTIONS],
    },
    GroupSpec {
        name: "oslo_messaging_tracing",
        tables: &[messaging::TRACING_OPTIONS],
    },
    GroupSpec {
        name: "oslo_policy",
        tables: &[policy::OPTIONS],
    },
    GroupSpec {
        name: "oslo_versionedobjects",
        tables: &[VERSIONED_OBJECTS_OPTIONS],
    },
    GroupSpec {
        name: "profiler",
        tables: &[PROFILER_OPTIONS],
    },
    GroupSpec {
        name: "resource_finder_cache",
        tables: &[cache::RESOURCE_FINDER_OPTIONS],
    },
    GroupSpec {
        name: "revision",
        tables: &[engine::REVISION_OPTIONS],
    },
    GroupSpec {
        name: "service_extension_cache",
        tables: &[cache::SERVICE_EXTENSION_OPTIONS],
    },
    GroupSpec {
        name: "trustee",
        tables: &[keystone::TRUSTEE_OPTIONS],
    },
    GroupSpec {
        name: "volumes",
        tables: &[engine::VOLUMES_OPTIONS],
    },
    GroupSpec {
        name: "yaql",
        tables: &[engine::YAQL_OPTIONS],
    },
];

/// The group of that name; case counts in `DEFAULT` alone, as in oslo.config.
pub fn group(name: &str) -> Option<&'static GroupSpec> {
    GROUPS
        .iter()
        .find(|group| group.name == name || (group.name != "DEFAULT" && group.name.eq_ignore_ascii_case(name)))
}
