//! Table `service`: which engines live.

use chrono::NaiveDateTime;
use sqlx::mysql::MySqlRow;

use super::assignments::{Assignments, from_columns};
use super::error::StoreError;
use super::session::Session;
use super::swap::Swap;

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Service {
    pub id: String,
    pub engine_id: String,
    /// `[DEFAULT] host`
    pub host: String,
    /// The machine's name.
    pub hostname: String,
    pub binary: String,
    pub topic: String,
    pub report_interval: i64,
    pub created_at: Option<NaiveDateTime>,
    pub updated_at: Option<NaiveDateTime>,
    pub deleted_at: Option<NaiveDateTime>,
}

impl Service {
    /// Whether it has reported within two of its intervals, and has not said goodbye.
    pub fn is_up(&self, now: NaiveDateTime) -> bool {
        let Some(last_report) = self.updated_at.or(self.created_at) else {
            return false;
        };
        self.deleted_at.is_none() && (now - last_report).num_milliseconds() <= 2000 * self.report_interval
    }
}

#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct NewService {
    pub id: String,
    pub engine_id: String,
    pub host: String,
    pub hostname: String,
    pub binary: String,
    pub topic: String,
    pub report_interval: i64,
}

pub(super) const SERVICE_COLUMNS: &str =
    "id, engine_id, host, hostname, `binary`, topic, report_interval, created_at, updated_at, deleted_at";

pub(super) fn service_from_row(row: &MySqlRow) -> Result<Service, sqlx::Error> {
    Ok(from_columns!(row => Service {
        id, engine_id, host, hostname, binary, topic, report_interval, created_at, updated_at, deleted_at,
    }))
}

impl Session {
    /// Puts a service into the table as it is after its first report.
    pub async fn service_create(&mut self, service: &NewService) -> Result<(), StoreError> {
        let now = self.now();
        let mut row = Assignments::default();
        row.set("id", service.id.as_str());
        row.set("engine_id", service.engine_id.as_str());
        row.set("host", service.host.as_str());
        row.set("hostname", service.hostname.as_str());
        row.set("binary", service.binary.as_str());
        row.set("topic", service.topic.as_str());
        row.set("report_interval", service.report_interval);
        row.set("created_at", now);
        row.set("updated_at", now);
        self.insert_all("service", &[row], " ON DUPLICATE KEY UPDATE id = VALUES(id)")
            .await
    }

    /// Says that a service lives, also when another engine has taken it for dead.
    pub async fn service_report(&mut self, id: &str) -> Result<Swap, StoreError> {
        let sql = "UPDATE service SET updated_at = ?, deleted_at = NULL WHERE id = ?";
        let now = self.now();
        let done = self.execute(sql, &[now.into(), id.into()]).await?;
        Ok(if done.rows_affected() > 0 {
            Swap::Updated
        } else {
            Swap::Gone
        })
    }

    pub async fn service_get(&mut self, id: &str) -> Result<Option<Service>, StoreError> {
        let sql = format!("SELECT {SERVICE_COLUMNS} FROM service WHERE id = ?");
        let row = self.fetch_optional(sql, &[id.into()]).await?;
        Ok(row.as_ref().map(service_from_row).transpose()?)
    }

    /// All services that are not marked as deleted.
    pub async fn services_all(&mut self) -> Result<Vec<Service>, StoreError> {
        let sql = format!("SELECT {SERVICE_COLUMNS} FROM service WHERE deleted_at IS NULL");
        let rows = self.fetch_all(sql, &[]).await?;
        Ok(rows.iter().map(service_from_row).collect::<Result<_, _>>()?)
    }

    /// Marks a service as deleted.
    pub async fn service_retire(&mut self, id: &str) -> Result<Swap, StoreError> {
        let sql = "UPDATE service SET deleted_at = ?, updated_at = ? WHERE id = ?";
        let now = self.now();
        let done = self.execute(sql, &[now.into(), now.into(), id.into()]).await?;
        Ok(if done.rows_affected() > 0 {
            Swap::Updated
        } else {
            Swap::Gone
        })
    }

    /// Removes a service's row.
    pub async fn service_delete(&mut self, id: &str) -> Result<Swap, StoreError> {
        let done = self.execute("DELETE FROM service WHERE id = ?", &[id.into()]).await?;
        Ok(if done.rows_affected() > 0 {
            Swap::Updated
        } else {
            Swap::Gone
        })
    }

    /// Marks as deleted the services of this machine that have been silent since `time_line`, except `own_id`.
    pub async fn services_retire_silent(
        &mut self,
        host: &str,
        binary: &str,
        hostname: &str,
        own_id: &str,
        time_line: NaiveDateTime,
    ) -> Result<u64, StoreError> {
        let sql = "UPDATE service SET deleted_at = ?, updated_at = ? WHERE host = ? AND `binary` = ? \
                   AND hostname = ? AND id <> ? AND deleted_at IS NULL AND updated_at < ?";
        let now = self.now();
        let values = [
            now.into(),
            now.into(),
            host.into(),
            binary.into(),
            hostname.into(),
            own_id.into(),
            time_line.into(),
        ];
        let done = self.execute(sql, &values).await?;
        Ok(done.rows_affected())
    }
}
