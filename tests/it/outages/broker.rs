//! What brokers do to those who work with them.

use std::time::Duration;

use serde_json::json;

use super::health::{NOTICED_WITHIN, Says};
use super::{OUTAGE, Patient, busy, is_unharmed, live_through};
use crate::convergence::linked::LinkedSite;
use crate::convergence::site::{Site, eventually};
use crate::lab::Lab;
use crate::link::{Link, Protocol, Weather};
use crate::recovery::RESTLESS;

const AWAY: Says = Says::Missing("the broker is away", NOTICED_WITHIN);

#[tokio::test(flavor = "multi_thread")]
async fn a_broker_that_is_away_for_a_while() {
    let linked = LinkedSite::new("mq_cut", "").await;
    let engine = Patient::on(&linked).await;
    live_through(&linked.site, &engine, AWAY, || async {
        linked.broker.weather(Weather::Cut);
        tokio::time::sleep(OUTAGE).await;
        linked.broker.weather(Weather::Fair);
    })
    .await;
    linked.site.close().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn connections_that_are_closed_again_and_again() {
    let linked = LinkedSite::new("mq_kill", "").await;
    let engine = Patient::on(&linked).await;
    live_through(&linked.site, &engine, Says::Either, || async {
        for _ in 0..10 {
            linked.broker.drop_connections();
            tokio::time::sleep(OUTAGE / 10).await;
        }
    })
    .await;
    linked.site.close().await;
}

/// Heartbeats tell a link that passes nothing from one on which nothing is said.
#[tokio::test(flavor = "multi_thread")]
async fn a_link_to_the_broker_that_stalls() {
    let heartbeat = "[oslo_messaging_rabbit]\nheartbeat_timeout_threshold = 2";
    let linked = LinkedSite::new("mq_stall", heartbeat).await;
    let engine = Patient::on(&linked).await;
    live_through(&linked.site, &engine, AWAY, || async {
        linked.broker.weather(Weather::Stalled);
        tokio::time::sleep(OUTAGE).await;
        linked.broker.weather(Weather::Fair);
    })
    .await;
    linked.site.close().await;
}

/// The same where nobody is told, and nothing comes back by itself.
#[tokio::test(flavor = "multi_thread")]
async fn a_link_to_the_broker_that_is_silently_dead() {
    let heartbeat = "[oslo_messaging_rabbit]\nheartbeat_timeout_threshold = 2";
    let linked = LinkedSite::new("mq_forgotten", heartbeat).await;
    let engine = Patient::on(&linked).await;
    // The broker is there again as soon as it is missed: who asks for the health in between may find nothing amiss.
    live_through(&linked.site, &engine, Says::Either, || async {
        linked.broker.forget_connections();
        tokio::time::sleep(OUTAGE).await;
    })
    .await;
    let log = engine.engine.log();
    assert!(log.contains("lost the connection to the broker"), "{log}");
    linked.site.close().await;
}

/// A broker without memory does not read from those who publish; work goes on as far as it needs no message.
#[tokio::test(flavor = "multi_thread")]
async fn a_broker_without_memory() {
    let linked = LinkedSite::new("mq_blocked", "").await;
    let engine = Patient::on(&linked).await;
    live_through(
        &linked.site,
        &engine,
        Says::Missing("the broker takes no messages", NOTICED_WITHIN),
        || async {
            linked.broker.block(true);
            tokio::time::sleep(OUTAGE).await;
            let log = engine.engine.log();
            assert!(log.contains("the broker takes no messages for now"));
            linked.broker.block(false);
        },
    )
    .await;
    linked.site.close().await;
}

/// What was in them is lost, and asked for again once it is missed.
#[tokio::test(flavor = "multi_thread")]
async fn queues_that_are_deleted_under_us() {
    let site = Site::restless("mq_deleted").await;
    let _engine = site.engine().await;
    let stack = site.create("busy", busy()).await;
    for _ in 0..4 {
        for queue in site.vhost.queues() {
            let name = queue["name"].as_str().expect("a name");
            if !name.starts_with("notifications") {
                site.vhost.delete_queue(name);
            }
        }
        tokio::time::sleep(Duration::from_secs(1)).await;
    }
    is_unharmed(&site, &stack).await;
    site.close().await;
}

/// Two nodes, of which one or the other is there.
#[tokio::test(flavor = "multi_thread")]
async fn a_host_list_of_which_one_is_there() {
    let linked = LinkedSite::new("mq_nodes", "").await;
    let broker = &Lab::get().broker;
    let other = Link::counting(&broker.host, broker.port, Protocol::Amqp, Default::default()).await;
    let mut options = linked.options();
    let one = format!("@127.0.0.1:{}", linked.broker.port);
    let both = format!("{one},{}:{}@127.0.0.1:{}", broker.user, broker.password, other.port);
    options[1].1 = options[1].1.replace(&one, &both);
    let engine = Patient::with(&linked.site, &options).await;
    live_through(&linked.site, &engine, Says::Either, || async {
        linked.broker.weather(Weather::Cut);
        tokio::time::sleep(OUTAGE / 2).await;
        other.weather(Weather::Cut);
        linked.broker.weather(Weather::Fair);
        tokio::time::sleep(OUTAGE / 2).await;
    })
    .await;
    linked.site.close().await;
}

/// B49: the queue to which replies come is gone, and so is the connection; the next calls have answers all the same.
#[tokio::test(flavor = "multi_thread")]
async fn reply_queues_cached_and_lost_after_a_node_change() {
    let site = Site::new("mq_replies", RESTLESS).await;
    let (_first, _second) = tokio::join!(site.engine(), site.engine());
    for _ in 0..3 {
        for queue in site.vhost.queues() {
            let name = queue["name"].as_str().expect("a name");
            if name.starts_with("reply_") {
                site.vhost.delete_queue(name);
            }
        }
        site.vhost.close_connections();
        let answer = tokio::time::timeout(Duration::from_secs(60), site.call("list_stacks", json!({}))).await;
        assert_eq!(answer.expect("an answer within a minute"), json!([]));
    }
    site.close().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn an_engine_that_starts_before_its_broker() {
    let linked = LinkedSite::new("mq_late", "").await;
    linked.broker.weather(Weather::Cut);
    let starting = linked.engine();
    let late = async {
        tokio::time::sleep(OUTAGE / 2).await;
        linked.broker.weather(Weather::Fair);
    };
    let (engine, ()) = tokio::join!(starting, late);
    eventually("it reports", || async { linked.site.living_engines().await == 1 }).await;
    drop(engine);
    linked.site.close().await;
}

/// With the broker away the work goes on as far as it can, and health and log say what is missing.
#[tokio::test(flavor = "multi_thread")]
async fn a_broker_that_goes_while_a_stack_starts() {
    let linked = LinkedSite::new("mq_start", RESTLESS).await;
    let _engine = linked.engine().await;
    let site = &linked.site;
    // B05: between the stored traversal and the last of its messages.
    let stack = site
        .create("start", crate::convergence::templates::flat(50, &json!({"value": "x"})))
        .await;
    linked.broker.weather(Weather::Cut);
    tokio::time::sleep(OUTAGE).await;
    linked.broker.weather(Weather::Fair);
    site.until_tidy(&stack, "CREATE_COMPLETE").await;
    let mut events = site.events(&stack).await;
    let all = events.len();
    events.sort();
    events.dedup();
    assert_eq!((events.len(), all), (2 * 51, 2 * 51));
    linked.site.close().await;
}
