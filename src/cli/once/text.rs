//! The account as text, while it is written: a line for each thing, decisions where the eye finds them.

use std::time::Duration;

use serde_json::{Map, Value};

use super::account::{Book, Closing, Event, Opening, Row, Verdict, What, was_sent};
use super::sql::{self, Readable};
use crate::cli::by_hand;
use crate::cli::screen::{Columns, Ink, Paint, cut, duration, one_line};
use crate::cli::secrets::Secrets;
use crate::convergence::witness::{Decision, Ended};
use crate::journal::{Message, MessageKind, Outcome, Request, Statement};
use crate::stack::node::{Node, NodeData};

const MOST_READ: usize = 100;
const MOST_CHANGES: usize = 400;
const MOST_VALUE: usize = 200;
const UNDER_TIME: &str = "            ";

pub struct Printer {
    paint: Paint,
}

impl Printer {
    pub fn new(paint: Paint) -> Self {
        Self { paint }
    }

    pub fn open(&self, opening: &Opening) {
        by_hand::print(&self.opening(opening));
    }

    pub fn event(&self, book: &Book, event: &Event) {
        by_hand::print(&self.line(book, event));
    }

    pub fn close(&self, book: &Book, closing: &Closing) {
        by_hand::print(&self.closing(book, closing));
    }

    // ------------------------------------------------------------------ before

    fn opening(&self, opening: &Opening) -> String {
        let stack = &opening.stack;
        let word = |word: &Option<String>| word.clone().unwrap_or_default();
        let stack_state = format!("{}_{}", word(&stack.action), word(&stack.status));
        let resource_type = opening.resource_type.clone().unwrap_or_default();
        let what = match opening.dry_run {
            true => "rehearsal",
            false => "check",
        };
        let mut facts = Columns::default();
        let mut fact = |label: &str, text: String| facts.row([(Ink::Faint, label.to_owned()), (Ink::Plain, text)]);
        fact(
            what,
            format!("{}  {resource_type}", node_text(&opening.node, &opening.name)),
        );
        fact(
            "stack",
            format!("{} {}  {stack_state}, {}", stack.name, stack.id, opening.time),
        );
        fact("traversal", opening.traversal.clone());
        fact("message", format!("from {}", opening.source));
        fact("acts as", opening.acts_as.clone());
        let row = opening.row.as_ref().map_or("gone".to_owned(), row_text);
        fact("row", opening.secrets.hide_in(&row));
        for remark in &opening.remarks {
            fact("note", remark.clone());
        }
        let mut text = facts.render(self.paint, "");
        text.push_str(&self.predecessors(opening));
        text.push('\n');
        text
    }

    /// What was told by the nodes before this one.
    fn predecessors(&self, opening: &Opening) -> String {
        if opening.predecessors.is_empty() {
            return String::new();
        }
        let mut columns = Columns::default();
        for predecessor in &opening.predecessors {
            let data = NodeData::from_value(&predecessor.data);
            let (state, reference) = match &data {
                Some(data) => (
                    format!("{}_{}", data.action, data.status),
                    shown(&opening.secrets.hide(&data.reference_id)),
                ),
                None => (String::new(), shown(&opening.secrets.hide(&predecessor.data))),
            };
            columns.row([
                (Ink::Strong, predecessor.name.clone()),
                (Ink::Plain, state),
                (Ink::Plain, reference),
            ]);
            for (attribute, value) in data.into_iter().flat_map(|data| data.attributes) {
                let value = opening.secrets.hide(&value);
                columns.row([
                    (Ink::Plain, format!("  .{attribute}")),
                    (Ink::Plain, String::new()),
                    (Ink::Plain, shown(&value)),
                ]);
            }
        }
        format!(
            "\n{}\n{}",
            self.paint.faint("told by those before it"),
            columns.render(self.paint, "  ")
        )
    }

    // ------------------------------------------------------------------ during

    fn line(&self, book: &Book, event: &Event) -> String {
        let secrets = &book.secrets;
        match &event.what {
            What::Statement(statement) => self.statement(event.at, statement, book),
            What::Message(message) => self.message(event.at, message, book),
            What::Request(request) => self.request(event.at, request, secrets),
            What::Definition { before, after } => self.definition(before.as_ref(), after.as_ref(), secrets),
            What::Properties { before, after, changed } => {
                self.properties(before.as_ref(), after.as_ref(), changed, secrets)
            }
            What::Decided { what, why } => self.decided(*what, &secrets.hide_in(why)),
            What::Asked { call, took, failure } => self.asked(event.at, call, *took, failure.as_deref(), secrets),
            What::WouldAsk(call) => self.timed(event.at, Ink::Active, &format!("would ask the type to {}", verb(call))),
            What::Waits(pause) => self.timed(event.at, Ink::Faint, &format!("looks again in {}", duration(*pause))),
            What::Arrived {
                entity,
                is_update,
                missing,
                news,
            } => {
                let whom = waiting_text(book, entity, *is_update);
                let told = arrived_text(book, &whom, missing.as_deref(), *news);
                self.timed(event.at, Ink::Active, &told)
            }
            What::Ended { how, reason } => {
                let ink = match how {
                    Ended::Failed => Ink::Bad,
                    Ended::Replaced => Ink::Plain,
                    Ended::Contended | Ended::Cancelled | Ended::HandedBack | Ended::PassedOn => Ink::Attention,
                };
                self.timed(event.at, ink, &secrets.hide_in(reason))
            }
        }
    }

    fn timed(&self, at: Duration, ink: Ink, text: &str) -> String {
        let time = self.paint.faint(&format!("{:>9}", stamp(at)));
        format!("{time}  {}\n", self.paint.ink(ink, one_line(text).trim_end()))
    }

    fn statement(&self, at: Duration, statement: &Statement, book: &Book) -> String {
        let secrets = &book.secrets;
        if sql::is_bracket(&statement.sql) {
            let took = match was_sent(&statement.outcome) {
                true => format!("  {}", stamp(statement.took)),
                false => String::new(),
            };
            return self.timed(at, Ink::Faint, &format!("{}{took}", statement.sql));
        }
        let readable = Readable::of(statement, secrets);
        let head = format!("{} {}", readable.verb, readable.table);
        let rows = secrets.hide_in(&rows_text(statement));
        let condition = readable.condition.split(" ORDER BY ").next().unwrap_or_default();
        let condition = cut(condition, MOST_READ);
        if sql::is_read(&statement.sql) {
            return self.timed(at, Ink::Faint, &apart(&[&head, &condition, &rows]));
        }
        let would = if was_sent(&statement.outcome) { "" } else { "would " };
        let ink = if statement.rows == 0 {
            Ink::Attention
        } else {
            Ink::Plain
        };
        let mut text = self.timed(at, ink, &apart(&[&format!("{would}{head}"), &condition, &rows]));
        let changes: Vec<String> = readable
            .changes
            .iter()
            .filter(|change| !says_nothing(&readable.verb, change))
            .map(|change| self.change(change, statement, book))
            .collect();
        if !changes.is_empty() {
            let changes = cut(&one_line(&changes.join(", ")), MOST_CHANGES);
            text.push_str(&format!("{UNDER_TIME} {}\n", self.paint.faint(&changes)));
        }
        text
    }

    /// What a sync point holds is told by names: the data stands where it is read.
    fn change(&self, change: &str, statement: &Statement, book: &Book) -> String {
        if !change.starts_with("input_data = ") {
            return change.to_owned();
        }
        let texts = statement.values.iter().filter_map(Value::as_str);
        let senders = texts.filter_map(|text| senders_of(text, book)).next();
        senders.map_or_else(|| change.to_owned(), |senders| format!("input_data = of {senders}"))
    }

    fn message(&self, at: Duration, message: &Message, book: &Book) -> String {
        let would = if was_sent(&message.outcome) { "" } else { "would " };
        let what = match message.kind {
            MessageKind::Notification => format!("{would}notify {}", message.name),
            MessageKind::Call => format!("{would}call {} of {}", message.name, message.to),
            MessageKind::Cast => match cast_node(&message.content) {
                Some((entity, is_update)) => format!(
                    "{would}cast {} to {}: {}",
                    message.name,
                    message.to,
                    waiting_text(book, &entity, is_update)
                ),
                None => format!("{would}cast {} to {}", message.name, message.to),
            },
        };
        let took = stamp(message.took);
        match (&message.outcome, message.kind) {
            (Outcome::Failed(reason), _) => {
                let reason = book.secrets.hide_in(reason);
                self.timed(at, Ink::Bad, &format!("{what}  {took}: {reason}"))
            }
            // It is on its way when there is time for it.
            (Outcome::Done, MessageKind::Notification) | (Outcome::Imagined, _) => self.timed(at, Ink::Active, &what),
            (Outcome::Done, _) => self.timed(at, Ink::Active, &format!("{what}  {took}")),
        }
    }

    fn request(&self, at: Duration, request: &Request, secrets: &Secrets) -> String {
        let what = format!("{} {}", request.method, secrets.hide_in(&request.url));
        match (&request.outcome, request.status) {
            (Outcome::Imagined, _) => self.timed(at, Ink::Active, &format!("would {what}")),
            (Outcome::Failed(reason), _) => {
                let (took, reason) = (stamp(request.took), secrets.hide_in(reason));
                self.timed(at, Ink::Bad, &format!("{what}  {took}: {reason}"))
            }
            (Outcome::Done, status) => {
                let status = status.map(|status| status.to_string()).unwrap_or_default();
                self.timed(at, Ink::Plain, &format!("{what}  {status}  {}", stamp(request.took)))
            }
        }
    }

    fn asked(&self, at: Duration, call: &str, took: Duration, failure: Option<&str>, secrets: &Secrets) -> String {
        let what = format!("the type was asked to {}, {}", verb(call), stamp(took));
        match failure {
            None => self.timed(at, Ink::Active, &what),
            Some(failure) => self.timed(at, Ink::Bad, &format!("{what}: {}", secrets.hide_in(failure))),
        }
    }

    fn decided(&self, what: Decision, why: &str) -> String {
        let decision = self.paint.strong(&format!("decision: {}", what.as_str()));
        format!("\n  {decision}, since {}\n\n", one_line(why))
    }

    fn definition(&self, before: Option<&Value>, after: Option<&Value>, secrets: &Secrets) -> String {
        let mut columns = Columns::default();
        let empty = Map::new();
        let parts = |value: Option<&Value>| value.and_then(Value::as_object).cloned().unwrap_or_default();
        let (before, after) = (secrets.hide_map(&parts(before)), secrets.hide_map(&parts(after)));
        let then = if before == after { &empty } else { &before };
        for (part, value) in &after {
            match then.get(part) {
                Some(old) if old != value => {
                    columns.row([(Ink::Faint, format!("- {part}")), (Ink::Bad, shown(old))]);
                    columns.row([(Ink::Faint, format!("+ {part}")), (Ink::Good, shown(value))]);
                }
                _ => columns.row([(Ink::Faint, format!("  {part}")), (Ink::Plain, shown(value))]),
            }
        }
        for (part, value) in then.iter().filter(|(part, _)| !after.contains_key(*part)) {
            columns.row([(Ink::Faint, format!("- {part}")), (Ink::Bad, shown(value))]);
        }
        if after.is_empty() && then.is_empty() {
            return String::new();
        }
        let title = match after.is_empty() {
            true => "definition: the stack's template has none; it was",
            false => "definition",
        };
        format!(
            "\n  {}\n{}",
            self.paint.faint(title),
            columns.render(self.paint, "    ")
        )
    }

    fn properties(
        &self,
        before: Option<&Map<String, Value>>,
        after: Option<&Map<String, Value>>,
        changed: &[String],
        secrets: &Secrets,
    ) -> String {
        let title = match after {
            Some(_) => "properties",
            None => "properties: none any more; they were",
        };
        let hidden = |values: Option<&Map<String, Value>>| values.map(|values| secrets.hide_map(values));
        let (before, after) = match (hidden(before), hidden(after)) {
            (before, Some(after)) => (before.unwrap_or_default(), after),
            (before, None) => (Map::new(), before.unwrap_or_default()),
        };
        let mut columns = Columns::default();
        let names = after
            .keys()
            .chain(before.keys().filter(|name| !after.contains_key(*name)));
        for name in names {
            let value = |values: &Map<String, Value>| values.get(name).map_or("(not given)".to_owned(), shown);
            match changed.contains(name) {
                true => columns.row([
                    (Ink::Strong, name.clone()),
                    (Ink::Attention, format!("{} → {}", value(&before), value(&after))),
                ]),
                false => columns.row([(Ink::Plain, name.clone()), (Ink::Plain, value(&after))]),
            }
        }
        if columns.is_empty() {
            return String::new();
        }
        format!(
            "\n  {}\n{}",
            self.paint.faint(title),
            columns.render(self.paint, "    ")
        )
    }

    // ------------------------------------------------------------------ after

    fn closing(&self, book: &Book, closing: &Closing) -> String {
        let paint = self.paint;
        let (word, ink) = match closing.verdict {
            Verdict::Done if book.rehearses() => ("rehearsed", Ink::Good),
            Verdict::Done => ("done", Ink::Good),
            Verdict::Failed if book.rehearses() => ("would fail", Ink::Bad),
            Verdict::Failed => ("failed", Ink::Bad),
            Verdict::NotRun => ("not done", Ink::Attention),
        };
        let mut text = format!("\n{}  {}\n", paint.ink(ink, word), self.outcome(book, closing));
        if closing.verdict != Verdict::Done
            && let Some((_, reason)) = book.ended()
        {
            text.push_str(&format!("  {}\n", one_line(&book.secrets.hide_in(reason))));
        }
        let tally = book.tally();
        let counts = [
            (tally.reads, "read"),
            (tally.writes, "write"),
            (tally.messages, "message"),
            (tally.notifications, "notification"),
            (tally.requests, "request"),
        ];
        let counts: Vec<String> = counts
            .into_iter()
            .filter(|(count, _)| *count > 0)
            .map(|(count, what)| format!("{count} {what}{}", if count == 1 { "" } else { "s" }))
            .collect();
        let changed = if book.rehearses() {
            "; nothing was changed, nothing was sent"
        } else {
            ""
        };
        let summary = format!("{} in {}{changed}", counts.join(", "), stamp(book.took()));
        text.push_str(&format!("  {}\n", paint.faint(&summary)));
        text
    }

    fn outcome(&self, book: &Book, closing: &Closing) -> String {
        let name = book.opening.as_ref().map_or("", |opening| &opening.name);
        if book.rehearses() {
            let decision = book.decisions().last();
            return decision.map_or(String::new(), |(what, _)| format!("{name}: {}", what.as_str()));
        }
        let row = match &closing.row {
            Some(Row {
                id,
                replaced_by: Some(by),
                ..
            }) if matches!(book.ended(), Some((Ended::Replaced, _))) => {
                format!("{name} (row {id}) is replaced by row {by}, which is checked next")
            }
            Some(row) => {
                let id = row
                    .physical_id
                    .as_deref()
                    .map_or(String::new(), |id| format!(" ({id})"));
                format!(
                    "{name} is {}{}",
                    self.paint.state(&row.state),
                    book.secrets.hide_in(&id)
                )
            }
            None => format!("the row of {name} is gone"),
        };
        format!("{row}, the stack {}", self.paint.state(&closing.stack_state))
    }
}

/// Columns that are the same for every row, or say what only a program reads. JSON has them all. What a new row has not
/// is no news; what an old one loses is (its `engine_id`: the lock is given back).
fn says_nothing(verb: &str, change: &str) -> bool {
    const ENDS: [&str; 3] = ["= NULL", "= 'null'", "= '[]'"];
    const COLUMNS: [&str; 5] = [
        "uuid = ",
        "created_at = ",
        "updated_at = ",
        "stack_id = ",
        "root_stack_id = ",
    ];
    let is_lock = verb == "UPDATE" && change.starts_with("engine_id = ");
    let is_empty = ENDS.iter().any(|end| change.ends_with(end)) && !is_lock;
    is_empty || COLUMNS.iter().any(|column| change.starts_with(column))
}

/// Who has arrived, by the text of a sync point's `input_data`.
fn senders_of(text: &str, book: &Book) -> Option<String> {
    let outer: Value = serde_json::from_str(text).ok()?;
    let arrived = outer.get("input_data")?.as_object()?;
    let names: Vec<String> = arrived
        .keys()
        .map(|key| match Node::from_key(key) {
            Some(node) => waiting_text(book, &node.entity_id(), node.is_update),
            None => key.clone(),
        })
        .collect();
    Some(names.join(", "))
}

/// Two spaces between what is there.
fn apart(parts: &[&str]) -> String {
    let parts: Vec<&str> = parts.iter().copied().filter(|part| !part.is_empty()).collect();
    parts.join("  ")
}

fn stamp(at: Duration) -> String {
    match at.as_secs() {
        0 => format!("{:.1} ms", at.as_secs_f64() * 1000.0),
        1..60 => format!("{:.2} s", at.as_secs_f64()),
        _ => duration(at),
    }
}

fn rows_text(statement: &Statement) -> String {
    match &statement.outcome {
        Outcome::Imagined if statement.rows == 0 => "the row is not as expected".to_owned(),
        Outcome::Imagined => String::new(),
        Outcome::Failed(reason) => format!("{}: {reason}", stamp(statement.took)),
        Outcome::Done => {
            let plural = if statement.rows == 1 { "" } else { "s" };
            format!("{} row{plural}, {}", statement.rows, stamp(statement.took))
        }
    }
}

/// The plug-in contract's word for what the type is asked.
fn verb(call: &str) -> &str {
    match call {
        "make" => "make the object",
        "change" => "change the object",
        "unmake" => "remove the object",
        other => other,
    }
}

fn node_text(node: &Node, name: &str) -> String {
    let step = if node.is_update { "update" } else { "clean-up" };
    match node.resource_id() {
        Some(id) => format!("{name} ({step}, row {id})"),
        None => node.to_string(),
    }
}

fn row_text(row: &Row) -> String {
    let mut parts = vec![row.state.clone()];
    parts.extend(row.physical_id.clone());
    parts.push(match &row.holder {
        Some(holder) => format!("held by engine {holder}"),
        None => "held by nobody".to_owned(),
    });
    parts.extend(row.template_id.map(|id| format!("of template {id}")));
    parts.extend(row.replaces.map(|id| format!("replaces row {id}")));
    parts.extend(row.replaced_by.map(|id| format!("replaced by row {id}")));
    parts.join(", ")
}

/// Who waits at a sync point.
fn waiting_text(book: &Book, entity: &str, is_update: bool) -> String {
    let is_stack = book.opening.as_ref().is_some_and(|opening| opening.stack.id == entity);
    match (is_stack, is_update) {
        (true, _) => "the stack".to_owned(),
        (false, true) => book.name_of(entity),
        (false, false) => format!("{} (clean-up)", book.name_of(entity)),
    }
}

fn arrived_text(book: &Book, whom: &str, missing: Option<&[Node]>, news: bool) -> String {
    const SHOWN: usize = 4;
    let told = match (news, book.rehearses()) {
        (true, false) => format!("told {whom}"),
        (true, true) => format!("would tell {whom}"),
        (false, _) => format!("{whom} had been told"),
    };
    match missing {
        None => format!("{whom} waits no more: its sync point is gone"),
        Some([]) => format!("{told}: everybody is there"),
        Some(missing) => {
            let mut names: Vec<String> = missing
                .iter()
                .take(SHOWN)
                .map(|node| waiting_text(book, &node.entity_id(), node.is_update))
                .collect();
            if missing.len() > SHOWN {
                names.push(format!("{} more", missing.len() - SHOWN));
            }
            format!("{told}: it still waits for {}", names.join(", "))
        }
    }
}

fn cast_node(content: &Map<String, Value>) -> Option<(String, bool)> {
    let entity = match content.get("resource_id")? {
        Value::String(id) => id.clone(),
        id => id.to_string(),
    };
    Some((entity, content.get("is_update")?.as_bool()?))
}

fn shown(value: &Value) -> String {
    cut(&one_line(&value.to_string()), MOST_VALUE)
}
