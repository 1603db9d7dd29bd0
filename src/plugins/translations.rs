//! By which rules properties of types that this engine does not make stand for others: mostly old names for those of today.
//! What a service resolves is left out, since there is none.

use crate::python::value::is_true;
use crate::resource::properties::Properties;
use crate::resource::translation::{Source, TranslationRule};

const FLOATING_NETWORK: TranslationRule =
    TranslationRule::replace(&["floating_network"], Source::Path(&["floating_network_id"]));
const NETWORK: TranslationRule = TranslationRule::replace(&["network"], Source::Path(&["network_id"]));
const PORT: TranslationRule = TranslationRule::replace(&["port"], Source::Path(&["port_id"]));
const ROUTER: TranslationRule = TranslationRule::replace(&["router"], Source::Path(&["router_id"]));
const SUBNET: TranslationRule = TranslationRule::replace(&["subnet"], Source::Path(&["subnet_id"]));

/// By the names of types.
pub(super) static TRANSLATIONS: &[(&str, &[TranslationRule])] = &[
    (
        "OS::Cinder::Volume",
        &[TranslationRule::replace(&["image"], Source::Path(&["imageRef"]))],
    ),
    (
        "OS::Designate::Zone",
        &[TranslationRule::replace(&["masters"], Source::Sibling("primaries"))],
    ),
    (
        "OS::Mistral::Workflow",
        &[
            TranslationRule::replace(
                &["tasks", "pause_before"],
                Source::Inside("policies", &["pause_before"]),
            ),
            TranslationRule::replace(&["tasks", "wait_after"], Source::Inside("policies", &["wait_after"])),
            TranslationRule::replace(&["tasks", "wait_before"], Source::Inside("policies", &["wait_before"])),
            TranslationRule::replace(&["tasks", "timeout"], Source::Inside("policies", &["timeout"])),
            TranslationRule::replace(&["tasks", "concurrency"], Source::Inside("policies", &["concurrency"])),
            TranslationRule::replace(&["tasks", "retry"], Source::Inside("policies", &["retry"])),
            TranslationRule::delete(&["tasks", "policies"]),
        ],
    ),
    ("OS::Neutron::FloatingIP", &[FLOATING_NETWORK]),
    (
        "OS::Neutron::NetworkGateway",
        &[TranslationRule::replace(
            &["connections", "network"],
            Source::Sibling("network_id"),
        )],
    ),
    (
        "OS::Neutron::Port",
        &[
            NETWORK,
            TranslationRule::replace(&["fixed_ips", "subnet"], Source::Sibling("subnet_id")),
        ],
    ),
    (
        "OS::Neutron::Router",
        &[
            TranslationRule::add(&["l3_agent_ids"], Source::Path(&["l3_agent_id"])).when(has_agent),
            TranslationRule::delete(&["l3_agent_id"]).when(has_agent),
        ],
    ),
    ("OS::Neutron::RouterGateway", &[NETWORK]),
    ("OS::Neutron::RouterInterface", &[PORT, ROUTER, SUBNET]),
    ("OS::Neutron::Subnet", &[NETWORK]),
    ("OS::Neutron::VPNService", &[SUBNET, ROUTER]),
    (
        "OS::Nova::Server",
        &[
            TranslationRule::replace(&["networks", "network"], Source::Sibling("uuid")),
            TranslationRule::replace(&["block_device_mapping_v2", "image"], Source::Sibling("image_id")),
        ],
    ),
];

fn has_agent(properties: &Properties) -> bool {
    is_true(&properties.as_given("l3_agent_id"))
}

/// The rules for a type.
pub fn of(type_name: &str) -> &'static [TranslationRule] {
    let found = TRANSLATIONS.iter().find(|(name, _)| *name == type_name);
    found.map_or(&[], |(_, rules)| rules)
}
