//! What was found, decided and done, in its order.

use std::collections::{BTreeSet, HashMap};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use serde_json::{Map, Value};
use tokio::time::Instant;

use super::sql;
use super::text::Printer;
use crate::cli::secrets::Secrets;
use crate::convergence::witness::{Decision, Ended, Step};
use crate::journal::{Entry, Message, MessageKind, Outcome, Request, Statement};
use crate::resource::properties::Properties;
use crate::stack::node::Node;
use crate::store;

/// What is known before the check.
#[derive(Clone, Debug)]
pub struct Opening {
    pub node: Node,
    pub name: String,
    pub resource_type: Option<String>,
    pub stack: store::Stack,
    pub time: String,
    pub traversal: String,
    pub dry_run: bool,
    /// Where the message comes from.
    pub source: String,
    /// The message as it is, as arguments of `check_resource`.
    pub message: Map<String, Value>,
    /// For whom it acts, and by what.
    pub acts_as: String,
    pub row: Option<Row>,
    pub predecessors: Vec<Predecessor>,
    /// What else there is to be said about the start.
    pub remarks: Vec<String>,
    pub secrets: Secrets,
    /// Names of the stack's resources by their rows.
    pub names: HashMap<i64, String>,
}

/// A resource's row, as far as it is shown.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Row {
    pub id: i64,
    pub state: String,
    pub reason: Option<String>,
    pub physical_id: Option<String>,
    pub holder: Option<String>,
    pub atomic_key: Option<i64>,
    pub template_id: Option<i64>,
    pub replaces: Option<i64>,
    pub replaced_by: Option<i64>,
}

/// What a node before this one has told.
#[derive(Clone, Debug)]
pub struct Predecessor {
    /// As the graph names it.
    pub sender: String,
    pub name: String,
    pub data: Value,
}

/// What became of it.
#[derive(Clone, Debug)]
pub struct Closing {
    pub verdict: Verdict,
    pub row: Option<Row>,
    /// `CREATE_IN_PROGRESS` and the like.
    pub stack_state: String,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Verdict {
    Done,
    /// The resource failed.
    Failed,
    /// The check could not be run, or not to its end.
    NotRun,
}

#[derive(Debug)]
pub struct Event {
    pub at: Duration,
    pub what: What,
}

#[derive(Debug)]
pub enum What {
    Statement(Statement),
    Message(Message),
    Request(Request),
    Definition {
        before: Option<Value>,
        after: Option<Value>,
    },
    Properties {
        before: Option<Map<String, Value>>,
        /// `None`: there is nothing that the resource should be any more.
        after: Option<Map<String, Value>>,
        changed: Vec<String>,
    },
    Decided {
        what: Decision,
        why: String,
    },
    Asked {
        call: &'static str,
        took: Duration,
        failure: Option<String>,
    },
    WouldAsk(&'static str),
    Waits(Duration),
    Arrived {
        entity: String,
        is_update: bool,
        missing: Option<Vec<Node>>,
        news: bool,
    },
    Ended {
        how: Ended,
        reason: String,
    },
}

/// How much of what there was.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Tally {
    pub reads: usize,
    pub writes: usize,
    pub messages: usize,
    pub notifications: usize,
    pub requests: usize,
}

#[derive(Clone)]
pub struct Account(Arc<Mutex<Book>>);

pub struct Book {
    began: Instant,
    is_open: bool,
    took: Duration,
    printer: Option<Printer>,
    pub opening: Option<Opening>,
    pub secrets: Secrets,
    pub events: Vec<Event>,
    pub closing: Option<Closing>,
}

impl Account {
    pub fn new(printer: Option<Printer>) -> Self {
        Self(Arc::new(Mutex::new(Book {
            began: Instant::now(),
            is_open: false,
            took: Duration::ZERO,
            printer,
            opening: None,
            secrets: Secrets::default(),
            events: Vec::new(),
            closing: None,
        })))
    }

    pub fn book(&self) -> MutexGuard<'_, Book> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    pub fn open(&self, opening: Opening) {
        let mut book = self.book();
        book.secrets = opening.secrets.clone();
        if let Some(printer) = &book.printer {
            printer.open(&opening);
        }
        book.opening = Some(opening);
    }

    /// A text without secrets; `None` as long as nobody knows which they are.
    pub fn hide(&self, text: &str) -> Option<String> {
        let book = self.book();
        book.opening.as_ref().map(|_| book.secrets.hide_in(text))
    }

    /// From here on what leaves the process belongs to the check.
    pub fn begin(&self) {
        let mut book = self.book();
        book.began = Instant::now();
        book.is_open = true;
    }

    pub fn end(&self) {
        let mut book = self.book();
        book.took = book.began.elapsed();
        book.is_open = false;
    }

    pub fn close(&self, closing: Closing) {
        let mut book = self.book();
        if let Some(printer) = &book.printer {
            printer.close(&book, &closing);
        }
        book.closing = Some(closing);
    }

    pub fn enter(&self, entry: Entry) {
        self.note(match entry {
            Entry::Statement(statement) => What::Statement(statement),
            Entry::Message(message) => What::Message(message),
            Entry::Request(request) => What::Request(request),
        });
    }

    pub fn step(&self, step: &Step<'_>) {
        let what = match step {
            Step::Secret(value) => return self.book().secrets.add(value),
            Step::Definition { before, after } => What::Definition {
                before: before.clone(),
                after: after.clone(),
            },
            Step::Properties { before, after } => {
                let changed = before.zip(*after).map(|(before, after)| changed(after, before));
                let (mut before, mut after) = (before.map(values_of), after.map(values_of));
                let secrets = &mut self.book().secrets;
                before.iter().chain(&after).for_each(|values| secrets.add_named(values));
                let both = before.iter_mut().chain(&mut after);
                both.for_each(|values| secrets.hide_places(values));
                What::Properties {
                    before,
                    after,
                    changed: changed.unwrap_or_default(),
                }
            }
            Step::Decided { what, why } => What::Decided {
                what: *what,
                why: why.clone(),
            },
            Step::Asked { call, took, failure } => What::Asked {
                call,
                took: *took,
                failure: failure.map(ToString::to_string),
            },
            Step::WouldAsk { call } => What::WouldAsk(call),
            Step::Waits { pause } => What::Waits(*pause),
            Step::Arrived { at, missing, news } => What::Arrived {
                entity: at.entity_id.clone(),
                is_update: at.is_update,
                missing: missing
                    .as_ref()
                    .map(|missing| missing.iter().map(|node| (*node).clone()).collect()),
                news: *news,
            },
            Step::Ended { how, reason } => What::Ended {
                how: *how,
                reason: reason.clone(),
            },
        };
        self.note(what);
    }

    fn note(&self, what: What) {
        let mut book = self.book();
        if !book.is_open {
            return;
        }
        let event = Event {
            at: book.began.elapsed(),
            what,
        };
        if let Some(printer) = &book.printer {
            printer.event(&book, &event);
        }
        book.events.push(event);
    }
}

impl Book {
    pub fn took(&self) -> Duration {
        self.took
    }

    pub fn rehearses(&self) -> bool {
        self.opening.as_ref().is_some_and(|opening| opening.dry_run)
    }

    pub fn tally(&self) -> Tally {
        let mut tally = Tally::default();
        for event in &self.events {
            match &event.what {
                What::Statement(statement) if sql::is_read(&statement.sql) => tally.reads += 1,
                What::Statement(statement) if !sql::is_bracket(&statement.sql) => tally.writes += 1,
                What::Message(message) if message.kind == MessageKind::Notification => tally.notifications += 1,
                What::Message(_) => tally.messages += 1,
                What::Request(_) => tally.requests += 1,
                _ => {}
            }
        }
        tally
    }

    /// How the check ended, if it did not simply succeed.
    pub fn ended(&self) -> Option<(Ended, &str)> {
        self.events.iter().rev().find_map(|event| match &event.what {
            What::Ended { how, reason } => Some((*how, reason.as_str())),
            _ => None,
        })
    }

    pub fn decisions(&self) -> impl Iterator<Item = (Decision, &str)> {
        self.events.iter().filter_map(|event| match &event.what {
            What::Decided { what, why } => Some((*what, why.as_str())),
            _ => None,
        })
    }

    /// The resource's name in the place of its row's id.
    pub fn name_of(&self, entity: &str) -> String {
        let names = self.opening.as_ref().map(|opening| &opening.names);
        let id: Option<i64> = entity.parse().ok();
        let name = id.and_then(|id| names?.get(&id));
        match (name, id) {
            (Some(name), _) => name.clone(),
            (None, Some(id)) if id < 0 => "the new row".to_owned(),
            (None, Some(id)) => format!("row {id}"),
            (None, None) => entity.to_owned(),
        }
    }
}

pub fn was_sent(outcome: &Outcome) -> bool {
    *outcome == Outcome::Done
}

/// What the template gives, read through the schema; what cannot be read says why.
fn values_of(properties: &Properties) -> Map<String, Value> {
    let given = properties
        .schema()
        .iter()
        .filter(|property| properties.is_given(property.name));
    given
        .map(|property| {
            let value = properties.get(property.name);
            let value = value.unwrap_or_else(|error| Value::from(format!("(unreadable: {error})")));
            (property.name.to_owned(), value)
        })
        .collect()
}

/// As the decision sees it; of two types, whose properties nobody compares, whatever is given otherwise.
fn changed(after: &Properties, before: &Properties) -> Vec<String> {
    let names = |properties: &Properties| -> BTreeSet<&str> { properties.schema().iter().map(|it| it.name).collect() };
    if names(after) == names(before) {
        return after.changed_since(before).unwrap_or_default().into_iter().collect();
    }
    let (after, before) = (values_of(after), values_of(before));
    let all: BTreeSet<&String> = after.keys().chain(before.keys()).collect();
    let changed = all.into_iter().filter(|name| after.get(*name) != before.get(*name));
    changed.cloned().collect()
}
