//! `inspect`: what it shows of stacks in every state, and that it changes nothing.

use serde_json::{Value, json};

use crate::convergence::site::{Site, Stack};
use crate::convergence::templates::{template, test, test_after};

fn progress_of(survey: &Value) -> Vec<(String, String)> {
    let nodes = survey["nodes"].as_array().expect("nodes");
    let text = |value: &Value| value.as_str().expect("text").to_owned();
    let mut progress: Vec<_> = nodes
        .iter()
        .map(|node| (text(&node["resource"]), text(&node["progress"])))
        .collect();
    progress.sort();
    progress
}

fn pairs(expected: &[(&str, &str)]) -> Vec<(String, String)> {
    expected
        .iter()
        .map(|(name, progress)| ((*name).to_owned(), (*progress).to_owned()))
        .collect()
}

/// Two hundred resources in three layers behind one that is slow, and nobody to go on with them.
async fn wide(site: &Site, name: &str) -> Stack {
    let engine = site.engine().await;
    let mut resources = serde_json::Map::new();
    let slowly = json!({"value": "1", "action_wait_secs": {"create": 60}});
    resources.insert("net".to_owned(), test(slowly));
    for number in 0..100 {
        let volume = format!("volume{number}");
        resources.insert(format!("server{number}"), test_after(json!({}), &["net", &volume]));
        resources.insert(volume, test(json!({})));
    }
    let servers: Vec<String> = (0..100).map(|number| format!("server{number}")).collect();
    let servers: Vec<&str> = servers.iter().map(String::as_str).collect();
    resources.insert("balancer".to_owned(), test_after(json!({}), &servers));
    let stack = site.create(name, template(Value::Object(resources))).await;
    site.until_resource(&stack, "net", "CREATE_IN_PROGRESS").await;
    site.until_resource(&stack, "volume99", "CREATE_COMPLETE").await;
    site.until_resource(&stack, "volume0", "CREATE_COMPLETE").await;
    tokio::time::sleep(std::time::Duration::from_secs(2)).await;
    engine.kill();
    stack
}

#[tokio::test(flavor = "multi_thread")]
async fn every_node_says_what_it_is_at() {
    let site = Site::passive("inspect").await;
    let engine = site.engine().await;
    let slowly = json!({"value": "1", "action_wait_secs": {"create": 15}});
    let resources = json!({
        "a": test(slowly), "b": test_after(json!({}), &["a", "quick"]), "quick": test(json!({})),
    });
    let stack = site.create("inspect", template(resources)).await;
    let held = site.until_resource(&stack, "a", "CREATE_IN_PROGRESS").await;
    site.until_resource(&stack, "quick", "CREATE_COMPLETE").await;
    tokio::time::sleep(std::time::Duration::from_secs(1)).await;
    let before = site.everything().await;
    let survey = site.survey(&stack);
    let expected = [("a", "at work"), ("b", "waiting"), ("quick", "done")];
    assert_eq!(progress_of(&survey), pairs(&expected), "{survey:#}");
    let holder = held.engine_id.expect("it is held");
    assert_eq!(survey["holders"][&holder]["reports"], true, "{survey:#}");
    assert_eq!(survey["next"].as_array().map(Vec::len), Some(1), "{survey:#}");
    let node = |name: &str| {
        let nodes = survey["nodes"].as_array().expect("nodes");
        nodes
            .iter()
            .find(|node| node["resource"] == name)
            .expect("a node")
            .clone()
    };
    let taken = "SELECT DATE_FORMAT(created_at, '%Y-%m-%dT%H:%i:%sZ') FROM event WHERE resource_name = 'a' \
                 AND resource_status = 'IN_PROGRESS'";
    assert_eq!(
        json!([node("a")["since"]]),
        json!(site.texts(taken).await),
        "held since"
    );
    assert_eq!(node("a")["row"]["engine_id"], holder.as_str());
    let next = json!({"when": node("a")["node"], "follow": [node("b")["node"]], "completes_the_stack": false});
    assert_eq!(survey["next"][0], next);
    assert_eq!(node("b")["missing"], json!([node("a")["node"]]), "quick has told it");
    let text = site.by_hand(&["inspect", "inspect"]).ended_with(0).out;
    let line = text
        .lines()
        .find(|line| line.starts_with("  a  row "))
        .expect("a line for a");
    let (age, held_by) = line.split_once(" s  engine ").expect("since when, and by whom");
    assert!(
        age.rsplit_once("CREATE_IN_PROGRESS  ")
            .is_some_and(|(_, age)| age.parse::<u32>().is_ok()),
        "{line}"
    );
    assert!(
        held_by.starts_with(&format!("{holder} on ")) && held_by.ends_with("1 waits for it"),
        "{line}"
    );
    for line in [
        "inspect  CREATE_IN_PROGRESS  for ",
        "3 nodes: 1 done, 1 at work, 1 waiting",
        "b  INIT_COMPLETE  for a",
        "when a is done: b follows",
        &holder,
    ] {
        assert!(text.contains(line), "no {line:?} in {text}");
    }
    assert_eq!(site.everything().await.len(), before.len());

    site.kill(engine).await;
    let text = site.by_hand(&["inspect", "inspect"]).ended_with(0).out;
    assert!(text.contains("GONE: last reported"), "{text}");
    site.once("inspect/a", &[]).ended_with(0);
    let survey = site.survey(&stack);
    let expected = [("a", "ready"), ("b", "waiting"), ("quick", "done")];
    assert_eq!(progress_of(&survey), pairs(&expected), "{survey:#}");
    let text = site.by_hand(&["inspect", "inspect"]).ended_with(0).out;
    assert!(text.contains("by hand: heat-engine-rs --once inspect/a"), "{text}");
    site.replay_to_the_end(&stack);

    let survey = site.survey(&stack);
    assert_eq!(survey["phase"], "ended");
    let expected = [("a", "done"), ("b", "done"), ("quick", "done")];
    assert_eq!(progress_of(&survey), pairs(&expected), "{survey:#}");
    site.close().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn two_hundred_nodes_fit_on_a_screen_and_in_a_picture() {
    let site = Site::passive("wide").await;
    let stack = wide(&site, "wide").await;
    let before = site.everything().await;
    let text = site.by_hand(&["inspect", "wide"]).ended_with(0).out;
    assert!(text.lines().count() <= 30, "{text}");
    assert!(text.contains("202 nodes: 100 done, 1 at work, 101 waiting"), "{text}");
    assert!(text.contains("101 wait for it"), "{text}");
    let longest = text.lines().map(|line| line.chars().count()).max();
    assert!(longest <= Some(160), "{longest:?}: {text}");
    for format in ["dot", "mermaid"] {
        let picture = site.by_hand(&["inspect", "wide", "--format", format]).ended_with(0).out;
        let arrow = if format == "dot" { " -> " } else { " --> " };
        let edges = picture.lines().filter(|line| line.contains(arrow)).count();
        assert_eq!(edges, 3, "{picture}");
        assert!(picture.contains("server0 … server99 (100)"), "{picture}");
    }
    let all = site
        .by_hand(&["inspect", "wide", "--all", "--format", "dot"])
        .ended_with(0)
        .out;
    assert_eq!(all.lines().filter(|line| line.contains(" -> ")).count(), 300, "{all}");
    assert_eq!(site.everything().await, before);
    assert_eq!(site.survey(&stack)["nodes"].as_array().map(Vec::len), Some(202));
    site.close().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn watching_ends_with_the_stacks_action() {
    let site = Site::passive("watch").await;
    let _engine = site.engine().await;
    let slowly = json!({"value": "1", "action_wait_secs": {"create": 4}});
    let stack = site.create("watch", template(json!({"a": test(slowly)}))).await;
    site.until_resource(&stack, "a", "CREATE_IN_PROGRESS").await;
    let run = site
        .by_hand(&["inspect", "watch", "--watch=1", "--format", "json"])
        .ended_with(0);
    let surveys: Vec<Value> = run
        .out
        .lines()
        .map(|line| serde_json::from_str(line).expect("an object a line"))
        .collect();
    assert!(surveys.len() >= 3, "{}", surveys.len());
    assert_eq!(surveys[0]["phase"], "under way");
    assert_eq!(surveys.last().map(|survey| &survey["phase"]), Some(&json!("ended")));
    site.close().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_delete_is_watched_until_the_stack_is_gone() {
    let site = Site::passive("going").await;
    let _engine = site.engine().await;
    let slowly = json!({"value": "1", "action_wait_secs": {"delete": 6}});
    let stack = site.create("going", template(json!({"a": test(slowly)}))).await;
    site.until_settled(&stack, "CREATE_COMPLETE").await;
    site.delete(&stack).await;
    site.until_resource(&stack, "a", "DELETE_IN_PROGRESS").await;
    let text = site.by_hand(&["inspect", "going", "--watch=1"]).ended_with(0).out;
    assert!(text.contains("going  DELETE_IN_PROGRESS  for "), "{text}");
    assert!(text.contains("going  DELETE_COMPLETE  deleted "), "{text}");
    // The name is free for another one; by its id the stack is still known.
    site.by_hand(&["inspect", "going"]).ended_with(1);
    assert!(site.survey(&stack)["stack"]["deleted_at"].is_string());
    site.close().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_failed_stack_shows_what_failed() {
    let site = Site::passive("failed").await;
    let _engine = site.engine().await;
    let resources = json!({"a": test(json!({})), "b": test_after(json!({"fail": true}), &["a"]),
                           "c": test_after(json!({}), &["b"])});
    let stack = site
        .create_with("failed", template(resources), json!({"disable_rollback": true}))
        .await;
    site.until_settled(&stack, "CREATE_FAILED").await;
    let survey = site.survey(&stack);
    let expected = [("a", "done"), ("b", "failed"), ("c", "not reached")];
    assert_eq!(progress_of(&survey), pairs(&expected), "{survey:#}");
    let text = site.by_hand(&["inspect", "failed"]).ended_with(0).out;
    assert!(
        text.contains("ValueError: resources.b: Test Resource failed b"),
        "{text}"
    );
    let run = site.by_hand(&["inspect", "nobody"]).ended_with(1);
    assert_eq!(
        run.err.trim_end(),
        "heat-engine-rs: there is no stack of the name or id nobody"
    );
    site.close().await;
}

/// After an update that replaced a resource, two rows have its name; each is shown with what names it alone.
#[tokio::test(flavor = "multi_thread")]
async fn rows_of_one_name_are_told_apart() {
    let site = Site::passive("twins").await;
    let engine = site.engine().await;
    let resources = |value: &str| {
        let new = json!({"update_replace_value": value, "action_wait_secs": {"create": 4}});
        template(json!({"a": test(new), "b": test_after(json!({}), &["a"])}))
    };
    let stack = site.create("twins", resources("1")).await;
    site.until_settled(&stack, "CREATE_COMPLETE").await;
    let text = site.by_hand(&["inspect", "twins"]).ended_with(0).out;
    assert!(!text.contains("twins/"), "one row, one name: {text}");
    let old = site.resource(&stack, "a").await.id;
    site.update(&stack, resources("2")).await;
    let new = loop {
        let rows = site.resources(&stack).await;
        let replacement = rows.iter().find(|row| row.name == "a" && row.id != old);
        match replacement.filter(|row| row.engine_id.is_some()) {
            Some(row) => break row.id,
            None => tokio::time::sleep(std::time::Duration::from_millis(50)).await,
        }
    };
    site.kill(engine).await;
    let text = site.by_hand(&["inspect", "twins"]).ended_with(0).out;
    let by_hand = format!("or by hand: heat-engine-rs --once twins/{new}");
    assert!(text.contains(&format!("a [twins/{new}]  row {new}")), "{text}");
    assert!(text.contains(&format!("a [twins/{old}] (clean-up)")), "{text}");
    assert!(text.lines().any(|line| line.ends_with(&by_hand)), "{text}");
    assert!(!text.contains("b ["), "{text}");
    let picture = site.by_hand(&["inspect", "twins", "--all", "--format", "dot"]);
    let picture = picture.ended_with(0).out;
    assert!(picture.contains(&format!("a [twins/{old}] (clean-up)")), "{picture}");
    // What is shown can be typed.
    site.once(&format!("twins/{new}"), &["--dry-run"]).ended_with(0);
    // The next update finds both rows, and cleans both up.
    let _engine = site.engine().await;
    site.update(&stack, resources("3")).await;
    let two = |survey: &Value| {
        let nodes = survey["nodes"].as_array().expect("nodes");
        let clean_up =
            |node: &&Value| node["resource"] == "a" && node["node"].as_str().is_some_and(|it| it.ends_with(":cleanup"));
        nodes.iter().filter(clean_up).count() == 2
    };
    crate::convergence::site::eventually("both are to be cleaned up", || async { two(&site.survey(&stack)) }).await;
    let run = site.once("twins/a:cleanup", &["--dry-run"]).ended_with(2);
    for row in [old, new] {
        assert!(run.err.contains(&format!("twins/{row}:cleanup (")), "{}", run.err);
    }
    println!(
        "DEBUG {text}\n{picture}\n{:?}",
        site.once("twins/a:cleanup", &["--dry-run"])
    );
    site.close().await;
}
