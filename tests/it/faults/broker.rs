//! RabbitMQ and oslo.messaging.

use std::collections::BTreeSet;

use heat_engine::messaging::Target;
use serde_json::{Map, Value, json};

use crate::cloud::caller;
use crate::convergence::linked::LinkedSite;
use crate::convergence::site::{Site, create_arguments, eventually};
use crate::convergence::templates::{template, test};
use crate::lab::Lab;
use crate::messaging::topology::without_ids;
use crate::recovery::{RESTLESS, asleep_between};

fn named(site: &Site, prefix: &str) -> BTreeSet<String> {
    let queues = site.vhost.queues().into_iter();
    queues
        .filter_map(|queue| queue["name"].as_str().map(str::to_owned))
        .filter(|name| name.starts_with(prefix))
        .collect()
}

/// B50: engines of both kinds on one host, told to give their queues names that can be found again.
#[tokio::test(flavor = "multi_thread")]
async fn two_processes_with_one_reply_queue_name() {
    let name = format!("it{}", std::process::id());
    let locks = std::env::temp_dir();
    let managed = format!(
        "{RESTLESS}\n[oslo_concurrency]\nlock_path = {}\n[oslo_messaging_rabbit]\nuse_queue_manager = true\nhostname = {name}\nprocessname = engine",
        locks.display()
    );
    let site = Site::new("managed", &managed).await;
    let _engines = tokio::join!(site.engine(), site.engine(), site.python_engine());
    let fanouts = named(&site, "engine_worker_fanout_");
    assert_eq!(fanouts.len(), 3, "{fanouts:?}");
    // Each asks the others whether they live, and each gets its own answers.
    let stack = site.create_pair("managed", 1).await;
    site.until_tidy(&stack, "CREATE_COMPLETE").await;
    eventually("every engine answers", || async {
        let services = site.call("list_services", json!({})).await;
        let up = services.as_array().into_iter().flatten();
        up.filter(|service| service["status"] == "up").count() == 3
    })
    .await;
    site.close().await;
    for entry in std::fs::read_dir("/dev/shm").expect("shared memory").flatten() {
        if entry.file_name().to_string_lossy().starts_with(&name) {
            let _ = std::fs::remove_file(entry.path());
        }
    }
}

/// B53: what is declared anew after a lost connection has the names that it had.
#[tokio::test(flavor = "multi_thread")]
async fn no_new_random_names_on_each_reconnect() {
    let linked = LinkedSite::new("names", "").await;
    let _engine = linked.engine().await;
    let site = &linked.site;
    let all = || named(site, "");
    // The caller has a queue for its answers, too.
    site.call("list_stacks", json!({})).await;
    let before = all();
    for _ in 0..5 {
        linked.broker.drop_connections();
        tokio::time::sleep(std::time::Duration::from_secs(1)).await;
        let answer = site.call("list_stacks", json!({})).await;
        assert_eq!(answer, json!([]));
    }
    assert_eq!(all(), before);
    linked.site.close().await;
}

/// B58: engines of an older release say less in their messages.
#[tokio::test(flavor = "multi_thread")]
async fn newer_arguments_on_the_bus_may_be_missing() {
    let patient = RESTLESS.replace("patience = 2", "patience = 600");
    let site = Site::new("older", &patient).await;
    let stack = asleep_between(&site, "older", json!({})).await;
    let _engine = site.engine().await;
    let row = site.resource(&stack, "b").await;
    let traversal = site
        .texts(&format!(
            "SELECT current_traversal FROM stack WHERE id = '{}'",
            stack.id
        ))
        .await;
    let data = site
        .texts(&format!(
            "SELECT input_data FROM sync_point WHERE entity_id = '{}'",
            row.id
        ))
        .await;
    let data: Value = serde_json::from_str(&data[0]).expect("JSON");
    let arguments = Map::from_iter([
        ("resource_id".to_owned(), json!(row.id)),
        ("current_traversal".to_owned(), json!(traversal[0])),
        ("data".to_owned(), data),
        ("is_update".to_owned(), json!(true)),
        ("adopt_stack_data".to_owned(), Value::Null),
    ]);
    site.cast(&Target::topic("engine_worker", "1.2"), "check_resource", arguments)
        .await;
    site.until_tidy(&stack, "CREATE_COMPLETE").await;
    site.close().await;
}

/// What is bound to what in the vhost of one engine, without the engine's id and other random parts.
async fn bindings(site: &Site) -> BTreeSet<String> {
    let ids = site.texts("SELECT engine_id FROM service").await;
    let bindings = site.vhost.bindings().into_iter();
    let of_engines = bindings.filter(|binding| {
        let destination = binding["destination"].as_str().unwrap_or_default();
        // The test's own queue for answers.
        !destination.starts_with("reply_")
    });
    let told = of_engines.map(|binding| {
        let parts = ["source", "destination", "destination_type", "routing_key", "arguments"];
        let told: Vec<String> = parts.iter().map(|part| binding[*part].to_string()).collect();
        let told = told.join(" ");
        let without = ids.iter().fold(told, |told, id| told.replace(id, "ID"));
        without_ids(&without)
    });
    told.collect()
}

/// B56: an engine of ours has the exchanges, topics and queues of a Python engine, and binds them alike.
#[tokio::test(flavor = "multi_thread")]
async fn exchange_and_topic_names() {
    let (theirs, ours) = tokio::join!(Site::new("bound_python", ""), Site::new("bound_ours", ""));
    let same_host = [("OS_DEFAULT__HOST", "python")];
    let _engines = tokio::join!(theirs.python_engine(), ours.engine_with(&same_host));
    for site in [&theirs, &ours] {
        let stack = site.create_pair("bound", 0).await;
        site.until_settled(&stack, "CREATE_COMPLETE").await;
    }
    let (theirs_bound, ours_bound) = (bindings(&theirs).await, bindings(&ours).await);
    for topic in ["engine", "engine_worker", "heat-engine-listener"] {
        let has = |word: &str| ours_bound.iter().any(|binding| binding.starts_with(word));
        assert!(has(&format!("\"heat\" \"{topic}\" ")), "{ours_bound:#?}");
    }
    assert_eq!(ours_bound, theirs_bound);
    theirs.close().await;
    ours.close().await;
}

/// The context of a caller as heat-api sent it until 2025: other names for some, and nothing that came later.
fn in_the_old_shape(context: &Map<String, Value>) -> Map<String, Value> {
    let is = |key: &str| context.get(key).cloned().unwrap_or_default();
    let words = |key: &str| is(key).as_str().unwrap_or("-").to_owned();
    let old = json!({
        "auth_token": is("auth_token"),
        "username": is("username"),
        "user_id": is("user"),
        "password": null,
        "aws_creds": null,
        "tenant": is("project_name"),
        "tenant_id": is("project_id"),
        "trust_id": null,
        "trustor_user_id": null,
        "auth_token_info": is("auth_token_info"),
        "auth_url": is("auth_url"),
        "roles": is("roles"),
        "is_admin": false,
        // A name here, where a newer caller has an id.
        "user": is("username"),
        "request_id": "req-00000000-1111-2222-3333-444444444444",
        "show_deleted": false,
        "region_name": is("region_name"),
        "user_identity": format!("{} {}", words("user"), words("project_id")),
        "user_domain_id": is("user_domain"),
        "project_domain_id": is("project_domain"),
    });
    let Value::Object(old) = old else { unreachable!() };
    old
}

/// B59: a request whose context has the old names, for work in Keystone; and credentials that were stored before there were
/// trusts, for which nothing but their columns tells who it is.
#[tokio::test(flavor = "multi_thread")]
async fn context_keys_removed() {
    let site = Site::restless("old_keys").await;
    let keystone = &Lab::get().keystone;
    let context = caller("admin", &keystone.url).to_wire();
    let old = in_the_old_shape(&context);
    let engine = site.engine().await;
    let resources = json!({
        "a": test(json!({"action_wait_secs": {"create": 3}})),
        "p": {"type": "OS::Keystone::Project", "depends_on": "a"},
    });
    let name = format!("old{}", std::process::id());
    let arguments = create_arguments(&name, template(resources), json!({}));
    let created = site.caller().try_call_as(&old, "create_stack", arguments).await;
    created.expect("the stack is created");
    let stack = site
        .find(&name)
        .await
        .expect("a stack")
        .in_project(&context["project_id"]);
    site.until_resource(&stack, "a", "CREATE_IN_PROGRESS").await;
    let of_stack = "SELECT CONCAT_WS(' ', tenant, username) FROM stack";
    let expected = format!("{} admin", context["project_id"].as_str().unwrap_or_default());
    assert_eq!(site.texts(of_stack).await, [expected]);
    let stored = "SELECT CONCAT_WS(' ', tenant, tenant_id) FROM user_creds";
    let expected = format!("admin {}", context["project_id"].as_str().unwrap_or_default());
    assert_eq!(site.texts(stored).await, [expected]);

    // Whoever goes on with it has nothing but the row.
    engine.kill();
    site.change("UPDATE user_creds SET username = 'admin', auth_url = 'http://nowhere/v2.0', region_name = NULL");
    site.vhost.purge("engine_worker");
    let _other = site.engine().await;
    site.until_settled(&stack, "CREATE_COMPLETE").await;
    let deleted = site
        .caller()
        .try_call_as(&old, "delete_stack", stack.delete_arguments())
        .await;
    deleted.expect("the stack is deleted");
    site.until_settled(&stack, "gone").await;
    site.nothing_is_leaked(&stack).await;
    site.close().await;
}
