//! Engines that die at work, and what the others make of it.

use std::io::Write;
use std::process::{Child, Command, Stdio};
use std::time::Duration;

use serde_json::json;

use super::site::{Site, eventually};
use super::templates::{template, test, test_after};
use crate::lab::Lab;

const WORKERS: &str = "engine_worker";

/// Messages of the workers' queue: those that wait, and those that an engine has and has not acknowledged.
fn messages(site: &Site) -> (u64, u64) {
    let queues = site.vhost.queues();
    let queue = queues
        .iter()
        .find(|queue| queue["name"] == WORKERS)
        .expect("the queue is there");
    let number = |key: &str| queue[key].as_u64().unwrap_or(0);
    (number("messages_ready"), number("messages_unacknowledged"))
}

/// Keeps everybody from writing to a table; reading goes on.
struct ReadOnly(Child);

impl ReadOnly {
    fn hold(site: &Site, table: &str) -> Self {
        let server = &Lab::get().database;
        let mut client = Command::new("mariadb")
            .args(["--no-defaults", "--unbuffered", "--skip-column-names"])
            .args([
                format!("--host={}", server.host),
                format!("--port={}", server.port),
                format!("--user={}", server.user),
                format!("--password={}", server.password),
                site.database.name.clone(),
            ])
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()
            .expect("the client starts");
        let statements = format!("LOCK TABLES {table} READ; SELECT 'held';\n");
        let input = client.stdin.as_mut().expect("its input is piped");
        input.write_all(statements.as_bytes()).expect("it reads");
        let mut answer = [0; 4];
        let output = client.stdout.as_mut().expect("its output is piped");
        std::io::Read::read_exact(output, &mut answer).expect("it answers");
        Self(client)
    }
}

impl Drop for ReadOnly {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_message_is_kept_until_the_lock_names_the_engine() {
    let site = Site::new("kept", "").await;
    let first = site.engine().await;
    let stack = site
        .create("kept", template(json!({"a": test(json!({"value": "1"}))})))
        .await;
    site.until_settled(&stack, "CREATE_COMPLETE").await;

    // The update needs no new row, so that all that is held up is the lock of the one resource.
    let blocked = ReadOnly::hold(&site, "resource");
    let slowly = json!({"value": "2", "action_wait_secs": {"update": 4}});
    site.update(&stack, template(json!({"a": test(slowly)}))).await;
    eventually("an engine has the message", || async { messages(&site) == (0, 1) }).await;
    tokio::time::sleep(Duration::from_secs(2)).await;
    assert_eq!(messages(&site), (0, 1));
    assert_eq!(site.resource(&stack, "a").await.engine_id, None);

    first.kill();
    eventually("the message is back", || async { messages(&site) == (1, 0) }).await;
    let second = site.engine().await;
    drop(blocked);
    let resource = site.until_resource(&stack, "a", "UPDATE_IN_PROGRESS").await;
    assert_eq!(resource.engine_id, Some(second.id()));
    eventually("the message is acknowledged while the work goes on", || async {
        messages(&site) == (0, 0)
    })
    .await;
    site.until_settled(&stack, "UPDATE_COMPLETE").await;
    let events = site.events(&stack).await;
    let updates = events.iter().filter(|event| *event == "a UPDATE_IN_PROGRESS").count();
    assert_eq!(updates, 1, "{events:#?}");
    site.close().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn what_a_dead_engine_held_is_taken_from_it() {
    let site = Site::new("dead", "").await;
    let first = site.engine().await;
    let slowly = json!({"value": "1", "action_wait_secs": {"create": 300}});
    let resources = json!({"a": test(slowly), "b": test_after(json!({}), &["a"])});
    let stack = site.create("dead", template(resources)).await;
    let held = site.until_resource(&stack, "a", "CREATE_IN_PROGRESS").await;
    assert_eq!(held.engine_id, Some(first.id()));
    first.kill();

    let _second = site.engine().await;
    let resources = json!({"a": test(json!({"value": "1"})), "b": test_after(json!({}), &["a"])});
    site.update(&stack, template(resources)).await;
    site.until_settled(&stack, "UPDATE_COMPLETE").await;
    let reasons = site
        .texts(&format!(
            "SELECT resource_status_reason FROM event WHERE stack_id = '{}' AND resource_name = 'a' \
             AND resource_action = 'CREATE' AND resource_status = 'FAILED'",
            stack.id
        ))
        .await;
    assert_eq!(reasons, ["Worker went down during resource CREATE"]);
    // What broke half-way is replaced.
    let now = site.resource(&stack, "a").await;
    assert_eq!(
        (now.state().as_str(), now.engine_id, now.replaces),
        ("CREATE_COMPLETE", None, None)
    );
    assert_ne!(now.id, held.id);
    site.close().await;
}

/// The engine that dies may be the one that holds the replacement: the next replaces that, in the same traversal, and
/// whoever waits for the resource must still hear of it.
#[tokio::test(flavor = "multi_thread")]
async fn work_that_is_given_back_twice_in_one_traversal_still_counts() {
    let site = Site::new("back", "[DEFAULT]\ngraceful_shutdown_timeout = 1").await;
    let mut engine = site.engine().await;
    let slowly = json!({"action_wait_secs": {"create": 6}});
    let resources = json!({"a": test(slowly), "b": test_after(json!({}), &["a"])});
    let stack = site.create("back", template(resources)).await;
    for rows in 1..=2 {
        eventually("the newest row is under work", || async {
            let resources = site.resources(&stack).await;
            let mut named = resources.iter().filter(|resource| resource.name == "a");
            named.clone().count() == rows && named.next_back().is_some_and(|newest| newest.engine_id.is_some())
        })
        .await;
        engine.signal("TERM");
        engine.wait().await;
        engine = site.engine().await;
    }
    site.until_settled(&stack, "CREATE_COMPLETE").await;
    let events = site.events(&stack).await;
    let created = |name: &str| {
        let event = format!("{name} CREATE_COMPLETE");
        events.iter().filter(|known| **known == event).count()
    };
    assert_eq!((created("a"), created("b"), created("back")), (1, 1, 1), "{events:#?}");
    site.delete(&stack).await;
    site.until_settled(&stack, "gone").await;
    site.close().await;
}
