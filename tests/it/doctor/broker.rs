//! Brokers, what the user may do on them, and what is there.

use serde_json::{Value, json};

use super::{Place, Visit};
use crate::daemon::RunningEngine;
use crate::daemon::trouble::until;
use crate::lab::Lab;
use crate::messaging::broker::OwnBroker;

#[test]
fn notifications_have_their_own_brokers_looked_at() {
    let extra = |url: &str| format!("[oslo_messaging_notifications]\ndriver = messagingv2\ntransport_url = {url}\n");
    let place = Place::new("notify");
    let visit = place.visit(&extra("rabbit://u:p@127.0.0.1:1/"), &[]);
    let wanted = "broker: no broker takes notifications: 127.0.0.1:1: Connection refused";
    assert!(visit.has("problem", wanted), "{}", visit.report);
    let visit = place.visit(&extra(&place.vhost.transport_url()), &[]);
    assert!(
        visit.has("fine", "broker: a broker for notifications answers"),
        "{}",
        visit.report
    );
}

/// A user of the broker who may do only what is said.
struct Restricted<'e> {
    engine: &'e RunningEngine,
}

impl<'e> Restricted<'e> {
    fn new(engine: &'e RunningEngine) -> Self {
        let body = json!({"password": "p", "tags": ""}).to_string();
        Lab::get().management("PUT", &format!("users/{}", engine.vhost.name), Some(&body));
        Restricted { engine }
    }

    fn visit(&self, configure: &str, write: &str, read: &str) -> Visit {
        let (lab, name) = (Lab::get(), &self.engine.vhost.name);
        let allowed = json!({"configure": configure, "write": write, "read": read});
        lab.management("PUT", &format!("permissions/{name}/{name}"), Some(&allowed.to_string()));
        let (host, port) = (&lab.broker.host, lab.broker.port);
        let url = format!("[DEFAULT]\ntransport_url = rabbit://{name}:p@{host}:{port}/{name}\n");
        let configuration = lab.write_heat_conf(&self.engine.database, &self.engine.vhost, &url);
        Visit::to(&configuration, &[])
    }
}

impl Drop for Restricted<'_> {
    fn drop(&mut self) {
        Lab::get().management("DELETE", &format!("users/{}", self.engine.vhost.name), None);
    }
}

#[test]
fn a_user_of_the_broker_who_may_not_do_everything_is_found_and_nobody_is_blamed_for_it() {
    let engine = RunningEngine::start("allowed", "", &[]);
    engine.database.sql(
        "INSERT INTO raw_template (id, template) VALUES (1, '{}'); \
         INSERT INTO stack (id, name, raw_template_id, action, status, tenant, convergence, disable_rollback, created_at) \
         VALUES ('id-1', 'held', 1, 'CREATE', 'IN_PROGRESS', 'p', 1, 1, UTC_TIMESTAMP()); \
         INSERT INTO resource (id, uuid, stack_id, name, root_stack_id, engine_id, current_template_id, created_at) \
         SELECT 1, UUID(), 'id-1', 'r', 'id-1', engine_id, 1, UTC_TIMESTAMP() FROM service LIMIT 1",
    );
    let user = Restricted::new(&engine);
    for (lacking, [configure, write, read]) in [
        ("configure", ["^$", ".*", ".*"]),
        ("write", [".*", "^$", ".*"]),
        ("read", [".*", ".*", "^$"]),
        ("read", [".*", ".*", "^engine"]),
        // Patterns that let some names in, and leave one of those out that engines use.
        ("configure", ["^reply_", ".*", ".*"]),
        ("configure", ["^(?!engine_worker_fanout_)", ".*", ".*"]),
        ("write", [".*", "^(?!heat$)", ".*"]),
        ("write", [".*", "^(?!engine$)", ".*"]),
        ("write", [".*", "^(?!engine_fanout$)", ".*"]),
        ("write", [".*", "^(?!amq.default$)", ".*"]),
        ("read", [".*", ".*", "^(?!heat$)"]),
        ("read", [".*", ".*", "^(?!engine_worker$)"]),
    ] {
        let visit = user.visit(configure, write, read);
        let case = format!("{configure} {write} {read}: {:#}", visit.report);
        let problems = visit.of("problem");
        let wanted = format!("broker: the user lacks the permission to {lacking}: ACCESS_REFUSED");
        assert!(problems.len() == 1 && problems[0].starts_with(&wanted), "{case}");
        for wrong in [
            "with other options:",
            "being worked on",
            "stop all",
            "restart it",
            "no engine answers",
        ] {
            assert!(!visit.report.to_string().contains(wrong), "{wrong} in {case}");
        }
        for wanted in [
            "engines: which engines answer: without all permissions on the broker nobody can tell",
            "stacks: whether those work who hold them, and could not be asked: held (id-1, CREATE, project p)",
            "queues: whose queues are left: without all permissions on the broker nobody can tell",
        ] {
            assert!(visit.has("unseen", wanted), "{wanted} in {case}");
        }
        let is_hidden = visit.has(
            "unseen",
            "broker: whether these are as this engine would make them: heat (topic exchange), ",
        );
        assert_eq!(is_hidden, ["^$", "^reply_"].contains(&configure), "{case}");
    }
    let visit = user.visit("^$", "^$", "^$");
    assert_eq!(visit.of("problem").len(), 3, "each of them: {}", visit.report);
    let visit = user.visit(".*", ".*", ".*");
    assert_eq!(visit.of("problem"), Vec::<String>::new());
}

#[test]
fn an_alarm_of_the_broker_is_told_and_nobody_is_asked() {
    let broker = OwnBroker::start();
    broker.control(&["set_vm_memory_high_watermark", "0"]);
    let place = Place::new("alarm");
    let visit = place.visit(&format!("[DEFAULT]\ntransport_url = {}\n", broker.transport_url()), &[]);
    let problems = visit.of("problem");
    assert!(
        problems.len() == 1 && problems[0].starts_with("broker: the broker takes no messages: "),
        "{:#}",
        visit.report
    );
    let wanted = "engines: which engines answer: without a broker that takes messages nobody can tell";
    assert!(visit.has("unseen", wanted), "{:#}", visit.report);
}

#[test]
fn queues_with_other_options_are_found() {
    let place = Place::new("options");
    place.put_queue(
        "engine_worker",
        &json!({"durable": false, "arguments": {"x-max-length": 7}}),
    );
    let visit = place.visit("", &[]);
    assert!(
        visit.has(
            "problem",
            "broker: queue engine_worker was made with other options: PRECONDITION_FAILED"
        ),
        "{}",
        visit.report
    );
}

/// The management API as heat.conf names it.
fn management(credentials: &str) -> String {
    let url = &Lab::get().broker.management_url;
    format!(
        "[heat_engine_rs]\nbroker_management_url = {}\n",
        url.replacen("http://", &format!("http://{credentials}"), 1)
    )
}

#[test]
fn exchanges_with_other_options_are_found() {
    let place = Place::new("exchange");
    let path = format!("exchanges/{}/heat", place.vhost.name);
    let put = |body: Value| Lab::get().management("PUT", &path, Some(&body.to_string()));
    put(json!({"type": "direct", "durable": false}));
    let visit = place.visit("", &[]);
    assert!(
        visit.has(
            "problem",
            "broker: exchange heat was made with other options: PRECONDITION_FAILED"
        ),
        "{}",
        visit.report
    );
    assert_eq!(visit.code, Some(1));
    Lab::get().management("DELETE", &path, None);
    put(json!({"type": "topic", "durable": true}));
    let visit = place.visit("", &[]);
    assert!(
        visit.has(
            "warning",
            "broker: exchange heat was made with other options: PRECONDITION_FAILED"
        ),
        "engines use it as it is: {}",
        visit.report
    );
    Lab::get().management("DELETE", &path, None);
    place.put_queue("engine", &json!({"durable": false}));
    let visit = place.visit("", &[]);
    let wanted = "broker: there are queues (engine) and no exchange heat by which they are reached";
    assert!(visit.has("problem", wanted), "{}", visit.report);
    // It only looks: neither is the exchange made, nor the queue bound.
    assert!(
        place
            .vhost
            .exchanges()
            .iter()
            .all(|exchange| exchange["name"] != "heat")
    );
    assert!(place.vhost.bindings().iter().all(|binding| binding["source"] == ""));
}

#[test]
fn a_queue_that_does_not_last_is_found_where_it_should() {
    let place = Place::new("lasting");
    place.put_queue("engine", &json!({"durable": false}));
    let visit = place.visit("[oslo_messaging_rabbit]\namqp_durable_queues = true\n", &[]);
    let wanted = "broker: queue engine was made with other options: PRECONDITION_FAILED";
    assert!(visit.has("warning", wanted), "{}", visit.report);
    place.put_queue("notifications.info", &json!({"durable": true}));
    let visit = place.visit("[oslo_messaging_notifications]\ndriver = messagingv2\n", &[]);
    let wanted = "broker: queue notifications.info was made with other options: PRECONDITION_FAILED";
    assert!(visit.has("problem", wanted), "{}", visit.report);
}

#[test]
fn the_management_api_shows_bindings_policies_and_the_queues_of_others() {
    let engine = RunningEngine::start("managed", &management(""), &[]);
    let name = &engine.vhost.name;
    let visit = Visit::to(&engine.configuration, &[]);
    for wanted in [
        "broker: the management API answers at http://127.0.0.1:",
        "broker: all queues are bound to exchange heat",
    ] {
        assert!(visit.has("fine", wanted), "{wanted} in {}", visit.report);
    }
    assert_eq!(visit.of("unseen"), Vec::<String>::new());
    assert_eq!(visit.of("problem"), Vec::<String>::new());

    let lab = Lab::get();
    lab.management(
        "DELETE",
        &format!("bindings/{name}/e/heat/q/engine_worker/engine_worker"),
        None,
    );
    lab.management("PUT", &format!("queues/{name}/copies"), Some("{}"));
    let bind = format!("bindings/{name}/e/heat/q/copies");
    lab.management("POST", &bind, Some(r#"{"routing_key": "engine"}"#));
    let other = format!("queues/{name}/engine_worker.another");
    lab.management(
        "PUT",
        &other,
        Some(r#"{"durable": true, "arguments": {"x-max-length": 3}}"#),
    );
    let policy = json!({"pattern": "^engine$", "definition": {"message-ttl": 60000}, "apply-to": "queues"});
    lab.management("PUT", &format!("policies/{name}/lossy"), Some(&policy.to_string()));
    let lossy = "broker: policy lossy on queue engine: message-ttl = 60000";
    until("the policy holds", || {
        Visit::to(&engine.configuration, &[]).has("warning", lossy)
    });
    let unbound = "broker: not bound to exchange heat: engine_worker, engine_worker.another";
    for _ in 0..2 {
        let visit = Visit::to(&engine.configuration, &[]);
        assert!(
            visit.has("problem", unbound),
            "it binds nothing itself: {}",
            visit.report
        );
        for wanted in [
            "broker: what is sent to engine goes to these queues, too: copies",
            "broker: queue engine_worker.another is not as this engine would make it: durable is true, not false, \
             x-max-length is 3, and should not be set",
            lossy,
        ] {
            assert!(visit.has("warning", wanted), "{wanted} in {}", visit.report);
        }
        assert_eq!(visit.code, Some(1));
    }
}

#[test]
fn a_management_api_that_lets_nobody_in_is_told() {
    let place = Place::new("unmanaged");
    let visit = place.visit(&management("somebody:hunter2@"), &[]);
    let wanted = "broker: the management API does not show the bindings: it answers with HTTP 401";
    assert!(visit.has("warning", wanted), "{}", visit.report);
    assert!(!visit.report.to_string().contains("hunter2"), "{}", visit.report);
    let visit = place.visit("[heat_engine_rs]\nbroker_management_url = http://127.0.0.1:1\n", &[]);
    let wanted = "broker: the management API does not show the bindings: ";
    assert!(visit.has("warning", wanted), "{}", visit.report);
}

#[test]
fn queues_of_engines_that_are_gone_are_listed_and_removed() {
    let place = Place::new("litter");
    place.remember_engine("gone-1");
    let (empty, full, living) = (
        "engine_worker.gone-1",
        "heat-engine-listener.gone-1",
        "engine_worker.unknown",
    );
    for name in [empty, full, living] {
        place.put_queue(name, &json!({"durable": false}));
    }
    let message = json!({"routing_key": full, "payload": "x", "payload_encoding": "string", "properties": {}});
    let path = format!("exchanges/{}/amq.default/publish", place.vhost.name);
    Lab::get().management("POST", &path, Some(&message.to_string()));

    let visit = place.visit("", &[]);
    assert!(
        visit.has("warning", &format!("queues: of engines that are gone, empty: {empty}")),
        "{}",
        visit.report
    );
    assert!(
        visit.has("warning", &format!("with messages in them: {full}")),
        "{}",
        visit.report
    );
    assert!(place.queues().contains(&empty.to_owned()), "it only looks");

    let visit = place.visit("", &["--remove"]);
    assert!(
        visit.has("fine", &format!("queues: removed {empty}")),
        "{}",
        visit.report
    );
    let left = place.queues();
    assert!(!left.contains(&empty.to_owned()), "{left:?}");
    assert!(
        left.contains(&full.to_owned()) && left.contains(&living.to_owned()),
        "{left:?}"
    );
}
