//! The resource of a node, ready to be worked on: its row, its type, its definition then and now, and what the nodes
//! before it have told.

use std::sync::Arc;

use serde_json::{Map, Value};

use super::engine::Convergence;
use super::error::CheckEnd;
use super::operation::{Operation, Update};
use super::record::StoredRecord;
use super::tracked::{Lock, Tracked};
use super::witness::{Decision, Step};
use super::work::Work;
use crate::identity::RequestContext;
use crate::plugins::questions::Questions;
use crate::python::to_text;
use crate::resource::attributes::AttributeCache;
use crate::resource::failure::Failure;
use crate::resource::instance::{Identity, Instance, Stored};
use crate::resource::plugin::ResourceType;
use crate::resource::properties::{Names, Properties};
use crate::resource::state::{Action, Status};
use crate::stack::Stack;
use crate::stack::definition::{KnownType, find_type, properties_of};
use crate::stack::error::StackError;
use crate::stack::known::KnownResources;
use crate::stack::node::Node;
use crate::stack::services::Services;
use crate::stack::stored::{self, facts_of, readable};
use crate::store::{ExpectedResource, LoadedResource, NewResource, Replacement, ResourceData, Swap};
use crate::template::{DeletionPolicy, FrozenDefinition, ResourceDefinition, StackDefinition};

pub(super) struct Subjected {
    pub tracked: Tracked,
    pub instance: Instance,
    pub known: KnownResources,
    resource_type: &'static ResourceType,
    /// What had replaced the resource when it was read: the left-over of an earlier traversal.
    replaced_before: Option<i64>,
    /// The definition that the row was last brought to, or will be made from.
    then: Arc<StackDefinition>,
}

/// What errors call the properties once a resource is worked on, whatever the template's family calls them.
const PROPERTIES: &str = "Properties";

/// Why an action is only to be waited for.
const ASKED_BY_ANOTHER: &str = "another engine has asked for the object";

/// Why this engine does not serve a resource.
type NotServed = String;

impl Subjected {
    pub fn type_name(&self) -> &'static str {
        self.resource_type.name
    }

    pub async fn prepare(
        engine: &Convergence,
        context: &RequestContext,
        stack: &Stack,
        loaded: LoadedResource,
        node: &Node,
        known: KnownResources,
    ) -> Result<Result<Self, NotServed>, StackError> {
        let services = &engine.services;
        let attributes = match &loaded.attributes {
            Some(stored) => AttributeCache::stored(services.key.open_properties(stored)?),
            None => AttributeCache::default(),
        };
        let properties = match &loaded.properties {
            Some(stored) => Some(services.key.open_properties(stored)?),
            None => None,
        };
        let mut tracked = Tracked::new(&loaded, properties, attributes);
        let replaced_before = tracked.row.replaced_by;
        let will_create = node.is_update && tracked.action == Action::Init;
        let then = match tracked.row.current_template_id {
            Some(id) if id != stack.row.raw_template_id && !will_create => {
                services.templates.definition(&stack.row, id).await?
            }
            _ => stack.definition.clone(),
        };
        let Some(definition) = then.resource(&tracked.row.name) else {
            return Ok(Err(format!(
                "the template does not define resource {}",
                tracked.row.name
            )));
        };
        let KnownType::Native(resource_type) = find_type(then.template(), definition) else {
            return Ok(Err(format!("resource type {} is not served", definition.resource_type)));
        };
        tracked.type_name = definition.resource_type.clone();
        tracked.stack_name = stack.name().to_owned();
        tracked.physical_name_limit = resource_type.physical_name_limit;
        let instance = instance(engine, context, stack, &tracked, resource_type, &loaded.data)?;
        Ok(Ok(Self {
            tracked,
            instance,
            known,
            resource_type,
            replaced_before,
            then,
        }))
    }

    /// Does what the node asks for.
    pub async fn act(&mut self, work: &Work<'_>) -> Result<(), CheckEnd> {
        let is_new = work.request.node.is_update && self.tracked.action == Action::Init;
        if work.request.node.is_update && self.needs_availability_zones(&work.stack.definition) {
            let services = &work.engine.services;
            self.known.learn_availability_zones(services, work.context).await;
        }
        work.engine.watch.tell(|| Step::Definition {
            before: self
                .then
                .resource(&self.tracked.row.name)
                .filter(|_| !is_new)
                .map(ResourceDefinition::render_hot),
            after: work
                .stack
                .definition
                .resource(&self.tracked.row.name)
                .map(ResourceDefinition::render_hot),
        });
        match (work.request.node.is_update, self.tracked.action) {
            (true, Action::Create) if work.is_inherited() => {
                work.decide(Decision::GoOnWaiting, || ASKED_BY_ANOTHER.to_owned());
                self.operation(work, Value::Null).create().await
            }
            (true, Action::Init) => self.create(work).await,
            (true, _) => self.update(work).await,
            (false, _) => self.clean_up(work).await,
        }
    }

    /// Whether they are part of what the resource was or is to be, or decide what others ask of it.
    fn needs_availability_zones(&self, now: &StackDefinition) -> bool {
        let of_definition = |definition: &StackDefinition| {
            let resource = definition.resource(&self.tracked.row.name);
            resource.is_some_and(ResourceDefinition::needs_availability_zones)
        };
        now.questions_need_availability_zones() || of_definition(now) || of_definition(&self.then)
    }

    async fn create(&mut self, work: &Work<'_>) -> Result<(), CheckEnd> {
        if !self.tracked.is_in(Action::Init, Status::Complete) {
            let state = format!("('{}', '{}')", self.tracked.action, self.tracked.status);
            return Err(self.failed(Action::Create, "Error", format!("State {state} invalid for create")));
        }
        self.tracked.row.requires = self.known.ids();
        self.tracked.row.current_template_id = Some(work.stack.row.raw_template_id);
        let then = self.then.clone();
        let scope = then.scope(&self.known);
        let definition = self.definition(&then)?;
        if let Some(external_id) = definition.external_id(&scope).map_err(StackError::from)? {
            let metadata = definition.metadata(&scope).map_err(StackError::from)?;
            work.decide(Decision::TakeOver, || {
                format!("external_id is {}", to_text(&external_id))
            });
            return self.operation(work, metadata).take_over(&to_text(&external_id)).await;
        }
        let properties = properties_of(self.resource_type, definition, &scope).map_err(StackError::from)?;
        let mut properties = properties.in_section(PROPERTIES);
        let metadata = definition.metadata(&scope).map_err(StackError::from)?;
        self.resource_type.plugin.shape(&mut properties);
        self.find_names(&mut properties, Names::Found).await;
        let stored = properties.to_stored().map_err(StackError::Property)?;
        self.tracked.apply_properties(stored);
        work.engine.watch.tell(|| Step::Properties {
            before: None,
            after: Some(&properties),
        });
        work.decide(Decision::Create, || {
            "the row is in INIT: nothing was made yet".to_owned()
        });
        self.instance.properties = properties;
        self.operation(work, metadata).create().await
    }

    async fn update(&mut self, work: &Work<'_>) -> Result<(), CheckEnd> {
        if let Some(replacement_id) = self.replaced_in_this_traversal(work).await? {
            work.decide(Decision::GoOnWithReplacement, || {
                format!("row {replacement_id} was made for it in this traversal")
            });
            return Err(CheckEnd::Replaced(replacement_id));
        }
        let now = work.stack.definition.clone();
        let then = self.then.clone();
        let new_definition = now
            .resource(&self.tracked.row.name)
            .ok_or_else(|| StackError::ResourceNotDefined(self.tracked.row.name.clone()))?;
        let restricted = now
            .template()
            .environment()
            .registry
            .restricted_actions(&self.tracked.row.name);
        let restrict = |action: &str| restricted.contains(&action);
        match find_type(now.template(), new_definition) {
            KnownType::Native(new_type) if std::ptr::eq(new_type, self.resource_type) => {}
            known => {
                if let KnownType::Native(new_type) = known {
                    self.tell_of_other_type(work, new_type, new_definition);
                }
                let new_type = &new_definition.resource_type;
                work.decide(Decision::Replace, || format!("it is to be of another type, {new_type}"));
                return self.replace_unless(restrict("replace"), work).await;
            }
        }
        self.tracked.row.replaced_by = None;

        let frozen_then = self
            .definition(&then)?
            .freeze(&then.scope(&self.known), self.tracked.stored_properties.clone());
        let frozen_then = frozen_then.map_err(StackError::from)?;
        let frozen_now = new_definition
            .freeze(&now.scope(&self.known), None)
            .map_err(StackError::from)?;
        if frozen_then.external_id.is_some() || frozen_now.external_id.is_some() {
            return self.update_external(work, &frozen_then, &frozen_now).await;
        }
        let after =
            properties_of(self.resource_type, new_definition, &now.scope(&self.known)).map_err(StackError::from)?;
        let mut after = after.in_section(PROPERTIES);
        let stored = frozen_then.properties.as_object().cloned().unwrap_or_default();
        let mut before = Properties::stored(self.resource_type.properties, stored).described(&frozen_then.description);
        self.find_names(&mut after, Names::Found).await;
        self.find_names(&mut before, Names::FoundOrAsGiven).await;
        let observes = work.engine.services.settings.engine.observe_on_update || work.stack.converge;
        if observes
            && !work.is_inherited()
            && !frozen_then.properties.as_object().is_none_or(Map::is_empty)
            && let Err(end) = self.observe(&mut before).await
        {
            work.decide(Decision::Replace, || "the object is not there any more".to_owned());
            return Err(end);
        }

        let definition_changed = !frozen_now.says_the_same_as(&frozen_then);
        work.engine.watch.tell(|| Step::Properties {
            before: Some(&before),
            after: Some(&after),
        });
        let needs_update = match work.is_inherited() {
            true => Ok(true),
            false => self.needs_update(definition_changed, &after, &before).await,
        };
        let needs_update = match needs_update {
            Err(CheckEnd::Replace) => {
                let tracked = &self.tracked;
                work.decide(Decision::Replace, || {
                    format!("it is {}_{} and cannot be updated", tracked.action, tracked.status)
                });
                return self.replace_unless(restrict("replace"), work).await;
            }
            other => other?,
        };
        if !needs_update {
            work.decide(Decision::Unchanged, || "the definition says nothing new".to_owned());
            return self.note_unchanged(work).await;
        }
        if restrict("update") {
            return self.refuse_restricted("update", work).await;
        }
        match work.is_inherited() {
            true => work.decide(Decision::GoOnWaiting, || ASKED_BY_ANOTHER.to_owned()),
            false => work.decide(Decision::Update, || what_differs(&after, &before, definition_changed)),
        }
        let requires = self.known.ids();
        let update = Update {
            after,
            before,
            definition_changed,
            template_id: work.stack.row.raw_template_id,
            requires: &requires,
        };
        self.operation(work, Value::Null).update(update).await
    }

    fn tell_of_other_type(&self, work: &Work<'_>, new_type: &'static ResourceType, definition: &ResourceDefinition) {
        if !work.engine.watch.is_read() {
            return;
        }
        let stored = self.tracked.stored_properties.clone().unwrap_or_default();
        let before = Properties::stored(self.resource_type.properties, stored);
        let scope = work.stack.definition.scope(&self.known);
        // What cannot be read is for the check of the replacement to complain about.
        let after = properties_of(new_type, definition, &scope).ok();
        work.engine.watch.tell(|| Step::Properties {
            before: Some(&before),
            after: after.as_ref(),
        });
    }

    /// The row that replaces this one, if it was made for the template and after the graph of this traversal: then the
    /// message has come again.
    async fn replaced_in_this_traversal(&self, work: &Work<'_>) -> Result<Option<i64>, StackError> {
        let row = &self.tracked.row;
        let Some(replacement_id) = row.replaced_by else {
            return Ok(None);
        };
        let Some(replacement) = work.engine.services.store.resource_get(replacement_id).await? else {
            return Ok(None);
        };
        // That it replaces this row need not be in it any more: the clean-up of this row takes it out.
        if replacement.current_template_id != Some(work.stack.row.raw_template_id) {
            return Ok(None);
        }
        let graph = work.engine.graph(work.stack.id(), work.stack.traversal()).await?;
        Ok((!graph.is_empty() && !graph.contains(&Node::cleanup(replacement_id))).then_some(replacement_id))
    }

    /// Whether anything is to be changed; [`CheckEnd::Replace`] for what has to be made anew.
    async fn needs_update(
        &mut self,
        definition_changed: bool,
        after: &Properties,
        before: &Properties,
    ) -> Result<bool, CheckEnd> {
        if self.resource_type.plugin.ignores_updates() {
            return Ok(false);
        }
        let tracked = &self.tracked;
        if tracked.status == Status::Failed {
            let replace = self.resource_type.plugin.needs_replace_failed(&mut self.instance).await;
            if replace.map_err(|failure| self.failed(Action::Update, failure.class, failure.message))? {
                return Err(CheckEnd::Replace);
            }
        }
        if tracked.is_in(Action::Delete, Status::Complete) || tracked.is_in(Action::Init, Status::Complete) {
            return Err(CheckEnd::Replace);
        }
        Ok(definition_changed || after.changed_since(before).map_or(true, |changed| !changed.is_empty()))
    }

    async fn clean_up(&mut self, work: &Work<'_>) -> Result<(), CheckEnd> {
        let template_id = work.stack.row.raw_template_id;
        if self.tracked.row.current_template_id == Some(template_id) {
            work.decide(Decision::LeaveAlone, || "the stack's template still has it".to_owned());
            return Ok(());
        }
        if self.tracked.action == Action::Init {
            work.decide(Decision::RemoveRow, || {
                "it is in INIT: nothing was ever made".to_owned()
            });
            let store = &work.engine.services.store;
            return match store.resource_delete_unmade(self.tracked.row.id).await? {
                Swap::Updated | Swap::Gone => Ok(()),
                // A worker of the traversal before has begun with it since it was read: its object must not lose its row.
                Swap::Lost => Err(CheckEnd::Contended),
            };
        }
        if !self.tracked.is_in(Action::Delete, Status::Complete) {
            let mut properties = Properties::stored(
                self.resource_type.properties,
                self.tracked.stored_properties.clone().unwrap_or_default(),
            );
            self.resource_type.plugin.shape(&mut properties);
            self.find_names(&mut properties, Names::FoundOrAsGiven).await;
            work.engine.watch.tell(|| Step::Properties {
                before: Some(&properties),
                after: None,
            });
            self.instance.properties = properties;
            let then = self.then.clone();
            let retain = self.definition(&then)?.deletion_policy() == DeletionPolicy::Retain;
            match retain {
                true => work.decide(Decision::Retain, || "its deletion policy is Retain".to_owned()),
                false => work.decide(Decision::Delete, || "the stack's template does not have it".to_owned()),
            }
            self.operation(work, Value::Null).delete(retain).await?;
        }
        self.release_replacement(work, template_id).await
    }

    /// The replacement of what is gone replaces nothing any more.
    async fn release_replacement(&self, work: &Work<'_>, template_id: i64) -> Result<(), CheckEnd> {
        let store = &work.engine.services.store;
        let Some(replacement_id) = self.tracked.row.replaced_by else {
            return Ok(());
        };
        let Some(replacement) = store.resource_get(replacement_id).await? else {
            return Ok(());
        };
        if replacement.current_template_id == Some(template_id) {
            let changes = crate::store::ResourceChanges {
                replaces: Some(None),
                ..Default::default()
            };
            let expected = ExpectedResource::unlocked(replacement.atomic_key);
            // Whoever has changed it in the meantime sees to it.
            let swap = store.resource_swap(replacement_id, &expected, &changes).await?;
            tracing::debug!(replacement_id, ?swap, "the replacement stands alone");
        }
        Ok(())
    }

    /// The template says nothing new: only the row moves to it.
    async fn note_unchanged(&mut self, work: &Work<'_>) -> Result<(), CheckEnd> {
        let services = &work.engine.services;
        self.tracked.row.current_template_id = Some(work.stack.row.raw_template_id);
        if self.tracked.status == Status::Failed {
            let reason = "Update status to COMPLETE for FAILED resource neither update nor replace.";
            let to = (self.tracked.action, Status::Complete);
            return self.tracked.set_state(services, to, reason, Lock::Respect, None).await;
        }
        self.tracked.store_unlocked(services).await
    }

    async fn update_external(
        &mut self,
        work: &Work<'_>,
        then: &FrozenDefinition,
        now: &FrozenDefinition,
    ) -> Result<(), CheckEnd> {
        if then.external_id == now.external_id {
            work.decide(Decision::Unchanged, || {
                "it stands for the same external object".to_owned()
            });
            return self.note_unchanged(work).await;
        }
        let name = &self.tracked.row.name;
        let message = format!(
            "Update to property external_id of {name} ({}) is not supported.",
            self.tracked.type_name
        );
        Err(self.failed(Action::Update, "NotSupported", message))
    }

    async fn observe(&mut self, before: &mut Properties) -> Result<(), CheckEnd> {
        if self.instance.physical_id().is_none() {
            return Err(CheckEnd::Replace);
        }
        match self.resource_type.plugin.observe(&mut self.instance).await {
            Ok(Some(live)) => before.adopt(&live),
            Ok(None) => {}
            Err(failure) if failure.remedy == crate::resource::failure::Remedy::Missing => {
                return Err(CheckEnd::Replace);
            }
            Err(failure) => {
                tracing::warn!(resource = self.instance.name, %failure, "updated without its live state");
            }
        }
        Ok(())
    }

    async fn replace_unless(&mut self, restricted: bool, work: &Work<'_>) -> Result<(), CheckEnd> {
        if restricted {
            self.refuse_restricted("replace", work).await
        } else {
            Err(CheckEnd::Replace)
        }
    }

    async fn refuse_restricted(&mut self, action: &str, work: &Work<'_>) -> Result<(), CheckEnd> {
        let message = format!("{action} is restricted for resource.");
        work.decide(Decision::Refuse, || message.clone());
        let services = &work.engine.services;
        self.tracked
            .add_event(services, Action::Update, Status::Failed, &message)
            .await?;
        Err(self.failed(Action::Update, "ResourceActionRestricted", message))
    }

    pub async fn make_replacement(&mut self, services: &Services, template_id: i64) -> Result<Replacement, StackError> {
        let row = &self.tracked.row;
        let mut requires = self.known.ids();
        requires.reverse();
        let replacement = NewResource {
            uuid: services.clock.new_uuid(),
            stack_id: row.stack_id.clone(),
            root_stack_id: row.root_stack_id.clone(),
            name: row.name.clone(),
            action: Some(Action::Init.to_string()),
            status: Some(Status::Complete.to_string()),
            requires,
            replaces: Some(row.id),
            current_template_id: Some(template_id),
            ..NewResource::default()
        };
        let known_replacement = self.replaced_before;
        let attempts = 1 + services.settings.engine.client_retry_limit.max(0);
        let mut expected = ExpectedResource::unlocked(row.atomic_key);
        for attempt in 1.. {
            match services
                .store
                .resource_create_replacement(row.id, &replacement, &expected)
                .await?
            {
                // A signal or a stored attribute moves the key without anybody working on the resource.
                Replacement::Lost if attempt < attempts => {
                    let current = services.store.resource_get(row.id).await?;
                    match current {
                        Some(current)
                            if current.engine_id.is_none()
                                && current.updated_at == row.updated_at
                                && (current.replaced_by.is_none() || current.replaced_by == known_replacement) =>
                        {
                            expected = ExpectedResource::unlocked(current.atomic_key);
                        }
                        _ => return Ok(Replacement::Lost),
                    }
                    let pause = services.clock.random_duration(std::time::Duration::from_secs(2));
                    tokio::time::sleep(pause).await;
                }
                outcome => return Ok(outcome),
            }
        }
        Ok(Replacement::Lost)
    }

    /// After an update node: what was learned of the attributes is kept, or, if nobody asked, forgotten.
    pub async fn keep_attributes(&mut self, services: &Services, were_asked: bool) -> Result<(), StackError> {
        let tracked = &mut self.tracked;
        if !were_asked {
            if let Some(attributes_id) = tracked.row.attr_data_id.take() {
                let swap = services
                    .store
                    .resource_attributes_delete(tracked.row.id, attributes_id)
                    .await?;
                tracing::debug!(resource_id = tracked.row.id, ?swap, "stored attributes cleared");
            }
            tracked.attributes.forget();
            return Ok(());
        }
        stored::keep_attributes(
            services,
            &tracked.row,
            (tracked.action, tracked.status),
            &tracked.attributes,
        )
        .await
    }

    async fn find_names(&self, properties: &mut Properties, names: Names) {
        properties.translate(self.resource_type.translation, names);
        properties.find_names(&Questions::new(&self.instance.session)).await;
    }

    fn definition<'d>(&self, of: &'d StackDefinition) -> Result<&'d ResourceDefinition, StackError> {
        of.resource(&self.tracked.row.name)
            .ok_or_else(|| StackError::ResourceNotDefined(self.tracked.row.name.clone()))
    }

    fn failed(&self, action: Action, class: &'static str, message: String) -> CheckEnd {
        CheckEnd::Failed {
            action,
            reason: Failure::terminal(class, message).reason(&self.tracked.row.name),
        }
    }

    fn operation<'w>(&'w mut self, work: &'w Work<'_>, metadata: Value) -> Operation<'w> {
        Operation {
            work,
            is_begun: work.is_inherited(),
            services: &work.engine.services,
            described_as: self.instance.description(),
            tracked: &mut self.tracked,
            instance: &mut self.instance,
            metadata,
        }
    }
}

fn what_differs(after: &Properties, before: &Properties, definition_changed: bool) -> String {
    let changed: Vec<String> = after.changed_since(before).unwrap_or_default().into_iter().collect();
    match (changed.is_empty(), definition_changed) {
        (false, _) => format!("properties differ: {}", changed.join(", ")),
        (true, true) => "the definition differs, but none of its values".to_owned(),
        (true, false) => "the properties cannot be compared".to_owned(),
    }
}

fn instance(
    engine: &Convergence,
    context: &RequestContext,
    stack: &Stack,
    tracked: &Tracked,
    resource_type: &'static ResourceType,
    data: &[ResourceData],
) -> Result<Instance, StackError> {
    let services = &engine.services;
    let identity = Identity {
        name: tracked.row.name.clone(),
        uuid: tracked.row.uuid.clone(),
        type_name: tracked.type_name.clone(),
        resource_type,
        stack: facts_of(services, stack),
        state: (tracked.action, tracked.status),
    };
    let stored = Stored {
        physical_id: tracked.row.physical_resource_id.clone(),
        properties: None,
        data: readable(services, data)?,
        record: Arc::new(StoredRecord::new(engine, tracked.row.id, data)),
    };
    let properties = tracked.stored_properties.clone().unwrap_or_default();
    let properties = Properties::stored(resource_type.properties, properties);
    Ok(Instance::new(
        identity,
        stored,
        properties,
        services.clock.clone(),
        services.cloud.session(context)?,
    ))
}
