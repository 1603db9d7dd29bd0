//! MySQL and what is kept in it.

use serde_json::{Value, json};

use crate::convergence::site::{Site, create_arguments, eventually};
use crate::convergence::templates::{template, test, test_after};

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

/// B44: a resource and the events of its life name one row of properties, and equal files are kept once.
#[tokio::test(flavor = "multi_thread")]
async fn same_files_and_properties_stored_again_and_again() {
    let site = Site::new("share", "").await;
    let _engine = site.engine().await;
    let mut arguments = create_arguments("share", template(json!({"a": test(json!({"value": "x"}))})), json!({}));
    arguments["files"] = json!({"big": "x".repeat(200_000)});
    site.call("create_stack", arguments).await;
    let stack = site.find("share").await.expect("a stack");
    site.until_settled(&stack, "CREATE_COMPLETE").await;
    assert_eq!(site.count("resource_properties_data").await, 1);
    let named = "event WHERE resource_name = 'a' AND rsrc_prop_data_id = (SELECT id FROM resource_properties_data)";
    assert_eq!(site.count(named).await, 2);
    assert_eq!(site.count("raw_template_files").await, 1);
    site.delete(&stack).await;
    site.until_settled(&stack, "gone").await;
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

/// B47: half a surrogate pair, and a number that is none, both of which a Python client can send.
#[tokio::test(flavor = "multi_thread")]
async fn text_the_database_cannot_hold() {
    let site = Site::new("unheld", "").await;
    let _engine = site.engine().await;
    let resources = json!({"a": test(json!({"value": "HALF"})), "b": test(json!({"value": "NONE"}))});
    let arguments = create_arguments("unheld", template(resources), json!({}));
    site.cast_text("create_stack", arguments, |text| {
        text.replace("HALF", "\\ud83d").replace("\"NONE\"", "NaN")
    });
    eventually("the stack is there", || async { site.find("unheld").await.is_some() }).await;
    let stack = site.find("unheld").await.expect("a stack");
    site.until_settled(&stack, "CREATE_COMPLETE").await;
    let kept = "SELECT CONCAT(r.name, d.value) FROM resource_data d JOIN resource r ON r.id = d.resource_id \
                WHERE d.`key` = 'value' ORDER BY r.name";
    assert_eq!(site.texts(kept).await, ["a\u{fffd}", "btest_string"]);
    site.delete(&stack).await;
    site.until_settled(&stack, "gone").await;
    site.close().await;
}
