//! Messages that never arrive, and starts that broke off before there were any.

use serde_json::json;

use super::{asleep_between, stop};
use crate::convergence::site::{Site, Stack};
use crate::convergence::templates::{template, test, test_after};

#[tokio::test(flavor = "multi_thread")]
async fn a_lost_message_is_sent_again() {
    let site = Site::restless("lost").await;
    let stack = asleep_between(&site, "lost", json!({})).await;
    let _engine = site.engine().await;
    site.until_tidy(&stack, "CREATE_COMPLETE").await;
    let made = site
        .times(&stack, ["a CREATE_IN_PROGRESS", "b CREATE_IN_PROGRESS"])
        .await;
    assert_eq!(made, [1, 1]);
    site.close().await;
}

/// Whether what an engine has taken off the queue waits for its turn there cannot be seen from outside. To ask for it once
/// more must change nothing.
#[tokio::test(flavor = "multi_thread")]
async fn a_message_that_only_waits_is_worked_on_once() {
    let site = Site::restless("waits").await;
    let _engine = site
        .engine_with(&[("OS_HEAT_ENGINE_RS__MAX_CONCURRENT_CHECKS", "1")])
        .await;
    let slowly = json!({"action_wait_secs": {"create": 4}});
    let resources = json!({"a": test(slowly.clone()), "b": test(slowly.clone()), "c": test(slowly)});
    let stack = site.create("waits", template(resources)).await;
    site.until_tidy(&stack, "CREATE_COMPLETE").await;
    site.until_quiet().await;
    let begun = ["a", "b", "c"].map(|name| format!("{name} CREATE_IN_PROGRESS"));
    let begun = site.times(&stack, [&begun[0], &begun[1], &begun[2]]).await;
    assert_eq!(begun, [1, 1, 1], "{:#?}", site.events(&stack).await);
    assert_eq!(site.resources(&stack).await.len(), 3);
    site.close().await;
}

/// A stack in UPDATE whose new traversal exists by name only.
async fn half_begun(site: &Site, name: &str) -> Stack {
    let engine = site.engine().await;
    let resources = json!({"a": test(json!({"value": "1"})), "b": test_after(json!({}), &["a"])});
    let stack = site.create(name, template(resources)).await;
    site.until_settled(&stack, "CREATE_COMPLETE").await;
    stop(engine).await;
    site.change(&format!(
        "UPDATE stack SET action = 'UPDATE', status = 'IN_PROGRESS', current_traversal = 'half', \
         updated_at = UTC_TIMESTAMP() WHERE id = '{}'",
        stack.id
    ));
    stack
}

#[tokio::test(flavor = "multi_thread")]
async fn a_start_that_broke_off_begins_again() {
    let site = Site::restless("start").await;
    let stack = half_begun(&site, "start").await;
    let _engine = site.engine().await;
    site.until_tidy(&stack, "UPDATE_COMPLETE").await;
    let ended = site
        .times(&stack, ["start UPDATE_COMPLETE", "a UPDATE_IN_PROGRESS"])
        .await;
    assert_eq!(ended, [1, 0]);
    site.close().await;
}

/// A Python engine makes sync points one by one; the last of them is the stack's.
#[tokio::test(flavor = "multi_thread")]
async fn a_start_that_broke_off_among_its_sync_points_begins_again() {
    let site = Site::restless("points").await;
    let stack = half_begun(&site, "points").await;
    site.change(&format!(
        "INSERT INTO sync_point (entity_id, traversal_id, is_update, atomic_key, stack_id, input_data, created_at) \
         SELECT id, 'half', 1, 0, stack_id, '{{}}', UTC_TIMESTAMP() FROM resource WHERE stack_id = '{}' AND name = 'a'",
        stack.id
    ));
    let _engine = site.engine().await;
    site.until_tidy(&stack, "UPDATE_COMPLETE").await;
    site.close().await;
}

/// The row of the stack is there, and the engine died before the traversal had a name of its own.
#[tokio::test(flavor = "multi_thread")]
async fn a_create_that_was_never_begun_is_begun() {
    let site = Site::restless("never").await;
    let engine = site.engine().await;
    let stack = site.create("never", template(json!({"a": test(json!({}))}))).await;
    site.until_settled(&stack, "CREATE_COMPLETE").await;
    stop(engine).await;
    site.change(&format!(
        "DELETE FROM resource_data; DELETE FROM resource WHERE stack_id = '{id}'; DELETE FROM event; \
         UPDATE stack SET status = 'IN_PROGRESS', status_reason = '', current_deps = 'null' WHERE id = '{id}'",
        id = stack.id
    ));
    let _engine = site.engine().await;
    site.until_tidy(&stack, "CREATE_COMPLETE").await;
    assert_eq!(
        site.events(&stack).await,
        [
            "never CREATE_IN_PROGRESS",
            "a CREATE_IN_PROGRESS",
            "a CREATE_COMPLETE",
            "never CREATE_COMPLETE"
        ]
    );
    site.close().await;
}

/// A Python engine takes a lock away with one write and marks the resource with another.
#[tokio::test(flavor = "multi_thread")]
async fn what_is_in_progress_and_nobodys_goes_on() {
    let site = Site::restless("nobody").await;
    let engine = site.engine().await;
    let stack = site.create_pair("nobody", 300).await;
    site.until_resource(&stack, "a", "CREATE_IN_PROGRESS").await;
    engine.kill();
    site.change(&format!(
        "UPDATE resource SET engine_id = NULL WHERE stack_id = '{id}'; \
         UPDATE resource_properties_data SET data = REPLACE(data, '300', '0'); \
         UPDATE raw_template SET template = REPLACE(template, '300', '0')",
        id = stack.id
    ));
    let _engine = site.engine().await;
    site.until_tidy(&stack, "CREATE_COMPLETE").await;
    let failed = site.times(&stack, ["a CREATE_FAILED", "a CREATE_COMPLETE"]).await;
    assert_eq!(failed, [1, 1], "{:#?}", site.events(&stack).await);
    site.close().await;
}
