//! The graph of a traversal as a picture, for Graphviz and for Mermaid.
//!
//! A person can read some dozens of boxes. So alike nodes share a box, an edge that follows from two others is left out,
//! and the clean-up of a resource that stays stands with its update; the colours say where to look. Where all that leaves too
//! many boxes, what is done and over has one together: what is still to come is what one looks for.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write as _;

use super::groups::Groups;
use super::labels::Labels;
use crate::cli::screen::one_line;
use crate::convergence::survey::{NodeState, Phase, Progress, Survey};

/// Up to so many boxes each has its place.
const MANY: usize = 60;

/// Mermaid's own `maxEdges` and `maxTextSize`, which a picture may not change.
pub const MOST_EDGES: usize = 500;
pub const MOST_CHARACTERS: usize = 50_000;

pub struct Sketch {
    title: String,
    boxes: Vec<Drawn>,
    /// From what is required to what requires it.
    edges: BTreeSet<(usize, usize)>,
}

struct Drawn {
    lines: Vec<String>,
    progress: Progress,
    is_update: bool,
}

impl Sketch {
    pub fn of(survey: &Survey, all: bool) -> Self {
        let groups = Groups::of(survey, all);
        let labels = Labels::of(survey);
        let hidden = |group: &[&NodeState]| !all && group.iter().all(|state| is_after_thought(survey, state));
        let shown = groups.groups.iter().filter(|group| !hidden(&group.nodes)).count();
        let folds = !all && shown > MANY && survey.phase == Phase::UnderWay;
        let mut over: Vec<&NodeState> = Vec::new();
        let mut places: BTreeMap<usize, usize> = BTreeMap::new();
        let mut boxes = Vec::new();
        for (index, group) in groups.groups.iter().enumerate() {
            let Some(first) = group.nodes.first().filter(|_| !hidden(&group.nodes)) else {
                continue;
            };
            if folds && group.nodes.iter().all(|state| is_over(survey, state)) {
                over.extend(&group.nodes);
                continue;
            }
            places.insert(index, boxes.len());
            boxes.push(Drawn {
                lines: lines(&labels, first, &group.nodes),
                progress: first.progress,
                is_update: first.node.is_update,
            });
        }
        boxes.extend(box_of_what_is_over(&labels, &over));
        let mut edges = BTreeSet::new();
        for (index, group) in groups.groups.iter().enumerate() {
            let Some(to) = places.get(&index) else { continue };
            for state in &group.nodes {
                let from = groups.of_nodes(&state.requires);
                let from = from.iter().filter_map(|group| places.get(group));
                edges.extend(from.filter(|from| *from != to).map(|from| (*from, *to)));
            }
        }
        let stack = &survey.stack;
        let text = |value: &Option<String>| value.clone().unwrap_or_default();
        Self {
            title: format!("{}  {}_{}", stack.name, text(&stack.action), text(&stack.status)),
            edges: without_shortcuts(&edges),
            boxes,
        }
    }

    pub fn dot(&self) -> String {
        let mut text = String::from("digraph stack {\n");
        let _ = writeln!(
            text,
            "  label = {}; labelloc = t; fontname = \"sans-serif\";",
            quoted(&self.title)
        );
        text.push_str("  rankdir = LR; nodesep = 0.2; ranksep = 0.5; concentrate = true;\n");
        text.push_str("  node [shape = box, style = \"rounded,filled\", fontname = \"sans-serif\", fontsize = 11];\n");
        text.push_str("  edge [color = \"#999999\", arrowsize = 0.6];\n");
        for (number, drawn) in self.boxes.iter().enumerate() {
            let (fill, line) = colours(drawn.progress);
            let dashed = if drawn.is_update {
                ""
            } else {
                ", style = \"rounded,filled,dashed\""
            };
            let label = quoted(&drawn.lines.join("\n"));
            let _ = writeln!(
                text,
                "  n{number} [label = {label}, fillcolor = \"{fill}\", color = \"{line}\"{dashed}];"
            );
        }
        for (from, to) in &self.edges {
            let _ = writeln!(text, "  n{from} -> n{to};");
        }
        text.push_str("}\n");
        text
    }

    /// And whether Mermaid draws it without being told to.
    pub fn mermaid(&self) -> (String, bool) {
        let mut text = format!("---\ntitle: {}\n---\nflowchart LR\n", quoted(&self.title));
        for (number, drawn) in self.boxes.iter().enumerate() {
            let lines: Vec<String> = drawn.lines.iter().map(|line| escaped(line)).collect();
            let label = lines.join("<br>");
            let (open, close) = if drawn.is_update {
                ("(\"", "\")")
            } else {
                ("([\"", "\"])")
            };
            let _ = writeln!(text, "  n{number}{open}{label}{close}:::{}", class(drawn.progress));
        }
        for (from, to) in &self.edges {
            let _ = writeln!(text, "  n{from} --> n{to}");
        }
        let used: BTreeSet<Progress> = self.boxes.iter().map(|drawn| drawn.progress).collect();
        for progress in used {
            let (fill, line) = colours(progress);
            let _ = writeln!(
                text,
                "  classDef {} fill:{fill},stroke:{line},color:#222",
                class(progress)
            );
        }
        let is_drawn = self.edges.len() <= MOST_EDGES && text.chars().count() <= MOST_CHARACTERS;
        (text, is_drawn)
    }
}

fn lines(labels: &Labels<'_>, first: &NodeState, group: &[&NodeState]) -> Vec<String> {
    let mut lines = vec![labels.of_group(group)];
    if let Some(row) = &first.row {
        lines.extend(row.resource_type.clone());
        lines.push(format!("{}: {}", first.progress.as_str(), row.state()));
    } else {
        lines.push(first.progress.as_str().to_owned());
    }
    lines.iter().map(|line| one_line(line)).collect()
}

/// Done, and so are all that need it.
fn is_over(survey: &Survey, state: &NodeState) -> bool {
    let is_done = |state: &NodeState| state.progress == Progress::Done;
    let mut after = state.required_by.iter().filter_map(|node| survey.nodes.get(node));
    is_done(state) && after.all(is_done)
}

fn box_of_what_is_over(labels: &Labels<'_>, over: &[&NodeState]) -> Option<Drawn> {
    let name = labels.of_group(over);
    (!over.is_empty()).then(|| Drawn {
        lines: vec![one_line(&name), "done, and nobody waits for them".to_owned()],
        progress: Progress::Done,
        is_update: true,
    })
}

/// A clean-up that follows the update of a resource that stays: it has nothing to do, unless something is wrong with it.
fn is_after_thought(survey: &Survey, state: &NodeState) -> bool {
    if state.node.is_update || !matches!(state.progress, Progress::Waiting | Progress::Done) {
        return false;
    }
    let update = state
        .requires
        .iter()
        .find(|node| node.is_update && node.subject == state.node.subject);
    update.is_some_and(|update| survey.nodes.contains_key(update))
}

/// Without the edges that a longer way says already.
fn without_shortcuts(edges: &BTreeSet<(usize, usize)>) -> BTreeSet<(usize, usize)> {
    let mut after: BTreeMap<usize, Vec<usize>> = BTreeMap::new();
    for (from, to) in edges {
        after.entry(*from).or_default().push(*to);
    }
    let nexts = |place: usize| after.get(&place).map(Vec::as_slice).unwrap_or_default();
    let has_longer_way = |from: usize, to: usize| {
        let mut open: Vec<usize> = nexts(from).iter().copied().filter(|next| *next != to).collect();
        let mut seen: BTreeSet<usize> = open.iter().copied().collect();
        while let Some(place) = open.pop() {
            for next in nexts(place) {
                // A circle, as groups can have one, is not a longer way back.
                if *next == to {
                    return true;
                }
                if *next != from && seen.insert(*next) {
                    open.push(*next);
                }
            }
        }
        false
    };
    edges
        .iter()
        .copied()
        .filter(|(from, to)| !has_longer_way(*from, *to))
        .collect()
}

fn colours(progress: Progress) -> (&'static str, &'static str) {
    match progress {
        Progress::Failed => ("#f8c9c4", "#b3261e"),
        Progress::AtWork => ("#cfe4fa", "#1f6fb2"),
        Progress::Telling | Progress::Ready => ("#fde7b0", "#b07a00"),
        Progress::Waiting => ("#f5f5f5", "#999999"),
        Progress::NotReached => ("#eeeeee", "#bbbbbb"),
        Progress::Done => ("#d3edd3", "#3c8d40"),
    }
}

fn class(progress: Progress) -> &'static str {
    match progress {
        Progress::Failed => "failed",
        Progress::AtWork => "atWork",
        Progress::Telling => "telling",
        Progress::Ready => "ready",
        Progress::Waiting => "waiting",
        Progress::NotReached => "notReached",
        Progress::Done => "done",
    }
}

/// A string of the DOT language, and of YAML.
fn quoted(text: &str) -> String {
    let escaped = text.replace('\\', "\\\\").replace('"', "\\\"").replace('\n', "\\n");
    format!("\"{escaped}\"")
}

/// Text within a label of Mermaid.
fn escaped(text: &str) -> String {
    text.chars()
        .map(|character| match character {
            '"' => "#quot;".to_owned(),
            '<' => "#lt;".to_owned(),
            '>' => "#gt;".to_owned(),
            '&' => "#amp;".to_owned(),
            '#' => "#35;".to_owned(),
            other => other.to_string(),
        })
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_follows_from_two_edges_is_left_out() {
        let edges = BTreeSet::from([(0, 1), (1, 2), (0, 2), (3, 2)]);
        assert_eq!(without_shortcuts(&edges), BTreeSet::from([(0, 1), (1, 2), (3, 2)]));
    }

    #[test]
    fn labels_are_no_markup() {
        let sketch = Sketch {
            title: "a \"b\"".to_owned(),
            boxes: vec![Drawn {
                lines: vec!["x <b>#1".to_owned(), "y".to_owned()],
                progress: Progress::Done,
                is_update: true,
            }],
            edges: BTreeSet::new(),
        };
        assert!(sketch.dot().contains(r#"label = "x <b>#1\ny""#), "{}", sketch.dot());
        let (mermaid, is_drawn) = sketch.mermaid();
        assert!(mermaid.contains("n0(\"x #lt;b#gt;#35;1<br>y\"):::done"), "{mermaid}");
        assert!(mermaid.contains(r#"title: "a \"b\"""#), "{mermaid}");
        assert!(is_drawn);
        let wide = Sketch {
            edges: (0..501).map(|number| (number, number + 1)).collect(),
            ..sketch
        };
        assert!(!wide.mermaid().1, "it has too many edges");
    }
}
