//! What monitoring sees of a running engine.

use std::collections::BTreeSet;
use std::io::{Read, Write};
use std::net::{TcpListener, TcpStream};
use std::time::Duration;

use serde_json::{Value, json};

use crate::daemon::RunningEngine;
use crate::daemon::trouble::until;
use crate::lab::Lab;

const DOCUMENTATION: &str = include_str!("../../docs/operations.md");
const ALERTS: &str = include_str!("../../config/prometheus-alerts.yaml");

/// An address on which nobody listens at the moment.
pub fn free_address() -> String {
    let listener = TcpListener::bind("127.0.0.1:0").expect("a free port");
    listener.local_addr().expect("an address").to_string()
}

/// Status and body; 0 where nobody answers.
fn get(address: &str, path: &str) -> (u16, String) {
    let Ok(mut stream) = TcpStream::connect(address) else {
        return (0, String::new());
    };
    let a_while = Some(Duration::from_secs(10));
    stream.set_read_timeout(a_while).expect("not zero");
    let mut answer = String::new();
    let sent = write!(
        stream,
        "GET {path} HTTP/1.1\r\nHost: engine\r\nConnection: close\r\n\r\n"
    );
    if sent.is_err() || stream.read_to_string(&mut answer).is_err() {
        return (0, String::new());
    }
    let (head, body) = answer.split_once("\r\n\r\n").expect("an answer of HTTP");
    let status = head.split(' ').nth(1).and_then(|code| code.parse().ok());
    (status.expect("a status"), body.to_owned())
}

/// What Prometheus reads.
pub fn page(address: &str) -> String {
    get(address, "/metrics").1
}

pub fn reasons(address: &str, path: &str) -> (u16, String) {
    let (status, body) = get(address, path);
    let body: Value = serde_json::from_str(&body).unwrap_or_default();
    (status, body["reasons"].to_string())
}

/// Names of metrics in a text, without what Prometheus adds for the parts of a histogram.
fn names_in(text: &str) -> BTreeSet<String> {
    let is_part = |character: char| character.is_ascii_alphanumeric() || character == '_';
    text.split(|character| !is_part(character))
        .filter(|word| word.starts_with("heat_engine_") || word.starts_with("process_"))
        .map(|name| {
            let parts = ["_bucket", "_sum", "_count"];
            let whole = parts.iter().find_map(|part| name.strip_suffix(part));
            whole.unwrap_or(name).to_owned()
        })
        .collect()
}

/// Names in the table of metrics.
fn documented() -> BTreeSet<String> {
    let table = DOCUMENTATION
        .split("| metric | labels | |")
        .nth(1)
        .and_then(|rest| rest.split("\n\n").next())
        .expect("the table of metrics");
    names_in(table)
}

#[test]
fn metrics_tell_of_what_was_done_and_are_documented() {
    let address = free_address();
    let extra = format!("[heat_engine_rs]\nmetrics_address = {address}\n");
    let mut engine = RunningEngine::start("metrics", &extra, &[]);
    let template = json!({
        "heat_template_version": "2018-08-31",
        "resources": {
            "good": {"type": "OS::Heat::None"},
            "bad": {"type": "OS::Heat::TestResource", "properties": {"fail": true}},
        },
    });
    let answers = Lab::get().calls(
        &engine.configuration,
        &json!([
            {"method": "create_stack", "args":
                {"stack_name": "s", "template": template, "params": {}, "files": {}, "args": {}}},
            {"method": "identify_stack", "args": {"stack_name": "nobody"}},
        ]),
    );
    assert!(answers[0]["result"].is_object(), "{answers:?}");
    engine.publish("engine", "no request");
    let expected = [
        r#"heat_engine_stack_states_total{action="CREATE",status="FAILED"} 1"#,
        r#"heat_engine_requests_total{method="create_stack",outcome="answered"} 1"#,
        r#"heat_engine_requests_total{method="identify_stack",outcome="refused"} 1"#,
        r#"heat_engine_checks_total{type="OS::Heat::None",node="update",outcome="done"} 1"#,
        r#"heat_engine_checks_total{type="OS::Heat::TestResource",node="update",outcome="failed"} 1"#,
        r#"heat_engine_http_requests_total{service="keystone",method="POST",code="201"}"#,
        r#"heat_engine_broker_connections_total{purpose="consuming"} 1"#,
        "heat_engine_frames_unreadable_total 1",
        r#"heat_engine_queue_consumers{queue="engine"} 1"#,
        r#"heat_engine_mended_total{what="lock"} 0"#,
        "heat_engine_ready 1",
        "heat_engine_alive 1",
        "heat_engine_database_up 1",
        "heat_engine_locks{",
        "# TYPE heat_engine_check_seconds histogram",
        "# HELP heat_engine_checks_total",
    ];
    let missing = |page: &str| expected.into_iter().find(|line| !page.contains(line));
    until("all to be told", || missing(&page(&address)).is_none());
    let page = page(&address);
    let documented = documented();
    let told = names_in(&page);
    let undocumented: Vec<_> = told.difference(&documented).collect();
    assert!(undocumented.is_empty(), "not in docs/operations.md: {undocumented:?}");
    let unheard_of: Vec<_> = documented.difference(&told).collect();
    let is_rare = |name: &&String| *name == "heat_engine_swaps_lost_total";
    assert!(unheard_of.iter().all(is_rare), "{unheard_of:?}");
    engine.signal("TERM");
    assert_eq!(engine.wait().code(), Some(0), "{}", engine.log());
}

#[test]
fn alerts_speak_of_metrics_that_there_are_and_have_their_place_in_the_runbook() {
    let unknown: Vec<_> = names_in(ALERTS).difference(&documented()).cloned().collect();
    assert!(unknown.is_empty(), "{unknown:?}");
    let alerts: Vec<&str> = ALERTS
        .lines()
        .filter_map(|line| line.trim().strip_prefix("- alert: "))
        .collect();
    assert!(alerts.len() > 10);
    let runbook = DOCUMENTATION.split("## Runbook").nth(1).expect("a runbook");
    for alert in alerts {
        assert!(runbook.contains(alert), "{alert}");
    }
}

#[test]
fn an_engine_is_alive_while_it_waits_and_ready_when_it_serves() {
    let (metrics, health) = (free_address(), free_address());
    let extra = format!(
        "[DEFAULT]\ntransport_url = rabbit://u:p@127.0.0.1:1/\n\
         [heat_engine_rs]\nmetrics_address = {metrics}\nhealth_address = {health}\n"
    );
    let engine = RunningEngine::launch("waits", &extra, &[]);
    until("the door is open", || get(&health, "/live").0 != 0);
    until("the database is there", || {
        reasons(&health, "/ready").1.contains("broker")
    });
    assert_eq!(get(&health, "/live").0, 200);
    assert_eq!(
        reasons(&health, "/ready"),
        (503, r#"["the broker is away"]"#.to_owned())
    );
    assert_eq!(get(&health, "/metrics").0, 404, "health alone");
    assert!(page(&metrics).contains("heat_engine_ready 0"));
    assert_eq!(get(&metrics, "/ready").0, 503);
    assert_eq!(get(&metrics, "/nonsense").0, 404);
    drop(engine);
}

#[test]
fn readiness_follows_the_broker() {
    let health = free_address();
    let extra = format!("[heat_engine_rs]\nhealth_address = {health}\n");
    let engine = RunningEngine::start("follows", &extra, &[]);
    assert_eq!(reasons(&health, "/ready"), (200, "[]".to_owned()));
    Lab::get().management("DELETE", &format!("vhosts/{}", engine.vhost.name), None);
    until("the broker is missed", || reasons(&health, "/ready").0 == 503);
    assert_eq!(
        get(&health, "/live").0,
        200,
        "a restart would not bring the broker back"
    );
}

/// Two engines of a node may read the same heat.conf: the second works although it cannot be looked at.
#[test]
fn an_address_that_is_taken_keeps_no_engine_from_its_work() {
    let taken = TcpListener::bind("127.0.0.1:0").expect("a port");
    let address = taken.local_addr().expect("an address").to_string();
    let mut engine = RunningEngine::start("taken", &format!("[heat_engine_rs]\nhealth_address = {address}\n"), &[]);
    engine.wait_for_log("nobody can look at this engine for now");
    drop(taken);
    until("the address is free", || get(&address, "/ready").0 == 200);
    engine.signal("TERM");
    assert_eq!(engine.wait().code(), Some(0), "{}", engine.log());
}
