//! Writes that are told and not made.
//!
//! The server is told as well that it shall take none (`SET SESSION TRANSACTION READ ONLY`), so what should slip past this
//! ends in an error and not in the tables. A compare-and-swap is answered by looking whether the row is as expected;
//! once it would have been written, whoever comes to it again in the same rehearsal finds it as they expect.

use std::collections::HashSet;
use std::sync::atomic::{AtomicI64, Ordering};
use std::sync::{Mutex, PoisonError};
use std::time::Duration;

use super::error::StoreError;
use super::session::{Session, SwapStatement, and};
use super::swap::Swap;
use super::value::SqlValue;
use crate::journal::{Entry, Journal, Outcome, Statement};

pub(super) const READ_ONLY: &str = "SET SESSION TRANSACTION READ ONLY";

/// What would have been written so far.
#[derive(Debug, Default)]
pub(super) struct Rehearsal {
    rows: Mutex<HashSet<String>>,
    made: AtomicI64,
}

impl Rehearsal {
    /// For a row that does not come to be: the ids of those that exist are positive.
    pub fn next_id(&self) -> i64 {
        -1 - self.made.fetch_add(1, Ordering::Relaxed)
    }

    fn is_written(&self, row: &str) -> bool {
        let rows = self.rows.lock().unwrap_or_else(PoisonError::into_inner);
        rows.contains(row)
    }

    fn write(&self, row: String) {
        let mut rows = self.rows.lock().unwrap_or_else(PoisonError::into_inner);
        rows.insert(row);
    }
}

pub(super) fn tell(journal: &Journal, sql: &str, values: &[SqlValue], rows: u64, transaction: Option<u64>) {
    journal.note(|| {
        Entry::Statement(Statement {
            sql: sql.to_owned(),
            values: values.iter().map(SqlValue::to_json).collect(),
            rows,
            took: Duration::ZERO,
            transaction,
            outcome: Outcome::Imagined,
        })
    });
}

impl Session {
    pub(super) async fn rehearse_swap(
        &mut self,
        rehearsal: &Rehearsal,
        swap: &SwapStatement<'_>,
    ) -> Result<Swap, StoreError> {
        let row = format!("{} {:?}", swap.table, swap.key_values);
        let is_as_expected = rehearsal.is_written(&row) || {
            let sql = format!("SELECT 1 FROM {} WHERE {}{}", swap.table, swap.key, and(swap.expected));
            let values: Vec<_> = swap.key_values.iter().chain(&swap.expected_values).cloned().collect();
            !self.fetch_all(sql, &values).await?.is_empty()
        };
        self.tell_imagined(&swap.sql(), &swap.values(), u64::from(is_as_expected));
        if is_as_expected {
            rehearsal.write(row);
            return Ok(Swap::Updated);
        }
        self.lost_or_gone(swap).await
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_would_have_been_made_is_told_from_what_is_there() {
        let rehearsal = Rehearsal::default();
        assert_eq!((rehearsal.next_id(), rehearsal.next_id()), (-1, -2));
        rehearsal.write("resource [1]".to_owned());
        assert!(rehearsal.is_written("resource [1]") && !rehearsal.is_written("resource [2]"));
    }
}
