//! How resources leave the table.

use sqlx::Row;

use super::error::StoreError;
use super::session::Session;
use super::swap::Swap;

impl Session {
    /// Deletes a resource of which nothing was made and which nobody has locked, with its data and stored attributes. A
    /// transaction of its own.
    pub async fn resource_delete_unmade(&mut self, id: i64) -> Result<Swap, StoreError> {
        let sql = "SELECT attr_data_id FROM resource WHERE id = ?";
        let attr_id: Option<Option<i64>> = sqlx::query_scalar(sql)
            .bind(id)
            .fetch_optional(self.statement())
            .await?;
        let Some(attr_id) = attr_id else {
            return Ok(Swap::Gone);
        };
        let sql = "DELETE FROM resource WHERE id = ? AND action = 'INIT' AND engine_id IS NULL";
        if self.execute(sql, &[id.into()]).await?.rows_affected() == 0 {
            return Ok(Swap::Lost);
        }
        self.delete_ids("resource_properties_data", attr_id.as_slice()).await?;
        Ok(Swap::Updated)
    }

    /// Removes the resources of a stack that are deleted, and the templates that only they referred to. Part
    /// of a transaction. Returns how many resources there were.
    ///
    /// Their properties stay, for the events that name them.
    pub async fn resources_purge_deleted(&mut self, stack_id: &str) -> Result<u64, StoreError> {
        let sql = "SELECT id, attr_data_id, current_template_id FROM resource \
                   WHERE stack_id = ? AND action = 'DELETE' AND status = 'COMPLETE'";
        let rows = sqlx::query(sql).bind(stack_id).fetch_all(self.statement()).await?;
        let mut resources = Vec::new();
        let mut attributes = Vec::new();
        let mut templates = Vec::new();
        for row in &rows {
            resources.push(row.try_get("id")?);
            attributes.extend(row.try_get::<Option<i64>, _>("attr_data_id")?);
            templates.extend(row.try_get::<Option<i64>, _>("current_template_id")?);
        }
        templates.sort_unstable();
        templates.dedup();
        let purged = self.delete_ids("resource", &resources).await?;
        self.delete_ids("resource_properties_data", &attributes).await?;
        self.raw_templates_delete_unused(&templates).await?;
        Ok(purged)
    }
}
