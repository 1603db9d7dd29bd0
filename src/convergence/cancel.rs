//! Stopping what is going on for a stack.

use std::time::Duration;

use serde_json::{Map, Value};

use super::engine::Convergence;
use super::peers::{LISTENER_TOPIC, LISTENER_VERSION};
use super::worker_client::cancel_check_resource;
use crate::identity::RequestContext;
use crate::messaging::{CallError, PublishError, Target};
use crate::resource::state::Status;
use crate::stack::Stack;
use crate::stack::error::StackError;
use crate::stack::state::Expected;
use crate::store::{Deleted, StackChanges};

/// How long cancelled workers get to stop (the oracle looks three times, five seconds apart).
const STOPPING_TIME: Duration = Duration::from_secs(15);
const LOOK_AGAIN: Duration = Duration::from_millis(250);

impl Convergence {
    /// Ends the current traversal: the stack is marked as failed, resources that are being worked on finish, and
    /// nothing follows them. The same for every stack below that is in progress.
    pub async fn stop_traversal(&self, context: &RequestContext, stack: &mut Stack) -> Result<(), StackError> {
        self.stop_one_traversal(context, stack).await?;
        for row in self.services.store.stacks_below(stack.id(), Deleted::Hidden).await? {
            let mut child = Stack::from_row(&self.services, row).await?;
            if child.is_in_progress() {
                self.stop_one_traversal(context, &mut child).await?;
            }
        }
        Ok(())
    }

    async fn stop_one_traversal(&self, context: &RequestContext, stack: &mut Stack) -> Result<(), StackError> {
        let stopped = stack.traversal().to_owned();
        let action = stack.action();
        let before = stack.row.clone();
        stack.row.current_traversal = Some(self.services.clock.new_uuid());
        stack.row.status = Some(Status::Failed.to_string());
        stack.row.status_reason = Some(format!("Stack {action} cancelled"));
        let changes = StackChanges {
            current_traversal: stack.row.current_traversal.clone(),
            status: stack.row.status.clone(),
            status_reason: stack.row.status_reason.clone(),
            ..StackChanges::default()
        };
        let swap = stack
            .swap_and_announce(&self.services, context, Expected::InProgress(stopped.clone()), changes)
            .await?;
        if swap.is_updated() {
            self.services.store.sync_points_delete(stack.id(), &stopped).await?;
        } else {
            stack.row = before;
            tracing::warn!(stack = stack.name(), ?swap, "the stack has moved on; not cancelled");
        }
        Ok(())
    }

    /// Tells every worker of the stack to stop, and waits until none holds a resource. False if some still do.
    pub async fn stop_all_workers(&self, context: &RequestContext, stack: &Stack) -> Result<bool, StackError> {
        let store = &self.services.store;
        let engines = store.engines_locking_stack(stack.id()).await?;
        if engines.is_empty() {
            return Ok(true);
        }
        for engine_id in engines {
            if engine_id == self.services.engine_id {
                self.running.cancel(stack.id());
            } else {
                cancel_check_resource(&self.services.rpc, context, stack.id(), &engine_id).await?;
            }
        }
        let started = tokio::time::Instant::now();
        while started.elapsed() < STOPPING_TIME {
            tokio::time::sleep(LOOK_AGAIN).await;
            if store.engines_locking_stack(stack.id()).await?.is_empty() {
                tracing::info!(stack = stack.name(), "all workers stopped");
                return Ok(true);
            }
        }
        tracing::error!(
            stack = stack.name(),
            "workers still hold resources of the stack; going on without them"
        );
        Ok(false)
    }

    /// Whether an engine answers.
    pub async fn is_alive(&self, context: &RequestContext, engine_id: &str) -> Result<bool, StackError> {
        if engine_id == self.services.engine_id {
            return Ok(true);
        }
        let target = Target::topic(LISTENER_TOPIC, LISTENER_VERSION).server(engine_id);
        let timeout = self.services.settings.engine.engine_life_check_timeout;
        match self
            .services
            .rpc
            .call(&target, "listening", Map::new(), &context.to_wire(), timeout)
            .await
        {
            Ok(answer) => Ok(answer == Value::Bool(true)),
            Err(CallError::TimedOut { .. } | CallError::Publish(PublishError::Undeliverable { .. })) => Ok(false),
            Err(error) => Err(StackError::from(error)),
        }
    }
}
