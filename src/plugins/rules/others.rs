//! Rules of services with a type or two.

use super::Table;
use crate::resource::rules::Condition::{Differ, Given, Is, IsNot, Missing, Set, Unset};
use crate::resource::rules::Refusal::{Conflict, Dependency, Invalid, ValueDependency};
use crate::resource::rules::Rule::{self, Code, Each, OneOf, Refuse};
use crate::resource::rules::{Facts, Violation};

pub(super) static RULES: Table = &[
    (
        "OS::Designate::Zone",
        &[
            Refuse(
                &[Is("type", &["PRIMARY"]), Unset(&["email"])],
                Invalid("Property email is required for zone type PRIMARY"),
            ),
            Refuse(
                &[Is("type", &["SECONDARY"]), Unset(&["masters"])],
                Invalid("Property masters is required for zone type SECONDARY"),
            ),
        ],
    ),
    (
        "OS::Glance::WebImage",
        &[
            Refuse(
                &[
                    Is("container_format", &["ami", "ari", "aki"]),
                    Differ("container_format", "disk_format"),
                ],
                Invalid(
                    "Invalid mix of disk and container formats. When setting a disk or container format to one of \
                     'aki', 'ari', or 'ami', the container and disk formats must match.",
                ),
            ),
            Refuse(
                &[Set(&["members"]), IsNot("visibility", &["shared"])],
                ValueDependency("members", "visibility", "shared"),
            ),
        ],
    ),
    ("OS::Magnum::BayModel", &VOLUME_DRIVERS),
    ("OS::Magnum::ClusterTemplate", &VOLUME_DRIVERS),
    (
        "OS::Manila::ShareNetwork",
        &[
            Refuse(
                &[Set(&["nova_network"])],
                Invalid("Nova network is no longer supported"),
            ),
            Refuse(
                &[Set(&["neutron_network"]), Unset(&["neutron_subnet"])],
                Dependency("neutron_network", "neutron_subnet"),
            ),
        ],
    ),
    ("OS::Zaqar::Subscription", &[Code(unknown_subscriber)]),
    (
        "OS::Zun::Container",
        &[
            Code(unknown_restart_policy),
            Each(
                "mounts",
                &[
                    Refuse(
                        &[Missing(&["volume_id", "volume_size"])],
                        Invalid(
                            "One of the properties \"volume_id\" or \"volume_size\" should be set for the specified \
                             mount of container \"{}\".",
                        ),
                    ),
                    Refuse(
                        &[Set(&["volume_id", "volume_size"])],
                        Conflict(&["networks/volume_id", "networks/volume_size"]),
                    ),
                ],
            ),
            Each(
                "networks",
                &[
                    OneOf(&["network", "port"]),
                    Refuse(
                        &[Set(&["fixed_ip"]), Given(&["port"])],
                        Conflict(&["networks.fixed_ip", "networks.port"]),
                    ),
                ],
            ),
        ],
    ),
];

static VOLUME_DRIVERS: [Rule; 2] = [
    Refuse(
        &[
            Is("coe", &["kubernetes"]),
            Given(&["volume_driver"]),
            IsNot("volume_driver", &["cinder"]),
        ],
        Invalid(
            "Volume driver type {volume_driver} is not supported by COE:{coe}, expecting a ['cinder'] volume driver.",
        ),
    ),
    Refuse(
        &[
            Is("coe", &["swarm", "mesos"]),
            Given(&["volume_driver"]),
            IsNot("volume_driver", &["rexray"]),
        ],
        Invalid(
            "Volume driver type {volume_driver} is not supported by COE:{coe}, expecting a ['rexray'] volume driver.",
        ),
    ),
];

fn unknown_subscriber(facts: &Facts<'_>) -> Option<Violation> {
    const KNOWN: [&str; 5] = ["http", "https", "mailto", "trust+http", "trust+https"];
    let subscriber = facts.get("subscriber").scalar()?.as_str()?;
    let kind = subscriber.split_once(':').map_or(subscriber, |(kind, _)| kind);
    let message = || format!("The subscriber type of must be one of: {}.", KNOWN.join(", "));
    (!KNOWN.contains(&kind)).then(|| Violation::invalid("subscriber", message()))
}

fn unknown_restart_policy(facts: &Facts<'_>) -> Option<Violation> {
    let policy = facts.get("restart_policy").scalar()?.as_str()?;
    let is_known = match policy.split_once(':') {
        Some((policy, _)) => policy == "on-failure",
        None => ["", "always", "unless-stopped", "on-failure", "no"].contains(&policy),
    };
    let message = || {
        format!(
            "restart_policy \"{policy}\" is invalid. Valid values are \"no\", \"on-failure[:max-retry]\", \"always\", \
             and \"unless-stopped\"."
        )
    };
    (!is_known).then(|| Violation::invalid("restart_policy", message()))
}
