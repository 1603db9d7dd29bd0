//! An engine that is told to end while it works.

use std::time::Duration;

use serde_json::json;

use super::site::{Site, eventually};
use super::templates::{template, test, test_after};

#[tokio::test(flavor = "multi_thread")]
async fn what_runs_is_finished_and_nothing_new_is_begun() {
    let site = Site::new("term", "").await;
    let mut engine = site.engine().await;
    let slowly = json!({"action_wait_secs": {"create": 4}});
    let resources = json!({"a": test(slowly), "b": test_after(json!({}), &["a"])});
    let stack = site.create("term", template(resources)).await;
    site.until_resource(&stack, "a", "CREATE_IN_PROGRESS").await;

    engine.signal("TERM");
    eventually("the service row is marked", || async {
        site.living_engines().await == 0
    })
    .await;
    // Consumers go before the row does; the work on `a` goes on.
    let consumers = |name: &str| {
        let queues = site.vhost.queues();
        let queue = queues.iter().find(|queue| queue["name"] == name);
        queue.and_then(|queue| queue["consumers"].as_u64()).unwrap_or(0)
    };
    eventually("nothing is consumed", || async {
        consumers("engine") == 0 && consumers("engine_worker") == 0
    })
    .await;
    assert!(engine.is_alive());
    assert!(engine.wait().await.success());
    let resource = site.resource(&stack, "a").await;
    assert_eq!(
        (resource.state().as_str(), resource.engine_id),
        ("CREATE_COMPLETE", None)
    );
    // What follows it waits for another engine.
    assert_eq!(site.resource(&stack, "b").await.state(), "INIT_COMPLETE");
    let _next = site.engine().await;
    site.until_settled(&stack, "CREATE_COMPLETE").await;
    site.close().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_second_signal_ends_it_at_once_and_gives_the_work_back() {
    let site = Site::new("twice", "").await;
    let mut engine = site.engine().await;
    let slowly = json!({"action_wait_secs": {"create": 300}});
    let stack = site.create("twice", template(json!({"a": test(slowly)}))).await;
    site.until_resource(&stack, "a", "CREATE_IN_PROGRESS").await;

    engine.signal("TERM");
    eventually("the first order is heard", || async {
        site.living_engines().await == 0
    })
    .await;
    tokio::time::sleep(Duration::from_secs(1)).await;
    assert!(engine.is_alive());
    engine.signal("TERM");
    assert!(engine.wait().await.success());
    // Nobody needs to find out that it is dead.
    let resource = site.resource(&stack, "a").await;
    assert_eq!((resource.state().as_str(), resource.engine_id), ("CREATE_FAILED", None));

    let next = site.engine().await;
    let resource = site.until_resource(&stack, "a", "CREATE_IN_PROGRESS").await;
    assert_eq!(resource.engine_id, Some(next.id()));
    site.delete(&stack).await;
    site.until_settled(&stack, "gone").await;
    site.close().await;
}

/// With another engine alive, what one was at when it was told to stop is done once, and what follows is the other's.
#[tokio::test(flavor = "multi_thread")]
async fn work_under_way_when_its_engine_stops_is_done_once() {
    let site = Site::new("handed", "").await;
    let (first, second) = tokio::join!(site.engine(), site.engine());
    let slowly = json!({"action_wait_secs": {"create": 30}});
    let resources = json!({"a": test(slowly), "b": test_after(json!({}), &["a"])});
    let stack = site.create("handed", template(resources)).await;
    let held = site.until_resource(&stack, "a", "CREATE_IN_PROGRESS").await;
    let (mut leaving, staying) = match held.engine_id == Some(first.id()) {
        true => (first, second),
        false => (second, first),
    };
    leaving.signal("TERM");
    site.until_settled(&stack, "CREATE_COMPLETE").await;
    assert!(leaving.wait().await.success());
    drop(staying);
    let events = site.events(&stack).await;
    for name in ["a", "b"] {
        let begun = events
            .iter()
            .filter(|event| **event == format!("{name} CREATE_IN_PROGRESS"));
        assert_eq!(begun.count(), 1, "{events:#?}");
    }
    assert_eq!(site.resources(&stack).await.len(), 2);
    site.close().await;
}
