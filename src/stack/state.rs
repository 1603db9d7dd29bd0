//! How a stack comes into a new state: the row, the notification and the event belong together.

use chrono::NaiveDateTime;
use serde_json::{Value, json};

use super::error::StackError;
use super::loaded::Stack;
use super::measure;
use super::services::Services;
use crate::identity::RequestContext;
use crate::resource::state::{Action, Status};
use crate::store::{EventLimits, NewEvent, StackChanges, Swap};

/// The type under which a stack's own events are kept.
pub const STACK_TYPE: &str = "OS::Heat::Stack";

/// What a stack's row must say for a change of its state to be right.
#[derive(Clone, Debug)]
pub enum Expected {
    /// It is in this traversal.
    Traversal(String),
    /// It is in this traversal, whose end is not recorded.
    InProgress(String),
    /// It has no traversals: whoever has its lock may write.
    Legacy,
}

impl Stack {
    /// Puts the stack into a state, if it is still in the traversal that we know, and tells everybody.
    pub async fn set_state(
        &mut self,
        services: &Services,
        context: &RequestContext,
        action: Action,
        status: Status,
        reason: &str,
    ) -> Result<Swap, StackError> {
        self.row.action = Some(action.to_string());
        self.row.status = Some(status.to_string());
        self.row.status_reason = Some(reason.to_owned());
        let changes = StackChanges {
            action: self.row.action.clone(),
            status: self.row.status.clone(),
            status_reason: self.row.status_reason.clone(),
            ..StackChanges::default()
        };
        let expected = Expected::Traversal(self.traversal().to_owned());
        self.swap_and_announce(services, context, expected, changes).await
    }

    /// As [`Self::set_state`], for the end of what is in progress: whoever comes to the same end later finds that it
    /// has come, and nobody hears of it twice.
    pub async fn set_end(
        &mut self,
        services: &Services,
        context: &RequestContext,
        status: Status,
        reason: &str,
    ) -> Result<Swap, StackError> {
        let expected = Expected::InProgress(self.traversal().to_owned());
        self.set_end_of(services, context, expected, status, reason).await
    }

    /// As [`Self::set_end`], for a stack of any kind.
    pub async fn set_end_of(
        &mut self,
        services: &Services,
        context: &RequestContext,
        expected: Expected,
        status: Status,
        reason: &str,
    ) -> Result<Swap, StackError> {
        let before = (self.row.status.clone(), self.row.status_reason.clone());
        self.row.status = Some(status.to_string());
        self.row.status_reason = Some(reason.to_owned());
        let changes = StackChanges {
            action: self.row.action.clone(),
            status: self.row.status.clone(),
            status_reason: self.row.status_reason.clone(),
            ..StackChanges::default()
        };
        let swap = self.swap_and_announce(services, context, expected, changes).await?;
        if !swap.is_updated() {
            (self.row.status, self.row.status_reason) = before;
        }
        Ok(swap)
    }

    /// Writes `changes` under compare-and-swap and, if they took, the event of the state that the stack is in now;
    /// then sends the notification.
    pub async fn swap_and_announce(
        &mut self,
        services: &Services,
        context: &RequestContext,
        expected: Expected,
        changes: StackChanges,
    ) -> Result<Swap, StackError> {
        let limits = event_limits(services);
        let arguments = (
            self.id().to_owned(),
            expected,
            changes,
            self.state_event(services),
            limits,
        );
        let swap = services
            .store
            .transaction(arguments, |session, (id, expected, changes, event, limits)| {
                Box::pin(async move {
                    let swap = match expected {
                        Expected::Traversal(traversal) => session.stack_swap(id, Some(traversal), changes).await?,
                        Expected::InProgress(traversal) => {
                            session.stack_swap_in_progress(id, traversal, changes).await?
                        }
                        Expected::Legacy => session.stack_swap(id, None, changes).await?,
                    };
                    if swap.is_updated() {
                        session.event_create_limited(event, *limits).await?;
                    } else {
                        session.abandon();
                    }
                    Ok(swap)
                })
            })
            .await?;
        if swap.is_updated() {
            measure::state_set(self.action(), self.status());
            tracing::info!(
                stack = self.name(),
                stack_id = self.id(),
                "Stack {} {} ({}): {}",
                self.action(),
                self.status(),
                self.name(),
                self.row.status_reason.as_deref().unwrap_or_default(),
            );
            // The state stands, and what follows from it must not be held up.
            if let Err(error) = self.notify(services, context).await {
                let error = &error as &dyn std::error::Error;
                tracing::error!(stack = self.name(), error, "no notification of the stack's state");
            }
        } else {
            tracing::debug!(
                stack = self.name(),
                traversal = self.traversal(),
                "the traversal is no longer active; state not set to {}",
                self.state(),
            );
        }
        Ok(swap)
    }

    fn state_event(&self, services: &Services) -> NewEvent {
        NewEvent {
            uuid: services.clock.new_uuid(),
            stack_id: self.id().to_owned(),
            created_at: None,
            resource_action: self.row.action.clone(),
            resource_status: self.row.status.clone(),
            resource_name: Some(self.name().to_owned()),
            physical_resource_id: Some(self.id().to_owned()),
            resource_status_reason: self.row.status_reason.clone(),
            resource_type: Some(STACK_TYPE.to_owned()),
            rsrc_prop_data_id: None,
        }
    }

    async fn notify(&mut self, services: &Services, context: &RequestContext) -> Result<(), StackError> {
        let engine = &services.settings.engine;
        let (suffix, level) = match self.status() {
            Status::InProgress => ("start", engine.default_notification_level.to_uppercase()),
            Status::Complete => ("end", engine.default_notification_level.to_uppercase()),
            Status::Failed => ("error", "ERROR".to_owned()),
        };
        let publisher = match &engine.default_publisher_id {
            Some(publisher) => publisher.clone(),
            None => format!("orchestration.{}", engine.host),
        };
        let event_type = format!("orchestration.stack.{}.{suffix}", self.action().as_str().to_lowercase());
        let payload = self.notification_payload(services, context).await?;
        let context = context.redacted().to_wire();
        services
            .notifier
            .notify(&context, &publisher, &event_type, &level, payload)
            .await;
        Ok(())
    }

    async fn notification_payload(
        &mut self,
        services: &Services,
        context: &RequestContext,
    ) -> Result<Value, StackError> {
        let tags = self.tags(services).await?;
        Ok(json!({
            "tenant_id": context.project_id,
            "user_id": context.username,
            "user_identity": context.user_id,
            "username": context.username,
            "stack_identity": self.id(),
            "stack_name": self.name(),
            "state": self.state(),
            "state_reason": self.row.status_reason,
            "create_at": isotime(self.row.created_at),
            "tags": tags,
            "updated_at": self.row.updated_at.map(isotime),
            "description": self.template().description(),
        }))
    }
}

/// The time format of Heat's API.
pub fn isotime(time: NaiveDateTime) -> String {
    time.format("%Y-%m-%dT%H:%M:%SZ").to_string()
}

pub fn event_limits(services: &Services) -> EventLimits {
    let engine = &services.settings.engine;
    let max_events_per_stack = i64::try_from(engine.max_events_per_stack).unwrap_or(i64::MAX);
    EventLimits {
        max_events_per_stack,
        purge_batch_size: engine.event_purge_batch_size,
    }
}
