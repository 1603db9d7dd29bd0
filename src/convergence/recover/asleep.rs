//! What is asleep in one traversal, told from its rows alone.
//!
//! A node is asleep if everything that it waits for has arrived at its sync point, it has not arrived itself at those that
//! wait for it, and nobody has its resource.

use std::collections::HashSet;

use chrono::NaiveDateTime;

use crate::convergence::lock::went_down;
use crate::convergence::operation::{CANCELLED, ENGINE_STOPPED};
use crate::convergence::picture::{Lost, Picture, Point};
use crate::resource::state::{Action, Status};
use crate::stack::node::{Node, Subject};
use crate::stack::stored::state_of;
use crate::store::Resource;

/// What is to be done about a traversal.
#[derive(Debug, Clone, PartialEq)]
pub(super) enum Finding {
    /// The message of a node has to be sent again.
    Send(Lost),
    /// A resource is in progress and nobody's: its worker went down between two writes of an engine that needs two.
    Unheld { resource_id: i64 },
    /// A resource has failed and the stack was not told.
    Failed { reason: String },
    /// Everybody has arrived.
    Complete,
}

impl Picture {
    /// `heard_before`: what was heard of later may be under way. `freed`: resources whose holder is known to be dead,
    /// for which there is nothing to wait for.
    pub(super) fn findings(&self, heard_before: NaiveDateTime, freed: &HashSet<i64>) -> Vec<Finding> {
        let mut lost = Vec::new();
        let mut unheld = Vec::new();
        for node in self.graph.nodes() {
            let Some(point) = self.point_of(node) else { continue };
            if !self.is_ready(node, point) || self.has_told(node) {
                continue;
            }
            match self.judge(node, point, heard_before, freed) {
                Verdict::Busy => {}
                Verdict::Asleep(worker) => lost.push(Finding::Send(Lost::at(point, worker))),
                Verdict::Unheld(worker, resource_id) => {
                    unheld.push(Finding::Unheld { resource_id });
                    lost.push(Finding::Send(Lost::at(point, worker)));
                }
                // The stack fails as a whole: nothing else matters then.
                Verdict::Failed(reason) => return vec![Finding::Failed { reason }],
            }
        }
        let everybody = self.of_stack.meeting.missing(self.graph.roots()).is_empty();
        if everybody && is_old(self.of_stack.changed_at, heard_before) {
            return vec![Finding::Complete];
        }
        unheld.extend(lost);
        unheld
    }

    fn judge(&self, node: &Node, point: &Point, heard_before: NaiveDateTime, freed: &HashSet<i64>) -> Verdict {
        let Some(resource_id) = node.resource_id() else {
            return Verdict::of(is_old(point.changed_at, heard_before), node.clone());
        };
        let Some(row) = self.rows.get(&resource_id) else {
            let is_due = is_old(point.changed_at, heard_before);
            return match (is_due, node.is_update) {
                (true, true) => Verdict::Failed(format!("The Resource ({resource_id}) could not be found.")),
                (is_due, _) => Verdict::of(is_due, node.clone()),
            };
        };
        let row = if node.is_update {
            self.latest_replacement(row)
        } else {
            row
        };
        if row.engine_id.is_some() {
            return Verdict::Busy;
        }
        let event = self.events.of_resources.get(&row.name);
        let last_heard = [
            point.changed_at,
            Some(row.created_at),
            row.updated_at,
            event.and_then(|event| event.created_at),
        ];
        if !freed.contains(&row.id) && !last_heard.into_iter().all(|moment| is_old(moment, heard_before)) {
            return Verdict::Busy;
        }
        let worker = Node {
            subject: Subject::Resource(row.id),
            is_update: node.is_update,
        };
        let (action, status) = state_of(row);
        match status {
            Status::InProgress => Verdict::Unheld(worker, row.id),
            Status::Failed if self.failed_here(row, action) => {
                let reason = row.status_reason.as_deref().unwrap_or_default();
                Verdict::Failed(format!("Resource {action} failed: {reason}"))
            }
            _ => Verdict::Asleep(worker),
        }
    }

    /// Whether the resource failed in this traversal, by its own fault. (A check of a stack goes on past failures, and an
    /// order to stop that comes late is not meant for what runs then.)
    fn failed_here(&self, row: &Resource, action: Action) -> bool {
        let reason = row.status_reason.as_deref().unwrap_or_default();
        let by_another = [ENGINE_STOPPED, CANCELLED].iter().any(|cause| reason.contains(cause));
        if self.action == Action::Check || reason == went_down(action) || by_another {
            return false;
        }
        let Some(event) = self.events.of_resources.get(&row.name) else {
            return false;
        };
        let began = self.events.of_stack.as_ref().map_or(i64::MAX, |began| began.id);
        event.id > began && event.action == row.action && event.status == row.status
    }
}

enum Verdict {
    /// Somebody has it, or may have.
    Busy,
    Asleep(Node),
    Unheld(Node, i64),
    Failed(String),
}

impl Verdict {
    fn of(is_due: bool, node: Node) -> Self {
        if is_due { Self::Asleep(node) } else { Self::Busy }
    }
}

/// What has no time is as old as can be.
fn is_old(moment: Option<NaiveDateTime>, heard_before: NaiveDateTime) -> bool {
    moment.is_none_or(|moment| moment < heard_before)
}

#[cfg(test)]
mod tests;
