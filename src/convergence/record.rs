//! Where a plug-in's findings go while it works: the resource's row and its data.
//!
//! What a service has made must not be forgotten because the database is away. Nobody else can take the lock from us, who
//! are alive: so each finding is told for as long as the engine runs.

use std::collections::HashMap;
use std::sync::{Mutex, MutexGuard, PoisonError};

use async_trait::async_trait;
use tokio_util::sync::CancellationToken;

use super::engine::Convergence;
use super::operation::OUTAGE_PAUSE;
use super::witness::{Step, Watch};
use crate::identity::crypt::EncryptionKey;
use crate::resource::failure::Failure;
use crate::resource::instance::Record;
use crate::stack::error::StackError;
use crate::store::{ResourceChanges, ResourceData, Store, StoreError};

pub(super) struct StoredRecord {
    store: Store,
    key: EncryptionKey,
    ending: CancellationToken,
    resource_id: i64,
    watch: Watch,
    /// The rows of the resource's data, by key. Whoever holds the resource's lock is the only one to write them.
    data: Mutex<HashMap<String, i64>>,
}

impl StoredRecord {
    pub fn new(engine: &Convergence, resource_id: i64, data: &[ResourceData]) -> Self {
        Self {
            store: engine.services.store.clone(),
            key: engine.services.key.clone(),
            ending: engine.ending.clone(),
            resource_id,
            watch: engine.watch.clone(),
            data: Mutex::new(data.iter().map(|item| (item.key.clone(), item.id)).collect()),
        }
    }

    async fn tell<T, F>(&self, attempt: impl Fn() -> F) -> Result<T, Failure>
    where
        F: Future<Output = Result<T, StoreError>>,
    {
        loop {
            match attempt().await.map_err(StackError::from) {
                Err(error) if error.is_outage() && !self.ending.is_cancelled() => {
                    tracing::warn!(resource_id = self.resource_id, %error, "what was found waits for the database");
                    tokio::time::sleep(OUTAGE_PAUSE).await;
                }
                outcome => return outcome.map_err(failure),
            }
        }
    }

    async fn store_data(&self, key: &str, value: &str, method: Option<&str>) -> Result<(), StoreError> {
        let known = self.data().get(key).copied();
        if let Some(id) = known
            && self.store.resource_data_write(id, value, method).await?.is_updated()
        {
            return Ok(());
        }
        let id = self
            .store
            .resource_data_add(self.resource_id, key, value, method)
            .await?;
        self.data().insert(key.to_owned(), id);
        Ok(())
    }

    fn data(&self) -> MutexGuard<'_, HashMap<String, i64>> {
        self.data.lock().unwrap_or_else(PoisonError::into_inner)
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
            .tell(|| self.store.resource_update(self.resource_id, &changes))
            .await?;
        if swap.is_updated() {
            return Ok(());
        }
        Err(Failure::terminal(
            "NotFound",
            format!("resource with id {} not found", self.resource_id),
        ))
    }

    async fn set_data(&self, key: &str, value: &str, redact: bool) -> Result<(), Failure> {
        let encrypted = match redact {
            true => {
                self.watch.tell(|| Step::Secret(value));
                Some(self.key.encrypt(value).map_err(failure)?)
            }
            false => None,
        };
        let (value, method) = match &encrypted {
            Some(encrypted) => (encrypted.data.as_str(), Some(encrypted.method.as_str())),
            None => (value, None),
        };
        self.tell(|| self.store_data(key, value, method)).await
    }

    async fn delete_data(&self, key: &str) -> Result<(), Failure> {
        self.tell(|| self.store.resource_data_delete(self.resource_id, key))
            .await?;
        self.data().remove(key);
        Ok(())
    }
}
