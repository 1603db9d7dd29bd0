//! A look at the tables when the engine starts. It serves all the same: what it lacks may concern few requests, and the
//! schema may be about to be upgraded. But an operator should not have to guess from failing statements.

use crate::identity::crypt::EncryptionKey;
use crate::stack::services::Services;
use crate::store::{Schema, Store, StoreError, lacking};

pub async fn look(services: Services) {
    if let Err(error) = look_at(&services.store, &services.key).await {
        tracing::warn!(
            error = &error as &dyn std::error::Error,
            "the database does not tell whether its tables are as they should be"
        );
    }
}

async fn look_at(store: &Store, key: &EncryptionKey) -> Result<(), StoreError> {
    let expected = Schema::expected();
    let lacking = lacking(&expected.tables, &store.columns().await?);
    if !lacking.is_empty() {
        tracing::warn!(
            lacking = lacking.join(", "),
            "the schema is not that of openstack-heat 27.0.1: statements will fail (heat-manage db_sync)"
        );
    }
    if let Some(newest) = store.user_creds_newest().await?
        && let Err(error) = key.open_credentials(&newest)
    {
        tracing::error!(
            user_creds_id = newest.id,
            %error,
            "auth_encryption_key does not open what is stored: it must be that of the engines that stored it"
        );
    }
    Ok(())
}
