//! `heat-engine-rs doctor`: each thing that can be wrong is told, with its reason and its remedy, and nothing else.

use std::io::{BufRead, BufReader, Read, Write};
use std::net::TcpListener;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};

use serde_json::{Value, json};

use crate::daemon::trouble::until;
use crate::daemon::{RunningEngine, program, text};
use crate::lab::{Lab, TestDatabase, TestVhost};
use crate::messaging::broker::OwnBroker;
use crate::rpc::Deployment;

const PYTHON_IS_MISSING: &str = "1 of heat-engine-rs answer, and none of Python's";

/// What the doctor says, and with which code it ends.
struct Visit {
    code: Option<i32>,
    report: Value,
}

impl Visit {
    fn to(configuration: &Path, arguments: &[&str]) -> Self {
        let path = configuration.display().to_string();
        let mut line = vec!["doctor", "--config-file", &path, "--format", "json"];
        line.extend(arguments);
        let output = program(&line);
        let said = text(&output.stdout);
        let report =
            serde_json::from_str(&said).unwrap_or_else(|error| panic!("{error} in {said}\n{}", text(&output.stderr)));
        Visit {
            code: output.status.code(),
            report,
        }
    }

    /// What was found of a severity, as `area: what`.
    fn of(&self, severity: &str) -> Vec<String> {
        let findings = self.report["findings"].as_array().expect("findings");
        let said = |finding: &Value, key: &str| finding[key].as_str().unwrap_or_default().to_owned();
        findings
            .iter()
            .filter(|finding| finding["severity"] == severity)
            .inspect(|finding| {
                let explained = !said(finding, "why").is_empty() && !said(finding, "advice").is_empty();
                assert!(severity == "fine" || explained, "{finding}");
            })
            .map(|finding| format!("{}: {}", said(finding, "area"), said(finding, "what")))
            .collect()
    }

    fn has(&self, severity: &str, wanted: &str) -> bool {
        self.of(severity).iter().any(|what| what.contains(wanted))
    }
}

/// A place without engines.
pub struct Place {
    pub database: TestDatabase,
    pub vhost: TestVhost,
}

impl Place {
    pub fn new(hint: &str) -> Self {
        let lab = Lab::get();
        Place {
            database: lab.fresh_database(hint),
            vhost: lab.fresh_vhost(hint),
        }
    }

    pub fn configuration(&self, extra: &str) -> PathBuf {
        Lab::get().write_heat_conf(&self.database, &self.vhost, extra)
    }

    fn visit(&self, extra: &str, arguments: &[&str]) -> Visit {
        let configuration = self.configuration(extra);
        Visit::to(&configuration, arguments)
    }

    /// Leaves the row of an engine that was here and has gone.
    fn remember_engine(&self, engine_id: &str) {
        self.database.sql(&format!(
            "INSERT INTO service (id, engine_id, host, hostname, `binary`, topic, report_interval, created_at, \
             updated_at, deleted_at) VALUES (UUID(), '{engine_id}', 'h', 'h', 'heat-engine', 'engine', 60, \
             '2026-01-01', '2026-01-01', '2026-01-01')"
        ));
    }

    fn put_queue(&self, name: &str, body: &Value) {
        let path = format!("queues/{}/{name}", self.vhost.name);
        Lab::get().management("PUT", &path, Some(&body.to_string()));
    }

    fn queues(&self) -> Vec<String> {
        let named = |queue: &Value| queue["name"].as_str().unwrap_or_default().to_owned();
        self.vhost.queues().iter().map(named).collect()
    }
}

#[test]
fn where_all_is_well_there_is_nothing_to_do() {
    let engine = RunningEngine::start("well", "", &[]);
    let visit = Visit::to(&engine.configuration, &[]);
    assert_eq!(visit.of("problem"), Vec::<String>::new());
    assert_eq!(visit.code, Some(0));
    let warnings = visit.of("warning");
    assert!(
        warnings.iter().all(|what| what.contains(PYTHON_IS_MISSING)),
        "{warnings:?}"
    );
    for wanted in [
        "configuration: sound, read from",
        "database: the schema is at 97b2a986f922",
        "database: the user may do all that the engine does",
        "broker: the user may make queues, write and read",
        "broker: as this engine would make them: heat (topic exchange), engine_fanout (fanout exchange), \
         engine_worker_fanout (fanout exchange), heat-engine-listener_fanout (fanout exchange), engine, engine.",
        "engines: all of heat-engine-rs are of version ",
        "identity: Keystone v3",
        "identity: [trustee] heat can log in",
        "identity: heat_domain_admin, who makes users for stacks, can log in",
        "identity: there is a role heat_stack_user",
        "stacks: 0 in progress",
        "queues: none of engines that are gone",
    ] {
        assert!(visit.has("fine", wanted), "{wanted} in {}", visit.report);
    }
    // What cannot be seen is told, and is no fault of anybody.
    assert!(
        visit.has(
            "unseen",
            "broker: whether the queues are bound, and which policies hold for them"
        ),
        "{}",
        visit.report
    );
    assert_eq!(
        (visit.report["unseen"].as_u64(), visit.report["severity"].as_str()),
        (Some(1), Some("warning"))
    );
    let path = engine.configuration.display().to_string();
    let shown = text(&program(&["--config-file", &path, "doctor"]).stdout);
    assert!(
        shown.contains("\ndatabase\n  ok       ") && shown.contains("0 problems, 1 warning."),
        "{shown}"
    );
    for secret in ["heatservice", "labroot", "heatdomain"] {
        assert!(!shown.contains(secret), "{shown}");
    }
}

#[test]
fn it_leaves_nothing_behind() {
    let place = Place::new("trace");
    // There is somebody to ask, so that a queue for the answer is needed.
    place.database.sql(
        "INSERT INTO service (id, engine_id, host, hostname, `binary`, topic, report_interval, created_at, updated_at) \
         VALUES ('1', 'silent', 'h', 'h', 'heat-engine', 'engine', 60, '2026-01-01', '2026-01-01')",
    );
    let rows = || place.database.sql("SELECT * FROM service");
    let before = rows();
    assert!(place.visit("", &[]).has("warning", "engines: engine silent on h"));
    assert_eq!(place.queues(), Vec::<String>::new());
    assert_eq!(rows(), before);
}

#[test]
fn a_configuration_that_cannot_be_used_ends_the_visit() {
    let place = Place::new("config");
    let visit = place.visit("[DEFAULT]\nstack_action_timeout = soon\n", &[]);
    assert_eq!(visit.code, Some(2));
    assert!(visit.has(
        "problem",
        "[DEFAULT] stack_action_timeout: 'soon' is not a whole number"
    ));
    assert_eq!(visit.of("problem").len(), 1);
}

#[test]
fn without_engines_nobody_answers_heat_api() {
    let visit = Place::new("nobody").visit("", &[]);
    assert_eq!(visit.code, Some(1));
    assert_eq!(visit.of("problem"), ["engines: no engine answers"]);
}

#[test]
fn what_cannot_be_reached_is_told_and_the_rest_is_looked_at() {
    let place = Place::new("away");
    let visit = place.visit(
        "[database]\nconnection = mysql+pymysql://u:p@127.0.0.1:1/heat\n\
         [DEFAULT]\ntransport_url = rabbit://u:p@127.0.0.1:1/\n\
         [clients_keystone]\nauth_uri = http://127.0.0.1:1\n",
        &[],
    );
    assert_eq!(visit.code, Some(1));
    let problems = visit.of("problem");
    assert_eq!(problems.len(), 3, "{problems:?}");
    assert!(
        problems[0].starts_with("database: no connection to the database: "),
        "{problems:?}"
    );
    let advice = "start the server at 127.0.0.1:1, or correct its address";
    assert!(visit.report.to_string().contains(advice), "{:#}", visit.report);
    assert!(
        problems[1].starts_with("broker: 127.0.0.1:1: Connection refused"),
        "{problems:?}"
    );
    assert!(
        problems[2].starts_with("identity: Keystone does not answer at http://127.0.0.1:1/v3"),
        "{problems:?}"
    );
}

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

#[test]
fn refused_logins_are_told_apart() {
    let place = Place::new("logins");
    let lab = Lab::get();
    let wrong_broker = format!(
        "[DEFAULT]\ntransport_url = rabbit://{}:wrong@{}:{}/{}\n",
        lab.broker.user, lab.broker.host, lab.broker.port, place.vhost.name
    );
    let visit = place.visit(
        &format!("{wrong_broker}stack_domain_admin_password = wrong\n[trustee]\npassword = wrong\n"),
        &[],
    );
    let problems = visit.of("problem");
    for wanted in [
        "broker: 127.0.0.1:",
        "ACCESS_REFUSED",
        "identity: [trustee] heat cannot log in: The request you have made requires authentication.",
        "identity: heat_domain_admin cannot log in to the domain of stack users: The request you have made",
    ] {
        assert!(
            problems.iter().any(|problem| problem.contains(wanted)),
            "{wanted} in {problems:?}"
        );
    }
}

#[test]
fn an_administrator_of_stack_users_who_is_none_is_found() {
    let place = Place::new("admin");
    let told = |extra: &str| place.visit(&format!("[DEFAULT]\n{extra}\n"), &[]);
    for (extra, name) in [
        ("stack_domain_admin = nobody", "nobody"),
        (
            "stack_user_domain_name = nowhere\nstack_user_domain_id =",
            "heat_domain_admin",
        ),
        // A user of another domain.
        (
            "stack_domain_admin = heat\nstack_domain_admin_password = heatservice",
            "heat",
        ),
    ] {
        let visit = told(extra);
        let wanted = format!("identity: {name} cannot log in to the domain of stack users: The request you have made");
        assert!(visit.has("problem", &wanted), "{extra}: {}", visit.report);
        assert_eq!(visit.code, Some(1));
    }
}

#[test]
fn a_role_that_nobody_made_is_found() {
    let visit = Place::new("role").visit("[DEFAULT]\nheat_stack_user_role = nobody_made_it\n", &[]);
    assert!(
        visit.has("problem", "identity: there is no role nobody_made_it"),
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

/// Takes connections, and says nothing, for as long as the test runs.
fn silent_server() -> String {
    let listener = TcpListener::bind("127.0.0.1:0").expect("a port");
    let address = listener.local_addr().expect("an address");
    std::thread::spawn(move || listener.incoming().collect::<Vec<_>>());
    address.to_string()
}

#[test]
fn whoever_says_nothing_is_not_waited_for() {
    let silent = silent_server();
    let place = Place::new("silent");
    let visit = place.visit(
        &format!(
            "[clients_keystone]\nauth_uri = http://{silent}\n\
             [heat_engine_rs]\nbroker_management_url = http://u:p@{silent}\n"
        ),
        &[],
    );
    for wanted in [
        &format!(
            "identity: Keystone at http://{silent}/v3 takes connections and had not answered all questions after 10s"
        ),
        "engines: no engine answers",
    ] {
        assert!(visit.has("problem", wanted), "{wanted} in {:#}", visit.report);
    }
    let wanted = "broker: the management API does not show the bindings: no answer within 10s";
    assert!(visit.has("warning", wanted), "{:#}", visit.report);
    let visit = place.visit(&format!("[trustee]\nauth_url = http://{silent}\n"), &[]);
    let wanted = format!("identity: Keystone, where [trustee] heat logs in, at http://{silent}, takes connections and");
    assert!(visit.has("problem", &wanted), "{:#}", visit.report);

    // One of two brokers: all that the other can tell is told.
    let answering = place.vhost.transport_url();
    let (login, address) = answering.split_once('@').expect("a login");
    let credentials = login.trim_start_matches("rabbit://");
    let both = format!("{login}@{silent},{credentials}@{address}");
    let visit = place.visit(&format!("[DEFAULT]\ntransport_url = {both}\n"), &[]);
    let wanted = format!("broker: {silent}: no answer within 10s");
    assert!(visit.has("warning", &wanted), "{:#}", visit.report);
    assert!(
        visit.has("fine", "broker: the user may make queues, write and read"),
        "{:#}",
        visit.report
    );
    assert_eq!(visit.of("problem"), ["engines: no engine answers"]);
    let visit = place.visit(
        &format!(
            "[database]\nconnection = mysql+pymysql://u:p@{silent}/heat\n\
             [DEFAULT]\ntransport_url = rabbit://u:p@{silent}/\n"
        ),
        &[],
    );
    let wanted = format!("broker: {silent}: no answer within 10s");
    assert!(visit.has("problem", &wanted), "{:#}", visit.report);
    assert!(visit.has("problem", "database: "), "{:#}", visit.report);
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
fn a_database_without_tables_or_with_too_few_is_found() {
    let lab = Lab::get();
    let place = Place {
        database: lab.empty_database("empty"),
        vhost: lab.fresh_vhost("empty"),
    };
    assert!(
        place
            .visit("", &[])
            .has("problem", "database: the database has no tables of Heat")
    );
    let place = Place::new("fewer");
    place
        .database
        .sql("ALTER TABLE service DROP COLUMN report_interval; DROP TABLE stack_tag;");
    place.database.sql("UPDATE alembic_version SET version_num = 'older'");
    let visit = place.visit("", &[]);
    assert!(
        visit.has(
            "problem",
            "database: the schema lacks service.report_interval, stack_tag"
        ),
        "{}",
        visit.report
    );
}

#[test]
fn a_schema_of_another_time_is_found() {
    let place = Place::new("revision");
    let at = |revision: &str| {
        place
            .database
            .sql(&format!("UPDATE alembic_version SET version_num = '{revision}'"));
        place.visit("", &[])
    };
    let earlier = at("88be64598c0f");
    let wanted = "database: the schema is at 88be64598c0f, an earlier state than 97b2a986f922";
    assert!(earlier.has("problem", wanted), "{}", earlier.report);
    let later = at("0123456789ab");
    let wanted =
        "database: the schema is at 0123456789ab, which this engine does not know; it is written for 97b2a986f922";
    assert!(later.has("warning", wanted), "{}", later.report);
}

#[test]
fn a_key_that_opens_nothing_is_found() {
    let place = Place::new("doctor_key");
    place.database.sql(
        "INSERT INTO user_creds (created_at, decrypt_method, trust_id) \
         VALUES (UTC_TIMESTAMP(), 'cryptography_decrypt_v1', 'gAAAAABk-of-another-key')",
    );
    let visit = place.visit("", &[]);
    let wanted = "database: auth_encryption_key does not open the newest stored credentials";
    assert!(visit.has("problem", wanted), "{:#?}", visit.of("problem"));
}

#[test]
fn a_user_who_may_not_do_everything_is_found() {
    let place = Place::new("grants");
    let (name, database) = (&place.database.name, &Lab::get().database);
    let connection = format!(
        "[database]\nconnection = mysql+pymysql://{name}:p@{}:{}/{name}\n",
        database.host, database.port
    );
    let tables: Vec<String> = place
        .database
        .sql("SHOW TABLES")
        .into_iter()
        .map(|mut row| row.remove(0))
        .collect();
    let all = "SELECT, INSERT, UPDATE, DELETE";
    // All tables but one, with what is left of that.
    let told = |table: &str, left: &str| {
        let mut grants = format!("CREATE USER '{name}'@'%' IDENTIFIED BY 'p'; ");
        for other in tables.iter().filter(|other| *other != table) {
            grants += &format!("GRANT {all} ON {name}.{other} TO '{name}'@'%'; ");
        }
        if !left.is_empty() {
            grants += &format!("GRANT {left} ON {name}.{table} TO '{name}'@'%'; ");
        }
        Lab::get().sql(&grants);
        let visit = place.visit(&connection, &[]);
        Lab::get().sql(&format!("DROP USER '{name}'@'%'"));
        let problems = visit
            .of("problem")
            .into_iter()
            .filter(|what| what.starts_with("database:"));
        (problems.collect::<Vec<_>>(), visit)
    };
    let (nothing, _) = told("none", "");
    assert_eq!(nothing, Vec::<String>::new());
    for lacking in all.split(", ") {
        let left: Vec<&str> = all.split(", ").filter(|privilege| *privilege != lacking).collect();
        let (problems, visit) = told("event", &left.join(", "));
        let of_event = format!("{lacking} on event");
        assert!(
            problems.len() == 1 && problems[0].contains(&of_event) && !problems[0].contains("resource"),
            "{lacking}: {}",
            visit.report
        );
        assert_eq!(visit.code, Some(1));
    }
    // A table that the server hides from the user is not taken for one that is not there.
    let (problems, _) = told("stack_tag", "");
    let refused = "DELETE on stack_tag; INSERT on stack_tag; SELECT on stack_tag; UPDATE on stack_tag";
    assert_eq!(problems, [format!("database: the user may not {refused}")]);
    let (_, visit) = told("service", "");
    let wanted =
        "stacks: which stacks are asleep, and whose queues are left: without the service table nobody can tell";
    assert!(visit.has("unseen", wanted), "{}", visit.report);
    let (problems, visit) = told("alembic_version", "");
    assert_eq!(problems, Vec::<String>::new());
    let wanted = "database: the revision of the schema: the user may not read alembic_version";
    assert!(visit.has("unseen", wanted), "{}", visit.report);
    // One who may not even enter.
    Lab::get().sql(&format!("CREATE USER '{name}'@'%' IDENTIFIED BY 'p'"));
    let visit = place.visit(&connection, &[]);
    Lab::get().sql(&format!("DROP USER '{name}'@'%'"));
    assert!(visit.has("problem", "Access denied for user"), "{}", visit.report);
    assert!(
        visit.report.to_string().contains("GRANT SELECT, INSERT"),
        "{}",
        visit.report
    );
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

#[test]
fn stacks_asleep_are_found() {
    let place = Place::new("asleep");
    place.database.sql(
        "INSERT INTO raw_template (id, template) VALUES (1, '{}'); \
         INSERT INTO stack (id, name, raw_template_id, action, status, tenant, convergence, disable_rollback, created_at) VALUES \
         ('id-1', 'held', 1, 'CREATE', 'IN_PROGRESS', 'p', 1, 1, UTC_TIMESTAMP()), \
         ('id-2', 'late', 1, 'UPDATE', 'IN_PROGRESS', 'p', 1, 1, '2026-01-01'), \
         ('id-3', 'done', 1, 'CREATE', 'COMPLETE', 'p', 1, 1, '2026-01-01'), \
         ('id-4', 'new', 1, 'CREATE', 'IN_PROGRESS', 'p', 1, 1, UTC_TIMESTAMP()); \
         INSERT INTO resource (id, uuid, stack_id, name, root_stack_id, engine_id, current_template_id, created_at) \
         VALUES (1, UUID(), 'id-1', 'r', 'id-1', 'gone', 1, UTC_TIMESTAMP())",
    );
    let visit = place.visit("", &[]);
    for wanted in [
        "stacks: held by engines that are gone: held (id-1, CREATE, project p)",
        "stacks: in progress beyond their time: late (id-2, UPDATE, project p)",
    ] {
        assert!(
            visit.of("problem").contains(&wanted.to_owned()),
            "{wanted} in {}",
            visit.report
        );
    }
    assert!(
        visit.has(
            "fine",
            "stacks: 3 in progress, 0 of them being worked on; nobody holds anything of these, of which something was heard \
             within 5 minutes: new (id-4, CREATE, project p)"
        ),
        "{}",
        visit.report
    );
}

#[test]
fn engines_that_are_silent_or_cut_off_are_found() {
    let place = Place::new("engines");
    place.database.sql(
        "INSERT INTO service (id, engine_id, host, hostname, `binary`, topic, report_interval, created_at, updated_at) \
         VALUES ('1', 'dead', 'h', 'h', 'heat-engine', 'engine', 60, '2026-01-01', '2026-01-01'), \
         ('2', 'cut-off', 'h', 'h', 'heat-engine', 'engine', 60, UTC_TIMESTAMP(), UTC_TIMESTAMP())",
    );
    let visit = place.visit("", &[]);
    assert!(
        visit.has("warning", "engines: engine dead on h has been silent for"),
        "{}",
        visit.report
    );
    assert!(visit.has(
        "problem",
        "engines: engine cut-off on h reports in the service table and does not answer"
    ));
}

/// Answers in the place of an engine of ours of another version.
struct Impostor(Child);

impl Impostor {
    fn start(place: &Place, engine_id: &str) -> Self {
        const CODE: &str = r"
import sys
from oslo_config import cfg
import oslo_messaging
cfg.CONF(['--config-file', sys.argv[1]], project='heat')
oslo_messaging.set_transport_defaults('heat')
class Listener:
    target = oslo_messaging.Target(version='1.0')
    def listening(self, ctxt):
        return {'heat_engine_rs': '0.0.0-older'}
target = oslo_messaging.Target(topic='heat-engine-listener', server=sys.argv[2])
server = oslo_messaging.get_rpc_server(
    oslo_messaging.get_rpc_transport(cfg.CONF), target, [Listener()], executor='threading')
server.start()
print('listens', flush=True)
sys.stdin.read()
";
        let lab = Lab::get();
        let mut child = Command::new(&lab.python)
            .args(["-W", "ignore", "-c", CODE])
            .arg(lab.write_heat_conf(&place.database, &place.vhost, ""))
            .arg(engine_id)
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::null())
            .spawn()
            .expect("Python starts");
        let said = child.stdout.take().expect("a pipe");
        let mut line = String::new();
        BufReader::new(said).read_line(&mut line).expect("a line");
        assert_eq!(line, "listens\n");
        Impostor(child)
    }
}

impl Drop for Impostor {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

impl Place {
    /// A stack in progress, of which an engine holds a resource.
    fn put_stack_held_by(&self, engine_id: &str) {
        self.database.sql(&format!(
            "INSERT INTO raw_template (id, template) VALUES (1, '{{}}'); \
             INSERT INTO stack (id, name, raw_template_id, action, status, tenant, convergence, disable_rollback, created_at) \
             VALUES ('id-1', 'held', 1, 'CREATE', 'IN_PROGRESS', 'p', 1, 1, UTC_TIMESTAMP()); \
             INSERT INTO resource (id, uuid, stack_id, name, root_stack_id, engine_id, current_template_id, created_at) \
             VALUES (1, UUID(), 'id-1', 'r', 'id-1', '{engine_id}', 1, UTC_TIMESTAMP())"
        ));
    }
}

#[test]
fn a_holder_without_a_row_in_the_service_table_is_asked() {
    let place = Place::new("byhand");
    place.put_stack_held_by("by-hand");
    let gone = "stacks: held by engines that are gone: held (id-1, CREATE, project p)";
    let impostor = Impostor::start(&place, "by-hand");
    let visit = place.visit("", &[]);
    let busy = "stacks: 1 in progress, 1 of them being worked on";
    assert!(
        visit.has("fine", busy) && !visit.has("problem", gone),
        "{}",
        visit.report
    );
    drop(impostor);
    let visit = place.visit("", &[]);
    assert!(visit.has("problem", gone), "{}", visit.report);
}

#[test]
fn a_holder_that_does_not_answer_just_now_is_not_taken_to_work() {
    let place = Place::new("killed");
    place.put_stack_held_by("killed");
    place.database.sql(
        "INSERT INTO service (id, engine_id, host, hostname, `binary`, topic, report_interval, created_at, updated_at) \
         VALUES ('1', 'killed', 'h', 'h', 'heat-engine', 'engine', 60, UTC_TIMESTAMP(), UTC_TIMESTAMP())",
    );
    let visit = place.visit("", &[]);
    let wanted = "stacks: held by killed, which reports and does not answer: held (id-1, CREATE, project p)";
    assert!(visit.has("warning", wanted), "{}", visit.report);
    assert!(
        visit.has("fine", "stacks: 1 in progress, 0 of them being worked on"),
        "{}",
        visit.report
    );
}

/// A Keystone that names its version and fails at everything else, for as long as the test runs.
fn failing_keystone() -> String {
    let listener = TcpListener::bind("127.0.0.1:0").expect("a port");
    let address = listener.local_addr().expect("an address");
    std::thread::spawn(move || {
        for connection in listener.incoming() {
            let mut connection = BufReader::new(connection.expect("a connection"));
            let (mut first, mut length) = (String::new(), 0);
            connection.read_line(&mut first).expect("a request");
            loop {
                let mut line = String::new();
                connection.read_line(&mut line).expect("a header");
                if let Some(number) = line.to_ascii_lowercase().strip_prefix("content-length:") {
                    length = number.trim().parse().expect("a number");
                }
                if line.trim().is_empty() {
                    break;
                }
            }
            connection.read_exact(&mut vec![0; length]).expect("a body");
            let (status, body) = match first.starts_with("GET /v3 ") || first.starts_with("GET /v3/ ") {
                true => ("200 OK", json!({"version": {"id": "v3.14"}})),
                false => (
                    "500 Internal Server Error",
                    json!({"error": {"code": 500, "message": "a table is full"}}),
                ),
            };
            let body = body.to_string();
            let head = format!("HTTP/1.1 {status}\r\nContent-Type: application/json\r\nConnection: close\r\n");
            let answer = format!("{head}Content-Length: {}\r\n\r\n{body}", body.len());
            // Whoever asked may have gone.
            let _ = connection.get_mut().write_all(answer.as_bytes());
        }
    });
    format!("http://{address}")
}

#[test]
fn a_keystone_that_fails_is_not_a_wrong_password() {
    let url = failing_keystone();
    let extra = format!("[clients_keystone]\nauth_uri = {url}\n[trustee]\nauth_url = {url}\n");
    let visit = Place::new("keystone500").visit(&extra, &[]);
    assert!(
        visit.has("problem", "identity: [trustee] heat cannot log in: "),
        "{}",
        visit.report
    );
    let report = visit.report.to_string();
    assert!(
        report.contains("Keystone itself fails") && !report.contains("correct username"),
        "{report}"
    );
}

#[test]
fn an_engine_of_another_version_is_found() {
    let place = Place::new("version");
    place.database.sql(
        "INSERT INTO service (id, engine_id, host, hostname, `binary`, topic, report_interval, created_at, updated_at) \
         VALUES ('1', 'older', 'h', 'h', 'heat-engine', 'engine', 60, UTC_TIMESTAMP(), UTC_TIMESTAMP())",
    );
    let impostor = Impostor::start(&place, "older");
    let visit = place.visit("", &[]);
    drop(impostor);
    let wanted = "engines: versions of heat-engine-rs that run: 0.0.0-older (1); this one is ";
    assert!(visit.has("warning", wanted), "{}", visit.report);
    assert_eq!(visit.code, Some(0), "an upgrade may be under way");
}

#[test]
fn engines_of_both_kinds_are_told_apart() {
    let deployment = Deployment::new("kinds");
    deployment.start_python("theirs");
    let visit = Visit::to(&deployment.configuration("doctor"), &[]);
    assert!(
        visit.has("fine", "engines: 0 of heat-engine-rs and 1 of Python's answer"),
        "{}",
        visit.report
    );
    let wanted = "engines: the versions of Python's engines, on ";
    assert!(visit.has("unseen", wanted), "{}", visit.report);
    deployment.start_ours("ours");
    let visit = Visit::to(&deployment.configuration("doctor"), &[]);
    assert!(
        visit.has("fine", "engines: 1 of heat-engine-rs and 1 of Python's answer"),
        "{}",
        visit.report
    );
    assert_eq!((visit.code, visit.of("problem")), (Some(0), Vec::new()));
}
