//! Calls, casts and notifications between a Python service and us, both ways.

use std::time::Duration;

use heat_engine::clock::Clock;
use heat_engine::messaging::{Bus, CallError, Notifier, RpcClient, Target};
use heat_engine::settings::{Settings, SettingsSources};
use rstest::rstest;
use serde_json::{Map, Value, json};

use super::methods::{self, eventually, object, options, serve};
use super::peer::{Peer, request};
use super::topology::without_ids;
use crate::lab::{Lab, TestVhost};

const TIMEOUT: Duration = Duration::from_secs(20);

fn engine() -> Value {
    json!({"topic": "engine", "version": "1.0"})
}

#[tokio::test(flavor = "multi_thread")]
async fn a_python_client_calls_us() {
    let vhost = Lab::get().fresh_vhost("calls_us");
    let bus = methods::bus(&vhost, "");
    let _server = serve(&bus, "host").await;
    let mut peer = Peer::start(&vhost, &json!({}));

    let arguments = json!({"text": "größe \u{1f600}", "float": 1.5e300, "big": 12345678901234567890123u128 as f64,
                           "nested": [{"b": null, "a": [true, {}]}]});
    for target in [
        engine(),
        json!({"topic": "engine", "server": "host", "version": "1.36"}),
    ] {
        let mut call = request(target, "echo", arguments.clone());
        call["context"] = json!({"request_id": "req-1", "roles": ["a"]});
        let answer = peer.ask("call", call);
        assert_eq!(answer["result"]["arguments"], arguments);
        assert_eq!(
            answer["result"]["context"],
            json!({"request_id": "req-1", "roles": ["a"]})
        );
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_python_client_sees_our_errors_as_its_own() {
    let vhost = Lab::get().fresh_vhost("errors");
    let bus = methods::bus(&vhost, "");
    let (_server, methods) = serve(&bus, "host").await;
    let python_vhost = Lab::get().fresh_vhost("errors_python");
    let mut theirs = Peer::start(&python_vhost, &json!({}));
    theirs.ask("serve", json!({"topic": "engine", "server": "host", "version": "1.36"}));
    let mut peer = Peer::start(&vhost, &json!({}));

    let error = |answer: Value| {
        let mut error = answer["error"].clone();
        // The text ends in a traceback, which is another one here.
        error["text"] = error["text"].as_str().unwrap_or_default().lines().next().into();
        error
    };
    for (target, method, arguments) in [
        (engine(), "missing", json!({"name": "s1"})),
        (engine(), "no_such_method", json!({})),
        (engine(), "_private", json!({})),
        (json!({"topic": "engine", "version": "1.37"}), "echo", json!({})),
        (json!({"topic": "engine", "version": "2.0"}), "echo", json!({})),
        (
            json!({"topic": "engine", "version": "1.0", "namespace": "n"}),
            "echo",
            json!({}),
        ),
    ] {
        let ours = error(peer.call(target.clone(), method, arguments.clone()));
        let expected = error(theirs.call(target, method, arguments));
        let traceback = ours["text"]
            .as_str()
            .is_some_and(|text| text.starts_with("Remote error"));
        let (mut ours, mut expected) = (ours, expected);
        if traceback {
            // RemoteError shows its traceback as a list, on the same line.
            ours["text"] = ours["text"].as_str().unwrap().split("[").next().into();
            expected["text"] = expected["text"].as_str().unwrap().split("[").next().into();
        }
        assert_eq!(ours, expected, "{method}");
    }

    let broken = error(peer.call(engine(), "broken", json!({})));
    assert_eq!(broken["class"], "RuntimeError");
    let well = peer.call(engine(), "echo", json!({"still": "here"}));
    assert_eq!(well["result"]["arguments"]["still"], "here");
    assert_eq!(methods.count(), 0);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_caller_that_asks_for_signs_of_life_gets_them() {
    let vhost = Lab::get().fresh_vhost("monitor");
    let bus = methods::bus(&vhost, "");
    let _server = serve(&bus, "host").await;
    let mut peer = Peer::start(&vhost, &json!({}));
    let mut call = request(engine(), "slow", json!({"seconds": 6}));
    call["call_monitor_timeout"] = json!(2);
    call["timeout"] = json!(20);
    assert_eq!(peer.ask("call", call), json!({"result": "awake"}));
}

#[tokio::test(flavor = "multi_thread")]
async fn casts_reach_one_server_or_all() {
    let vhost = Lab::get().fresh_vhost("casts");
    let bus = methods::bus(&vhost, "");
    let (_first, first) = serve(&bus, "first").await;
    let (_second, second) = serve(&bus, "second").await;
    let mut peer = Peer::start(&vhost, &json!({}));
    peer.cast(engine(), "record", json!({"number": 1}));
    peer.cast(
        json!({"topic": "engine", "server": "first", "version": "1.0"}),
        "record",
        json!({"number": 2}),
    );
    peer.cast(
        json!({"topic": "engine", "fanout": true, "version": "1.0"}),
        "record",
        json!({"number": 3}),
    );
    let recorded = |methods: &methods::Methods, number| methods.recorded.lock().unwrap().contains_key(&number);
    eventually("all casts", || {
        (recorded(&first, 1) || recorded(&second, 1))
            && recorded(&first, 2)
            && recorded(&first, 3)
            && recorded(&second, 3)
    })
    .await;
    assert!(!recorded(&second, 2));
    assert!(recorded(&first, 1) != recorded(&second, 1));
}

#[tokio::test(flavor = "multi_thread")]
async fn we_call_a_python_server() {
    let vhost = Lab::get().fresh_vhost("calls_python");
    let mut peer = Peer::start(&vhost, &json!({}));
    peer.ask("serve", json!({"topic": "engine", "server": "host", "version": "1.36"}));
    let bus = methods::bus(&vhost, "");
    let client = RpcClient::new(&bus);
    let target = Target::topic("engine", "1.5");
    let context = object(json!({"request_id": "req-2"}));
    let arguments = || object(json!({"a": "ü", "b": [1, 2.5, null]}));

    for target in [target.clone(), target.clone().server("host")] {
        let answer = client
            .call(&target, "echo", arguments(), &context, TIMEOUT)
            .await
            .unwrap();
        assert_eq!(answer["arguments"], Value::Object(arguments()));
        assert_eq!(answer["context"]["request_id"], "req-2");
    }
    let nothing = client
        .call(&target, "nothing", Default::default(), &context, TIMEOUT)
        .await
        .unwrap();
    assert_eq!(nothing, Value::Null);

    let error = client
        .call(&target, "missing", object(json!({"name": "s"})), &context, TIMEOUT)
        .await
        .unwrap_err();
    let CallError::Remote { fault, .. } = error else {
        panic!("{error:?}")
    };
    assert_eq!(
        (fault.class.as_str(), fault.module.as_str()),
        ("EntityNotFound", "heat.common.exception")
    );
    assert_eq!(fault.message, "The Stack (s) could not be found.");

    let slow = object(json!({"seconds": 5}));
    let error = client
        .call(&target, "slow", slow, &context, Duration::from_secs(1))
        .await
        .unwrap_err();
    assert!(matches!(error, CallError::TimedOut { .. }), "{error:?}");
    let nobody = target.clone().server("nobody");
    let error = client
        .call(&nobody, "echo", arguments(), &context, Duration::from_secs(1))
        .await
        .unwrap_err();
    assert!(matches!(error, CallError::TimedOut { .. }), "{error:?}");

    for number in 0..20 {
        client
            .cast(&target, "record", object(json!({"number": number})), &context)
            .await
            .unwrap();
    }
    client
        .cast(
            &target.clone().fanout(),
            "record",
            object(json!({"number": 20})),
            &context,
        )
        .await
        .unwrap();
    let expected: Vec<i64> = (0..=20).collect();
    eventually("all casts", || {
        let mut numbers: Vec<i64> = serde_json::from_value(peer.ask("recorded", json!({}))).unwrap();
        numbers.sort_unstable();
        numbers == expected
    })
    .await;
}

/// A frame of ours is, byte for byte but for its ids, what Python sends.
#[rstest]
#[case::call(true)]
#[case::cast(false)]
#[tokio::test(flavor = "multi_thread")]
async fn our_frames_are_pythons(#[case] is_call: bool) {
    let vhost = Lab::get().fresh_vhost("frames");
    let bus = methods::bus(&vhost, "");
    let mut peer = Peer::start(&vhost, &json!({}));
    // A queue that nobody reads.
    let queue = format!("queues/{}/engine.unread", vhost.name);
    Lab::get().management("PUT", &queue, Some(r#"{"durable": false, "auto_delete": false}"#));
    Lab::get().management(
        "PUT",
        &format!("exchanges/{}/heat", vhost.name),
        Some(r#"{"type": "topic", "durable": false}"#),
    );
    let binding = format!("bindings/{}/e/heat/q/engine.unread", vhost.name);
    Lab::get().management("POST", &binding, Some(r#"{"routing_key": "engine.unread"}"#));

    let arguments =
        json!({"stack_name": "größe", "n": 1.0, "e": 1e16, "t": {"z": null, "a": [true, false]}, "q": "\"\\\n"});
    let context = json!({"user": "u", "roles": ["r1", "r2"], "is_admin": false, "domain": null});
    let target = Target::topic("engine", "1.36").server("unread");
    let client = RpcClient::new(&bus);
    let mut python = request(
        json!({"topic": "engine", "server": "unread", "version": "1.36"}),
        "m",
        arguments.clone(),
    );
    python["context"] = context.clone();
    let (mut arguments, context) = (object(arguments), object(context));
    if is_call {
        // The frames are looked at while both wait for an answer; after that they expire.
        let timeout = Duration::from_secs(12);
        python["timeout"] = json!(timeout.as_secs());
        peer.begin("call", python);
        eventually("Python's frame", || unread_frames(&vhost).len() == 1).await;
        let arguments = std::mem::take(&mut arguments);
        tokio::spawn(async move { client.call(&target, "m", arguments, &context, timeout).await });
        eventually("our frame", || unread_frames(&vhost).len() == 2).await;
    } else {
        peer.ask("cast", python);
        client.cast(&target, "m", arguments, &context).await.unwrap();
    }
    let [theirs, ours] = unread_frames(&vhost).try_into().unwrap();
    assert_eq!(ours, theirs);
}

/// The frames that wait in `engine.unread`, in their order, without ids.
fn unread_frames(vhost: &TestVhost) -> Vec<String> {
    let get = r#"{"count": 10, "ackmode": "ack_requeue_true", "encoding": "auto"}"#;
    let frames = Lab::get().management("POST", &format!("queues/{}/engine.unread/get", vhost.name), Some(get));
    let frames = frames.as_array().unwrap().iter();
    frames
        .map(|frame| without_ids(&json!([frame["payload"], frame["properties"], frame["routing_key"]]).to_string()))
        .collect()
}

#[rstest]
#[case::with_envelope("messagingv2")]
#[case::without("messaging")]
#[tokio::test(flavor = "multi_thread")]
async fn a_python_listener_reads_our_notifications(#[case] driver: &str) {
    let vhost = Lab::get().fresh_vhost("notifications");
    let bus = methods::bus(&vhost, "");
    let mut settings = Settings::load(&SettingsSources::default())
        .unwrap()
        .messaging
        .notifications;
    settings.drivers = vec![driver.to_owned()];
    let notifier = Notifier::start(&settings, &bus, Clock::system()).unwrap();
    let context = object(json!({"user": "u"}));
    let payload = json!({"stack_name": "s", "tags": []});
    for (event, priority) in [
        ("orchestration.stack.create.start", "INFO"),
        ("orchestration.stack.create.error", "ERROR"),
    ] {
        notifier
            .notify(&context, "orchestration.host", event, priority, payload.clone())
            .await;
    }
    notifier.flushed().await;

    // They waited for a reader.
    let mut peer = Peer::start(&vhost, &json!({}));
    peer.ask("listen", json!({"topics": ["notifications"]}));
    let mut notified = Value::Null;
    eventually("both notifications", || {
        notified = peer.ask("notified", json!({}));
        notified.as_array().is_some_and(|notified| notified.len() == 2)
    })
    .await;
    let mut events: Vec<&Value> = notified.as_array().unwrap().iter().collect();
    events.sort_by_key(|event| event["priority"].to_string());
    assert_eq!(events[1]["event_type"], "orchestration.stack.create.start");
    assert_eq!(events[0]["priority"], "error");
    assert_eq!(events[1]["publisher_id"], "orchestration.host");
    assert_eq!(events[1]["payload"], payload);
    assert_eq!(events[1]["context"]["user"], "u");
}

#[tokio::test(flavor = "multi_thread")]
async fn our_notifications_are_pythons() {
    let (ours, theirs) = (
        Lab::get().fresh_vhost("notify_ours"),
        Lab::get().fresh_vhost("notify_theirs"),
    );
    let bus = methods::bus(&ours, "");
    let mut settings = Settings::load(&SettingsSources::default())
        .unwrap()
        .messaging
        .notifications;
    settings.drivers = vec!["messagingv2".to_owned()];
    let notifier = Notifier::start(&settings, &bus, Clock::system()).unwrap();
    let payload = json!({"name": "ä", "n": 1});
    notifier
        .notify(&Default::default(), "orchestration.peer", "e", "INFO", payload.clone())
        .await;
    notifier.flushed().await;
    let mut peer = Peer::start(&theirs, &json!({}));
    peer.ask(
        "notify",
        json!({"driver": "messagingv2", "event_type": "e", "payload": payload, "priority": "info"}),
    );

    let frame = |vhost: &TestVhost| {
        let get = r#"{"count": 1, "ackmode": "ack_requeue_true", "encoding": "auto"}"#;
        let path = format!("queues/{}/notifications.info/get", vhost.name);
        let frame = Lab::get().management("POST", &path, Some(get))[0].take();
        let envelope: Value = serde_json::from_str(frame["payload"].as_str().unwrap()).unwrap();
        let mut message: Value = serde_json::from_str(envelope["oslo.message"].as_str().unwrap()).unwrap();
        message["message_id"] = "ID".into();
        message["_unique_id"] = "ID".into();
        message["timestamp"] = message["timestamp"].as_str().unwrap().len().into();
        json!([
            message,
            envelope["oslo.version"],
            frame["properties"],
            frame["exchange"]
        ])
        .to_string()
    };
    assert_eq!(frame(&ours), frame(&theirs));
}

#[tokio::test(flavor = "multi_thread")]
async fn ping_is_answered_where_it_is_enabled() {
    let vhost = Lab::get().fresh_vhost("ping");
    let mut options = methods::options(&vhost, "");
    options.transport.rpc_ping_enabled = true;
    let bus = heat_engine::messaging::Bus::open(options, Clock::system()).unwrap();
    let _server = serve(&bus, "host").await;
    let mut peer = Peer::start(&vhost, &json!({}));
    let answer = peer.call(json!({"topic": "engine"}), "oslo_rpc_server_ping", json!({}));
    assert_eq!(answer, json!({"result": "pong"}));
}

/// Whoever compresses is understood, whether we do or not.
#[rstest]
#[case("gzip", "")]
#[case("", "kombu_compression=gzip")]
#[case("gzip", "kombu_compression=gzip")]
#[tokio::test(flavor = "multi_thread")]
async fn compressed_frames_are_read_and_sent(#[case] theirs: &str, #[case] ours: &str) {
    let vhost = Lab::get().fresh_vhost("compression");
    let bus = methods::bus(&vhost, ours);
    let _server = serve(&bus, "rust").await;
    let options = if theirs.is_empty() {
        json!({})
    } else {
        json!({"kombu_compression": theirs})
    };
    let mut peer = Peer::start(&vhost, &options);
    peer.ask(
        "serve",
        json!({"topic": "engine", "server": "python", "version": "1.36"}),
    );
    let arguments = json!({"text": "größe".repeat(1000)});
    let to_us = json!({"topic": "engine", "server": "rust", "version": "1.0"});
    assert_eq!(
        peer.call(to_us, "echo", arguments.clone())["result"]["arguments"],
        arguments
    );
    let target = Target::topic("engine", "1.0").server("python");
    let client = RpcClient::new(&bus);
    let answer = client
        .call(&target, "echo", object(arguments.clone()), &Default::default(), TIMEOUT)
        .await;
    assert_eq!(answer.unwrap()["arguments"], arguments);
}

/// A question that nobody could be asked says nothing of who was to answer it.
#[tokio::test(flavor = "multi_thread")]
async fn a_call_that_no_broker_took_was_not_sent() {
    let vhost = Lab::get().fresh_vhost("unsent");
    let mut nowhere = options(&vhost, "");
    nowhere.transport.transport_url = "rabbit://u:p@127.0.0.1:1/".to_owned().into();
    let bus = Bus::open(nowhere, Clock::system()).unwrap();
    let (target, context, patience) = (Target::topic("engine", "1.0"), Map::new(), Duration::from_millis(300));
    let called = RpcClient::new(&bus);
    let answer = called.call(&target, "echo", Map::new(), &context, patience).await;
    assert!(matches!(answer, Err(CallError::NotSent { .. })), "{answer:?}");
    bus.close().await;
}
