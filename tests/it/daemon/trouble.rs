//! What an operator sees when something is wrong around the engine: little, and clear.

use super::{Directory, PATIENCE, PROGRAM, RunningEngine, program, text};
use crate::lab::Lab;

use std::process::Command;
use std::time::{Duration, Instant};

/// Lines of the log at WARNING and ERROR.
fn complaints(log: &str) -> Vec<&str> {
    log.lines()
        .filter(|line| line.contains(" WARNING ") || line.contains(" ERROR "))
        .collect()
}

pub fn until(what: &str, mut condition: impl FnMut() -> bool) {
    let began = Instant::now();
    while !condition() {
        assert!(began.elapsed() < PATIENCE, "{what}");
        std::thread::sleep(Duration::from_millis(100));
    }
}

impl RunningEngine {
    fn rows_of_services(&self) -> usize {
        self.database.sql("SELECT id FROM service").len()
    }

    /// Sends a frame as it is to a topic.
    pub fn publish(&self, topic: &str, body: &str) {
        self.vhost.publish(topic, body);
    }

    fn resident(&self) -> u64 {
        let status = std::fs::read_to_string(format!("/proc/{}/status", self.child.id())).expect("it runs");
        let line = status
            .lines()
            .find_map(|line| line.strip_prefix("VmRSS:"))
            .expect("Linux");
        let kilobytes: u64 = line.trim().trim_end_matches(" kB").parse().expect("a number");
        kilobytes * 1024
    }
}

#[test]
fn who_cannot_take_work_does_not_look_alive() {
    let nobody = "[DEFAULT]\ntransport_url = rabbit://u:p@127.0.0.1:1/\n";
    let mut engine = RunningEngine::launch("no_broker", nobody, &[]);
    engine.wait_for_log("no broker takes our connection; trying again reasons=127.0.0.1:1: Connection refused");
    std::thread::sleep(Duration::from_secs(3));
    assert_eq!(engine.rows_of_services(), 0);
    assert_eq!(
        complaints(&engine.log()).len(),
        1,
        "once in a while is enough: {}",
        engine.log()
    );
    engine.signal("TERM");
    assert_eq!(engine.wait().code(), Some(0), "{}", engine.log());
    assert_eq!(engine.rows_of_services(), 0);
}

#[test]
fn a_refused_login_is_told_in_the_brokers_words() {
    let lab = Lab::get();
    let wrong = format!(
        "[DEFAULT]\ntransport_url = rabbit://{}:wrong@{}:{}/\n",
        lab.broker.user, lab.broker.host, lab.broker.port
    );
    let mut engine = RunningEngine::launch("bad_login", &wrong, &[]);
    engine.wait_for_log("ACCESS_REFUSED");
    engine.signal("TERM");
    engine.wait();
    assert!(!engine.log().contains("lapin"), "{}", engine.log());
}

#[test]
fn a_lost_connection_is_one_line() {
    let mut engine = RunningEngine::start("lost", "", &[]);
    let connected = |engine: &RunningEngine| engine.log().matches("connected to the broker").count();
    assert_eq!(connected(&engine), 2);
    until("both connections are listed", || {
        let path = format!("vhosts/{}/connections", engine.vhost.name);
        Lab::get()
            .management("GET", &path, None)
            .as_array()
            .is_some_and(|listed| listed.len() == 2)
    });
    engine.vhost.close_connections();
    until("both connections are made anew", || connected(&engine) == 4);
    engine.signal("TERM");
    assert_eq!(engine.wait().code(), Some(0), "{}", engine.log());
    let log = engine.log();
    let complaints = complaints(&log);
    assert_eq!(complaints.len(), 1, "{log}");
    assert!(complaints[0].contains("lost the connection to the broker"), "{log}");
    assert!(complaints[0].contains("CONNECTION_FORCED"), "{log}");
}

#[test]
fn a_database_without_tables_is_refused_before_anything_is_taken() {
    let lab = Lab::get();
    let (database, vhost) = (lab.empty_database("empty"), lab.fresh_vhost("empty"));
    let configuration = lab.write_heat_conf(&database, &vhost, "");
    let output = program(&["--config-file", &configuration.display().to_string()]);
    assert_eq!(output.status.code(), Some(1));
    let said = text(&output.stderr);
    let complaints = complaints(&said);
    assert_eq!(complaints.len(), 1, "{said}");
    assert!(
        complaints[0].contains("no tables of Heat; `heat-manage db_sync` makes them"),
        "{said}"
    );
    assert!(vhost.queues().is_empty());
}

#[test]
fn with_a_log_file_the_reason_of_the_end_is_on_stderr_too() {
    let lab = Lab::get();
    let (database, vhost) = (lab.empty_database("stderr"), lab.fresh_vhost("stderr"));
    let configuration = lab.write_heat_conf(&database, &vhost, "");
    let directory = Directory::new("stderr");
    let output = Command::new(PROGRAM)
        .args(["--config-file", &configuration.display().to_string()])
        .args(["--log-file", &directory.0.join("engine.log").display().to_string()])
        .output()
        .expect("the program can be run");
    assert_eq!(output.status.code(), Some(1));
    let said = text(&output.stderr);
    assert!(
        said.contains("no tables of Heat") && said.lines().count() == 1,
        "{said}"
    );
}

#[test]
fn a_malformed_frame_is_named_and_harms_nobody() {
    let mut engine = RunningEngine::start("malformed", "", &[]);
    for (body, id) in [
        (
            r#"{"method": "list_stacks", "_unique_id": "0a1b2c", "args": "#.to_owned(),
            "0a1b2c",
        ),
        (
            r#"{"oslo.version": "7.0", "oslo.message": "{\"_unique_id\": \"1b2c3d\"}"}"#.to_owned(),
            "1b2c3d",
        ),
        (
            format!(
                r#"{{"args": {}{}, "_unique_id": "2c3d4e"}}"#,
                "[".repeat(100_000),
                "]".repeat(100_000)
            ),
            "2c3d4e",
        ),
        (r#"{"args": {}, "_unique_id": "3d4e5f"}"#.to_owned(), "3d4e5f"),
    ] {
        engine.publish("engine", &body);
        engine.wait_for_log(&format!("unique_id={id}"));
    }
    engine.signal("TERM");
    assert_eq!(engine.wait().code(), Some(0), "{}", engine.log());
}

#[test]
fn a_large_frame_costs_no_memory_afterwards() {
    const MEGABYTE: u64 = 1024 * 1024;
    let mut engine = RunningEngine::start("memory", "", &[]);
    let before = engine.resident();
    let numbers = vec!["1234567"; 1_000_000].join(",");
    engine.publish(
        "engine_worker",
        &format!(
            r#"{{"method": "check_resource", "args": {{"data": [{numbers}]}}, "version": "1.4", "_unique_id": "f00d"}}"#
        ),
    );
    engine.wait_for_log("unique_id=f00d");
    until("the memory goes back", || engine.resident() < before + 24 * MEGABYTE);
    engine.signal("TERM");
    assert_eq!(engine.wait().code(), Some(0), "{}", engine.log());
}
