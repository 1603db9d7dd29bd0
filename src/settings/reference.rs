//! All groups of heat.conf that the engine part of Heat 27.0.1 reads.

use std::fmt::Write;

use super::option::{DefaultValue, GroupSpec, OptionSpec, Treatment};
use super::{cache, clients, database, engine, keystone, logging, messaging, own, policy};

/// Groups of which the engine uses nothing, with the reason.
pub const UNUSED_GROUPS: &[(&str, &str)] = &[
    ("cors", "read by heat-api"),
    ("ec2authtoken", "read by heat-api-cfn"),
    ("noauth", "read by heat-api"),
    ("oslo_concurrency", "no lock files are used"),
    ("oslo_messaging_metrics", "oslo.metrics is not spoken"),
    (
        "oslo_messaging_tracing",
        "oslo.messaging's OpenTelemetry spans are not sent",
    ),
    ("oslo_middleware", "read by heat-api"),
    (
        "oslo_reports",
        "there is no Guru Meditation Report; `--check-config` shows the options in force",
    ),
    ("oslo_versionedobjects", "a debugging aid for Python's objects"),
    ("paste_deploy", "read by heat-api"),
    ("profiler", "osprofiler's traces are not written"),
    ("profiler_jaeger", "osprofiler's traces are not written"),
    ("profiler_otlp", "osprofiler's traces are not written"),
];

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
        name: own::GROUP,
        tables: &[own::OPTIONS],
    },
    GroupSpec {
        name: "keystone_authtoken",
        tables: &[keystone::AUTHTOKEN_OPTIONS],
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
        name: "oslo_policy",
        tables: &[policy::OPTIONS],
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

/// The reference for operators.
pub fn as_markdown() -> String {
    let mut text = String::from(MARKDOWN_HEAD);
    for group in GROUPS {
        let _ = write!(
            text,
            "\n## [{}]\n\n| option | default | |\n| --- | --- | --- |\n",
            group.name
        );
        for option in group.options() {
            let _ = writeln!(
                text,
                "| `{}` | {} | {} |",
                option.name,
                default_for_people(option),
                remark(option)
            );
        }
    }
    text.push_str("\n## Groups of which the engine uses nothing\n\n| group | why |\n| --- | --- |\n");
    for (group, why) in UNUSED_GROUPS {
        let _ = writeln!(text, "| `[{group}]` | {why} |");
    }
    text
}

const MARKDOWN_HEAD: &str = "\
# Options of heat.conf

Every option that the engine part of Heat 27.0.1 reads, with its default (the Python engine's, which a test compares).
*Honoured* options mean what they mean to a Python engine. *Handed over* are those of resource types and methods that are
left to a Python engine, which honours them. The others are accepted, checked, and named in the log when they are set;
what happens in their place stands beside them. Unknown options are ignored, as everywhere in OpenStack.

Written from the tables in `src/settings/`: `WRITE_REFERENCE=1 cargo test --test it reference`.
";

fn default_for_people(option: &OptionSpec) -> String {
    match option.default {
        DefaultValue::Unset | DefaultValue::Texts([]) => String::new(),
        DefaultValue::Text("") => "(empty)".to_owned(),
        DefaultValue::Text(_) if option.secret && option.name != "transport_url" => "(not shown)".to_owned(),
        DefaultValue::Text(text) => format!("`{}`", text.replace('|', "\\|")),
        DefaultValue::Texts(texts) => format!("`{}`", texts.join("`, `")),
        DefaultValue::Hostname => "name of the machine".to_owned(),
    }
}

fn remark(option: &OptionSpec) -> String {
    let mut remark = match option.treatment {
        Treatment::Honoured => "honoured".to_owned(),
        Treatment::HandedOver => "handed over".to_owned(),
        Treatment::Instead(what) => format!("not used: {what}"),
    };
    for former in option.formerly {
        let group = former.group.map(|group| format!("[{group}] ")).unwrap_or_default();
        let _ = write!(remark, "; formerly `{group}{}`", former.name);
    }
    remark
}
