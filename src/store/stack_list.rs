//! Lists and counts of stacks.

use chrono::NaiveDateTime;
use sqlx::Row;

use super::error::StoreError;
use super::filter::{Conditions, Filter};
use super::paging::{Order, Page};
use super::session::Session;
use super::stack::{STACK_COLUMNS, Scope, Stack, stack_from_row};
use super::value::{SqlValue, placeholders};

/// Which stacks are listed.
#[derive(Debug, Clone)]
pub struct StackQuery {
    pub scope: Scope,
    pub page: Page,
    pub filters: Vec<Filter>,
    pub show_deleted: bool,
    pub show_nested: bool,
    pub show_hidden: bool,
    /// `[DEFAULT] hidden_stack_tags`
    pub hidden_tags: Vec<String>,
    /// Stacks that have all of them.
    pub tags: Vec<String>,
    /// Stacks that have one of them.
    pub tags_any: Vec<String>,
    /// Stacks that do not have all of them.
    pub not_tags: Vec<String>,
    /// Stacks that have none of them.
    pub not_tags_any: Vec<String>,
}

impl StackQuery {
    pub fn new(scope: Scope) -> Self {
        Self {
            scope,
            page: Page::default(),
            filters: Vec::new(),
            show_deleted: false,
            show_nested: false,
            show_hidden: false,
            hidden_tags: Vec::new(),
            tags: Vec::new(),
            tags_any: Vec::new(),
            not_tags: Vec::new(),
            not_tags_any: Vec::new(),
        }
    }

    fn conditions(&self) -> Result<Conditions, StoreError> {
        let mut conditions = Conditions::default();
        if !self.show_deleted {
            conditions.add("s.deleted_at IS NULL", []);
        }
        conditions.add(
            if self.show_nested {
                "s.backup = 0"
            } else {
                "s.owner_id IS NULL"
            },
            [],
        );
        if let Scope::Project(project) = &self.scope {
            conditions.add("s.tenant = ?", [project.as_str().into()]);
        }
        for tag in &self.tags {
            conditions.add(has_tag(1), [tag.as_str().into()]);
        }
        if !self.tags_any.is_empty() {
            conditions.add(has_tag(self.tags_any.len()), texts(&self.tags_any));
        }
        if !self.not_tags.is_empty() {
            let all = vec![has_tag(1); self.not_tags.len()].join(" AND ");
            conditions.add(format!("NOT ({all})"), texts(&self.not_tags));
        }
        if !self.not_tags_any.is_empty() {
            conditions.add(
                format!("NOT {}", has_tag(self.not_tags_any.len())),
                texts(&self.not_tags_any),
            );
        }
        if !self.show_hidden && !self.hidden_tags.is_empty() {
            conditions.add(
                format!("NOT {}", has_tag(self.hidden_tags.len())),
                texts(&self.hidden_tags),
            );
        }
        conditions.add_filters(&self.filters, FILTERS)?;
        Ok(conditions)
    }
}

const SORT_KEYS: &[(&str, &str)] = &[
    ("stack_name", "name"),
    ("stack_status", "status"),
    ("creation_time", "created_at"),
    ("updated_time", "updated_at"),
];

const FILTERS: &[(&str, &str)] = &[
    ("id", "s.id"),
    ("name", "s.name"),
    ("raw_template_id", "s.raw_template_id"),
    ("prev_raw_template_id", "s.prev_raw_template_id"),
    ("username", "s.username"),
    ("tenant", "s.tenant"),
    ("user_creds_id", "s.user_creds_id"),
    ("owner_id", "s.owner_id"),
    ("parent_resource_name", "s.parent_resource_name"),
    ("timeout", "s.timeout"),
    ("disable_rollback", "s.disable_rollback"),
    ("stack_user_project_id", "s.stack_user_project_id"),
    ("backup", "s.backup"),
    ("nested_depth", "s.nested_depth"),
    ("convergence", "s.convergence"),
    ("current_traversal", "s.current_traversal"),
    ("action", "s.action"),
    ("status", "s.status"),
    ("status_reason", "s.status_reason"),
];

fn has_tag(count: usize) -> String {
    format!(
        "EXISTS (SELECT 1 FROM stack_tag g WHERE g.stack_id = s.id AND g.tag IN ({}))",
        placeholders(count)
    )
}

fn texts(texts: &[String]) -> impl Iterator<Item = SqlValue> {
    texts.iter().map(|text| SqlValue::from(text.as_str()))
}

impl Session {
    pub async fn stacks_list(&mut self, query: &StackQuery) -> Result<Vec<Stack>, StoreError> {
        let mut conditions = query.conditions()?;
        let order = query.page.order(SORT_KEYS);
        if let Some(marker) = &query.page.marker
            && let Some(values) = self.stack_sort_values(marker, &order).await?
        {
            order.after("s", &values, &mut conditions);
        }
        let sql = format!(
            "SELECT {STACK_COLUMNS} FROM stack s{}{}",
            conditions.where_clause(),
            order.clauses("s", query.page.limit)
        );
        let rows = self.fetch_all(sql, &conditions.values).await?;
        Ok(rows.iter().map(stack_from_row).collect::<Result<_, _>>()?)
    }

    /// Stacks of that name, or of that id even if it has been deleted; of whatever project and however deep they are nested.
    pub async fn stacks_called(&mut self, name_or_id: &str) -> Result<Vec<Stack>, StoreError> {
        let sql = format!(
            "SELECT {STACK_COLUMNS} FROM stack s WHERE (s.id = ? OR (s.name = ? AND s.deleted_at IS NULL)) \
             AND s.backup = 0 ORDER BY s.created_at, s.id"
        );
        let rows = self.fetch_all(sql, &[name_or_id.into(), name_or_id.into()]).await?;
        Ok(rows.iter().map(stack_from_row).collect::<Result<_, _>>()?)
    }

    pub async fn stacks_count(&mut self, query: &StackQuery) -> Result<i64, StoreError> {
        let conditions = query.conditions()?;
        let sql = format!("SELECT COUNT(*) AS stacks FROM stack s{}", conditions.where_clause());
        let rows = self.fetch_all(sql, &conditions.values).await?;
        Ok(rows.first().map(|row| row.try_get("stacks")).transpose()?.unwrap_or(0))
    }

    /// What the marker row has in the sort columns.
    async fn stack_sort_values(&mut self, id: &str, order: &Order) -> Result<Option<Vec<SqlValue>>, StoreError> {
        let sql = "SELECT id, name, status, created_at, updated_at FROM stack WHERE id = ?";
        let Some(row) = sqlx::query(sql).bind(id).fetch_optional(self.statement()).await? else {
            return Ok(None);
        };
        let value = |column: &&'static str| -> Result<SqlValue, sqlx::Error> {
            Ok(match *column {
                "created_at" | "updated_at" => row.try_get::<Option<NaiveDateTime>, _>(*column)?.into(),
                column => row.try_get::<Option<String>, _>(column)?.into(),
            })
        };
        Ok(Some(order.columns.iter().map(value).collect::<Result<_, _>>()?))
    }
}
