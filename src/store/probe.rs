//! Was it us?
//!
//! When the connection breaks before the answer to a COMMIT arrives, the work may be done or not. A unit of work that
//! runs again would then find its own success and take it for somebody else's. A probe is a query that finds the row
//! exactly as a write of ours has left it; a transaction is done if any of its writes is.

use sqlx::{AssertSqlSafe, MySqlConnection};

use super::error::StoreError;
use super::value::{SqlValue, bind_all};

#[derive(Debug, Clone)]
pub(super) struct Probe {
    /// Selects something where the write is in place.
    pub sql: String,
    pub values: Vec<SqlValue>,
}

impl Probe {
    pub fn new(sql: impl Into<String>, values: Vec<SqlValue>) -> Self {
        Self {
            sql: sql.into(),
            values,
        }
    }

    pub async fn finds_our_write(&self, connection: &mut MySqlConnection) -> Result<bool, StoreError> {
        let statement = sqlx::query(AssertSqlSafe(self.sql.clone())).persistent(false);
        let row = bind_all(statement, &self.values).fetch_optional(connection).await?;
        Ok(row.is_some())
    }
}
