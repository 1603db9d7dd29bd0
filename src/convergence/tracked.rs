//! A resource's row while this engine works on it.
//!
//! The row is the lock: an action begins with a compare-and-swap that writes our engine id and ends with one that takes
//! it away. Each change of state is one transaction of the row, its event and, where they are new, its properties.

use chrono::NaiveDateTime;
use serde_json::{Map, Value};

use super::error::CheckEnd;
use super::held::Held;
use super::state_write::{StateWrite, write_state};
use crate::python::dumps;
use crate::resource::attributes::AttributeCache;
use crate::resource::instance::physical_name;
use crate::resource::state::{Action, Status};
use crate::stack::error::StackError;
use crate::stack::services::Services;
use crate::stack::state::event_limits;
use crate::stack::stored::state_of;
use crate::store::{
    ExpectedResource, LoadedResource, NewEvent, PropertiesData, Resource, ResourceChanges, StoreError, Swap,
    next_atomic_key,
};

/// What a write expects of the lock, and does to it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Lock {
    /// Nobody has it; take it.
    Acquire,
    /// We have it; give it back.
    Release,
    /// Nobody has it, and it stays so.
    Respect,
}

/// The reason of a state that nothing special led to.
pub const STATE_CHANGED: &str = "state changed";

#[derive(Debug)]
pub struct Tracked {
    pub row: Resource,
    pub held: Held,
    pub action: Action,
    pub status: Status,
    /// The type as the template names it.
    pub type_name: String,
    pub stack_name: String,
    pub physical_name_limit: usize,
    pub attributes: AttributeCache,
    /// The properties as they were last applied, and whether the row's properties data are these.
    pub stored_properties: Option<Map<String, Value>>,
    properties_are_stored: bool,
    work_when_read: Work,
}

/// The columns that tell whether a row was worked on.
type Work = (
    Option<String>,
    Option<String>,
    Option<String>,
    Option<i64>,
    Option<i64>,
    Option<NaiveDateTime>,
);

fn work_of(row: &Resource) -> Work {
    (
        row.action.clone(),
        row.status.clone(),
        row.physical_resource_id.clone(),
        row.replaced_by,
        row.current_template_id,
        row.updated_at,
    )
}

impl Tracked {
    pub fn new(loaded: &LoadedResource, properties: Option<Map<String, Value>>, attributes: AttributeCache) -> Self {
        let row = loaded.resource.clone();
        let (action, status) = state_of(&row);
        Self {
            action,
            status,
            type_name: String::new(),
            stack_name: String::new(),
            physical_name_limit: 255,
            properties_are_stored: row.rsrc_prop_data_id.is_some(),
            stored_properties: properties,
            attributes,
            work_when_read: work_of(&row),
            held: Held::default(),
            row,
        }
    }

    pub fn is_in(&self, action: Action, status: Status) -> bool {
        (self.action, self.status) == (action, status)
    }

    /// Properties that are about to be applied; what was learned of the attributes no longer counts if they differ.
    pub fn apply_properties(&mut self, properties: Map<String, Value>) {
        if self.stored_properties.as_ref() != Some(&properties) {
            self.properties_are_stored = false;
            self.attributes.forget();
        }
        self.stored_properties = Some(properties);
    }

    /// Puts the resource into a state. `metadata`: written when the resource leaves INIT.
    pub async fn set_state(
        &mut self,
        services: &Services,
        to: (Action, Status),
        reason: &str,
        lock: Lock,
        metadata: Option<&Value>,
    ) -> Result<(), CheckEnd> {
        let (action, status) = to;
        let changed = (self.action, self.status) != to;
        let leaves_init = self.action == Action::Init;
        let before = (self.action, self.status, self.row.status_reason.clone());
        (self.action, self.status) = to;
        self.row.status_reason = Some(reason.to_owned());

        let mut changes = self.all_columns();
        if leaves_init && let Some(metadata) = metadata {
            self.row.rsrc_metadata = Some(dumps(metadata));
            changes.rsrc_metadata = Some(self.row.rsrc_metadata.clone());
        }
        changes.engine_id = match lock {
            Lock::Acquire => Some(Some(services.engine_id.clone())),
            Lock::Release => Some(None),
            Lock::Respect => None,
        };
        let event = changed.then(|| self.event(services, action, status, reason));
        let write = StateWrite {
            resource_id: self.row.id,
            expected: self.expected(services, lock),
            changes,
            properties: self.properties_to_store(services)?,
            event,
        };
        match write_state(services, write).await {
            Ok((Swap::Updated, properties_id)) => {
                self.row.atomic_key = Some(next_atomic_key(self.row.atomic_key));
                if let Some(id) = properties_id {
                    self.row.rsrc_prop_data_id = Some(id);
                    self.properties_are_stored = true;
                }
                match lock {
                    Lock::Acquire => {
                        self.row.engine_id = Some(services.engine_id.clone());
                        self.held.set(true);
                    }
                    Lock::Release => {
                        self.row.engine_id = None;
                        self.held.set(false);
                    }
                    Lock::Respect => {}
                }
                if status != Status::Complete {
                    self.clear_attributes(services).await?;
                }
                Ok(())
            }
            Ok((Swap::Lost | Swap::Gone, _)) => {
                (self.action, self.status, self.row.status_reason) = before;
                tracing::info!(
                    resource = self.row.name,
                    resource_id = self.row.id,
                    "the resource is locked or does not exist"
                );
                Err(CheckEnd::Contended)
            }
            Err(error) => {
                (self.action, self.status, self.row.status_reason) = before;
                Err(error.into())
            }
        }
    }

    /// Takes the lock from `holder`, who has offered it, and leaves the rest of the row as it is.
    pub async fn inherit(&mut self, services: &Services, holder: &str) -> Result<Swap, StoreError> {
        let changes = ResourceChanges {
            engine_id: Some(Some(services.engine_id.clone())),
            ..ResourceChanges::default()
        };
        let expected = ExpectedResource {
            atomic_key: self.row.atomic_key,
            engine_id: Some(holder.to_owned()),
        };
        let swap = services.store.resource_swap(self.row.id, &expected, &changes).await?;
        if swap.is_updated() {
            self.row.atomic_key = Some(next_atomic_key(self.row.atomic_key));
            self.row.engine_id = Some(services.engine_id.clone());
            self.held.set(true);
        }
        Ok(swap)
    }

    /// Writes what we hold of the row without a change of state, if nobody has the lock.
    pub async fn store_unlocked(&mut self, services: &Services) -> Result<(), CheckEnd> {
        let write = StateWrite {
            resource_id: self.row.id,
            expected: self.expected(services, Lock::Respect),
            changes: self.all_columns(),
            properties: self.properties_to_store(services)?,
            event: None,
        };
        let (swap, properties_id) = write_state(services, write).await?;
        if !swap.is_updated() {
            return Err(CheckEnd::Contended);
        }
        self.row.atomic_key = Some(next_atomic_key(self.row.atomic_key));
        if let Some(id) = properties_id {
            self.row.rsrc_prop_data_id = Some(id);
            self.properties_are_stored = true;
        }
        Ok(())
    }

    /// Takes the metadata off the row, whose lock we have.
    pub async fn forget_metadata(&mut self, services: &Services) -> Result<(), CheckEnd> {
        let changes = ResourceChanges {
            rsrc_metadata: Some(None),
            ..ResourceChanges::default()
        };
        let expected = self.expected(services, Lock::Release);
        if !services
            .store
            .resource_swap(self.row.id, &expected, &changes)
            .await?
            .is_updated()
        {
            return Err(CheckEnd::Contended);
        }
        self.row.atomic_key = Some(next_atomic_key(self.row.atomic_key));
        self.row.rsrc_metadata = None;
        Ok(())
    }

    /// An event that comes without a change of state.
    pub async fn add_event(
        &self,
        services: &Services,
        action: Action,
        status: Status,
        reason: &str,
    ) -> Result<(), StackError> {
        let event = self.event(services, action, status, reason);
        services
            .store
            .event_create_limited(&event, event_limits(services))
            .await?;
        Ok(())
    }

    /// Forgets what was learned of the attributes, here and in the row.
    pub async fn clear_attributes(&mut self, services: &Services) -> Result<(), CheckEnd> {
        if let Some(attributes_id) = self.row.attr_data_id.take() {
            let swap = services
                .store
                .resource_attributes_delete(self.row.id, attributes_id)
                .await?;
            tracing::debug!(resource_id = self.row.id, ?swap, "stored attributes cleared");
        }
        self.attributes.forget();
        Ok(())
    }

    /// The key of the row as it is now, when a signal or an attribute may have moved it on. What somebody else has
    /// worked on is another resource than the one that we know.
    pub async fn refresh_key(&mut self, services: &Services) -> Result<(), CheckEnd> {
        let row = services.store.resource_get(self.row.id).await?;
        let Some(row) = row.filter(|row| row.engine_id.is_some() || work_of(row) == self.work_when_read) else {
            return Err(CheckEnd::Contended);
        };
        self.row.atomic_key = row.atomic_key;
        Ok(())
    }

    fn expected(&self, services: &Services, lock: Lock) -> ExpectedResource {
        match lock {
            Lock::Acquire | Lock::Respect => ExpectedResource::unlocked(self.row.atomic_key),
            Lock::Release => ExpectedResource::locked_by(&services.engine_id, self.row.atomic_key),
        }
    }

    /// Every column that a state write of the Python engine touches.
    fn all_columns(&self) -> ResourceChanges {
        ResourceChanges {
            action: Some(self.action.to_string()),
            status: Some(self.status.to_string()),
            status_reason: self.row.status_reason.clone(),
            physical_resource_id: Some(self.row.physical_resource_id.clone()),
            rsrc_prop_data_id: Some(self.row.rsrc_prop_data_id.filter(|_| self.properties_are_stored)),
            needed_by: Some(Vec::new()),
            requires: Some(highest_first(&self.row.requires)),
            replaces: Some(self.row.replaces),
            replaced_by: Some(self.row.replaced_by),
            current_template_id: Some(self.row.current_template_id),
            updated_at: Some(self.row.updated_at),
            clear_legacy_properties: true,
            ..ResourceChanges::default()
        }
    }

    fn properties_to_store(&self, services: &Services) -> Result<Option<PropertiesData>, CheckEnd> {
        let encrypt = services.settings.engine.encrypt_parameters_and_properties;
        match &self.stored_properties {
            Some(properties) if !self.properties_are_stored && !properties.is_empty() => Ok(Some(
                services
                    .key
                    .seal_properties(properties, encrypt)
                    .map_err(StackError::from)?,
            )),
            _ => Ok(None),
        }
    }

    pub fn event(&self, services: &Services, action: Action, status: Status, reason: &str) -> NewEvent {
        NewEvent {
            uuid: services.clock.new_uuid(),
            stack_id: self.row.stack_id.clone(),
            created_at: None,
            resource_action: Some(action.to_string()),
            resource_status: Some(status.to_string()),
            resource_name: Some(self.row.name.clone()),
            physical_resource_id: self.row.physical_resource_id.clone().or_else(|| self.physical_name()),
            resource_status_reason: Some(reason.to_owned()),
            resource_type: Some(self.type_name.clone()),
            rsrc_prop_data_id: self.row.rsrc_prop_data_id.filter(|_| self.properties_are_stored),
        }
    }

    /// The name that the object has or will have, once the resource has left INIT.
    fn physical_name(&self) -> Option<String> {
        (self.action != Action::Init).then(|| {
            physical_name(
                &self.stack_name,
                &self.row.name,
                &self.row.uuid,
                self.physical_name_limit,
            )
        })
    }
}

fn highest_first(ids: &[i64]) -> Vec<i64> {
    let mut ids = ids.to_vec();
    ids.sort_unstable_by(|a, b| b.cmp(a));
    ids
}
