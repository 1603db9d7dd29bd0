//! What an operator's questions ask of the database.

use chrono::NaiveDateTime;
use sqlx::Row;

use super::error::StoreError;
use super::session::Session;

/// The locks of resources that name one engine.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct LocksOfEngine {
    pub engine_id: String,
    pub count: i64,
    /// When the oldest of them was taken.
    pub oldest: Option<NaiveDateTime>,
}

impl Session {
    pub async fn locks_by_engine(&mut self) -> Result<Vec<LocksOfEngine>, StoreError> {
        let sql = "SELECT engine_id, COUNT(*) AS count, MIN(COALESCE(updated_at, created_at)) AS oldest \
                   FROM resource WHERE engine_id IS NOT NULL GROUP BY engine_id";
        let rows = self.fetch_all(sql.to_owned(), &[]).await?;
        let locks = |row: &sqlx::mysql::MySqlRow| -> Result<LocksOfEngine, sqlx::Error> {
            Ok(LocksOfEngine {
                engine_id: row.try_get("engine_id")?,
                count: row.try_get("count")?,
                oldest: row.try_get("oldest")?,
            })
        };
        Ok(rows.iter().map(locks).collect::<Result<_, _>>()?)
    }
}
