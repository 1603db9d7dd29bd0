//! The stored credentials of a stack.

use super::Stack;
use super::error::StackError;
use super::services::Services;
use crate::identity::RequestContext;
use crate::identity::credentials::UserCredentials;
use crate::store::{Deleted, Scope};

/// The credentials of a row, decrypted; `None` if the row is gone.
pub async fn load(services: &Services, id: i64) -> Result<Option<UserCredentials>, StackError> {
    match services.store.user_creds_get(id).await? {
        Some(row) => Ok(Some(services.key.open_credentials(&row)?)),
        None => Ok(None),
    }
}

/// The context of whoever the stack's credentials make us. A nested stack has those of its root.
pub async fn stored_context(
    services: &Services,
    request_id: &str,
    stack: &Stack,
) -> Result<RequestContext, StackError> {
    let context = owner_context(services, request_id, stack).await?;
    Ok(services.cloud.complete_context(context).await?)
}

/// As [`stored_context`], before Keystone is asked for what is not stored: not fit for the wire.
pub async fn owner_context(services: &Services, request_id: &str, stack: &Stack) -> Result<RequestContext, StackError> {
    let id = match (stack.row.user_creds_id, &stack.row.owner_id) {
        (Some(id), _) => Some(id),
        (None, Some(owner_id)) => credentials_of_root(services, owner_id).await?,
        (None, None) => None,
    };
    let stored = match id {
        Some(id) => load(services, id).await?,
        None => None,
    };
    let stored = stored.ok_or(StackError::NoStoredCredentials)?;
    Ok(stored.context(request_id))
}

async fn credentials_of_root(services: &Services, owner_id: &str) -> Result<Option<i64>, StackError> {
    let Some(root_id) = services.store.stack_root_id(owner_id).await? else {
        return Ok(None);
    };
    let root = services
        .store
        .stack_get(&root_id, &Scope::Everyone, Deleted::Shown)
        .await?;
    Ok(root.and_then(|root| root.user_creds_id))
}
