//! `check_resource`: one node of a traversal.
//!
//! The same path serves a first message, a second delivery of it, and a message for a traversal that is over: the row
//! that is found says what is left to do.

use std::sync::Arc;

use serde_json::Value;
use tokio::time::Instant;

use super::engine::Convergence;
use super::error::CheckEnd;
use super::measure;
use super::node_data::node_data;
use super::operation::OUTAGE_PAUSE;
use super::propagate::{Passing, Told};
use super::request::{CheckRequest, Checked};
use super::subject::Subjected;
use super::sync_point::key_of;
use super::turns::{Party, Turn};
use super::witness::{Decision, NOT_KNOWN_YET, Step};
use super::work::{Beginning, Begun, Receipt, Work};
use super::worker_client::CheckMessage;
use crate::identity::RequestContext;
use crate::resource::state::Action;
use crate::stack::Stack;
use crate::stack::error::StackError;
use crate::stack::node::Node;
use crate::store::{
    self, Deleted, ExpectedResource, LoadedResource, Resource, ResourceChanges, ResourceInStack, Scope,
};

impl Convergence {
    pub async fn check_resource(
        &self,
        context: &RequestContext,
        request: &CheckRequest,
        receipt: &dyn Receipt,
    ) -> Result<Checked, StackError> {
        let Some(resource_id) = request.node.resource_id() else {
            return Ok(Checked::NotServed("snapshots are not served".to_owned()));
        };
        let turn = self.turns.take(party(context, request)).await;
        let services = &self.services;
        let Some(ResourceInStack {
            resource: loaded,
            stack,
        }) = services.store.resource_load_with_stack(resource_id).await?
        else {
            tracing::debug!(resource_id, "the resource is gone");
            self.watch.decide(Decision::Nothing, || {
                format!("the row of resource {resource_id} is gone")
            });
            Box::pin(self.pass_over_gone(context, request)).await?;
            return Ok(Checked::Done);
        };
        self.check_in_stack(context, request, loaded, stack, receipt, turn)
            .await
    }

    /// As [`Self::check_resource`], of a resource that has been read.
    pub async fn check_loaded(
        &self,
        context: &RequestContext,
        request: &CheckRequest,
        loaded: LoadedResource,
        receipt: &dyn Receipt,
    ) -> Result<Checked, StackError> {
        let turn = self.turns.take(party(context, request)).await;
        let store = &self.services.store;
        let stack = store
            .stack_get(&loaded.resource.stack_id, &Scope::Everyone, Deleted::Shown)
            .await?;
        self.check_in_stack(context, request, loaded, stack.map(Arc::new), receipt, turn)
            .await
    }

    async fn check_in_stack(
        &self,
        context: &RequestContext,
        request: &CheckRequest,
        loaded: LoadedResource,
        stack: Option<Arc<store::Stack>>,
        receipt: &dyn Receipt,
        turn: Turn,
    ) -> Result<Checked, StackError> {
        let services = &self.services;
        let resource_id = loaded.resource.id;
        let Some(row) = stack else {
            return Ok(Checked::Done);
        };
        let mut stack = Stack::from_row(services, Arc::unwrap_or_clone(row)).await?;
        stack.converge = request.converge;
        if let Some(reason) = not_served(&stack, &loaded.resource.name, request) {
            self.watch.decide(Decision::HandOver, || reason.clone());
            return Ok(Checked::NotServed(reason));
        }
        if request.traversal != stack.traversal() {
            tracing::debug!(traversal = request.traversal, "the traversal is over");
            self.watch.decide(Decision::Nothing, || {
                format!("the message is for a traversal that is over, {}", request.traversal)
            });
            Box::pin(self.retrigger_replaced(context, &loaded.resource, &request.node, &stack)).await?;
            return Ok(Checked::Done);
        }
        if !stack.is_in_progress() {
            // Its end is recorded but the traversal not tidied away yet, or the message comes late.
            tracing::debug!(traversal = request.traversal, "the stack has ended");
            self.watch.decide(Decision::Nothing, || {
                format!("the stack is {}: nothing is in progress", stack.state())
            });
            return Ok(Checked::Done);
        }
        if stack.has_timed_out(services) {
            self.watch.decide(Decision::FailStack, || {
                "the time of the stack's action is over".to_owned()
            });
            Box::pin(self.mark_failed(context, &mut stack, "Timed out")).await?;
            return Ok(Checked::Done);
        }
        let known = request.known_resources();
        let mut subject = match Subjected::prepare(self, context, &stack, loaded, &request.node, known).await {
            Ok(Ok(subject)) => Box::new(subject),
            Ok(Err(reason)) => {
                self.watch.decide(Decision::HandOver, || reason.clone());
                return Ok(Checked::NotServed(reason));
            }
            Err(error) if error.is_outage() => return Err(error),
            // What cannot be read will not be readable at the next delivery either.
            Err(error) => {
                tracing::error!(
                    stack = stack.name(),
                    resource_id,
                    error = &error as &dyn std::error::Error,
                    "unreadable"
                );
                self.watch.decide(Decision::FailStack, || error.to_string());
                Box::pin(self.fail(context, request, &mut stack, resource_id, &error.to_string())).await?;
                return Ok(Checked::Done);
            }
        };
        let begun = Begun {
            beginning: Beginning::Afresh,
            receipt,
            running: self.running.begin(stack.id()),
            turn,
        };
        self.check(context, request, &mut stack, &mut subject, begun).await?;
        Ok(Checked::Done)
    }

    /// All that is rare here, or soon done, has its room apart: a check may wait for hours in what its resource does, and
    /// there are thousands of them.
    pub(super) async fn check(
        &self,
        context: &RequestContext,
        request: &CheckRequest,
        stack: &mut Stack,
        subject: &mut Subjected,
        begun: Begun<'_>,
    ) -> Result<(), StackError> {
        let began = Instant::now();
        let type_name = subject.type_name();
        let _holding = self.unreleased.watch(subject.tracked.row.id, &subject.tracked.held);
        let template_before = subject.tracked.row.current_template_id;
        let deadline = Instant::now() + stack.time_remaining(&self.services);
        let end = match request.skip_propagate {
            true => {
                self.watch
                    .decide(Decision::PassOver, || "a node before it was passed over".to_owned());
                Ok(())
            }
            false => {
                let work = Work {
                    engine: self,
                    context,
                    request,
                    stack,
                    beginning: begun.beginning,
                    receipt: begun.receipt,
                    running: &begun.running,
                    deadline,
                    turn: &begun.turn,
                };
                subject.act(&work).await
            }
        };
        // What follows waits for other predecessors, and is soon done.
        drop(begun.turn);
        let ended = Box::pin(self.end(context, request, stack, subject, end)).await;
        let failure = match ended {
            Ok(()) => {
                measure::checked(type_name, &request.node, None, began.elapsed());
                return Ok(());
            }
            Err(failure) => failure,
        };
        measure::checked(type_name, &request.node, Some(&failure), began.elapsed());
        self.watch.tell(|| Step::Ended {
            how: failure.kind(),
            reason: failure.to_string(),
        });
        Box::pin(self.follow(context, request, stack, subject, failure, template_before)).await
    }

    /// Tells whoever waits for the node that it is done, if it is.
    async fn end(
        &self,
        context: &RequestContext,
        request: &CheckRequest,
        stack: &mut Stack,
        subject: &mut Subjected,
        acted: Result<(), CheckEnd>,
    ) -> Result<(), CheckEnd> {
        acted?;
        self.note_done(&request.traversal, &request.node).await;
        let told = self.propagate_through_outages(context, request, stack, subject).await;
        if let Err(error) = told {
            self.forget_done(&request.traversal, &request.node).await;
            return Err(CheckEnd::Stack(error));
        }
        Ok(())
    }

    /// What comes of a check that did not do what its node asks for.
    async fn follow(
        &self,
        context: &RequestContext,
        request: &CheckRequest,
        stack: &mut Stack,
        subject: &mut Subjected,
        end: CheckEnd,
        template_before: Option<i64>,
    ) -> Result<(), StackError> {
        let resource_id = subject.tracked.row.id;
        match end {
            CheckEnd::Replace => self.replace(context, request, stack, subject).await,
            CheckEnd::Replaced(replacement_id) => self.go_on_with(context, request, stack, replacement_id).await,
            CheckEnd::Contended => self.contended(context, request, stack, subject, template_before).await,
            CheckEnd::PassedOn => Ok(()),
            CheckEnd::Cancelled | CheckEnd::HandedBack => {
                self.broken_off(context, request, stack.id(), resource_id).await
            }
            CheckEnd::Failed { .. } | CheckEnd::TimedOut => {
                self.fail(context, request, stack, resource_id, &end.to_string()).await
            }
            CheckEnd::Stack(error) => {
                tracing::error!(
                    stack = stack.name(),
                    resource = subject.tracked.row.name,
                    error = &error as &dyn std::error::Error,
                    "unexpected error in resource check"
                );
                self.fail(context, request, stack, resource_id, &error.to_string())
                    .await
            }
        }
    }

    /// The stack failed by this resource. If a newer traversal has taken over, it may be waiting for the resource.
    async fn fail(
        &self,
        context: &RequestContext,
        request: &CheckRequest,
        stack: &mut Stack,
        resource_id: i64,
        reason: &str,
    ) -> Result<(), StackError> {
        if self.mark_failed(context, stack, reason).await? {
            return Ok(());
        }
        self.retrigger_if_newer(context, &request.traversal, stack.id(), resource_id)
            .await
    }

    /// The action was broken off before its end, and nobody else would have the resource checked again. Workers are told to
    /// stop so that another traversal can begin: that one may wait for it by now. An order that comes late, or the end of the
    /// engine, breaks off what the traversal itself still wants.
    async fn broken_off(
        &self,
        context: &RequestContext,
        request: &CheckRequest,
        stack_id: &str,
        resource_id: i64,
    ) -> Result<(), StackError> {
        let latest = Stack::load(&self.services, stack_id, &Scope::Everyone, Deleted::Shown).await?;
        match latest {
            Some(latest) if latest.traversal() == request.traversal && latest.is_in_progress() => {
                tracing::info!(
                    resource_id,
                    stack = latest.name(),
                    "its action was broken off and is still wanted; it is checked again"
                );
                self.send_again(context, request, &latest).await
            }
            _ => {
                self.retrigger_if_newer(context, &request.traversal, stack_id, resource_id)
                    .await
            }
        }
    }

    /// The message is acknowledged by now, so an outage must not end this; telling again what was told is harmless.
    async fn propagate_through_outages(
        &self,
        context: &RequestContext,
        request: &CheckRequest,
        stack: &mut Stack,
        subject: &mut Subjected,
    ) -> Result<(), StackError> {
        loop {
            match self.propagate(context, request, stack, subject).await {
                Err(error) if error.is_outage() && !self.ending.is_cancelled() => {
                    tracing::warn!(stack = stack.name(), %error, "what follows the resource waits for the outage to end");
                    tokio::time::sleep(OUTAGE_PAUSE).await;
                }
                outcome => return outcome,
            }
        }
    }

    async fn propagate(
        &self,
        context: &RequestContext,
        request: &CheckRequest,
        stack: &mut Stack,
        subject: &mut Subjected,
    ) -> Result<(), StackError> {
        let graph = self.graph(stack.id(), stack.traversal()).await?;
        let resource_id = subject.tracked.row.id;
        if graph.is_empty() {
            // The stack went on to another traversal before anybody here had read the graph of this one.
            return self
                .retrigger_if_newer(context, &request.traversal, stack.id(), resource_id)
                .await;
        }
        let sender = self
            .name_in_graph(&graph, &request.node, subject.tracked.row.replaces)
            .await?;
        let is_needed = graph.required_by(&sender).any(|successor| successor.is_update);
        let data = match is_needed {
            true if self.watch.has_left_out() => Value::from(NOT_KNOWN_YET),
            true => node_data(subject, &stack.definition).await?.to_value(),
            false => Value::Null,
        };
        let passing = Passing {
            sender: &sender,
            data,
            successor_row: subject.tracked.row.replaced_by.unwrap_or(resource_id),
            adopt_stack_data: &request.adopt_stack_data,
            skip: request.skip_propagate,
            failures: request
                .accumulated_failures
                .clone()
                .filter(|failures| !failures.is_empty()),
            abandon: request.abandon,
        };
        let mut told = self.tell_successors(context, stack, &graph, &passing).await?;
        if told == Told::Everybody {
            if request.node.is_update {
                subject.keep_attributes(&self.services, is_needed).await?;
            }
            told = self.tell_stack(context, stack, &graph, &passing).await?;
        }
        if told == Told::Nobody {
            self.retrigger_if_newer(context, &request.traversal, stack.id(), resource_id)
                .await?;
        }
        Ok(())
    }

    /// Makes the row of a replacement and has it checked in the resource's place.
    async fn replace(
        &self,
        context: &RequestContext,
        request: &CheckRequest,
        stack: &Stack,
        subject: &mut Subjected,
    ) -> Result<(), StackError> {
        use crate::store::Replacement;
        let resource_id = subject.tracked.row.id;
        match subject
            .make_replacement(&self.services, stack.row.raw_template_id)
            .await?
        {
            Replacement::Created(replacement_id) => {
                tracing::info!(resource_id, replacement_id, "replacing the resource");
                self.check_replacement(context, request, stack, replacement_id).await?;
            }
            Replacement::Lost => tracing::info!(resource_id, "not replaced: locked by a newer traversal"),
            Replacement::TemplateGone => {
                tracing::info!(resource_id, "not replaced: a newer traversal has begun");
                self.retrigger_if_newer(context, &request.traversal, stack.id(), resource_id)
                    .await?;
            }
        }
        Ok(())
    }

    async fn check_replacement(
        &self,
        context: &RequestContext,
        request: &CheckRequest,
        stack: &Stack,
        replacement_id: i64,
    ) -> Result<(), StackError> {
        let node = Node::update(replacement_id);
        let message = CheckMessage {
            input_data: request.input_data.clone(),
            adopt_stack_data: request.adopt_stack_data.clone(),
            ..CheckMessage::new(&node, stack.traversal())
        };
        self.send_check(context, message).await?;
        Ok(())
    }

    /// The message came again, after the replacement was made. Unless somebody has begun with the replacement, the
    /// message that asks for it may be lost.
    async fn go_on_with(
        &self,
        context: &RequestContext,
        request: &CheckRequest,
        stack: &Stack,
        replacement_id: i64,
    ) -> Result<(), StackError> {
        if self.has_sent(stack.traversal(), &Node::update(replacement_id)) {
            return Ok(());
        }
        let row = self.services.store.resource_get(replacement_id).await?;
        if row.is_some_and(|row| is_untouched(&row)) {
            self.check_replacement(context, request, stack, replacement_id).await?;
        }
        Ok(())
    }

    /// A clean-up node whose row is gone: it was removed before it ever came to be, and the engine broke off before it
    /// told the others.
    pub(super) async fn pass_over_gone(
        &self,
        context: &RequestContext,
        request: &CheckRequest,
    ) -> Result<(), StackError> {
        let Some(resource_id) = request.node.resource_id().filter(|_| !request.node.is_update) else {
            return Ok(());
        };
        let key = key_of(&request.node, &request.traversal);
        let Some(point) = self.services.store.sync_point_get(&key).await? else {
            return Ok(());
        };
        let stack = Stack::load(&self.services, &point.stack_id, &Scope::Everyone, Deleted::Shown).await?;
        let Some(mut stack) = stack.filter(|stack| stack.traversal() == request.traversal) else {
            return Ok(());
        };
        let graph = self.graph(stack.id(), stack.traversal()).await?;
        if !graph.contains(&request.node) {
            return Ok(());
        }
        let passing = Passing {
            sender: &request.node,
            data: Value::Null,
            successor_row: resource_id,
            adopt_stack_data: &request.adopt_stack_data,
            skip: request.skip_propagate,
            failures: request.accumulated_failures.clone(),
            abandon: request.abandon,
        };
        if self.tell_successors(context, &stack, &graph, &passing).await? == Told::Everybody {
            self.tell_stack(context, &mut stack, &graph, &passing).await?;
        }
        Ok(())
    }

    /// Somebody else has the resource, or had it since we read it. If its holder is dead, the lock is taken from it; if
    /// only our view was old, the check is sent again; otherwise whoever holds it will re-trigger us.
    async fn contended(
        &self,
        context: &RequestContext,
        request: &CheckRequest,
        stack: &Stack,
        subject: &Subjected,
        template_before: Option<i64>,
    ) -> Result<(), StackError> {
        let resource_id = subject.tracked.row.id;
        let row = self.services.store.resource_get(resource_id).await?;
        let is_ours = |row: &Resource| row.engine_id.as_deref() == Some(self.services.engine_id.as_str());
        let had_lock = subject.tracked.held.is_set();
        // Taken from us while we were thought to be dead, or offered by us and taken although the answer was lost.
        subject.tracked.held.set(had_lock && row.as_ref().is_some_and(is_ours));
        let Some(row) = row else { return Ok(()) };
        let again = match row.engine_id.as_deref() {
            None => row.current_template_id == template_before && !self.has_done(&request.traversal, &request.node),
            Some(_) if is_ours(&row) || had_lock => false,
            Some(holder) if self.is_alive(context, holder).await? => false,
            Some(holder) => self
                .take_lock_from(&subject.tracked, Some(holder), row.atomic_key)
                .await?
                .is_updated(),
        };
        if !again {
            tracing::debug!(
                resource_id,
                holder = row.engine_id,
                "the resource is with another traversal"
            );
            return Ok(());
        }
        self.send_again(context, request, stack).await
    }

    /// Has the node checked once more, by whichever engine takes it.
    async fn send_again(
        &self,
        context: &RequestContext,
        request: &CheckRequest,
        stack: &Stack,
    ) -> Result<(), StackError> {
        let message = CheckMessage {
            input_data: request.input_data.clone(),
            adopt_stack_data: request.adopt_stack_data.clone(),
            converge: request.converge,
            abandon: request.abandon,
            ..CheckMessage::new(&request.node, stack.traversal())
        };
        self.send_check(context, message).await?;
        Ok(())
    }

    /// A replacement that the latest traversal does not know is to be cleaned up; what it replaced may be what the
    /// traversal (a rollback) waits for.
    async fn retrigger_replaced(
        &self,
        context: &RequestContext,
        row: &Resource,
        node: &Node,
        stack: &Stack,
    ) -> Result<(), StackError> {
        if row.replaces.is_none() {
            return Ok(());
        }
        let graph = match stack.is_in_progress() {
            // One that is still to be laid out finds the replacement among the rows.
            true => self.laid_out_graph(stack.id(), stack.traversal()).await?,
            false => Some(self.latest_graph(stack.id(), stack.traversal()).await?),
        };
        let Some(graph) = graph.filter(|graph| !graph.contains(node)) else {
            return Ok(());
        };
        // One that has been begun, by a message that came before this one, is for a clean-up to remove.
        if is_untouched(row) {
            let changes = ResourceChanges {
                action: Some(Action::Delete.to_string()),
                ..ResourceChanges::default()
            };
            let expected = ExpectedResource::unlocked(row.atomic_key);
            let swap = self.services.store.resource_swap(row.id, &expected, &changes).await?;
            tracing::debug!(resource_id = row.id, ?swap, "the replacement is not wanted any more");
        }
        let replaced = self.name_in_graph(&graph, node, row.replaces).await?;
        match replaced.resource_id() {
            Some(replaced) => self.retrigger(context, replaced, stack).await,
            None => Ok(()),
        }
    }
}

pub(super) fn party(context: &RequestContext, request: &CheckRequest) -> Party {
    Party {
        project: context.project_id.as_deref().unwrap_or_default().into(),
        traversal: request.traversal.as_str().into(),
    }
}

/// Whether nobody has worked on a resource yet.
fn is_untouched(row: &Resource) -> bool {
    row.engine_id.is_none() && row.action.as_deref() == Some(Action::Init.as_str())
}

/// What only a Python engine can do.
pub(super) fn not_served(stack: &Stack, resource_name: &str, request: &CheckRequest) -> Option<String> {
    let registry = &stack.template().environment().registry;
    if let Some(hook) = registry.hook_of(resource_name, !request.node.is_update) {
        return Some(format!(
            "the hook \"{hook}\" of resource \"{resource_name}\" is not served"
        ));
    }
    match stack.action() {
        action @ (Action::Check | Action::Suspend | Action::Resume | Action::Snapshot | Action::Adopt) => {
            Some(format!("stacks in {action} are not served"))
        }
        _ if !request.adopt_stack_data.is_null() => Some("adopting is not served".to_owned()),
        _ if request.abandon => Some("abandoning is not served".to_owned()),
        _ => None,
    }
}
