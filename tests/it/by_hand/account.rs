//! What is shown of a check: for each thing that can become of a resource, as text and as JSON, in rehearsal and in earnest,
//! and never a secret.

use serde_json::{Value, json};

use super::{Run, events, shows_no_secret};
use crate::convergence::site::{Site, Stack};
use crate::convergence::templates::{template, test, test_after};
use crate::lab::Lab;

/// With what JSON and URLs write otherwise.
const WORD: &str = "öpen \"sesame\"/now";
/// What is shown of it.
const PARTS_OF_WORD: [&str; 3] = ["sesame", "\\u00f6pen", "öpen"];

/// One resource for each thing that an update makes of it, behind one that is slow.
fn family(round: u32) -> Value {
    let text = round.to_string();
    let word = json!({"get_param": "word"});
    let joined = json!({"list_join": ["-", [word, text]]});
    let after_slow = |properties: Value| test_after(properties, &["slow"]);
    let mut slow = json!({"value": text});
    let mut resources = json!({
        "in_place": after_slow(json!({"value": joined})),
        "anew": after_slow(json!({"value": word, "update_replace_value": text})),
        "same": after_slow(json!({"value": word})),
    });
    match round {
        1 => {
            resources["typed"] = json!({"type": "OS::Heat::RandomString", "properties": {"length": 8}});
            resources["gone"] = test(json!({"value": word}));
            resources["keeper"] = test_after(json!({}), &["gone"]);
        }
        _ => {
            slow["action_wait_secs"] = json!({"update": 4});
            // What it needed is cleaned up after it.
            resources["keeper"] = after_slow(json!({}));
            resources["typed"] = after_slow(json!({"value": word}));
            resources["new"] = after_slow(json!({"value": word}));
        }
    }
    resources["slow"] = test(slow);
    let mut template = template(resources);
    template["parameters"] = json!({"word": {"type": "string", "hidden": true, "default": WORD}});
    template
}

/// An update that has stopped behind `slow`.
async fn stopped(site: &Site, name: &str) -> Stack {
    let engine = site.engine().await;
    let stack = site.create(name, family(1)).await;
    site.until_settled(&stack, "CREATE_COMPLETE").await;
    site.update(&stack, family(2)).await;
    site.until_resource(&stack, "slow", "UPDATE_IN_PROGRESS").await;
    site.kill(engine).await;
    site.vhost.purge("engine_worker");
    site.finish(&stack, "slow");
    site.finish(&stack, "keeper");
    site.once(&format!("{name}/keeper:cleanup"), &[]).ended_with(0);
    site.vhost.purge("engine_worker");
    stack
}

/// What is expected of a target: the decision, the definition and the properties before and after, as JSON and as text.
struct Expected {
    target: &'static str,
    decision: &'static str,
    definition: [Value; 2],
    properties: Value,
    lines: &'static [&'static str],
}

fn definition(resource_type: &str, properties: Value) -> Value {
    json!({"type": resource_type, "properties": properties, "depends_on": ["slow"]})
}

fn expected() -> [Expected; 5] {
    const TEST: &str = "OS::Heat::TestResource";
    let word = json!({"get_param": "word"});
    let joined = |round: &str| json!({"value": {"list_join": ["-", [word, round]]}});
    let alone = json!({"value": word});
    let with = |round: &str| json!({"value": word, "update_replace_value": round});
    [
        Expected {
            target: "in_place",
            decision: "update in place",
            definition: [definition(TEST, joined("1")), definition(TEST, joined("2"))],
            properties: json!({"before": {"value": "***"}, "after": {"value": "***"}, "changed": ["value"]}),
            lines: &["    value  \"***\" → \"***\"", "- properties  {", "+ properties  {"],
        },
        Expected {
            target: "anew",
            decision: "replace",
            definition: [definition(TEST, with("1")), definition(TEST, with("2"))],
            properties: json!({
                "before": {"value": "***", "update_replace_value": "1"},
                "after": {"value": "***", "update_replace_value": "2"},
                "changed": ["update_replace_value"],
            }),
            lines: &["update_replace_value  \"1\" → \"2\"", "value                 \"***\"\n"],
        },
        Expected {
            target: "typed",
            decision: "replace",
            definition: [
                json!({"type": "OS::Heat::RandomString", "properties": {"length": 8}}),
                definition(TEST, alone.clone()),
            ],
            properties: json!({
                "before": {"length": 8}, "after": {"value": "***"}, "changed": ["length", "value"],
            }),
            lines: &[
                "- type        \"OS::Heat::RandomString\"",
                "+ type        \"OS::Heat::TestResource\"",
                "length  8 → (not given)",
                "value   (not given) → \"***\"",
            ],
        },
        Expected {
            target: "new",
            decision: "create",
            definition: [Value::Null, definition(TEST, alone.clone())],
            properties: json!({"before": null, "after": {"value": "***"}, "changed": []}),
            lines: &["    type        \"OS::Heat::TestResource\"", "    value  \"***\"\n"],
        },
        Expected {
            target: "gone:cleanup",
            decision: "delete",
            definition: [json!({"type": TEST, "properties": alone}), Value::Null],
            properties: json!({"before": {"value": "***"}, "after": null, "changed": []}),
            lines: &[
                "definition: the stack's template has none; it was\n",
                "properties: none any more; they were\n    value  \"***\"\n",
            ],
        },
    ]
}

fn says_what_is_expected(text: &Run, account: &Value, expected: &Expected) {
    let Expected { target, decision, .. } = expected;
    let decisions = account["decisions"].as_array().expect("decisions");
    assert!(
        decisions.iter().any(|made| made["what"] == *decision),
        "{target}: {decisions:#?}"
    );
    assert!(
        text.out.contains(&format!("  decision: {decision}, since ")),
        "{target}: {}",
        text.out
    );
    let only = |kind: &str| match events(account, kind).as_slice() {
        [event] => (*event).clone(),
        other => panic!("{target}: not one {kind}: {other:#?}"),
    };
    let definition = only("definition");
    let told = [definition["before"].clone(), definition["after"].clone()];
    assert_eq!(told, expected.definition, "{target}");
    let properties = only("properties");
    for part in ["before", "after", "changed"] {
        assert_eq!(properties[part], expected.properties[part], "{target}: {part}");
    }
    for line in expected.lines {
        assert!(text.out.contains(line), "{target}: no {line:?} in {}", text.out);
    }
}

/// Each statement, message and request says when it was, and what was sent how long it took.
fn has_times(text: &Run, account: &Value) {
    let mut last = 0.0;
    for event in account["events"].as_array().expect("events") {
        let at = event["at_ms"].as_f64().expect("a time");
        assert!(at >= last, "{event}");
        last = at;
        let is_timed = ["statement", "cast", "call", "request"]
            .map(Value::from)
            .contains(&event["kind"]);
        if is_timed && event["outcome"] == "done" {
            let took = event["took_ms"].as_f64().expect("a duration");
            assert!(took > 0.0 && took <= last, "{event}");
        }
    }
    let took = account["took_ms"].as_f64().expect("a duration");
    assert!(last <= took, "{last} {took}");
    let is_time = |text: &str| {
        let mut words = text.split(' ');
        let number = words.next().and_then(|number| number.parse::<f64>().ok());
        number.is_some() && matches!(words.next(), Some("ms" | "s"))
    };
    let sent = |line: &str| {
        const WORDS: [&str; 8] = [
            "SELECT ", "INSERT ", "UPDATE ", "DELETE ", "BEGIN", "COMMIT", "cast ", "GET ",
        ];
        let what = line.get(9..)?.trim_start();
        WORDS.iter().any(|word| what.starts_with(word)).then(|| what.to_owned())
    };
    let lines: Vec<(&str, String)> = text.out.lines().filter_map(|line| Some((line, sent(line)?))).collect();
    assert!(lines.len() > 5, "{}", text.out);
    for (line, what) in lines {
        assert!(is_time(line.trim_start()), "no time in {line:?}");
        let last = what.rsplit("  ").next().unwrap_or_default();
        let took = last.rsplit(", ").next().unwrap_or_default();
        assert!(is_time(took), "no duration in {line:?}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn definition_and_properties_are_shown_before_and_after() {
    let site = Site::passive("shown").await;
    let stack = stopped(&site, "shown").await;
    for expected in expected() {
        let target = format!("shown/{}", expected.target);
        let before = site.everything().await;
        let text = site.once(&target, &["--dry-run"]).ended_with(0);
        let json = site.once(&target, &["--dry-run", "--format", "json"]).ended_with(0);
        shows_no_secret(&text, &PARTS_OF_WORD);
        shows_no_secret(&json, &PARTS_OF_WORD);
        says_what_is_expected(&text, &json.json(), &expected);
        assert_eq!(site.everything().await, before, "the rehearsal of {target}");
    }
    let account = site.once("shown/same", &["--dry-run", "--format", "json"]).json();
    assert_eq!(account["decisions"][0]["what"], "leave unchanged", "{account:#}");
    // In earnest it is the same, once as text and once as JSON.
    for expected in expected() {
        let target = format!("shown/{}", expected.target);
        let text = site.once(&target, &["--dry-run"]).ended_with(0);
        let json = site.once(&target, &["--format", "json"]).ended_with(0);
        shows_no_secret(&json, &PARTS_OF_WORD);
        let account = json.json();
        says_what_is_expected(&text, &account, &expected);
        assert_eq!(account["exit_code"], 0);
        let counts = &account["counts"];
        assert!(counts["writes"].as_u64() > Some(0), "{target}: {counts}");
    }
    site.replay_to_the_end(&stack);
    site.until_settled(&stack, "UPDATE_COMPLETE").await;
    site.close().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn every_statement_and_message_has_its_time() {
    let site = Site::passive("times").await;
    let engine = site.engine().await;
    let slowly = json!({"value": "1", "action_wait_secs": {"create": 4}});
    let resources = json!({
        "slow": test(slowly), "a": test_after(json!({}), &["slow"]), "b": test_after(json!({}), &["a"]),
        "c": test_after(json!({}), &["b"]),
    });
    let stack = site.create("times", template(resources)).await;
    site.until_resource(&stack, "slow", "CREATE_IN_PROGRESS").await;
    site.kill(engine).await;
    site.finish(&stack, "slow");
    let text = site.once("times/a", &[]).ended_with(0);
    let json = site.once("times/b", &["--format", "json"]).ended_with(0).json();
    for kind in ["statement", "cast"] {
        assert!(!events(&json, kind).is_empty(), "no {kind} in {json:#}");
    }
    has_times(&text, &json);
    site.close().await;
}

/// What lets somebody in: the trust by which a check acts, the token of a frame, passwords that resources are given.
#[tokio::test(flavor = "multi_thread")]
async fn credentials_are_hidden_in_statements_messages_and_requests() {
    const PASSWORD: &str = "Tell-nobody-42";
    let site = Site::passive("hidden").await;
    let keystone = &Lab::get().keystone.url;
    let engine = site.engine().await;
    let slowly = json!({"value": "1", "action_wait_secs": {"create": 4, "delete": 4}});
    let user = json!({"type": "OS::Keystone::User", "depends_on": ["slow"], "properties": {"password": PASSWORD}});
    let told = test_after(json!({"value": PASSWORD}), &["user"]);
    let resources = json!({"slow": test(slowly), "user": user, "told": told});
    let stack = site.create_as_admin("hidden", template(resources), keystone).await;
    site.until_resource(&stack, "slow", "CREATE_IN_PROGRESS").await;
    site.kill(engine).await;
    site.finish(&stack, "slow");

    // The frame that was sent for the user has all that lets us in.
    let get = json!({"count": 5, "ackmode": "ack_requeue_true", "encoding": "auto"}).to_string();
    let path = format!("queues/{}/engine_worker/get", site.vhost.name);
    let frames = Lab::get().management("POST", &path, Some(&get));
    let frames = frames.as_array().expect("messages");
    let last = frames.last().expect("a message")["payload"].as_str().expect("text");
    let envelope: Value = serde_json::from_str(last).expect("JSON");
    let mut message: Value = serde_json::from_str(envelope["oslo.message"].as_str().expect("text")).expect("JSON");
    let trust = message["_context_trust_id"].as_str().expect("a trust").to_owned();
    message["_context_auth_token"] = "a-token-of-somebody".into();
    message["_context_password"] = "a-password-of-somebody".into();
    let secrets = [
        PASSWORD,
        trust.as_str(),
        "a-token-of-somebody",
        "a-password-of-somebody",
    ];
    for format in ["text", "json"] {
        let arguments = ["--once", "-", "--dry-run", "--format", format];
        let run = site
            .by_hand_with(&arguments, message.to_string().as_bytes())
            .ended_with(0);
        assert!(run.out.contains("would ask"), "{}", run.out);
        shows_no_secret(&run, &secrets);
    }
    let run = site.once("hidden/user", &["-d"]).ended_with(0);
    assert!(run.err.contains("DEBUG"), "it was asked for the log: {}", run.err);
    shows_no_secret(&run, &secrets);
    for line in ["POST http", "/v3/users", "password  \"***\""] {
        assert!(run.out.contains(line), "no {line:?} in {}", run.out);
    }
    let run = site.once("hidden/told", &["--format", "json"]).ended_with(0);
    site.until_settled(&stack, "CREATE_COMPLETE").await;
    assert_eq!(events(&run.json(), "properties").len(), 1);

    // The last check of a delete takes the trust away, by its id.
    site.vhost.purge("engine_worker");
    let engine = site.engine().await;
    site.delete_as_admin(&stack, keystone).await;
    site.until_resource(&stack, "slow", "DELETE_IN_PROGRESS").await;
    site.kill(engine).await;
    let runs = site.replay_to_the_end(&stack);
    site.until_settled(&stack, "gone").await;
    runs.iter().for_each(|run| shows_no_secret(run, &secrets));
    let takes_it_away = |run: &Run| run.out.contains("DELETE http") && run.out.contains("/v3/OS-TRUST/trusts/***");
    assert!(runs.iter().any(takes_it_away), "{runs:#?}");
    site.close().await;
}
