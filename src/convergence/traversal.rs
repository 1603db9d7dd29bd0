//! Starting a traversal: the stack's new template and state, the graph, the sync points, and the first messages.
//!
//! The order is what makes a crash harmless. The stack row moves to the new traversal by one compare-and-swap; rows for
//! new resources, the graph and all sync points follow in one transaction; messages come last. Whatever breaks off in
//! between is either not begun or can be told from the tables.

use std::sync::Arc;

use futures_util::future::BoxFuture;
use indexmap::IndexMap;
use serde_json::json;
use tracing::Instrument;

use super::engine::{Convergence, Graph, graph_text};
use super::graph::{ExistingResource, best_existing, traversal_graph};
use super::pace::{Pace, run_row};
use super::propagate::cleanups_first;
use super::witness::Decision;
use super::worker_client::CheckMessage;
use crate::identity::RequestContext;
use crate::resource::state::{Action, Status};
use crate::stack::dependencies::Dependencies;
use crate::stack::error::StackError;
use crate::stack::node::Node;
use crate::stack::state::Expected;
use crate::stack::stored::state_of;
use crate::stack::{Stack, identity_of};
use crate::store::{NewResource, NewSyncPoint, Resource, StackChanges, Swap, SyncPointKey};
use crate::template::{Environment, Files, StackDefinition, Template};

/// What a traversal is to bring about.
#[derive(Clone, Debug)]
pub struct Plan {
    pub action: Action,
    pub template: PlannedTemplate,
    /// For an update: what else of the stack changes with it.
    pub settings: Option<PlannedSettings>,
    /// Stop workers that still hold resources of the stack before anything else is begun.
    pub stop_workers: bool,
}

impl Plan {
    fn is_for_a_new_stack(&self) -> bool {
        matches!(self.action, Action::Create | Action::Adopt)
    }
}

#[derive(Clone, Debug)]
pub enum PlannedTemplate {
    /// The template of that row.
    Stored(i64),
    New(Arc<Template>),
}

#[derive(Clone, Debug)]
pub struct PlannedSettings {
    pub disable_rollback: bool,
    pub timeout_mins: Option<i64>,
    pub converge: bool,
    pub tags: Vec<String>,
}

/// Everything that the start of a traversal writes in one transaction, and what it reckons with.
struct Beginning {
    stack_id: String,
    traversal: String,
    template: Dependencies<String>,
    existing: IndexMap<i64, ExistingResource>,
    /// Rows that go on, by the resource's name.
    chosen: IndexMap<String, i64>,
    missing: Vec<NewResource>,
    snapshots: Vec<String>,
}

impl Convergence {
    /// Begins a traversal. Returns once the stack is in its new state; the rest goes on in the background. False if
    /// another request has changed the stack in the meantime.
    pub async fn converge(&self, context: &RequestContext, stack: &mut Stack, plan: Plan) -> Result<bool, StackError> {
        self.watch.decide(Decision::BeginTraversal, || plan.action.to_string());
        if self.watch.rehearses() {
            // It would start from rows that are not written.
            return Ok(true);
        }
        let Some(previous) = self.enter_traversal(context, stack, &plan).await? else {
            return Ok(false);
        };
        let prepared = self.leave_traversal(stack, &plan, &previous).await;
        let (engine, context, mut stack) = (self.clone(), context.clone(), stack.clone());
        let run = async move {
            engine
                .run_start(&context, &mut stack, prepared, plan.stop_workers)
                .await
        };
        self.services.background.spawn(run.in_current_span());
        Ok(true)
    }

    /// Goes back to the template before the current one, or to nothing if there was none.
    pub async fn roll_back(&self, context: &RequestContext, stack: &mut Stack) -> Result<(), StackError> {
        let template = match stack.row.prev_raw_template_id {
            None => PlannedTemplate::New(Arc::new(empty_of_same_version(stack.template())?)),
            Some(previous) => {
                stack.row.prev_raw_template_id = None;
                let changes = StackChanges {
                    prev_raw_template_id: Some(None),
                    ..StackChanges::default()
                };
                let traversal = stack.traversal().to_owned();
                let swap = self
                    .services
                    .store
                    .stack_swap(stack.id(), Some(&traversal), &changes)
                    .await?;
                if !swap.is_updated() {
                    tracing::warn!(stack = stack.name(), ?swap, "another traversal has begun; no rollback");
                    return Ok(());
                }
                PlannedTemplate::Stored(previous)
            }
        };
        let plan = Plan {
            action: Action::Rollback,
            template,
            settings: None,
            stop_workers: false,
        };
        self.converge(context, stack, plan).await?;
        Ok(())
    }

    /// Moves the stack row into a new traversal. Gives the one before it, or `None` if the swap was lost.
    async fn enter_traversal(
        &self,
        context: &RequestContext,
        stack: &mut Stack,
        plan: &Plan,
    ) -> Result<Option<String>, StackError> {
        let services = &self.services;
        if !plan.is_for_a_new_stack() {
            stack.row.prev_raw_template_id = Some(stack.row.raw_template_id);
            stack.row.updated_at = Some(services.clock.utc_now());
        }
        let template_id = match &plan.template {
            PlannedTemplate::Stored(id) => *id,
            PlannedTemplate::New(template) => {
                let definition =
                    StackDefinition::new(template.clone(), &identity_of(&stack.row, true), &services.world)?;
                services.templates.insert(template, &definition).await?
            }
        };
        stack.row.raw_template_id = template_id;
        stack.definition = services.templates.definition(&stack.row, template_id).await?;
        if let Some(settings) = &plan.settings {
            stack.row.disable_rollback = settings.disable_rollback;
            stack.row.timeout = settings.timeout_mins;
            stack.converge = settings.converge;
        }
        let previous = stack.traversal().to_owned();
        stack.row.action = Some(plan.action.to_string());
        stack.row.status = Some(Status::InProgress.to_string());
        stack.row.status_reason = Some(format!("Stack {} started", plan.action));
        stack.row.current_traversal = Some(services.clock.new_uuid());
        let changes = StackChanges {
            raw_template_id: Some(template_id),
            prev_raw_template_id: Some(stack.row.prev_raw_template_id),
            action: stack.row.action.clone(),
            status: stack.row.status.clone(),
            status_reason: stack.row.status_reason.clone(),
            timeout: Some(stack.row.timeout),
            disable_rollback: Some(stack.row.disable_rollback),
            current_traversal: stack.row.current_traversal.clone(),
            updated_at: Some(stack.row.updated_at),
            ..StackChanges::default()
        };
        if let Some(settings) = &plan.settings {
            stack.tags = Some(settings.tags.clone());
        }
        let swap = stack
            .swap_and_announce(services, context, Expected::Traversal(previous.clone()), changes)
            .await?;
        if !swap.is_updated() {
            tracing::warn!(
                stack = stack.name(),
                traversal = previous,
                ?swap,
                "not started: the stack has moved on"
            );
            if let PlannedTemplate::New(_) = plan.template {
                let removal = services.store.raw_template_delete(template_id).await?;
                tracing::debug!(template_id, ?removal, "the template of what was not started");
            }
            return Ok(None);
        }
        Ok(Some(previous))
    }

    /// What goes with the step from one traversal to the next.
    async fn leave_traversal(&self, stack: &Stack, plan: &Plan, previous: &str) -> Result<(), StackError> {
        if let Some(settings) = &plan.settings {
            self.services.store.stack_tags_set(stack.id(), &settings.tags).await?;
        }
        // What a new stack was stored with is no traversal that could have sync points.
        if !previous.is_empty() && !plan.is_for_a_new_stack() {
            self.services.store.sync_points_delete(stack.id(), previous).await?;
        }
        Ok(())
    }

    /// The part of the start that runs in the background. Whatever breaks it, or what was to come before it, marks
    /// the stack as failed: nobody else would.
    ///
    /// Boxed: a failed start may roll back, which is the start of another traversal.
    pub(super) fn run_start<'a>(
        &'a self,
        context: &'a RequestContext,
        stack: &'a mut Stack,
        prepared: Result<(), StackError>,
        stop_workers: bool,
    ) -> BoxFuture<'a, ()> {
        Box::pin(async move {
            let started = match prepared {
                Ok(()) => self.start(context, stack, stop_workers).await,
                unprepared => unprepared,
            };
            let Err(error) = started else {
                return;
            };
            report(stack, &error, "the traversal did not start");
            if let Err(error) = self.mark_failed(context, stack, &error.to_string()).await {
                report(stack, &error, "the stack could not be marked as failed");
            }
        })
    }

    async fn start(&self, context: &RequestContext, stack: &mut Stack, stop_workers: bool) -> Result<(), StackError> {
        if stop_workers {
            self.stop_all_workers(context, stack).await?;
        }
        let Some(graph) = self.lay_out(stack).await? else {
            tracing::warn!(stack = stack.name(), "not started: the stack has moved on");
            return Ok(());
        };
        let leaves = cleanups_first(graph.leaves());
        tracing::debug!(
            stack = stack.name(),
            nodes = graph.len(),
            leaves = leaves.len(),
            "traversal starts"
        );
        if leaves.is_empty() {
            return self.mark_complete(context, stack).await;
        }
        let pace = Pace::new(self);
        let sending = leaves.into_iter().map(|node| async {
            pace.next().await;
            let message = CheckMessage {
                converge: stack.converge,
                ..CheckMessage::new(node, stack.traversal())
            };
            self.send_check(context, message).await
        });
        run_row(sending, Result::is_err).await.unwrap_or(Ok(()))?;
        Ok(())
    }

    /// Rows for new resources, the graph and the sync points, in one transaction. `None` if the stack has moved on.
    async fn lay_out(&self, stack: &Stack) -> Result<Option<Arc<Graph>>, StackError> {
        let beginning = self.beginning(stack).await?;
        let traversal = beginning.traversal.clone();
        let graph = self
            .services
            .store
            .transaction(beginning, |session, beginning| {
                Box::pin(async move {
                    let ids = session.resources_create(&beginning.missing).await?;
                    let mut chosen = beginning.chosen.clone();
                    chosen.extend(beginning.missing.iter().map(|row| row.name.clone()).zip(ids));
                    let graph =
                        traversal_graph(&beginning.template, &chosen, &beginning.existing, &beginning.snapshots);
                    let changes = StackChanges {
                        current_deps: Some(Some(graph_text(&graph))),
                        ..StackChanges::default()
                    };
                    let swap = session
                        .stack_swap(&beginning.stack_id, Some(&beginning.traversal), &changes)
                        .await?;
                    if swap != Swap::Updated {
                        session.abandon();
                        return Ok(None);
                    }
                    session.sync_points_create(&beginning.sync_points(&graph)).await?;
                    Ok(Some(graph))
                })
            })
            .await?;
        match graph {
            Some(graph) => Ok(Some(self.remember_graph(&traversal, graph).await)),
            None => Ok(None),
        }
    }

    async fn beginning(&self, stack: &Stack) -> Result<Beginning, StackError> {
        let services = &self.services;
        let rows = services.store.resources_by_stack(stack.id()).await?;
        let existing: IndexMap<i64, ExistingResource> = rows
            .iter()
            .map(|row| (row.id, existing(row)))
            .filter(|(_, row)| !is_deleted(row))
            .collect();
        let template = stack.dependencies()?;
        let root = self.root_stack_id(stack).await?;
        let template_id = stack.row.raw_template_id;
        let mut chosen = IndexMap::new();
        let mut missing = Vec::new();
        for name in template
            .in_reverse_order()
            .map_err(|cycle| StackError::circular(&cycle.0))?
        {
            match best_existing(existing.values(), &name, template_id, stack.row.prev_raw_template_id) {
                Some(row) => {
                    chosen.insert(name, row.id);
                }
                None => missing.push(NewResource {
                    uuid: services.clock.new_uuid(),
                    stack_id: stack.id().to_owned(),
                    root_stack_id: Some(root.clone()),
                    name,
                    action: Some(Action::Init.to_string()),
                    status: Some(Status::Complete.to_string()),
                    status_reason: Some(String::new()),
                    current_template_id: Some(template_id),
                    updated_at: stack.row.updated_at,
                    ..NewResource::default()
                }),
            }
        }
        let snapshots = match stack.action() {
            Action::Delete => services.store.snapshot_ids(stack.id(), stack.tenant()).await?,
            _ => Vec::new(),
        };
        Ok(Beginning {
            stack_id: stack.id().to_owned(),
            traversal: stack.traversal().to_owned(),
            template,
            existing,
            chosen,
            missing,
            snapshots,
        })
    }

    async fn root_stack_id(&self, stack: &Stack) -> Result<String, StackError> {
        match &stack.row.owner_id {
            None => Ok(stack.id().to_owned()),
            Some(owner) => Ok(self
                .services
                .store
                .stack_root_id(owner)
                .await?
                .unwrap_or_else(|| owner.clone())),
        }
    }
}

impl Beginning {
    /// One for each node, and the one in which the roots meet.
    fn sync_points(&self, graph: &Graph) -> Vec<NewSyncPoint> {
        let point = |entity_id: String, is_update: bool| NewSyncPoint {
            key: SyncPointKey {
                entity_id,
                traversal_id: self.traversal.clone(),
                is_update,
            },
            stack_id: self.stack_id.clone(),
        };
        let nodes = graph.nodes().map(|node: &Node| point(node.entity_id(), node.is_update));
        nodes.chain([point(self.stack_id.clone(), true)]).collect()
    }
}

fn existing(row: &Resource) -> ExistingResource {
    let (action, status) = state_of(row);
    ExistingResource {
        id: row.id,
        name: row.name.clone(),
        action,
        status,
        requires: row.requires.clone(),
        replaces: row.replaces,
        replaced_by: row.replaced_by,
        current_template_id: row.current_template_id,
        changed_at: row.updated_at.or(Some(row.created_at)),
    }
}

fn is_deleted(row: &ExistingResource) -> bool {
    (row.action, row.status) == (Action::Delete, Status::Complete)
}

fn report(stack: &Stack, error: &StackError, what: &str) {
    tracing::error!(stack = stack.name(), error = error as &dyn std::error::Error, "{what}");
}

/// What a stack that never had a template before goes back to.
fn empty_of_same_version(template: &Template) -> Result<Template, StackError> {
    let (key, version) = template.version_as_written();
    Ok(Template::new(
        json!({ key: version }),
        Environment::default(),
        Files::default(),
    )?)
}
