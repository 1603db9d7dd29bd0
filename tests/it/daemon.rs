//! The program as an operator meets it: its command line, its signals, its log, what it tells systemd.

use std::io::{Read, Write};
use std::os::unix::net::UnixDatagram;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, ExitStatus, Output, Stdio};
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use serde_json::Value;

use crate::lab::{Lab, TestDatabase, TestVhost};

mod check_config;
pub mod trouble;

const PROGRAM: &str = env!("CARGO_BIN_EXE_heat-engine-rs");
/// Long enough for a loaded machine; nothing waits that long unless it fails.
const PATIENCE: Duration = Duration::from_secs(60);

pub fn program(arguments: &[&str]) -> Output {
    Command::new(PROGRAM)
        .args(arguments)
        .output()
        .expect("the program can be run")
}

pub fn text(bytes: &[u8]) -> String {
    String::from_utf8_lossy(bytes).into_owned()
}

/// A directory that goes with the test.
pub struct Directory(pub PathBuf);

impl Directory {
    pub fn new(hint: &str) -> Self {
        let path = std::env::temp_dir().join(format!("heat-engine-rs-daemon-{hint}-{}", std::process::id()));
        std::fs::create_dir_all(&path).expect("temporary directory");
        Directory(path)
    }

    pub fn file(&self, name: &str, text: &str) -> PathBuf {
        let path = self.0.join(name);
        std::fs::write(&path, text).expect("temporary file");
        path
    }
}

impl Drop for Directory {
    fn drop(&mut self) {
        let _ = std::fs::remove_dir_all(&self.0);
    }
}

/// An engine on a database and a vhost of its own, with a socket where systemd's would be.
pub struct RunningEngine {
    child: Child,
    /// What systemd was told.
    notifications: Arc<Mutex<Vec<String>>>,
    /// As many of them have been looked at.
    looked_at: usize,
    pub configuration: PathBuf,
    log: PathBuf,
    _directory: Directory,
    pub database: TestDatabase,
    pub vhost: TestVhost,
}

impl RunningEngine {
    pub fn start(hint: &str, extra_configuration: &str, extra_arguments: &[&str]) -> Self {
        let mut engine = Self::launch(hint, extra_configuration, extra_arguments);
        engine.wait_for("READY=1");
        engine
    }

    /// As [`Self::start`], for an engine that will not become ready.
    pub fn launch(hint: &str, extra_configuration: &str, extra_arguments: &[&str]) -> Self {
        let lab = Lab::get();
        let (database, vhost) = (lab.fresh_database(hint), lab.fresh_vhost(hint));
        let configuration = lab.write_heat_conf(&database, &vhost, extra_configuration);
        let directory = Directory::new(hint);
        let log = directory.0.join("engine.log");
        let socket = directory.0.join("notify");
        let notifications = listen(UnixDatagram::bind(&socket).expect("a socket for notifications"));
        let child = Command::new(PROGRAM)
            .args(["--config-file", &configuration.display().to_string()])
            .args(["--log-file", &log.display().to_string()])
            .args(extra_arguments)
            .env("NOTIFY_SOCKET", &socket)
            .env("WATCHDOG_USEC", "400000")
            .stderr(Stdio::piped())
            .spawn()
            .expect("the program can be started");
        RunningEngine {
            child,
            notifications,
            looked_at: 0,
            configuration,
            log,
            _directory: directory,
            database,
            vhost,
        }
    }

    /// Waits until systemd is told `state`; what it was told before the last such wait does not count.
    pub fn wait_for(&mut self, state: &str) {
        let began = Instant::now();
        while began.elapsed() < PATIENCE {
            let notifications = self.notifications.lock().expect("no panic").clone();
            let is_wanted = |message: &String| message.lines().any(|line| line.starts_with(state));
            if let Some(place) = notifications[self.looked_at..].iter().position(is_wanted) {
                self.looked_at += place + 1;
                return;
            }
            if let Some(status) = self.child.try_wait().expect("a child of ours") {
                let mut complaint = String::new();
                let _ = self
                    .child
                    .stderr
                    .take()
                    .map(|mut stderr| stderr.read_to_string(&mut complaint));
                panic!("ended ({status}) before {state}: {complaint}\n{}", self.log());
            }
            std::thread::sleep(Duration::from_millis(20));
        }
        panic!("no {state} in {:?}", self.notifications.lock());
    }

    pub fn signal(&self, name: &str) {
        let process = self.child.id().to_string();
        let status = Command::new("kill")
            .args(["-s", name, &process])
            .status()
            .expect("kill");
        assert!(status.success());
    }

    pub fn wait(&mut self) -> ExitStatus {
        let began = Instant::now();
        while began.elapsed() < PATIENCE {
            if let Some(status) = self.child.try_wait().expect("a child of ours") {
                return status;
            }
            std::thread::sleep(Duration::from_millis(50));
        }
        panic!("still there after {PATIENCE:?}:\n{}", self.log());
    }

    pub fn log(&self) -> String {
        std::fs::read_to_string(&self.log).unwrap_or_default()
    }

    pub fn wait_for_log(&self, wanted: &str) {
        let began = Instant::now();
        while !self.log().contains(wanted) {
            assert!(began.elapsed() < PATIENCE, "no {wanted:?} in:\n{}", self.log());
            std::thread::sleep(Duration::from_millis(50));
        }
    }
}

/// systemd always listens, and a sender waits for it: so somebody has to, at all times.
fn listen(socket: UnixDatagram) -> Arc<Mutex<Vec<String>>> {
    let heard = Arc::<Mutex<Vec<String>>>::default();
    let ear = heard.clone();
    std::thread::spawn(move || {
        let mut buffer = [0; 4096];
        while let Ok(length) = socket.recv(&mut buffer) {
            ear.lock().expect("no panic").push(text(&buffer[..length]));
        }
    });
    heard
}

impl Drop for RunningEngine {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

#[test]
fn an_impossible_value_is_refused_with_file_group_and_option() {
    let directory = Directory::new("refused");
    let file = directory.file(
        "heat.conf",
        "[DEFAULT]\nhost = a\n\n[database]\nconnection = mysql://h/x\nmax_retries = many\n",
    );
    let output = program(&["--config-file", &file.display().to_string()]);
    assert_eq!(output.status.code(), Some(2));
    let complaint = text(&output.stderr);
    let expected = format!(
        "heat-engine-rs: {}:6: [database] max_retries: 'many' is not a whole number\n",
        file.display()
    );
    assert_eq!(complaint, expected);
}

#[test]
fn what_cannot_be_read_is_named() {
    let directory = Directory::new("unreadable");
    let broken = directory.file("broken.conf", "[DEFAULT]\nhost\n");
    for (argument, path, wanted) in [
        (
            "--config-file",
            "/nowhere/heat.conf",
            "cannot read /nowhere/heat.conf: No such file",
        ),
        (
            "--config-dir",
            "/nowhere",
            "configuration directory /nowhere does not exist",
        ),
        (
            "--config-file",
            &broken.display().to_string(),
            ":2: no ':' or '=' in an assignment",
        ),
    ] {
        let output = program(&[argument, path]);
        let complaint = text(&output.stderr);
        assert_eq!(output.status.code(), Some(2), "{complaint}");
        assert!(
            complaint.contains(wanted) && complaint.lines().count() == 1,
            "{complaint}"
        );
    }
}

#[test]
fn the_command_line_is_refused_or_explained() {
    assert_eq!(program(&["--no-such-option"]).status.code(), Some(2));
    let help = text(&program(&["--help"]).stdout);
    for wanted in [
        "--config-file",
        "--config-dir",
        "--log-file",
        "--use-journal",
        "Exit codes",
        "SIGHUP",
    ] {
        assert!(help.contains(wanted), "{wanted} in {help}");
    }
    assert!(text(&program(&["--version"]).stdout).starts_with("heat-engine-rs "));
}

#[test]
fn a_sound_configuration_is_shown_without_its_secrets() {
    let directory = Directory::new("shown");
    let file = directory.file(
        "heat.conf",
        "[DEFAULT]\nauth_encryption_key = 0123456789abcdef0123456789abcdef\nrpc_thread_pool_size = 8\n\
         transport_url = rabbit://u:tell-nobody1@h/\nnum_engine_workers = 4\n\
         [database]\nconnection = mysql+pymysql://u:tell-nobody2@h/heat\n[trustee]\npassword = tell-nobody3\n",
    );
    let output = program(&[
        "--check-config",
        "--debug",
        "--config-file",
        &file.display().to_string(),
    ]);
    assert!(output.status.success(), "{}", text(&output.stderr));
    let shown = text(&output.stdout);
    assert!(
        !shown.contains("tell-nobody") && !shown.contains("0123456789abcdef"),
        "{shown}"
    );
    for wanted in [
        "executor_thread_pool_size = 8",
        "[DEFAULT] rpc_thread_pool_size is now [DEFAULT] executor_thread_pool_size",
        "# from command line --debug\ndebug = true",
        "connection = ***",
        "not used: one process serves",
    ] {
        assert!(shown.contains(wanted), "{wanted} in {shown}");
    }
}

#[test]
fn a_soft_order_ends_the_engine_in_peace() {
    let mut engine = RunningEngine::start("term", "", &[]);
    engine.wait_for("WATCHDOG=1");
    engine.signal("TERM");
    engine.wait_for("STOPPING=1");
    assert_eq!(engine.wait().code(), Some(0), "{}", engine.log());
    let left = engine
        .database
        .sql("SELECT COUNT(*) FROM service WHERE deleted_at IS NULL");
    assert_eq!(left[0][0], "0", "the own row of the service table is gone");
    let log = engine.log();
    assert!(
        log.contains("SIGTERM: taking nothing new") && log.contains("has ended"),
        "{log}"
    );
}

#[test]
fn the_second_order_is_obeyed_at_once() {
    let mut engine = RunningEngine::start("int", "", &[]);
    engine.signal("INT");
    engine.signal("TERM");
    assert_eq!(engine.wait().code(), Some(0), "{}", engine.log());
}

#[test]
fn lines_have_the_order_of_oslo_log() {
    let mut engine = RunningEngine::start("lines", "", &[]);
    engine.signal("TERM");
    engine.wait();
    let log = engine.log();
    let process = engine.child.id().to_string();
    for line in log.lines() {
        let parts: Vec<&str> = line.splitn(6, ' ').collect();
        let [date, time, number, level, target, rest] = parts[..] else {
            panic!("{line}")
        };
        assert_eq!((date.len(), time.len()), (10, 12), "{line}");
        assert!(time.as_bytes()[8] == b'.' && number == process, "{line}");
        assert!(["DEBUG", "INFO", "WARNING", "ERROR"].contains(&level), "{line}");
        assert!(!target.is_empty() && rest.starts_with('['), "{line}");
    }
    assert!(log.lines().count() > 2, "{log}");
}

#[test]
fn json_has_the_keys_of_oslo_log() {
    let mut engine = RunningEngine::start("json", "[heat_engine_rs]\nlog_json = true", &[]);
    engine.signal("TERM");
    engine.wait();
    for line in engine.log().lines() {
        let record: Value = serde_json::from_str(line).unwrap_or_else(|error| panic!("{error}: {line}"));
        for key in [
            "message",
            "asctime",
            "name",
            "levelname",
            "levelno",
            "process",
            "hostname",
            "context",
            "extra",
        ] {
            assert!(record.get(key).is_some(), "{key} in {line}");
        }
    }
}

#[test]
fn a_hang_up_opens_the_log_anew_and_reads_the_levels_again() {
    let mut engine = RunningEngine::start("hup", "", &[]);
    let moved = engine.log.with_extension("log.1");
    std::fs::rename(&engine.log, &moved).expect("the log can be moved");
    let mut configuration = std::fs::OpenOptions::new()
        .append(true)
        .open(&engine.configuration)
        .expect("the configuration");
    writeln!(configuration, "[DEFAULT]\ndebug = true").expect("the configuration can be written");
    engine.signal("HUP");
    engine.wait_for("RELOADING=1");
    engine.wait_for("READY=1");
    engine.wait_for_log("logging is set up anew, debug = true");
    assert!(text(&std::fs::read(&moved).expect("the old log")).contains("starts, process"));
    engine.signal("TERM");
    assert_eq!(engine.wait().code(), Some(0));
}

#[test]
fn a_moved_log_is_made_anew_without_a_signal() {
    let mut engine = RunningEngine::start("moved", "", &[]);
    std::thread::sleep(Duration::from_millis(1100));
    std::fs::rename(&engine.log, engine.log.with_extension("log.1")).expect("the log can be moved");
    engine.signal("TERM");
    engine.wait();
    assert!(engine.log().contains("has ended"), "{}", engine.log());
}

#[test]
fn secrets_are_never_logged() {
    let mut engine = RunningEngine::start("secrets", "", &["--debug"]);
    engine.signal("TERM");
    engine.wait();
    let log = engine.log();
    let lab = Lab::get();
    assert!(log.contains("DEBUG"), "{log}");
    for secret in [&lab.auth_encryption_key, &lab.keystone.domain_admin_password] {
        assert!(!log.contains(secret.as_str()), "{log}");
    }
    let connection = format!("{}:{}@", lab.database.user, lab.database.password);
    assert!(!log.contains(&connection), "{log}");
}

/// The unit and the sample are what an operator installs: the one names options and signals that exist, the other loads.
#[test]
fn what_is_installed_is_sound() {
    let sample = Path::new(env!("CARGO_MANIFEST_DIR")).join("config/heat.conf.sample");
    let output = program(&["--check-config", "--config-file", &sample.display().to_string()]);
    assert!(output.status.success(), "{}", text(&output.stderr));
    let shown = text(&output.stdout);
    assert!(!shown.contains("# warning"), "{shown}");
    let unit = include_str!("../../config/heat-engine-rs.service");
    for wanted in [
        "Type=notify",
        "WatchdogSec=",
        "ExecStart=/usr/bin/heat-engine-rs --config-file /etc/heat/heat.conf",
    ] {
        assert!(unit.contains(wanted), "{wanted}");
    }
}

/// Every verb and option that an operator is told to type is one.
#[test]
fn what_the_documents_call_for_exists() {
    const DOCUMENTS: [&str; 3] = [
        include_str!("../../README.md"),
        include_str!("../../docs/operations.md"),
        include_str!("../../config/prometheus-alerts.yaml"),
    ];
    let help = |arguments: &[&str]| text(&program(&[arguments, &["--help"]].concat()).stdout);
    let verbs = [
        "doctor",
        "inspect",
        "template validate",
        "template resolve",
        "template functions",
    ];
    let of_verbs: Vec<(&str, String)> = verbs
        .into_iter()
        .map(|verb| (verb, help(&verb.split(' ').collect::<Vec<_>>())))
        .chain([("", help(&[]))])
        .collect();
    // An option is known where its verb is named, or, where none is, to any of them.
    let is_known = |command: &str, name: &str| {
        let is_of = |verb: &str| verb.is_empty() || command.starts_with(verb);
        let names_verb = verbs.iter().any(|verb| command.starts_with(verb));
        let helps = of_verbs.iter().filter(|(verb, _)| !names_verb || is_of(verb));
        let is_part = |it: char| it.is_ascii_alphanumeric() || it == '-';
        let mut words = helps.flat_map(|(_, help)| help.split(|it| !is_part(it)));
        words.any(|word| word == name)
    };
    let mut seen = 0;
    for line in DOCUMENTS.iter().flat_map(|document| document.lines()) {
        let spans = line.split('`').skip(1).step_by(2).filter(|span| span.starts_with("--"));
        let commands = line.split("heat-engine-rs ").skip(1).chain(spans);
        for command in commands.map(|command| command.split(['`', '|', '…', '(']).next().unwrap_or_default()) {
            for option in command.split_whitespace().filter(|word| word.starts_with("--")) {
                let name = option.split(['=', '[', '.', ',', ';', ':']).next().unwrap_or_default();
                assert!(is_known(command, name), "{name} in {line:?}");
                seen += 1;
            }
        }
    }
    assert!(seen > 20, "{seen}");
}
