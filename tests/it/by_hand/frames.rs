//! Frames that were kept, in each of their forms.

use serde_json::{Value, json};

use crate::convergence::site::{Site, Stack};
use crate::convergence::templates::{template, test, test_after};
use crate::lab::Lab;

/// A stack whose engine died, and the frame of `b` that it had sent.
async fn captured(site: &Site, name: &str) -> (Stack, Value) {
    let engine = site.engine().await;
    let slowly = json!({"value": "1", "action_wait_secs": {"create": 4}});
    let resources = json!({"a": test(slowly), "b": test_after(json!({"value": "2"}), &["a"])});
    let stack = site.create(name, template(resources)).await;
    site.until_resource(&stack, "a", "CREATE_IN_PROGRESS").await;
    site.kill(engine).await;
    site.vhost.purge("engine_worker");
    site.once(&format!("{name}/a"), &[]).ended_with(0);
    site.vhost.purge("engine_worker");
    site.once(&format!("{name}/a"), &[]).ended_with(0);
    let get = json!({"count": 5, "ackmode": "ack_requeue_true", "encoding": "auto"}).to_string();
    let path = format!("queues/{}/engine_worker/get", site.vhost.name);
    let messages = Lab::get().management("POST", &path, Some(&get));
    assert_eq!(messages.as_array().map(Vec::len), Some(1), "{messages:#}");
    (stack, messages)
}

fn message_of(frames: &Value) -> Value {
    let envelope: Value = serde_json::from_str(frames[0]["payload"].as_str().expect("text")).expect("JSON");
    serde_json::from_str(envelope["oslo.message"].as_str().expect("text")).expect("JSON")
}

#[tokio::test(flavor = "multi_thread")]
async fn a_frame_is_replayed_in_each_of_its_forms() {
    let site = Site::passive("frames").await;
    let (stack, frames) = captured(&site, "frames").await;
    let message = message_of(&frames);
    let envelope = frames[0]["payload"].as_str().expect("text").to_owned();
    let path = std::path::Path::new(env!("CARGO_TARGET_TMPDIR")).join(format!("{}.frame", site.vhost.name));
    let file = path.to_str().expect("UTF-8");
    // As the management API shows it, the envelope, and what is in it: each is understood alike.
    let mut accounts = Vec::new();
    for form in [frames.to_string(), envelope.clone(), message.to_string()] {
        std::fs::write(&path, &form).expect("it can be written");
        let run = site.once(file, &["--dry-run", "--format", "json"]).ended_with(0);
        let token = message["_context_auth_token"].as_str().unwrap_or("no token");
        assert!(!run.out.contains(token));
        accounts.push(run.json()["before"]["message"].clone());
        let of_stdin = site.by_hand_with(&["--once", "-", "--dry-run", "--format", "json"], form.as_bytes());
        accounts.push(of_stdin.ended_with(0).json()["before"]["message"].clone());
    }
    assert_eq!(accounts[0]["is_update"], true);
    assert!(accounts.iter().all(|account| *account == accounts[0]), "{accounts:#?}");
    assert_eq!(accounts[0]["resource_id"], message["args"]["resource_id"]);

    std::fs::write(&path, &envelope).expect("it can be written");
    let run = site.once(file, &[]).ended_with(0);
    assert!(run.out.contains("\ndone  b is CREATE_COMPLETE"), "{}", run.out);
    site.until_settled(&stack, "CREATE_COMPLETE").await;
    // The second delivery: its traversal is over.
    let again = site.once(file, &[]).ended_with(0);
    assert!(
        again
            .out
            .contains("decision: do nothing, since the stack is CREATE_COMPLETE"),
        "{}",
        again.out
    );
    assert_eq!(
        site.events(&stack)
            .await
            .iter()
            .filter(|event| *event == "b CREATE_COMPLETE")
            .count(),
        1
    );
    std::fs::remove_file(&path).expect("it was there");
    site.close().await;
}

/// A frame that was kept for long has a token that lets nobody in.
#[tokio::test(flavor = "multi_thread")]
async fn a_token_that_has_ended_is_replaced_by_the_stacks_own_credentials() {
    let site = Site::passive("ended").await;
    let (_, frames) = captured(&site, "ended").await;
    let mut message = message_of(&frames);
    message["_context_trust_id"] = Value::Null;
    message["_context_password"] = Value::Null;
    message["_context_auth_token"] = "an-old-token".into();
    message["_context_auth_token_info"] = json!({"token": {"expires_at": "2020-01-01T00:00:00.000000Z"}});
    let target = ["--once", "-", "--dry-run"];
    let run = site.by_hand_with(&target, message.to_string().as_bytes()).ended_with(0);
    assert!(run.out.contains("by the stack's trust"), "{}", run.out);
    assert!(run.out.contains("the frame's token ended"), "{}", run.out);
    assert!(!run.out.contains("an-old-token"), "{}", run.out);
    site.close().await;
}
