//! Where a stack stands, for a person who asks: what every node of its traversal is at, who holds what, who waits for
//! whom, and what follows when somebody comes to an end.
//!
//! It only reads, and it reads the tables alone: it must answer also when the broker is away, or the engines.

use std::collections::{HashMap, HashSet};
use std::sync::Arc;
use std::time::Duration;

use chrono::{NaiveDateTime, TimeDelta};
use indexmap::IndexMap;

use super::engine::{Convergence, Graph};
use super::picture::{Picture, latest_replacement};
use super::request::CheckRequest;
use crate::resource::state::{Action, Status};
use crate::stack::error::StackError;
use crate::stack::node::{Node, Subject};
use crate::stack::stored::state_of;
use crate::stack::time_left;
use crate::store::{self, NewestEvents, Resource, Service};

/// What a node is at.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Progress {
    /// Its resource failed, and the traversal with it.
    Failed,
    /// Some engine has its resource.
    AtWork,
    /// It has told some of those who wait for it, and not others.
    Telling,
    /// It has all that it needs, and nobody works on it.
    Ready,
    Waiting,
    /// The traversal has ended without it.
    NotReached,
    Done,
}

impl Progress {
    pub const ALL: [Self; 7] = [
        Self::Failed,
        Self::AtWork,
        Self::Telling,
        Self::Ready,
        Self::Waiting,
        Self::NotReached,
        Self::Done,
    ];

    pub fn as_str(self) -> &'static str {
        match self {
            Self::Failed => "failed",
            Self::AtWork => "at work",
            Self::Telling => "telling",
            Self::Ready => "ready",
            Self::Waiting => "waiting",
            Self::NotReached => "not reached",
            Self::Done => "done",
        }
    }
}

/// How far the traversal is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Phase {
    /// The graph and the sync points are there.
    UnderWay,
    /// The stack is in progress, but its graph and sync points are not written yet.
    NotLaidOut,
    /// Nothing is in progress.
    Ended,
}

/// The time for an action.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Time {
    Left(Duration),
    Over(Duration),
}

impl Time {
    pub fn of(left: TimeDelta) -> Self {
        match left.to_std() {
            Ok(left) => Self::Left(left),
            Err(_) => Self::Over((-left).to_std().unwrap_or_default()),
        }
    }
}

#[derive(Clone, Debug)]
pub struct Survey {
    pub stack: store::Stack,
    pub phase: Phase,
    pub taken_at: NaiveDateTime,
    /// Of the action in progress.
    pub time: Option<Time>,
    /// Why resource types are not shown.
    pub template_problem: Option<String>,
    /// In an order in which each comes after all that it requires.
    pub nodes: IndexMap<Node, NodeState>,
    /// The last nodes, as far as the stack waits for them.
    pub stack_waits_for: Vec<Node>,
    /// Rows that no node stands for.
    pub other_rows: Vec<RowState>,
    /// Those that hold anything, by id.
    pub holders: IndexMap<String, Holder>,
}

#[derive(Clone, Debug)]
pub struct NodeState {
    pub node: Node,
    /// The resource's name; a snapshot's id.
    pub name: String,
    pub progress: Progress,
    /// The row that stands for it: its own, or that of a replacement.
    pub row: Option<RowState>,
    pub requires: Vec<Node>,
    pub required_by: Vec<Node>,
    /// Of what it requires, what has not arrived.
    pub missing: Vec<Node>,
    /// Of those who wait for it, who has not heard of it.
    pub untold: Vec<Node>,
    /// When it came to be so, as far as that is told anywhere.
    pub since: Option<NaiveDateTime>,
}

#[derive(Clone, Debug)]
pub struct RowState {
    pub id: i64,
    pub name: String,
    pub resource_type: Option<String>,
    pub action: Action,
    pub status: Status,
    pub reason: Option<String>,
    pub physical_id: Option<String>,
    pub holder: Option<String>,
    pub template_id: Option<i64>,
    pub replaces: Option<i64>,
    pub replaced_by: Option<i64>,
}

/// An engine as the service table knows it.
#[derive(Clone, Debug, Default)]
pub struct Holder {
    pub host: Option<String>,
    pub reported_at: Option<NaiveDateTime>,
    /// It has reported within two of its intervals, and has not said goodbye.
    pub reports: bool,
    /// It has said goodbye. It may still be finishing what it holds.
    pub leaves: bool,
}

/// What follows when a node comes to its end.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Prospect {
    pub when: Node,
    /// Who then has all that it needs.
    pub follow: Vec<Node>,
    pub completes_the_stack: bool,
}

impl RowState {
    /// `CREATE_COMPLETE` and the like.
    pub fn state(&self) -> String {
        format!("{}_{}", self.action, self.status)
    }

    fn of(row: &Resource, types: &Types) -> Self {
        let (action, status) = state_of(row);
        Self {
            id: row.id,
            name: row.name.clone(),
            resource_type: types.of(row),
            action,
            status,
            reason: row.status_reason.clone().filter(|reason| !reason.is_empty()),
            physical_id: row.physical_resource_id.clone(),
            holder: row.engine_id.clone(),
            template_id: row.current_template_id,
            replaces: row.replaces,
            replaced_by: row.replaced_by,
        }
    }
}

/// The types of resources by the templates of a stack.
#[derive(Default)]
struct Types(HashMap<i64, HashMap<String, String>>);

impl Types {
    fn of(&self, row: &Resource) -> Option<String> {
        self.0.get(&row.current_template_id?)?.get(&row.name).cloned()
    }
}

impl Convergence {
    /// Looks at a stack.
    pub async fn survey(&self, row: store::Stack) -> Result<Survey, StackError> {
        let store = &self.services.store;
        let traversal = row.current_traversal.clone().unwrap_or_default();
        let points = store.sync_points_of(&row.id, &traversal).await?;
        let events = store.events_newest(&row.id).await?;
        let services = store.services_ever().await?;
        let (types, template_problem) = self.types_of(&row).await;
        let outline = Outline::of(self, &row);
        let picture = match outline.in_progress {
            true => self.picture(&row, &points, events.clone()).await?,
            false => None,
        };
        let mut survey = match &picture {
            Some(picture) => outline.under_way(picture, &types),
            None => {
                let rows = store.resources_by_stack(&row.id).await?;
                let rows = rows.into_iter().map(|row| (row.id, row)).collect();
                let graph = match outline.in_progress {
                    true => Arc::new(Graph::default()),
                    false => self.latest_graph(&row.id, &traversal).await?,
                };
                outline.standing(&row, &rows, &graph, &events, &types)
            }
        };
        survey.template_problem = template_problem;
        survey.name_holders(&services);
        Ok(survey)
    }

    /// The check that a node of a traversal under way has to have, made from the tables.
    pub async fn check_request(&self, row: &store::Stack, node: &Node) -> Result<Option<CheckRequest>, StackError> {
        let store = &self.services.store;
        let traversal = row.current_traversal.clone().unwrap_or_default();
        let points = store.sync_points_of(&row.id, &traversal).await?;
        let picture = self.picture(row, &points, NewestEvents::default()).await?;
        let lost = picture.and_then(|picture| picture.lost(node));
        Ok(lost.map(|lost| lost.into_request(traversal)))
    }

    async fn types_of(&self, row: &store::Stack) -> (Types, Option<String>) {
        let mut types = Types::default();
        let mut problem = None;
        for template_id in row.prev_raw_template_id.into_iter().chain([row.raw_template_id]) {
            match self.services.templates.definition(row, template_id).await {
                Ok(definition) => {
                    let of_template = definition.resources().values();
                    let of_template = of_template.map(|it| (it.name.clone(), it.resource_type.clone()));
                    types.0.insert(template_id, of_template.collect());
                }
                Err(error) => problem = Some(format!("template {template_id}: {error}")),
            }
        }
        (types, problem)
    }
}

/// What is known of a stack before its traversal is looked at.
struct Outline {
    stack: store::Stack,
    in_progress: bool,
    taken_at: NaiveDateTime,
    time: Option<Time>,
}

impl Outline {
    fn of(engine: &Convergence, row: &store::Stack) -> Self {
        let clock = &engine.services.clock;
        let in_progress = row.status.as_deref() == Some(Status::InProgress.as_str()) && row.deleted_at.is_none();
        Self {
            stack: row.clone(),
            in_progress,
            taken_at: clock.utc_now(),
            time: in_progress.then(|| Time::of(time_left(row, &engine.services))),
        }
    }

    fn into_survey(self, phase: Phase) -> Survey {
        Survey {
            stack: self.stack,
            phase,
            taken_at: self.taken_at,
            time: self.time,
            template_problem: None,
            nodes: IndexMap::new(),
            stack_waits_for: Vec::new(),
            other_rows: Vec::new(),
            holders: IndexMap::new(),
        }
    }

    fn under_way(self, picture: &Picture, types: &Types) -> Survey {
        let mut survey = self.into_survey(Phase::UnderWay);
        let owned = |nodes: Vec<&Node>| nodes.into_iter().cloned().collect::<Vec<Node>>();
        for node in in_order(&picture.graph) {
            let row = row_of(picture, &node);
            let missing = owned(picture.missing(&node));
            let untold = owned(picture.untold(&node));
            let waiting = picture.graph.required_by(&node).count();
            let is_done = picture.has_told(&node);
            let progress = if is_done {
                Progress::Done
            } else if !missing.is_empty() {
                Progress::Waiting
            } else if row.is_some_and(|row| row.engine_id.is_some()) {
                Progress::AtWork
            } else if untold.len() < waiting {
                Progress::Telling
            } else {
                Progress::Ready
            };
            let heard = row.and_then(|row| picture.events.of_resources.get(&row.name));
            let since = match progress {
                Progress::Ready | Progress::Waiting => picture.point_of(&node).and_then(|point| point.changed_at),
                _ => heard.and_then(|event| event.created_at),
            };
            let state = NodeState {
                name: name_of(&node, row),
                progress,
                row: row.map(|row| RowState::of(row, types)),
                requires: picture.graph.requires(&node).cloned().collect(),
                required_by: picture.graph.required_by(&node).cloned().collect(),
                missing,
                untold,
                since,
                node: node.clone(),
            };
            survey.nodes.insert(node, state);
        }
        survey.stack_waits_for = owned(picture.of_stack.meeting.missing(picture.graph.roots()));
        survey.add_other_rows(picture.rows.values(), types);
        survey
    }

    /// A stack with nothing under way: what its last traversal came to, as the rows have it.
    fn standing(
        self,
        stack: &store::Stack,
        rows: &HashMap<i64, Resource>,
        graph: &Graph,
        events: &NewestEvents,
        types: &Types,
    ) -> Survey {
        let phase = match self.in_progress {
            true => Phase::NotLaidOut,
            false => Phase::Ended,
        };
        let mut survey = self.into_survey(phase);
        for node in in_order(graph) {
            let row = node
                .resource_id()
                .and_then(|id| rows.get(&id))
                .map(|row| match node.is_update {
                    true => latest_replacement(rows, graph, stack.raw_template_id, row),
                    false => row,
                });
            let heard = row.and_then(|row| events.of_resources.get(&row.name));
            let state = NodeState {
                name: name_of(&node, row),
                progress: progress_at_the_end(&node, row, stack.raw_template_id),
                row: row.map(|row| RowState::of(row, types)),
                requires: graph.requires(&node).cloned().collect(),
                required_by: graph.required_by(&node).cloned().collect(),
                missing: Vec::new(),
                untold: Vec::new(),
                since: heard.and_then(|event| event.created_at),
                node: node.clone(),
            };
            survey.nodes.insert(node, state);
        }
        survey.add_other_rows(rows.values(), types);
        survey
    }
}

impl Survey {
    /// Names that more than one row has, as after an update with replacements.
    pub fn names_of_several_rows(&self) -> HashSet<&str> {
        let of_nodes = self.nodes.values().filter_map(|state| state.row.as_ref());
        let mut first: HashMap<&str, i64> = HashMap::new();
        let rows = of_nodes.chain(&self.other_rows);
        rows.filter(|row| *first.entry(&row.name).or_insert(row.id) != row.id)
            .map(|row| row.name.as_str())
            .collect()
    }

    fn add_other_rows<'r>(&mut self, rows: impl Iterator<Item = &'r Resource>, types: &Types) {
        let shown = self.nodes.values().filter_map(|state| Some(state.row.as_ref()?.id));
        let of_nodes = self.nodes.keys().filter_map(Node::resource_id);
        let known: HashSet<i64> = shown.chain(of_nodes).collect();
        let mut others: Vec<_> = rows
            .filter(|row| !known.contains(&row.id))
            .map(|row| RowState::of(row, types))
            .collect();
        others.sort_by_key(|row| row.id);
        self.other_rows = others;
    }

    fn name_holders(&mut self, services: &[Service]) {
        let rows = self.nodes.values().filter_map(|state| state.row.as_ref());
        let ids: Vec<String> = rows
            .chain(&self.other_rows)
            .filter_map(|row| row.holder.clone())
            .collect();
        for id in ids {
            let service = services.iter().find(|service| service.engine_id == id);
            let holder = service.map_or_else(Holder::default, |service| Holder {
                host: Some(service.host.clone()),
                reported_at: service.updated_at.or(service.created_at),
                reports: service.is_up(self.taken_at),
                leaves: service.deleted_at.is_some(),
            });
            self.holders.insert(id, holder);
        }
    }

    /// How many nodes are at what.
    pub fn count(&self, progress: Progress) -> usize {
        self.nodes.values().filter(|state| state.progress == progress).count()
    }

    /// What follows from the ends of those that can come to an end now.
    pub fn prospects(&self) -> Vec<Prospect> {
        let open = [Progress::AtWork, Progress::Telling, Progress::Ready];
        let states = self.nodes.values().filter(|state| open.contains(&state.progress));
        states.map(|state| self.prospect(state)).collect()
    }

    fn prospect(&self, state: &NodeState) -> Prospect {
        let only_this = |missing: &[Node]| *missing == [state.node.clone()];
        let waiting = state.untold.iter().filter_map(|node| self.nodes.get(node));
        Prospect {
            when: state.node.clone(),
            follow: waiting
                .filter(|waiting| only_this(&waiting.missing))
                .map(|waiting| waiting.node.clone())
                .collect(),
            completes_the_stack: only_this(&self.stack_waits_for),
        }
    }
}

fn in_order(graph: &Graph) -> Vec<Node> {
    // A stored graph with a cycle is none that an engine wrote; it is shown all the same.
    graph.in_order().unwrap_or_else(|_| graph.nodes().cloned().collect())
}

fn row_of<'p>(picture: &'p Picture, node: &Node) -> Option<&'p Resource> {
    let row = picture.rows.get(&node.resource_id()?)?;
    Some(match node.is_update {
        true => picture.latest_replacement(row),
        false => row,
    })
}

fn name_of(node: &Node, row: Option<&Resource>) -> String {
    match (row, &node.subject) {
        (Some(row), _) => row.name.clone(),
        (None, Subject::Resource(id)) => format!("row {id}"),
        (None, Subject::Snapshot(id)) => format!("snapshot {id}"),
    }
}

fn progress_at_the_end(node: &Node, row: Option<&Resource>, template_id: i64) -> Progress {
    let Some(row) = row else {
        // What is cleaned up is not there any more.
        return if node.is_update {
            Progress::NotReached
        } else {
            Progress::Done
        };
    };
    let (action, status) = state_of(row);
    let is_current = row.current_template_id == Some(template_id);
    match (node.is_update, status) {
        _ if row.engine_id.is_some() => Progress::AtWork,
        (true, Status::Complete) if is_current && action != Action::Init => Progress::Done,
        (false, Status::Complete) if is_current || action == Action::Delete => Progress::Done,
        (true, Status::Failed) if action != Action::Delete => Progress::Failed,
        (false, Status::Failed) if action == Action::Delete => Progress::Failed,
        _ => Progress::NotReached,
    }
}
