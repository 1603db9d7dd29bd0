//! Rules of volumes.

use super::Table;
use crate::python::repr::repr;
use crate::resource::rules::Condition::{Missing, Set};
use crate::resource::rules::Refusal::{Conflict, Invalid, Unspecified};
use crate::resource::rules::Rule::{Code, Refuse};
use crate::resource::rules::{Facts, Violation};

pub(super) static RULES: Table = &[
    (
        "OS::Cinder::Quota",
        &[Refuse(
            &[Missing(&[
                "gigabytes",
                "snapshots",
                "volumes",
                "backups",
                "backup_gigabytes",
            ])],
            Unspecified(&["gigabytes", "snapshots", "volumes", "backups", "backup_gigabytes"]),
        )],
    ),
    (
        "OS::Cinder::Volume",
        &[
            Refuse(&[Set(&["image", "imageRef"])], Conflict(&["image", "imageRef"])),
            Code(sources),
        ],
    ),
    (
        "OS::Cinder::VolumeType",
        &[Refuse(
            &[Set(&["projects", "is_public"])],
            Invalid("Can not specify property \"projects\" if the volume type is public."),
        )],
    ),
];

/// What is not made from a backup has a size, or is as large as the one thing that it is made from.
fn sources(facts: &Facts<'_>) -> Option<Violation> {
    if facts.get("backup_id").is_true()? {
        return None;
    }
    let mut options = Vec::new();
    for option in ["snapshot_id", "source_volid", "image", "imageRef"] {
        if facts.get(option).is_true()? {
            options.push(option);
        }
    }
    let size = facts.get("size");
    let has_size = !size.is_null()?;
    let has_sized_source = matches!(options[..], ["snapshot_id" | "source_volid"]);
    let shown = repr(&options.iter().copied().collect());
    if !has_size && !has_sized_source {
        let message = format!(
            "If neither \"backup_id\" nor \"size\" is provided, one and only one of \"source_volid\", \
             \"snapshot_id\" must be specified, but currently specified options: {shown}."
        );
        let about = options.last().copied();
        return Some(about.map_or_else(
            || Violation::of_all(&message),
            |about| Violation::invalid(about, &message),
        ));
    }
    if has_size && options.len() > 1 {
        let message = format!(
            "If \"size\" is provided, only one of \"image\", \"imageRef\", \"source_volid\", \"snapshot_id\" can be \
             specified, but currently specified options: {shown}."
        );
        return options.last().map(|about| Violation::invalid(about, message));
    }
    None
}
