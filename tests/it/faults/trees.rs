//! Stacks with many below them. Those that make such trees are the Python engine's; their rows are laid by hand.

use serde_json::{Value, json};

use crate::convergence::linked::LinkedSite;
use crate::convergence::site::{Site, Stack, eventually};
use crate::convergence::templates::{template, test};

const LEVELS: u32 = 5;
const STACKS_A_LEVEL: u32 = 5;
const RESOURCES_A_STACK: u32 = 80;

/// Lays levels of stacks below `root`, each below the first of the level above, with resources and an event for each.
fn lay_tree(site: &Site, root: &Stack) {
    let mut statements = String::new();
    for level in 1..=LEVELS {
        let owner = match level {
            1 => root.id.clone(),
            _ => format!("tree-{}-1", level - 1),
        };
        statements += &format!(
            "INSERT INTO stack (id, name, owner_id, nested_depth, created_at, raw_template_id, user_creds_id, username, action, \
             status, status_reason, timeout, tenant, disable_rollback, backup, convergence, current_traversal, \
             parent_resource_name) \
             SELECT CONCAT('tree-{level}-', seq), CONCAT('tree-{level}-', seq), '{owner}', {level}, created_at, \
             raw_template_id, user_creds_id, username, action, status, status_reason, timeout, tenant, disable_rollback, 0, \
             convergence, CONCAT('traversal-{level}-', seq), 'a' \
             FROM stack JOIN seq_1_to_{STACKS_A_LEVEL} WHERE id = '{root}'; ",
            root = root.id,
        );
    }
    statements += &format!(
        "INSERT INTO resource (uuid, name, stack_id, root_stack_id, action, status, current_template_id, created_at) \
         SELECT UUID(), CONCAT('r', seq), s.id, '{root}', 'CREATE', 'COMPLETE', s.raw_template_id, s.created_at \
         FROM stack s JOIN seq_1_to_{RESOURCES_A_STACK} WHERE s.id LIKE 'tree-%'; \
         INSERT INTO event (uuid, stack_id, resource_name, resource_action, resource_status, resource_type, created_at) \
         SELECT UUID(), stack_id, name, action, status, 'OS::Heat::TestResource', created_at FROM resource \
         WHERE stack_id LIKE 'tree-%'",
        root = root.id,
    );
    site.database.sql(&statements);
}

fn small(value: &str) -> Value {
    template(json!({"a": test(json!({"value": value}))}))
}

/// B62: a deep list costs a statement a level, however much hangs there.
#[tokio::test(flavor = "multi_thread")]
async fn large_trees_are_listed_in_a_few_statements() {
    let linked = LinkedSite::new("tree", "").await;
    let _engine = linked.engine().await;
    let site = &linked.site;
    let root = site.create("tree", small("1")).await;
    site.until_settled(&root, "CREATE_COMPLETE").await;
    lay_tree(site, &root);

    for (depth, stacks) in [
        (1, STACKS_A_LEVEL),
        (2, 2 * STACKS_A_LEVEL),
        (5, LEVELS * STACKS_A_LEVEL),
    ] {
        linked.steps.arm(None, || {});
        let mut asked = root.delete_arguments();
        asked["nested_depth"] = depth.into();
        let events = site.call("list_events", asked).await;
        let (seen, _) = linked.steps.disarm();
        let of_tree = events.as_array().into_iter().flatten().filter(|event| {
            let name = event["resource_name"].as_str().unwrap_or_default();
            name.starts_with('r')
        });
        assert_eq!(of_tree.count() as u32, stacks * RESOURCES_A_STACK, "depth {depth}");
        assert!(seen.len() < 15, "depth {depth}: {seen:#?}");
    }
    linked.site.close().await;
}

/// B28: who cancels the update of a stack cancels what goes on below it.
#[tokio::test(flavor = "multi_thread")]
async fn a_cancel_reaches_all_stacks_of_the_tree() {
    let site = Site::new("treecancel", "").await;
    let _engine = site.engine().await;
    let root = site.create("treecancel", small("1")).await;
    site.until_settled(&root, "CREATE_COMPLETE").await;
    lay_tree(&site, &root);
    let under_way =
        "UPDATE stack SET action = 'UPDATE', status = 'IN_PROGRESS' WHERE id IN ('tree-1-1', 'tree-3-2', 'tree-5-5')";
    site.database.sql(under_way);
    let slowly = json!({"value": "2", "action_wait_secs": {"update": 3}});
    site.update(&root, template(json!({"a": test(slowly)}))).await;
    site.until_resource(&root, "a", "UPDATE_IN_PROGRESS").await;
    site.cancel(&root, false).await;
    site.until(&root, "UPDATE_FAILED").await;
    let cancelled = "stack WHERE status = 'FAILED' AND status_reason = 'Stack UPDATE cancelled' \
                     AND current_traversal NOT LIKE 'traversal-%' AND id IN ('tree-1-1', 'tree-3-2', 'tree-5-5')";
    eventually("all of the tree is cancelled", || async {
        site.count(cancelled).await == 3
    })
    .await;
    let others = "stack WHERE id LIKE 'tree-%' AND status = 'COMPLETE' AND current_traversal LIKE 'traversal-%'";
    assert_eq!(site.count(others).await, i64::from(LEVELS * STACKS_A_LEVEL) - 3);
    site.until_resource(&root, "a", "UPDATE_COMPLETE").await;
    site.close().await;
}
