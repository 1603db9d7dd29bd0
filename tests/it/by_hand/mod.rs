//! `--once` and `inspect`, as a person runs them: on stacks that engines have left in the middle.

mod account;
mod frames;
mod inspect;
mod made;
mod picture;
mod refusals;
mod rehearsal;
mod replay;
mod zones;

use std::io::Write;
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use serde_json::Value;

use crate::convergence::site::{Engine, PATIENCE, Site, Stack, program};

/// Engines that report each second, so that one that is gone is soon known to be.
const PASSIVE: &str = "[DEFAULT]\nperiodic_interval = 1\nengine_life_check_timeout = 1";

/// What a run by hand came to.
#[derive(Debug)]
struct Run {
    code: i32,
    out: String,
    err: String,
}

impl Run {
    fn json(&self) -> Value {
        serde_json::from_str(&self.out).unwrap_or_else(|error| panic!("{error}: {self:#?}"))
    }

    /// The run, if it ended with this code.
    fn ended_with(self, code: i32) -> Self {
        assert_eq!(self.code, code, "{}\n{}", self.out, self.err);
        self
    }
}

impl Site {
    async fn passive(hint: &str) -> Self {
        Self::new(hint, PASSIVE).await
    }

    fn by_hand(&self, arguments: &[&str]) -> Run {
        self.by_hand_with(arguments, b"")
    }

    fn start_by_hand(&self, arguments: &[&str]) -> Child {
        Command::new(program())
            .args(arguments)
            .arg("--config-file")
            .arg(&self.configuration)
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()
            .expect("the program starts")
    }

    fn by_hand_with(&self, arguments: &[&str], input: &[u8]) -> Run {
        let mut process = self.start_by_hand(arguments);
        let mut stdin = process.stdin.take().expect("it is piped");
        // Whoever does not read it may have ended by now.
        let _ = stdin.write_all(input);
        drop(stdin);
        let output = process.wait_with_output().expect("the program ends");
        let text = |bytes: Vec<u8>| String::from_utf8(bytes).expect("UTF-8");
        Run {
            code: output.status.code().expect("it ends by itself"),
            out: text(output.stdout),
            err: text(output.stderr),
        }
    }

    fn once(&self, target: &str, more: &[&str]) -> Run {
        let mut arguments = vec!["--once", target];
        arguments.extend(more);
        self.by_hand(&arguments)
    }

    fn survey(&self, stack: &Stack) -> Value {
        self.by_hand(&["inspect", &stack.id, "--format", "json"])
            .ended_with(0)
            .json()
    }

    /// Kills an engine, and waits until the service table says so too.
    async fn kill(&self, engine: Engine) {
        engine.kill();
        tokio::time::sleep(Duration::from_secs(3)).await;
    }

    /// Runs whatever is due, one check at a time, until nothing is in progress. Gives what they showed.
    fn replay_to_the_end(&self, stack: &Stack) -> Vec<Run> {
        let began = Instant::now();
        let mut checks = Vec::new();
        loop {
            let survey = self.survey(stack);
            if survey["phase"] != "under way" {
                return checks;
            }
            let due = |node: &&Value| {
                ["ready", "at work", "telling"]
                    .map(Value::from)
                    .contains(&node["progress"])
            };
            let nodes = survey["nodes"].as_array().expect("nodes");
            let node = nodes
                .iter()
                .find(due)
                .unwrap_or_else(|| panic!("nothing is due: {survey:#}"));
            let (id, step) = node["node"]
                .as_str()
                .and_then(|node| node.split_once(':'))
                .expect("a name");
            let row = node["row"]["id"].as_i64().map_or(id.to_owned(), |row| row.to_string());
            checks.push(self.once(&format!("{}/{row}:{step}", stack.id), &[]).ended_with(0));
            assert!(
                began.elapsed() < PATIENCE,
                "no end after {} checks: {survey:#}",
                checks.len()
            );
        }
    }

    /// Everything that there is in the tables and on the vhost, a line for each row, counter, queue and exchange.
    async fn everything(&self) -> Vec<String> {
        let tables = self.database.sql("SHOW TABLES");
        let mut rows: Vec<String> = Vec::new();
        for table in tables.into_iter().map(|mut row| row.remove(0)) {
            let dump = self.database.sql(&format!("SELECT * FROM `{table}`"));
            rows.extend(dump.into_iter().map(|row| format!("{table}: {}", row.join(" "))));
        }
        rows.sort();
        let counters = self.database.sql(&format!(
            "SELECT TABLE_NAME, AUTO_INCREMENT FROM information_schema.TABLES WHERE TABLE_SCHEMA = '{}' \
             ORDER BY TABLE_NAME",
            self.database.name
        ));
        rows.extend(counters.into_iter().map(|row| row.join(" ")));
        let named = |item: &Value| item["name"].as_str().unwrap_or_default().to_owned();
        let mut queues: Vec<String> = self.vhost.queues().iter().map(named).collect();
        queues.sort();
        for queue in queues {
            // Not by the management API, whose numbers come late.
            let waiting = self.waiting(&queue).await;
            rows.push(format!("queue {queue}: {waiting:?}"));
        }
        let mut exchanges: Vec<String> = self.vhost.exchanges().iter().map(named).collect();
        exchanges.sort();
        rows.extend(exchanges);
        rows
    }

    /// Runs a node by hand until it is done.
    fn finish(&self, stack: &Stack, name: &str) {
        for _ in 0..5 {
            let survey = self.survey(stack);
            let nodes = survey["nodes"].as_array().expect("nodes");
            let is_open = |node: &&Value| {
                node["resource"] == name && node["node"].as_str().is_some_and(|node| node.ends_with(":update"))
            };
            if nodes.iter().filter(is_open).all(|node| node["progress"] == "done") {
                return;
            }
            self.once(&format!("{}/{name}:update", stack.id), &[]).ended_with(0);
        }
        panic!("{name} does not come to an end: {:#}", self.survey(stack));
    }
}

/// The events of one kind.
fn events<'r>(account: &'r Value, kind: &str) -> Vec<&'r Value> {
    let events = account["events"].as_array().expect("events");
    events.iter().filter(|event| event["kind"] == kind).collect()
}

fn shows_no_secret(run: &Run, secrets: &[&str]) {
    for secret in secrets {
        assert!(
            !run.out.contains(secret) && !run.err.contains(secret),
            "{secret} in {}{}",
            run.out,
            run.err
        );
    }
}
