//! Table `resource_properties_data`: properties that a resource was given, shared by the resource and its events, and
//! attributes that it has shown.

use sqlx::Row;
use sqlx::mysql::MySqlRow;

use super::assignments::Assignments;
use super::error::StoreError;
use super::session::Session;
use super::swap::Swap;
use super::text::{json_from_column, json_or_null};
use super::value::SqlValue;

/// As stored.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct PropertiesData {
    /// JSON text; with `encrypted` each value is a pair of decryption method and ciphertext.
    pub data: Option<String>,
    pub encrypted: bool,
}

impl PropertiesData {
    pub fn plain(data: impl Into<String>) -> Self {
        Self {
            data: Some(data.into()),
            encrypted: false,
        }
    }

    pub(super) fn from_row(row: &MySqlRow, data: &str, encrypted: &str) -> Result<Self, sqlx::Error> {
        Ok(Self {
            data: json_from_column(row.try_get(data)?),
            encrypted: row.try_get::<Option<bool>, _>(encrypted)?.unwrap_or(false),
        })
    }

    fn assignments(&self) -> Assignments {
        let mut columns = Assignments::default();
        columns.set("data", json_or_null(self.data.as_deref()));
        columns.set("encrypted", self.encrypted);
        columns
    }
}

impl Session {
    pub async fn properties_data_create(&mut self, data: &PropertiesData) -> Result<i64, StoreError> {
        let mut row = data.assignments();
        row.set("created_at", self.now());
        self.insert("resource_properties_data", &row).await
    }

    /// `updated_at` moves only if something is new, as in Python.
    pub async fn properties_data_update(&mut self, id: i64, data: &PropertiesData) -> Result<Swap, StoreError> {
        let columns = data.assignments();
        let (same, same_values) = columns.same_values();
        let sql = format!(
            "UPDATE resource_properties_data SET updated_at = IF({same}, updated_at, ?), {} WHERE id = ?",
            columns.set_clause()
        );
        let now = [SqlValue::from(self.now())];
        let values: Vec<_> = same_values
            .into_iter()
            .chain(now)
            .chain(columns.values())
            .chain([id.into()])
            .collect();
        let done = self.execute(sql, &values).await?;
        Ok(if done.rows_affected() > 0 {
            Swap::Updated
        } else {
            Swap::Gone
        })
    }
}
