//! The account for programs: one object, the same things under plain names.

use std::time::Duration;

use serde_json::{Map, Value, json};

use super::account::{Account, Book, Event, Opening, Row, Verdict, What};
use super::sql::visible_values;
use crate::cli::secrets::Secrets;
use crate::journal::{MessageKind, Outcome};
use crate::stack::node::Node;

pub fn render(account: &Account, code: u8) -> String {
    let book = account.book();
    let value = to_value(&book, code);
    // A value of ours has text keys alone, so it can be written.
    serde_json::to_string_pretty(&value).unwrap_or_default() + "\n"
}

fn to_value(book: &Book, code: u8) -> Value {
    let secrets = &book.secrets;
    let opening = book.opening.as_ref().map(|opening| opening_value(opening, secrets));
    let closing = book.closing.as_ref().map(|closing| {
        json!({
            "verdict": match closing.verdict {
                Verdict::Done => "done",
                Verdict::Failed => "failed",
                Verdict::NotRun => "not run",
            },
            "row": closing.row.as_ref().map(|row| row_value(row, secrets)),
            "stack": closing.stack_state,
        })
    });
    let decisions = book
        .decisions()
        .map(|(what, why)| json!({"what": what.as_str(), "why": secrets.hide_in(why)}));
    let tally = book.tally();
    json!({
        "before": opening,
        "decisions": decisions.collect::<Vec<_>>(),
        "events": book.events.iter().map(|event| event_value(event, secrets)).collect::<Vec<_>>(),
        "after": closing,
        "counts": {
            "reads": tally.reads,
            "writes": tally.writes,
            "messages": tally.messages,
            "notifications": tally.notifications,
            "requests": tally.requests,
        },
        "took_ms": millis(book.took()),
        "exit_code": code,
    })
}

fn opening_value(opening: &Opening, secrets: &Secrets) -> Value {
    let stack = &opening.stack;
    let predecessors = opening.predecessors.iter().map(|predecessor| {
        json!({
            "sender": predecessor.sender,
            "name": predecessor.name,
            "data": secrets.hide(&predecessor.data),
        })
    });
    json!({
        "dry_run": opening.dry_run,
        "node": node_value(&opening.node),
        "resource": opening.name,
        "type": opening.resource_type,
        "stack": {
            "id": stack.id,
            "name": stack.name,
            "project": stack.tenant,
            "action": stack.action,
            "status": stack.status,
            "traversal": stack.current_traversal,
        },
        "source": opening.source,
        "message": secrets.hide_map(&opening.message),
        "acts_as": opening.acts_as,
        "row": opening.row.as_ref().map(|row| row_value(row, secrets)),
        "predecessors": predecessors.collect::<Vec<_>>(),
        "remarks": opening.remarks,
    })
}

fn row_value(row: &Row, secrets: &Secrets) -> Value {
    json!({
        "id": row.id,
        "state": row.state,
        "status_reason": row.reason.as_deref().map(|reason| secrets.hide_in(reason)),
        "physical_resource_id": row.physical_id.as_deref().map(|id| secrets.hide_in(id)),
        "engine_id": row.holder,
        "atomic_key": row.atomic_key,
        "template": row.template_id,
        "replaces": row.replaces,
        "replaced_by": row.replaced_by,
    })
}

fn event_value(event: &Event, secrets: &Secrets) -> Value {
    let (kind, facts) = facts_of(&event.what, secrets);
    let mut value = Map::new();
    value.insert("at_ms".to_owned(), millis(event.at));
    value.insert("kind".to_owned(), Value::from(kind));
    if let Value::Object(facts) = facts {
        value.extend(facts);
    }
    Value::Object(value)
}

fn facts_of(what: &What, secrets: &Secrets) -> (&'static str, Value) {
    let hide_option = |value: &Option<Value>| value.as_ref().map(|value| secrets.hide(value));
    match what {
        What::Statement(statement) => (
            "statement",
            json!({
                "sql": statement.sql,
                "values": visible_values(statement, secrets),
                "rows": statement.rows,
                "took_ms": millis(statement.took),
                "transaction": statement.transaction,
                "outcome": outcome(&statement.outcome, secrets),
            }),
        ),
        What::Message(message) => (
            match message.kind {
                MessageKind::Cast => "cast",
                MessageKind::Call => "call",
                MessageKind::Notification => "notification",
            },
            json!({
                "to": message.to,
                "name": message.name,
                "content": secrets.hide_map(&message.content),
                // A notification is on its way when there is time for it.
                "took_ms": match message.kind {
                    MessageKind::Cast | MessageKind::Call => millis(message.took),
                    MessageKind::Notification => Value::Null,
                },
                "outcome": outcome(&message.outcome, secrets),
            }),
        ),
        What::Request(request) => (
            "request",
            json!({
                "method": request.method,
                "url": secrets.hide_in(&request.url),
                "status": request.status,
                "took_ms": millis(request.took),
                "outcome": outcome(&request.outcome, secrets),
            }),
        ),
        What::Definition { before, after } => (
            "definition",
            json!({"before": hide_option(before), "after": hide_option(after)}),
        ),
        What::Properties { before, after, changed } => (
            "properties",
            json!({
                "before": before.as_ref().map(|before| secrets.hide_map(before)),
                "after": after.as_ref().map(|after| secrets.hide_map(after)),
                "changed": changed,
            }),
        ),
        What::Decided { what, why } => ("decision", json!({"what": what.as_str(), "why": secrets.hide_in(why)})),
        What::Asked { call, took, failure } => (
            "asked",
            json!({
                "call": call,
                "took_ms": millis(*took),
                "failure": failure.as_deref().map(|failure| secrets.hide_in(failure)),
            }),
        ),
        What::WouldAsk(call) => ("would ask", json!({"call": call})),
        What::Waits(pause) => ("waits", json!({"pause_ms": millis(*pause)})),
        What::Arrived {
            entity,
            is_update,
            missing,
            news,
        } => (
            "arrived",
            json!({
                "entity": entity,
                "is_update": is_update,
                "missing": missing.as_ref().map(|missing| missing.iter().map(node_value).collect::<Vec<_>>()),
                "news": news,
            }),
        ),
        What::Ended { how, reason } => ("ended", json!({"how": how.as_str(), "reason": secrets.hide_in(reason)})),
    }
}

fn outcome(outcome: &Outcome, secrets: &Secrets) -> Value {
    match outcome {
        Outcome::Done => Value::from("done"),
        Outcome::Imagined => Value::from("imagined"),
        Outcome::Failed(reason) => json!({"failed": secrets.hide_in(reason)}),
    }
}

fn node_value(node: &Node) -> Value {
    let step = if node.is_update { "update" } else { "cleanup" };
    json!(format!("{}:{step}", node.entity_id()))
}

fn millis(duration: Duration) -> Value {
    // Whole microseconds: more would be noise.
    json!((duration.as_secs_f64() * 1_000_000.0).round() / 1000.0)
}
