//! What the sweep for lost work asks the tables: of one stack as `inspect` does, and questions over all stacks, which
//! nobody else has.
//!
//! No index answers most of them, so they read a table from end to end. Whoever asks sees to it that this is rare.

use std::collections::HashMap;

use chrono::NaiveDateTime;
use sqlx::Row;

use super::assignments::from_columns;
use super::error::StoreError;
use super::service::{SERVICE_COLUMNS, service_from_row};
use super::session::Session;
use super::stack::{STACK_COLUMNS, stack_from_row};
use super::text::json_from_column;
use super::{Service, Stack, SyncPoint, SyncPointKey};

/// A sync point of one traversal, and when it was last written.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct DatedSyncPoint {
    pub key: SyncPointKey,
    pub point: SyncPoint,
    pub changed_at: Option<NaiveDateTime>,
}

/// Sync points that no traversal needs any more.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct LeftSyncPoints {
    pub stack_id: String,
    pub traversal_id: String,
    pub changed_at: Option<NaiveDateTime>,
}

/// The newest event of a resource's name, or of the stack itself.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct NewestEvent {
    /// Grows with time.
    pub id: i64,
    pub action: Option<String>,
    pub status: Option<String>,
    pub created_at: Option<NaiveDateTime>,
}

/// What was heard last of a stack and of its resources.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct NewestEvents {
    pub of_stack: Option<NewestEvent>,
    /// By the resource's name.
    pub of_resources: HashMap<String, NewestEvent>,
}

/// The moment of a stack's newest event, in a statement that calls the stack `s`.
const LAST_HEARD: &str =
    "COALESCE((SELECT e.created_at FROM event e WHERE e.stack_id = s.id ORDER BY e.id DESC LIMIT 1), s.created_at)";

impl Session {
    /// Every engine id that the lock of a resource or of a stack names.
    pub async fn lock_holders(&mut self) -> Result<Vec<String>, StoreError> {
        let sql = "SELECT engine_id FROM resource WHERE engine_id IS NOT NULL \
                   UNION SELECT engine_id FROM stack_lock WHERE engine_id IS NOT NULL";
        Ok(sqlx::query_scalar(sql).fetch_all(self.statement()).await?)
    }

    /// Resources that an engine has locked, the oldest first.
    pub async fn resources_locked_by(&mut self, engine_id: &str) -> Result<Vec<i64>, StoreError> {
        let sql = "SELECT id FROM resource WHERE engine_id = ? ORDER BY id";
        let ids: Vec<i64> = sqlx::query_scalar(sql)
            .bind(engine_id)
            .fetch_all(self.statement())
            .await?;
        Ok(ids)
    }

    /// Stacks on which something is being done, of the one kind or the other.
    pub async fn stacks_in_progress(&mut self, convergence: bool) -> Result<Vec<Stack>, StoreError> {
        let sql = format!(
            "SELECT {STACK_COLUMNS} FROM stack s WHERE s.status = 'IN_PROGRESS' AND s.deleted_at IS NULL \
             AND COALESCE(s.convergence, 0) = ? ORDER BY s.id"
        );
        let rows = self.fetch_all(sql, &[convergence.into()]).await?;
        Ok(rows.iter().map(stack_from_row).collect::<Result<_, _>>()?)
    }

    /// Stacks whose delete is complete but which are still there, if nothing was heard of them since `before`.
    pub async fn stacks_half_deleted(&mut self, before: NaiveDateTime) -> Result<Vec<Stack>, StoreError> {
        let sql = format!(
            "SELECT {STACK_COLUMNS} FROM stack s WHERE s.action = 'DELETE' AND s.status = 'COMPLETE' \
             AND s.deleted_at IS NULL AND s.convergence = 1 AND {LAST_HEARD} < ? ORDER BY s.id"
        );
        let rows = self.fetch_all(sql, &[before.into()]).await?;
        Ok(rows.iter().map(stack_from_row).collect::<Result<_, _>>()?)
    }

    /// All sync points of one traversal.
    pub async fn sync_points_of(
        &mut self,
        stack_id: &str,
        traversal_id: &str,
    ) -> Result<Vec<DatedSyncPoint>, StoreError> {
        let sql = "SELECT entity_id, is_update, stack_id, atomic_key, input_data, extra_data, \
                   COALESCE(updated_at, created_at) AS changed_at \
                   FROM sync_point WHERE stack_id = ? AND traversal_id = ?";
        let rows = sqlx::query(sql)
            .bind(stack_id)
            .bind(traversal_id)
            .fetch_all(self.statement())
            .await?;
        let point = |row: &sqlx::mysql::MySqlRow| -> Result<DatedSyncPoint, StoreError> {
            Ok(DatedSyncPoint {
                key: SyncPointKey {
                    entity_id: row.try_get("entity_id")?,
                    traversal_id: traversal_id.to_owned(),
                    is_update: row.try_get("is_update")?,
                },
                point: from_columns!(row => SyncPoint { stack_id, atomic_key } with {
                    input_data: json_from_column(row.try_get("input_data")?),
                    extra_data: json_from_column(row.try_get("extra_data")?),
                }),
                changed_at: row.try_get("changed_at")?,
            })
        };
        rows.iter().map(point).collect()
    }

    /// Sync points of traversals that are over, if none of them was written since `before`.
    pub async fn sync_points_left_over(&mut self, before: NaiveDateTime) -> Result<Vec<LeftSyncPoints>, StoreError> {
        let sql = "SELECT p.stack_id, p.traversal_id, MAX(COALESCE(p.updated_at, p.created_at)) AS changed_at \
                   FROM sync_point p JOIN stack s ON s.id = p.stack_id \
                   WHERE NOT (s.current_traversal <=> p.traversal_id AND s.status = 'IN_PROGRESS' AND s.deleted_at IS NULL) \
                   GROUP BY p.stack_id, p.traversal_id HAVING changed_at < ? ORDER BY p.stack_id";
        let rows = sqlx::query(sql).bind(before).fetch_all(self.statement()).await?;
        let left = |row| -> Result<_, sqlx::Error> {
            Ok(from_columns!(row => LeftSyncPoints { stack_id, traversal_id, changed_at }))
        };
        Ok(rows.iter().map(left).collect::<Result<_, _>>()?)
    }

    /// The newest events of a stack.
    pub async fn events_newest(&mut self, stack_id: &str) -> Result<NewestEvents, StoreError> {
        let sql = "SELECT e.id, e.resource_name, e.resource_action, e.resource_status, e.created_at, newest.is_stack \
                   FROM event e JOIN (SELECT MAX(id) AS id, COALESCE(resource_type = 'OS::Heat::Stack', 0) AS is_stack \
                   FROM event WHERE stack_id = ? GROUP BY resource_name, is_stack) newest ON newest.id = e.id";
        let rows = sqlx::query(sql).bind(stack_id).fetch_all(self.statement()).await?;
        let mut events = NewestEvents::default();
        for row in &rows {
            let id: i64 = row.try_get("id")?;
            let event = NewestEvent {
                id,
                action: row.try_get("resource_action")?,
                status: row.try_get("resource_status")?,
                created_at: row.try_get("created_at")?,
            };
            if row.try_get::<i64, _>("is_stack")? == 1 {
                events.of_stack = Some(event);
            } else if let Some(name) = row.try_get::<Option<String>, _>("resource_name")? {
                events.of_resources.insert(name, event);
            }
        }
        Ok(events)
    }

    /// When anything happened to any stack for the last time.
    pub async fn event_latest_at(&mut self) -> Result<Option<NaiveDateTime>, StoreError> {
        let sql = "SELECT created_at FROM event ORDER BY id DESC LIMIT 1";
        let latest: Option<Option<NaiveDateTime>> = sqlx::query_scalar(sql).fetch_optional(self.statement()).await?;
        Ok(latest.flatten())
    }

    /// Credentials that no stack has, stored before `before`.
    pub async fn user_creds_unused(&mut self, before: NaiveDateTime) -> Result<Vec<i64>, StoreError> {
        let sql = "SELECT c.id FROM user_creds c LEFT JOIN stack s ON s.user_creds_id = c.id \
                   WHERE s.id IS NULL AND c.created_at < ? ORDER BY c.id";
        Ok(sqlx::query_scalar(sql).bind(before).fetch_all(self.statement()).await?)
    }

    /// Templates that neither a stack nor a resource has, stored before `before`.
    pub async fn raw_templates_unowned(&mut self, before: NaiveDateTime) -> Result<Vec<i64>, StoreError> {
        let sql = "SELECT t.id FROM raw_template t WHERE t.created_at < ? \
                   AND NOT EXISTS (SELECT 1 FROM stack s WHERE s.raw_template_id = t.id) \
                   AND NOT EXISTS (SELECT 1 FROM stack s WHERE s.prev_raw_template_id = t.id) \
                   AND NOT EXISTS (SELECT 1 FROM resource r WHERE r.current_template_id = t.id) ORDER BY t.id";
        Ok(sqlx::query_scalar(sql).bind(before).fetch_all(self.statement()).await?)
    }

    /// All services that there ever were, as far as their rows were not removed.
    pub async fn services_ever(&mut self) -> Result<Vec<Service>, StoreError> {
        let sql = format!("SELECT {SERVICE_COLUMNS} FROM service");
        let rows = self.fetch_all(sql, &[]).await?;
        Ok(rows.iter().map(service_from_row).collect::<Result<_, _>>()?)
    }
}
