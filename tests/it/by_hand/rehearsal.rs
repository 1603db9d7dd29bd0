//! `--dry-run`: everything is told, nothing is done.

use serde_json::{Value, json};

use super::{events, shows_no_secret};
use crate::convergence::site::{Site, Stack, eventually};
use crate::convergence::templates::{template, test, test_after};

/// `a` made, `b` due, `c` after it; with a hidden parameter and a random text in it.
async fn due(site: &Site, name: &str) -> Stack {
    let engine = site.engine().await;
    let slowly = json!({"value": "1", "action_wait_secs": {"create": 3}});
    let secret = json!({"list_join": ["-", [{"get_param": "word"}, {"get_attr": ["text", "value"]}]]});
    let mut template = template(json!({
        "a": test(slowly),
        "text": {"type": "OS::Heat::RandomString", "properties": {"length": 24}},
        "b": test_after(json!({"value": secret}), &["a"]),
        "c": test(json!({"value": {"get_attr": ["b", "output"]}})),
    }));
    template["parameters"] = json!({"word": {"type": "string", "hidden": true, "default": "open-sesame"}});
    let stack = site.create(name, template).await;
    site.until_resource(&stack, "text", "CREATE_COMPLETE").await;
    site.until_resource(&stack, "a", "CREATE_IN_PROGRESS").await;
    // A row is complete before its node has told the others.
    eventually("b has heard of text", || async {
        random_text(site, &stack).await.is_some()
    })
    .await;
    site.kill(engine).await;
    site.once(&format!("{name}/a"), &[]).ended_with(0);
    site.once(&format!("{name}/a"), &[]).ended_with(0);
    stack
}

/// What `text` has told `b`, if it has.
async fn random_text(site: &Site, stack: &Stack) -> Option<String> {
    let query = format!(
        "SELECT s.input_data FROM sync_point s JOIN resource r ON r.id = s.entity_id AND s.is_update = 1 \
         WHERE s.stack_id = '{}' AND r.name = 'b' AND s.input_data IS NOT NULL",
        stack.id
    );
    let input: Value = serde_json::from_str(&site.texts(&query).await.pop()?).expect("JSON");
    let arrived = input["input_data"].as_object()?;
    let text = arrived.values().find(|data| data["name"] == "text")?;
    Some(text["attrs"]["value"].as_str().expect("its value").to_owned())
}

#[tokio::test(flavor = "multi_thread")]
async fn a_rehearsal_tells_everything_and_changes_nothing() {
    let site = Site::passive("rehearsal").await;
    let stack = due(&site, "rehearsal").await;
    let text = random_text(&site, &stack).await.expect("text has arrived");
    let secrets = ["open-sesame", text.as_str()];
    let before = site.everything().await;

    let run = site.once("rehearsal/b", &["--dry-run"]).ended_with(0);
    shows_no_secret(&run, &secrets);
    for line in [
        "rehearsal  b (update, row ",
        "decision: create, since the row is in INIT: nothing was made yet",
        "would UPDATE resource",
        "would ask the type to make the object",
        "would tell c: everybody is there",
        "would cast check_resource to engine_worker: c",
        "rehearsed  b: create",
        "nothing was changed, nothing was sent",
    ] {
        assert!(run.out.contains(line), "no {line:?} in {}", run.out);
    }

    let run = site
        .once("rehearsal/b:update", &["--dry-run", "--format", "json"])
        .ended_with(0);
    shows_no_secret(&run, &secrets);
    let account = run.json();
    assert_eq!(account["before"]["dry_run"], true);
    assert_eq!(account["exit_code"], 0);
    let predecessors = account["before"]["predecessors"].as_array().expect("predecessors");
    assert_eq!(predecessors.len(), 2, "{account:#}");
    assert_eq!(events(&account, "properties")[0]["after"]["value"], "***");
    assert_eq!(events(&account, "would ask")[0]["call"], "make");
    let casts = events(&account, "cast");
    assert_eq!(casts.len(), 1, "{account:#}");
    assert_eq!(
        (&casts[0]["name"], &casts[0]["outcome"]),
        (&json!("check_resource"), &json!("imagined"))
    );
    let is_done = |event: &&&Value| event["outcome"] == "done" && !event["sql"].as_str().unwrap().starts_with("SELECT");
    let written: Vec<_> = events(&account, "statement")
        .into_iter()
        .filter(|event| is_done(&event))
        .collect();
    assert!(written.is_empty(), "{written:#?}");

    assert_eq!(site.everything().await, before);

    // What is said is what is done then.
    let run = site.once("rehearsal/b", &["--format", "json"]).ended_with(0);
    shows_no_secret(&run, &secrets);
    let done = run.json();
    let writes = |account: &Value| -> Vec<String> {
        let statements = events(account, "statement")
            .into_iter()
            .map(|event| event["sql"].as_str().unwrap());
        let is_write = |sql: &&str| sql.contains(' ') && !sql.starts_with("SELECT");
        statements
            .filter(is_write)
            .map(|sql| sql.split(" WHERE ").next().unwrap().to_owned())
            .collect()
    };
    let planned = writes(&account);
    let made = writes(&done);
    for statement in &planned {
        assert!(made.contains(statement), "{statement} in {made:#?}");
    }
    assert_eq!(done["after"]["row"]["state"], "CREATE_COMPLETE");
    site.close().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_rehearsal_on_a_dead_engines_lock_sees_the_row_as_it_would_be() {
    let site = Site::passive("dead").await;
    let engine = site.engine().await;
    let slowly = json!({"value": "1", "action_wait_secs": {"create": 30}});
    let stack = site.create("dead", template(json!({"a": test(slowly)}))).await;
    site.until_resource(&stack, "a", "CREATE_IN_PROGRESS").await;
    site.kill(engine).await;
    let before = site.everything().await;
    let run = site.once("dead/a", &["--dry-run"]).ended_with(0);
    assert!(
        run.out
            .contains("status_reason = 'Worker went down during resource CREATE'"),
        "{}",
        run.out
    );
    assert!(
        run.out.contains("decision: replace, since it is CREATE_FAILED"),
        "{}",
        run.out
    );
    assert_eq!(site.everything().await, before);
    site.close().await;
}

/// The last check of a delete takes the stack away, with its trust. A rehearsal of it must not.
#[tokio::test(flavor = "multi_thread")]
async fn a_rehearsal_of_the_end_deletes_no_trust() {
    let site = Site::passive("end").await;
    let engine = site.engine().await;
    let slowly = json!({"value": "1", "action_wait_secs": {"delete": 4}});
    let stack = site.create("end", template(json!({"a": test(slowly)}))).await;
    site.until_settled(&stack, "CREATE_COMPLETE").await;
    site.delete(&stack).await;
    site.until_resource(&stack, "a", "DELETE_IN_PROGRESS").await;
    site.kill(engine).await;
    let before = site.everything().await;
    let account = site
        .once("end/a", &["--dry-run", "--format", "json"])
        .ended_with(0)
        .json();
    let requests = events(&account, "request");
    let deleted = requests.iter().find(|request| request["method"] == "DELETE");
    let deleted = deleted.unwrap_or_else(|| panic!("no trust is deleted: {account:#}"));
    assert!(
        deleted["url"].as_str().unwrap().contains("/OS-TRUST/trusts/"),
        "{deleted}"
    );
    assert_eq!(deleted["outcome"], "imagined");
    assert_eq!(site.everything().await, before);
    site.once("end/a", &[]).ended_with(0);
    site.until_settled(&stack, "gone").await;
    site.close().await;
}
