//! Rules of servers.

use super::Table;
use crate::resource::rules::Condition::{Any, Given, Longer, Missing, Set, Unset, Within};
use crate::resource::rules::Refusal::{Conflict, Invalid};
use crate::resource::rules::Rule::{Code, CodeInside, Each, Exclusive, OneOf, Refuse};
use crate::resource::rules::{Facts, Values, Violation, all, any};
use crate::template::Foreseen;

pub(super) static RULES: Table = &[
    (
        "OS::Nova::Quota",
        &[OneOf(&[
            "cores",
            "fixed_ips",
            "floating_ips",
            "injected_file_content_bytes",
            "injected_file_path_bytes",
            "injected_files",
            "instances",
            "key_pairs",
            "metadata_items",
            "ram",
            "security_group_rules",
            "security_groups",
            "server_group_members",
            "server_groups",
        ])],
    ),
    (
        "OS::Nova::Server",
        &[
            Code(deployments_in_metadata),
            Refuse(
                &[Set(&["block_device_mapping", "block_device_mapping_v2"])],
                Conflict(&["block_device_mapping", "block_device_mapping_v2"]),
            ),
            Each(
                "block_device_mapping",
                &[
                    Exclusive(&["volume_id", "snapshot_id"]),
                    Refuse(
                        &[Missing(&["volume_id", "snapshot_id"])],
                        Invalid("Either volume_id or snapshot_id must be specified for device mapping {device_name}"),
                    ),
                ],
            ),
            Each(
                "block_device_mapping_v2",
                &[
                    CodeInside(several_kinds_of_device),
                    Refuse(
                        &[
                            Missing(&["volume_id", "snapshot_id", "image", "swap_size", "ephemeral_format"]),
                            Unset(&["ephemeral_size"]),
                        ],
                        Invalid(
                            "Either volume_id, snapshot_id, image_id, swap_size, ephemeral_size or ephemeral_format \
                             must be specified.",
                        ),
                    ),
                ],
            ),
            Code(nothing_to_boot_from),
            Code(several_to_boot_from),
            Each(
                "networks",
                &[
                    Refuse(
                        &[Missing(&["network", "port", "subnet"]), Unset(&["allocate_network"])],
                        Invalid(
                            "One of the properties \"network\", \"port\", \"allocate_network\" or \"subnet\" should be \
                             set for the specified network of server \"{}\".",
                        ),
                    ),
                    Refuse(
                        &[
                            Set(&["allocate_network"]),
                            Any(&[
                                Given(&["network"]),
                                Given(&["fixed_ip"]),
                                Given(&["port"]),
                                Given(&["port_extra_properties"]),
                                Given(&["subnet"]),
                                Given(&["floating_ip"]),
                                Given(&["tag"]),
                            ]),
                        ],
                        Invalid("Can not specify \"allocate_network\" with other keys of networks at the same time."),
                    ),
                    Refuse(
                        &[Set(&["fixed_ip"]), Given(&["port"])],
                        Conflict(&["networks/fixed_ip", "networks/port"]),
                    ),
                    Refuse(
                        &[
                            Given(&["network", "floating_ip"]),
                            Missing(&["port", "subnet"]),
                            Unset(&["port_extra_properties"]),
                        ],
                        Invalid(
                            "Property \"floating_ip\" is not supported if only \"network\" is specified, because the \
                             corresponding port can not be retrieved.",
                        ),
                    ),
                ],
            ),
            Refuse(
                &[Within("networks", &[Set(&["allocate_network"])]), Longer("networks", 1)],
                Invalid(
                    "Property \"allocate_network\" can not be specified if multiple network interfaces set for \
                     server.",
                ),
            ),
            Refuse(
                &[Within("networks", &[Given(&["port"])]), Set(&["security_groups"])],
                Conflict(&["security_groups", "networks/port"]),
            ),
        ],
    ),
];

const DEVICES: &str = "block_device_mapping_v2";

/// What a device of a server can be booted from.
const SOURCES: [&str; 3] = ["volume_id", "snapshot_id", "image"];

fn is_given(device: &Values, key: &str) -> Option<bool> {
    match device.get(key) {
        Some(value) => value.is_null().map(|is_null| !is_null),
        None => Some(false),
    }
}

fn several_kinds_of_device(_: &Facts<'_>, device: &Values) -> Option<Violation> {
    let is_ephemeral = any(["ephemeral_size", "ephemeral_format"]
        .map(|key| is_given(device, key))
        .into_iter());
    let kinds = SOURCES.iter().chain(&["swap_size"]).map(|key| is_given(device, key));
    let given = kinds.chain([is_ephemeral]).filter(|is_given| *is_given == Some(true));
    let message = "Cannot define the following properties at the same time: volume_id, snapshot_id, image, swap_size, \
                   ephemeral_size, ephemeral_format.";
    (given.count() > 1).then(|| Violation {
        class: "ResourcePropertyConflict",
        ..Violation::of_all(message)
    })
}

/// Whether the server could be booted from a device.
fn is_bootable(device: &Values) -> Option<bool> {
    let has_source = any(SOURCES.iter().map(|key| is_given(device, key)));
    let is_first = match device.get("boot_index") {
        Some(Foreseen::Value(index)) => Some(index.is_null() || *index == 0),
        Some(_) => None,
        None => Some(true),
    };
    all([has_source, is_first].into_iter())
}

fn nothing_to_boot_from(facts: &Facts<'_>) -> Option<Violation> {
    let is_first_disk = |device: &Foreseen| {
        let name = device.entries()?.get("device_name")?.scalar()?;
        Some(name == "vda")
    };
    let first_disks = facts.get("block_device_mapping").items()?.iter().map(is_first_disk);
    let devices = facts.get(DEVICES).items()?.iter();
    let bootable = devices.map(|device| is_bootable(device.entries()?));
    let has_image = facts.get("image").is_null().map(|is_null| !is_null);
    let boots = any([has_image].into_iter().chain(first_disks).chain(bootable))?;
    let message = || {
        format!(
            "Neither image nor bootable volume is specified for instance {}",
            facts.resource
        )
    };
    (!boots).then(|| Violation::of_all(message()))
}

/// The engine keeps the deployments on a server in its metadata.
fn deployments_in_metadata(facts: &Facts<'_>) -> Option<Violation> {
    const FORMAT: &str = "user_data_format";
    let is_for_software = *facts.get(FORMAT).scalar()? == "SOFTWARE_CONFIG";
    let metadata = facts.neighbours?.metadata(facts.resource);
    let message = "deployments key not allowed in resource metadata with user_data_format of SOFTWARE_CONFIG";
    (is_for_software && metadata.entries()?.contains_key("deployments")).then(|| Violation::invalid(FORMAT, message))
}

fn several_to_boot_from(facts: &Facts<'_>) -> Option<Violation> {
    let devices = facts.get(DEVICES).items()?;
    let mut sources = usize::from(!facts.get("image").is_null()?);
    for device in devices {
        let device = device.entries()?;
        if is_bootable(device)? {
            for key in SOURCES {
                sources += usize::from(is_given(device, key)?);
            }
        }
    }
    let message = || format!("Multiple bootable sources for instance {}.", facts.resource);
    (!devices.is_empty() && sources != 1).then(|| Violation::invalid(DEVICES, message()))
}
