//! An engine that is told to end while it works.

use std::time::Duration;

use serde_json::json;

use super::site::{Engine, Site, Stack, eventually};
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

/// With another engine alive, what one waits for when it is told to stop is the other's to wait for: nothing is begun a
/// second time, and nobody waits for the one to leave.
#[tokio::test(flavor = "multi_thread")]
async fn what_a_leaving_engine_waits_for_goes_on_in_another() {
    let site = Site::new("handed", "").await;
    let (one, other) = tokio::join!(site.engine(), site.engine());
    let mut pair = (one, other);
    let wanted = |value: &str| {
        let slowly = json!({"value": value, "action_wait_secs": {"create": 30, "update": 8, "delete": 8}});
        template(json!({"a": test(slowly), "b": test_after(json!({"value": value}), &["a"])}))
    };
    let stack = site.create("handed", wanted("1")).await;
    pair = leave_in_the_middle(&site, pair, &stack, "CREATE").await;
    site.until_settled(&stack, "CREATE_COMPLETE").await;

    site.update(&stack, wanted("2")).await;
    pair = leave_in_the_middle(&site, pair, &stack, "UPDATE").await;
    site.until_settled(&stack, "UPDATE_COMPLETE").await;
    assert_eq!(site.resources(&stack).await.len(), 2);
    let values = "SELECT d.value FROM resource_data d ORDER BY d.resource_id";
    assert_eq!(site.texts(values).await, ["2", "2"]);

    site.delete(&stack).await;
    let _pair = leave_in_the_middle(&site, pair, &stack, "DELETE").await;
    site.until_settled(&stack, "gone").await;
    let events = site.events(&stack).await;
    for action in ["CREATE", "UPDATE", "DELETE"] {
        for status in ["IN_PROGRESS", "COMPLETE"] {
            for name in ["a", "b"] {
                let event = format!("{name} {action}_{status}");
                assert_eq!(
                    events.iter().filter(|found| **found == event).count(),
                    1,
                    "{event}: {events:#?}"
                );
            }
        }
    }
    site.nothing_is_leaked(&stack).await;
    site.close().await;
}

/// Tells the engine that works on `a` to stop, and starts another one in its place.
async fn leave_in_the_middle(site: &Site, engines: (Engine, Engine), stack: &Stack, action: &str) -> (Engine, Engine) {
    let in_progress = format!("{action}_IN_PROGRESS");
    let held = site.until_resource(stack, "a", &in_progress).await;
    let (mut leaving, staying) = match held.engine_id == Some(engines.0.id()) {
        true => engines,
        false => (engines.1, engines.0),
    };
    leaving.signal("TERM");
    assert!(leaving.wait().await.success());
    let held = site.resource(stack, "a").await;
    assert_eq!((held.state(), held.engine_id), (in_progress, Some(staying.id())));
    (staying, site.engine().await)
}

/// An engine that is to end still hears that what it waits for is not wanted any more, and lets go of it.
#[tokio::test(flavor = "multi_thread")]
async fn what_is_deleted_while_its_engine_leaves_goes_at_once() {
    let site = Site::new("deleted", "").await;
    let mut leaving = site.engine().await;
    let slowly = json!({"action_wait_secs": {"create": 300}});
    let resources = json!({"a": test(slowly.clone()), "b": test(slowly), "c": test_after(json!({}), &["a"])});
    let stack = site.create("deleted", template(resources)).await;
    for name in ["a", "b"] {
        site.until_resource(&stack, name, "CREATE_IN_PROGRESS").await;
    }
    leaving.signal("TERM");
    eventually("the order is heard", || async { site.living_engines().await == 0 }).await;
    // Asked before anybody is there, so that the new engine begins the delete before it is offered anything.
    let caller = site.caller();
    let delete = stack.delete_arguments();
    let asking = tokio::spawn(async move { caller.try_call("delete_stack", delete).await });
    tokio::time::sleep(Duration::from_millis(500)).await;
    let began = std::time::Instant::now();
    let _next = site.engine().await;
    site.until_settled(&stack, "gone").await;
    assert!(leaving.wait().await.success());
    let took = began.elapsed();
    assert!(took < Duration::from_secs(45), "as long as the grace period: {took:?}");
    asking.abort();
    site.nothing_is_leaked(&stack).await;
    site.close().await;
}

/// With nobody there who could take it, what waits is offered again until somebody comes.
#[tokio::test(flavor = "multi_thread")]
async fn what_a_leaving_engine_waits_for_goes_to_one_that_comes_later() {
    let site = Site::new("later", "").await;
    let mut leaving = site.engine().await;
    let slowly = json!({"action_wait_secs": {"create": 40}});
    let stack = site.create("later", template(json!({"a": test(slowly)}))).await;
    site.until_resource(&stack, "a", "CREATE_IN_PROGRESS").await;
    leaving.signal("TERM");
    eventually("the order is heard", || async { site.living_engines().await == 0 }).await;
    let next = site.engine().await;
    assert!(leaving.wait().await.success());
    let held = site.resource(&stack, "a").await;
    assert_eq!(
        (held.state().as_str(), held.engine_id),
        ("CREATE_IN_PROGRESS", Some(next.id()))
    );
    site.delete(&stack).await;
    site.until_settled(&stack, "gone").await;
    site.close().await;
}

/// What is offered by somebody who does not have it, or is not waited for, is not taken.
#[tokio::test(flavor = "multi_thread")]
async fn only_what_its_holder_offers_is_taken_over() {
    let site = Site::new("offers", "").await;
    let (one, other) = tokio::join!(site.engine(), site.engine());
    let slowly = json!({"action_wait_secs": {"create": 300}});
    let stack = site.create("offers", template(json!({"a": test(slowly)}))).await;
    let held = site.until_resource(&stack, "a", "CREATE_IN_PROGRESS").await;
    let holder = held.engine_id.clone().expect("somebody has it");
    let asked = if one.id() == holder { other.id() } else { one.id() };
    let traversal = site
        .texts(&format!(
            "SELECT current_traversal FROM stack WHERE id = '{}'",
            stack.id
        ))
        .await
        .remove(0);
    let offer = |traversal: &str, holder: &str| {
        let offered = json!({
            "resource_id": held.id, "current_traversal": traversal, "data": {"input_data": {}}, "is_update": true,
            "adopt_stack_data": null, "holder": holder,
        });
        site.ask_worker(&asked, "take_over_check", offered)
    };
    assert_eq!(offer(&traversal, &asked).await, json!(false));
    assert_eq!(offer("of-old", &holder).await, json!(false));
    assert_eq!(site.resource(&stack, "a").await.engine_id, Some(holder.clone()));
    assert_eq!(offer(&traversal, &holder).await, json!(true));
    assert_eq!(site.resource(&stack, "a").await.engine_id, Some(asked.clone()));
    // Now it is another's, and whoever had it cannot give it away once more.
    assert_eq!(offer(&traversal, &holder).await, json!(false));
    site.close().await;
}
