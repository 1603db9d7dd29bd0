//! The way of every statement to the server, and past whoever looks on.
//!
//! Without a journal that is read this is the bare connection.

use std::time::Duration;

use futures_util::StreamExt;
use futures_util::future::BoxFuture;
use futures_util::stream::BoxStream;
use serde_json::Value;
use sqlx::mysql::{MySql, MySqlQueryResult, MySqlRow, MySqlStatement, MySqlTypeInfo};
use sqlx::{Either, Execute, Executor, MySqlConnection, SqlStr};
use tokio::time::Instant;

use super::value::SqlValue;
use crate::journal::{Entry, Journal, Outcome, Statement};

pub(super) struct Door<'c> {
    connection: &'c mut MySqlConnection,
    note: Option<Note>,
}

impl std::fmt::Debug for Door<'_> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("Door")
    }
}

impl<'c> Door<'c> {
    pub fn new(
        connection: &'c mut MySqlConnection,
        journal: &Journal,
        transaction: Option<u64>,
        values: &[SqlValue],
    ) -> Self {
        let note = journal.is_read().then(|| Note {
            journal: journal.clone(),
            transaction,
            values: values.iter().map(SqlValue::to_json).collect(),
        });
        Self { connection, note }
    }
}

/// What is to be told of a statement.
struct Note {
    journal: Journal,
    transaction: Option<u64>,
    values: Vec<Value>,
}

/// Tells of a statement when its answer has been read, or is read no further.
struct Watched {
    note: Note,
    sql: String,
    began: Instant,
    rows: u64,
    failure: Option<String>,
}

impl Watched {
    fn see(&mut self, step: &Result<Either<MySqlQueryResult, MySqlRow>, sqlx::Error>) {
        match step {
            Ok(Either::Left(done)) => self.rows = self.rows.max(done.rows_affected()),
            Ok(Either::Right(_)) => self.rows += 1,
            Err(error) => self.failure = Some(error.to_string()),
        }
    }
}

impl Drop for Watched {
    fn drop(&mut self) {
        let statement = Statement {
            sql: std::mem::take(&mut self.sql),
            values: std::mem::take(&mut self.note.values),
            rows: self.rows,
            took: self.began.elapsed(),
            transaction: self.note.transaction,
            outcome: self.failure.take().map_or(Outcome::Done, Outcome::Failed),
        };
        self.note.journal.note(|| Entry::Statement(statement));
    }
}

impl<'c> Executor<'c> for Door<'c> {
    type Database = MySql;

    fn fetch_many<'e, 'q: 'e, E>(
        self,
        mut query: E,
    ) -> BoxStream<'e, Result<Either<MySqlQueryResult, MySqlRow>, sqlx::Error>>
    where
        'c: 'e,
        E: 'q + Execute<'q, MySql>,
    {
        let Some(note) = self.note else {
            return self.connection.fetch_many(query);
        };
        let arguments = match query.take_arguments() {
            Ok(arguments) => arguments,
            Err(error) => {
                return futures_util::stream::once(std::future::ready(Err(sqlx::Error::Encode(error)))).boxed();
            }
        };
        let persistent = query.persistent();
        let sql = query.sql();
        let mut watched = Watched {
            note,
            sql: sql.as_str().to_owned(),
            began: Instant::now(),
            rows: 0,
            failure: None,
        };
        let steps = match arguments {
            Some(arguments) => self
                .connection
                .fetch_many(sqlx::query_with(sql, arguments).persistent(persistent)),
            None => self.connection.fetch_many(sql),
        };
        steps.inspect(move |step| watched.see(step)).boxed()
    }

    fn fetch_optional<'e, 'q: 'e, E>(self, query: E) -> BoxFuture<'e, Result<Option<MySqlRow>, sqlx::Error>>
    where
        'c: 'e,
        E: 'q + Execute<'q, MySql>,
    {
        let mut steps = self.fetch_many(query);
        Box::pin(async move {
            while let Some(step) = steps.next().await {
                if let Either::Right(row) = step? {
                    return Ok(Some(row));
                }
            }
            Ok(None)
        })
    }

    fn prepare_with<'e>(
        self,
        sql: SqlStr,
        parameters: &'e [MySqlTypeInfo],
    ) -> BoxFuture<'e, Result<MySqlStatement, sqlx::Error>>
    where
        'c: 'e,
    {
        self.connection.prepare_with(sql, parameters)
    }
}

/// Tells of what begins or ends a transaction.
pub(super) fn tell(journal: &Journal, sql: &str, transaction: Option<u64>, took: Duration) {
    journal.note(|| {
        Entry::Statement(Statement {
            sql: sql.to_owned(),
            values: Vec::new(),
            rows: 0,
            took,
            transaction,
            outcome: match journal.rehearses() {
                true => Outcome::Imagined,
                false => Outcome::Done,
            },
        })
    });
}
