//! Engine death, restart, stuck IN_PROGRESS.

use std::time::Duration;

use serde_json::{Value, json};

use crate::convergence::linked::LinkedSite;
use crate::convergence::site::Site;
use crate::convergence::templates::{template, test, test_after};
use crate::link::Weather;
use crate::recovery::RESTLESS;

/// B07: the database is away at the moment at which a lock is given back. The holder lives, so nobody else may take it.
#[tokio::test(flavor = "multi_thread")]
async fn failed_release_of_a_lock() {
    let linked = LinkedSite::new("release", RESTLESS).await;
    let _engine = linked.engine().await;
    let site = &linked.site;
    let stack = site.create_pair("release", 3).await;
    site.until_resource(&stack, "a", "CREATE_IN_PROGRESS").await;
    linked.database.weather(Weather::Cut);
    tokio::time::sleep(Duration::from_secs(30)).await;
    assert_eq!(site.resource(&stack, "a").await.state(), "CREATE_IN_PROGRESS");
    linked.database.weather(Weather::Fair);
    site.until_tidy(&stack, "CREATE_COMPLETE").await;
    let made = site.times(&stack, ["a CREATE_COMPLETE", "a CREATE_FAILED"]).await;
    assert_eq!(made, [1, 0]);
    linked.site.close().await;
}

/// B07, for a cancel.
#[tokio::test(flavor = "multi_thread")]
async fn a_cancel_whose_end_meets_an_outage() {
    let linked = LinkedSite::new("cancel_release", RESTLESS).await;
    let _engine = linked.engine().await;
    let site = &linked.site;
    let want = |value: &str| {
        let slowly = json!({"value": value, "action_wait_secs": {"update": 2}});
        template(json!({"a": test(slowly), "b": test_after(json!({"value": value}), &["a"])}))
    };
    let stack = site.create("cancel", want("1")).await;
    site.until_settled(&stack, "CREATE_COMPLETE").await;
    site.update(&stack, want("2")).await;
    site.until_resource(&stack, "a", "UPDATE_IN_PROGRESS").await;
    site.cancel(&stack, true).await;
    site.until(&stack, "ROLLBACK_IN_PROGRESS").await;
    linked.database.weather(Weather::Cut);
    tokio::time::sleep(Duration::from_secs(8)).await;
    linked.database.weather(Weather::Fair);
    site.until_tidy(&stack, "ROLLBACK_COMPLETE").await;
    site.update(&stack, want("3")).await;
    site.until_tidy(&stack, "UPDATE_COMPLETE").await;
    linked.site.close().await;
}

/// B08: the row of a lock that no engine has, for a stack that has no use for one.
#[tokio::test(flavor = "multi_thread")]
async fn stray_stack_lock_blocks_a_nested_resource() {
    let site = Site::restless("stray").await;
    let _engines = tokio::join!(site.engine(), site.python_engine());
    let group = |count: u32| -> Value {
        let member = test(json!({"value": "member"}));
        template(json!({
            "group": {"type": "OS::Heat::ResourceGroup", "properties": {"count": count, "resource_def": member}},
        }))
    };
    let stack = site.create("stray", group(1)).await;
    site.until(&stack, "CREATE_COMPLETE").await;
    site.change(
        "INSERT INTO stack_lock (stack_id, engine_id, created_at) SELECT id, 'nobody', UTC_TIMESTAMP() FROM stack",
    );
    site.update(&stack, group(2)).await;
    site.until(&stack, "UPDATE_COMPLETE").await;
    site.delete(&stack).await;
    site.until(&stack, "gone").await;
    site.close().await;
}
