//! Rollback, cancel, delete in progress.

use std::time::Duration;

use rand::rngs::StdRng;
use rand::{RngExt, SeedableRng};
use serde_json::json;

use crate::convergence::site::Site;
use crate::convergence::templates::{template, test, test_after};
use crate::fault_proxy::{Fate, FaultProxy};
use crate::lab::Lab;

/// B29: a cancel that comes at the very end of an update leaves nothing that would keep out the next.
#[tokio::test(flavor = "multi_thread")]
async fn cancel_took_the_lock_and_kept_it() {
    let site = Site::new("late", "").await;
    let _engines = tokio::join!(site.engine(), site.engine());
    let want = |value: u32| {
        let slowly = json!({"value": value.to_string(), "action_wait_secs": {"update": 0.2}});
        template(json!({"a": test(slowly)}))
    };
    let stack = site.create("late", want(0)).await;
    site.until_settled(&stack, "CREATE_COMPLETE").await;
    let mut chance = StdRng::seed_from_u64(29);
    for round in 1..=100 {
        site.update(&stack, want(round)).await;
        tokio::time::sleep(Duration::from_millis(chance.random_range(100..500))).await;
        // Refused when the update has ended.
        let cancel = stack.cancel_arguments(chance.random_bool(0.5));
        drop(site.try_call("stack_cancel_update", cancel).await);
    }
    tokio::time::sleep(Duration::from_secs(1)).await;
    site.until_ended(&stack).await;
    site.update(&stack, want(101)).await;
    site.until_settled(&stack, "UPDATE_COMPLETE").await;
    assert_eq!(site.count("stack_lock").await, 0);
    site.close().await;
}

/// B35: a service answers with more than a column holds, in characters of three bytes. (The write that this must not
/// break is the one that gives the lock back.)
#[tokio::test(flavor = "multi_thread")]
async fn status_reason_longer_than_the_column_blocks_delete() {
    let proxy = FaultProxy::start(&Lab::get().keystone.url).await;
    let keystone = format!("[clients_keystone]\nauth_uri = {}", proxy.url);
    let site = Site::new("reason", &keystone).await;
    let _engine = site.engine().await;
    let long = "\u{4e00}".repeat(70_000);
    proxy.next("POST /v3/projects", std::iter::repeat_n(Fate::Say(400, long), 20));
    let resources = json!({"p": {"type": "OS::Keystone::Project"}, "a": test(json!({}))});
    let stack = site.create_as_admin("reason", template(resources), &proxy.url).await;
    site.until_settled(&stack, "CREATE_FAILED").await;
    let resource = site.resource(&stack, "p").await;
    assert_eq!((resource.state().as_str(), resource.engine_id), ("CREATE_FAILED", None));
    let bytes = site
        .texts("SELECT CAST(LENGTH(status_reason) AS CHAR) FROM resource WHERE name = 'p'")
        .await;
    let bytes: usize = bytes[0].parse().expect("a number");
    assert!((65_500..=65_535).contains(&bytes), "{bytes}");
    proxy.rule(|_| Fate::Pass);
    site.delete_as_admin(&stack, &proxy.url).await;
    site.until_settled(&stack, "gone").await;
    site.close().await;
}

/// B38: what a check of an incomplete stack stores (a Python engine's, which it is handed to) can be updated and deleted.
#[tokio::test(flavor = "multi_thread")]
async fn check_of_an_incomplete_stack_stored_rows_without_a_template() {
    let site = Site::restless("checked").await;
    let _engines = tokio::join!(site.engine(), site.python_engine());
    let wanted = |fail: bool| template(json!({"a": test(json!({"fail": fail})), "b": test_after(json!({}), &["a"])}));
    let without_template = "resource WHERE current_template_id IS NULL";
    for actions in [&["stack_check"][..], &["stack_suspend", "stack_resume"]] {
        let stack = site.create(actions[0], wanted(true)).await;
        site.until_settled(&stack, "CREATE_FAILED").await;
        assert_eq!(site.resource(&stack, "b").await.state(), "INIT_COMPLETE");
        for action in actions {
            site.call(action, stack.delete_arguments()).await;
            site.until_ended(&stack).await;
            site.until_quiet().await;
            assert_eq!(site.count(without_template).await, 0, "{action}");
        }
        site.update(&stack, wanted(false)).await;
        site.until_settled(&stack, "UPDATE_COMPLETE").await;
        assert_eq!(site.count(without_template).await, 0, "{actions:?}");
        site.delete(&stack).await;
        site.until_settled(&stack, "gone").await;
        site.nothing_is_leaked(&stack).await;
    }
    site.close().await;
}
