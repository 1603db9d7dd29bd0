//! A broker of three nodes, some of which go and come again.

use std::time::Duration;

use serde_json::json;
use tokio::task::block_in_place;

use super::is_unharmed;
use super::servers::site_by;
use crate::messaging::broker::Cluster;

/// What B49 gives a call after its queue for answers is lost.
const ANSWERED_WITHIN: Duration = Duration::from_secs(60);

/// Two engines, and the test.
const WHO_MAY_ASK: usize = 3;

/// B49: one after the other, each node is restarted; with one of them goes the queue to which replies come, with another
/// that of the engines. Nobody has to be restarted for it.
#[tokio::test(flavor = "multi_thread")]
async fn the_node_that_hosts_a_queue_is_restarted() {
    let mut cluster = block_in_place(Cluster::start);
    let site = site_by("cluster_restart", cluster.transport_url()).await;
    let _engines = tokio::join!(site.engine(), site.engine());
    assert_eq!(site.call("list_stacks", json!({})).await, json!([]));
    for node in &mut cluster.nodes {
        block_in_place(|| {
            node.stop();
            node.run();
        });
        let answer = tokio::time::timeout(ANSWERED_WITHIN, site.call("list_stacks", json!({}))).await;
        assert_eq!(answer.expect("an answer within a minute"), json!([]));
    }
    let stack = site.create("busy", super::busy()).await;
    is_unharmed(&site, &stack).await;
    site.close().await;
}

/// B53: without two of its three nodes a queue with copies on each takes nothing and is not deleted for it. What it holds
/// is there when they are, under the name that it had.
#[tokio::test(flavor = "multi_thread")]
async fn most_nodes_of_a_quorum_are_away_for_a_while() {
    let mut cluster = block_in_place(Cluster::start);
    let quorum = "rabbit_quorum_queue=true&rabbit_transient_quorum_queue=true";
    let site = site_by("cluster_quorum", format!("{}?{quorum}", cluster.transport_url())).await;
    let _engines = tokio::join!(site.engine(), site.engine());
    let stack = site.create("busy", super::busy()).await;
    site.until_resource(&stack, "r1", "CREATE_IN_PROGRESS").await;
    let before = block_in_place(|| cluster.nodes[0].queue_names());
    assert!(before.contains("engine_worker"), "{before:?}");
    let [_, second, third] = &mut cluster.nodes;
    block_in_place(|| {
        second.stop();
        third.stop();
        std::thread::sleep(Duration::from_secs(5));
        second.run();
        third.run();
    });
    is_unharmed(&site, &stack).await;
    let after = block_in_place(|| cluster.nodes[0].queue_names());
    assert!(before.is_subset(&after), "{:?} went", before.difference(&after));
    // Who asks somebody for the first time makes a queue for answers; nobody makes a second one.
    let came: Vec<_> = after.difference(&before).collect();
    assert!(came.iter().all(|name| name.starts_with("reply_")), "{came:?} came");
    let for_answers = after.iter().filter(|name| name.starts_with("reply_")).count();
    assert!(for_answers <= WHO_MAY_ASK, "{after:?}");
    site.close().await;
}
