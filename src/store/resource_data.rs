//! Table `resource_data`: what a resource type keeps by key, encrypted by the layer above where `redact` says so.

use sqlx::Row;

use super::error::StoreError;
use super::session::Session;
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

    /// Sets one key. `decrypt_method` is given with a value that is encrypted, which marks it as redacted. A
    /// transaction of its own.
    pub async fn resource_data_set(
        &mut self,
        resource_id: i64,
        key: &str,
        value: &str,
        decrypt_method: Option<&str>,
    ) -> Result<(), StoreError> {
        let redact = decrypt_method.is_some();
        let method = decrypt_method.unwrap_or_default();
        let now = self.now();
        // The key is not unique in the schema, so the row is looked for.
        let sql = "SELECT id FROM resource_data WHERE resource_id = ? AND `key` = ? ORDER BY id LIMIT 1";
        let found = self
            .fetch_optional(sql.to_owned(), &[resource_id.into(), key.into()])
            .await?;
        let found: Option<i64> = found.map(|row| row.try_get("id")).transpose()?;
        match found {
            // Python's row has a new `updated_at` only if something is new in it.
            Some(id) => {
                let sql = "UPDATE resource_data SET updated_at = IF(redact <=> ? AND BINARY value <=> BINARY ? \
                           AND decrypt_method <=> ?, updated_at, ?), redact = ?, value = ?, decrypt_method = ? \
                           WHERE id = ?";
                let [redact, value, method] = [redact.into(), value.into(), method.into()];
                let values = [
                    SqlValue::clone(&redact),
                    SqlValue::clone(&value),
                    SqlValue::clone(&method),
                    now.into(),
                    redact,
                    value,
                    method,
                    id.into(),
                ];
                self.execute(sql, &values).await?;
            }
            None => {
                let sql = "INSERT INTO resource_data (created_at, `key`, value, redact, decrypt_method, resource_id) \
                           VALUES (?, ?, ?, ?, ?, ?)";
                let values = [
                    now.into(),
                    key.into(),
                    value.into(),
                    redact.into(),
                    method.into(),
                    resource_id.into(),
                ];
                self.execute(sql, &values).await?;
            }
        }
        Ok(())
    }

    /// False if there was nothing under that key.
    pub async fn resource_data_delete(&mut self, resource_id: i64, key: &str) -> Result<bool, StoreError> {
        let sql = "DELETE FROM resource_data WHERE resource_id = ? AND `key` = ? ORDER BY id LIMIT 1";
        let deleted = self.execute(sql, &[resource_id.into(), key.into()]).await?;
        Ok(deleted.rows_affected() > 0)
    }
}
