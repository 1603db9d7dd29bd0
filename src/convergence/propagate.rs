//! After a node: tell those that wait for it, and see whether the stack is done.

use std::sync::Arc;

use serde_json::{Map, Value, json};

use super::engine::{Convergence, Graph};
use super::meeting::Arrival;
use super::pace::{Pace, run_row};
use super::sync_point::{Arrived, Place, Ready};
use super::worker_client::CheckMessage;
use crate::identity::RequestContext;
use crate::stack::Stack;
use crate::stack::error::StackError;
use crate::stack::node::{Node, Subject};
use crate::store::{Deleted, Scope};

/// What a finished node passes on.
#[derive(Debug)]
pub(super) struct Passing<'a> {
    /// The node as the graph names it.
    pub sender: &'a Node,
    /// The node data, for those that update; null if nobody needs it.
    pub data: Value,
    /// What those that clean up are told: which row stands for the resource now.
    pub successor_row: i64,
    pub adopt_stack_data: &'a Value,
    pub skip: bool,
    pub failures: Option<Map<String, Value>>,
    pub abandon: bool,
}

/// How far the news came.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Told {
    Everybody,
    /// The sync points are gone: the traversal is not the stack's any more.
    Nobody,
}

impl Convergence {
    /// The name that a resource's node has in the graph: a replacement stands for what it replaces, and so does the
    /// replacement of a replacement that broke.
    pub(super) async fn name_in_graph(
        &self,
        graph: &Graph,
        node: &Node,
        mut replaces: Option<i64>,
    ) -> Result<Node, StackError> {
        let mut name = node.clone();
        while let Some(replaced) = replaces
            && !graph.contains(&name)
        {
            name.subject = Subject::Resource(replaced);
            // Rows come into being later than what they replace.
            let row = self.services.store.resource_get(replaced).await?;
            replaces = row.and_then(|row| row.replaces).filter(|older| *older < replaced);
        }
        Ok(name)
    }

    /// Tells every node that waits for `passing.sender`, clean-ups first, and casts those that are ready.
    pub(super) async fn tell_successors(
        &self,
        context: &RequestContext,
        stack: &Stack,
        graph: &Arc<Graph>,
        passing: &Passing<'_>,
    ) -> Result<Told, StackError> {
        let pace = Pace::new(self);
        let successors = cleanups_first(graph.required_by(passing.sender));
        let telling = successors
            .into_iter()
            .map(|successor| self.tell_successor(context, stack, graph, passing, successor, &pace));
        let end = run_row(telling, |told| !matches!(told, Ok(Told::Everybody))).await;
        end.unwrap_or(Ok(Told::Everybody))
    }

    async fn tell_successor(
        &self,
        context: &RequestContext,
        stack: &Stack,
        graph: &Arc<Graph>,
        passing: &Passing<'_>,
        successor: &Node,
        pace: &Pace<'_>,
    ) -> Result<Told, StackError> {
        let own_cleanup = !successor.is_update && successor.subject == passing.sender.subject;
        let data = match (successor.is_update, own_cleanup) {
            (true, _) => passing.data.clone(),
            (false, true) => Value::Null,
            (false, false) => json!(passing.successor_row),
        };
        let arrival = Arrival {
            sender: passing.sender.clone(),
            data,
            failures: passing.failures.clone(),
            skip: passing.skip,
        };
        let place = Place::of_node(successor, stack.traversal(), graph);
        match self.arrive(&place, arrival).await? {
            Arrived::NoSyncPoint => return Ok(Told::Nobody),
            Arrived::Waiting => {}
            Arrived::Ready(ready) => {
                let lost = !ready.news
                    && !self.has_sent(stack.traversal(), successor)
                    && self.is_still_to_do(graph, stack, successor).await?;
                if ready.news || lost {
                    self.will_send(stack.traversal(), successor).await;
                    pace.next().await;
                    self.cast_ready(context, stack, successor, ready, passing).await?;
                }
            }
        }
        Ok(Told::Everybody)
    }

    /// Tells the stack, if nothing comes after the node, and completes it when everything has come.
    pub(super) async fn tell_stack(
        &self,
        context: &RequestContext,
        stack: &mut Stack,
        graph: &Arc<Graph>,
        passing: &Passing<'_>,
    ) -> Result<Told, StackError> {
        if graph.required_by(passing.sender).next().is_some() {
            return Ok(Told::Everybody);
        }
        let arrival = Arrival {
            sender: passing.sender.clone(),
            data: Value::Null,
            failures: passing.failures.clone(),
            skip: false,
        };
        let place = Place::of_stack(stack.id(), stack.traversal(), graph);
        match self.arrive(&place, arrival).await? {
            Arrived::NoSyncPoint => Ok(Told::Nobody),
            Arrived::Waiting => Ok(Told::Everybody),
            Arrived::Ready(_) => {
                self.mark_complete(context, stack).await?;
                Ok(Told::Everybody)
            }
        }
    }

    /// Casts a node of the stack's latest traversal that waits for this resource, if it has all that it needs.
    pub(super) async fn retrigger(
        &self,
        context: &RequestContext,
        resource_id: i64,
        stack: &Stack,
    ) -> Result<(), StackError> {
        let Some(graph) = self.laid_out_graph(stack.id(), stack.traversal()).await? else {
            tracing::debug!(
                stack = stack.name(),
                resource_id,
                "what the latest traversal casts is still to come"
            );
            return Ok(());
        };
        let nodes = [Node::update(resource_id), Node::cleanup(resource_id)];
        let Some(node) = nodes.into_iter().find(|node| graph.contains(node)) else {
            return Ok(());
        };
        tracing::info!(stack = stack.name(), %node, "re-triggering the resource for the latest traversal");
        let arrival = Arrival {
            sender: node.clone(),
            data: Value::Null,
            failures: None,
            skip: false,
        };
        let place = Place::of_node(&node, stack.traversal(), &graph);
        if let Arrived::Ready(ready) = self.arrive(&place, arrival).await? {
            let message = CheckMessage {
                input_data: ready.input_data,
                skip_propagate: ready.skip_propagate,
                accumulated_failures: Some(ready.failures),
                converge: stack.converge,
                ..CheckMessage::new(&node, stack.traversal())
            };
            self.send_check(context, message).await?;
        }
        Ok(())
    }

    /// As [`Self::retrigger`], if the stack has gone on to another traversal than `traversal`.
    pub(super) async fn retrigger_if_newer(
        &self,
        context: &RequestContext,
        traversal: &str,
        stack_id: &str,
        resource_id: i64,
    ) -> Result<(), StackError> {
        match Stack::load(&self.services, stack_id, &Scope::Everyone, Deleted::Shown).await? {
            Some(latest) if latest.traversal() != traversal => self.retrigger(context, resource_id, &latest).await,
            Some(_) | None => {
                tracing::debug!(stack_id, traversal, "no newer traversal to re-trigger");
                Ok(())
            }
        }
    }

    /// Whether a node that was ready before has neither finished nor begun, so that its message must have been lost.
    async fn is_still_to_do(&self, graph: &Graph, stack: &Stack, node: &Node) -> Result<bool, StackError> {
        if self.has_told(graph, stack.id(), stack.traversal(), node).await? {
            return Ok(false);
        }
        let Some(resource_id) = node.resource_id() else {
            return Ok(true);
        };
        let row = self.services.store.resource_get(resource_id).await?;
        Ok(row.is_some_and(|row| row.engine_id.is_none()))
    }

    async fn cast_ready(
        &self,
        context: &RequestContext,
        stack: &Stack,
        node: &Node,
        ready: Ready,
        passing: &Passing<'_>,
    ) -> Result<(), StackError> {
        let message = CheckMessage {
            input_data: ready.input_data,
            adopt_stack_data: passing.adopt_stack_data.clone(),
            converge: stack.converge,
            skip_propagate: ready.skip_propagate,
            accumulated_failures: Some(ready.failures),
            abandon: passing.abandon,
            ..CheckMessage::new(node, stack.traversal())
        };
        self.send_check(context, message).await?;
        Ok(())
    }
}

/// Nodes in the order in which they are told.
pub(super) fn cleanups_first<'a>(nodes: impl Iterator<Item = &'a Node>) -> Vec<&'a Node> {
    let mut nodes: Vec<&Node> = nodes.collect();
    nodes.sort_by_key(|node| node.is_update);
    nodes
}
