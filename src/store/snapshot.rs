//! Table `snapshot`, as far as the deletion of a stack looks at it.

use super::error::StoreError;
use super::session::Session;

impl Session {
    pub async fn snapshot_ids(&mut self, stack_id: &str, project: &str) -> Result<Vec<String>, StoreError> {
        let sql = "SELECT id FROM snapshot WHERE stack_id = ? AND tenant = ?";
        Ok(sqlx::query_scalar(sql)
            .bind(stack_id)
            .bind(project)
            .fetch_all(self.statement())
            .await?)
    }
}
