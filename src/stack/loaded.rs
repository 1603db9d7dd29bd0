//! One stack: its row, and the definition that its template gives for it.

use std::sync::Arc;
use std::time::Duration;

use chrono::TimeDelta;

use super::dependencies::Dependencies;
use super::error::StackError;
use super::identifier::Identifier;
use super::services::Services;
use crate::resource::state::{Action, Status};
use crate::store::{self, Deleted, Scope};
use crate::template::{NoResources, StackDefinition, Template};

/// No clock counts further than this from now, whatever a user asks for: a hundred years.
const LONGEST_TIMEOUT: Duration = Duration::from_secs(100 * 366 * 24 * 60 * 60);

#[derive(Clone, Debug)]
pub struct Stack {
    pub row: store::Stack,
    /// False for one that exists only to be validated or previewed.
    pub stored: bool,
    pub definition: Arc<StackDefinition>,
    /// `None`: not read yet.
    pub tags: Option<Vec<String>>,
    /// Compare with what the services say at the next update, whatever the settings say.
    pub converge: bool,
}

impl Stack {
    /// A stored stack with its definition.
    pub async fn load(
        services: &Services,
        id: &str,
        scope: &Scope,
        deleted: Deleted,
    ) -> Result<Option<Self>, StackError> {
        match services.store.stack_get(id, scope, deleted).await? {
            Some(row) => Self::from_row(services, row).await.map(Some),
            None => Ok(None),
        }
    }

    pub async fn from_row(services: &Services, row: store::Stack) -> Result<Self, StackError> {
        let definition = services.templates.definition(&row, row.raw_template_id).await?;
        Ok(Self {
            row,
            stored: true,
            definition,
            tags: None,
            converge: false,
        })
    }

    pub fn id(&self) -> &str {
        &self.row.id
    }

    pub fn name(&self) -> &str {
        &self.row.name
    }

    pub fn tenant(&self) -> &str {
        self.row.tenant.as_deref().unwrap_or_default()
    }

    pub fn template(&self) -> &Arc<Template> {
        self.definition.template()
    }

    pub fn traversal(&self) -> &str {
        self.row.current_traversal.as_deref().unwrap_or_default()
    }

    /// A stack that is only looked at has the id of the one that it would update, if it would update one.
    pub fn identifier(&self) -> Identifier {
        let id = Some(self.id()).filter(|id| !id.is_empty());
        Identifier::stack(self.tenant(), self.name(), id)
    }

    /// What is done with the stack. A row of unknown words, which no engine writes, counts as nothing done.
    pub fn action(&self) -> Action {
        action_of(&self.row)
    }

    pub fn status(&self) -> Status {
        self.row
            .status
            .as_deref()
            .and_then(|word| word.parse().ok())
            .unwrap_or(Status::Failed)
    }

    /// `CREATE_IN_PROGRESS` and the like.
    pub fn state(&self) -> String {
        format!("{}_{}", self.action(), self.status())
    }

    pub fn is_in_progress(&self) -> bool {
        self.status() == Status::InProgress
    }

    /// The time that an action on the stack may take.
    pub fn timeout(&self, services: &Services) -> Duration {
        timeout_of(&self.row, services)
    }

    /// The time that is left of it; zero when it is over.
    pub fn time_remaining(&self, services: &Services) -> Duration {
        let left = time_left(&self.row, services).to_std().unwrap_or(Duration::ZERO);
        left.min(LONGEST_TIMEOUT)
    }

    /// How long it has been over; nothing while some is left.
    pub fn time_overdue(&self, services: &Services) -> Option<Duration> {
        (-time_left(&self.row, services)).to_std().ok()
    }

    pub fn has_timed_out(&self, services: &Services) -> bool {
        self.is_in_progress() && self.time_remaining(services).is_zero()
    }

    /// Which resource waits for which, as the template says.
    pub fn dependencies(&self) -> Result<Dependencies<String>, StackError> {
        let mut dependencies = Dependencies::default();
        for definition in self.definition.resources().values() {
            dependencies.add(definition.name.clone());
            for required in self.definition.dependencies(definition, &NoResources)? {
                dependencies.require(definition.name.clone(), required);
            }
        }
        Ok(dependencies)
    }

    /// The tags, read on first use.
    pub async fn tags(&mut self, services: &Services) -> Result<Vec<String>, StackError> {
        if let Some(tags) = &self.tags {
            return Ok(tags.clone());
        }
        let tags = if self.stored {
            services.store.stack_tags_get(self.id()).await?
        } else {
            Vec::new()
        };
        self.tags = Some(tags.clone());
        Ok(tags)
    }
}

/// As [`Stack::action`], of a row alone.
pub fn action_of(row: &store::Stack) -> Action {
    let action = row.action.as_deref().and_then(|word| word.parse().ok());
    action.unwrap_or(Action::Init)
}

/// What is left of the time that the stack's action may take; negative when it is over.
pub fn time_left(row: &store::Stack, services: &Services) -> TimeDelta {
    let elapsed = services.clock.utc_now() - row.updated_at.unwrap_or(row.created_at);
    let whole = TimeDelta::from_std(timeout_of(row, services)).unwrap_or(TimeDelta::MAX);
    whole.checked_sub(&elapsed).unwrap_or(TimeDelta::MAX)
}

fn timeout_of(row: &store::Stack, services: &Services) -> Duration {
    match row.timeout {
        Some(minutes) => Duration::from_secs(u64::try_from(minutes).unwrap_or(0).saturating_mul(60)),
        None => services.settings.engine.stack_action_timeout,
    }
}
