//! What is not run, and what is said about it.

use serde_json::json;

use crate::convergence::site::Site;
use crate::convergence::templates::{template, test, test_after};

#[tokio::test(flavor = "multi_thread")]
async fn the_lock_of_a_live_engine_is_left_to_it() {
    let site = Site::new(
        "live",
        "[DEFAULT]\nperiodic_interval = 60\nengine_life_check_timeout = 1",
    )
    .await;
    let engine = site.engine().await;
    let slowly = json!({"value": "1", "action_wait_secs": {"create": 60}});
    let stack = site.create("live", template(json!({"a": test(slowly)}))).await;
    let held = site.until_resource(&stack, "a", "CREATE_IN_PROGRESS").await;
    let run = site.once("live/a", &[]).ended_with(2);
    let holder = held.engine_id.clone().expect("it is held");
    assert!(
        run.err.contains(&format!("a is held by engine {holder}")),
        "{}",
        run.err
    );
    assert!(
        run.err.contains("which is alive (it answers); --steal-lock"),
        "{}",
        run.err
    );
    let still = site.resource(&stack, "a").await;
    assert_eq!(
        (still.id, still.state(), still.engine_id.as_ref()),
        (held.id, held.state(), Some(&holder))
    );
    // A rehearsal asks nobody: it goes by the service table.
    let run = site.once("live/a", &["--dry-run"]).ended_with(2);
    assert!(run.err.contains("which seems to be alive (it reported"), "{}", run.err);
    // One that is stopped does not answer; its last report counts all the same until the next but one is missing.
    engine.signal("STOP");
    let run = site.once("live/a", &[]).ended_with(2);
    assert!(run.err.contains("it does not answer, but it reported"), "{}", run.err);
    let run = site.once("live/a", &["--steal-lock"]).ended_with(0);
    assert!(
        run.out.contains("as you say, although it seems to be alive"),
        "{}",
        run.out
    );
    let stolen = site.resources(&stack).await.remove(0);
    assert_eq!((stolen.engine_id, stolen.status.as_str()), (None, "FAILED"));
    site.close().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn what_cannot_be_run_says_why() {
    let site = Site::passive("refused").await;
    let engine = site.engine().await;
    let slowly = json!({"value": "1", "action_wait_secs": {"create": 4}});
    let resources = json!({"a": test(slowly), "b": test_after(json!({}), &["a"])});
    let stack = site.create("refused", template(resources)).await;
    let twins = [site.create("other", template(json!({"p:q": test(json!({}))}))).await];
    site.until_settled(&twins[0], "CREATE_COMPLETE").await;
    site.until_resource(&stack, "a", "CREATE_IN_PROGRESS").await;
    let refused = |target: &str| {
        let run = site.once(target, &[]).ended_with(2);
        assert_eq!(run.out, "", "{target}");
        assert_eq!(run.err.lines().count(), 1, "{}", run.err);
        run.err
    };
    let expected = [
        ("refused/b", "b:update is not due: it waits for a:update (at work)"),
        ("refused/x", "stack refused has no resource x in its traversal"),
        ("refused/a:cleanup", "the traversal has nothing to clean up for a"),
        ("nowhere/a", "there is no stack of the name or id nowhere"),
        (
            "nonsense",
            "there is no file nonsense, and it does not read STACK/RESOURCE",
        ),
        (
            "other/a",
            "nothing is in progress: stack other is CREATE_COMPLETE, so there is no message for a",
        ),
        (
            "other/p:q",
            "nothing is in progress: stack other is CREATE_COMPLETE, so there is no message for p:q",
        ),
        (
            "other/p:q:create",
            "stack other has no resource p:q:create, and :create is no kind of node (:update, :cleanup)",
        ),
        (
            "refused/a:foo",
            "stack refused has no resource a:foo, and :foo is no kind of node (:update, :cleanup)",
        ),
    ];
    for (target, message) in expected {
        assert_eq!(refused(target).trim_end(), format!("heat-engine-rs: {message}"));
    }
    drop(twins);
    site.kill(engine).await;
    site.close().await;
}

#[test]
fn a_broken_frame_is_told_from_a_good_one() {
    let lab = crate::lab::Lab::get();
    let (database, vhost) = (lab.fresh_database("broken"), lab.fresh_vhost("broken"));
    let configuration = lab.write_heat_conf(&database, &vhost, "");
    let path = std::path::Path::new(env!("CARGO_TARGET_TMPDIR")).join(format!("{}.frame", vhost.name));
    let check = |arguments: serde_json::Value| json!({"method": "check_resource", "args": arguments}).to_string();
    let whole = json!({
        "resource_id": 4711, "current_traversal": "t", "data": {}, "is_update": true, "adopt_stack_data": null,
    });
    let asks_for = |key: &str, value: &str| {
        let mut frame = json!({"method": "check_resource", "args": whole});
        frame[key] = value.into();
        frame.to_string()
    };
    let broken = [
        (
            asks_for("version", "9.9"),
            "asks for version 9.9 of check_resource: this version of the method is not served",
        ),
        (
            asks_for("namespace", "n"),
            "asks for version 1.0 of check_resource in namespace n: this version of the method is not served",
        ),
        (
            "{\"oslo.version\": \"2.0\", \"oslo.mess".to_owned(),
            "its body is not JSON: ",
        ),
        ("[]".to_owned(), "it holds 0 messages"),
        (
            json!({"args": {}}).to_string(),
            "it is no RPC request: there is no method",
        ),
        (
            json!({"method": "listening", "args": {}}).to_string(),
            "it is a listening, not a check_resource",
        ),
        (check(json!({"resource_id": 1})), "missing"),
        (
            check(
                json!({"resource_id": "x", "current_traversal": "t", "data": {}, "is_update": true,
                      "adopt_stack_data": null}),
            ),
            "invalid literal for int() with base 10: 'x'",
        ),
        (
            asks_for("version", "1.9"),
            "resource 4711, which the frame is about, is gone",
        ),
        (check(whole.clone()), "resource 4711, which the frame is about, is gone"),
    ];
    for (frame, message) in broken {
        std::fs::write(&path, &frame).expect("it can be written");
        let output = std::process::Command::new(crate::convergence::site::program())
            .args([
                "--once".as_ref(),
                path.as_os_str(),
                "--config-file".as_ref(),
                configuration.as_os_str(),
            ])
            .output()
            .expect("the program runs");
        let error = String::from_utf8_lossy(&output.stderr).into_owned();
        assert_eq!(output.status.code(), Some(2), "{frame}: {error}");
        assert!(error.contains(message), "{frame}: {error}");
        assert_eq!(error.lines().count(), 1, "{error}");
    }
    std::fs::remove_file(&path).expect("it was there");
}
