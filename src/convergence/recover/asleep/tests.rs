use std::collections::HashMap;
use std::sync::Arc;

use serde_json::json;

use super::*;
use crate::convergence::engine::Graph;
use crate::convergence::meeting::{Arrival, Meeting};
use crate::store::{NewestEvent, NewestEvents};

const LATE: i64 = 1000;
const EARLY: i64 = 0;

fn at(seconds: i64) -> NaiveDateTime {
    chrono::DateTime::from_timestamp(1_000_000 + seconds, 0)
        .unwrap()
        .naive_utc()
}

fn row(id: i64, name: &str, action: &str, status: &str) -> Resource {
    Resource {
        id,
        uuid: format!("uuid-{id}"),
        created_at: at(EARLY),
        updated_at: None,
        stack_id: "stack".to_owned(),
        root_stack_id: None,
        name: name.to_owned(),
        physical_resource_id: None,
        action: Some(action.to_owned()),
        status: Some(status.to_owned()),
        status_reason: None,
        rsrc_metadata: None,
        rsrc_prop_data_id: None,
        attr_data_id: None,
        engine_id: None,
        atomic_key: None,
        needed_by: Vec::new(),
        requires: Vec::new(),
        replaces: None,
        replaced_by: None,
        current_template_id: Some(7),
    }
}

fn point(arrived: &[Node], changed: i64) -> Point {
    let mut meeting = Meeting::default();
    for sender in arrived {
        meeting.admit(Arrival {
            sender: sender.clone(),
            data: json!({"id": 1}),
            failures: None,
            skip: false,
        });
    }
    Point {
        meeting,
        changed_at: Some(at(changed)),
    }
}

/// `b` after `a`, both to be created; `told` have arrived where they have to, long ago.
fn chain(rows: [Resource; 2], told: &[i64]) -> Picture {
    let graph = Graph::from_edges([(Node::update(2), Some(Node::update(1)))]);
    let arrived = |id: i64| -> Vec<Node> { told.contains(&id).then(|| Node::update(id)).into_iter().collect() };
    Picture {
        action: Action::Create,
        template_id: 7,
        graph: Arc::new(graph),
        points: HashMap::from([
            (("1".to_owned(), true), point(&[], EARLY)),
            (("2".to_owned(), true), point(&arrived(1), EARLY)),
        ]),
        of_stack: point(&arrived(2), EARLY),
        rows: rows.into_iter().map(|row| (row.id, row)).collect(),
        events: NewestEvents::default(),
    }
}

fn findings(picture: &Picture) -> Vec<Finding> {
    picture.findings(at(LATE), &HashSet::new())
}

fn sent(findings: &[Finding]) -> Vec<Node> {
    let node = |finding: &Finding| match finding {
        Finding::Send(lost) => Some(lost.node.clone()),
        _ => None,
    };
    findings.iter().filter_map(node).collect()
}

fn event(id: i64, action: &str, status: &str, created: i64) -> NewestEvent {
    NewestEvent {
        id,
        action: Some(action.to_owned()),
        status: Some(status.to_owned()),
        created_at: Some(at(created)),
    }
}

#[test]
fn a_leaf_that_was_never_cast_is_asleep_and_what_waits_for_it_is_not() {
    let picture = chain([row(1, "a", "INIT", "COMPLETE"), row(2, "b", "INIT", "COMPLETE")], &[]);
    assert_eq!(sent(&findings(&picture)), [Node::update(1)]);
}

#[test]
fn a_node_whose_message_was_lost_gets_what_its_sync_point_holds() {
    let picture = chain(
        [row(1, "a", "CREATE", "COMPLETE"), row(2, "b", "INIT", "COMPLETE")],
        &[1],
    );
    let [Finding::Send(lost)] = &findings(&picture)[..] else {
        panic!("{picture:?}");
    };
    assert_eq!(lost.node, Node::update(2));
    assert_eq!(
        lost.input_data,
        json!({"input_data": {"tuple:(1, True, 'resource')": {"id": 1}}})
    );
}

#[test]
fn what_is_done_but_was_not_told_is_asleep() {
    let picture = chain(
        [row(1, "a", "CREATE", "COMPLETE"), row(2, "b", "INIT", "COMPLETE")],
        &[],
    );
    assert_eq!(sent(&findings(&picture)), [Node::update(1)]);
}

#[test]
fn what_somebody_holds_is_not_asleep() {
    let mut held = row(1, "a", "CREATE", "IN_PROGRESS");
    held.engine_id = Some("e".to_owned());
    let picture = chain([held, row(2, "b", "INIT", "COMPLETE")], &[]);
    assert_eq!(findings(&picture), []);
}

#[test]
fn what_was_heard_of_lately_may_be_under_way() {
    let mut picture = chain([row(1, "a", "INIT", "COMPLETE"), row(2, "b", "INIT", "COMPLETE")], &[]);
    picture.points.insert(("1".to_owned(), true), point(&[], LATE));
    assert_eq!(findings(&picture), []);
    picture.points.insert(("1".to_owned(), true), point(&[], EARLY));
    picture
        .events
        .of_resources
        .insert("a".to_owned(), event(5, "CREATE", "FAILED", LATE));
    assert_eq!(findings(&picture), []);
    // Unless it is known that its holder is dead.
    assert_eq!(
        sent(&picture.findings(at(LATE), &HashSet::from([1]))),
        [Node::update(1)]
    );
}

#[test]
fn the_replacement_of_the_traversal_stands_for_the_node() {
    let mut replaced = row(1, "a", "CREATE", "COMPLETE");
    replaced.replaced_by = Some(3);
    let mut picture = chain([replaced, row(2, "b", "INIT", "COMPLETE")], &[]);
    let mut replacement = row(3, "a", "CREATE", "IN_PROGRESS");
    replacement.engine_id = Some("e".to_owned());
    picture.rows.insert(3, replacement.clone());
    assert_eq!(findings(&picture), []);
    replacement.engine_id = None;
    replacement.status = Some("FAILED".to_owned());
    replacement.status_reason = Some("Worker went down during resource CREATE".to_owned());
    picture.rows.insert(3, replacement.clone());
    assert_eq!(sent(&findings(&picture)), [Node::update(3)]);
    // One of an earlier update is not of this traversal.
    replacement.current_template_id = Some(6);
    picture.rows.insert(3, replacement);
    assert_eq!(sent(&findings(&picture)), [Node::update(1)]);
}

#[test]
fn a_failure_that_the_stack_was_not_told_of_fails_it() {
    let mut failed = row(1, "a", "CREATE", "FAILED");
    failed.status_reason = Some("ValueError: resources.a: no".to_owned());
    let mut picture = chain([failed, row(2, "b", "INIT", "COMPLETE")], &[]);
    // One of an earlier traversal is to be put right.
    assert_eq!(sent(&findings(&picture)), [Node::update(1)]);
    picture.events.of_stack = Some(event(4, "CREATE", "IN_PROGRESS", EARLY));
    picture
        .events
        .of_resources
        .insert("a".to_owned(), event(5, "CREATE", "FAILED", EARLY));
    let reason = "Resource CREATE failed: ValueError: resources.a: no".to_owned();
    assert_eq!(findings(&picture), [Finding::Failed { reason }]);
}

#[test]
fn what_its_engine_gave_back_or_was_told_to_stop_goes_on() {
    for cause in ["the engine was stopped", "user triggered cancel"] {
        let mut given_back = row(1, "a", "CREATE", "FAILED");
        given_back.status_reason = Some(format!("CREATE aborted ({cause})"));
        let mut picture = chain([given_back, row(2, "b", "INIT", "COMPLETE")], &[]);
        picture.events.of_stack = Some(event(4, "CREATE", "IN_PROGRESS", EARLY));
        picture
            .events
            .of_resources
            .insert("a".to_owned(), event(5, "CREATE", "FAILED", EARLY));
        assert_eq!(sent(&findings(&picture)), [Node::update(1)]);
    }
}

#[test]
fn what_is_in_progress_and_nobodys_is_marked_first() {
    let picture = chain(
        [row(1, "a", "CREATE", "IN_PROGRESS"), row(2, "b", "INIT", "COMPLETE")],
        &[],
    );
    let found = findings(&picture);
    assert_eq!(found[0], Finding::Unheld { resource_id: 1 });
    assert_eq!(sent(&found), [Node::update(1)]);
}

#[test]
fn when_everybody_is_there_the_traversal_is_complete() {
    let rows = || [row(1, "a", "CREATE", "COMPLETE"), row(2, "b", "CREATE", "COMPLETE")];
    assert_eq!(findings(&chain(rows(), &[1, 2])), [Finding::Complete]);
    let mut picture = chain(rows(), &[1, 2]);
    picture.of_stack.changed_at = Some(at(LATE));
    assert_eq!(findings(&picture), []);
}

#[test]
fn a_cleanup_whose_row_is_gone_is_passed_over_and_an_update_fails() {
    let mut picture = chain([row(1, "a", "INIT", "COMPLETE"), row(2, "b", "INIT", "COMPLETE")], &[]);
    picture.rows.remove(&1);
    assert!(matches!(&findings(&picture)[..], [Finding::Failed { reason }] if reason.contains("(1)")));
    picture.graph = Arc::new(Graph::from_edges([(Node::cleanup(1), None)]));
    picture.points = HashMap::from([(("1".to_owned(), false), point(&[], EARLY))]);
    assert_eq!(sent(&findings(&picture)), [Node::cleanup(1)]);
}
