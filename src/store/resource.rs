//! Table `resource`. Its rows are the locks of convergence: `engine_id` says who works, `atomic_key` counts the writes.

use chrono::NaiveDateTime;
use sqlx::Row;
use sqlx::mysql::MySqlRow;

use super::assignments::{Assignments, from_columns};
use super::error::StoreError;
use super::probe::Probe;
use super::resource_data::ResourceData;
use super::resource_properties_data::PropertiesData;
use super::session::{Session, SwapStatement};
use super::shapes::padded;
use super::swap::Swap;
use super::text::{JSON_NULL, Repertoire, id_list, json_from_column, json_or_null};
use super::value::{SqlValue, placeholders};

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Resource {
    pub id: i64,
    pub uuid: String,
    pub created_at: NaiveDateTime,
    pub updated_at: Option<NaiveDateTime>,
    pub stack_id: String,
    pub root_stack_id: Option<String>,
    pub name: String,
    pub physical_resource_id: Option<String>,
    pub action: Option<String>,
    pub status: Option<String>,
    pub status_reason: Option<String>,
    /// JSON text.
    pub rsrc_metadata: Option<String>,
    pub rsrc_prop_data_id: Option<i64>,
    pub attr_data_id: Option<i64>,
    pub engine_id: Option<String>,
    pub atomic_key: Option<i64>,
    pub needed_by: Vec<i64>,
    pub requires: Vec<i64>,
    pub replaces: Option<i64>,
    pub replaced_by: Option<i64>,
    pub current_template_id: Option<i64>,
}

/// A resource with the rows that belong to it, read in one statement.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct LoadedResource {
    pub resource: Resource,
    pub properties: Option<PropertiesData>,
    pub attributes: Option<PropertiesData>,
    pub data: Vec<ResourceData>,
}

#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct NewResource {
    pub uuid: String,
    pub stack_id: String,
    pub root_stack_id: Option<String>,
    pub name: String,
    pub physical_resource_id: Option<String>,
    pub action: Option<String>,
    pub status: Option<String>,
    pub status_reason: Option<String>,
    /// JSON text.
    pub rsrc_metadata: Option<String>,
    pub rsrc_prop_data_id: Option<i64>,
    pub needed_by: Vec<i64>,
    /// In the order in which they are written; Python writes the highest id first.
    pub requires: Vec<i64>,
    pub replaces: Option<i64>,
    pub replaced_by: Option<i64>,
    pub current_template_id: Option<i64>,
    pub updated_at: Option<NaiveDateTime>,
}

/// New values for columns; what is `None` stays as it is.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct ResourceChanges {
    pub stack_id: Option<String>,
    pub root_stack_id: Option<Option<String>>,
    pub name: Option<String>,
    pub physical_resource_id: Option<Option<String>>,
    pub action: Option<String>,
    pub status: Option<String>,
    pub status_reason: Option<String>,
    /// JSON text.
    pub rsrc_metadata: Option<Option<String>>,
    pub rsrc_prop_data_id: Option<Option<i64>>,
    pub engine_id: Option<Option<String>>,
    pub needed_by: Option<Vec<i64>>,
    pub requires: Option<Vec<i64>>,
    pub replaces: Option<Option<i64>>,
    pub replaced_by: Option<Option<i64>>,
    pub current_template_id: Option<Option<i64>>,
    pub updated_at: Option<Option<NaiveDateTime>>,
    /// Empties the column in which old releases kept the properties.
    pub clear_legacy_properties: bool,
}

/// The state in which a resource is expected.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct ExpectedResource {
    pub atomic_key: Option<i64>,
    /// `None`: nobody has the lock.
    pub engine_id: Option<String>,
}

impl ExpectedResource {
    pub fn unlocked(atomic_key: Option<i64>) -> Self {
        Self {
            atomic_key,
            engine_id: None,
        }
    }

    pub fn locked_by(engine_id: &str, atomic_key: Option<i64>) -> Self {
        Self {
            atomic_key,
            engine_id: Some(engine_id.to_owned()),
        }
    }
}

/// What a resource's key is after a swap that expected `atomic_key`.
pub fn next_atomic_key(atomic_key: Option<i64>) -> i64 {
    atomic_key.map_or(1, |key| key.saturating_add(1))
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[must_use]
pub enum Replacement {
    Created(i64),
    /// The resource that was to be replaced is locked, changed or gone.
    Lost,
    /// The template of the new resource was deleted: a newer update is under way.
    TemplateGone,
}

impl ResourceChanges {
    fn assignments(&self, repertoire: Repertoire) -> Assignments {
        let mut columns = Assignments::default();
        columns.set_given("stack_id", &self.stack_id);
        columns.set_given("root_stack_id", &self.root_stack_id);
        columns.set_given("name", &self.name);
        columns.set_given("nova_instance", &self.physical_resource_id);
        columns.set_given("action", &self.action);
        columns.set_given("status", &self.status);
        let reason = self
            .status_reason
            .as_deref()
            .map(|reason| repertoire.status_reason(reason));
        columns.set_given("status_reason", &reason);
        let metadata = self
            .rsrc_metadata
            .as_ref()
            .map(|text| json_or_null(text.as_deref()).to_owned());
        columns.set_given("rsrc_metadata", &metadata);
        columns.set_given("rsrc_prop_data_id", &self.rsrc_prop_data_id);
        columns.set_given("engine_id", &self.engine_id);
        columns.set_given("needed_by", &self.needed_by.as_deref().map(id_list));
        columns.set_given("requires", &self.requires.as_deref().map(id_list));
        columns.set_given("replaces", &self.replaces);
        columns.set_given("replaced_by", &self.replaced_by);
        columns.set_given("current_template_id", &self.current_template_id);
        columns.set_given("updated_at", &self.updated_at);
        if self.clear_legacy_properties {
            columns.set("properties_data", JSON_NULL);
        }
        columns
    }
}

impl NewResource {
    fn assignments(&self, repertoire: Repertoire, created_at: NaiveDateTime) -> Assignments {
        let mut columns = Assignments::default();
        columns.set("uuid", self.uuid.as_str());
        columns.set("created_at", created_at);
        columns.set("updated_at", self.updated_at);
        columns.set("stack_id", self.stack_id.as_str());
        columns.set("root_stack_id", self.root_stack_id.clone());
        columns.set("name", self.name.as_str());
        columns.set("nova_instance", self.physical_resource_id.clone());
        columns.set("action", self.action.clone());
        columns.set("status", self.status.clone());
        columns.set(
            "status_reason",
            self.status_reason
                .as_deref()
                .map(|reason| repertoire.status_reason(reason)),
        );
        columns.set("rsrc_metadata", json_or_null(self.rsrc_metadata.as_deref()));
        columns.set("properties_data", JSON_NULL);
        columns.set("rsrc_prop_data_id", self.rsrc_prop_data_id);
        columns.set("needed_by", id_list(&self.needed_by));
        columns.set("requires", id_list(&self.requires));
        columns.set("replaces", self.replaces);
        columns.set("replaced_by", self.replaced_by);
        columns.set("current_template_id", self.current_template_id);
        columns
    }
}

/// The columns of [`Resource`], of a table that the statement calls `r`.
const RESOURCE_COLUMNS: &str = "r.id, r.uuid, r.created_at, r.updated_at, r.stack_id, r.root_stack_id, r.name, \
     r.nova_instance, r.action, r.status, r.status_reason, r.rsrc_metadata, r.rsrc_prop_data_id, r.attr_data_id, \
     r.engine_id, r.atomic_key, r.needed_by, r.requires, r.replaces, r.replaced_by, r.current_template_id";

const LOADED_COLUMNS: &str = "r.properties_data, r.properties_data_encrypted, \
     p.data AS stored_properties, p.encrypted AS stored_properties_encrypted, \
     a.data AS stored_attributes, a.encrypted AS stored_attributes_encrypted, \
     d.id AS data_id, d.`key` AS data_key, d.value AS data_value, d.redact AS data_redact, \
     d.decrypt_method AS data_decrypt_method";

const LOADED_TABLES: &str = "resource r \
     LEFT JOIN resource_properties_data p ON p.id = r.rsrc_prop_data_id \
     LEFT JOIN resource_properties_data a ON a.id = r.attr_data_id \
     LEFT JOIN resource_data d ON d.resource_id = r.id";

fn ids(row: &MySqlRow, column: &'static str) -> Result<Vec<i64>, StoreError> {
    let Some(text) = json_from_column(row.try_get(column)?) else {
        return Ok(Vec::new());
    };
    serde_json::from_str(&text).map_err(|source| StoreError::Unreadable {
        table: "resource",
        column,
        source,
    })
}

fn resource_from_row(row: &MySqlRow) -> Result<Resource, StoreError> {
    Ok(from_columns!(row => Resource {
        id, created_at, updated_at, stack_id, root_stack_id, action, status, status_reason, rsrc_prop_data_id,
        attr_data_id, engine_id, atomic_key, replaces, replaced_by, current_template_id,
    } with {
        uuid: row.try_get::<Option<String>, _>("uuid")?.unwrap_or_default(),
        name: row.try_get::<Option<String>, _>("name")?.unwrap_or_default(),
        physical_resource_id: row.try_get("nova_instance")?,
        rsrc_metadata: json_from_column(row.try_get("rsrc_metadata")?),
        needed_by: ids(row, "needed_by")?,
        requires: ids(row, "requires")?,
    }))
}

/// Joins the rows of one statement, of which a resource has one for each of its data.
fn loaded_resources(rows: &[MySqlRow]) -> Result<Vec<LoadedResource>, StoreError> {
    let mut loaded: Vec<LoadedResource> = Vec::new();
    for row in rows {
        let id: i64 = row.try_get("id")?;
        if loaded.last().is_none_or(|last| last.resource.id != id) {
            let resource = resource_from_row(row)?;
            loaded.push(LoadedResource {
                properties: properties_from_row(row, &resource)?,
                attributes: match resource.attr_data_id {
                    Some(_) => Some(PropertiesData::from_row(
                        row,
                        "stored_attributes",
                        "stored_attributes_encrypted",
                    )?),
                    None => None,
                },
                resource,
                data: Vec::new(),
            });
        }
        if let (Some(data_id), Some(last)) = (row.try_get::<Option<i64>, _>("data_id")?, loaded.last_mut()) {
            last.data.push(ResourceData {
                id: data_id,
                key: row.try_get::<Option<String>, _>("data_key")?.unwrap_or_default(),
                value: row.try_get("data_value")?,
                redact: row.try_get::<Option<bool>, _>("data_redact")?.unwrap_or(false),
                decrypt_method: row.try_get("data_decrypt_method")?,
            });
        }
    }
    Ok(loaded)
}

/// The properties that a resource was last given; rows of old releases have them in a column of their own.
fn properties_from_row(row: &MySqlRow, resource: &Resource) -> Result<Option<PropertiesData>, StoreError> {
    if resource.rsrc_prop_data_id.is_some() {
        return Ok(Some(PropertiesData::from_row(
            row,
            "stored_properties",
            "stored_properties_encrypted",
        )?));
    }
    let legacy = PropertiesData::from_row(row, "properties_data", "properties_data_encrypted")?;
    Ok(Some(legacy).filter(|legacy| legacy.data.as_deref().is_some_and(|data| data != "{}")))
}

impl Session {
    pub async fn resource_get(&mut self, id: i64) -> Result<Option<Resource>, StoreError> {
        let sql = format!("SELECT {RESOURCE_COLUMNS} FROM resource r WHERE r.id = ?");
        self.fetch_optional(sql, &[id.into()])
            .await?
            .as_ref()
            .map(resource_from_row)
            .transpose()
    }

    /// A resource with its properties, attributes and data.
    pub async fn resource_load(&mut self, id: i64) -> Result<Option<LoadedResource>, StoreError> {
        Ok(self.load_resources("r.id = ?", &[id.into()]).await?.pop())
    }

    pub async fn resources_by_stack(&mut self, stack_id: &str) -> Result<Vec<Resource>, StoreError> {
        let sql = format!("SELECT {RESOURCE_COLUMNS} FROM resource r WHERE r.stack_id = ? ORDER BY r.id");
        self.fetch_all(sql, &[stack_id.into()])
            .await?
            .iter()
            .map(resource_from_row)
            .collect()
    }

    /// A stack's resources with properties, attributes and data, in the order of their ids.
    pub async fn resources_load_by_stack(&mut self, stack_id: &str) -> Result<Vec<LoadedResource>, StoreError> {
        self.load_resources("r.stack_id = ?", &[stack_id.into()]).await
    }

    pub(super) async fn load_resources(
        &mut self,
        condition: &str,
        values: &[SqlValue],
    ) -> Result<Vec<LoadedResource>, StoreError> {
        let sql = format!(
            "SELECT {RESOURCE_COLUMNS}, {LOADED_COLUMNS} FROM {LOADED_TABLES} WHERE {condition} ORDER BY r.id, d.id"
        );
        loaded_resources(&self.fetch_all(sql, values).await?)
    }

    /// Resources of a physical id that the scope may see.
    pub async fn resources_by_physical_id(
        &mut self,
        physical_resource_id: &str,
        scope: &super::Scope,
    ) -> Result<Vec<Resource>, StoreError> {
        let mut sql = format!(
            "SELECT {RESOURCE_COLUMNS} FROM resource r JOIN stack s ON s.id = r.stack_id WHERE r.nova_instance = ?"
        );
        let mut values = vec![SqlValue::from(physical_resource_id)];
        if let super::Scope::Project(project) = scope {
            sql.push_str(" AND (s.tenant = ? OR s.stack_user_project_id = ?)");
            values.extend([project.as_str().into(), project.as_str().into()]);
        }
        sql.push_str(" ORDER BY r.id");
        self.fetch_all(sql, &values)
            .await?
            .iter()
            .map(resource_from_row)
            .collect()
    }

    /// The engines that hold a lock in a stack.
    pub async fn engines_locking_stack(&mut self, stack_id: &str) -> Result<Vec<String>, StoreError> {
        let sql = "SELECT DISTINCT engine_id FROM resource WHERE stack_id = ? AND engine_id IS NOT NULL";
        Ok(sqlx::query_scalar(sql)
            .bind(stack_id)
            .fetch_all(self.statement())
            .await?)
    }

    /// Creates resources and returns their ids in the same order.
    pub async fn resources_create(&mut self, resources: &[NewResource]) -> Result<Vec<i64>, StoreError> {
        let created_at = self.now();
        let repertoire = self.repertoire();
        let rows: Vec<_> = resources
            .iter()
            .map(|resource| resource.assignments(repertoire, created_at))
            .collect();
        self.insert_all("resource", &rows, " ON DUPLICATE KEY UPDATE uuid = VALUES(uuid)")
            .await?;
        if let Some(first) = resources.first() {
            self.add_probe(Probe::new(
                "SELECT 1 FROM resource WHERE uuid = ?",
                vec![first.uuid.as_str().into()],
            ));
        }
        self.resource_ids(resources).await
    }

    /// Looks ids up by uuid: what the server counts up in is not told for more than one row, and a Galera cluster
    /// counts in steps.
    async fn resource_ids(&mut self, resources: &[NewResource]) -> Result<Vec<i64>, StoreError> {
        if resources.is_empty() {
            return Ok(Vec::new());
        }
        let uuids: Vec<&str> = resources.iter().map(|resource| resource.uuid.as_str()).collect();
        let uuids = padded(&uuids);
        let sql = format!(
            "SELECT uuid, id FROM resource WHERE uuid IN ({})",
            placeholders(uuids.len())
        );
        let mut ids = std::collections::HashMap::new();
        for row in self.fetch_all(sql, &uuids).await? {
            ids.insert(row.try_get::<String, _>("uuid")?, row.try_get::<i64, _>("id")?);
        }
        let id = |resource: &NewResource| ids.get(&resource.uuid).copied().ok_or(sqlx::Error::RowNotFound);
        Ok(resources.iter().map(id).collect::<Result<_, _>>()?)
    }

    pub async fn resource_create(&mut self, resource: &NewResource) -> Result<i64, StoreError> {
        if self.is_unsure() {
            let ids = self.resources_create(std::slice::from_ref(resource)).await?;
            return ids.first().copied().ok_or_else(|| sqlx::Error::RowNotFound.into());
        }
        let row = resource.assignments(self.repertoire(), self.now());
        self.insert("resource", &row).await
    }

    /// Creates the resource that is to replace another, and marks the other as replaced if it is as expected.
    /// A transaction of its own, abandoned unless both are done.
    pub async fn resource_create_replacement(
        &mut self,
        existing_id: i64,
        replacement: &NewResource,
        expected: &ExpectedResource,
    ) -> Result<Replacement, StoreError> {
        let id = match self.resource_create(replacement).await {
            Ok(id) => id,
            Err(StoreError::Reference(_)) => {
                self.abandon();
                return Ok(Replacement::TemplateGone);
            }
            Err(error) => return Err(error),
        };
        let changes = ResourceChanges {
            replaced_by: Some(Some(id)),
            ..ResourceChanges::default()
        };
        if self.resource_swap(existing_id, expected, &changes).await?.is_updated() {
            return Ok(Replacement::Created(id));
        }
        self.abandon();
        Ok(Replacement::Lost)
    }

    /// Writes the changes and counts the key up, if lock and key are as expected. To take a lock is to expect no
    /// engine and to write one's own; to release it is the reverse.
    pub async fn resource_swap(
        &mut self,
        id: i64,
        expected: &ExpectedResource,
        changes: &ResourceChanges,
    ) -> Result<Swap, StoreError> {
        let mut columns = changes.assignments(self.repertoire());
        columns.set("atomic_key", next_atomic_key(expected.atomic_key));
        self.swap(SwapStatement {
            table: "resource",
            key: "id = ?",
            key_values: vec![id.into()],
            expected: "engine_id <=> ? AND atomic_key <=> ?",
            expected_values: vec![expected.engine_id.clone().into(), expected.atomic_key.into()],
            changes: &columns,
        })
        .await
    }

    /// Writes the changes whatever the state, and leaves the key alone. For what the holder of the lock notes down
    /// while it works, and for taking the lock from a dead engine.
    pub async fn resource_update(&mut self, id: i64, changes: &ResourceChanges) -> Result<Swap, StoreError> {
        let mut columns = changes.assignments(self.repertoire());
        if columns.is_empty() {
            columns.set("id", id);
        }
        self.swap(SwapStatement {
            table: "resource",
            key: "id = ?",
            key_values: vec![id.into()],
            expected: "",
            expected_values: Vec::new(),
            changes: &columns,
        })
        .await
    }
}
