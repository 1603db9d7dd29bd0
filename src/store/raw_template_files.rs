//! Table `raw_template_files`: the files of a template, shared by the templates of one tree.

use super::assignments::Assignments;
use super::error::StoreError;
use super::session::Session;
use super::shapes::padded;
use super::text::json_from_column;
use super::value::placeholders;

impl Session {
    /// The files as JSON text. The outer `None` is a row that is missing.
    pub async fn raw_template_files_get(&mut self, id: i64) -> Result<Option<Option<String>>, StoreError> {
        let sql = "SELECT files FROM raw_template_files WHERE id = ?";
        let files = sqlx::query_scalar(sql)
            .bind(id)
            .fetch_optional(self.statement())
            .await?;
        Ok(files.map(json_from_column))
    }

    pub async fn raw_template_files_create(&mut self, files: &str) -> Result<i64, StoreError> {
        let mut row = Assignments::default();
        row.set("files", files);
        row.set("created_at", self.now());
        self.insert("raw_template_files", &row).await
    }

    pub(super) async fn raw_template_files_delete_unused(&mut self, ids: &[i64]) -> Result<(), StoreError> {
        if ids.is_empty() {
            return Ok(());
        }
        let ids = padded(ids);
        let sql = format!(
            "DELETE FROM raw_template_files WHERE id IN ({}) \
             AND NOT EXISTS (SELECT 1 FROM raw_template t WHERE t.files_id = raw_template_files.id)",
            placeholders(ids.len())
        );
        self.execute(sql, &ids).await?;
        Ok(())
    }
}
