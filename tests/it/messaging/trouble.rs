//! Lost connections, dead brokers, deleted queues, frames that nobody can read, callers that are gone.

use std::sync::Arc;
use std::time::Duration;

use heat_engine::clock::Clock;
use heat_engine::messaging::{Answer, Bus, Dispatch, Fault, PublishError, Request, RpcClient, RpcServer, Target};
use rstest::rstest;
use serde_json::{Value, json};

use super::methods::{self, Methods, cast_number, cast_numbers, echo, eventually, object, serve, server_options};
use super::peer::Peer;
use crate::lab::{Lab, TestVhost};

const TIMEOUT: Duration = Duration::from_secs(20);

fn engine() -> Target {
    Target::topic("engine", "1.0")
}

/// The queue's messages, ready and unacknowledged.
fn depth(vhost: &TestVhost, queue: &str) -> Option<u64> {
    let found = vhost.queues().into_iter().find(|found| found["name"] == queue)?;
    found["messages"].as_u64()
}

#[tokio::test(flavor = "multi_thread")]
async fn no_cast_is_lost_when_connections_are() {
    const CASTS: usize = 1000;
    let vhost = Lab::get().fresh_vhost("reconnect");
    let (sending, receiving) = (
        methods::bus(&vhost, "kombu_reconnect_delay=0.2"),
        methods::bus(&vhost, "kombu_reconnect_delay=0.2"),
    );
    let (_server, methods) = serve(&receiving, "host").await;
    let casting = cast_numbers(RpcClient::new(&sending), CASTS, Duration::from_millis(5));
    let mut cut = 0;
    while !casting.is_finished() {
        // The management API knows a connection some seconds after it was made.
        cut += vhost_connections(&vhost);
        vhost.close_connections();
        tokio::time::sleep(Duration::from_millis(1500)).await;
    }
    casting.await.unwrap();
    eventually("all casts", || methods.count() == CASTS).await;
    assert!(cut >= 4, "only {cut} connections were cut");
}

fn vhost_connections(vhost: &TestVhost) -> usize {
    let connections = Lab::get().management("GET", &format!("vhosts/{}/connections", vhost.name), None);
    connections.as_array().map_or(0, Vec::len)
}

#[tokio::test(flavor = "multi_thread")]
async fn a_call_survives_a_lost_connection() {
    let vhost = Lab::get().fresh_vhost("call_reconnect");
    let bus = methods::bus(&vhost, "kombu_reconnect_delay=0.2");
    let _server = serve(&bus, "host").await;
    echo(&bus).await;
    let client = RpcClient::new(&bus);
    let call = tokio::spawn(async move {
        let arguments = object(json!({"seconds": 6}));
        client
            .call(&engine(), "slow", arguments, &Default::default(), TIMEOUT)
            .await
    });
    let start = std::time::Instant::now();
    eventually("the connections to be known", || vhost_connections(&vhost) > 0).await;
    assert!(start.elapsed() < Duration::from_secs(6));
    vhost.close_connections();
    assert_eq!(call.await.unwrap().unwrap(), "awake");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_deleted_queue_is_made_again() {
    let vhost = Lab::get().fresh_vhost("deleted");
    let bus = methods::bus(&vhost, "");
    let (server, methods) = serve(&bus, "host").await;
    echo(&bus).await;
    // A request under way keeps its place, whatever becomes of its queue.
    RpcClient::new(&bus)
        .cast(
            &engine().server("host"),
            "hold",
            Default::default(),
            &Default::default(),
        )
        .await
        .unwrap();
    methods.begins().await;
    for queue in vhost.queues() {
        let name = queue["name"].as_str().unwrap();
        Lab::get().management("DELETE", &format!("queues/{}/{name}", vhost.name), None);
    }
    echo(&bus).await;
    server.ready().await;
    methods.release.notify_one();
    server.stop_consuming().await;
    tokio::time::timeout(TIMEOUT, server.idle()).await.unwrap();
}

#[tokio::test(flavor = "multi_thread")]
async fn dead_brokers_are_passed_over() {
    let vhost = Lab::get().fresh_vhost("failover");
    let broker = &Lab::get().broker;
    for strategy in ["round-robin", "shuffle"] {
        let mut options = methods::options(&vhost, "");
        let good = format!("{}:{}@{}:{}", broker.user, broker.password, broker.host, broker.port);
        let dead = format!("{}:{}@{}:1", broker.user, broker.password, broker.host);
        let url = format!(
            "rabbit://{dead},{dead},{dead},{good}/{}?kombu_failover_strategy={strategy}",
            vhost.name
        );
        options.transport.transport_url = url.into();
        let bus = Bus::open(options, Clock::system()).unwrap();
        tokio::time::timeout(TIMEOUT, bus.connected()).await.unwrap().unwrap();
        let health = bus.health();
        assert_eq!(health.broker, Some(format!("{}:{}", broker.host, broker.port)));
        assert!(health.connected && health.blocked.is_none());
        bus.close().await;
        assert!(!bus.health().connected);
        let cast = RpcClient::new(&bus)
            .cast(&engine(), "m", Default::default(), &Default::default())
            .await;
        assert!(matches!(cast, Err(PublishError::Closed)), "{cast:?}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_cast_waits_for_a_queue_that_comes() {
    let vhost = Lab::get().fresh_vhost("queue_comes");
    let bus = methods::bus(&vhost, "");
    let client = RpcClient::new(&bus);
    let cast = tokio::spawn(async move { cast_number(&client, 1).await });
    tokio::time::sleep(Duration::from_secs(1)).await;
    let (_server, methods) = serve(&bus, "host").await;
    cast.await.unwrap().unwrap();
    eventually("the cast", || methods.count() == 1).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_cast_that_no_queue_takes_fails_in_the_end() {
    let vhost = Lab::get().fresh_vhost("no_queue");
    let bus = methods::bus(&vhost, "kombu_missing_consumer_retry_timeout=1");
    let cast = RpcClient::new(&bus)
        .cast(&engine(), "m", Default::default(), &Default::default())
        .await;
    assert!(matches!(cast, Err(PublishError::Undeliverable { .. })), "{cast:?}");
}

#[tokio::test(flavor = "multi_thread")]
async fn unreadable_frames_hurt_nobody() {
    let vhost = Lab::get().fresh_vhost("malformed");
    let mut options = methods::options(&vhost, "");
    options.max_frame_bytes = 1_000_000;
    let bus = Bus::open(options, Clock::system()).unwrap();
    let (server, methods) = serve(&bus, "host").await;
    let mut peer = Peer::start(&vhost, &json!({}));
    let enveloped = |message: &str| json!({"oslo.version": "2.0", "oslo.message": message}).to_string();
    let deep = |depth: usize| format!("{}{}", "[".repeat(depth), "]".repeat(depth));
    let bodies = [
        String::new(),
        "hello".to_owned(),
        "[]".to_owned(),
        "null".to_owned(),
        "{\"method\"".to_owned(),
        "{}".to_owned(),
        json!({"oslo.version": "3.0", "oslo.message": "{}"}).to_string(),
        json!({"oslo.version": 2.0, "oslo.message": "{}"}).to_string(),
        json!({"oslo.version": "2.0", "oslo.message": {"method": "echo"}}).to_string(),
        json!({"oslo.version": "2.0", "oslo.message": null}).to_string(),
        enveloped("hello"),
        enveloped("[1]"),
        enveloped("{}"),
        enveloped(r#"{"method": 5}"#),
        enveloped(r#"{"method": null}"#),
        enveloped(r#"{"method": "echo", "args": []}"#),
        enveloped(r#"{"method": "echo", "args": {}, "version": 7}"#),
        enveloped(r#"{"method": "echo", "args": {}, "version": "one"}"#),
        enveloped(r#"{"method": "echo", "args": {}, "namespace": {}}"#),
        enveloped(r#"{"method": "echo", "args": {}, "_msg_id": {}, "_reply_q": []}"#),
        enveloped(&format!(
            r#"{{"method": "echo", "_msg_id": "i", "_reply_q": "{}"}}"#,
            "q".repeat(300)
        )),
        enveloped(r#"{"method": "echo", "_unique_id": {"a": 1}}"#),
        enveloped(r#"{"method": "echo", "_timeout": "soon"}"#),
        enveloped(r#"{"method": "echo", "x": NaN}"#),
        deep(100_000),
        enveloped(&format!(r#"{{"method": "echo", "args": {{"a": {}}}}}"#, deep(10_000))),
    ];
    for body in bodies {
        peer.ask("raw", json!({"routing_key": "engine", "body": body}));
    }
    peer.ask("raw", json!({"routing_key": "engine", "body": "{}", "properties": {"application_headers": {"compression": "application/x-gzip"}}}));
    peer.ask("raw", json!({"routing_key": "engine", "size": 100_000_000}));
    // The last one is answered, and none is left or has come back.
    let answer = peer.call(json!({"topic": "engine", "version": "1.0"}), "echo", json!({"a": 1}));
    assert_eq!(answer["result"]["arguments"], json!({"a": 1}));
    server.stop_consuming().await;
    tokio::time::timeout(TIMEOUT, server.idle()).await.unwrap();
    server.close().await;
    eventually("the queue to be empty", || depth(&vhost, "engine") == Some(0)).await;
    assert_eq!(methods.count(), 0);
}

/// A malformed call whose caller can be told is answered: the caller need not wait for its timeout.
#[tokio::test(flavor = "multi_thread")]
async fn the_caller_of_a_malformed_request_is_told() {
    let vhost = Lab::get().fresh_vhost("malformed_call");
    let bus = methods::bus(&vhost, "");
    let _server = serve(&bus, "host").await;
    let mut peer = Peer::start(&vhost, &json!({}));
    Lab::get().management("PUT", &format!("queues/{}/reply_here", vhost.name), Some("{}"));
    let message = json!({"method": "echo", "args": 7, "_msg_id": "i", "_reply_q": "reply_here"}).to_string();
    let body = json!({"oslo.version": "2.0", "oslo.message": message}).to_string();
    peer.ask("raw", json!({"routing_key": "engine", "body": body}));
    eventually("the answer", || depth(&vhost, "reply_here") == Some(1)).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_repeated_request_is_done_once() {
    let vhost = Lab::get().fresh_vhost("repeated");
    let bus = methods::bus(&vhost, "");
    let (_server, methods) = serve(&bus, "host").await;
    let mut peer = Peer::start(&vhost, &json!({}));
    let message = json!({"method": "record", "args": {"number": 1}, "_unique_id": "one"}).to_string();
    let body = json!({"oslo.version": "2.0", "oslo.message": message}).to_string();
    peer.ask("raw", json!({"routing_key": "engine", "body": body, "times": 5}));
    peer.cast(
        json!({"topic": "engine", "version": "1.0"}),
        "record",
        json!({"number": 2}),
    );
    eventually("the last", || methods.count() == 2).await;
    eventually("the queue to be empty", || depth(&vhost, "engine") == Some(0)).await;
    assert_eq!(methods.recorded.lock().unwrap()[&1], 1);
    assert_eq!(
        methods
            .last
            .lock()
            .unwrap()
            .as_ref()
            .unwrap()
            .unique_id
            .as_ref()
            .unwrap()
            .len(),
        32
    );
}

#[tokio::test(flavor = "multi_thread")]
async fn the_reply_to_a_caller_that_is_gone_is_dropped() {
    let vhost = Lab::get().fresh_vhost("gone");
    let bus = methods::bus(&vhost, "kombu_missing_consumer_retry_timeout=1");
    let (server, _methods) = serve(&bus, "host").await;
    let mut peer = Peer::start(&vhost, &json!({}));
    for number in 0..100 {
        let message = json!({"method": "echo", "_msg_id": number.to_string(), "_reply_q": "reply_gone"}).to_string();
        let body = json!({"oslo.version": "2.0", "oslo.message": message}).to_string();
        peer.ask("raw", json!({"routing_key": "engine", "body": body}));
    }
    echo(&bus).await;
    server.stop_consuming().await;
    tokio::time::timeout(TIMEOUT, server.idle()).await.unwrap();
    server.close().await;
}

#[rstest]
#[case::unacknowledged("hold", true)]
#[case::acknowledged("hold_acknowledged", false)]
#[tokio::test(flavor = "multi_thread")]
async fn what_a_dead_engine_held_comes_again_unless_it_was_acknowledged(
    #[case] method: &str,
    #[case] comes_again: bool,
) {
    let vhost = Lab::get().fresh_vhost("late_ack");
    let bus = methods::bus(&vhost, "");
    let (server, methods) = serve(&bus, "host").await;
    RpcClient::new(&bus)
        .cast(&engine(), method, Default::default(), &Default::default())
        .await
        .unwrap();
    methods.begins().await;
    assert_eq!(server.running(), 1);
    server.close().await;

    let (_second, second) = serve(&bus, "host").await;
    let begun = tokio::time::timeout(Duration::from_secs(2), second.begins())
        .await
        .is_ok();
    assert_eq!(begun, comes_again);
    if comes_again {
        assert!(second.last.lock().unwrap().as_ref().unwrap().redelivered);
    }
    methods.release.notify_one();
    second.release.notify_one();
}

/// The connection goes while a request is being worked on: the broker brings it again, and it is not begun twice.
#[tokio::test(flavor = "multi_thread")]
async fn a_request_under_way_is_not_begun_twice() {
    let vhost = Lab::get().fresh_vhost("under_way");
    let bus = methods::bus(&vhost, "kombu_reconnect_delay=0.1");
    let (_server, methods) = serve(&bus, "host").await;
    RpcClient::new(&bus)
        .cast(&engine(), "hold", Default::default(), &Default::default())
        .await
        .unwrap();
    methods.begins().await;
    eventually("the connections to be known", || vhost_connections(&vhost) > 0).await;
    vhost.close_connections();
    echo(&bus).await;
    let again = tokio::time::timeout(Duration::from_secs(2), methods.begins()).await;
    assert!(again.is_err(), "it was begun twice");
    methods.release.notify_one();
    eventually("the queue to be empty", || depth(&vhost, "engine") == Some(0)).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_request_given_back_comes_again() {
    let vhost = Lab::get().fresh_vhost("given_back");
    let bus = methods::bus(&vhost, "");
    let (_server, methods) = serve(&bus, "host").await;
    RpcClient::new(&bus)
        .cast(&engine(), "refuse_once", Default::default(), &Default::default())
        .await
        .unwrap();
    methods.begins().await;
    tokio::time::timeout(TIMEOUT, methods.begins()).await.unwrap();
    eventually("the queue to be empty", || depth(&vhost, "engine") == Some(0)).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn stopping_gives_back_what_has_not_begun() {
    let vhost = Lab::get().fresh_vhost("stopping");
    let bus = methods::bus(&vhost, "");
    let methods = Arc::new(Methods::default());
    let mut options = server_options("host");
    options.concurrency = 1;
    let server = RpcServer::start(&bus, options, methods.clone()).unwrap();
    server.ready().await;
    let client = RpcClient::new(&bus);
    client
        .cast(&engine(), "hold", Default::default(), &Default::default())
        .await
        .unwrap();
    methods.begins().await;
    for number in 0..10 {
        cast_number(&client, number).await.unwrap();
    }
    server.stop_consuming().await;
    let (_second, second) = serve(&bus, "second").await;
    eventually("the other engine to do them", || second.count() == 10).await;
    assert_eq!((methods.count(), server.running()), (0, 1));
    methods.release.notify_one();
    tokio::time::timeout(TIMEOUT, server.idle()).await.unwrap();
    eventually("the first to be acknowledged", || depth(&vhost, "engine") == Some(0)).await;
    server.close().await;
}

/// Passes everything on to the server named `python`.
struct Forwarder(Bus);

#[async_trait::async_trait]
impl Dispatch for Forwarder {
    fn contains(&self, _method: &str) -> bool {
        true
    }

    async fn call(&self, request: Request) -> Result<Answer, Fault> {
        match self.0.forward(&request.frame, "engine.python").await {
            Ok(()) => Ok(Answer::HandedOver),
            Err(error) => Err(Fault::internal(error.to_string())),
        }
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_request_passed_on_is_answered_by_another_engine() {
    let vhost = Lab::get().fresh_vhost("forward");
    let bus = methods::bus(&vhost, "");
    let server = RpcServer::start(&bus, server_options("rust"), Arc::new(Forwarder(bus.clone()))).unwrap();
    server.ready().await;
    let mut caller = Peer::start(&vhost, &json!({}));
    let to_us = json!({"topic": "engine", "server": "rust", "version": "1.0"});
    let answer = caller.call(to_us.clone(), "echo", json!({"a": 1}));
    assert_eq!(
        answer["error"]["class"], "RuntimeError",
        "nobody is there yet: {answer}"
    );

    let mut python = Peer::start(&vhost, &json!({}));
    python.ask(
        "serve",
        json!({"topic": "engine", "server": "python", "version": "1.36"}),
    );
    let answer = caller.call(to_us.clone(), "echo", json!({"a": 1}));
    assert_eq!(answer["result"]["arguments"], json!({"a": 1}));
    let answer = caller.call(to_us, "missing", json!({"name": "n"}));
    assert_eq!(answer["error"]["class"], "EntityNotFound_Remote");
}

#[tokio::test(flavor = "multi_thread")]
async fn an_idle_queue_is_deleted_and_no_other() {
    let vhost = Lab::get().fresh_vhost("delete");
    let bus = methods::bus(&vhost, "");
    let (server, _methods) = serve(&bus, "host").await;
    assert!(!bus.delete_idle_queue("engine.host").await.unwrap(), "it is in use");
    server.close().await;
    assert!(bus.delete_idle_queue("engine.host").await.unwrap());
    assert!(
        bus.delete_idle_queue("engine.host").await.unwrap(),
        "it is gone already"
    );
    let body: Value = json!({"properties": {}, "routing_key": "engine", "payload": "x", "payload_encoding": "string"});
    Lab::get().management(
        "POST",
        &format!("exchanges/{}/heat/publish", vhost.name),
        Some(&body.to_string()),
    );
    assert!(!bus.delete_idle_queue("engine").await.unwrap(), "it holds a message");
}
