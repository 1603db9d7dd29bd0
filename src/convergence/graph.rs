//! From a template's dependencies and the rows that exist to the graph of one traversal.

use chrono::NaiveDateTime;
use indexmap::IndexMap;

use crate::resource::state::{Action, Status};
use crate::stack::dependencies::Dependencies;
use crate::stack::node::Node;

/// What the graph needs to know of a resource row.
#[derive(Clone, Debug)]
pub struct ExistingResource {
    pub id: i64,
    pub name: String,
    pub action: Action,
    pub status: Status,
    pub requires: Vec<i64>,
    pub replaces: Option<i64>,
    pub replaced_by: Option<i64>,
    pub current_template_id: Option<i64>,
    pub changed_at: Option<NaiveDateTime>,
}

/// The row of that name which the new template should go on with: rather a healthy one than a failed or deleted one,
/// rather one that already has this template (a rollback comes home) or the previous one, rather a recent one.
pub fn best_existing<'a>(
    existing: impl Iterator<Item = &'a ExistingResource>,
    name: &str,
    template_id: i64,
    previous_template_id: Option<i64>,
) -> Option<&'a ExistingResource> {
    let score = |row: &ExistingResource| {
        let mut score = 0;
        if row.status == Status::Failed {
            score -= 30;
        }
        if row.action == Action::Delete {
            score -= 50;
        }
        if row.replaced_by.is_some() {
            score -= 1;
        }
        if row.current_template_id == previous_template_id {
            score += 5;
        }
        if row.current_template_id == Some(template_id) {
            score += 10;
        }
        (score, row.changed_at)
    };
    // Of equals the first wins, as in a stable sort.
    existing
        .filter(|row| row.name == name)
        .reduce(|best, row| if score(row) > score(best) { row } else { best })
}

/// The nodes and edges of a traversal.
///
/// Each resource of the template has an update node. Each existing row has a cleanup node, after the update node of the
/// same row and after the cleanup of all that required it (`requires`) or that it was replaced by. `template` holds the
/// template's dependencies by resource name, `chosen` the row for each name.
pub fn traversal_graph(
    template: &Dependencies<String>,
    chosen: &IndexMap<String, i64>,
    existing: &IndexMap<i64, ExistingResource>,
    snapshots: &[String],
) -> Dependencies<Node> {
    let update_node = |name: &String| chosen.get(name).map(|id| Node::update(*id));
    let mut graph = Dependencies::default();
    for (requirer, required) in template.edges() {
        let Some(requirer) = update_node(requirer) else {
            continue;
        };
        match required.and_then(update_node) {
            Some(required) => graph.require(requirer, required),
            None => graph.add(requirer),
        }
    }
    for row in existing.values() {
        graph.add(Node::cleanup(row.id));
        for requirement in row.requires.iter().chain(&row.replaces) {
            if existing.contains_key(requirement) {
                graph.require(Node::cleanup(*requirement), Node::cleanup(row.id));
            }
        }
        if graph.contains(&Node::update(row.id)) {
            graph.require(Node::cleanup(row.id), Node::update(row.id));
        }
    }
    for snapshot in snapshots {
        graph.add(Node::snapshot(snapshot));
    }
    graph
}

#[cfg(test)]
mod tests {
    use super::*;

    fn row(id: i64, name: &str) -> ExistingResource {
        ExistingResource {
            id,
            name: name.to_owned(),
            action: Action::Create,
            status: Status::Complete,
            requires: Vec::new(),
            replaces: None,
            replaced_by: None,
            current_template_id: Some(1),
            changed_at: None,
        }
    }

    fn names(pairs: &[(&str, Option<&str>)]) -> Dependencies<String> {
        Dependencies::from_edges(pairs.iter().map(|(a, b)| (a.to_string(), b.map(str::to_owned))))
    }

    #[test]
    fn the_healthy_row_wins_over_the_failed_replacement() {
        let failed = ExistingResource {
            status: Status::Failed,
            ..row(2, "a")
        };
        let replaced = ExistingResource {
            replaced_by: Some(2),
            ..row(1, "a")
        };
        let rows = [failed, replaced, row(3, "b")];
        assert_eq!(best_existing(rows.iter(), "a", 9, Some(1)).map(|row| row.id), Some(1));
        assert_eq!(best_existing(rows.iter(), "c", 9, Some(1)).map(|row| row.id), None);
    }

    #[test]
    fn a_rollback_comes_home_to_the_row_of_its_template() {
        let newer = ExistingResource {
            current_template_id: Some(2),
            ..row(2, "a")
        };
        let rows = [newer, row(1, "a")];
        assert_eq!(best_existing(rows.iter(), "a", 1, None).map(|row| row.id), Some(1));
    }

    #[test]
    fn cleanup_goes_against_the_requirements_and_after_the_update() {
        let template = names(&[("b", Some("a"))]);
        let chosen = IndexMap::from([("a".to_owned(), 1), ("b".to_owned(), 2)]);
        let existing = IndexMap::from([
            (1, row(1, "a")),
            (
                2,
                ExistingResource {
                    requires: vec![1],
                    ..row(2, "b")
                },
            ),
            (
                3,
                ExistingResource {
                    requires: vec![1, 77],
                    ..row(3, "gone")
                },
            ),
        ]);
        let graph = traversal_graph(&template, &chosen, &existing, &[]);
        let requires = |node: Node| graph.requires(&node).cloned().collect::<Vec<_>>();
        assert_eq!(requires(Node::update(2)), [Node::update(1)]);
        assert_eq!(requires(Node::cleanup(2)), [Node::update(2)]);
        assert_eq!(requires(Node::cleanup(3)), []);
        assert_eq!(
            requires(Node::cleanup(1)),
            [Node::update(1), Node::cleanup(2), Node::cleanup(3)]
        );
    }

    #[test]
    fn what_was_replaced_goes_after_its_replacement_is_cleaned_up() {
        let existing = IndexMap::from([
            (1, row(1, "a")),
            (
                2,
                ExistingResource {
                    replaces: Some(1),
                    ..row(2, "a")
                },
            ),
        ]);
        let graph = traversal_graph(
            &Dependencies::default(),
            &IndexMap::new(),
            &existing,
            &["snap".to_owned()],
        );
        assert_eq!(
            graph.requires(&Node::cleanup(1)).collect::<Vec<_>>(),
            [&Node::cleanup(2)]
        );
        assert_eq!(
            graph.leaves().collect::<Vec<_>>(),
            [&Node::cleanup(2), &Node::snapshot("snap")]
        );
    }
}
