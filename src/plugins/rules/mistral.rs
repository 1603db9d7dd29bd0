//! Rules of workflows.

use super::Table;
use crate::python::to_text;
use crate::resource::rules::Condition::{Set, Unset};
use crate::resource::rules::Refusal::{Conflict, Unspecified};
use crate::resource::rules::Rule::{Code, CodeInside, Each, Refuse, Requires};
use crate::resource::rules::{Facts, Values, Violation};
use crate::template::Foreseen;

pub(super) static RULES: Table = &[
    (
        "OS::Mistral::CronTrigger",
        &[Refuse(
            &[Unset(&["pattern", "first_time"])],
            Unspecified(&["pattern", "first_time"]),
        )],
    ),
    (
        "OS::Mistral::Workflow",
        &[
            Code(no_task_to_begin_with),
            Each(
                "tasks",
                &[
                    Refuse(&[Set(&["workflow", "action"])], Conflict(&["workflow", "action"])),
                    Refuse(&[Unset(&["workflow", "action"])], Unspecified(&["workflow", "action"])),
                    CodeInside(required_in_direct),
                    Requires("concurrency", "with_items"),
                ],
            ),
        ],
    ),
];

fn is_of_type(facts: &Facts<'_>, wanted: &str) -> Option<bool> {
    Some(facts.get("type").scalar()? == wanted)
}

fn no_task_to_begin_with(facts: &Facts<'_>) -> Option<Violation> {
    let params = facts.get("params");
    let task = match params.entries() {
        Some(entries) => entries.get("task_name").map_or(Some(false), Foreseen::is_true),
        None => params.is_null().filter(|is_null| *is_null).map(|_| false),
    };
    let message = "'task_name' is not assigned in 'params' in case of reverse type workflow.";
    (is_of_type(facts, "reverse")? && !task?).then(|| Violation::invalid("params", message))
}

fn required_in_direct(facts: &Facts<'_>, task: &Values) -> Option<Violation> {
    let is_required = task.get("requires")?.is_null() == Some(false);
    let name = task.get("name").and_then(Foreseen::scalar).map(to_text);
    let message = || {
        format!(
            "task {} contains property 'requires' in case of direct workflow. Only reverse workflows can contain \
             property 'requires'.",
            name.unwrap_or_default()
        )
    };
    (is_required && is_of_type(facts, "direct")?).then(|| Violation::invalid("requires", message()))
}
