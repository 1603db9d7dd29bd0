//! Where a plug-in's findings go while it works: the resource's row and its data.

use async_trait::async_trait;

use super::witness::{Step, Watch};
use crate::identity::crypt::EncryptionKey;
use crate::resource::failure::Failure;
use crate::resource::instance::Record;
use crate::stack::error::StackError;
use crate::stack::services::Services;
use crate::store::{ResourceChanges, Store};

pub(super) struct StoredRecord {
    store: Store,
    key: EncryptionKey,
    resource_id: i64,
    watch: Watch,
}

impl StoredRecord {
    pub fn new(services: &Services, resource_id: i64, watch: Watch) -> Self {
        Self {
            store: services.store.clone(),
            key: services.key.clone(),
            resource_id,
            watch,
        }
    }
}

fn failure(error: impl Into<StackError>) -> Failure {
    let error: StackError = error.into();
    Failure::terminal("Error", error.to_string())
}

#[async_trait]
impl Record for StoredRecord {
    async fn set_physical_id(&self, id: Option<&str>) -> Result<(), Failure> {
        let changes = ResourceChanges {
            physical_resource_id: Some(id.map(str::to_owned)),
            ..ResourceChanges::default()
        };
        let swap = self
            .store
            .resource_update(self.resource_id, &changes)
            .await
            .map_err(failure)?;
        if swap.is_updated() {
            return Ok(());
        }
        Err(Failure::terminal(
            "NotFound",
            format!("resource with id {} not found", self.resource_id),
        ))
    }

    async fn set_data(&self, key: &str, value: &str, redact: bool) -> Result<(), Failure> {
        if redact {
            self.watch.tell(|| Step::Secret(value));
            let encrypted = self.key.encrypt(value).map_err(failure)?;
            let method = Some(encrypted.method.as_str());
            self.store
                .resource_data_set(self.resource_id, key, &encrypted.data, method)
                .await
                .map_err(failure)
        } else {
            self.store
                .resource_data_set(self.resource_id, key, value, None)
                .await
                .map_err(failure)
        }
    }

    async fn delete_data(&self, key: &str) -> Result<(), Failure> {
        self.store
            .resource_data_delete(self.resource_id, key)
            .await
            .map_err(failure)?;
        Ok(())
    }
}
