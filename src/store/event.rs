//! Table `event`.

use chrono::NaiveDateTime;
use sqlx::Row;
use sqlx::mysql::MySqlRow;

use super::assignments::{Assignments, from_columns};
use super::error::StoreError;
use super::filter::{Conditions, Filter};
use super::paging::{Order, Page};
use super::probe::Probe;
use super::resource_properties_data::PropertiesData;
use super::session::Session;
use super::shapes::padded;
use super::text::Repertoire;
use super::value::{SqlValue, placeholders};

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Event {
    pub id: i64,
    pub uuid: String,
    pub stack_id: String,
    pub created_at: NaiveDateTime,
    pub resource_action: Option<String>,
    pub resource_status: Option<String>,
    pub resource_name: Option<String>,
    pub physical_resource_id: Option<String>,
    pub resource_status_reason: Option<String>,
    pub resource_type: Option<String>,
    pub rsrc_prop_data_id: Option<i64>,
    /// Only where the query asks for it.
    pub properties: Option<PropertiesData>,
}

#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct NewEvent {
    pub uuid: String,
    pub stack_id: String,
    /// `None`: now.
    pub created_at: Option<NaiveDateTime>,
    pub resource_action: Option<String>,
    pub resource_status: Option<String>,
    pub resource_name: Option<String>,
    pub physical_resource_id: Option<String>,
    pub resource_status_reason: Option<String>,
    pub resource_type: Option<String>,
    pub rsrc_prop_data_id: Option<i64>,
}

/// Which events are listed.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct EventQuery {
    /// Events of one stack.
    pub stack_id: Option<String>,
    /// Events of the stacks of a project that are not deleted.
    pub project: Option<String>,
    pub filters: Vec<Filter>,
    /// The marker is an event's uuid.
    pub page: Page,
    pub with_properties: bool,
}

/// `[DEFAULT] max_events_per_stack` and `event_purge_batch_size`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct EventLimits {
    /// 0 is no limit.
    pub max_events_per_stack: i64,
    pub purge_batch_size: u64,
}

impl Default for EventLimits {
    fn default() -> Self {
        Self {
            max_events_per_stack: 1000,
            purge_batch_size: 200,
        }
    }
}

impl NewEvent {
    fn assignments(&self, repertoire: Repertoire, now: NaiveDateTime) -> Assignments {
        let mut columns = Assignments::default();
        columns.set("uuid", self.uuid.as_str());
        columns.set("stack_id", self.stack_id.as_str());
        columns.set("created_at", self.created_at.unwrap_or(now));
        columns.set("resource_action", self.resource_action.clone());
        columns.set("resource_status", self.resource_status.clone());
        columns.set("resource_name", self.resource_name.clone());
        columns.set("physical_resource_id", self.physical_resource_id.clone());
        let reason = repertoire.event_reason(self.resource_status_reason.as_deref().unwrap_or_default());
        columns.set("resource_status_reason", reason);
        columns.set("resource_type", self.resource_type.clone());
        columns.set("rsrc_prop_data_id", self.rsrc_prop_data_id);
        columns
    }
}

impl EventQuery {
    pub fn of_stack(stack_id: &str) -> Self {
        Self {
            stack_id: Some(stack_id.to_owned()),
            ..Self::default()
        }
    }

    fn conditions(&self) -> Result<Conditions, StoreError> {
        let mut conditions = Conditions::default();
        if let Some(stack_id) = &self.stack_id {
            conditions.add("e.stack_id = ?", [stack_id.as_str().into()]);
        }
        if let Some(project) = &self.project {
            conditions.add("s.tenant = ? AND s.deleted_at IS NULL", [project.as_str().into()]);
        }
        conditions.add_filters(&self.filters, FILTERS)?;
        Ok(conditions)
    }

    fn tables(&self) -> String {
        let mut tables = "event e".to_owned();
        if self.project.is_some() {
            tables.push_str(" JOIN stack s ON s.id = e.stack_id");
        }
        if self.with_properties {
            tables.push_str(" LEFT JOIN resource_properties_data p ON p.id = e.rsrc_prop_data_id");
        }
        tables
    }
}

const EVENT_COLUMNS: &str = "e.id, e.uuid, e.stack_id, e.created_at, e.resource_action, e.resource_status, \
     e.resource_name, e.physical_resource_id, e.resource_status_reason, e.resource_type, e.rsrc_prop_data_id";

const SORT_KEYS: &[(&str, &str)] = &[("event_time", "created_at"), ("resource_type", "resource_type")];

const FILTERS: &[(&str, &str)] = &[
    ("id", "e.id"),
    ("uuid", "e.uuid"),
    ("stack_id", "e.stack_id"),
    ("resource_action", "e.resource_action"),
    ("resource_status", "e.resource_status"),
    ("resource_name", "e.resource_name"),
    ("physical_resource_id", "e.physical_resource_id"),
    ("resource_type", "e.resource_type"),
];

fn event_from_row(row: &MySqlRow, with_properties: bool) -> Result<Event, sqlx::Error> {
    let rsrc_prop_data_id: Option<i64> = row.try_get("rsrc_prop_data_id")?;
    let properties = match (with_properties, rsrc_prop_data_id) {
        (true, Some(_)) => Some(PropertiesData::from_row(row, "data", "encrypted")?),
        _ => None,
    };
    Ok(from_columns!(row => Event {
        id, stack_id, created_at, resource_action, resource_status, resource_name, physical_resource_id,
        resource_status_reason, resource_type,
    } with {
        uuid: row.try_get::<Option<String>, _>("uuid")?.unwrap_or_default(),
        rsrc_prop_data_id: rsrc_prop_data_id,
        properties: properties,
    }))
}

impl Session {
    pub async fn event_create(&mut self, event: &NewEvent) -> Result<(), StoreError> {
        self.events_create(std::slice::from_ref(event)).await
    }

    pub async fn events_create(&mut self, events: &[NewEvent]) -> Result<(), StoreError> {
        let now = self.now();
        let repertoire = self.repertoire();
        let rows: Vec<_> = events.iter().map(|event| event.assignments(repertoire, now)).collect();
        self.insert_events(rows).await?;
        if let Some(first) = events.first() {
            self.add_probe(Probe::new(
                "SELECT 1 FROM event WHERE uuid = ?",
                vec![first.uuid.as_str().into()],
            ));
        }
        Ok(())
    }

    /// Creates an event, and now and then removes the oldest of a stack that has too many.
    ///
    /// To count is dear, so it is left to chance: twice, on average, for each batch that can be removed. A transaction
    /// of its own, or a part of one.
    pub async fn event_create_limited(&mut self, event: &NewEvent, limits: EventLimits) -> Result<(), StoreError> {
        let due = limits.max_events_per_stack > 0
            && limits.purge_batch_size > 0
            && self.clock().random_below(limits.purge_batch_size) < 2;
        if due && self.events_count(&event.stack_id).await? >= limits.max_events_per_stack {
            match self.events_purge_oldest(&event.stack_id, limits.purge_batch_size).await {
                Err(error) if error.transience().is_none() => {
                    tracing::error!(error = &error as &dyn std::error::Error, "failed to purge events");
                }
                purged => drop(purged?),
            }
        }
        self.event_create(event).await
    }

    pub async fn events_count(&mut self, stack_id: &str) -> Result<i64, StoreError> {
        let sql = "SELECT COUNT(id) FROM event WHERE stack_id = ?";
        Ok(sqlx::query_scalar(sql)
            .bind(stack_id)
            .fetch_one(self.statement())
            .await?)
    }

    /// Deletes so many of a stack's oldest events, and properties that nothing refers to any more. A transaction of its
    /// own, or a part of one.
    pub async fn events_purge_oldest(&mut self, stack_id: &str, count: u64) -> Result<u64, StoreError> {
        let sql = "SELECT id, rsrc_prop_data_id FROM event WHERE stack_id = ? ORDER BY id LIMIT ?";
        let rows = sqlx::query(sql)
            .bind(stack_id)
            .bind(count)
            .fetch_all(self.statement())
            .await?;
        if rows.is_empty() {
            return Ok(0);
        }
        let (mut ids, mut properties) = (Vec::new(), Vec::new());
        for row in &rows {
            ids.push(row.try_get::<i64, _>("id")?);
            properties.extend(row.try_get::<Option<i64>, _>("rsrc_prop_data_id")?);
        }
        properties.sort_unstable();
        properties.dedup();
        // One by one: for a range the server reads, and locks, what other stacks have in it.
        let ids = padded(&ids);
        let sql = format!("DELETE FROM event WHERE id IN ({})", placeholders(ids.len()));
        let deleted = self.execute(&sql, &ids).await?;
        self.properties_data_delete_unused(&properties).await?;
        Ok(deleted.rows_affected())
    }

    async fn properties_data_delete_unused(&mut self, ids: &[i64]) -> Result<(), StoreError> {
        if ids.is_empty() {
            return Ok(());
        }
        let ids = padded(ids);
        let sql = format!(
            "DELETE FROM resource_properties_data WHERE id IN ({}) \
             AND NOT EXISTS (SELECT 1 FROM event e WHERE e.rsrc_prop_data_id = resource_properties_data.id) \
             AND NOT EXISTS (SELECT 1 FROM resource r WHERE r.rsrc_prop_data_id = resource_properties_data.id) \
             AND NOT EXISTS (SELECT 1 FROM resource r WHERE r.attr_data_id = resource_properties_data.id)",
            placeholders(ids.len())
        );
        self.execute(sql, &ids).await?;
        Ok(())
    }

    pub async fn events_list(&mut self, query: &EventQuery) -> Result<Vec<Event>, StoreError> {
        let mut conditions = query.conditions()?;
        let order = query.page.order(SORT_KEYS);
        if let Some(marker) = &query.page.marker
            && let Some(values) = self.event_sort_values(marker, &order).await?
        {
            order.after("e", &values, &mut conditions);
        }
        let properties = if query.with_properties {
            ", p.data, p.encrypted"
        } else {
            ""
        };
        let sql = format!(
            "SELECT {EVENT_COLUMNS}{properties} FROM {}{}{}",
            query.tables(),
            conditions.where_clause(),
            order.clauses("e", query.page.limit)
        );
        let rows = self.fetch_all(sql, &conditions.values).await?;
        Ok(rows
            .iter()
            .map(|row| event_from_row(row, query.with_properties))
            .collect::<Result<_, _>>()?)
    }

    /// What the marker row has in the sort columns.
    async fn event_sort_values(&mut self, uuid: &str, order: &Order) -> Result<Option<Vec<SqlValue>>, StoreError> {
        let sql = "SELECT id, created_at, resource_type FROM event WHERE uuid = ?";
        let Some(row) = sqlx::query(sql).bind(uuid).fetch_optional(self.statement()).await? else {
            return Ok(None);
        };
        let value = |column: &&'static str| -> Result<SqlValue, sqlx::Error> {
            Ok(match *column {
                "id" => row.try_get::<i64, _>("id")?.into(),
                "created_at" => row.try_get::<Option<NaiveDateTime>, _>("created_at")?.into(),
                column => row.try_get::<Option<String>, _>(column)?.into(),
            })
        };
        Ok(Some(order.columns.iter().map(value).collect::<Result<_, _>>()?))
    }
}
