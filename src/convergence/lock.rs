//! Locks of engines that are gone.

use super::engine::Convergence;
use super::state_write::{StateWrite, write_state};
use super::tracked::Tracked;
use crate::plugins;
use crate::resource::attributes::AttributeCache;
use crate::resource::state::{Action, Status};
use crate::stack::Stack;
use crate::stack::error::StackError;
use crate::store::{Deleted, ExpectedResource, LoadedResource, ResourceChanges, Scope, Swap};

/// The reason of a resource whose worker died; both engines write it.
pub(super) fn went_down(action: Action) -> String {
    format!("Worker went down during resource {action}")
}

impl Convergence {
    /// Frees a resource that a dead engine held (or, half-way through that, nobody), and marks it as failed. Whoever is
    /// later than another finds it lost.
    pub(super) async fn take_lock_from(
        &self,
        tracked: &Tracked,
        holder: Option<&str>,
        atomic_key: Option<i64>,
    ) -> Result<Swap, StackError> {
        let reason = went_down(tracked.action);
        let changes = ResourceChanges {
            status: Some(Status::Failed.to_string()),
            status_reason: Some(reason.clone()),
            engine_id: Some(None),
            ..ResourceChanges::default()
        };
        let expected = ExpectedResource {
            atomic_key,
            engine_id: holder.map(str::to_owned),
        };
        let write = StateWrite {
            resource_id: tracked.row.id,
            expected,
            changes,
            properties: None,
            event: Some(tracked.event(&self.services, tracked.action, Status::Failed, &reason)),
        };
        let (swap, _) = write_state(&self.services, write).await?;
        if swap.is_updated() {
            tracing::warn!(
                resource = tracked.row.name,
                resource_id = tracked.row.id,
                stack = tracked.stack_name,
                holder,
                "{reason}"
            );
        }
        Ok(swap)
    }

    /// Frees a resource whose holder is dead, and marks it as failed. Gives its stack; `None` if somebody was faster.
    pub async fn free_lock(&self, resource_id: i64, holder: &str) -> Result<Option<String>, StackError> {
        let services = &self.services;
        let Some(loaded) = services.store.resource_load(resource_id).await? else {
            return Ok(None);
        };
        if loaded.resource.engine_id.as_deref() != Some(holder) {
            return Ok(None);
        }
        let stack = Stack::load(services, &loaded.resource.stack_id, &Scope::Everyone, Deleted::Shown).await;
        let tracked = match stack {
            Ok(Some(stack)) => self.tracked(&stack, &loaded).await,
            Ok(None) => Tracked::new(&loaded, None, AttributeCache::default()),
            Err(error) if error.is_outage() => return Err(error),
            // A stack that cannot be read must not keep the lock for ever.
            Err(error) => {
                tracing::warn!(resource_id, %error, "the stack of a locked resource cannot be read");
                Tracked::new(&loaded, None, AttributeCache::default())
            }
        };
        let swap = self
            .take_lock_from(&tracked, Some(holder), loaded.resource.atomic_key)
            .await?;
        Ok(swap.is_updated().then_some(loaded.resource.stack_id))
    }

    /// The row with what an event tells beside it.
    pub(super) async fn tracked(&self, stack: &Stack, loaded: &LoadedResource) -> Tracked {
        let mut tracked = Tracked::new(loaded, None, AttributeCache::default());
        tracked.stack_name = stack.name().to_owned();
        let template_id = tracked.row.current_template_id.unwrap_or(stack.row.raw_template_id);
        let definition = self.services.templates.definition(&stack.row, template_id).await;
        let resource_type = definition
            .ok()
            .and_then(|definition| Some(definition.resource(&tracked.row.name)?.resource_type.clone()));
        if let Some(name) = resource_type {
            if let Some(native) = plugins::find(&name) {
                tracked.physical_name_limit = native.physical_name_limit;
            }
            tracked.type_name = name;
        }
        tracked
    }
}
