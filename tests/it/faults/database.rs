//! MySQL and what is kept in it.

use serde_json::{Value, json};

use crate::convergence::site::{Site, create_arguments};
use crate::convergence::templates::{template, test, test_after};
use crate::lab::Lab;

/// B43: a stack that is updated again and again, with replacements, keeps as many rows as one that was updated once.
#[tokio::test(flavor = "multi_thread")]
async fn raw_template_rows_leak() {
    let site = Site::new("leak", "").await;
    let _engine = site.engine().await;
    let want = |round: u32| {
        let value = round.to_string();
        template(json!({
            "a": test(json!({"value": value})),
            "b": test_after(json!({"update_replace_value": value}), &["a"]),
        }))
    };
    let stack = site.create("leak", want(0)).await;
    site.until_settled(&stack, "CREATE_COMPLETE").await;
    let mut counts = Vec::new();
    for round in 1..=100 {
        site.update(&stack, want(round)).await;
        site.until_settled(&stack, "UPDATE_COMPLETE").await;
        if [1, 100].contains(&round) {
            let mut rows = Vec::new();
            for table in [
                "raw_template",
                "raw_template_files",
                "resource",
                "resource_data",
                "sync_point",
                "user_creds",
            ] {
                rows.push((table, site.count(table).await));
            }
            counts.push(rows);
        }
    }
    assert_eq!(counts[0], counts[1]);
    // What events name is kept for as long as they are.
    let unowned = "resource_properties_data p WHERE NOT EXISTS (SELECT 1 FROM event e WHERE e.rsrc_prop_data_id = p.id) \
                   AND NOT EXISTS (SELECT 1 FROM resource r WHERE p.id IN (r.rsrc_prop_data_id, r.attr_data_id))";
    assert_eq!(site.count(unowned).await, 0);
    site.close().await;
}

/// B44: a resource and the events of its life name one row of properties; whatever uses a file of a stack, and however
/// often the stack is updated with it, it is kept once. Another stack has its own, as the oracle's.
#[tokio::test(flavor = "multi_thread")]
async fn same_files_and_properties_stored_again_and_again() {
    let site = Site::new("share", "").await;
    let _engine = site.engine().await;
    let wanted = |round: &str| {
        let mut resources = json!({"a": test(json!({"value": round}))});
        for user in ["x", "y", "z"] {
            resources[user] = json!({"type": "OS::Heat::Value", "properties": {"value": {"get_file": "big"}}});
        }
        template(resources)
    };
    let mut stacks = Vec::new();
    for name in ["one", "other"] {
        let mut arguments = create_arguments(name, wanted("1"), json!({}));
        arguments["files"] = json!({"big": "x".repeat(200_000)});
        site.call("create_stack", arguments).await;
        let stack = site.find(name).await.expect("a stack");
        site.until_settled(&stack, "CREATE_COMPLETE").await;
        stacks.push(stack);
        assert_eq!(site.count("raw_template_files").await, stacks.len() as i64);
    }
    let one = &stacks[0];
    let properties = format!(
        "(SELECT rsrc_prop_data_id FROM resource WHERE name = 'a' AND stack_id = '{}')",
        one.id
    );
    let naming = format!("event WHERE resource_name = 'a' AND rsrc_prop_data_id = {properties}");
    assert_eq!(site.count(&naming).await, 2);
    for round in ["2", "3"] {
        let mut arguments = one.update_arguments(wanted(round), json!({}));
        arguments["files"] = json!({"big": "x".repeat(200_000)});
        site.call("update_stack", arguments).await;
        site.until_settled(one, "UPDATE_COMPLETE").await;
        assert_eq!(site.count("raw_template_files").await, 2);
    }
    for stack in &stacks {
        site.delete(stack).await;
        site.until_settled(stack, "gone").await;
    }
    site.close().await;
}

/// B44, for the fifty members of a group, which is a stack below that a Python engine asks for, and any engine makes.
#[tokio::test(flavor = "multi_thread")]
async fn the_members_of_a_group_share_one_file() {
    let site = Site::new("members", "").await;
    let _engines = tokio::join!(site.engine(), site.python_engine());
    let member = json!({"type": "OS::Heat::Value", "properties": {"value": {"get_file": "big"}}});
    let resources = json!({
        "group": {"type": "OS::Heat::ResourceGroup", "properties": {"count": 50, "resource_def": member}},
    });
    let mut arguments = create_arguments("members", template(resources), json!({}));
    arguments["files"] = json!({"big": "x".repeat(200_000)});
    site.call("create_stack", arguments).await;
    let stack = site.find("members").await.expect("a stack");
    site.until(&stack, "CREATE_COMPLETE").await;
    assert_eq!(site.count("resource").await, 51);
    assert_eq!(site.count("raw_template_files").await, 1);
    site.delete(&stack).await;
    site.until(&stack, "gone").await;
    site.close().await;
}

/// B46: a large hidden parameter comes back as it was, and another key is told from a broken value.
#[tokio::test(flavor = "multi_thread")]
async fn encrypted_text_grows_and_a_wrong_key_gives_rubbish() {
    let site = Site::new("sealed", "[DEFAULT]\nencrypt_parameters_and_properties = true").await;
    let engine = site.engine().await;
    let secret = "\u{fc}\u{4e00}".repeat(10_000);
    let mut wanted = template(json!({"a": test(json!({"value": {"get_param": "p"}}))}));
    wanted["parameters"] = json!({"p": {"type": "string", "hidden": true}});
    let mut arguments = create_arguments("sealed", wanted.clone(), json!({}));
    arguments["params"] = json!({"parameters": {"p": secret}});
    site.call("create_stack", arguments).await;
    let stack = site.find("sealed").await.expect("a stack");
    site.until_settled(&stack, "CREATE_COMPLETE").await;
    let stored = site
        .texts("SELECT CONVERT(environment USING utf8mb4) FROM raw_template")
        .await
        .concat();
    assert!(
        !stored.contains("\\u4e00") && !stored.contains('\u{4e00}'),
        "kept in clear"
    );
    let kept = site
        .texts("SELECT value FROM resource_data WHERE `key` = 'value'")
        .await
        .pop();
    assert_eq!(kept.as_deref(), Some(secret.as_str()));

    crate::recovery::stop(engine).await;
    let _other = site
        .engine_with(&[("OS_DEFAULT__AUTH_ENCRYPTION_KEY", "another key of thirty-two chars!")])
        .await;
    let refusal: Value = json!(format!(
        "{:?}",
        site.refusal(
            "update_stack",
            stack.update_arguments(wanted, json!({"existing": true}))
        )
        .await
    ));
    let text = refusal.as_str().unwrap_or_default();
    assert!(
        text.contains("Can not decrypt data with the auth_encryption_key"),
        "{text}"
    );
    site.close().await;
}

/// B47: half a surrogate pair, and a number that is none: Python has room for both, and JSON has none.
#[tokio::test(flavor = "multi_thread")]
async fn text_the_database_cannot_hold() {
    let site = Site::new("unheld", "").await;
    let engine = site.engine().await;
    let with = |value: &str| template(json!({"a": test(json!({"value": value}))}));
    let stack = site.create("held", with("HALF")).await;
    site.until_settled(&stack, "CREATE_COMPLETE").await;

    let in_template = |arguments: Value| (arguments, "template.resources.a.properties.value");
    let mut with_parameter = stack.update_arguments(Value::Null, json!({"existing": true}));
    with_parameter["params"] = json!({"parameters": {"p": "HALF"}});
    let requests = [
        (
            "create_stack",
            in_template(create_arguments("unheld", with("HALF"), json!({}))),
        ),
        (
            "create_stack",
            in_template(create_arguments("unheld", with("NONE"), json!({}))),
        ),
        (
            "preview_stack",
            in_template(create_arguments("unheld", with("HALF"), json!({}))),
        ),
        (
            "update_stack",
            in_template(stack.update_arguments(with("HALF"), json!({}))),
        ),
        (
            "preview_update_stack",
            in_template(stack.update_arguments(with("HALF"), json!({}))),
        ),
        ("validate_template", in_template(json!({"template": with("HALF")}))),
        ("update_stack", (with_parameter, "params.parameters.p")),
    ];
    let calls: Vec<Value> = requests
        .iter()
        .map(|(method, (arguments, _))| json!({"method": method, "args": arguments}))
        .collect();
    let written = Value::from(calls).to_string();
    let written = written.replace("HALF", "\\ud83d").replace("\"NONE\"", "NaN");
    let rows = ["stack", "raw_template", "user_creds", "resource", "event"];
    let mut before = Vec::new();
    for table in rows {
        before.push(site.count(table).await);
    }
    let answers = Lab::get().calls_written(&site.configuration, &written);
    for ((method, (_, place)), answer) in requests.iter().zip(&answers) {
        assert_eq!(
            answer["failure"]["class"], "StackValidationFailed",
            "{method}: {answer}"
        );
        assert_eq!(answer["shown"]["code"], 400, "{method}: {answer}");
        let message = answer["failure"]["message"].as_str().unwrap_or_default();
        assert!(
            message.contains(place) && message.contains("cannot be stored"),
            "{method}: {message}"
        );
    }
    for (table, before) in rows.into_iter().zip(before) {
        assert_eq!(site.count(table).await, before, "{table}");
    }

    // A Python engine stores such text, and a stack that has it is still a stack.
    crate::recovery::stop(engine).await;
    site.change(
        "UPDATE raw_template SET template = REPLACE(template, 'HALF', '\\\\ud83d'); \
         UPDATE resource_properties_data SET data = REPLACE(data, 'HALF', '\\\\ud83d')",
    );
    assert_eq!(site.count("raw_template WHERE template LIKE '%ud83d%'").await, 1);
    let _other = site.engine().await;
    let identity = json!({"stack_identity": stack.delete_arguments()["stack_identity"]});
    let read = site.call("get_template", identity.clone()).await;
    assert_eq!(read["resources"]["a"]["properties"]["value"], "\u{fffd}");
    for method in ["show_stack", "list_stack_resources", "list_events"] {
        assert_eq!(
            site.call(method, identity.clone()).await.as_array().map(Vec::is_empty),
            Some(false)
        );
    }
    site.call(
        "update_stack",
        stack.update_arguments(Value::Null, json!({"existing": true, "timeout_mins": 30})),
    )
    .await;
    site.until_settled(&stack, "UPDATE_COMPLETE").await;
    site.update(&stack, with("whole")).await;
    site.until_settled(&stack, "UPDATE_COMPLETE").await;
    let kept = "SELECT value FROM resource_data WHERE `key` = 'value'";
    assert_eq!(site.texts(kept).await, ["whole"]);
    site.delete(&stack).await;
    site.until_settled(&stack, "gone").await;
    site.nothing_is_leaked(&stack).await;
    site.close().await;
}
