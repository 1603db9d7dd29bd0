//! Rules of Heat's own types that this engine does not make.

use serde_json::Value;

use super::Table;
use crate::python::to_text;
use crate::resource::rules::Condition::{Any, Below, Exceeds, Given, IsNot};
use crate::resource::rules::Refusal::{Invalid, ValueDependency};
use crate::resource::rules::Rule::{Code, Refuse};
use crate::resource::rules::{Facts, Rule, Violation};
use crate::template::Foreseen;

pub(super) static RULES: Table = &[
    ("OS::Heat::AccessPolicy", &[Code(not_in_stack)]),
    (
        "OS::Heat::AutoScalingGroup",
        &[
            Refuse(
                &[Exceeds("min_size", "max_size")],
                Invalid("MinSize can not be greater than MaxSize"),
            ),
            Refuse(
                &[Below("min_size", 0)],
                Invalid("The size of AutoScalingGroup can not be less than zero"),
            ),
            Refuse(
                &[Any(&[
                    Exceeds("min_size", "desired_capacity"),
                    Exceeds("desired_capacity", "max_size"),
                ])],
                Invalid("DesiredCapacity must be between MinSize and MaxSize"),
            ),
        ],
    ),
    ("OS::Heat::InstanceGroup", &[LAUNCH_CONFIGURATION]),
    (
        "OS::Heat::ScalingPolicy",
        &[Refuse(
            &[
                Given(&["min_adjustment_step"]),
                IsNot("adjustment_type", &["percent_change_in_capacity"]),
            ],
            ValueDependency("min_adjustment_step", "adjustment_type", "percent_change_in_capacity"),
        )],
    ),
    ("OS::Heat::SoftwareComponent", &[Code(two_for_one_action)]),
    ("OS::Heat::SoftwareDeployment", &[Code(server_takes_none)]),
    ("OS::Heat::StructuredDeployment", &[Code(server_takes_none)]),
];

fn two_for_one_action(facts: &Facts<'_>) -> Option<Violation> {
    let mut seen = Vec::new();
    for config in facts.get("configs").items()? {
        let mut actions = config.entries()?.get("actions")?.items()?.iter();
        if actions.any(|action| action.scalar().is_some() && seen.contains(&action)) {
            let message = format!(
                "Defining more than one configuration for the same action in SoftwareComponent \"{}\" is not allowed.",
                facts.resource
            );
            return Some(Violation::invalid("configs", message));
        }
        seen.extend(config.entries()?.get("actions")?.items()?);
    }
    None
}

/// A resource of the stack that a property names.
fn named<'f>(facts: &'f Facts<'_>, property: &str) -> Option<&'f str> {
    let name = match facts.get(property) {
        Foreseen::Value(name) | Foreseen::Reference(name) => name.as_str()?,
        _ => return None,
    };
    facts.neighbours?.has(name).then_some(name)
}

fn not_in_stack(facts: &Facts<'_>) -> Option<Violation> {
    let names = facts.get("AllowedResources").items()?.iter();
    let neighbours = facts.neighbours?;
    let is_known = |name: &Value| name.as_str().is_some_and(|name| neighbours.has(name));
    let unknown = names.filter_map(Foreseen::scalar).find(|name| !is_known(name))?;
    let message = format!("AccessPolicy resource {} not in stack", to_text(unknown));
    Some(Violation::invalid("AllowedResources", message))
}

/// Software is deployed on a server that is made for it.
fn server_takes_none(facts: &Facts<'_>) -> Option<Violation> {
    let server = named(facts, "server")?;
    let format = facts.neighbours?.property(server, "user_data_format");
    let format = format.scalar()?.as_str()?;
    let message = || {
        format!(
            "Resource {server}'s property user_data_format should be set to SOFTWARE_CONFIG since there are software \
             deployments on it."
        )
    };
    (!["", "SOFTWARE_CONFIG"].contains(&format)).then(|| Violation::invalid("server", message()))
}

/// A group of instances comes after its configuration.
pub(super) const LAUNCH_CONFIGURATION: Rule = Code(|facts| {
    const CONFIGURATION: &str = "LaunchConfigurationName";
    let name = facts
        .get(CONFIGURATION)
        .scalar()?
        .as_str()
        .filter(|name| !name.is_empty())?;
    let neighbours = facts.neighbours?;
    let problem = if !neighbours.has(name) {
        "reference can not be found."
    } else if !neighbours.requires(facts.resource, name) {
        "requires a reference to the configuration not just the name of the resource."
    } else {
        return None;
    };
    Some(Violation {
        class: "ValueError",
        ..Violation::invalid(CONFIGURATION, format!("{CONFIGURATION} ({name}) {problem}"))
    })
});
