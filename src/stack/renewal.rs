//! A stack that changes hands: whoever updates or deletes it gives a trust of their own.

use super::Stack;
use super::credentials;
use super::error::StackError;
use super::services::Services;
use crate::identity::RequestContext;
use crate::store::{Deleted, StackChanges};

/// Renews what the stack keeps, if it is not the caller's. The stacks inside it follow at once: they have no credentials
/// of their own, and must not be left with a row that is gone.
pub async fn renew_credentials(
    services: &Services,
    context: &RequestContext,
    stack: &mut Stack,
) -> Result<(), StackError> {
    let Some(old_id) = stack.row.user_creds_id else {
        return Ok(());
    };
    let Some(old) = credentials::load(services, old_id).await? else {
        return Ok(());
    };
    if !services.cloud.must_renew_stored_credentials(context, &old).await? {
        return Ok(());
    }
    tracing::info!(
        stack = stack.name(),
        "the stack has another user now: its trust is renewed"
    );
    let new = services.cloud.renew_stored_credentials(context).await?;
    let new_id = services
        .store
        .user_creds_create(&services.key.seal_credentials(&new)?)
        .await?;
    let changes = StackChanges {
        user_creds_id: Some(Some(new_id)),
        ..StackChanges::default()
    };
    let swap = services
        .store
        .stack_swap(stack.id(), Some(stack.traversal()), &changes)
        .await?;
    if !swap.is_updated() {
        services.cloud.delete_stored_trust(context, &new).await?;
        services.store.user_creds_delete(new_id).await?;
        return Ok(());
    }
    stack.row.user_creds_id = Some(new_id);
    for child in services.store.stacks_below(stack.id(), Deleted::Hidden).await? {
        if child.user_creds_id == Some(old_id) {
            let swap = services.store.stack_swap(&child.id, None, &changes).await?;
            tracing::debug!(stack = child.name, ?swap, "nested stack follows");
        }
    }
    services.cloud.delete_stored_trust(context, &old).await?;
    services.store.user_creds_delete(old_id).await?;
    Ok(())
}
