//! What the tables say of one traversal, read at one time.
//!
//! Nobody keeps a list of what is to be done in a stack: it follows from the graph, the sync points and the rows. Whoever
//! wants to know (the sweep for lost work, a person who asks) draws it from these.

use std::collections::HashMap;
use std::sync::Arc;

use chrono::NaiveDateTime;
use serde_json::{Map, Value};

use super::engine::{Convergence, Graph};
use super::meeting::Meeting;
use super::request::CheckRequest;
use super::sync_point::{read, stack_key};
use crate::resource::state::Action;
use crate::stack::action_of;
use crate::stack::error::StackError;
use crate::stack::node::Node;
use crate::store::{self, DatedSyncPoint, NewestEvents, Resource};

/// A sync point, read.
#[derive(Debug, Clone)]
pub(super) struct Point {
    pub meeting: Meeting,
    pub changed_at: Option<NaiveDateTime>,
}

#[derive(Debug)]
pub(super) struct Picture {
    pub action: Action,
    pub template_id: i64,
    pub graph: Arc<Graph>,
    /// By the entity and whether it updates.
    pub points: HashMap<(String, bool), Point>,
    pub of_stack: Point,
    pub rows: HashMap<i64, Resource>,
    pub events: NewestEvents,
}

/// The message of a node, as its sync point has it.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Lost {
    pub node: Node,
    pub input_data: Value,
    pub failures: Map<String, Value>,
    pub skip_propagate: bool,
}

impl Lost {
    pub fn at(point: &Point, node: Node) -> Self {
        Self {
            node,
            input_data: point.meeting.clone().into_input_data(),
            failures: point.meeting.failures(),
            skip_propagate: point.meeting.skip_propagate(),
        }
    }

    pub fn into_request(self, traversal: String) -> CheckRequest {
        CheckRequest {
            node: self.node,
            traversal,
            input_data: self.input_data,
            adopt_stack_data: Value::Null,
            converge: false,
            skip_propagate: self.skip_propagate,
            accumulated_failures: Some(self.failures).filter(|failures| !failures.is_empty()),
            abandon: false,
        }
    }
}

impl Convergence {
    /// `None` if the traversal was not laid out: its last row is the sync point of the stack.
    pub(super) async fn picture(
        &self,
        stack: &store::Stack,
        points: &[DatedSyncPoint],
        events: NewestEvents,
    ) -> Result<Option<Picture>, StackError> {
        let traversal = stack.current_traversal.as_deref().unwrap_or_default();
        let of_stack = stack_key(&stack.id, traversal);
        let mut read_points: HashMap<(String, bool), Point> = points
            .iter()
            .map(|dated| {
                let point = Point {
                    meeting: read(&dated.point),
                    changed_at: dated.changed_at,
                };
                ((dated.key.entity_id.clone(), dated.key.is_update), point)
            })
            .collect();
        let Some(of_stack) = read_points.remove(&(of_stack.entity_id, of_stack.is_update)) else {
            return Ok(None);
        };
        let rows = self.services.store.resources_by_stack(&stack.id).await?;
        Ok(Some(Picture {
            action: action_of(stack),
            template_id: stack.raw_template_id,
            graph: self.latest_graph(&stack.id, traversal).await?,
            points: read_points,
            of_stack,
            rows: rows.into_iter().map(|row| (row.id, row)).collect(),
            events,
        }))
    }
}

impl Picture {
    /// The message that a node had, or would have.
    pub fn lost(&self, node: &Node) -> Option<Lost> {
        let point = self.point_of(node)?;
        let row = node.resource_id().and_then(|id| self.rows.get(&id));
        let worker = match row {
            Some(row) if node.is_update => Node::update(self.latest_replacement(row).id),
            _ => node.clone(),
        };
        Some(Lost::at(point, worker))
    }

    /// Whether the node's resource has no row any more.
    pub fn is_gone(&self, node: &Node) -> bool {
        node.resource_id().is_some_and(|id| !self.rows.contains_key(&id))
    }

    pub fn point_of(&self, node: &Node) -> Option<&Point> {
        self.points.get(&(node.entity_id(), node.is_update))
    }

    /// Whom the node waits for that has not arrived.
    pub fn missing(&self, node: &Node) -> Vec<&Node> {
        match self.point_of(node) {
            Some(point) => point.meeting.missing(self.graph.requires(node)),
            None => self.graph.requires(node).collect(),
        }
    }

    pub fn is_ready(&self, node: &Node, point: &Point) -> bool {
        point.meeting.missing(self.graph.requires(node)).is_empty()
    }

    /// Whether everybody who waits for the node has heard of it.
    pub fn has_told(&self, node: &Node) -> bool {
        if self.graph.required_by(node).next().is_none() {
            return has_arrived(node, &self.of_stack);
        }
        self.untold(node).is_empty()
    }

    /// Those who wait for the node and have not heard of it.
    pub fn untold(&self, node: &Node) -> Vec<&Node> {
        let waiting = self.graph.required_by(node);
        let heard = |waiting: &&Node| {
            let point = self.point_of(waiting);
            point.is_none_or(|point| has_arrived(node, point))
        };
        waiting.filter(|waiting| !heard(waiting)).collect()
    }

    /// The row that stands for a resource now: a replacement of this traversal, or the replacement of that.
    pub fn latest_replacement<'a>(&'a self, row: &'a Resource) -> &'a Resource {
        latest_replacement(&self.rows, &self.graph, self.template_id, row)
    }
}

fn has_arrived(node: &Node, point: &Point) -> bool {
    point.meeting.missing(std::iter::once(node)).is_empty()
}

pub(super) fn latest_replacement<'a>(
    rows: &'a HashMap<i64, Resource>,
    graph: &Graph,
    template_id: i64,
    mut row: &'a Resource,
) -> &'a Resource {
    while let Some(next) = row.replaced_by.and_then(|id| rows.get(&id))
        && next.id > row.id
        && next.current_template_id == Some(template_id)
        && !graph.contains(&Node::cleanup(next.id))
    {
        row = next;
    }
    row
}
