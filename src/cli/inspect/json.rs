//! The picture of a stack for programs.

use serde_json::{Map, Value, json};

use crate::convergence::survey::{NodeState, Phase, RowState, Survey, Time};
use crate::stack::node::{Node, Subject};
use crate::stack::state::isotime;

/// `pretty`: over several lines.
pub fn render(survey: &Survey, pretty: bool) -> String {
    let value = to_value(survey);
    let text = match pretty {
        true => serde_json::to_string_pretty(&value),
        false => serde_json::to_string(&value),
    };
    // A value of ours has text keys alone, so it can be written.
    text.unwrap_or_default() + "\n"
}

fn to_value(survey: &Survey) -> Value {
    let stack = &survey.stack;
    let seconds_left = survey.time.map(|time| match time {
        Time::Left(left) => i64::try_from(left.as_secs()).unwrap_or(i64::MAX),
        Time::Over(over) => -i64::try_from(over.as_secs()).unwrap_or(i64::MAX),
    });
    json!({
        "stack": {
            "id": stack.id,
            "name": stack.name,
            "project": stack.tenant,
            "owner": stack.owner_id,
            "action": stack.action,
            "status": stack.status,
            "status_reason": stack.status_reason,
            "created_at": isotime(stack.created_at),
            "updated_at": stack.updated_at.map(isotime),
            "deleted_at": stack.deleted_at.map(isotime),
            "template": stack.raw_template_id,
            "previous_template": stack.prev_raw_template_id,
            "rolls_back": !stack.disable_rollback,
        },
        "taken_at": isotime(survey.taken_at),
        "phase": match survey.phase {
            Phase::UnderWay => "under way",
            Phase::NotLaidOut => "not laid out",
            Phase::Ended => "ended",
        },
        "traversal": stack.current_traversal,
        "seconds_left": seconds_left,
        "template_problem": survey.template_problem,
        "nodes": survey.nodes.values().map(node_value).collect::<Vec<_>>(),
        "stack_waits_for": nodes(&survey.stack_waits_for),
        "other_rows": survey.other_rows.iter().map(row_value).collect::<Vec<_>>(),
        "holders": survey.holders.iter().map(|(id, holder)| {
            let facts = json!({
                "host": holder.host,
                "reported_at": holder.reported_at.map(isotime),
                "reports": holder.reports,
                "leaves": holder.leaves,
            });
            (id.clone(), facts)
        }).collect::<Map<_, _>>(),
        "next": survey.prospects().iter().map(|prospect| json!({
            "when": name(&prospect.when),
            "follow": nodes(&prospect.follow),
            "completes_the_stack": prospect.completes_the_stack,
        })).collect::<Vec<_>>(),
    })
}

fn node_value(state: &NodeState) -> Value {
    json!({
        "node": name(&state.node),
        "resource": state.name,
        "progress": state.progress.as_str(),
        "since": state.since.map(isotime),
        "requires": nodes(&state.requires),
        "required_by": nodes(&state.required_by),
        "missing": nodes(&state.missing),
        "untold": nodes(&state.untold),
        "row": state.row.as_ref().map(row_value),
    })
}

fn row_value(row: &RowState) -> Value {
    json!({
        "id": row.id,
        "name": row.name,
        "type": row.resource_type,
        "state": row.state(),
        "status_reason": row.reason,
        "physical_resource_id": row.physical_id,
        "engine_id": row.holder,
        "template": row.template_id,
        "replaces": row.replaces,
        "replaced_by": row.replaced_by,
    })
}

fn nodes(nodes: &[Node]) -> Vec<String> {
    nodes.iter().map(name).collect()
}

/// `42:update`, `42:cleanup`
fn name(node: &Node) -> String {
    let step = if node.is_update { "update" } else { "cleanup" };
    match &node.subject {
        Subject::Resource(id) => format!("{id}:{step}"),
        Subject::Snapshot(id) => format!("{id}:snapshot"),
    }
}
