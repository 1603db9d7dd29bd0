//! Reading the resources that checks begin with, each with its stack: many at a time.

use std::collections::HashMap;
use std::sync::Arc;

use tokio::sync::oneshot;

use super::error::StoreError;
use super::resource::LoadedResource;
use super::session::Session;
use super::shapes::padded;
use super::stack::{STACK_COLUMNS, Stack, stack_from_row};
use super::value::placeholders;

/// Ids in one statement.
pub(super) const MOST_LOADED: usize = 64;

/// A resource with all that belongs to it, and its stack as it was just after.
#[derive(Debug, Clone)]
pub struct ResourceInStack {
    pub resource: LoadedResource,
    /// `None`: deleted in between.
    pub stack: Option<Arc<Stack>>,
}

/// One resource that somebody waits for.
pub(super) struct Load {
    pub id: i64,
    pub answer: oneshot::Sender<Result<Option<ResourceInStack>, StoreError>>,
}

pub(super) fn answer_loads(loads: Vec<Load>, found: Result<HashMap<i64, ResourceInStack>, StoreError>) {
    // Nobody listens if the caller has gone away.
    match found {
        Ok(found) => {
            for load in loads {
                let _ = load.answer.send(Ok(found.get(&load.id).cloned()));
            }
        }
        Err(error) => {
            let error = Arc::new(error);
            for load in loads {
                let _ = load.answer.send(Err(StoreError::Joint(error.clone())));
            }
        }
    }
}

impl Session {
    /// Resources with properties, attributes and data, and then their stacks.
    pub async fn resources_load_with_stacks(
        &mut self,
        ids: &[i64],
    ) -> Result<HashMap<i64, ResourceInStack>, StoreError> {
        let ids = padded(ids);
        let condition = format!("r.id IN ({})", placeholders(ids.len()));
        let resources = self.load_resources(&condition, &ids).await?;
        let mut stack_ids: Vec<&str> = resources
            .iter()
            .map(|loaded| loaded.resource.stack_id.as_str())
            .collect();
        stack_ids.sort_unstable();
        stack_ids.dedup();
        let stacks = self.stacks_by_id(&stack_ids).await?;
        let in_stack = |resource: LoadedResource| {
            let stack = stacks.get(&resource.resource.stack_id).cloned();
            (resource.resource.id, ResourceInStack { resource, stack })
        };
        Ok(resources.into_iter().map(in_stack).collect())
    }

    async fn stacks_by_id(&mut self, ids: &[&str]) -> Result<HashMap<String, Arc<Stack>>, StoreError> {
        if ids.is_empty() {
            return Ok(HashMap::new());
        }
        let ids = padded(ids);
        let sql = format!(
            "SELECT {STACK_COLUMNS} FROM stack s WHERE s.id IN ({})",
            placeholders(ids.len())
        );
        let mut stacks = HashMap::new();
        for row in self.fetch_all(sql, &ids).await? {
            let stack = stack_from_row(&row)?;
            stacks.insert(stack.id.clone(), Arc::new(stack));
        }
        Ok(stacks)
    }
}
