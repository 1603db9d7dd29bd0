//! A connection for the time of one unit of work.

use std::sync::Arc;

use chrono::NaiveDateTime;
use sqlx::AssertSqlSafe;
use sqlx::mysql::{MySqlQueryResult, MySqlRow};
use tokio::time::Instant;

use super::assignments::Assignments;
use super::counters::StoreCounters;
use super::door::{self, Door};
use super::error::StoreError;
use super::measure;
use super::pool::Lease;
use super::probe::Probe;
use super::rehearsal::{self, Rehearsal};
use super::shapes::{groups, padded};
use super::silence::Talk;
use super::swap::Swap;
use super::text::Repertoire;
use super::value::{SqlValue, bind_all, placeholders};
use crate::clock::Clock;
use crate::journal::Journal;

/// What a unit of work asks the tables through.
pub struct Session {
    lease: Lease,
    talk: Talk,
    is_transaction: bool,
    clock: Clock,
    counters: Arc<StoreCounters>,
    repertoire: Repertoire,
    /// An earlier run of this unit lost its connection, so its write may be in place already.
    unsure: bool,
    abandoned: bool,
    probes: Vec<Probe>,
    /// Events to be written at the end of the transaction, together with those of others; `None`: each at once.
    held_events: Option<Vec<Assignments>>,
    onlooker: Onlooker,
}

/// Who is told of the statements.
#[derive(Clone, Debug, Default)]
pub(super) struct Onlooker {
    pub journal: Journal,
    /// Set where nothing is to be written.
    pub rehearsal: Option<Arc<Rehearsal>>,
    /// The number of the transaction.
    pub transaction: Option<u64>,
}

/// What a write came to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Written {
    rows: u64,
    id: i64,
}

impl Written {
    /// Rows that the write found, changed or not.
    pub fn rows_affected(self) -> u64 {
        self.rows
    }

    pub fn last_insert_id(self) -> i64 {
        self.id
    }
}

impl From<MySqlQueryResult> for Written {
    fn from(done: MySqlQueryResult) -> Self {
        Self {
            rows: done.rows_affected(),
            // The columns are INT.
            id: i64::try_from(done.last_insert_id()).unwrap_or(i64::MAX),
        }
    }
}

impl Session {
    pub(super) fn new(
        lease: Lease,
        clock: Clock,
        counters: Arc<StoreCounters>,
        repertoire: Repertoire,
        unsure: bool,
        onlooker: Onlooker,
    ) -> Self {
        Self {
            talk: Talk::new(lease.thread()),
            lease,
            is_transaction: false,
            clock,
            counters,
            repertoire,
            unsure,
            abandoned: false,
            probes: Vec::new(),
            held_events: None,
            onlooker,
        }
    }

    /// Rolls the transaction back when the work is over, although it returns a value.
    pub fn abandon(&mut self) {
        self.abandoned = true;
    }

    /// Lets events wait until [`Self::write_held_events`].
    pub(super) fn hold_events(&mut self) {
        self.held_events = Some(Vec::new());
    }

    /// Writes events, now or with all others of the transaction.
    pub(super) async fn insert_events(&mut self, events: Vec<Assignments>) -> Result<(), StoreError> {
        match &mut self.held_events {
            Some(held) => {
                held.extend(events);
                Ok(())
            }
            None => self.insert_all("event", &events, SAME_EVENT).await,
        }
    }

    pub(super) async fn write_held_events(&mut self) -> Result<(), StoreError> {
        let held = self.held_events.take().unwrap_or_default();
        let mut rest = held.as_slice();
        while !rest.is_empty() {
            // Groups of few different sizes, so that their statements can be kept prepared.
            let size = 1 << rest.len().ilog2();
            let (group, others) = rest.split_at(size);
            rest = others;
            let mut sql = insert_statement("event", &group[0], size);
            if self.unsure {
                sql.push_str(SAME_EVENT);
            }
            let values: Vec<_> = group.iter().flat_map(Assignments::values).collect();
            self.execute(sql, &values).await?;
        }
        Ok(())
    }

    pub(super) fn is_abandoned(&self) -> bool {
        self.abandoned
    }

    /// For whoever waits for what is being said here.
    pub(super) fn talk(&self) -> Talk {
        self.talk.clone()
    }

    /// To be called when nothing is under way.
    pub(super) fn into_lease(self) -> Lease {
        self.lease
    }

    pub(super) async fn begin(&mut self, number: u64) -> Result<(), StoreError> {
        self.is_transaction = true;
        self.onlooker.transaction = Some(number);
        self.say("BEGIN").await
    }

    pub(super) async fn finish(&mut self) -> Result<(), StoreError> {
        if self.abandoned {
            return self.roll_back().await;
        }
        self.say("COMMIT").await
    }

    pub(super) async fn roll_back(&mut self) -> Result<(), StoreError> {
        self.say("ROLLBACK").await
    }

    /// Begins or ends the transaction, if this is one.
    async fn say(&mut self, word: &'static str) -> Result<(), StoreError> {
        if !self.is_transaction {
            return Ok(());
        }
        let began = Instant::now();
        self.talk.next_statement();
        sqlx::raw_sql(word).execute(&mut *self.lease).await?;
        door::tell(&self.onlooker.journal, word, self.onlooker.transaction, began.elapsed());
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
        if self.can_be_lost() {
            self.probes.push(probe);
        }
    }

    /// Whether a COMMIT is to come, whose answer may be lost.
    fn can_be_lost(&self) -> bool {
        self.is_transaction
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

    /// The way to the server, for one statement that reads. What writes goes through [`Self::execute`].
    pub(super) fn statement(&mut self) -> Door<'_> {
        self.statement_with(&[])
    }

    /// As [`Self::statement`]; the values are for whoever looks on.
    fn statement_with(&mut self, values: &[SqlValue]) -> Door<'_> {
        StoreCounters::count(&self.counters.statements);
        self.talk.next_statement();
        Door::new(
            &mut self.lease,
            &self.onlooker.journal,
            self.onlooker.transaction,
            values,
        )
    }

    /// Runs a write.
    pub(super) async fn execute(&mut self, sql: impl Into<String>, values: &[SqlValue]) -> Result<Written, StoreError> {
        let sql = sql.into();
        if let Some(rehearsal) = self.onlooker.rehearsal.clone() {
            self.tell_imagined(&sql, values, 1);
            return Ok(Written {
                rows: 1,
                id: rehearsal.next_id(),
            });
        }
        let statement = bind_all(sqlx::query(AssertSqlSafe(sql)), values);
        Ok(statement.execute(self.statement_with(values)).await?.into())
    }

    pub(super) fn tell_imagined(&self, sql: &str, values: &[SqlValue], rows: u64) {
        let onlooker = &self.onlooker;
        rehearsal::tell(&onlooker.journal, sql, values, rows, onlooker.transaction);
    }

    pub(super) async fn fetch_optional(
        &mut self,
        sql: String,
        values: &[SqlValue],
    ) -> Result<Option<MySqlRow>, StoreError> {
        let statement = bind_all(sqlx::query(AssertSqlSafe(sql)), values);
        Ok(statement.fetch_optional(self.statement_with(values)).await?)
    }

    pub(super) async fn fetch_all(&mut self, sql: String, values: &[SqlValue]) -> Result<Vec<MySqlRow>, StoreError> {
        let statement = bind_all(sqlx::query(AssertSqlSafe(sql)), values);
        Ok(statement.fetch_all(self.statement_with(values)).await?)
    }

    /// Inserts one row and returns its id. Where nothing but the id tells the row from another, only a transaction finds out
    /// after a lost answer that it is there.
    pub(super) async fn insert(&mut self, table: &str, row: &Assignments) -> Result<i64, StoreError> {
        let sql = insert_statement(table, row, 1);
        let values: Vec<_> = row.values().collect();
        let id = self.execute(sql, &values).await?.last_insert_id();
        self.add_probe(Probe::new(
            format!("SELECT 1 FROM {table} WHERE id = ?"),
            vec![id.into()],
        ));
        Ok(id)
    }

    /// Inserts rows that all set the same columns. `idempotent` is a clause for runs after a lost connection.
    pub(super) async fn insert_all(
        &mut self,
        table: &str,
        rows: &[Assignments],
        idempotent: &str,
    ) -> Result<(), StoreError> {
        for group in groups(rows) {
            let mut sql = insert_statement(table, &group[0], group.len());
            if self.unsure {
                sql.push_str(idempotent);
            }
            let values: Vec<_> = group.iter().flat_map(Assignments::values).collect();
            self.execute(sql, &values).await?;
        }
        Ok(())
    }

    /// Deletes the rows with these ids.
    pub(super) async fn delete_ids(&mut self, table: &str, ids: &[i64]) -> Result<u64, StoreError> {
        if ids.is_empty() {
            return Ok(0);
        }
        let ids = padded(ids);
        let sql = format!("DELETE FROM {table} WHERE id IN ({})", placeholders(ids.len()));
        Ok(self.execute(sql, &ids).await?.rows_affected())
    }

    /// Writes `changes` where `expected` holds for the row that `key` names, and tells what became of it.
    pub(super) async fn swap(&mut self, swap: SwapStatement<'_>) -> Result<Swap, StoreError> {
        if let Some(rehearsal) = self.onlooker.rehearsal.clone() {
            return self.rehearse_swap(&rehearsal, &swap).await;
        }
        let probe = || {
            let (same, same_values) = swap.changes.same_values();
            let sql = format!("SELECT 1 FROM {} WHERE {} AND {same}", swap.table, swap.key);
            Probe::new(sql, swap.key_values.iter().cloned().chain(same_values).collect())
        };
        if self.execute(swap.sql(), &swap.values()).await?.rows_affected() > 0 {
            if self.can_be_lost() {
                self.add_probe(probe());
            }
            return Ok(Swap::Updated);
        }
        if self.unsure {
            let probe = probe();
            if !self.fetch_all(probe.sql, &probe.values).await?.is_empty() {
                return Ok(Swap::Updated);
            }
        }
        self.lost_or_gone(&swap).await
    }

    /// Why a swap found nothing to write.
    pub(super) async fn lost_or_gone(&mut self, swap: &SwapStatement<'_>) -> Result<Swap, StoreError> {
        let sql = format!("SELECT 1 FROM {} WHERE {}", swap.table, swap.key);
        let row = self.fetch_all(sql, &swap.key_values).await?;
        if row.is_empty() {
            return Ok(Swap::Gone);
        }
        measure::swap_lost(swap.table);
        Ok(Swap::Lost)
    }
}

/// What an event comes to that was written by an earlier run.
const SAME_EVENT: &str = " ON DUPLICATE KEY UPDATE uuid = VALUES(uuid)";

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

impl SwapStatement<'_> {
    pub fn sql(&self) -> String {
        let Self { table, key, .. } = self;
        let (changes, expected) = (self.changes.set_clause(), and(self.expected));
        format!("UPDATE {table} SET {changes} WHERE {key}{expected}")
    }

    pub fn values(&self) -> Vec<SqlValue> {
        let conditions = self.key_values.iter().chain(&self.expected_values).cloned();
        self.changes.values().chain(conditions).collect()
    }
}

pub(super) fn and(condition: &str) -> String {
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
