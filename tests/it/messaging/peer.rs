//! The other end of the wire: oslo.messaging itself, in a process of its own.

use std::io::{BufRead, BufReader, Write};
use std::process::{Child, ChildStdin, ChildStdout, Command, Stdio};

use serde_json::{Value, json};

use crate::lab::{Lab, TestVhost};

const PROGRAM: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/it/messaging/peer.py");

pub struct Peer {
    process: Child,
    commands: Option<ChildStdin>,
    answers: BufReader<ChildStdout>,
}

impl Peer {
    pub fn start(vhost: &TestVhost, options: &Value) -> Self {
        let mut process = Command::new(&Lab::get().python)
            .args(["-W", "ignore", PROGRAM, &vhost.transport_url(), &options.to_string()])
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()
            .expect("the lab's Python starts");
        let commands = process.stdin.take();
        let answers = BufReader::new(process.stdout.take().expect("standard output is piped"));
        let mut peer = Self {
            process,
            commands,
            answers,
        };
        assert_eq!(peer.answer(), "ready");
        peer
    }

    /// Sends a command and gives its answer.
    pub fn ask(&mut self, command: &str, arguments: Value) -> Value {
        self.begin(command, arguments);
        self.answer()
    }

    pub fn begin(&mut self, command: &str, arguments: Value) {
        let commands = self.commands.as_mut().expect("the peer runs");
        writeln!(commands, "{}", json!([command, arguments])).expect("the peer reads");
    }

    pub fn answer(&mut self) -> Value {
        let mut line = String::new();
        self.answers.read_line(&mut line).expect("the peer writes");
        let answer: Value =
            serde_json::from_str(&line).unwrap_or_else(|error| panic!("the peer wrote {line:?}: {error}"));
        assert!(answer.get("raised").is_none(), "the peer failed: {answer}");
        answer
    }

    pub fn call(&mut self, target: Value, method: &str, arguments: Value) -> Value {
        self.ask("call", request(target, method, arguments))
    }

    pub fn cast(&mut self, target: Value, method: &str, arguments: Value) {
        self.ask("cast", request(target, method, arguments));
    }

    /// Stops its servers and ends, as a service does.
    pub fn end(mut self) {
        drop(self.commands.take());
        self.process.wait().expect("the peer ends");
    }
}

pub fn request(mut target: Value, method: &str, arguments: Value) -> Value {
    target["method"] = method.into();
    target["args"] = arguments;
    target
}

impl Drop for Peer {
    fn drop(&mut self) {
        let _ = self.process.kill();
        let _ = self.process.wait();
    }
}
