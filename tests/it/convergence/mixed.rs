//! Beside engines of the other kind.

use std::time::Duration;

use futures_util::future::join_all;
use serde_json::{Value, json};

use super::deliveries::live_uneasily;
use super::site::{Engine, Site, create_arguments};
use super::templates::{template, test, web};

/// A type that only Python engines serve.
fn group() -> Value {
    let member = test(json!({"value": "member"}));
    template(json!({
        "before": test(json!({"value": "1"})),
        "group": {
            "type": "OS::Heat::ResourceGroup",
            "depends_on": "before",
            "properties": {"count": 2, "resource_def": member},
        },
        "after": test(json!({"value": {"list_join": [",", {"get_attr": ["group", "output"]}]}})),
    }))
}

/// A Python worker that comes late with what an update before asked for takes the row from whoever has done better since. If
/// the template of that update is gone by then, its last write is refused, and the lock stays with an engine that lives and
/// has forgotten it: nobody may take it away, and an operator has to end that engine.
async fn restart_when_it_forgets_a_lock(site: &Site, mut python: Engine) {
    loop {
        if python.log().contains("a foreign key constraint fails") {
            // Until nobody waits for an answer of it.
            tokio::time::sleep(Duration::from_secs(20)).await;
            python.kill();
            python = site.python_engine().await;
        }
        tokio::time::sleep(Duration::from_millis(500)).await;
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn interrupted_stacks_come_to_their_end_between_both_kinds() {
    // A Python engine puts nodes to sleep whose rows went away with a traversal that was overtaken.
    let site = Site::new(
        "uneasymix",
        "[DEFAULT]\nperiodic_interval = 5\nenable_stack_abandon = false\n\
         [heat_engine_rs]\nrecovery_interval = 1\nrecovery_patience = 3",
    )
    .await;
    let (_ours, python) = tokio::join!(site.engine(), site.python_engine());
    let lives = join_all((0..4).map(|number| live_uneasily(&site, number)));
    tokio::select! {
        _ = lives => {}
        () = restart_when_it_forgets_a_lock(&site, python) => {}
    }
    assert_eq!(site.count("resource").await, 0);
    site.close().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn stacks_converge_between_both_kinds() {
    let site = Site::new("mixed", "").await;
    let (ours, python) = tokio::join!(site.engine(), site.python_engine());

    let stack = site.create("thirty", web(1)).await;
    site.until_settled(&stack, "CREATE_COMPLETE").await;
    site.update(&stack, web(2)).await;
    site.until_settled(&stack, "UPDATE_COMPLETE").await;
    let resources = site.resources(&stack).await;
    assert_eq!(resources.len(), 30);
    assert!(
        resources.iter().all(|resource| resource.status == "COMPLETE"),
        "{resources:#?}"
    );
    site.delete(&stack).await;
    site.until_settled(&stack, "gone").await;
    assert!(ours.log().contains("cast check_resource"));

    let stack = site.create("group", group()).await;
    site.until_settled(&stack, "CREATE_COMPLETE").await;
    let value = site
        .texts(&format!(
            "SELECT d.value FROM resource_data d JOIN resource r ON r.id = d.resource_id \
             WHERE r.stack_id = '{}' AND r.name = 'after' AND d.`key` = 'value'",
            stack.id
        ))
        .await;
    assert_eq!(value, ["member,member"]);
    site.delete(&stack).await;
    site.until_settled(&stack, "gone").await;

    // How the oracle refuses a type that it does not know.
    let unknown = |name: &str| template(json!({"r": {"type": name}}));
    let ask = create_arguments("unknown", unknown("OS::Heat::Nothing"), json!({}));
    let theirs = site.refusal("create_stack", ask).await;
    python.kill();
    // What engines have said of themselves counts for two seconds.
    tokio::time::sleep(Duration::from_secs(3)).await;
    let ask = create_arguments("unknown", unknown("OS::Heat::ResourceGroup"), json!({}));
    let own = site.refusal("create_stack", ask).await;
    assert_eq!(own.class, theirs.class);
    assert_eq!(
        own.message,
        theirs.message.replace("OS::Heat::Nothing", "OS::Heat::ResourceGroup")
    );
    site.close().await;
}
