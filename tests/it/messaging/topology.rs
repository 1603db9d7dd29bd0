//! Exchanges, queues and bindings equal a Python engine's under the same options, and either may come first.

use rstest::rstest;
use serde_json::{Value, json};

use super::methods::{self, object, serve};
use super::peer::Peer;
use crate::lab::{Lab, TestVhost};
use heat_engine::clock::Clock;
use heat_engine::messaging::{Notifier, RpcClient, Target};
use heat_engine::settings::{Settings, SettingsSources};

/// What is on the broker, with the random parts of names left out.
fn topology(vhost: &TestVhost) -> Value {
    let pick = |items: Vec<Value>, keys: &[&str]| {
        let mut picked: Vec<String> = items
            .iter()
            .map(|item| {
                keys.iter()
                    .map(|key| format!("{key}={} ", without_ids(&item[*key].to_string())))
                    .collect()
            })
            .collect();
        picked.sort();
        picked
    };
    let exchanges = vhost.exchanges().into_iter().filter(|exchange| {
        let name = exchange["name"].as_str().unwrap_or_default();
        !name.is_empty() && !name.starts_with("amq.")
    });
    json!({
        "exchanges": pick(exchanges.collect(), &["name", "type", "durable", "auto_delete", "internal", "arguments"]),
        "queues": pick(vhost.queues(), &["name", "durable", "auto_delete", "exclusive", "arguments"]),
        "bindings": pick(vhost.bindings(), &["source", "destination", "destination_type", "routing_key", "arguments"]),
    })
}

pub fn without_ids(text: &str) -> String {
    let is_id = |part: &str| part.len() == 32 && part.chars().all(|c| c.is_ascii_hexdigit());
    let parts: Vec<String> = text
        .split_inclusive(|c: char| !c.is_ascii_alphanumeric())
        .map(|part| {
            let word = part.trim_end_matches(|c: char| !c.is_ascii_alphanumeric());
            if is_id(word) {
                part.replace(word, "ID")
            } else {
                part.to_owned()
            }
        })
        .collect();
    parts.concat()
}

fn query(options: &Value) -> String {
    let pairs = object(options.clone()).into_iter();
    let pairs = pairs.map(|(name, value)| format!("{name}={}", value.to_string().trim_matches('"')));
    pairs.collect::<Vec<_>>().join("&")
}

/// All that an engine makes: the queues of a server, one for replies, one for notifications.
fn python_engine(vhost: &TestVhost, options: &Value, server: &str) -> Peer {
    let mut peer = Peer::start(vhost, options);
    peer.ask("serve", json!({"topic": "engine", "server": server, "version": "1.36"}));
    let target = json!({"topic": "engine", "server": server, "version": "1.0"});
    let answer = peer.call(target, "echo", json!({}));
    assert!(answer.get("result").is_some(), "{answer}");
    let notification = json!({"driver": "messagingv2", "event_type": "e", "payload": {}, "priority": "info"});
    peer.ask("notify", notification);
    peer
}

struct RustEngine {
    bus: heat_engine::messaging::Bus,
    server: heat_engine::messaging::RpcServer,
}

async fn rust_engine(vhost: &TestVhost, options: &Value, server: &str) -> RustEngine {
    let bus = methods::bus(vhost, &query(options));
    let (running, _) = serve(&bus, server).await;
    let target = Target::topic("engine", "1.0").server(server);
    let timeout = std::time::Duration::from_secs(20);
    let client = RpcClient::new(&bus);
    client
        .call(&target, "echo", Default::default(), &Default::default(), timeout)
        .await
        .unwrap();
    let mut settings = Settings::load(&SettingsSources::default())
        .unwrap()
        .messaging
        .notifications;
    settings.drivers = vec!["messagingv2".to_owned()];
    let notifier = Notifier::start(&settings, &bus, Clock::system()).unwrap();
    notifier
        .notify(&Default::default(), "orchestration.rust", "e", "INFO", json!({}))
        .await;
    notifier.flushed().await;
    RustEngine { bus, server: running }
}

impl RustEngine {
    async fn calls(&self, server: &str) -> Value {
        let target = Target::topic("engine", "1.0").server(server);
        let timeout = std::time::Duration::from_secs(20);
        let client = RpcClient::new(&self.bus);
        client
            .call(&target, "echo", Default::default(), &Default::default(), timeout)
            .await
            .unwrap()
    }
}

#[rstest]
#[case::defaults(json!({}))]
#[case::durable(json!({"amqp_durable_queues": true}))]
#[case::quorum(json!({"rabbit_quorum_queue": true}))]
#[case::transient_quorum(json!({"rabbit_transient_quorum_queue": true}))]
#[case::all_quorum(json!({
    "rabbit_quorum_queue": true, "rabbit_transient_quorum_queue": true, "rabbit_quorum_delivery_limit": 5,
    "rabbit_quorum_max_memory_length": 1000, "rabbit_quorum_max_memory_bytes": 1_000_000,
}))]
#[case::auto_delete(json!({"amqp_auto_delete": true}))]
#[case::durable_auto_delete(json!({"amqp_durable_queues": true, "amqp_auto_delete": true}))]
#[case::mirrored(json!({"rabbit_ha_queues": true}))]
#[case::no_expiry(json!({"rabbit_transient_queues_ttl": 0}))]
#[case::long_expiry(json!({"rabbit_transient_queues_ttl": 3_000_000}))]
#[case::cancel_on_failover(json!({"enable_cancel_on_failover": true}))]
#[tokio::test(flavor = "multi_thread")]
async fn equals_a_python_engines(#[case] options: Value) {
    let lab = Lab::get();
    let (python_first, rust_first) = (lab.fresh_vhost("python_first"), lab.fresh_vhost("rust_first"));

    let mut python = python_engine(&python_first, &options, "host");
    let expected = topology(&python_first);
    let rust = rust_engine(&rust_first, &options, "host").await;
    pretty_equal(&topology(&rust_first), &expected);

    let second_rust = rust_engine(&python_first, &options, "other").await;
    second_rust.calls("host").await;
    let answer = python.call(
        json!({"topic": "engine", "server": "other", "version": "1.0"}),
        "echo",
        json!({}),
    );
    assert!(answer.get("result").is_some(), "{answer}");

    let mut second_python = python_engine(&rust_first, &options, "other");
    rust.calls("other").await;
    let answer = second_python.call(
        json!({"topic": "engine", "server": "host", "version": "1.0"}),
        "echo",
        json!({}),
    );
    assert!(answer.get("result").is_some(), "{answer}");

    rust.server.close().await;
    second_rust.server.close().await;
}

fn pretty_equal(ours: &Value, theirs: &Value) {
    let text = |value| serde_json::to_string_pretty(value).unwrap();
    assert_eq!(text(ours), text(theirs), "ours is the first");
}

/// oslo.messaging leaves nothing behind that it made for itself alone, but for the queues that expire. We do not wait for
/// that: nobody will ever ask for a reply queue again.
#[tokio::test(flavor = "multi_thread")]
async fn an_engine_that_ends_leaves_what_python_leaves_but_its_replies() {
    let lab = Lab::get();
    let (theirs, ours) = (lab.fresh_vhost("python_end"), lab.fresh_vhost("rust_end"));
    python_engine(&theirs, &json!({}), "host").end();
    let engine = rust_engine(&ours, &json!({}), "host").await;
    engine.server.stop_consuming().await;
    engine.server.idle().await;
    engine.server.close().await;
    engine.bus.close().await;
    let mut theirs = topology(&theirs);
    for kind in ["queues", "bindings"] {
        let items = theirs[kind].as_array_mut().expect("a list");
        let before = items.len();
        items.retain(|item| !item.as_str().unwrap_or_default().contains("reply_ID"));
        assert_eq!(items.len(), before - 1);
    }
    pretty_equal(&topology(&ours), &theirs);
}

/// A service with other options shares the exchange `heat`: it is used as it is.
#[rstest]
#[case(json!({}), json!({"amqp_durable_queues": true}))]
#[case(json!({"amqp_durable_queues": true}), json!({}))]
#[tokio::test(flavor = "multi_thread")]
async fn an_exchange_of_another_durability_is_used_for_sending(#[case] theirs: Value, #[case] ours: Value) {
    let vhost = Lab::get().fresh_vhost("durability");
    let _python = python_engine(&vhost, &theirs, "host");
    let bus = methods::bus(&vhost, &query(&ours));
    let target = Target::topic("engine", "1.0").server("host");
    let timeout = std::time::Duration::from_secs(20);
    RpcClient::new(&bus)
        .call(&target, "echo", Default::default(), &Default::default(), timeout)
        .await
        .unwrap();
}
