//! Requests that come while another is under way, and what fails in the middle.

use futures_util::future::join_all;
use rstest::rstest;
use serde_json::{Value, json};

use super::site::{Engine, Site, Stack};
use super::templates::{flat, template, test, test_after};
use crate::extent::times;

/// Creates a stack and waits for it.
async fn made(site: &Site, name: &str, resources: Value) -> Stack {
    let stack = site.create(name, template(resources)).await;
    site.until_settled(&stack, "CREATE_COMPLETE").await;
    stack
}

async fn stored_value(site: &Site, stack: &Stack, name: &str) -> Option<String> {
    let query = format!(
        "SELECT d.value FROM resource_data d JOIN resource r ON r.id = d.resource_id \
         WHERE r.stack_id = '{}' AND r.name = '{name}' AND d.`key` = 'value'",
        stack.id
    );
    site.texts(&query).await.pop()
}

/// The names of all resources, sorted.
async fn names(site: &Site, stack: &Stack) -> Vec<String> {
    let mut names: Vec<String> = site.resources(stack).await.into_iter().map(|row| row.name).collect();
    names.sort();
    names
}

/// Deletes the stack; all that was made for it must have gone with it.
async fn undone(site: &Site, stack: &Stack) {
    site.delete(stack).await;
    site.until_settled(stack, "gone").await;
    site.nothing_is_leaked(stack).await;
}

/// Who works beside an engine of ours.
#[derive(Clone, Copy, Debug)]
enum Beside {
    Ours,
    Python,
}

impl Beside {
    async fn engine(self, site: &Site) -> Engine {
        match self {
            Self::Ours => site.engine().await,
            Self::Python => site.python_engine().await,
        }
    }
}

fn count(events: &[String], event: &str) -> usize {
    events.iter().filter(|known| *known == event).count()
}

fn position(events: &[String], event: &str) -> usize {
    let found = events.iter().position(|known| known == event);
    found.unwrap_or_else(|| panic!("no {event} in {events:#?}"))
}

#[tokio::test(flavor = "multi_thread")]
async fn an_update_during_a_create_goes_on_with_what_is_made() {
    let site = Site::new("during", "").await;
    let _engine = site.engine().await;
    let slowly = json!({"value": "1", "action_wait_secs": {"create": 3}});
    let resources = json!({"a": test(slowly), "b": test_after(json!({}), &["a"])});
    let stack = site.create("during", template(resources)).await;
    let begun = site.until_resource(&stack, "a", "CREATE_IN_PROGRESS").await;
    let after = json!({"a": test(json!({"value": "2"})), "c": test_after(json!({}), &["a"])});
    site.update(&stack, template(after)).await;
    site.until_settled(&stack, "UPDATE_COMPLETE").await;
    let now = site.resource(&stack, "a").await;
    assert_eq!((now.id, now.state().as_str()), (begun.id, "UPDATE_COMPLETE"));
    assert_eq!(stored_value(&site, &stack, "a").await.as_deref(), Some("2"));
    let names = names(&site, &stack).await;
    assert_eq!(names, ["a", "c"]);
    let events = site.events(&stack).await;
    assert_eq!(count(&events, "a CREATE_IN_PROGRESS"), 1, "{events:#?}");
    assert_eq!(count(&events, "c CREATE_IN_PROGRESS"), 1, "{events:#?}");
    undone(&site, &stack).await;
    site.close().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_delete_during_an_update_ends_it() {
    let site = Site::new("deleted", "").await;
    let _engines = tokio::join!(site.engine(), site.engine());
    let stack = made(
        &site,
        "deleted",
        json!({"a": test(json!({"value": "1"})), "b": test(json!({}))}),
    )
    .await;
    let slowly = json!({"value": "2", "action_wait_secs": {"update": 300}});
    let after = json!({"a": test(slowly), "b": test_after(json!({"value": "2"}), &["a"])});
    site.update(&stack, template(after)).await;
    site.until_resource(&stack, "a", "UPDATE_IN_PROGRESS").await;
    site.delete(&stack).await;
    site.until_settled(&stack, "gone").await;
    let events = site.events(&stack).await;
    assert_eq!(count(&events, "b UPDATE_IN_PROGRESS"), 0, "{events:#?}");
    assert_eq!(count(&events, "deleted DELETE_COMPLETE"), 1, "{events:#?}");
    assert_eq!(site.count("resource").await, 0);
    site.close().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_cancel_lets_running_resources_finish_and_nothing_follow() {
    let site = Site::new("cancel", "").await;
    let _engine = site.engine().await;
    let stack = made(&site, "cancel", json!({"a": test(json!({"value": "1"}))})).await;
    let slowly = json!({"value": "2", "action_wait_secs": {"update": 3}});
    let after = template(json!({"a": test(slowly), "b": test_after(json!({}), &["a"])}));
    site.update(&stack, after.clone()).await;
    site.until_resource(&stack, "a", "UPDATE_IN_PROGRESS").await;
    site.cancel(&stack, false).await;
    site.until_settled(&stack, "UPDATE_FAILED").await;
    assert_eq!(site.reason(&stack).await, "Stack UPDATE cancelled");
    site.until_resource(&stack, "a", "UPDATE_COMPLETE").await;
    assert_eq!(site.resource(&stack, "b").await.state(), "INIT_COMPLETE");
    site.update(&stack, after).await;
    site.until_settled(&stack, "UPDATE_COMPLETE").await;
    assert_eq!(site.resource(&stack, "b").await.state(), "CREATE_COMPLETE");
    site.close().await;
}

/// B10, B22: `replaced_by` of a replacement that was cancelled must not hang the updates after it.
#[tokio::test(flavor = "multi_thread")]
async fn a_cancelled_replacement_leaves_nothing_behind() {
    let site = Site::new("rollback", "").await;
    let _engines = tokio::join!(site.engine(), site.engine());
    let first = json!({"a": test(json!({"update_replace_value": "1"})), "b": test_after(json!({}), &["a"])});
    let stack = made(&site, "rollback", first.clone()).await;
    let original = site.resource(&stack, "a").await;
    let slowly = json!({"update_replace_value": "2", "action_wait_secs": {"create": 3}});
    let second = json!({"a": test(slowly), "b": test_after(json!({}), &["a"]), "c": test_after(json!({}), &["b"])});
    site.update(&stack, template(second.clone())).await;
    let replacement = site.until_resource(&stack, "a", "CREATE_IN_PROGRESS").await;
    assert_eq!(replacement.replaces, Some(original.id));
    site.cancel(&stack, true).await;
    site.until_settled(&stack, "ROLLBACK_COMPLETE").await;
    let now = site.resource(&stack, "a").await;
    assert_eq!((now.id, now.replaced_by), (original.id, None));
    let names = names(&site, &stack).await;
    assert_eq!(names, ["a", "b"]);

    site.update(&stack, template(first)).await;
    site.until_settled(&stack, "UPDATE_COMPLETE").await;
    assert_eq!(site.resource(&stack, "a").await.id, original.id);
    site.update(&stack, template(second)).await;
    site.until_settled(&stack, "UPDATE_COMPLETE").await;
    assert_ne!(site.resource(&stack, "a").await.id, original.id);
    undone(&site, &stack).await;
    site.close().await;
}

/// B22: the update after a replacement comes while the replacement is being made, and wants the old one or yet another.
#[tokio::test(flavor = "multi_thread")]
async fn a_newer_update_overtakes_a_replacement() {
    let site = Site::new("overtaken", "").await;
    let _engines = tokio::join!(site.engine(), site.engine());
    let want = |value: &str| {
        let slowly = json!({"update_replace_value": value, "action_wait_secs": {"create": 2}});
        template(json!({"a": test(slowly), "b": test_after(json!({"value": value}), &["a"])}))
    };
    let stack = site.create("overtaken", want("1")).await;
    site.until_settled(&stack, "CREATE_COMPLETE").await;
    for next in ["1", "3"] {
        let before = site.resource(&stack, "a").await;
        site.update(&stack, want("2")).await;
        let overtaken = site.until_resource(&stack, "a", "CREATE_IN_PROGRESS").await;
        assert_ne!(overtaken.id, before.id);
        site.update(&stack, want(next)).await;
        site.until_settled(&stack, "UPDATE_COMPLETE").await;
        let now = site.resource(&stack, "a").await;
        assert_eq!((now.status.as_str(), now.replaced_by), ("COMPLETE", None));
        let wanted = site
            .texts(&format!(
                "SELECT JSON_VALUE(p.data, '$.update_replace_value') FROM resource r \
                 JOIN resource_properties_data p ON p.id = r.rsrc_prop_data_id WHERE r.id = {}",
                now.id
            ))
            .await;
        assert_eq!(wanted, [next]);
    }
    undone(&site, &stack).await;
    site.close().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn the_time_of_a_stack_runs_out() {
    let site = Site::new("timeout", "[DEFAULT]\nstack_action_timeout = 4").await;
    let _engine = site.engine().await;
    let slowly = json!({"action_wait_secs": {"create": 300}});
    let resources = json!({"a": test(slowly), "b": test_after(json!({}), &["a"])});
    let stack = site.create("timeout", template(resources)).await;
    site.until_settled(&stack, "CREATE_FAILED").await;
    assert_eq!(site.reason(&stack).await, "Timed out");
    let resource = site.resource(&stack, "a").await;
    assert_eq!(resource.state(), "CREATE_FAILED");
    let reason = resource.status_reason.unwrap_or_default();
    assert!(
        reason.starts_with("CREATE aborted (Task create from TestResource \"a\" Stack \"timeout\" ["),
        "{reason}"
    );
    assert!(reason.ends_with("] Timed out)"), "{reason}");
    assert_eq!(site.resource(&stack, "b").await.state(), "INIT_COMPLETE");
    site.close().await;
}

/// B13: a traversal that failed leaves no sync points, and tells once that it failed.
#[rstest]
#[case::one_fails(&["r11"])]
#[case::several_fail(&["r3", "r11", "r17"])]
#[tokio::test(flavor = "multi_thread")]
async fn a_failed_traversal_leaves_no_sync_points(
    #[case] failing: &[&str],
    #[values(Beside::Ours, Beside::Python)] beside: Beside,
) {
    let site = Site::new("failed", "").await;
    let _engines = tokio::join!(site.engine(), beside.engine(&site));
    let mut wide = flat(20, &json!({}));
    for failing in failing {
        wide["resources"][failing]["properties"]["fail"] = true.into();
    }
    wide["resources"]["last"] = test_after(json!({}), &["r0", failing[0]]);
    let stack = site.create("failed", wide).await;
    site.until_settled(&stack, "CREATE_FAILED").await;
    site.until_quiet().await;
    let reason = site.reason(&stack).await;
    assert!(
        reason.starts_with("Resource CREATE failed: ValueError: resources.r"),
        "{reason}"
    );
    let events = site.events(&stack).await;
    match beside {
        Beside::Ours => assert_eq!(count(&events, "failed CREATE_FAILED"), 1, "{events:#?}"),
        // Several of its threads may tell of it, each for a resource.
        Beside::Python => assert!(events.contains(&"failed CREATE_FAILED".to_owned()), "{events:#?}"),
    }
    assert_eq!(count(&events, "last CREATE_IN_PROGRESS"), 0, "{events:#?}");
    assert_eq!(site.sync_points(&stack).await, 0);
    let locked = site.resources(&stack).await;
    assert!(
        locked.iter().all(|resource| resource.engine_id.is_none()),
        "{locked:#?}"
    );

    site.update(&stack, flat(20, &json!({}))).await;
    site.until_settled(&stack, "UPDATE_COMPLETE").await;
    undone(&site, &stack).await;
    site.close().await;
}

/// B31: what an update stored is taken back with it.
#[tokio::test(flavor = "multi_thread")]
async fn a_rollback_brings_back_template_and_values() {
    let site = Site::new("undo", "").await;
    let _engine = site.engine().await;
    let with_parameter = |resources: Value| {
        let mut template = template(resources);
        template["parameters"] = json!({"p": {"type": "string", "default": "one"}});
        template
    };
    let value = json!({"get_param": "p"});
    let first = with_parameter(json!({"a": test(json!({"value": value}))}));
    let keep = json!({"disable_rollback": false});
    let stack = site.create_with("undo", first.clone(), keep.clone()).await;
    site.until_settled(&stack, "CREATE_COMPLETE").await;
    let second = with_parameter(json!({
        "a": test(json!({"value": value})),
        "b": test_after(json!({"fail": true}), &["a"]),
    }));
    let mut arguments = stack.update_arguments(second, keep);
    arguments["params"] = json!({"parameters": {"p": "two"}});
    site.call("update_stack", arguments).await;
    site.until_settled(&stack, "ROLLBACK_COMPLETE").await;
    assert_eq!(stored_value(&site, &stack, "a").await.as_deref(), Some("one"));
    let names = names(&site, &stack).await;
    assert_eq!(names, ["a"]);
    let identity = json!({"stack_identity": stack.update_arguments(json!({}), json!({}))["stack_identity"]});
    assert_eq!(site.call("get_template", identity.clone()).await, first);
    let environment = site.call("get_environment", identity).await;
    assert_eq!(environment["parameters"], json!({}));
    let events = site.events(&stack).await;
    let failed = position(&events, "undo UPDATE_FAILED");
    assert!(position(&events, "b CREATE_FAILED") < failed && failed < position(&events, "undo ROLLBACK_IN_PROGRESS"));
    site.close().await;
}

/// B16: of two updates in the same moment, both are begun, and one is the stack's.
#[rstest]
#[tokio::test(flavor = "multi_thread")]
async fn two_updates_at_once_end_as_one(#[values(Beside::Ours, Beside::Python)] beside: Beside) {
    let site = Site::new("race", "").await;
    let _engines = tokio::join!(site.engine(), beside.engine(&site));
    let rounds = times(15, 50);
    let stack = made(
        &site,
        "race",
        json!({"a": test(json!({"value": "0"})), "b": test(json!({}))}),
    )
    .await;
    for round in 0..rounds {
        let updates = (0..2).map(|which| {
            let value = format!("{round}-{which}");
            let resources = json!({"a": test(json!({"value": value})), "b": test_after(json!({}), &["a"])});
            site.update(&stack, template(resources))
        });
        join_all(updates).await;
        site.until_settled(&stack, "UPDATE_COMPLETE").await;
        let wanted = site
            .texts(&format!(
                "SELECT JSON_VALUE(t.template, '$.resources.a.properties.value') FROM raw_template t \
                 JOIN stack s ON s.raw_template_id = t.id WHERE s.id = '{}'",
                stack.id
            ))
            .await;
        let value = stored_value(&site, &stack, "a").await;
        assert_eq!(wanted.first(), value.as_ref());
        assert_eq!(site.resources(&stack).await.len(), 2);
    }
    site.until_quiet().await;
    assert_eq!(site.state(&stack).await, "UPDATE_COMPLETE");
    // Those of updates that were overtaken half-way are no stack's any more, and the sweep's.
    let of_stacks = "raw_template t JOIN stack s ON t.id IN (s.raw_template_id, s.prev_raw_template_id)";
    assert_eq!(site.count(of_stacks).await, 1);
    // Whoever has asked and was told that it is well sees it done, also if somebody else came first.
    let events = site.events(&stack).await;
    let begun = count(&events, "race UPDATE_IN_PROGRESS");
    match beside {
        Beside::Ours => assert_eq!(begun, 2 * rounds, "{events:#?}"),
        Beside::Python => assert!(begun >= rounds, "{events:#?}"),
    }
    assert_eq!(count(&events, "race UPDATE_FAILED"), 0, "{events:#?}");
    site.close().await;
}

/// B17: a resource that the running update deletes is in the template of the next.
#[tokio::test(flavor = "multi_thread")]
async fn what_is_being_deleted_can_be_wanted_again() {
    let site = Site::new("again", "").await;
    let _engines = tokio::join!(site.engine(), site.engine());
    let both = json!({
        "a": test(json!({})),
        "b": test(json!({"value": "b", "action_wait_secs": {"delete": 3}})),
    });
    let stack = made(&site, "again", both.clone()).await;
    let original = site.resource(&stack, "b").await;
    site.update(&stack, template(json!({"a": test(json!({}))}))).await;
    site.until_resource(&stack, "b", "DELETE_IN_PROGRESS").await;
    site.update(&stack, template(both)).await;
    site.until_settled(&stack, "UPDATE_COMPLETE").await;
    let now = site.resource(&stack, "b").await;
    assert_eq!(now.state(), "CREATE_COMPLETE");
    assert_ne!(now.id, original.id);
    undone(&site, &stack).await;
    site.close().await;
}

/// B19: a failed resource is put right once, by one of two updates.
#[tokio::test(flavor = "multi_thread")]
async fn a_failed_resource_is_put_right_by_one_of_two_updates() {
    let site = Site::new("right", "").await;
    let _engines = tokio::join!(site.engine(), site.engine());
    let failing = template(json!({"a": test(json!({"fail": true})), "b": test(json!({}))}));
    let stack = site.create("right", failing).await;
    site.until_settled(&stack, "CREATE_FAILED").await;
    let sound = |value: &str| template(json!({"a": test(json!({"value": value})), "b": test(json!({}))}));
    tokio::join!(site.update(&stack, sound("1")), site.update(&stack, sound("2")));
    site.until_settled(&stack, "UPDATE_COMPLETE").await;
    site.until_quiet().await;
    let now = site.resource(&stack, "a").await;
    assert_eq!((now.status.as_str(), now.engine_id), ("COMPLETE", None));
    assert!(now.physical_resource_id.is_some());
    assert_eq!(site.resources(&stack).await.len(), 2);
    undone(&site, &stack).await;
    site.close().await;
}

/// B23: after a failed update, a resource still goes before everything that it was ever made from.
#[tokio::test(flavor = "multi_thread")]
async fn a_delete_after_a_failed_update_keeps_the_order() {
    let site = Site::new("order", "").await;
    let _engine = site.engine().await;
    let want = |replace: &str, fail: bool| {
        let value = json!({"list_join": ["", [{"get_resource": "a"}, replace]]});
        let slowly = json!({"delete": 1});
        json!({
            "a": test(json!({"update_replace_value": replace})),
            "b": test(json!({"value": value, "fail": fail, "action_wait_secs": slowly})),
        })
    };
    let stack = made(&site, "order", want("1", false)).await;
    site.update(&stack, template(want("2", true))).await;
    site.until_settled(&stack, "UPDATE_FAILED").await;
    let rows = site.resources(&stack).await;
    assert_eq!(rows.iter().filter(|row| row.name == "a").count(), 2, "{rows:#?}");
    site.delete(&stack).await;
    site.until_settled(&stack, "gone").await;
    let events = site.events(&stack).await;
    let last = position(&events, "b DELETE_COMPLETE");
    assert!(last < position(&events, "a DELETE_IN_PROGRESS"), "{events:#?}");
    assert_eq!(count(&events, "a DELETE_COMPLETE"), 2, "{events:#?}");
    site.close().await;
}
