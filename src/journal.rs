//! What leaves the process, told to somebody who looks on.
//!
//! The rooms that send something out hold a [`Journal`] and tell it what they send: `store/` its statements,
//! `messaging/` its messages, `cloud/` its requests. An engine's journal is read by nobody, and costs it the look at a
//! null pointer. A check that a person runs by hand (`--once`) has one that is read.
//!
//! A journal may be that of a *rehearsal*. Then whatever would change anything is told and not sent, and the room goes
//! on as if it had gone well. To refuse writes was preferred to a transaction that is rolled back in the end: that would
//! hold the locks of rows which live engines wait for, and use up ids.

use std::fmt;
use std::sync::Arc;
use std::time::Duration;

use serde_json::{Map, Value};

/// A cheap handle; by default nobody reads it.
#[derive(Clone, Default)]
pub struct Journal(Option<Arc<Book>>);

struct Book {
    mode: Mode,
    reader: Box<dyn Fn(Entry) + Send + Sync>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Mode {
    Act,
    /// Change nothing.
    Rehearse,
}

#[derive(Clone, Debug)]
pub enum Entry {
    Statement(Statement),
    Message(Message),
    Request(Request),
}

/// What became of what was sent.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Outcome {
    Done,
    Failed(String),
    /// It is a rehearsal: nothing was sent.
    Imagined,
}

/// One SQL statement.
#[derive(Clone, Debug)]
pub struct Statement {
    /// With a `?` for each value.
    pub sql: String,
    /// Empty where they are not known to whoever sends the statement.
    pub values: Vec<Value>,
    /// Rows that were read, or found by a write.
    pub rows: u64,
    pub took: Duration,
    /// The transaction that it is a part of.
    pub transaction: Option<u64>,
    pub outcome: Outcome,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum MessageKind {
    Cast,
    Call,
    Notification,
}

/// One message to the bus.
#[derive(Clone, Debug)]
pub struct Message {
    pub kind: MessageKind,
    pub to: String,
    /// The method, or the type of the event.
    pub name: String,
    pub content: Map<String, Value>,
    pub took: Duration,
    pub outcome: Outcome,
}

/// One HTTP request, without its body, which may hold secrets.
#[derive(Clone, Debug)]
pub struct Request {
    pub method: String,
    pub url: String,
    pub status: Option<u16>,
    pub took: Duration,
    pub outcome: Outcome,
}

impl Journal {
    pub fn read_by(mode: Mode, reader: impl Fn(Entry) + Send + Sync + 'static) -> Self {
        Self(Some(Arc::new(Book {
            mode,
            reader: Box::new(reader),
        })))
    }

    pub fn is_read(&self) -> bool {
        self.0.is_some()
    }

    pub fn rehearses(&self) -> bool {
        self.0.as_ref().is_some_and(|book| book.mode == Mode::Rehearse)
    }

    pub fn note(&self, entry: impl FnOnce() -> Entry) {
        if let Some(book) = &self.0 {
            (book.reader)(entry());
        }
    }
}

impl fmt::Debug for Journal {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Journal({:?})", self.0.as_ref().map(|book| book.mode))
    }
}

impl Outcome {
    pub fn of<T, E: fmt::Display>(result: &Result<T, E>) -> Self {
        match result {
            Ok(_) => Self::Done,
            Err(error) => Self::Failed(error.to_string()),
        }
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Mutex;

    use super::*;

    fn entry() -> Entry {
        Entry::Request(Request {
            method: "GET".to_owned(),
            url: "http://keystone/v3".to_owned(),
            status: Some(200),
            took: Duration::ZERO,
            outcome: Outcome::Done,
        })
    }

    #[test]
    fn nothing_is_written_where_nobody_reads() {
        Journal::default().note(|| unreachable!("nobody reads"));
        assert!(!Journal::default().is_read() && !Journal::default().rehearses());
    }

    #[test]
    fn a_reader_is_told_in_order() {
        let read = Arc::new(Mutex::new(Vec::new()));
        let keep = read.clone();
        let journal = Journal::read_by(Mode::Rehearse, move |entry| keep.lock().unwrap().push(entry));
        assert!(journal.rehearses());
        journal.note(entry);
        journal.clone().note(entry);
        assert_eq!(read.lock().unwrap().len(), 2);
    }
}
