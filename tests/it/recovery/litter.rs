//! Queues of engines that are gone.

use serde_json::json;

use super::stop;
use crate::convergence::site::{Site, eventually};

fn queues_of(site: &Site, engine_id: &str) -> Vec<String> {
    let names = site.vhost.queues().into_iter();
    let mut names: Vec<String> = names
        .filter_map(|queue| queue["name"].as_str().map(str::to_owned))
        .filter(|name| name.ends_with(engine_id))
        .collect();
    names.sort();
    names
}

fn own_queues(engine_id: &str) -> [String; 2] {
    ["engine_worker", "heat-engine-listener"].map(|topic| format!("{topic}.{engine_id}"))
}

#[tokio::test(flavor = "multi_thread")]
async fn an_engine_that_ends_in_peace_takes_its_queues_along() {
    let site = Site::restless("peace").await;
    // Our own call makes a queue for replies.
    let (first, second) = tokio::join!(site.engine(), site.engine());
    site.call("list_stacks", json!({})).await;
    let id = first.id();
    assert_eq!(queues_of(&site, &id), own_queues(&id));
    stop(first).await;
    stop(second).await;
    eventually("what is left is everybody's", || async {
        let queues = site.vhost.queues().into_iter();
        let mut names: Vec<String> = queues
            .filter_map(|queue| queue["name"].as_str().map(str::to_owned))
            .collect();
        names.retain(|name| !name.starts_with("notifications"));
        let replies = names.iter().filter(|name| name.starts_with("reply_")).count();
        let topics = names.iter().filter(|name| !name.starts_with("reply_"));
        let shared = ["engine", "engine_worker", "heat-engine-listener"];
        let is_shared = |name: &String| shared.contains(&name.as_str()) || name.starts_with("engine.");
        replies == 1 && topics.into_iter().all(is_shared)
    })
    .await;
    site.close().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn queues_of_engines_that_crashed_are_removed() {
    let site = Site::restless("crashed").await;
    let (ours, python) = tokio::join!(site.engine(), site.python_engine());
    let python_id = site
        .texts("SELECT engine_id FROM service WHERE host = 'python' AND deleted_at IS NULL")
        .await
        .pop()
        .expect("it reports");
    let our_id = ours.id();
    for id in [&our_id, &python_id] {
        assert_eq!(queues_of(&site, id), own_queues(id));
    }
    ours.kill();
    python.kill();
    let living = site.engine().await;
    let living_id = living.id();
    eventually("the queues of both are gone", || async {
        queues_of(&site, &our_id).is_empty() && queues_of(&site, &python_id).is_empty()
    })
    .await;
    assert_eq!(queues_of(&site, &living_id), own_queues(&living_id));
    site.close().await;
}
