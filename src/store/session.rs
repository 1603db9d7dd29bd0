//! A connection for the time of one unit of work.

use std::sync::Arc;

use chrono::NaiveDateTime;
use sqlx::mysql::{MySql, MySqlQueryResult, MySqlRow};
use sqlx::pool::PoolConnection;
use sqlx::{AssertSqlSafe, MySqlConnection, Transaction};

use super::assignments::Assignments;
use super::counters::StoreCounters;
use super::error::StoreError;
use super::probe::Probe;
use super::swap::Swap;
use super::text::Repertoire;
use super::value::{SqlValue, bind_all, placeholders};
use crate::clock::Clock;

pub(super) enum Link {
    Plain(PoolConnection<MySql>),
    Transaction(Transaction<'static, MySql>),
}

/// What a unit of work asks the tables through.
pub struct Session {
    link: Link,
    clock: Clock,
    counters: Arc<StoreCounters>,
    repertoire: Repertoire,
    /// An earlier run of this unit lost its connection, so its write may be in place already.
    unsure: bool,
    abandoned: bool,
    probes: Vec<Probe>,
}

impl Session {
    pub(super) fn new(
        link: Link,
        clock: Clock,
        counters: Arc<StoreCounters>,
        repertoire: Repertoire,
        unsure: bool,
    ) -> Self {
        Self {
            link,
            clock,
            counters,
            repertoire,
            unsure,
            abandoned: false,
            probes: Vec::new(),
        }
    }

    /// Rolls the transaction back when the work is over, although it returns a value.
    pub fn abandon(&mut self) {
        self.abandoned = true;
    }

    pub(super) async fn finish(self) -> Result<(), StoreError> {
        match self.link {
            Link::Plain(_) => {}
            Link::Transaction(transaction) if self.abandoned => transaction.rollback().await?,
            Link::Transaction(transaction) => transaction.commit().await?,
        }
        Ok(())
    }

    /// The error that leads here is the one to tell of, and a server that cannot roll back has dropped the connection.
    pub(super) async fn roll_back(self) {
        if let Link::Transaction(transaction) = self.link
            && let Err(error) = transaction.rollback().await
        {
            tracing::debug!(error = &error as &dyn std::error::Error, "rollback failed");
        }
    }

    pub(super) fn take_probes(&mut self) -> Vec<Probe> {
        if self.abandoned {
            Vec::new()
        } else {
            std::mem::take(&mut self.probes)
        }
    }

    pub(super) fn add_probe(&mut self, probe: Probe) {
        if matches!(self.link, Link::Transaction(_)) {
            self.probes.push(probe);
        }
    }

    pub(super) fn is_unsure(&self) -> bool {
        self.unsure
    }

    pub(super) fn now(&self) -> NaiveDateTime {
        self.clock.utc_now()
    }

    pub(super) fn clock(&self) -> &Clock {
        &self.clock
    }

    pub(super) fn repertoire(&self) -> Repertoire {
        self.repertoire
    }

    /// The connection, for one statement.
    pub(super) fn statement(&mut self) -> &mut MySqlConnection {
        StoreCounters::count(&self.counters.statements);
        match &mut self.link {
            Link::Plain(connection) => connection,
            Link::Transaction(transaction) => transaction,
        }
    }

    /// Runs a statement that is one of a few.
    pub(super) async fn execute(&mut self, sql: String, values: &[SqlValue]) -> Result<MySqlQueryResult, StoreError> {
        let statement = bind_all(sqlx::query(AssertSqlSafe(sql)), values);
        Ok(statement.execute(self.statement()).await?)
    }

    /// Runs a statement whose text varies too much to be worth keeping prepared.
    pub(super) async fn execute_once(
        &mut self,
        sql: String,
        values: &[SqlValue],
    ) -> Result<MySqlQueryResult, StoreError> {
        let statement = bind_all(sqlx::query(AssertSqlSafe(sql)).persistent(false), values);
        Ok(statement.execute(self.statement()).await?)
    }

    pub(super) async fn fetch_optional(
        &mut self,
        sql: String,
        values: &[SqlValue],
    ) -> Result<Option<MySqlRow>, StoreError> {
        let statement = bind_all(sqlx::query(AssertSqlSafe(sql)), values);
        Ok(statement.fetch_optional(self.statement()).await?)
    }

    pub(super) async fn fetch_all(&mut self, sql: String, values: &[SqlValue]) -> Result<Vec<MySqlRow>, StoreError> {
        let statement = bind_all(sqlx::query(AssertSqlSafe(sql)), values);
        Ok(statement.fetch_all(self.statement()).await?)
    }

    pub(super) async fn fetch_once(&mut self, sql: String, values: &[SqlValue]) -> Result<Vec<MySqlRow>, StoreError> {
        let statement = bind_all(sqlx::query(AssertSqlSafe(sql)).persistent(false), values);
        Ok(statement.fetch_all(self.statement()).await?)
    }

    /// Inserts one row and returns its id.
    pub(super) async fn insert(&mut self, table: &str, row: &Assignments) -> Result<i64, StoreError> {
        let sql = insert_statement(table, row, 1);
        let values: Vec<_> = row.values().collect();
        let done = self.execute(sql, &values).await?;
        Ok(row_id(done.last_insert_id()))
    }

    /// Inserts rows that all set the same columns. `idempotent` is a clause for runs after a lost connection.
    pub(super) async fn insert_all(
        &mut self,
        table: &str,
        rows: &[Assignments],
        idempotent: &str,
    ) -> Result<(), StoreError> {
        const ROWS_IN_ONE_STATEMENT: usize = 200;
        for rows in rows.chunks(ROWS_IN_ONE_STATEMENT) {
            let mut sql = insert_statement(table, &rows[0], rows.len());
            if self.unsure {
                sql.push_str(idempotent);
            }
            let values: Vec<_> = rows.iter().flat_map(Assignments::values).collect();
            self.execute_once(sql, &values).await?;
        }
        Ok(())
    }

    /// Deletes the rows with these ids.
    pub(super) async fn delete_ids(&mut self, table: &str, ids: &[i64]) -> Result<u64, StoreError> {
        if ids.is_empty() {
            return Ok(0);
        }
        let sql = format!("DELETE FROM {table} WHERE id IN ({})", placeholders(ids.len()));
        let values: Vec<_> = ids.iter().map(|id| SqlValue::from(*id)).collect();
        Ok(self.execute_once(sql, &values).await?.rows_affected())
    }

    /// Writes `changes` where `expected` holds for the row that `key` names, and tells what became of it.
    pub(super) async fn swap(&mut self, swap: SwapStatement<'_>) -> Result<Swap, StoreError> {
        let SwapStatement {
            table,
            key,
            key_values,
            expected,
            expected_values,
            changes,
        } = swap;
        let sql = format!(
            "UPDATE {table} SET {} WHERE {key}{}",
            changes.set_clause(),
            and(expected)
        );
        let values: Vec<_> = changes
            .values()
            .chain(key_values.clone())
            .chain(expected_values)
            .collect();
        let (same, same_values) = changes.same_values();
        let probe_sql = format!("SELECT 1 FROM {table} WHERE {key} AND {same}");
        let probe_values: Vec<_> = key_values.iter().cloned().chain(same_values).collect();
        if self.execute(sql, &values).await?.rows_affected() > 0 {
            self.add_probe(Probe::new(probe_sql, probe_values));
            return Ok(Swap::Updated);
        }
        if self.unsure && !self.fetch_once(probe_sql, &probe_values).await?.is_empty() {
            return Ok(Swap::Updated);
        }
        let row = self
            .fetch_once(format!("SELECT 1 FROM {table} WHERE {key}"), &key_values)
            .await?;
        Ok(if row.is_empty() { Swap::Gone } else { Swap::Lost })
    }
}

/// An UPDATE that expects a state.
pub(super) struct SwapStatement<'a> {
    pub table: &'a str,
    /// Condition that names the row.
    pub key: &'a str,
    pub key_values: Vec<SqlValue>,
    /// Condition for the state that is expected; empty if there is none.
    pub expected: &'a str,
    pub expected_values: Vec<SqlValue>,
    pub changes: &'a Assignments,
}

fn and(condition: &str) -> String {
    if condition.is_empty() {
        String::new()
    } else {
        format!(" AND {condition}")
    }
}

fn insert_statement(table: &str, row: &Assignments, rows: usize) -> String {
    let one = format!("({})", placeholders(row.values().count()));
    format!(
        "INSERT INTO {table} ({}) VALUES {}",
        row.column_list(),
        vec![one; rows].join(", ")
    )
}

/// The id of a new row; the columns are INT.
fn row_id(id: u64) -> i64 {
    i64::try_from(id).unwrap_or(i64::MAX)
}
