//! Rules of networks and what belongs to them.

use std::net::Ipv6Addr;

use super::Table;
use crate::resource::rules::Condition::{Above, Any, Differ, Exceeds, Given, Is, IsNot, Longer, Missing, Set, Unset};
use crate::resource::rules::Refusal::{Conflict, Invalid, Unspecified};
use crate::resource::rules::Rule::{Code, Each, Exclusive, OneOf, Refuse, Requires};
use crate::resource::rules::{Condition, Facts, Violation};

pub(super) static RULES: Table = &[
    ("OS::Neutron::Firewall", &[Code(keys_of_its_own)]),
    ("OS::Neutron::FloatingIP", &[Requires("fixed_ip_address", "port_id")]),
    ("OS::Neutron::Net", &[Code(keys_of_its_own)]),
    (
        "OS::Neutron::NetworkGateway",
        &[Each(
            "connections",
            &[
                Refuse(
                    &[Is("segmentation_type", &["vlan"]), Missing(&["segmentation_id"])],
                    Invalid("segmentation_id must be specified for using vlan"),
                ),
                Refuse(
                    &[Is("segmentation_type", &["flat"]), Set(&["segmentation_id"])],
                    Invalid("segmentation_id cannot be specified except 0 for using flat"),
                ),
            ],
        )],
    ),
    (
        "OS::Neutron::Port",
        &[Refuse(
            &[Set(&["fixed_ips", "no_fixed_ips"])],
            Conflict(&["fixed_ips", "no_fixed_ips"]),
        )],
    ),
    (
        "OS::Neutron::ProviderNet",
        &[
            Refuse(
                &[Is("network_type", &["local", "flat"]), Set(&["segmentation_id"])],
                Invalid("segmentation_id not allowed for network types: local, flat"),
            ),
            Refuse(
                &[
                    Is("network_type", &["vxlan", "gre", "geneve", "local"]),
                    Set(&["physical_network"]),
                ],
                Invalid("physical_network not allowed for network types: vxlan, gre, geneve, flat"),
            ),
        ],
    ),
    (
        "OS::Neutron::Quota",
        &[OneOf(&[
            "floatingip",
            "network",
            "port",
            "rbac_policy",
            "router",
            "security_group",
            "security_group_rule",
            "subnet",
            "subnetpool",
        ])],
    ),
    (
        "OS::Neutron::RBACPolicy",
        &[Refuse(
            &[
                Is(
                    "object_type",
                    &["qos_policy", "security_group", "address_scope", "subnetpool"],
                ),
                IsNot("action", &["access_as_shared"]),
            ],
            Invalid("Invalid action \"{action}\" for object type {object_type}. Valid actions: access_as_shared"),
        )],
    ),
    (
        "OS::Neutron::Router",
        &[
            Refuse(
                &[Set(&["l3_agent_id", "l3_agent_ids"])],
                Conflict(&["l3_agent_id", "l3_agent_ids"]),
            ),
            Refuse(
                &[
                    Set(&["distributed"]),
                    Any(&[Set(&["l3_agent_id"]), Set(&["l3_agent_ids"])]),
                ],
                Conflict(&["distributed", "l3_agent_id/l3_agent_ids"]),
            ),
            Refuse(&[Set(&["distributed", "ha"])], Conflict(&["distributed", "ha"])),
            Refuse(
                &[Unset(&["ha"]), Longer("l3_agent_ids", 1)],
                Invalid("Non HA routers can only have one L3 agent."),
            ),
        ],
    ),
    (
        "OS::Neutron::RouterInterface",
        &[Exclusive(&["subnet", "port"]), OneOf(&["subnet", "port"])],
    ),
    (
        "OS::Neutron::SecurityGroup",
        &[Refuse(
            &[Is("name", &["default"])],
            Invalid("Security groups cannot be assigned the name \"default\"."),
        )],
    ),
    (
        "OS::Neutron::SecurityGroupRule",
        &[
            Exclusive(&["remote_group", "remote_ip_prefix"]),
            Refuse(
                &[
                    IsNot("protocol", &["icmp", "icmpv6", "ipv6-icmp"]),
                    Exceeds("port_range_min", "port_range_max"),
                ],
                Invalid("The minimum port number must be less than or equal to the maximum port number."),
            ),
        ],
    ),
    (
        "OS::Neutron::Segment",
        &[
            Refuse(
                &[Is("network_type", &["flat", "vlan"]), Missing(&["physical_network"])],
                Invalid("physical_network is required for {network_type} provider network."),
            ),
            Refuse(
                &[Is("network_type", &["vlan"]), Missing(&["segmentation_id"])],
                Invalid("segmentation_id is required for {network_type} provider network."),
            ),
            Refuse(
                &[Is("network_type", &["local", "flat"]), Given(&["segmentation_id"])],
                Invalid("segmentation_id is prohibited for {network_type} provider network."),
            ),
            Refuse(
                &[
                    Is("network_type", &["vxlan", "gre", "geneve"]),
                    Given(&["physical_network"]),
                ],
                Invalid("physical_network is prohibited for {network_type} provider network."),
            ),
            Refuse(
                &[Is("network_type", &["vlan"]), Above("segmentation_id", 4094)],
                Invalid("Up to 4094 VLAN network segments can exist on each physical_network."),
            ),
        ],
    ),
    (
        "OS::Neutron::Subnet",
        &[
            Refuse(
                &[Given(&["subnetpool"]), Set(&["cidr"])],
                Conflict(&["subnetpool", "cidr"]),
            ),
            Refuse(
                &[Missing(&["subnetpool"]), Unset(&["cidr"])],
                Unspecified(&["subnetpool", "cidr"]),
            ),
            Refuse(&[Set(&["prefixlen", "cidr"])], Conflict(&["prefixlen", "cidr"])),
            Refuse(
                &[
                    IP_VERSION_4,
                    Any(&[Set(&["ipv6_ra_mode"]), Set(&["ipv6_address_mode"])]),
                ],
                Invalid("ipv6_ra_mode and ipv6_address_mode are not supported for ipv4."),
            ),
            Refuse(
                &[
                    Set(&["ipv6_ra_mode", "ipv6_address_mode"]),
                    Differ("ipv6_ra_mode", "ipv6_address_mode"),
                ],
                Invalid("When both ipv6_ra_mode and ipv6_address_mode are set, they must be equal."),
            ),
            Code(no_address),
        ],
    ),
    (
        "OS::Neutron::SubnetPool",
        &[
            Refuse(
                &[
                    Set(&["min_prefixlen", "max_prefixlen"]),
                    Exceeds("min_prefixlen", "max_prefixlen"),
                ],
                Invalid("Illegal prefix bounds: max_prefixlen={max_prefixlen}, min_prefixlen={min_prefixlen}."),
            ),
            Refuse(
                &[
                    Set(&["default_prefixlen", "max_prefixlen"]),
                    Exceeds("default_prefixlen", "max_prefixlen"),
                ],
                Invalid("Illegal prefix bounds: max_prefixlen={max_prefixlen}, default_prefixlen={default_prefixlen}."),
            ),
            Refuse(
                &[
                    Set(&["default_prefixlen", "min_prefixlen"]),
                    Exceeds("min_prefixlen", "default_prefixlen"),
                ],
                Invalid("Illegal prefix bounds: min_prefixlen={min_prefixlen}, default_prefixlen={default_prefixlen}."),
            ),
        ],
    ),
];

/// Version 4 or 6, and no other.
const IP_VERSION_4: Condition = Condition::Below("ip_version", 5);

/// Keys that are for the administrator, and those for which there are properties.
fn keys_of_its_own(facts: &Facts<'_>) -> Option<Violation> {
    let keys = facts.get("value_specs").entries()?.keys().map(String::as_str);
    let is_banned = |key: &&str| ["shared", "tenant_id"].contains(key) || facts.names().any(|name| name == *key);
    let banned: Vec<&str> = keys.filter(is_banned).collect();
    let first = banned.first()?;
    Some(Violation {
        path: vec!["value_specs".to_owned(), (*first).to_owned()],
        ..Violation::of_all(format!("{} not allowed in value_specs", banned.join(", ")))
    })
}

fn no_address(facts: &Facts<'_>) -> Option<Violation> {
    let text = facts.get("gateway_ip").scalar()?.as_str()?;
    if ["~", "", "auto"].contains(&text) {
        return None;
    }
    let message = || format!("Gateway IP address \"{text}\" is in invalid format.");
    (!is_address(text)).then(|| Violation::invalid("gateway_ip", message()))
}

/// As inet_aton takes addresses of version 4: the last number fills the rest. Those of version 6 may have a scope.
fn is_address(text: &str) -> bool {
    let number = |part: &str| match part.strip_prefix("0x").or_else(|| part.strip_prefix("0X")) {
        Some(digits) => u32::from_str_radix(digits, 16),
        None if part.starts_with('0') && part.len() > 1 => u32::from_str_radix(part, 8),
        None => part.parse(),
    };
    let numbers: Option<Vec<u32>> = text.split('.').map(|part| number(part).ok()).collect();
    let is_version_4 = numbers.is_some_and(|numbers| match numbers.split_last() {
        Some((last, first)) if first.len() < 4 => {
            let rest = u64::from(u32::MAX) >> (8 * first.len());
            first.iter().all(|number| *number < 256) && u64::from(*last) <= rest
        }
        _ => false,
    });
    let without_scope = text.rsplit_once('%').map_or(text, |(address, _)| address);
    is_version_4 || without_scope.parse::<Ipv6Addr>().is_ok()
}
