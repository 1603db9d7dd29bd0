//! A broker that is restarted, and one that takes nothing for a while.

use std::time::Duration;

use heat_engine::clock::Clock;
use heat_engine::messaging::{Bus, CallError, PublishError, RpcClient, Target};
use rstest::rstest;

use serde_json::{Map, json};

use super::broker::OwnBroker;
use super::methods::{bus, cast_number, cast_numbers, echo, eventually, options, serve};
use crate::lab::Lab;
use crate::link::{Link, Protocol};

/// With durable queues nothing that was confirmed is lost. With others the broker forgets what it held when it went;
/// what is sent afterwards finds its queue again, for it waits for it.
#[rstest]
#[case::durable("amqp_durable_queues=true", 0)]
#[case::quorum("rabbit_quorum_queue=true", 0)]
#[case::forgetful("", 70)]
#[tokio::test(flavor = "multi_thread")]
async fn a_restarted_broker_is_found_again(#[case] query: &str, #[case] may_be_lost: usize) {
    let mut broker = OwnBroker::start();
    let query = format!("{query}&rabbit_interval_max=1&kombu_reconnect_delay=0.1");
    let open = || Bus::open(broker.options(&query), Clock::system()).unwrap();
    let (sending, receiving) = (open(), open());
    let (_server, methods) = serve(&receiving, "host").await;
    let casting = cast_numbers(RpcClient::new(&sending), 200, Duration::from_millis(20));
    tokio::time::sleep(Duration::from_secs(1)).await;
    broker.stop();
    assert!(!sending.health().connected);
    tokio::time::sleep(Duration::from_secs(1)).await;
    broker.run();
    tokio::time::timeout(Duration::from_secs(60), casting)
        .await
        .unwrap()
        .unwrap();
    eventually("the casts", || methods.count() + may_be_lost >= 200).await;
    let last = methods.recorded.lock().unwrap().contains_key(&199);
    assert!(last, "what was sent last is not lost with any queue");

    echo(&sending).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_broker_without_memory_makes_senders_wait() {
    let broker = OwnBroker::start();
    let bus = Bus::open(broker.options(""), Clock::system()).unwrap();
    let (_server, methods) = serve(&bus, "host").await;
    let client = RpcClient::new(&bus);
    let cast = |number: i64| {
        let client = client.clone();
        tokio::spawn(async move { cast_number(&client, number).await })
    };
    cast(1).await.unwrap().unwrap();

    tokio::spawn(bus.clone().feel_for_alarms());
    broker.control(&["set_vm_memory_high_watermark", "0"]);
    // The broker tells a connection when it publishes, and who has nothing to send hears of it all the same.
    eventually("the broker to block us", || bus.health().blocked.is_some()).await;
    let waiting = [cast(2), cast(3)];
    let health = bus.health();
    assert!(health.connected, "{health:?}");
    tokio::time::sleep(Duration::from_secs(1)).await;
    assert!(waiting.iter().any(|cast| !cast.is_finished()));

    broker.control(&["set_vm_memory_high_watermark", "0.9"]);
    eventually("the broker to unblock us", || bus.health().blocked.is_none()).await;
    for cast in waiting {
        tokio::time::timeout(Duration::from_secs(20), cast)
            .await
            .unwrap()
            .unwrap()
            .unwrap();
    }
    eventually("all casts", || methods.count() == 3).await;
}

/// A tenant's outputs may be larger than the broker takes. To send them again would change nothing, and the caller waits.
#[tokio::test(flavor = "multi_thread")]
async fn an_answer_that_the_broker_does_not_take_is_told_of() {
    let broker = OwnBroker::start();
    broker.control(&["eval", "application:set_env(rabbit, max_message_size, 100000)."]);
    let bus = Bus::open(broker.options(""), Clock::system()).unwrap();
    let (_server, _methods) = serve(&bus, "host").await;
    let client = RpcClient::new(&bus);
    let repeated = async |times: usize| {
        let (target, timeout) = (Target::topic("engine", "1.0"), Duration::from_secs(20));
        let times = Map::from_iter([("times".to_owned(), json!(times))]);
        client.call(&target, "repeat", times, &Map::new(), timeout).await
    };
    assert_eq!(repeated(50_000).await.unwrap(), json!("x".repeat(50_000)));
    let Err(CallError::Remote { fault, .. }) = repeated(200_000).await else {
        panic!("the broker takes it");
    };
    assert_eq!(fault.class, "RequestLimitExceeded");
    assert!(
        fault.message.contains("larger than the message broker takes"),
        "{fault}"
    );
    // Neither is a request sent again for ever.
    let large = Map::from_iter([("text".to_owned(), json!("x".repeat(200_000)))]);
    let cast = client
        .cast(&Target::topic("engine", "1.0"), "echo", large, &Map::new())
        .await;
    assert!(matches!(cast, Err(PublishError::TooLarge { .. })), "{cast:?}");
    echo(&bus).await;
}

/// A queue that has gone without a word, as one may whose node leaves a cluster: the broker's word is held back here.
/// Meanwhile somebody else may have made it anew.
#[rstest]
#[case::and_is_missing(false)]
#[case::and_was_made_anew(true)]
#[tokio::test(flavor = "multi_thread")]
async fn a_queue_that_has_gone_unnoticed_is_read_again(#[case] is_made_anew: bool) {
    let lab = Lab::get();
    let vhost = lab.fresh_vhost("unnoticed");
    let (host, port) = (&lab.broker.host, lab.broker.port);
    let link = Link::counting(host, port, Protocol::Amqp, Default::default()).await;
    let mut linked = options(&vhost, "");
    let (direct, by_link) = (format!(":{port}/"), format!(":{}/", link.port));
    linked.transport.transport_url = vhost.transport_url().replace(&direct, &by_link).into();
    let receiving = Bus::open(linked, Clock::system()).unwrap();
    let (_server, _methods) = serve(&receiving, "host").await;
    let sending = bus(&vhost, "");
    echo(&sending).await;

    link.keep_cancellations();
    vhost.delete_queue("engine");
    let is_there = || vhost.queues().iter().any(|queue| queue["name"] == "engine");
    if is_made_anew {
        let as_before = json!({"durable": false, "auto_delete": false}).to_string();
        lab.management("PUT", &format!("queues/{}/engine", vhost.name), Some(&as_before));
        let key = json!({"routing_key": "engine"}).to_string();
        lab.management("POST", &format!("bindings/{}/e/heat/q/engine", vhost.name), Some(&key));
    } else {
        assert!(!is_there());
        eventually("the queue to be made again", is_there).await;
    }
    // Two looks that find nobody reading take twenty seconds.
    let (target, timeout) = (Target::topic("engine", "1.0"), Duration::from_secs(60));
    let (client, context) = (RpcClient::new(&sending), Map::new());
    let answer = client.call(&target, "echo", Map::new(), &context, timeout).await;
    answer.expect("somebody reads it again");
}
