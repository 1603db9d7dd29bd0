//! The stored credentials of a stack.

use super::error::StackError;
use super::services::Services;
use crate::identity::credentials::UserCredentials;

/// The credentials of a row, decrypted; `None` if the row is gone.
pub async fn load(services: &Services, id: i64) -> Result<Option<UserCredentials>, StackError> {
    match services.store.user_creds_get(id).await? {
        Some(row) => Ok(Some(services.key.open_credentials(&row)?)),
        None => Ok(None),
    }
}
