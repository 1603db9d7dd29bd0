//! What monitoring sees of a running engine.

mod moves;

use std::collections::BTreeSet;
use std::io::{Read, Write};
use std::net::{TcpListener, TcpStream};
use std::time::Duration;

use serde_json::{Value, json};

use crate::convergence::linked::LinkedSite;
use crate::convergence::site::{Site, eventually};
use crate::convergence::templates::flat;
use crate::daemon::RunningEngine;
use crate::daemon::trouble::until;
use crate::lab::{Lab, free_port};
use crate::link::Weather;

const DOCUMENTATION: &str = include_str!("../../docs/operations.md");
const ALERTS: &str = include_str!("../../config/prometheus-alerts.yaml");

/// An address on which nobody listens at the moment.
pub fn free_address() -> String {
    format!("127.0.0.1:{}", free_port())
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
            // Nothing of a stack is checked any more that has failed.
            "bad": {"type": "OS::Heat::TestResource", "properties": {"fail": true}, "depends_on": "good"},
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
    until("all to be told", || match missing(&page(&address)) {
        None => true,
        Some(line) => {
            println!("not told yet: {line}");
            false
        }
    });
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

/// Every label and every value of one that an alert asks for is in the table of metrics.
#[test]
fn alerts_speak_of_labels_that_there_are() {
    let table = DOCUMENTATION
        .split("| metric | labels | |")
        .nth(1)
        .expect("the table of metrics");
    let rows: Vec<(BTreeSet<String>, &str)> = table
        .lines()
        .skip(2)
        .take_while(|line| line.starts_with('|'))
        .map(|line| (names_in(line), line))
        .collect();
    let row_of = |metric: &str| {
        let whole = names_in(metric).pop_first().expect("a metric");
        rows.iter()
            .find(|(names, _)| names.contains(&whole))
            .map(|(_, row)| *row)
    };
    let mut asked = 0;
    for (place, _) in ALERTS.match_indices("heat_engine_") {
        let Some((metric, rest)) = ALERTS[place..].split_once('{') else {
            continue;
        };
        if !metric.chars().all(|it| it.is_ascii_alphanumeric() || it == '_') {
            continue;
        }
        let row = row_of(metric).unwrap_or_else(|| panic!("{metric} is not documented"));
        let (matchers, _) = rest.split_once('}').expect("an end");
        for matcher in matchers.split(',') {
            let (label, values) = matcher.split_once('=').expect("a matcher");
            assert!(row.contains(&format!("`{label}`")), "{metric} has no label {label}");
            let values = values.trim_start_matches('~').trim_matches('"');
            for value in values.split('|').filter(|value| !value.contains('.')) {
                assert!(
                    row.contains(&format!("`{value}`")),
                    "{label} of {metric} is never {value}"
                );
            }
            asked += 1;
        }
    }
    assert!(asked >= 4, "{asked}");
    let known: BTreeSet<&str> = rows
        .iter()
        .flat_map(|(_, row)| row.split('|').nth(2).unwrap_or_default().split(','))
        .map(|label| label.trim().trim_matches('`'))
        // Prometheus' own.
        .chain(["instance", "job", "le"])
        .collect();
    for by in ALERTS.split("by (").skip(1) {
        let (labels, _) = by.split_once(')').expect("an end");
        for label in labels.split(',') {
            assert!(known.contains(label.trim()), "{label}");
        }
    }
}

/// Nobody has the database; then it is there, then it is gone again.
#[tokio::test(flavor = "multi_thread")]
async fn readiness_follows_the_database_from_the_start_on() {
    let linked = LinkedSite::new("health_db", "").await;
    let health = free_address();
    let mut options: Vec<(&str, String)> = linked.options().into();
    options.push(("OS_HEAT_ENGINE_RS__HEALTH_ADDRESS", health.clone()));
    linked.database.weather(Weather::Cut);
    let options: Vec<(&str, &str)> = options.iter().map(|(name, value)| (*name, value.as_str())).collect();
    let engine = linked.site.launch_with(&options);
    let says = |status: u16, reasons: &str| reasons_now(&health) == (status, reasons.to_owned());
    let starting = r#"["the engine starts; the database has not answered yet"]"#;
    eventually("it says that it starts", || async { says(503, starting) }).await;
    assert_eq!(get(&health, "/live").0, 200);
    linked.database.weather(Weather::Fair);
    eventually("it is ready", || async { says(200, "[]") }).await;
    linked.database.weather(Weather::Cut);
    eventually("it misses the database", || async {
        says(503, r#"["the database does not answer"]"#)
    })
    .await;
    assert_eq!(get(&health, "/live").0, 200, "a restart would not bring it back");
    linked.database.weather(Weather::Fair);
    eventually("it is ready again", || async { says(200, "[]") }).await;
    drop(engine);
    linked.site.close().await;
}

fn reasons_now(address: &str) -> (u16, String) {
    reasons(address, "/ready")
}

/// Told to end, it is alive and not ready, for as long as it finishes what it does.
#[tokio::test(flavor = "multi_thread")]
async fn who_finishes_its_work_is_alive_and_not_ready() {
    let site = Site::new("health_term", "").await;
    let address = free_address();
    let engine = site
        .engine_with(&[("OS_HEAT_ENGINE_RS__METRICS_ADDRESS", &address)])
        .await;
    let slowly = json!({"value": "x", "action_wait_secs": {"create": 8}});
    let stack = site.create("health", flat(1, &slowly)).await;
    site.until_resource(&stack, "r0", "CREATE_IN_PROGRESS").await;
    assert_eq!(reasons_now(&address), (200, "[]".to_owned()));
    engine.signal("TERM");
    eventually("it says that it stops", || async {
        reasons_now(&address) == (503, r#"["the engine stops"]"#.to_owned())
    })
    .await;
    // It is still at it.
    assert_eq!(site.resource(&stack, "r0").await.state(), "CREATE_IN_PROGRESS");
    let (status, body) = get(&address, "/live");
    assert_eq!((status, body.trim_end()), (200, r#"{"status":"alive","reasons":[]}"#));
    let page = get(&address, "/metrics").1;
    assert!(
        page.contains("heat_engine_ready 0\n") && page.contains("heat_engine_alive 1\n"),
        "{page}"
    );
    site.until_resource(&stack, "r0", "CREATE_COMPLETE").await;
    eventually("it has ended", || async { get(&address, "/live").0 == 0 }).await;
    site.close().await;
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
