//! Large stacks beside small ones. What is looked at is the order in which things come about, not the time that they take.

use rstest::rstest;
use serde_json::{Value, json};

use crate::convergence::site::{Site, Stack, eventually};
use crate::convergence::templates::{flat, template, test, test_after};

/// Few at a time, so that a few hundred resources are many.
const NARROW: &str = "[heat_engine_rs]\nmax_concurrent_checks = 8\nmax_queued_checks = 8";
const LARGE: usize = 400;
/// Resources of the large stack that may come to be while a small one is made: what is begun or queued when each of the
/// small stack's levels comes, many times over.
const TOLERATED: i64 = LARGE as i64 / 2;

fn completed(stack: &Stack) -> String {
    format!(
        "event WHERE stack_id = '{}' AND resource_status = 'COMPLETE' AND resource_type != 'OS::Heat::Stack'",
        stack.id
    )
}

/// How many resources of `large` were completed while `small` was in progress.
async fn overtaken(site: &Site, large: &Stack, small: &Stack) -> i64 {
    let of_small = format!("FROM event WHERE stack_id = '{}'", small.id);
    let condition = format!("id > (SELECT MIN(id) {of_small}) AND id < (SELECT MAX(id) {of_small})");
    site.count(&format!("{} AND {condition}", completed(large))).await
}

fn small() -> serde_json::Value {
    template(json!({
        "a": test(json!({})), "b": test(json!({})), "c": test_after(json!({}), &["a", "b"]),
        "d": test(json!({})), "e": test_after(json!({}), &["d"]),
    }))
}

/// Leaves, and what one node sets free, which is as long a row.
#[rstest]
#[case::leaves("fair", flat(LARGE, &json!({})))]
#[case::freed_by_one_node("freed", after_one(flat(LARGE, &json!({}))))]
#[tokio::test(flavor = "multi_thread")]
async fn a_small_stack_does_not_wait_for_the_end_of_a_large_one(#[case] hint: &str, #[case] wanted: Value) {
    let site = Site::new(hint, NARROW).await;
    let _engine = site.engine().await;
    let large = site.create("large", wanted).await;
    eventually("the large stack is under way", || async {
        site.count(&completed(&large)).await > 10
    })
    .await;
    let created = site.create("small", small()).await;
    site.until_settled(&created, "CREATE_COMPLETE").await;
    let others = overtaken(&site, &large, &created).await;
    assert!(others < TOLERATED, "{others} of {LARGE} came first");
    site.until_settled(&large, "CREATE_COMPLETE").await;
    assert_eq!(
        site.count(&completed(&large)).await,
        site.resources(&large).await.len() as i64
    );
    site.close().await;
}

/// The same resources, all of which need one more.
fn after_one(mut wanted: Value) -> Value {
    for resource in wanted["resources"].as_object_mut().expect("a map").values_mut() {
        resource["depends_on"] = "first".into();
    }
    wanted["resources"]["first"] = test(json!({}));
    wanted
}

#[tokio::test(flavor = "multi_thread")]
async fn what_waits_for_its_objects_keeps_nobody_from_working() {
    let site = Site::new("waits", "[heat_engine_rs]\nmax_concurrent_checks = 4").await;
    let _engine = site.engine().await;
    let waiting = site
        .create("waiting", flat(40, &json!({"action_wait_secs": {"create": 3600}})))
        .await;
    let in_progress = format!(
        "resource WHERE stack_id = '{}' AND action = 'CREATE' AND status = 'IN_PROGRESS'",
        waiting.id
    );
    eventually("all of it is in progress", || async {
        site.count(&in_progress).await == 40
    })
    .await;
    let created = site.create("small", small()).await;
    site.until_settled(&created, "CREATE_COMPLETE").await;
    assert_eq!(site.count(&in_progress).await, 40);
    site.delete(&waiting).await;
    site.until_settled(&waiting, "gone").await;
    site.close().await;
}
