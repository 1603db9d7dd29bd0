//! Table `stack_tag`.

use std::collections::HashMap;

use sqlx::Row;

use super::assignments::Assignments;
use super::error::StoreError;
use super::session::Session;
use super::shapes::padded;
use super::value::placeholders;

impl Session {
    pub async fn stack_tags_get(&mut self, stack_id: &str) -> Result<Vec<String>, StoreError> {
        let sql = "SELECT tag FROM stack_tag WHERE stack_id = ? AND tag IS NOT NULL ORDER BY id";
        Ok(sqlx::query_scalar(sql)
            .bind(stack_id)
            .fetch_all(self.statement())
            .await?)
    }

    /// The tags of several stacks, in one statement.
    pub async fn stack_tags_get_all(
        &mut self,
        stack_ids: &[String],
    ) -> Result<HashMap<String, Vec<String>>, StoreError> {
        let mut tags: HashMap<String, Vec<String>> = HashMap::new();
        if stack_ids.is_empty() {
            return Ok(tags);
        }
        let stack_ids = padded(stack_ids);
        let sql = format!(
            "SELECT stack_id, tag FROM stack_tag WHERE stack_id IN ({}) AND tag IS NOT NULL ORDER BY id",
            placeholders(stack_ids.len())
        );
        for row in self.fetch_all(sql, &stack_ids).await? {
            tags.entry(row.try_get("stack_id")?)
                .or_default()
                .push(row.try_get("tag")?);
        }
        Ok(tags)
    }

    /// Replaces all tags of a stack. A transaction of its own.
    pub async fn stack_tags_set(&mut self, stack_id: &str, tags: &[String]) -> Result<(), StoreError> {
        self.execute("DELETE FROM stack_tag WHERE stack_id = ?", &[stack_id.into()])
            .await?;
        self.stack_tags_create(stack_id, tags).await
    }

    pub(super) async fn stack_tags_create(&mut self, stack_id: &str, tags: &[String]) -> Result<(), StoreError> {
        let now = self.now();
        let row = |tag: &String| {
            let mut columns = Assignments::default();
            columns.set("created_at", now);
            columns.set("tag", tag.as_str());
            columns.set("stack_id", stack_id);
            columns
        };
        let rows: Vec<_> = tags.iter().map(row).collect();
        self.insert_all("stack_tag", &rows, "").await
    }
}
