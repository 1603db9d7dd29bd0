//! Table `raw_template`: template and environment of a stack, as JSON text.

use sqlx::Row;

use super::assignments::Assignments;
use super::error::StoreError;
use super::session::Session;
use super::shapes::padded;
use super::swap::Swap;
use super::text::{JSON_NULL, json_from_column, json_or_null};
use super::value::{SqlValue, placeholders};

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RawTemplate {
    pub id: i64,
    /// JSON text.
    pub template: Option<String>,
    /// JSON text; parameters named in its `encrypted_param_names` are encrypted.
    pub environment: Option<String>,
    /// JSON text of files stored by an old release; new ones are in `raw_template_files`.
    pub files: Option<String>,
    pub files_id: Option<i64>,
}

#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct NewRawTemplate {
    /// JSON text.
    pub template: String,
    /// JSON text.
    pub environment: String,
    pub files_id: Option<i64>,
}

/// New values for columns; what is `None` stays as it is.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct RawTemplateChanges {
    /// JSON text.
    pub template: Option<String>,
    /// JSON text.
    pub environment: Option<String>,
    /// With files stored apart, those in the row itself are dropped.
    pub files_id: Option<Option<i64>>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[must_use]
pub enum Removal {
    Removed,
    /// Another row refers to it; it stays.
    StillReferenced,
    Missing,
}

impl Session {
    pub async fn raw_template_get(&mut self, id: i64) -> Result<Option<RawTemplate>, StoreError> {
        let sql = "SELECT template, environment, files, files_id FROM raw_template WHERE id = ?";
        let Some(row) = sqlx::query(sql).bind(id).fetch_optional(self.statement()).await? else {
            return Ok(None);
        };
        Ok(Some(RawTemplate {
            id,
            template: json_from_column(row.try_get("template")?),
            environment: json_from_column(row.try_get("environment")?),
            files: json_from_column(row.try_get("files")?),
            files_id: row.try_get("files_id")?,
        }))
    }

    pub async fn raw_template_create(&mut self, template: &NewRawTemplate) -> Result<i64, StoreError> {
        let mut row = Assignments::default();
        row.set("created_at", self.now());
        row.set("template", template.template.as_str());
        row.set("files", JSON_NULL);
        row.set("environment", template.environment.as_str());
        row.set("files_id", template.files_id);
        self.insert("raw_template", &row).await
    }

    /// Writes the changes; `updated_at` moves only if something is really new, as in Python.
    pub async fn raw_template_update(&mut self, id: i64, changes: &RawTemplateChanges) -> Result<Swap, StoreError> {
        let mut columns = Assignments::default();
        columns.set_given("template", &changes.template);
        columns.set_given("environment", &changes.environment);
        columns.set_given("files_id", &changes.files_id);
        if matches!(changes.files_id, Some(Some(_))) {
            columns.set("files", json_or_null(None));
        }
        if columns.is_empty() {
            columns.set("id", id);
        }
        let (same, same_values) = columns.same_values();
        // Assignments take place from left to right, so the comparison still sees the old values.
        let sql = format!(
            "UPDATE raw_template SET updated_at = IF({same}, updated_at, ?), {} WHERE id = ?",
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

    /// Deletes a template that no row refers to any more, and its files if no other template has them.
    pub async fn raw_template_delete(&mut self, id: i64) -> Result<Removal, StoreError> {
        let sql = "SELECT files_id FROM raw_template WHERE id = ?";
        let files_id: Option<Option<i64>> = sqlx::query_scalar(sql)
            .bind(id)
            .fetch_optional(self.statement())
            .await?;
        let Some(files_id) = files_id else {
            return Ok(Removal::Missing);
        };
        match self
            .execute("DELETE FROM raw_template WHERE id = ?", &[id.into()])
            .await
        {
            Ok(_) => {}
            Err(StoreError::Reference(_)) => return Ok(Removal::StillReferenced),
            Err(error) => return Err(error),
        }
        self.raw_template_files_delete_unused(files_id.as_slice()).await?;
        Ok(Removal::Removed)
    }

    /// Deletes those of the templates that no stack and no resource refers to.
    pub(super) async fn raw_templates_delete_unused(&mut self, ids: &[i64]) -> Result<(), StoreError> {
        if ids.is_empty() {
            return Ok(());
        }
        let ids = padded(ids);
        let sql = format!(
            "SELECT t.id, t.files_id FROM raw_template t WHERE t.id IN ({}) \
             AND NOT EXISTS (SELECT 1 FROM stack s WHERE s.raw_template_id = t.id) \
             AND NOT EXISTS (SELECT 1 FROM stack s WHERE s.prev_raw_template_id = t.id) \
             AND NOT EXISTS (SELECT 1 FROM resource r WHERE r.current_template_id = t.id)",
            placeholders(ids.len())
        );
        let mut unused = Vec::new();
        let mut files = Vec::new();
        for row in self.fetch_all(sql, &ids).await? {
            unused.push(row.try_get("id")?);
            files.extend(row.try_get::<Option<i64>, _>("files_id")?);
        }
        self.delete_ids("raw_template", &unused).await?;
        self.raw_template_files_delete_unused(&files).await
    }
}
