//! `heat-engine-rs doctor`: each thing that can be wrong is told, with its reason and its remedy, and nothing else.

mod broker;
mod database;
mod engines;
mod identity;

use std::net::TcpListener;
use std::path::{Path, PathBuf};

use serde_json::Value;

use crate::daemon::{RunningEngine, program, text};
use crate::lab::{Lab, TestDatabase, TestVhost};

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
