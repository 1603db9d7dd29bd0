//! What an update would do, without doing it.

use indexmap::IndexMap;

use super::Stack;
use super::definition::properties_of;
use super::error::StackError;
use super::live::{LiveResource, LiveStack, Readers};
use super::services::Services;
use crate::identity::RequestContext;
use crate::resource::plugin::Change;
use crate::resource::properties::{Names, Properties};
use crate::resource::state::{Action, Status};
use crate::template::{FrozenDefinition, ResourceStates, StackDefinition};

/// What becomes of a resource.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Fate {
    Unchanged,
    Updated,
    Replaced,
    Added,
    Deleted,
}

/// An update as it would be: the stack now and then, and the fate of each resource of either.
pub struct UpdatePreview {
    pub current: LiveStack,
    pub updated: LiveStack,
    pub fates: IndexMap<String, Fate>,
}

impl UpdatePreview {
    /// Compares what is stored with a definition whose resources are taken as not existing yet, which is why a resource
    /// that takes a value from another one counts as changed.
    pub async fn of(
        services: &Services,
        context: &RequestContext,
        current: &Stack,
        updated: &Stack,
    ) -> Result<Self, StackError> {
        let mut now = LiveStack::load(services, context, current, Readers::Resources).await?;
        let then = LiveStack::load(services, context, updated, Readers::Resources).await?;
        let mut fates = IndexMap::new();
        for (name, resource) in &then.resources {
            let fate = match now.resources.get_mut(name) {
                None => Fate::Added,
                Some(existing) => {
                    let before = Side {
                        definition: &current.definition,
                        states: &now.states,
                    };
                    let after = Side {
                        definition: &updated.definition,
                        states: &then.states,
                    };
                    fate(existing, before, resource, after).await?
                }
            };
            fates.insert(name.clone(), fate);
        }
        for name in now.resources.keys().filter(|name| !then.resources.contains_key(*name)) {
            fates.insert(name.clone(), Fate::Deleted);
        }
        Ok(Self {
            current: now,
            updated: then,
            fates,
        })
    }

    pub fn names(&self, wanted: Fate) -> impl Iterator<Item = &str> {
        self.fates
            .iter()
            .filter(move |(_, fate)| **fate == wanted)
            .map(|(name, _)| name.as_str())
    }
}

/// The definition and the states that a resource is seen through.
#[derive(Clone, Copy)]
struct Side<'a> {
    definition: &'a StackDefinition,
    states: &'a dyn ResourceStates,
}

async fn fate(
    existing: &mut LiveResource,
    before: Side<'_>,
    wanted: &LiveResource,
    after: Side<'_>,
) -> Result<Fate, StackError> {
    if !std::ptr::eq(existing.resource_type, wanted.resource_type) {
        return Ok(Fate::Replaced);
    }
    if existing.status() == Status::Failed
        && existing
            .resource_type
            .plugin
            .needs_replace_failed(&mut existing.instance)
            .await
            .unwrap_or(true)
    {
        return Ok(Fate::Replaced);
    }
    if (existing.action(), existing.status()) == (Action::Delete, Status::Complete) {
        return Ok(Fate::Replaced);
    }
    let frozen_before = existing.definition.freeze(
        &before.definition.scope(before.states),
        existing.stored_properties.clone(),
    )?;
    let frozen_after = wanted.definition.freeze(&after.definition.scope(after.states), None)?;
    let before = stored(existing, &frozen_before);
    let mut after = properties_of(
        wanted.resource_type,
        &wanted.definition,
        &after.definition.scope(after.states),
    )?;
    after.translate(wanted.resource_type.translation, Names::AsGiven);
    wanted.resource_type.plugin.shape(&mut after);
    let definition_changed = !frozen_after.says_the_same_as(&frozen_before);
    let Ok(changed) = after.changed_since(&before) else {
        return Ok(Fate::Updated);
    };
    if !definition_changed && changed.is_empty() {
        return Ok(Fate::Unchanged);
    }
    let refused = after.refuse_immutable(&changed, existing.name(), &existing.definition.resource_type);
    refused.map_err(StackError::Refused)?;
    let change = Change {
        after: &after,
        before: &before,
        changed: &changed,
        definition_changed,
    };
    let replaces = !changed.is_empty() && existing.resource_type.plugin.needs_replace(&change);
    Ok(if replaces || !after.can_update(&changed) {
        Fate::Replaced
    } else {
        Fate::Updated
    })
}

fn stored(resource: &LiveResource, frozen: &FrozenDefinition) -> Properties {
    let values = frozen.properties.as_object().cloned().unwrap_or_default();
    let mut properties = Properties::stored(resource.resource_type.properties, values).described(&frozen.description);
    resource.resource_type.plugin.shape(&mut properties);
    properties
}
