//! Ends that nobody recorded, and what traversals leave behind.

use heat_engine::messaging::Target;
use rstest::rstest;
use serde_json::{Value, json};

use super::steps::kill;
use super::{RESTLESS, asleep_between, stop};
use crate::convergence::linked::LinkedSite;
use crate::convergence::site::{Site, Stack, eventually};
use crate::convergence::templates::{template, test};
use crate::link::Strike;

/// Nobody has a resource of the stack, and no message is left to bring anybody to look at the clock.
#[tokio::test(flavor = "multi_thread")]
async fn the_time_of_a_stack_runs_out_although_nothing_moves() {
    let patient = RESTLESS.replace("patience = 2", "patience = 600");
    let site = Site::new("time", &format!("{patient}\n[DEFAULT]\nstack_action_timeout = 15")).await;
    let stack = asleep_between(&site, "time", json!({})).await;
    let _engine = site.engine().await;
    site.until_tidy(&stack, "CREATE_FAILED").await;
    assert_eq!(site.reason(&stack).await, "Timed out");
    assert_eq!(site.resource(&stack, "b").await.state(), "INIT_COMPLETE");
    site.close().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn what_ran_out_of_time_is_rolled_back_if_it_is_to_be() {
    let patient = RESTLESS.replace("patience = 2", "patience = 600");
    let site = Site::new("undo", &format!("{patient}\n[DEFAULT]\nstack_action_timeout = 15")).await;
    let stack = asleep_between(&site, "undo", json!({"disable_rollback": false})).await;
    let _engine = site.engine().await;
    site.until_tidy(&stack, "ROLLBACK_COMPLETE").await;
    let reasons = site
        .texts(&format!(
            "SELECT resource_status_reason FROM event WHERE stack_id = '{}' AND resource_name = 'undo' \
             AND resource_status = 'FAILED'",
            stack.id
        ))
        .await;
    assert_eq!(reasons, ["Timed out"]);
    assert_eq!(site.resources(&stack).await, []);
    site.close().await;
}

/// A stack of one resource, complete, and no engine.
async fn complete(site: &Site, name: &str, args: serde_json::Value) -> Stack {
    let engine = site.engine().await;
    let stack = site
        .create_with(name, template(json!({"a": test(json!({}))})), args)
        .await;
    site.until_settled(&stack, "CREATE_COMPLETE").await;
    stop(engine).await;
    stack
}

fn leave_sync_point(site: &Site, stack: &Stack) {
    site.change(&format!(
        "INSERT INTO sync_point (entity_id, traversal_id, is_update, atomic_key, stack_id, input_data, created_at) \
         SELECT id, current_traversal, 1, 0, id, '{{}}', UTC_TIMESTAMP() FROM stack WHERE id = '{}'",
        stack.id
    ));
}

#[tokio::test(flavor = "multi_thread")]
async fn a_rollback_that_was_not_begun_is_begun() {
    let site = Site::restless("rollback").await;
    let stack = complete(&site, "rollback", json!({"disable_rollback": false})).await;
    leave_sync_point(&site, &stack);
    site.change(&format!("UPDATE stack SET status = 'FAILED' WHERE id = '{}'", stack.id));
    let _engine = site.engine().await;
    site.until_tidy(&stack, "ROLLBACK_COMPLETE").await;
    assert_eq!(site.resources(&stack).await, []);
    site.close().await;
}

/// B13, for a stack that an old release left behind: its sync points go, and nothing is begun.
#[tokio::test(flavor = "multi_thread")]
async fn an_old_failure_is_not_rolled_back() {
    let site = Site::restless("old").await;
    let stack = complete(&site, "old", json!({"disable_rollback": false})).await;
    leave_sync_point(&site, &stack);
    site.change(&format!(
        "UPDATE stack SET status = 'FAILED' WHERE id = '{}'; \
         UPDATE sync_point SET created_at = UTC_TIMESTAMP() - INTERVAL 1 DAY",
        stack.id
    ));
    let _engine = site.engine().await;
    site.until_tidy(&stack, "CREATE_FAILED").await;
    assert_eq!(site.resource(&stack, "a").await.state(), "CREATE_COMPLETE");
    site.close().await;
}

/// A Python engine leaves the sync points of a traversal that is overtaken while it begins.
#[tokio::test(flavor = "multi_thread")]
async fn sync_points_of_a_traversal_that_is_over_go() {
    let site = Site::restless("points").await;
    let stack = complete(&site, "points", json!({})).await;
    leave_sync_point(&site, &stack);
    site.change("UPDATE sync_point SET traversal_id = 'overtaken'");
    let _engine = site.engine().await;
    site.until_tidy(&stack, "CREATE_COMPLETE").await;
    site.close().await;
}

#[rstest]
#[case::before_anything_went("")]
#[case::after_the_credentials(", user_creds_id = NULL")]
#[tokio::test(flavor = "multi_thread")]
async fn a_delete_that_broke_off_is_finished(#[case] gone: &str) {
    let site = Site::restless("delete").await;
    let stack = complete(&site, "delete", json!({})).await;
    assert_eq!(site.count("user_creds").await, 1);
    site.change(&format!(
        "UPDATE stack SET action = 'DELETE', status = 'COMPLETE'{gone} WHERE id = '{}'; \
         DELETE FROM user_creds WHERE id NOT IN (SELECT user_creds_id FROM stack WHERE user_creds_id IS NOT NULL)",
        stack.id
    ));
    let _engine = site.engine().await;
    site.until_settled(&stack, "gone").await;
    assert_eq!(site.count("user_creds").await, 0);
    assert_eq!(site.count("resource").await, 0);
    site.close().await;
}

/// What a create that broke off before its stack was stored, or an update, has left.
#[tokio::test(flavor = "multi_thread")]
async fn credentials_and_templates_that_no_stack_has_go_after_a_while() {
    let site = Site::restless("creds").await;
    let stack = complete(&site, "creds", json!({})).await;
    site.change(
        "INSERT INTO user_creds (created_at, username) VALUES (UTC_TIMESTAMP() - INTERVAL 2 HOUR, 'old'), \
         (UTC_TIMESTAMP(), 'new'); \
         INSERT INTO raw_template (created_at, template) VALUES (UTC_TIMESTAMP() - INTERVAL 2 HOUR, 'old'), \
         (UTC_TIMESTAMP(), 'new')",
    );
    let _engine = site.engine().await;
    eventually("the old rows go", || async {
        site.count("user_creds WHERE username = 'old'").await == 0
            && site.count("raw_template WHERE template = 'old'").await == 0
    })
    .await;
    assert_eq!(site.count("user_creds WHERE username = 'new'").await, 1);
    assert_eq!(site.count("raw_template WHERE template = 'new'").await, 1);
    let kept = format!(
        "user_creds c JOIN stack s ON s.user_creds_id = c.id WHERE s.id = '{}'",
        stack.id
    );
    assert_eq!(site.count(&kept).await, 1);
    assert_eq!(site.state(&stack).await, "CREATE_COMPLETE");
    assert_eq!(
        site.count("raw_template t JOIN stack s ON s.raw_template_id = t.id")
            .await,
        1
    );
    site.close().await;
}

/// B04: a stack without convergence is wedged, with no lock or that of an engine that is gone.
#[tokio::test(flavor = "multi_thread")]
async fn stack_wedged_with_no_lock_row_is_skipped_at_restart() {
    let site = Site::restless("legacy").await;
    let without = complete(&site, "without", json!({})).await;
    let with = complete(&site, "with", json!({})).await;
    site.change(&format!(
        "UPDATE stack SET status = 'IN_PROGRESS', convergence = 0, current_traversal = NULL; \
         UPDATE resource SET status = 'IN_PROGRESS'; \
         INSERT INTO stack_lock (stack_id, engine_id, created_at) VALUES ('{}', 'gone', UTC_TIMESTAMP())",
        with.id
    ));
    let _engine = site.engine().await;
    for stack in [&without, &with] {
        site.until_tidy(stack, "CREATE_FAILED").await;
        assert_eq!(site.reason(stack).await, "Engine went down during stack CREATE");
        let resource = site.resource(stack, "a").await;
        assert_eq!(resource.state(), "CREATE_FAILED");
        assert_eq!(
            resource.status_reason.as_deref(),
            Some("Engine went down during stack CREATE")
        );
    }
    eventually("the locks are given back", || async {
        site.count("stack_lock").await == 0
    })
    .await;
    site.close().await;
}

/// The deleter dies before it has sent its messages. What becomes of the snapshot is a Python engine's work, and its message
/// is lost as the others are. If the Python engine comes to the stack's end as well, it deletes the trust under which it acts,
/// and then is not let in any more: another delete finds only the stack left.
#[tokio::test(flavor = "multi_thread")]
async fn a_delete_that_broke_off_takes_its_snapshots_along() {
    let linked = LinkedSite::new("snapshots", RESTLESS).await;
    let site = &linked.site;
    let [database, broker] = linked.options();
    let host = ("OS_DEFAULT__HOST", "deleter".to_owned());
    let mut deleter = linked.engine_with(&[database, broker, host]).await;
    let _python = site.python_engine().await;
    let stack = site.create("snapshots", template(json!({"a": test(json!({}))}))).await;
    site.until_settled(&stack, "CREATE_COMPLETE").await;
    let mut wanted = stack.delete_arguments();
    wanted["name"] = "kept".into();
    site.call("stack_snapshot", wanted).await;
    site.until_settled(&stack, "SNAPSHOT_COMPLETE").await;
    assert_eq!(site.count("snapshot").await, 1);

    let victim = deleter.process_id();
    let first_message = (0, Strike::Before);
    linked
        .steps
        .arm_among(&["publish to \"heat\": engine_worker"], first_message, move || {
            kill(victim)
        });
    let Value::Object(wanted) = stack.delete_arguments() else {
        panic!("arguments are a map");
    };
    let deleters = Target::topic("engine", "1.36").server("deleter");
    site.cast(&deleters, "delete_stack", wanted).await;
    deleter.wait().await;
    assert_eq!(site.state(&stack).await, "DELETE_IN_PROGRESS");
    assert_eq!(site.count("snapshot").await, 1);
    let _other = site.engine().await;
    eventually("the stack goes, or the Python engine is not let in", || async {
        ["gone", "DELETE_FAILED"].contains(&site.state(&stack).await.as_str())
    })
    .await;
    assert_eq!(site.count("snapshot").await, 0);
    assert_eq!(site.resources(&stack).await, []);
    if site.state(&stack).await == "DELETE_FAILED" {
        let reason = site.reason(&stack).await;
        assert_eq!(reason, "Error deleting project: Authorization failed.");
        site.delete(&stack).await;
    }
    site.until_settled(&stack, "gone").await;
    assert_eq!(site.count("user_creds").await, 0);
    site.nothing_is_leaked(&stack).await;
    linked.site.close().await;
}
