//! Locks whose holder is dead, and locks whose holder is not.

use std::time::Duration;

use serde_json::json;

use super::stop;
use crate::convergence::site::{Site, Stack, eventually};
use crate::convergence::templates::{flat, template, test, test_after};
use crate::lab::Lab;

const WENT_DOWN: &str = "SELECT resource_status_reason FROM event WHERE resource_action = 'CREATE' \
                         AND resource_status = 'FAILED' AND resource_name = 'a'";

/// B01: nobody asks again, and there is no other message for the stack.
#[tokio::test(flavor = "multi_thread")]
async fn what_a_dead_engine_held_goes_on_by_itself() {
    let site = Site::restless("held").await;
    let (first, second) = tokio::join!(site.engine(), site.engine());
    let stack = site.create_pair("held", 8).await;
    let held = site.until_resource(&stack, "a", "CREATE_IN_PROGRESS").await;
    let holder = held.engine_id.expect("somebody works on it");
    let (dead, alive) = match holder == first.id() {
        true => (first, second),
        false => (second, first),
    };
    dead.kill();
    site.until_tidy(&stack, "CREATE_COMPLETE").await;
    assert_eq!(site.texts(WENT_DOWN).await, ["Worker went down during resource CREATE"]);
    let made = site.times(
        &stack,
        ["a CREATE_COMPLETE", "b CREATE_COMPLETE", "held CREATE_COMPLETE"],
    );
    assert_eq!(made.await, [1, 1, 1], "{:#?}", site.events(&stack).await);
    // What broke half-way is replaced; as everything that a create leaves, it goes with the next update or delete.
    let made = site.until_resource(&stack, "a", "CREATE_COMPLETE").await;
    assert_eq!(made.replaces, Some(held.id));
    site.delete(&stack).await;
    site.until_settled(&stack, "gone").await;
    site.nothing_is_leaked(&stack).await;
    stop(alive).await;
    site.close().await;
}

/// B01 and B02, for a Python engine: its lock is found, and the next update takes what it left.
#[tokio::test(flavor = "multi_thread")]
async fn what_a_dead_python_engine_held_goes_on_too() {
    let site = Site::restless("python").await;
    let python = site.python_engine().await;
    let stack = site.create_pair("python", 12).await;
    site.until_resource(&stack, "a", "CREATE_IN_PROGRESS").await;
    let _ours = site.engine().await;
    python.kill();
    site.until_tidy(&stack, "CREATE_COMPLETE").await;
    assert_eq!(site.texts(WENT_DOWN).await, ["Worker went down during resource CREATE"]);
    let made = site.times(&stack, ["a CREATE_COMPLETE", "b CREATE_COMPLETE"]).await;
    assert_eq!(made, [1, 1], "{:#?}", site.events(&stack).await);
    site.close().await;
}

/// B02: the engine dies in an update, and the same is asked for again.
#[tokio::test(flavor = "multi_thread")]
async fn resources_stay_in_progress_after_a_crash_and_the_next_update_takes_them() {
    let site = Site::restless("update").await;
    let first = site.engine().await;
    let with = |value: &str, seconds: u32| {
        let slowly = json!({"value": value, "action_wait_secs": {"update": seconds}});
        template(json!({"a": test(slowly), "b": test_after(json!({"value": value}), &["a"])}))
    };
    let stack = site.create("update", with("1", 0)).await;
    site.until_settled(&stack, "CREATE_COMPLETE").await;
    site.update(&stack, with("2", 60)).await;
    site.until_resource(&stack, "a", "UPDATE_IN_PROGRESS").await;
    first.kill();
    let _second = site.engine().await;
    site.update(&stack, with("2", 60)).await;
    site.until_tidy(&stack, "UPDATE_COMPLETE").await;
    site.delete(&stack).await;
    site.until_settled(&stack, "gone").await;
    site.nothing_is_leaked(&stack).await;
    site.close().await;
}

/// A machine that was paused: what its engine holds after it has come back is nobody else's.
#[tokio::test(flavor = "multi_thread")]
async fn an_engine_that_was_taken_for_dead_and_is_back_is_left_alone() {
    let site = Site::restless("back").await;
    let paused = site.engine().await;
    let first = site.create_pair("first", 4).await;
    let held = site.until_resource(&first, "a", "CREATE_IN_PROGRESS").await;
    assert_eq!(held.engine_id, Some(paused.id()));
    paused.signal("STOP");
    let _other = site.engine().await;
    site.until_tidy(&first, "CREATE_COMPLETE").await;
    assert_eq!(site.texts(WENT_DOWN).await, ["Worker went down during resource CREATE"]);
    paused.signal("CONT");
    eventually("it is back", || async {
        let holders = "SELECT engine_id FROM service WHERE updated_at > UTC_TIMESTAMP() - INTERVAL 2 SECOND";
        site.texts(holders).await.contains(&paused.id())
    })
    .await;

    let slowly = json!({"value": "1", "action_wait_secs": {"create": 8}});
    let second = site.create("second", flat(6, &slowly)).await;
    eventually("it works again", || async {
        let resources = site.resources(&second).await;
        resources.iter().any(|resource| resource.engine_id == Some(paused.id()))
    })
    .await;
    site.until_tidy(&second, "CREATE_COMPLETE").await;
    let once = ["r0", "r1", "r2", "r3", "r4", "r5"].map(|name| format!("{name} CREATE_IN_PROGRESS"));
    let times = site.times(&second, once.each_ref().map(String::as_str)).await;
    assert_eq!(times, [1; 6], "{:#?}", site.events(&second).await);
    site.close().await;
}

/// A Python engine that does not report is alive as long as it answers.
#[tokio::test(flavor = "multi_thread")]
async fn who_answers_is_left_alone() {
    let site = Site::restless("answers").await;
    let _python = site.python_engine().await;
    let stack = site.create_pair("answers", 14).await;
    site.until_resource(&stack, "a", "CREATE_IN_PROGRESS").await;
    site.change("DELETE FROM service");
    let _ours = site.engine().await;
    site.until_tidy(&stack, "CREATE_COMPLETE").await;
    let happened = site.times(&stack, ["a CREATE_IN_PROGRESS", "a CREATE_FAILED"]).await;
    assert_eq!(happened, [1, 0], "{:#?}", site.events(&stack).await);
    site.close().await;
}

/// An engine that does not answer may be cut off from the broker only.
#[tokio::test(flavor = "multi_thread")]
async fn who_reports_is_left_alone() {
    let site = Site::restless("reports").await;
    let first = site.engine().await;
    let stack = site.create_pair("reports", 300).await;
    let held = site.until_resource(&stack, "a", "CREATE_IN_PROGRESS").await;
    let id = first.id();
    // Somebody else reports in its place, for a while to come.
    site.change(&format!(
        "UPDATE service SET updated_at = UTC_TIMESTAMP() + INTERVAL 20 SECOND WHERE engine_id = '{id}'"
    ));
    first.kill();
    let _second = site.engine().await;
    for _ in 0..40 {
        tokio::time::sleep(Duration::from_millis(200)).await;
        assert_eq!(site.resource(&stack, "a").await.engine_id, held.engine_id);
    }
    eventually("the lock is taken once nobody reports", || async {
        let resources = site.resources(&stack).await;
        resources
            .iter()
            .all(|resource| resource.engine_id.as_ref() != Some(&id))
    })
    .await;
    site.delete(&stack).await;
    site.until_settled(&stack, "gone").await;
    site.close().await;
}

/// Keystone has a word of its own for credentials that make no sense to it, which is no reason to leave a stack asleep: what
/// needs no service goes on.
#[tokio::test(flavor = "multi_thread")]
async fn credentials_that_nobody_can_use_keep_no_stack_asleep() {
    let site = Site::restless("senseless").await;
    let engine = site.engine().await;
    let stack = site.create_pair("senseless", 3).await;
    site.until_resource(&stack, "a", "CREATE_IN_PROGRESS").await;
    engine.kill();
    // A user without a domain, as there were once.
    const SEAL: &str =
        "import json, sys; from heat.common import crypt; print(json.dumps(crypt.encrypt(*sys.argv[1:])))";
    let sealed = Lab::get().python_json(SEAL, &["password", &Lab::get().auth_encryption_key]);
    let (method, password) = (&sealed[0], &sealed[1]);
    site.change(&format!(
        "UPDATE user_creds SET trust_id = NULL, trustor_user_id = NULL, username = 'demo', \
         decrypt_method = {method}, password = {password}"
    ));
    let _other = site.engine().await;
    site.until_tidy(&stack, "CREATE_COMPLETE").await;
    site.close().await;
}

/// A lock in a stack that nobody works on any more is no reason for anything but to free it.
#[tokio::test(flavor = "multi_thread")]
async fn the_lock_of_a_cancelled_stack_is_freed_and_nothing_begun() {
    let site = Site::restless("cancelled").await;
    let first = site.engine().await;
    let stack = site.create_pair("cancelled", 300).await;
    site.until_resource(&stack, "a", "CREATE_IN_PROGRESS").await;
    site.cancel(&stack, false).await;
    site.until(&stack, "CREATE_FAILED").await;
    first.kill();
    let _second = site.engine().await;
    let freed = site.until_resource(&stack, "a", "CREATE_FAILED").await;
    assert_eq!(freed.engine_id, None);
    tokio::time::sleep(Duration::from_secs(4)).await;
    assert_eq!(site.reason(&stack).await, "Stack CREATE cancelled");
    assert_eq!(begun(&site, &stack).await, ["a"]);
    site.close().await;
}

async fn begun(site: &Site, stack: &Stack) -> Vec<String> {
    let resources = site.resources(stack).await.into_iter();
    resources
        .filter(|resource| resource.action != "INIT")
        .map(|resource| resource.name)
        .collect()
}
