//! What functions make of secrets is as secret as they are, in all that is shown of a check.

use serde_json::{Value, json};

use super::{Run, events, shows_no_secret};
use crate::convergence::site::{Site, Stack};
use crate::convergence::templates::{template, test, test_after};

const WORD: &str = "open-sesame-door";
const KEY: &str = "-----BEGIN KEY-----\nfirst-line-of-it\nsecond-line-of-it";

/// The secrets, and what the template makes of them.
const SECRETS: [&str; 14] = [
    "sesame",
    "SESAME",
    "pin-4711",
    "BEGIN KEY",
    "first-line",
    "FIRST-LINE",
    "second-line",
    "SECOND-LINE",
    // SHA-256 of the word, and MD5 of the pin and of the key in upper case.
    "9cc43d91721cfb0e2947f49e7c06e764ff4c07d366add2354d8f66f472193edc",
    "edbeb031902a36dbf7646c4d43e36516",
    "aa865fba191984ac65d9f862c867d5d9",
    // Parts of the word.
    "\"open\"",
    "\"door\"",
    // How long the key is: too short to be looked for, but hidden in the properties.
    "\"value\": 54",
];

/// What one resource of each kind shows of its `value`.
fn shown() -> [(&'static str, Value); 10] {
    [
        ("upper", json!("***")),
        ("upper_word", json!("***")),
        ("lines", json!(["***", "***", "***"])),
        ("parts", json!(["***", "***", "***"])),
        ("digest", json!("***")),
        ("length", json!("***")),
        (
            "nested",
            json!({"plain": "plain words", "made": "***", "list": ["plain item", "***"], "merged": {"own": "plain too", "of": "***"}}),
        ),
        ("of_text", json!("***")),
        ("beside_pair", json!({"pin": "***", "account": "the account"})),
        ("told", json!("***")),
    ]
}

fn of_secrets() -> Value {
    let [word, key] = ["word", "key"].map(|name| json!({"get_param": name}));
    let yaql = |expression: &str, data: &Value| json!({"yaql": {"expression": expression, "data": data}});
    let kept = |kind: &str, value: Value| json!({"type": "OS::Heat::Value", "depends_on": ["slow"], "properties": {"type": kind, "value": value}});
    let pin = json!({"get_param": ["pair", "pin"]});
    let of_upper = json!({"digest": ["md5", {"list_join": ["", [{"get_attr": ["upper", "value"]}]]}]});
    let mut template = template(json!({
        "slow": test(json!({"value": "1", "action_wait_secs": {"create": 4}})),
        "text": {"type": "OS::Heat::RandomString", "properties": {"length": 24, "character_classes": [{"class": "lowercase"}]}},
        "told": test_after(json!({"value": of_upper}), &["slow", "parts", "nested"]),
        "upper": kept("string", yaql("$.data.toUpper()", &key)),
        "upper_word": kept("string", yaql("$.data.toUpper()", &word)),
        "lines": kept("comma_delimited_list", yaql("$.data.split(\"\n\")", &key)),
        "parts": kept("comma_delimited_list", json!({"str_split": ["-", word]})),
        "digest": kept("string", json!({"digest": ["sha256", word]})),
        "length": kept("number", yaql("$.data.len()", &key)),
        "nested": kept("json", json!({
            "plain": "plain words",
            "made": {"if": ["always", yaql("$.data.toUpper()", &word), "nothing"]},
            "list": ["plain item", {"digest": ["md5", pin]}],
            "merged": {"map_merge": [{"own": "plain too"}, {"of": {"list_join": ["", {"str_split": ["-", word]}]}}]},
        })),
        "beside_pair": kept("json", json!({"map_merge": [{"get_param": "pair"}, {"account": "the account"}]})),
        "of_text": kept("string", yaql("str($.data).toUpper()", &json!({"get_attr": ["text", "value"]}))),
    }));
    template["conditions"] = json!({"always": {"equals": [1, 1]}});
    template["parameters"] = json!({
        "word": {"type": "string", "hidden": true, "default": WORD},
        "key": {"type": "string", "hidden": true, "default": KEY},
        "pair": {"type": "json", "hidden": true, "default": {"pin": "pin-4711"}},
    });
    template["outputs"] = json!({"digest": {"value": {"get_attr": ["digest", "value"]}}});
    template
}

/// A stack that has stopped where `slow` is done.
async fn stopped(site: &Site, name: &str) -> Stack {
    let engine = site.engine().await;
    let stack = site.create(name, of_secrets()).await;
    site.until_resource(&stack, "text", "CREATE_COMPLETE").await;
    site.until_resource(&stack, "slow", "CREATE_IN_PROGRESS").await;
    site.kill(engine).await;
    site.finish(&stack, "text");
    site.finish(&stack, "slow");
    site.vhost.purge("engine_worker");
    stack
}

/// What a function has made of a random text, as it is stored in the end.
async fn of_random_text(site: &Site, stack: &Stack) -> String {
    let query = format!(
        "SELECT d.data FROM resource_properties_data d JOIN resource r ON r.rsrc_prop_data_id = d.id \
         WHERE r.stack_id = '{}' AND r.name = 'of_text'",
        stack.id
    );
    let stored: Value = serde_json::from_str(&site.texts(&query).await.remove(0)).expect("JSON");
    let text = stored["value"].as_str().expect("a text").to_owned();
    assert!(text.len() == 24 && text == text.to_uppercase(), "{text}");
    text
}

fn shows(account: &Value, name: &str, expected: &Value) {
    let properties = events(account, "properties");
    assert_eq!(properties.len(), 1, "{name}: {account:#}");
    assert_eq!(properties[0]["after"]["value"], *expected, "{name}");
}

#[tokio::test(flavor = "multi_thread")]
async fn what_functions_make_of_secrets_is_hidden() {
    let site = Site::passive("made").await;
    let stack = stopped(&site, "made").await;
    let mut runs: Vec<Run> = Vec::new();
    for (turn, (name, expected)) in shown().into_iter().enumerate() {
        let target = format!("made/{name}");
        let text = site.once(&target, &["--dry-run"]).ended_with(0);
        assert!(text.out.contains("decision: create"), "{name}: {}", text.out);
        assert!(text.out.contains("***"), "{name}: {}", text.out);
        let json = site
            .once(&target, &["--dry-run", "--format", "json", "-d"])
            .ended_with(0);
        assert!(json.err.contains("DEBUG"), "it was asked for the log: {}", json.err);
        shows(&json.json(), name, &expected);
        // In earnest each can be run once.
        let format = if turn % 2 == 0 { "json" } else { "text" };
        let done = site.once(&target, &["--format", format]).ended_with(0);
        if format == "json" {
            shows(&done.json(), name, &expected);
            assert_eq!(done.json()["after"]["row"]["state"], "CREATE_COMPLETE", "{name}");
        }
        runs.extend([text, json, done]);
    }
    let told = runs[runs.len() - 2].json();
    let predecessors = told["before"]["predecessors"].as_array().expect("predecessors");
    let upper = predecessors.iter().find(|predecessor| predecessor["name"] == "upper");
    assert_eq!(upper.expect("it has told")["data"]["attrs"]["value"], "***");
    // What stands beside a secret is no secret.
    assert!(
        runs.iter()
            .any(|run| run.out.contains("plain words") && run.out.contains("plain item"))
    );

    let random = of_random_text(&site, &stack).await;
    let secrets: Vec<&str> = SECRETS.into_iter().chain([random.as_str()]).collect();
    runs.iter().for_each(|run| shows_no_secret(run, &secrets));
    let update = site.once("made/told:cleanup", &["--dry-run"]);
    shows_no_secret(&update, &secrets);
    site.replay_to_the_end(&stack)
        .iter()
        .for_each(|run| shows_no_secret(run, &secrets));
    site.until_settled(&stack, "CREATE_COMPLETE").await;
    site.close().await;
}

/// A frame of whose caller nothing is known is not said to act for somebody.
#[tokio::test(flavor = "multi_thread")]
async fn a_frame_without_a_caller_says_so() {
    let site = Site::passive("nobody").await;
    let stack = stopped(&site, "nobody").await;
    let row = site
        .texts(&format!(
            "SELECT CAST(id AS CHAR) FROM resource WHERE stack_id = '{}' AND name = 'digest'",
            stack.id
        ))
        .await
        .remove(0);
    let traversal = site
        .texts(&format!(
            "SELECT current_traversal FROM stack WHERE id = '{}'",
            stack.id
        ))
        .await
        .remove(0);
    let arguments = json!({
        "resource_id": row.parse::<i64>().expect("an id"), "current_traversal": traversal, "data": {}, "is_update": true,
        "adopt_stack_data": null, "converge": false,
    });
    let frame = json!({"method": "check_resource", "args": arguments}).to_string();
    let run = site.by_hand_with(&["--once", "-", "--dry-run"], frame.as_bytes());
    assert!(
        run.out
            .contains("nobody: the frame's context names neither project nor user"),
        "{run:#?}"
    );
    site.close().await;
}
