//! What an operator's questions ask of the database: how it stands, what it lacks, who holds locks.

use std::collections::HashMap;

use chrono::NaiveDateTime;
use sqlx::Row;

use super::error::StoreError;
use super::schema::Table;
use super::session::Session;

/// How the server stands.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ServerFacts {
    pub version: String,
    pub user: String,
    /// Of the tables' columns.
    pub character_set: String,
    pub is_read_only: bool,
    pub most_connections: u64,
    pub now: NaiveDateTime,
}

/// A column that the database has.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct Column {
    pub table: String,
    pub name: String,
}

/// What a user may not do, in the server's words.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Refusal {
    pub table: String,
    pub privilege: &'static str,
    pub reason: String,
}

/// The locks of resources that name one engine.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct LocksOfEngine {
    pub engine_id: String,
    pub count: i64,
    /// When the oldest of them was taken.
    pub oldest: Option<NaiveDateTime>,
}

/// A stack on which something is being done, or should be.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct StackInProgress {
    pub id: String,
    pub name: String,
    pub project: String,
    pub action: String,
    /// When the action began.
    pub since: Option<NaiveDateTime>,
    /// Minutes for the action.
    pub timeout: Option<i64>,
    /// When its newest event was written.
    pub last_event: Option<NaiveDateTime>,
    /// Engines that have a resource of it, or the stack itself, locked.
    pub holders: Vec<String>,
}

impl Session {
    /// Every stack in progress, with those who hold anything of it. It reads whole tables.
    pub async fn stacks_under_way(&mut self) -> Result<Vec<StackInProgress>, StoreError> {
        let sql = "SELECT s.id, s.name, s.tenant, s.action, COALESCE(s.updated_at, s.created_at) AS since, s.timeout, \
                   (SELECT e.created_at FROM event e WHERE e.stack_id = s.id ORDER BY e.id DESC LIMIT 1) AS last_event \
                   FROM stack s WHERE s.status = 'IN_PROGRESS' AND s.deleted_at IS NULL ORDER BY s.id";
        let rows = self.fetch_all(sql.to_owned(), &[]).await?;
        let mut holders = self.holders().await?;
        let mut stacks = Vec::new();
        for row in &rows {
            let id: String = row.try_get("id")?;
            stacks.push(StackInProgress {
                holders: holders.remove(&id).unwrap_or_default(),
                id,
                name: row.try_get::<Option<String>, _>("name")?.unwrap_or_default(),
                project: row.try_get::<Option<String>, _>("tenant")?.unwrap_or_default(),
                action: row.try_get::<Option<String>, _>("action")?.unwrap_or_default(),
                since: row.try_get("since")?,
                timeout: row.try_get::<Option<i32>, _>("timeout")?.map(i64::from),
                last_event: row.try_get("last_event")?,
            });
        }
        Ok(stacks)
    }

    /// By stack, the engines that have it or a resource of it locked.
    async fn holders(&mut self) -> Result<HashMap<String, Vec<String>>, StoreError> {
        let sql = "SELECT stack_id, engine_id FROM resource WHERE engine_id IS NOT NULL \
                   UNION SELECT stack_id, engine_id FROM stack_lock WHERE engine_id IS NOT NULL";
        let mut holders: HashMap<String, Vec<String>> = HashMap::new();
        for row in self.fetch_all(sql.to_owned(), &[]).await? {
            holders
                .entry(row.try_get("stack_id")?)
                .or_default()
                .push(row.try_get("engine_id")?);
        }
        Ok(holders)
    }

    pub async fn server_facts(&mut self) -> Result<Option<ServerFacts>, StoreError> {
        // As text, since servers differ in the types of their variables.
        let sql = "SELECT CAST(VERSION() AS CHAR) AS version, CAST(CURRENT_USER() AS CHAR) AS user, \
                   CAST(@@read_only AS CHAR) AS read_only, CAST(@@max_connections AS CHAR) AS most_connections, \
                   UTC_TIMESTAMP(6) AS now, \
                   (SELECT CAST(CHARACTER_SET_NAME AS CHAR) FROM information_schema.COLUMNS WHERE TABLE_SCHEMA = DATABASE() \
                    AND TABLE_NAME = 'stack' AND COLUMN_NAME = 'name') AS character_set";
        let Some(row) = self.fetch_optional(sql.to_owned(), &[]).await? else {
            return Ok(None);
        };
        let number: String = row.try_get("most_connections")?;
        let read_only: String = row.try_get("read_only")?;
        Ok(Some(ServerFacts {
            version: row.try_get("version")?,
            user: row.try_get("user")?,
            character_set: row.try_get::<Option<String>, _>("character_set")?.unwrap_or_default(),
            is_read_only: !matches!(read_only.as_str(), "0" | "OFF"),
            most_connections: number.parse().unwrap_or(0),
            now: row.try_get("now")?,
        }))
    }

    /// Alembic's name for the state of the schema.
    pub async fn schema_revision(&mut self) -> Result<Option<String>, StoreError> {
        let sql = "SELECT version_num FROM alembic_version".to_owned();
        let row = self.fetch_optional(sql, &[]).await?;
        Ok(row.map(|row| row.try_get(0)).transpose()?)
    }

    /// Every column of the database.
    pub async fn columns(&mut self) -> Result<Vec<Column>, StoreError> {
        let sql = "SELECT CAST(TABLE_NAME AS CHAR), CAST(COLUMN_NAME AS CHAR) FROM information_schema.COLUMNS \
                   WHERE TABLE_SCHEMA = DATABASE()";
        let rows = self.fetch_all(sql.to_owned(), &[]).await?;
        let column = |row: &sqlx::mysql::MySqlRow| -> Result<Column, sqlx::Error> {
            Ok(Column {
                table: row.try_get(0)?,
                name: row.try_get(1)?,
            })
        };
        Ok(rows.iter().map(column).collect::<Result<_, _>>()?)
    }

    /// What the user may not do with a table. The server looks at privileges before it looks for rows, and these
    /// statements find none.
    pub async fn refusals(&mut self, table: &Table) -> Result<Vec<Refusal>, StoreError> {
        let name = &table.name;
        // All of them: an INSERT that leaves one out may be refused for its lack of a default.
        let quoted: Vec<String> = table.columns.iter().map(|column| format!("`{column}`")).collect();
        let columns = quoted.join(", ");
        let same: Vec<String> = quoted.iter().map(|column| format!("{column} = {column}")).collect();
        let statements = [
            ("SELECT", format!("SELECT {columns} FROM `{name}` WHERE 1 = 0")),
            ("UPDATE", format!("UPDATE `{name}` SET {} WHERE 1 = 0", same.join(", "))),
            ("DELETE", format!("DELETE FROM `{name}` WHERE 1 = 0")),
            (
                "INSERT",
                format!("INSERT INTO `{name}` ({columns}) SELECT {columns} FROM `{name}` WHERE 1 = 0"),
            ),
        ];
        let mut refusals = Vec::new();
        for (privilege, sql) in statements {
            match self.execute(sql, &[]).await {
                Ok(_) => {}
                Err(error) if is_refusal(&error) => refusals.push(Refusal {
                    table: name.clone(),
                    privilege,
                    reason: error.server_message().unwrap_or_default().to_owned(),
                }),
                Err(error) => return Err(error),
            }
        }
        Ok(refusals)
    }

    /// Whether the server says that a table, which may be there or not, is none of the user's business.
    pub async fn is_denied(&mut self, table: &Table) -> Result<bool, StoreError> {
        match self
            .fetch_optional(format!("SELECT 1 FROM `{}` WHERE 1 = 0", table.name), &[])
            .await
        {
            Ok(_) => Ok(false),
            Err(error) if is_refusal(&error) => Ok(true),
            Err(error) if error.server_error_number() == Some(NO_SUCH_TABLE) => Ok(false),
            Err(error) => Err(error),
        }
    }

    pub async fn locks_by_engine(&mut self) -> Result<Vec<LocksOfEngine>, StoreError> {
        // A lock is taken with an event. Its row may be much older: a resource waits for others before that.
        let sql = "SELECT r.engine_id, COUNT(*) AS count, MIN(COALESCE(begun.at, r.updated_at, r.created_at)) AS oldest \
                   FROM resource r LEFT JOIN (\
                     SELECT e.stack_id, e.resource_name, MAX(e.created_at) AS at FROM event e JOIN \
                     (SELECT DISTINCT stack_id FROM resource WHERE engine_id IS NOT NULL) held ON held.stack_id = e.stack_id \
                     WHERE e.resource_status = 'IN_PROGRESS' GROUP BY e.stack_id, e.resource_name\
                   ) begun ON begun.stack_id = r.stack_id AND begun.resource_name = r.name \
                   WHERE r.engine_id IS NOT NULL GROUP BY r.engine_id";
        let rows = self.fetch_all(sql.to_owned(), &[]).await?;
        let locks = |row: &sqlx::mysql::MySqlRow| -> Result<LocksOfEngine, sqlx::Error> {
            Ok(LocksOfEngine {
                engine_id: row.try_get("engine_id")?,
                count: row.try_get("count")?,
                oldest: row.try_get("oldest")?,
            })
        };
        Ok(rows.iter().map(locks).collect::<Result<_, _>>()?)
    }
}

const NO_SUCH_TABLE: u16 = 1146;

/// "… command denied to user …", for a table or a column.
fn is_refusal(error: &StoreError) -> bool {
    matches!(error.server_error_number(), Some(1142 | 1143 | 1370))
}

/// Columns of the schema that a database lacks, as `table.column`; a table that it lacks as `table`.
pub fn lacking(expected: &[Table], present: &[Column]) -> Vec<String> {
    let mut lacking = Vec::new();
    for table in expected {
        let in_table: Vec<&str> = present
            .iter()
            .filter(|column| column.table.eq_ignore_ascii_case(&table.name))
            .map(|column| column.name.as_str())
            .collect();
        if in_table.is_empty() {
            lacking.push(table.name.clone());
            continue;
        }
        let missing = table
            .columns
            .iter()
            .filter(|name| !in_table.iter().any(|present| present.eq_ignore_ascii_case(name)));
        lacking.extend(missing.map(|name| format!("{}.{name}", table.name)));
    }
    lacking
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_a_database_lacks_is_named() {
        let table = |name: &str, columns: &[&str]| Table {
            name: name.to_owned(),
            columns: columns.iter().map(|column| (*column).to_owned()).collect(),
        };
        let column = |table: &str, name: &str| Column {
            table: table.to_owned(),
            name: name.to_owned(),
        };
        let expected = [table("stack", &["id", "name"]), table("event", &["id"])];
        let present = [column("stack", "ID"), column("other", "id")];
        assert_eq!(lacking(&expected, &present), ["stack.name", "event"]);
    }
}
