//! A connection for the time of one unit of work.

use std::sync::Arc;

use chrono::NaiveDateTime;
use sqlx::mysql::{MySql, MySqlQueryResult, MySqlRow};
use sqlx::pool::PoolConnection;
use sqlx::{AssertSqlSafe, MySqlConnection};

use super::assignments::Assignments;
use super::counters::StoreCounters;
use super::error::{StoreError, Transience};
use super::probe::Probe;
use super::swap::Swap;
use super::text::Repertoire;
use super::value::{SqlValue, bind_all, placeholders};
use crate::clock::Clock;

/// What a unit of work asks the tables through.
pub struct Session {
    connection: PoolConnection<MySql>,
    clock: Clock,
    counters: Arc<StoreCounters>,
    repertoire: Repertoire,
    /// An earlier run of this unit lost its connection, so its write may be in place already.
    unsure: bool,
    in_transaction: bool,
    abandoned: bool,
    /// The connection is of no use to the next unit.
    broken: bool,
    probes: Vec<Probe>,
}

impl Session {
    pub(super) fn new(
        connection: PoolConnection<MySql>,
        clock: Clock,
        counters: Arc<StoreCounters>,
        repertoire: Repertoire,
        unsure: bool,
    ) -> Self {
        Self {
            connection,
            clock,
            counters,
            repertoire,
            unsure,
            in_transaction: false,
            abandoned: false,
            broken: false,
            probes: Vec::new(),
        }
    }

    /// Rolls the transaction back when the work is over, although it returns a value.
    pub fn abandon(&mut self) {
        self.abandoned = true;
    }

    pub(super) async fn begin(&mut self) -> Result<(), StoreError> {
        StoreCounters::count(&self.counters.transactions);
        self.in_transaction = true;
        self.control("BEGIN").await
    }

    /// Ends the unit after its work: commits what was not abandoned.
    pub(super) async fn finish(&mut self) -> Result<(), StoreError> {
        if self.in_transaction {
            let end = if self.abandoned { "ROLLBACK" } else { "COMMIT" };
            self.control(end).await?;
            self.in_transaction = false;
        }
        Ok(())
    }

    /// Ends the unit after an error, which is the one to tell of.
    pub(super) async fn roll_back(&mut self, error: &StoreError) {
        self.broken = error.transience() == Some(Transience::LostConnection);
        if self.in_transaction && !self.broken {
            self.in_transaction = self.control("ROLLBACK").await.is_err();
        }
    }

    async fn control(&mut self, statement: &'static str) -> Result<(), StoreError> {
        sqlx::raw_sql(statement).execute(&mut *self.connection).await?;
        Ok(())
    }

    pub(super) fn take_probes(&mut self) -> Vec<Probe> {
        if self.abandoned {
            Vec::new()
        } else {
            std::mem::take(&mut self.probes)
        }
    }

    pub(super) fn add_probe(&mut self, probe: Probe) {
        if self.in_transaction {
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
        &mut self.connection
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

    /// Writes `changes` into a row whose `updated_at` moves only if something is new in it, as in Python.
    pub(super) async fn update_dated(
        &mut self,
        table: &str,
        id: i64,
        changes: &Assignments,
    ) -> Result<Swap, StoreError> {
        let (same, same_values) = changes.same_values();
        // Assignments take place from left to right, so the comparison still sees the old values.
        let sql = format!(
            "UPDATE {table} SET updated_at = IF({same}, updated_at, ?), {} WHERE id = ?",
            changes.set_clause()
        );
        let now = [SqlValue::from(self.now())];
        let values: Vec<_> = same_values
            .into_iter()
            .chain(now)
            .chain(changes.values())
            .chain([id.into()])
            .collect();
        Ok(Swap::of_rows(self.execute(sql, &values).await?.rows_affected()))
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

/// A connection goes back to the pool only if nothing is left open on it; a server that loses it rolls back.
impl Drop for Session {
    fn drop(&mut self) {
        if self.in_transaction || self.broken {
            self.connection.close_on_drop();
        }
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
