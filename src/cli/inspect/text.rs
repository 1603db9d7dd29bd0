//! The picture of a stack as text: what needs a look first, everything else in a line.

use std::collections::{HashMap, HashSet};
use std::fmt::Write as _;

use super::groups::{FEW, Group, Groups, names};
use super::labels::Labels;
use crate::cli::screen::{Columns, Ink, Paint, age, cut, duration, one_line};
use crate::convergence::survey::{Holder, NodeState, Phase, Progress, Prospect, RowState, Survey, Time};
use crate::resource::state::Status;
use crate::stack::node::Node;

/// From what is behind to what is ahead.
const COUNTED: [Progress; 7] = [
    Progress::Done,
    Progress::Failed,
    Progress::AtWork,
    Progress::Telling,
    Progress::Ready,
    Progress::Waiting,
    Progress::NotReached,
];

/// Of what is shown one by one.
const MOST_LINES: usize = 20;
const MOST_REASON: usize = 160;

pub fn render(survey: &Survey, paint: Paint, all: bool) -> String {
    let page = Page {
        survey,
        paint,
        all,
        behind: behind(survey),
        labels: Labels::of(survey),
    };
    let mut text = page.head();
    text.push_str(&page.summary());
    for progress in Progress::ALL {
        text.push_str(&page.section(progress));
    }
    text.push_str(&page.other_rows());
    text.push_str(&page.next());
    text
}

struct Page<'s> {
    survey: &'s Survey,
    paint: Paint,
    all: bool,
    /// How many nodes wait for a node, near or far.
    behind: HashMap<&'s Node, usize>,
    labels: Labels<'s>,
}

impl Page<'_> {
    fn head(&self) -> String {
        let (survey, paint) = (self.survey, self.paint);
        let stack = &survey.stack;
        let text = |value: &Option<String>| value.clone().unwrap_or_default();
        let state = format!("{}_{}", text(&stack.action), text(&stack.status));
        let since = stack.updated_at.unwrap_or(stack.created_at);
        let began = match (stack.deleted_at, survey.phase) {
            (Some(deleted), _) => format!("deleted {} ago", age(deleted, survey.taken_at)),
            (None, Phase::Ended) => format!("begun {} ago", age(since, survey.taken_at)),
            (None, Phase::UnderWay | Phase::NotLaidOut) => format!("for {}", age(since, survey.taken_at)),
        };
        let mut head = format!(
            "{}  {}  {began}{}\n",
            paint.strong(&one_line(&stack.name)),
            paint.state(&state),
            self.time()
        );
        let reason = text(&stack.status_reason);
        if state.ends_with(Status::Failed.as_str()) {
            let _ = writeln!(head, "{}", cut(&one_line(&reason), MOST_REASON));
        }
        let mut facts = vec![
            format!("id {}", stack.id),
            format!("project {}", text(&stack.tenant)),
            format!("template {}", stack.raw_template_id),
        ];
        if let Some(before) = stack.prev_raw_template_id {
            facts.push(format!("before {before}"));
        }
        let traversal = text(&stack.current_traversal);
        if !traversal.is_empty() {
            facts.push(format!("traversal {traversal}"));
        }
        if !stack.disable_rollback {
            facts.push("rolls back on failure".to_owned());
        }
        let _ = writeln!(head, "{}", paint.faint(&facts.join("  ")));
        if let Some(problem) = &survey.template_problem {
            let _ = writeln!(head, "types are not known: {}", cut(&one_line(problem), MOST_REASON));
        }
        head
    }

    fn time(&self) -> String {
        match self.survey.time {
            None => String::new(),
            Some(Time::Left(left)) => format!(", times out in {}", duration(left)),
            Some(Time::Over(over)) => {
                let text = format!(", timed out {} ago", duration(over));
                self.paint.ink(Ink::Bad, &text)
            }
        }
    }

    fn summary(&self) -> String {
        let survey = self.survey;
        if survey.phase == Phase::NotLaidOut {
            return "\nthe traversal has not begun: its graph and its sync points are not written. An engine is at it, or \
                    died over it\n"
                .to_owned();
        }
        if survey.nodes.is_empty() {
            return "\nno resources\n".to_owned();
        }
        let counts: Vec<String> = COUNTED
            .into_iter()
            .map(|progress| (progress, survey.count(progress)))
            .filter(|(_, count)| *count > 0)
            .map(|(progress, count)| self.paint.ink(ink(progress), &format!("{count} {}", progress.as_str())))
            .collect();
        let nodes = survey.nodes.len();
        let plural = if nodes == 1 { "" } else { "s" };
        format!("\n{nodes} node{plural}: {}\n", counts.join(", "))
    }

    fn section(&self, progress: Progress) -> String {
        let states: Vec<&NodeState> = self
            .survey
            .nodes
            .values()
            .filter(|state| state.progress == progress)
            .collect();
        if states.is_empty() {
            return String::new();
        }
        let title = match progress {
            Progress::Ready => "ready, and nobody works on it",
            Progress::Telling => "done, but not everybody was told",
            other => other.as_str(),
        };
        let body = match progress {
            Progress::Failed | Progress::AtWork | Progress::Telling | Progress::Ready => self.one_by_one(&states),
            Progress::Waiting => self.grouped(&states),
            Progress::NotReached | Progress::Done if self.all => self.one_by_one(&states),
            Progress::NotReached | Progress::Done => self.in_lines(&states),
        };
        format!("\n{}\n{body}", self.paint.ink(ink(progress), title))
    }

    fn one_by_one(&self, states: &[&NodeState]) -> String {
        let mut columns = Columns::default();
        let most = if self.all { usize::MAX } else { MOST_LINES };
        for state in states.iter().take(most) {
            let since = state.since.map(|since| age(since, self.survey.taken_at));
            columns.row([
                (Ink::Strong, self.labels.label(state)),
                (Ink::Faint, row_text(state)),
                (Ink::Plain, state_text(state)),
                (Ink::Plain, since.unwrap_or_default()),
                (Ink::Plain, self.remark(state)),
            ]);
        }
        let mut text = columns.render(self.paint, "  ");
        if states.len() > most {
            let _ = writeln!(text, "  and {} more (--all shows them)", states.len() - most);
        }
        text
    }

    /// What is to be known of a node beside its state.
    fn remark(&self, state: &NodeState) -> String {
        let mut remarks = Vec::new();
        if let Some(holder) = state.row.as_ref().and_then(|row| row.holder.as_ref()) {
            remarks.push(self.holder(holder));
        }
        if state.progress == Progress::Telling {
            remarks.push(format!("not told: {}", self.list(&state.untold)));
        }
        match self.behind.get(&state.node) {
            Some(0) | None => {}
            Some(1) => remarks.push("1 waits for it".to_owned()),
            Some(many) => remarks.push(format!("{many} wait for it")),
        }
        let reason = state.row.as_ref().filter(|_| state.progress == Progress::Failed);
        if let Some(reason) = reason.and_then(|row| row.reason.as_deref()) {
            remarks.push(cut(reason, MOST_REASON));
        }
        remarks.join(", ")
    }

    fn holder(&self, engine_id: &str) -> String {
        let nobody = Holder::default();
        let holder = self.survey.holders.get(engine_id).unwrap_or(&nobody);
        let host = holder
            .host
            .as_deref()
            .map_or(String::new(), |host| format!(" on {host}"));
        let seen = match holder.reported_at.map(|at| age(at, self.survey.taken_at)) {
            Some(age) if holder.reports => format!("reported {age} ago"),
            Some(age) if holder.leaves => format!("LEAVING, OR GONE: last reported {age} ago"),
            Some(age) => format!("GONE: last reported {age} ago"),
            None => "in no table: a check by hand, or GONE".to_owned(),
        };
        format!("engine {engine_id}{host} ({seen})")
    }

    /// Who waits, alike ones together, with whom they wait for.
    fn grouped(&self, states: &[&NodeState]) -> String {
        let groups = Groups::of(self.survey, self.all);
        let mut columns = Columns::default();
        let mut trivial = 0;
        for group in &groups.groups {
            let Some(first) = group.nodes.first().filter(|state| state.progress == Progress::Waiting) else {
                continue;
            };
            if !self.all && states.len() > FEW && is_own_cleanup(first) {
                trivial += group.nodes.len();
                continue;
            }
            columns.row([
                (Ink::Strong, self.labels.of_group(&group.nodes)),
                (Ink::Plain, state_text(first)),
                (Ink::Plain, format!("for {}", self.list(&missing_of(group)))),
            ]);
        }
        let mut text = columns.render(self.paint, "  ");
        if trivial > 0 {
            let _ = writeln!(text, "  and the clean-up after {trivial} updates");
        }
        text
    }

    /// Names only, a line for each type.
    fn in_lines(&self, states: &[&NodeState]) -> String {
        let mut by_type: indexmap::IndexMap<(bool, String), Vec<String>> = indexmap::IndexMap::new();
        for state in states {
            let row = state.row.as_ref();
            let resource_type = row.and_then(|row| row.resource_type.clone()).unwrap_or_default();
            let key = (state.node.is_update, resource_type);
            by_type.entry(key).or_default().push(self.labels.name(state));
        }
        let mut columns = Columns::default();
        for ((is_update, resource_type), of_type) in by_type {
            let what = if is_update { "" } else { "clean-up" };
            columns.row([
                (Ink::Plain, names(&of_type)),
                (Ink::Faint, what.to_owned()),
                (Ink::Faint, resource_type),
            ]);
        }
        columns.render(self.paint, "  ")
    }

    fn other_rows(&self) -> String {
        let rows = &self.survey.other_rows;
        if rows.is_empty() {
            return String::new();
        }
        let mut columns = Columns::default();
        for row in rows {
            columns.row([
                (Ink::Strong, row.name.clone()),
                (Ink::Faint, format!("row {}", row.id)),
                (Ink::Plain, row.state()),
                (
                    Ink::Plain,
                    row.holder.as_deref().map(|id| self.holder(id)).unwrap_or_default(),
                ),
            ]);
        }
        format!("\nrows that are in no node\n{}", columns.render(self.paint, "  "))
    }

    fn next(&self) -> String {
        let survey = self.survey;
        let prospects = survey.prospects();
        if survey.phase != Phase::UnderWay {
            return String::new();
        }
        let mut text = format!("\n{}\n", self.paint.strong("next"));
        if prospects.is_empty() && survey.stack_waits_for.is_empty() {
            text.push_str("  everybody has arrived: the end of the stack's action is to be recorded\n");
        }
        if prospects.is_empty() && !survey.stack_waits_for.is_empty() {
            text.push_str("  nothing: nobody is at work, and nobody has all that is needed\n");
        }
        let most = if self.all { usize::MAX } else { MOST_LINES };
        for prospect in prospects.iter().take(most) {
            let _ = writeln!(text, "  {}", self.prospect(prospect));
        }
        if prospects.len() > most {
            let _ = writeln!(text, "  and {} more (--all shows them)", prospects.len() - most);
        }
        let stuck = survey.nodes.values().filter_map(|state| {
            let why = match state.progress {
                Progress::Ready => "the message is in the queue, or lost",
                Progress::AtWork => self.doubt_of_holder(state)?,
                _ => return None,
            };
            Some((state, why))
        });
        for (state, why) in stuck.take(3) {
            let step = if state.node.is_update { "" } else { ":cleanup" };
            let by_hand = format!("heat-engine-rs --once {}{step}", self.labels.target(state));
            let label = self.labels.label(state);
            let advice = format!("{label}: {why}; a sweep sees to it, or by hand: {by_hand}");
            let _ = writeln!(text, "  {}", self.paint.faint(&one_line(&advice)));
        }
        text
    }

    /// Why nobody may be at work although somebody holds it. The database does not know of checks by hand.
    fn doubt_of_holder(&self, state: &NodeState) -> Option<&'static str> {
        let holder = self.survey.holders.get(state.row.as_ref()?.holder.as_ref()?)?;
        match holder.reported_at {
            _ if holder.reports => None,
            Some(_) if holder.leaves => Some("its engine leaves, or is gone"),
            Some(_) => Some("its engine is gone"),
            None => Some("unless a check by hand is at it, its engine is gone"),
        }
    }

    fn prospect(&self, prospect: &Prospect) -> String {
        let when = self.survey.nodes.get(&prospect.when);
        let when = when.map(|state| self.labels.label(state)).unwrap_or_default();
        let what = match (prospect.follow.is_empty(), prospect.completes_the_stack) {
            (_, true) => "the stack is complete".to_owned(),
            (false, _) => format!("{} follow{}", self.list(&prospect.follow), plural_s(&prospect.follow)),
            (true, false) => "nobody yet; others are waited for, too".to_owned(),
        };
        format!("when {when} is done: {what}")
    }

    fn list(&self, nodes: &[Node]) -> String {
        let labels: Vec<String> = nodes
            .iter()
            .filter_map(|node| self.survey.nodes.get(node))
            .map(|state| self.labels.label(state))
            .collect();
        names(&labels)
    }
}

fn plural_s(nodes: &[Node]) -> &'static str {
    if nodes.len() == 1 { "s" } else { "" }
}

fn ink(progress: Progress) -> Ink {
    match progress {
        Progress::Failed => Ink::Bad,
        Progress::AtWork => Ink::Active,
        Progress::Telling | Progress::Ready => Ink::Attention,
        Progress::Waiting | Progress::NotReached => Ink::Faint,
        Progress::Done => Ink::Good,
    }
}

fn missing_of(group: &Group<'_>) -> Vec<Node> {
    let mut seen = HashSet::new();
    let missing = group.nodes.iter().flat_map(|state| &state.missing);
    missing.filter(|node| seen.insert(*node)).cloned().collect()
}

fn row_text(state: &NodeState) -> String {
    let Some(row) = &state.row else {
        return "no row".to_owned();
    };
    match state.node.resource_id() {
        Some(id) if id != row.id => format!("row {}, in the place of {id}", row.id),
        _ => format!("row {}", row.id),
    }
}

fn state_text(state: &NodeState) -> String {
    state.row.as_ref().map(RowState::state).unwrap_or_default()
}

/// Whether a clean-up does nothing but wait for the update of the same resource.
fn is_own_cleanup(state: &NodeState) -> bool {
    !state.node.is_update && state.requires.iter().any(|node| node.is_update)
}

/// For each node that can come to an end now, how many could not go on without it.
fn behind(survey: &Survey) -> HashMap<&Node, usize> {
    let open = [Progress::AtWork, Progress::Telling, Progress::Ready, Progress::Failed];
    let states = survey.nodes.values().filter(|state| open.contains(&state.progress));
    states
        .map(|state| {
            let mut seen: HashSet<&Node> = HashSet::new();
            let mut waiting: Vec<&Node> = state.required_by.iter().collect();
            while let Some(node) = waiting.pop() {
                let Some(next) = survey.nodes.get(node) else { continue };
                if next.progress != Progress::Done && seen.insert(node) {
                    waiting.extend(&next.required_by);
                }
            }
            (&state.node, seen.len())
        })
        .collect()
}
