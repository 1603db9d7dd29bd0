//! Table `resource_data`: what a resource type keeps by key, encrypted by the layer above where `redact` says so.

use sqlx::Row;

use super::assignments::Assignments;
use super::error::StoreError;
use super::session::Session;
use super::swap::Swap;
use super::value::SqlValue;

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ResourceData {
    pub id: i64,
    pub key: String,
    /// As stored: ciphertext where `redact` is set.
    pub value: Option<String>,
    pub redact: bool,
    pub decrypt_method: Option<String>,
}

impl Session {
    pub async fn resource_data_all(&mut self, resource_id: i64) -> Result<Vec<ResourceData>, StoreError> {
        let sql =
            "SELECT id, `key`, value, redact, decrypt_method FROM resource_data WHERE resource_id = ? ORDER BY id";
        let rows = sqlx::query(sql).bind(resource_id).fetch_all(self.statement()).await?;
        let data = |row: &sqlx::mysql::MySqlRow| -> Result<ResourceData, sqlx::Error> {
            Ok(ResourceData {
                id: row.try_get("id")?,
                key: row.try_get::<Option<String>, _>("key")?.unwrap_or_default(),
                value: row.try_get("value")?,
                redact: row.try_get::<Option<bool>, _>("redact")?.unwrap_or(false),
                decrypt_method: row.try_get("decrypt_method")?,
            })
        };
        Ok(rows.iter().map(data).collect::<Result<_, _>>()?)
    }

    /// Adds a key that the holder of the resource's lock knows not to be there, and gives the id of its row.
    pub async fn resource_data_add(
        &mut self,
        resource_id: i64,
        key: &str,
        value: &str,
        decrypt_method: Option<&str>,
    ) -> Result<i64, StoreError> {
        if self.is_unsure() {
            let data = self.resource_data_all(resource_id).await?;
            if let Some(own) = data.iter().find(|data| data.key == key) {
                return Ok(own.id);
            }
        }
        self.resource_data_insert(resource_id, key, value, decrypt_method).await
    }

    async fn resource_data_insert(
        &mut self,
        resource_id: i64,
        key: &str,
        value: &str,
        decrypt_method: Option<&str>,
    ) -> Result<i64, StoreError> {
        let mut row = Assignments::default();
        row.set("created_at", self.now());
        row.set("key", key);
        row.set("value", value);
        row.set("redact", decrypt_method.is_some());
        row.set("decrypt_method", decrypt_method.unwrap_or_default());
        row.set("resource_id", resource_id);
        self.insert("resource_data", &row).await
    }

    /// Writes another value into a row.
    pub async fn resource_data_write(
        &mut self,
        id: i64,
        value: &str,
        decrypt_method: Option<&str>,
    ) -> Result<Swap, StoreError> {
        let redact = SqlValue::from(decrypt_method.is_some());
        let method = SqlValue::from(decrypt_method.unwrap_or_default());
        let value = SqlValue::from(value);
        // Python's row has a new `updated_at` only if something is new in it.
        let sql = "UPDATE resource_data SET updated_at = IF(redact <=> ? AND BINARY value <=> BINARY ? \
                   AND decrypt_method <=> ?, updated_at, ?), redact = ?, value = ?, decrypt_method = ? \
                   WHERE id = ?";
        let values = [
            redact.clone(),
            value.clone(),
            method.clone(),
            self.now().into(),
            redact,
            value,
            method,
            id.into(),
        ];
        let written = self.execute(sql, &values).await?;
        Ok(if written.rows_affected() > 0 {
            Swap::Updated
        } else {
            Swap::Gone
        })
    }

    /// False if there was nothing under that key.
    pub async fn resource_data_delete(&mut self, resource_id: i64, key: &str) -> Result<bool, StoreError> {
        let sql = "DELETE FROM resource_data WHERE resource_id = ? AND `key` = ? ORDER BY id LIMIT 1";
        let deleted = self.execute(sql, &[resource_id.into(), key.into()]).await?;
        Ok(deleted.rows_affected() > 0)
    }
}
