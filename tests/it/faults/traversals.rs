//! Sync points, resource locks, traversals.

use serde_json::{Map, Value, json};

use crate::convergence::site::Site;
use crate::convergence::templates::{template, test, test_after};

/// B14: one resource after three hundred, on engines of both kinds.
#[tokio::test(flavor = "multi_thread")]
async fn many_predecessors_fight_over_one_sync_point() {
    let site = Site::new("fan", "").await;
    let _engines = tokio::join!(site.engine(), site.engine(), site.python_engine());
    let names: Vec<String> = (0..300).map(|number| format!("r{number}")).collect();
    let mut resources: Map<String, Value> = names.iter().map(|name| (name.clone(), test(json!({})))).collect();
    let required: Vec<&str> = names.iter().map(String::as_str).collect();
    resources.insert("z".to_owned(), test_after(json!({}), &required));
    let stack = site.create("fan", template(Value::Object(resources))).await;
    site.until_settled(&stack, "CREATE_COMPLETE").await;
    let created = site.times(&stack, ["z CREATE_IN_PROGRESS", "z CREATE_COMPLETE"]).await;
    assert_eq!(created, [1, 1]);
    assert_eq!(site.resources(&stack).await.len(), 301);
    site.close().await;
}

/// B25: each row belongs to the environment of its own template.
#[tokio::test(flavor = "multi_thread")]
async fn type_taken_from_the_wrong_environment_after_a_failed_update() {
    let site = Site::new("registry", "").await;
    let _engine = site.engine().await;
    let with = |real: &str| json!({"resource_registry": {"My::R": real}});
    let wanted = |fail: bool| {
        let mut resources = json!({
            "first": test(json!({"fail": fail, "value": fail.to_string()})),
            "r": {"type": "My::R", "depends_on": "first"},
        });
        if !fail {
            resources["r"]["properties"] = json!({"value": "x"});
        }
        template(resources)
    };
    let mut arguments = crate::convergence::site::create_arguments("registry", wanted(false), json!({}));
    arguments["params"] = with("OS::Heat::TestResource");
    site.call("create_stack", arguments).await;
    let stack = site.find("registry").await.expect("a stack");
    site.until_settled(&stack, "CREATE_COMPLETE").await;

    let mut arguments = stack.update_arguments(wanted(true), json!({}));
    arguments["params"] = with("OS::Heat::RandomString");
    site.call("update_stack", arguments).await;
    site.until_settled(&stack, "UPDATE_FAILED").await;
    let identity = stack.update_arguments(json!({}), json!({}))["stack_identity"].clone();
    let listed = site
        .call("list_stack_resources", json!({"stack_identity": identity}))
        .await;
    let listed = listed.as_array().expect("a list");
    let states: Vec<_> = listed
        .iter()
        .map(|shown| (shown["resource_name"].as_str(), shown["resource_action"].as_str()))
        .collect();
    assert!(states.contains(&(Some("r"), Some("CREATE"))), "{listed:#?}");
    site.delete(&stack).await;
    site.until_settled(&stack, "gone").await;
    site.nothing_is_leaked(&stack).await;
    site.close().await;
}
