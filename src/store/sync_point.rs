//! Table `sync_point`: where the workers of a traversal wait for each other.

use sqlx::Row;

use super::assignments::{Assignments, from_columns};
use super::error::StoreError;
use super::probe::Probe;
use super::session::{Session, SwapStatement};
use super::swap::Swap;
use super::text::{JSON_NULL, json_from_column};
use super::value::SqlValue;

#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct SyncPointKey {
    /// A resource's id, or the stack's.
    pub entity_id: String,
    pub traversal_id: String,
    pub is_update: bool,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SyncPoint {
    pub stack_id: String,
    pub atomic_key: i64,
    /// JSON text.
    pub input_data: Option<String>,
    /// JSON text.
    pub extra_data: Option<String>,
}

/// A sync point with nothing in it yet.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct NewSyncPoint {
    pub key: SyncPointKey,
    pub stack_id: String,
}

impl NewSyncPoint {
    fn assignments(&self, created_at: chrono::NaiveDateTime) -> Assignments {
        let mut columns = Assignments::default();
        columns.set("entity_id", self.key.entity_id.as_str());
        columns.set("traversal_id", self.key.traversal_id.as_str());
        columns.set("is_update", self.key.is_update);
        columns.set("atomic_key", 0_i64);
        columns.set("stack_id", self.stack_id.as_str());
        columns.set("input_data", "{}");
        columns.set("created_at", created_at);
        columns.set("extra_data", JSON_NULL);
        columns
    }
}

impl SyncPointKey {
    fn values(&self) -> Vec<SqlValue> {
        vec![
            self.entity_id.as_str().into(),
            self.traversal_id.as_str().into(),
            self.is_update.into(),
        ]
    }
}

const KEY_CONDITION: &str = "entity_id = ? AND traversal_id = ? AND is_update = ?";

impl Session {
    pub async fn sync_points_create(&mut self, points: &[NewSyncPoint]) -> Result<(), StoreError> {
        let now = self.now();
        let rows: Vec<_> = points.iter().map(|point| point.assignments(now)).collect();
        self.insert_all(
            "sync_point",
            &rows,
            " ON DUPLICATE KEY UPDATE entity_id = VALUES(entity_id)",
        )
        .await?;
        if let Some(first) = points.first() {
            let sql = format!("SELECT 1 FROM sync_point WHERE {KEY_CONDITION}");
            self.add_probe(Probe::new(sql, first.key.values()));
        }
        Ok(())
    }

    pub async fn sync_point_get(&mut self, key: &SyncPointKey) -> Result<Option<SyncPoint>, StoreError> {
        let sql = "SELECT stack_id, atomic_key, input_data, extra_data FROM sync_point \
                   WHERE entity_id = ? AND traversal_id = ? AND is_update = ?";
        let Some(row) = self.fetch_optional(sql.to_owned(), &key.values()).await? else {
            return Ok(None);
        };
        Ok(Some(from_columns!(&row => SyncPoint { stack_id, atomic_key } with {
            input_data: json_from_column(row.try_get("input_data")?),
            extra_data: json_from_column(row.try_get("extra_data")?),
        })))
    }

    /// Writes new data (JSON text; `None` leaves it) and counts the key up, if the key is as expected.
    pub async fn sync_point_swap(
        &mut self,
        key: &SyncPointKey,
        expected_atomic_key: i64,
        input_data: Option<&str>,
        extra_data: Option<&str>,
    ) -> Result<Swap, StoreError> {
        let mut columns = Assignments::default();
        columns.set("atomic_key", expected_atomic_key.saturating_add(1));
        columns.set_given("input_data", &input_data);
        columns.set_given("extra_data", &extra_data);
        columns.set("updated_at", self.now());
        self.swap(SwapStatement {
            table: "sync_point",
            key: KEY_CONDITION,
            key_values: key.values(),
            expected: "atomic_key = ?",
            expected_values: vec![expected_atomic_key.into()],
            changes: &columns,
        })
        .await
    }

    /// How many there were.
    pub async fn sync_points_delete(&mut self, stack_id: &str, traversal_id: &str) -> Result<u64, StoreError> {
        let sql = "DELETE FROM sync_point WHERE stack_id = ? AND traversal_id = ?";
        let deleted = self.execute(sql, &[stack_id.into(), traversal_id.into()]).await?;
        Ok(deleted.rows_affected())
    }
}
