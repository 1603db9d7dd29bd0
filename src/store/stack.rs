//! Table `stack`.

use chrono::NaiveDateTime;
use sqlx::Row;
use sqlx::mysql::MySqlRow;

use super::assignments::{Assignments, from_columns};
use super::error::StoreError;
use super::probe::Probe;
use super::session::{Session, SwapStatement};
use super::shapes::padded;
use super::swap::Swap;
use super::text::{JSON_NULL, Repertoire, json_from_column};
use super::value::{SqlValue, placeholders};

/// A stack without its graph (`current_deps`), which few want and which can be large.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Stack {
    pub id: String,
    pub created_at: NaiveDateTime,
    pub updated_at: Option<NaiveDateTime>,
    pub deleted_at: Option<NaiveDateTime>,
    pub name: String,
    pub raw_template_id: i64,
    pub prev_raw_template_id: Option<i64>,
    pub user_creds_id: Option<i64>,
    pub username: Option<String>,
    pub owner_id: Option<String>,
    pub action: Option<String>,
    pub status: Option<String>,
    pub status_reason: Option<String>,
    pub timeout: Option<i64>,
    pub tenant: Option<String>,
    pub disable_rollback: bool,
    pub stack_user_project_id: Option<String>,
    pub backup: bool,
    pub nested_depth: i64,
    pub convergence: bool,
    pub current_traversal: Option<String>,
    pub parent_resource_name: Option<String>,
}

/// Whose stacks are seen.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Scope {
    /// An administrator, or the engine itself.
    Everyone,
    /// A project, or the project that a stack made for its own users.
    Project(String),
}

/// Whether stacks are found that are marked as deleted.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Deleted {
    Hidden,
    Shown,
}

#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct NewStack {
    pub id: String,
    pub name: String,
    pub raw_template_id: i64,
    pub prev_raw_template_id: Option<i64>,
    pub user_creds_id: Option<i64>,
    pub username: Option<String>,
    pub owner_id: Option<String>,
    pub action: Option<String>,
    pub status: Option<String>,
    pub status_reason: Option<String>,
    pub timeout: Option<i64>,
    pub tenant: Option<String>,
    pub disable_rollback: bool,
    pub stack_user_project_id: Option<String>,
    pub backup: bool,
    pub nested_depth: i64,
    pub convergence: bool,
    pub current_traversal: Option<String>,
    /// JSON text.
    pub current_deps: Option<String>,
    pub parent_resource_name: Option<String>,
    pub updated_at: Option<NaiveDateTime>,
    pub tags: Vec<String>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[must_use]
pub enum StackCreation {
    /// With the time that the row carries.
    Created(NaiveDateTime),
    /// An older stack of the project has the name; the transaction is abandoned.
    NameTaken,
}

/// New values for columns; what is `None` stays as it is.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct StackChanges {
    pub name: Option<String>,
    pub raw_template_id: Option<i64>,
    pub prev_raw_template_id: Option<Option<i64>>,
    pub user_creds_id: Option<Option<i64>>,
    pub username: Option<Option<String>>,
    pub owner_id: Option<Option<String>>,
    pub action: Option<String>,
    pub status: Option<String>,
    pub status_reason: Option<String>,
    pub timeout: Option<Option<i64>>,
    pub tenant: Option<Option<String>>,
    pub disable_rollback: Option<bool>,
    pub stack_user_project_id: Option<Option<String>>,
    pub backup: Option<bool>,
    pub nested_depth: Option<i64>,
    pub convergence: Option<bool>,
    pub current_traversal: Option<String>,
    /// JSON text.
    pub current_deps: Option<Option<String>>,
    pub parent_resource_name: Option<Option<String>>,
    pub updated_at: Option<Option<NaiveDateTime>>,
}

impl StackChanges {
    fn assignments(&self, repertoire: Repertoire) -> Assignments {
        let mut columns = Assignments::default();
        columns.set_given("name", &self.name);
        columns.set_given("raw_template_id", &self.raw_template_id);
        columns.set_given("prev_raw_template_id", &self.prev_raw_template_id);
        columns.set_given("user_creds_id", &self.user_creds_id);
        columns.set_given("username", &self.username);
        columns.set_given("owner_id", &self.owner_id);
        columns.set_given("action", &self.action);
        columns.set_given("status", &self.status);
        let reason = self
            .status_reason
            .as_deref()
            .map(|reason| repertoire.status_reason(reason));
        columns.set_given("status_reason", &reason);
        columns.set_given("timeout", &self.timeout);
        columns.set_given("tenant", &self.tenant);
        columns.set_given("disable_rollback", &self.disable_rollback);
        columns.set_given("stack_user_project_id", &self.stack_user_project_id);
        columns.set_given("backup", &self.backup);
        columns.set_given("nested_depth", &self.nested_depth);
        columns.set_given("convergence", &self.convergence);
        columns.set_given("current_traversal", &self.current_traversal);
        let deps = self
            .current_deps
            .as_ref()
            .map(|deps| deps.as_deref().unwrap_or(JSON_NULL).to_owned());
        columns.set_given("current_deps", &deps);
        columns.set_given("parent_resource_name", &self.parent_resource_name);
        columns.set_given("updated_at", &self.updated_at);
        columns
    }
}

impl NewStack {
    fn assignments(&self, repertoire: Repertoire, created_at: NaiveDateTime) -> Assignments {
        let mut columns = Assignments::default();
        columns.set("id", self.id.clone());
        columns.set("created_at", created_at);
        columns.set("updated_at", self.updated_at);
        columns.set("name", self.name.clone());
        columns.set("raw_template_id", self.raw_template_id);
        columns.set("prev_raw_template_id", self.prev_raw_template_id);
        columns.set("user_creds_id", self.user_creds_id);
        columns.set("username", self.username.clone());
        columns.set("owner_id", self.owner_id.clone());
        columns.set("action", self.action.clone());
        columns.set("status", self.status.clone());
        columns.set(
            "status_reason",
            self.status_reason
                .as_deref()
                .map(|reason| repertoire.status_reason(reason)),
        );
        columns.set("timeout", self.timeout);
        columns.set("tenant", self.tenant.clone());
        columns.set("disable_rollback", self.disable_rollback);
        columns.set("stack_user_project_id", self.stack_user_project_id.clone());
        columns.set("backup", self.backup);
        columns.set("nested_depth", self.nested_depth);
        columns.set("convergence", self.convergence);
        columns.set("current_traversal", self.current_traversal.clone());
        columns.set("current_deps", self.current_deps.as_deref().unwrap_or(JSON_NULL));
        columns.set("parent_resource_name", self.parent_resource_name.clone());
        columns
    }
}

/// The columns of [`Stack`], of a table that the statement calls `s`.
pub(super) const STACK_COLUMNS: &str = "s.id, s.created_at, s.updated_at, s.deleted_at, s.name, s.raw_template_id, \
     s.prev_raw_template_id, s.user_creds_id, s.username, s.owner_id, s.action, s.status, s.status_reason, s.timeout, \
     s.tenant, s.disable_rollback, s.stack_user_project_id, s.backup, s.nested_depth, s.convergence, \
     s.current_traversal, s.parent_resource_name";

const PROJECT_CONDITION: &str = "(s.tenant = ? OR s.stack_user_project_id = ?)";

/// The rows of old releases have NULL where new ones have 0.
fn flag(row: &MySqlRow, column: &str) -> Result<bool, sqlx::Error> {
    Ok(row.try_get::<Option<bool>, _>(column)?.unwrap_or(false))
}

pub(super) fn stack_from_row(row: &MySqlRow) -> Result<Stack, sqlx::Error> {
    Ok(from_columns!(row => Stack {
        id, created_at, updated_at, deleted_at, name, raw_template_id, prev_raw_template_id, user_creds_id, username,
        owner_id, action, status, status_reason, timeout, tenant, stack_user_project_id, current_traversal,
        parent_resource_name,
    } with {
        disable_rollback: flag(row, "disable_rollback")?,
        backup: flag(row, "backup")?,
        nested_depth: row.try_get::<Option<i64>, _>("nested_depth")?.unwrap_or(0),
        convergence: flag(row, "convergence")?,
    }))
}

impl Session {
    pub async fn stack_get(&mut self, id: &str, scope: &Scope, deleted: Deleted) -> Result<Option<Stack>, StoreError> {
        let row = self.stack_row(STACK_COLUMNS, "stack s", id, scope, deleted).await?;
        Ok(row.as_ref().map(stack_from_row).transpose()?)
    }

    async fn stack_row(
        &mut self,
        columns: &str,
        tables: &str,
        id: &str,
        scope: &Scope,
        deleted: Deleted,
    ) -> Result<Option<MySqlRow>, StoreError> {
        let mut sql = format!("SELECT {columns} FROM {tables} WHERE s.id = ?");
        let mut values = vec![SqlValue::from(id)];
        if deleted == Deleted::Hidden {
            sql.push_str(" AND s.deleted_at IS NULL");
        }
        if let Scope::Project(project) = scope {
            sql.push_str(&format!(" AND {PROJECT_CONDITION}"));
            values.extend([project.as_str().into(), project.as_str().into()]);
        }
        self.fetch_optional(sql, &values).await
    }

    /// The oldest stack of a project with that name.
    pub async fn stack_get_by_name(
        &mut self,
        name: &str,
        project: &str,
        deleted: Deleted,
    ) -> Result<Option<Stack>, StoreError> {
        let condition = if deleted == Deleted::Hidden {
            " AND s.deleted_at IS NULL"
        } else {
            ""
        };
        let sql = format!(
            "SELECT {STACK_COLUMNS} FROM stack s WHERE s.name = ? AND {PROJECT_CONDITION}{condition} \
             ORDER BY s.created_at, s.id LIMIT 1"
        );
        let row = self
            .fetch_optional(sql, &[name.into(), project.into(), project.into()])
            .await?;
        Ok(row.as_ref().map(stack_from_row).transpose()?)
    }

    /// The graph (JSON text) of a stack's traversal; `None` if the stack is in another one, or has none yet.
    pub async fn stack_graph(&mut self, id: &str, traversal: &str) -> Result<Option<String>, StoreError> {
        let sql = "SELECT current_deps FROM stack WHERE id = ? AND current_traversal = ?";
        self.graph_by(sql, id, traversal).await
    }

    /// The graph of a traversal that has its sync points, which are stored after the graph or together with it. Before that the
    /// stack has the graph of the traversal before under the name of this one.
    pub async fn stack_laid_out_graph(&mut self, id: &str, traversal: &str) -> Result<Option<String>, StoreError> {
        let sql = "SELECT s.current_deps FROM stack s JOIN sync_point p \
                   ON p.entity_id = s.id AND p.traversal_id = s.current_traversal AND p.is_update \
                   WHERE s.id = ? AND s.current_traversal = ?";
        self.graph_by(sql, id, traversal).await
    }

    async fn graph_by(&mut self, sql: &str, id: &str, traversal: &str) -> Result<Option<String>, StoreError> {
        let row = self
            .fetch_optional(sql.to_owned(), &[id.into(), traversal.into()])
            .await?;
        let graph: Option<Option<String>> = row.map(|row| row.try_get("current_deps")).transpose()?;
        Ok(json_from_column(graph.flatten()))
    }

    /// Creates a stack with its tags, unless its project has one of that name. The look for another is a locking one, after the row
    /// is written: of two that are created at the same time one waits for the other, or is the victim of a deadlock and
    /// runs again, and then finds it. A look before would miss it, and so would a snapshot.
    pub async fn stack_create(&mut self, stack: &NewStack) -> Result<StackCreation, StoreError> {
        let created_at = self.now();
        let row = stack.assignments(self.repertoire(), created_at);
        self.insert_all("stack", &[row], " ON DUPLICATE KEY UPDATE id = VALUES(id)")
            .await?;
        self.add_probe(Probe::new(
            "SELECT 1 FROM stack WHERE id = ?",
            vec![stack.id.as_str().into()],
        ));
        let project = stack.tenant.as_deref().unwrap_or_default();
        let sql = format!(
            "SELECT s.id, s.created_at FROM stack s WHERE s.name = ? AND {PROJECT_CONDITION} AND s.deleted_at IS NULL \
             ORDER BY s.id = ? LIMIT 1 FOR UPDATE"
        );
        let values = [
            stack.name.as_str().into(),
            project.into(),
            project.into(),
            stack.id.as_str().into(),
        ];
        let created_at = match self.fetch_optional(sql, &values).await? {
            None => created_at,
            Some(found) if found.try_get::<String, _>("id")? == stack.id => found.try_get("created_at")?,
            Some(_) => {
                self.abandon();
                return Ok(StackCreation::NameTaken);
            }
        };
        self.stack_tags_create(&stack.id, &stack.tags).await?;
        Ok(StackCreation::Created(created_at))
    }

    /// Writes the changes if the stack is still in the traversal that is expected (`None`: in whichever).
    pub async fn stack_swap(
        &mut self,
        id: &str,
        expected_traversal: Option<&str>,
        changes: &StackChanges,
    ) -> Result<Swap, StoreError> {
        let expected = if expected_traversal.is_some() {
            "current_traversal = ?"
        } else {
            ""
        };
        self.stack_swap_where(id, expected, expected_traversal, changes).await
    }

    /// Writes the changes if the stack is still in the traversal that is expected and that has not ended.
    pub async fn stack_swap_in_progress(
        &mut self,
        id: &str,
        traversal: &str,
        changes: &StackChanges,
    ) -> Result<Swap, StoreError> {
        let expected = "current_traversal = ? AND status = 'IN_PROGRESS'";
        self.stack_swap_where(id, expected, Some(traversal), changes).await
    }

    async fn stack_swap_where(
        &mut self,
        id: &str,
        expected: &str,
        traversal: Option<&str>,
        changes: &StackChanges,
    ) -> Result<Swap, StoreError> {
        let mut columns = changes.assignments(self.repertoire());
        if columns.is_empty() {
            columns.set("id", id);
        }
        self.swap(SwapStatement {
            table: "stack",
            key: "id = ? AND deleted_at IS NULL",
            key_values: vec![id.into()],
            expected,
            expected_values: traversal.into_iter().map(SqlValue::from).collect(),
            changes: &columns,
        })
        .await
    }

    /// Marks a stack as deleted, and removes resources that it still has. Lock, tags and events stay for the purge.
    pub async fn stack_delete(&mut self, id: &str) -> Result<Swap, StoreError> {
        let sql = "SELECT id, attr_data_id FROM resource WHERE stack_id = ?";
        let rows = sqlx::query(sql).bind(id).fetch_all(self.statement()).await?;
        let mut resources = Vec::new();
        let mut attributes = Vec::new();
        for row in &rows {
            resources.push(row.try_get("id")?);
            attributes.extend(row.try_get::<Option<i64>, _>("attr_data_id")?);
        }
        let sql = "UPDATE stack SET deleted_at = ? WHERE id = ? AND deleted_at IS NULL";
        let marked = self.execute(sql, &[self.now().into(), id.into()]).await?;
        if marked.rows_affected() == 0 {
            return Ok(Swap::Gone);
        }
        self.delete_ids("resource", &resources).await?;
        self.delete_ids("resource_properties_data", &attributes).await?;
        self.add_probe(Probe::new(
            "SELECT 1 FROM stack WHERE id = ? AND deleted_at IS NOT NULL",
            vec![id.into()],
        ));
        Ok(Swap::Updated)
    }

    /// The stack at the top of the tree that a stack is nested in.
    pub async fn stack_root_id(&mut self, id: &str) -> Result<Option<String>, StoreError> {
        let mut current = id.to_owned();
        loop {
            let sql = "SELECT owner_id FROM stack WHERE id = ? AND deleted_at IS NULL";
            let owner: Option<Option<String>> = sqlx::query_scalar(sql)
                .bind(&current)
                .fetch_optional(self.statement())
                .await?;
            match owner {
                None => return Ok(None),
                Some(None) => return Ok(Some(current)),
                Some(Some(owner)) if owner.is_empty() => return Ok(Some(current)),
                Some(Some(owner)) => current = owner,
            }
        }
    }

    /// All stacks of the tree below a stack, each before those inside it: a statement for each level of the tree.
    pub async fn stacks_below(&mut self, root_id: &str, deleted: Deleted) -> Result<Vec<Stack>, StoreError> {
        let mut levels: Vec<Vec<Stack>> = Vec::new();
        let mut owners = vec![root_id.to_owned()];
        let condition = if deleted == Deleted::Hidden {
            " AND s.deleted_at IS NULL"
        } else {
            ""
        };
        while !owners.is_empty() {
            let values = padded(&owners);
            let sql = format!(
                "SELECT {STACK_COLUMNS} FROM stack s WHERE s.owner_id IN ({}) AND s.backup = 0{condition}",
                placeholders(values.len())
            );
            let rows = self.fetch_all(sql, &values).await?;
            let level: Vec<Stack> = rows.iter().map(stack_from_row).collect::<Result<_, _>>()?;
            owners = level.iter().map(|stack| stack.id.clone()).collect();
            levels.push(level);
        }
        Ok(depth_first(root_id, levels))
    }
}

/// Puts the levels of a tree in the order of a walk from the root.
fn depth_first(root_id: &str, levels: Vec<Vec<Stack>>) -> Vec<Stack> {
    let mut children: std::collections::HashMap<String, Vec<Stack>> = std::collections::HashMap::new();
    for stack in levels.into_iter().flatten() {
        children
            .entry(stack.owner_id.clone().unwrap_or_default())
            .or_default()
            .push(stack);
    }
    let mut waiting = children.remove(root_id).unwrap_or_default();
    waiting.reverse();
    let mut ordered = Vec::new();
    while let Some(stack) = waiting.pop() {
        if let Some(inside) = children.remove(&stack.id) {
            waiting.extend(inside.into_iter().rev());
        }
        ordered.push(stack);
    }
    ordered
}
