//! RabbitMQ and oslo.messaging.

use std::collections::BTreeSet;

use heat_engine::messaging::Target;
use serde_json::{Map, Value, json};

use crate::convergence::linked::LinkedSite;
use crate::convergence::site::{Site, eventually};
use crate::recovery::{RESTLESS, asleep_between};

fn named(site: &Site, prefix: &str) -> BTreeSet<String> {
    let queues = site.vhost.queues().into_iter();
    queues
        .filter_map(|queue| queue["name"].as_str().map(str::to_owned))
        .filter(|name| name.starts_with(prefix))
        .collect()
}

/// B50: engines of both kinds on one host, told to give their queues names that can be found again.
#[tokio::test(flavor = "multi_thread")]
async fn two_processes_with_one_reply_queue_name() {
    let name = format!("it{}", std::process::id());
    let locks = std::env::temp_dir();
    let managed = format!(
        "{RESTLESS}\n[oslo_concurrency]\nlock_path = {}\n[oslo_messaging_rabbit]\nuse_queue_manager = true\nhostname = {name}\nprocessname = engine",
        locks.display()
    );
    let site = Site::new("managed", &managed).await;
    let _engines = tokio::join!(site.engine(), site.engine(), site.python_engine());
    let fanouts = named(&site, "engine_worker_fanout_");
    assert_eq!(fanouts.len(), 3, "{fanouts:?}");
    // Each asks the others whether they live, and each gets its own answers.
    let stack = site.create_pair("managed", 1).await;
    site.until_tidy(&stack, "CREATE_COMPLETE").await;
    eventually("every engine answers", || async {
        let services = site.call("list_services", json!({})).await;
        let up = services.as_array().into_iter().flatten();
        up.filter(|service| service["status"] == "up").count() == 3
    })
    .await;
    site.close().await;
    for entry in std::fs::read_dir("/dev/shm").expect("shared memory").flatten() {
        if entry.file_name().to_string_lossy().starts_with(&name) {
            let _ = std::fs::remove_file(entry.path());
        }
    }
}

/// B53: what is declared anew after a lost connection has the names that it had.
#[tokio::test(flavor = "multi_thread")]
async fn no_new_random_names_on_each_reconnect() {
    let linked = LinkedSite::new("names", "").await;
    let _engine = linked.engine().await;
    let site = &linked.site;
    let all = || named(site, "");
    // The caller has a queue for its answers, too.
    site.call("list_stacks", json!({})).await;
    let before = all();
    for _ in 0..5 {
        linked.broker.drop_connections();
        tokio::time::sleep(std::time::Duration::from_secs(1)).await;
        let answer = site.call("list_stacks", json!({})).await;
        assert_eq!(answer, json!([]));
    }
    assert_eq!(all(), before);
    linked.site.close().await;
}

/// B58: engines of an older release say less in their messages.
#[tokio::test(flavor = "multi_thread")]
async fn newer_arguments_on_the_bus_may_be_missing() {
    let patient = RESTLESS.replace("patience = 2", "patience = 600");
    let site = Site::new("older", &patient).await;
    let stack = asleep_between(&site, "older", json!({})).await;
    let _engine = site.engine().await;
    let row = site.resource(&stack, "b").await;
    let traversal = site
        .texts(&format!(
            "SELECT current_traversal FROM stack WHERE id = '{}'",
            stack.id
        ))
        .await;
    let data = site
        .texts(&format!(
            "SELECT input_data FROM sync_point WHERE entity_id = '{}'",
            row.id
        ))
        .await;
    let data: Value = serde_json::from_str(&data[0]).expect("JSON");
    let arguments = Map::from_iter([
        ("resource_id".to_owned(), json!(row.id)),
        ("current_traversal".to_owned(), json!(traversal[0])),
        ("data".to_owned(), data),
        ("is_update".to_owned(), json!(true)),
        ("adopt_stack_data".to_owned(), Value::Null),
    ]);
    site.cast(&Target::topic("engine_worker", "1.2"), "check_resource", arguments)
        .await;
    site.until_tidy(&stack, "CREATE_COMPLETE").await;
    site.close().await;
}
