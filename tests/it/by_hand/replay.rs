//! Stacks that are brought to their end by hand alone.

use serde_json::json;

use crate::convergence::site::{Site, Stack, eventually};
use crate::convergence::templates::{template, test, test_after};

/// `a`, whose create takes a while, a random text, and two that need both.
fn family() -> serde_json::Value {
    let slowly = json!({"value": "1", "action_wait_secs": {"create": 4}});
    let both = json!({"list_join": ["-", [{"get_attr": ["a", "output"]}, {"get_attr": ["text", "value"]}]]});
    template(json!({
        "a": test(slowly),
        "text": {"type": "OS::Heat::RandomString", "properties": {"length": 20}},
        "b": test(json!({"value": both})),
        "c": test_after(json!({"value": "3"}), &["b", "a"]),
    }))
}

async fn value_of(site: &Site, stack: &Stack, name: &str) -> String {
    let query = format!(
        "SELECT d.value FROM resource_data d JOIN resource r ON r.id = d.resource_id \
         WHERE r.stack_id = '{}' AND r.name = '{name}' AND d.`key` = 'value'",
        stack.id
    );
    site.texts(&query).await.pop().expect("a value")
}

/// What was ended by hand is a stack like any other.
async fn is_deleted_by_an_engine(site: Site, stack: &Stack) {
    // The messages that nobody has read.
    site.vhost.purge("engine_worker");
    let _engine = site.engine().await;
    site.delete(stack).await;
    site.until_settled(stack, "gone").await;
    site.nothing_is_leaked(stack).await;
    site.close().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_create_goes_on_after_its_engine() {
    let site = Site::passive("create").await;
    let engine = site.engine().await;
    let stack = site.create("create", family()).await;
    site.until_resource(&stack, "a", "CREATE_IN_PROGRESS").await;
    site.kill(engine).await;
    let first = site.once("create/a", &["--format", "json"]).ended_with(0).json();
    assert_eq!(first["decisions"][0]["what"], "replace", "{first:#}");
    let holder = first["before"]["row"]["engine_id"]
        .as_str()
        .expect("it was held")
        .to_owned();
    let remark = format!("the lock is taken from engine {holder}");
    assert!(
        first["before"]["remarks"][0].as_str().unwrap().starts_with(&remark),
        "{first:#}"
    );
    site.replay_to_the_end(&stack);
    site.until_settled(&stack, "CREATE_COMPLETE").await;
    let events = site.events(&stack).await;
    for name in ["text", "b", "c"] {
        let created = format!("{name} CREATE_COMPLETE");
        assert_eq!(
            events.iter().filter(|event| **event == created).count(),
            1,
            "{events:#?}"
        );
    }
    assert!(value_of(&site, &stack, "b").await.starts_with("1-"));
    // What was replaced stays until the next traversal: that of a create cleans nothing up.
    for row in site
        .resources(&stack)
        .await
        .into_iter()
        .filter(|row| row.replaced_by.is_none())
    {
        assert_eq!((row.engine_id, row.status.as_str()), (None, "COMPLETE"));
    }
    is_deleted_by_an_engine(site, &stack).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn an_update_goes_on_with_replacements_and_clean_ups() {
    let site = Site::passive("update").await;
    let engine = site.engine().await;
    let before = template(json!({
        "a": test(json!({"value": "1"})),
        "b": test_after(json!({"update_replace_value": "1"}), &["a"]),
        "same": test(json!({"value": "same"})),
        "gone": test(json!({})),
    }));
    let stack = site.create("update", before).await;
    site.until_settled(&stack, "CREATE_COMPLETE").await;
    let slowly = json!({"value": "2", "action_wait_secs": {"update": 4}});
    let after = template(json!({
        "a": test(slowly),
        "b": test_after(json!({"update_replace_value": "2"}), &["a"]),
        "same": test(json!({"value": "same"})),
        "new": test(json!({"value": {"get_attr": ["a", "output"]}})),
    }));
    site.update(&stack, after).await;
    site.until_resource(&stack, "a", "UPDATE_IN_PROGRESS").await;
    site.kill(engine).await;
    site.replay_to_the_end(&stack);
    site.until_settled(&stack, "UPDATE_COMPLETE").await;
    let mut names: Vec<String> = site.resources(&stack).await.into_iter().map(|row| row.name).collect();
    names.sort();
    assert_eq!(names, ["a", "b", "new", "same"]);
    assert_eq!(value_of(&site, &stack, "new").await, "2");
    let events = site.events(&stack).await;
    assert!(events.contains(&"gone DELETE_COMPLETE".to_owned()), "{events:#?}");
    assert!(!events.contains(&"same UPDATE_IN_PROGRESS".to_owned()), "{events:#?}");
    is_deleted_by_an_engine(site, &stack).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_delete_goes_on_until_the_stack_is_gone() {
    let site = Site::passive("delete").await;
    let engine = site.engine().await;
    let slowly = json!({"value": "1", "action_wait_secs": {"delete": 4}});
    let resources = template(json!({"a": test(json!({})), "b": test_after(slowly, &["a"])}));
    let stack = site.create("delete", resources).await;
    site.until_settled(&stack, "CREATE_COMPLETE").await;
    site.delete(&stack).await;
    site.until_resource(&stack, "b", "DELETE_IN_PROGRESS").await;
    site.kill(engine).await;
    let run = site.once("delete/b", &[]).ended_with(0);
    assert!(run.out.contains("decision: delete, since"), "{}", run.out);
    site.replay_to_the_end(&stack);
    site.until_settled(&stack, "gone").await;
    site.nothing_is_leaked(&stack).await;
    site.close().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn what_a_python_engine_began_ends_here() {
    let site = Site::passive("python").await;
    let engine = site.python_engine().await;
    let stack = site.create("python", family()).await;
    site.until_resource(&stack, "a", "CREATE_IN_PROGRESS").await;
    site.until_resource(&stack, "text", "CREATE_COMPLETE").await;
    site.kill(engine).await;
    site.replay_to_the_end(&stack);
    site.until_settled(&stack, "CREATE_COMPLETE").await;
    assert!(value_of(&site, &stack, "b").await.starts_with("1-"));
    site.close().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_resource_that_fails_is_told_by_the_exit_code() {
    let site = Site::passive("fails").await;
    let engine = site.engine().await;
    let slowly = json!({"action_wait_secs": {"create": 4}});
    let fails = json!({"fail": true});
    let resources = json!({"a": test(slowly), "b": test_after(fails, &["a"])});
    let stack = site
        .create_with("fails", template(resources), json!({"disable_rollback": true}))
        .await;
    site.until_resource(&stack, "a", "CREATE_IN_PROGRESS").await;
    site.kill(engine).await;
    site.once("fails/a", &[]).ended_with(0);
    site.once("fails/a", &[]).ended_with(0);
    let run = site.once("fails/b", &[]).ended_with(1);
    assert!(
        run.out
            .contains("\nfailed  b is CREATE_FAILED, the stack CREATE_FAILED\n"),
        "{}",
        run.out
    );
    assert_eq!(
        site.reason(&stack).await,
        "Resource CREATE failed: ValueError: resources.b: Test Resource failed b"
    );
    let over = site.once("fails/b", &[]).ended_with(2);
    assert!(
        over.err
            .contains("nothing is in progress: stack fails is CREATE_FAILED"),
        "{}",
        over.err
    );
    site.close().await;
}

/// Who finds the lock of a check by hand asks its holder, and gets an answer.
#[tokio::test(flavor = "multi_thread")]
async fn while_it_holds_a_lock_it_is_alive_to_engines_and_can_be_stopped() {
    let site = Site::passive("alive").await;
    let engine = site.engine().await;
    let slowly = json!({"value": "1", "action_wait_secs": {"create": 8}});
    let stack = site.create("alive", template(json!({"a": test(slowly)}))).await;
    site.until_resource(&stack, "a", "CREATE_IN_PROGRESS").await;
    site.kill(engine).await;
    // The failed one is replaced, and its replacement made.
    site.once("alive/a", &[]).ended_with(0);
    let by_hand = std::thread::scope(|scope| {
        let replay = scope.spawn(|| site.once("alive/a", &[]));
        let runtime = tokio::runtime::Handle::current();
        let holder = tokio::task::block_in_place(|| {
            runtime.block_on(async {
                let made = site.until_resource(&stack, "a", "CREATE_IN_PROGRESS").await;
                let holder = made.engine_id.expect("it is held");
                // The message that the replacement had is still in the queue: this engine takes it.
                let engine = site.engine().await;
                eventually("the message was looked at", || async {
                    engine.log().contains("the resource is with another traversal")
                })
                .await;
                let held = site.resources(&stack).await.pop().expect("the replacement");
                assert_eq!(held.engine_id.as_deref(), Some(holder.as_str()));
                site.until_settled(&stack, "CREATE_COMPLETE").await;
                holder
            })
        });
        replay.join().expect("it runs").ended_with(0);
        holder
    });
    let queues: Vec<String> = site
        .vhost
        .queues()
        .iter()
        .map(|queue| queue["name"].to_string())
        .collect();
    assert!(!queues.iter().any(|name| name.contains(&by_hand)), "{queues:#?}");
    site.close().await;
}

/// Nobody knows of the queues of a check by hand but itself, so they must go without anybody.
#[tokio::test(flavor = "multi_thread")]
async fn the_queues_of_one_that_is_killed_go_by_themselves() {
    let site = Site::passive("killed").await;
    let engine = site.engine().await;
    let slowly = json!({"value": "1", "action_wait_secs": {"create": 60}});
    let stack = site.create("killed", template(json!({"a": test(slowly)}))).await;
    site.until_resource(&stack, "a", "CREATE_IN_PROGRESS").await;
    let of_daemon = engine.id();
    let arguments_of = |id: &str| {
        let queues = site.vhost.queues();
        let own = queues
            .into_iter()
            .filter(|queue| queue["name"].as_str().is_some_and(|name| name.ends_with(id)));
        own.map(|queue| queue["arguments"].clone()).collect::<Vec<_>>()
    };
    assert_eq!(
        arguments_of(&of_daemon),
        [json!({}), json!({})],
        "a daemon's stay for its sweep"
    );
    site.kill(engine).await;
    site.once("killed/a", &[]).ended_with(0);
    let mut process = site.start_by_hand(&["--once", "killed/a"]);
    let holder = site.until_resource(&stack, "a", "CREATE_IN_PROGRESS").await.engine_id;
    let holder = holder.expect("it is held");
    let expires = json!({"x-expires": 30_000});
    assert_eq!(arguments_of(&holder), [expires.clone(), expires]);
    let text = site.by_hand(&["inspect", "killed"]).ended_with(0).out;
    assert!(text.contains("(in no table: a check by hand, or GONE)"), "{text}");
    assert!(
        text.contains("unless a check by hand is at it, its engine is gone"),
        "{text}"
    );
    let rehearsal = site.once("killed/a", &["--dry-run"]).out;
    assert!(
        rehearsal.contains("which is in no table: this is what is done if it is gone"),
        "{rehearsal}"
    );
    process.kill().expect("it runs");
    process.wait().expect("a child of ours");
    assert_eq!(arguments_of(&holder).len(), 2, "they are left behind");
    eventually("the broker takes them away", || async {
        arguments_of(&holder).is_empty()
    })
    .await;
    assert_eq!(arguments_of(&of_daemon), [json!({}), json!({})]);
    site.close().await;
}
