//! The lab as the integration tests see it: where its parts answer, and a database or a vhost of one's own.
//!
//! The lab is the machine's, not a test's: many tests share it, at the same time. So nothing here changes what is
//! shared; a test takes a fresh database and a fresh vhost, and both go when the test ends. A test that is killed leaves
//! them behind, which is why their names carry the process id: the next run drops those whose process is gone.

use std::collections::HashMap;
use std::io::Write;
use std::net::TcpListener;
use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};
use std::sync::OnceLock;
use std::sync::atomic::{AtomicU32, Ordering};

use lapin::options::{BasicPublishOptions, ConfirmSelectOptions};
use lapin::{BasicProperties, Confirmation, Connection, ConnectionProperties};
use serde_json::Value;

const SCHEMA: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/migrations/heat_schema.sql");
const PREFIX: &str = "heat_test_";

pub struct Lab {
    pub directory: PathBuf,
    pub database: DatabaseServer,
    pub broker: Broker,
    pub keystone: Keystone,
    pub heat_api_url: String,
    pub heat_cfn_url: String,
    /// The configuration that the lab's own heat-api and engines run with.
    pub heat_conf: PathBuf,
    pub auth_encryption_key: String,
    /// An interpreter in which `import heat` gives the oracle.
    pub python: PathBuf,
}

pub struct DatabaseServer {
    pub host: String,
    pub port: u16,
    pub user: String,
    pub password: String,
}

pub struct Broker {
    pub host: String,
    pub port: u16,
    pub user: String,
    pub password: String,
    pub management_url: String,
}

pub struct Keystone {
    /// Unversioned, as in the catalogue; add `/v3` for `auth_url`.
    pub url: String,
    pub region: String,
    pub admin_password: String,
    pub demo_password: String,
    /// Of user `heat` in project `service`.
    pub service_password: String,
    /// Of user `heat_domain_admin` in domain `heat`.
    pub domain_admin_password: String,
}

impl Lab {
    /// The running lab. Panics, saying how to start it, where there is none: a test that needs the lab never passes
    /// for want of it.
    pub fn get() -> &'static Lab {
        static LAB: OnceLock<Lab> = OnceLock::new();
        LAB.get_or_init(|| {
            let lab = Lab::read();
            lab.sweep();
            lab
        })
    }

    fn read() -> Lab {
        let directory = match std::env::var_os("LAB_DIR") {
            Some(directory) => PathBuf::from(directory),
            None => PathBuf::from(std::env::var_os("HOME").expect("HOME is set")).join(".cache/heat-lab"),
        };
        let coordinates = Coordinates::read(&directory.join("lab.env"));
        let lab = Lab {
            directory,
            database: DatabaseServer {
                host: coordinates.text("LAB_HOST"),
                port: coordinates.port("LAB_DB_PORT"),
                user: "root".to_owned(),
                password: coordinates.text("LAB_DB_ROOT_PASSWORD"),
            },
            broker: Broker {
                host: coordinates.text("LAB_HOST"),
                port: coordinates.port("LAB_AMQP_PORT"),
                user: coordinates.text("LAB_AMQP_USER"),
                password: coordinates.text("LAB_AMQP_PASSWORD"),
                management_url: coordinates.text("LAB_MANAGEMENT_URL"),
            },
            keystone: Keystone {
                url: coordinates.text("LAB_KEYSTONE_URL"),
                region: coordinates.text("LAB_REGION"),
                admin_password: coordinates.text("LAB_ADMIN_PASSWORD"),
                demo_password: coordinates.text("LAB_DEMO_PASSWORD"),
                service_password: coordinates.text("LAB_SERVICE_PASSWORD"),
                domain_admin_password: coordinates.text("LAB_DOMAIN_ADMIN_PASSWORD"),
            },
            heat_api_url: coordinates.text("LAB_HEAT_API_URL"),
            heat_cfn_url: coordinates.text("LAB_HEAT_CFN_URL"),
            heat_conf: coordinates.text("LAB_HEAT_CONF").into(),
            auth_encryption_key: coordinates.text("LAB_AUTH_ENCRYPTION_KEY"),
            python: coordinates.text("LAB_PYTHON").into(),
        };
        let reachable = std::net::TcpStream::connect((lab.database.host.as_str(), lab.database.port)).is_ok();
        assert!(
            reachable,
            "the lab's database does not answer on port {}: run tests/lab/up",
            lab.database.port
        );
        lab
    }

    /// A database with Heat's schema in it (the alembic head) and nothing else.
    pub fn fresh_database(&self, hint: &str) -> TestDatabase {
        let database = self.empty_database(hint);
        let schema = std::fs::File::open(SCHEMA).expect("migrations/heat_schema.sql is there");
        database.client().stdin(schema).checked_output();
        database
    }

    /// A database without tables.
    pub fn empty_database(&self, hint: &str) -> TestDatabase {
        let database = TestDatabase {
            name: unique_name(hint),
        };
        self.sql(&format!("CREATE DATABASE {} CHARACTER SET utf8mb3", database.name));
        database
    }

    /// Runs statements as root, outside of any database; gives the rows' columns as text.
    pub fn sql(&self, statements: &str) -> Vec<Vec<String>> {
        rows(&self.database.client().args(["-e", statements]).checked_output())
    }

    /// As `sql`, for what may be refused.
    pub fn try_sql(&self, statements: &str) {
        let _ = self.database.client().args(["-e", statements]).output();
    }

    /// A vhost of one's own in which the lab's user may do everything.
    pub fn fresh_vhost(&self, hint: &str) -> TestVhost {
        let vhost = TestVhost {
            name: unique_name(hint),
        };
        self.management("PUT", &format!("vhosts/{}", vhost.name), Some("{}"));
        self.management(
            "PUT",
            &format!("permissions/{}/{}", vhost.name, self.broker.user),
            Some(r#"{"configure": ".*", "write": ".*", "read": ".*"}"#),
        );
        vhost
    }

    /// A request to the broker's management API. `path` is relative to `/api/`; the answer is Null where it is empty.
    pub fn management(&self, method: &str, path: &str, body: Option<&str>) -> Value {
        let mut curl = Command::new("curl");
        curl.args([
            "-sS",
            "--fail-with-body",
            "-X",
            method,
            "-H",
            "content-type: application/json",
        ])
        .args(["-u", &format!("{}:{}", self.broker.user, self.broker.password)])
        .arg(format!("{}/api/{path}", self.broker.management_url));
        if let Some(body) = body {
            curl.args(["-d", body]);
        }
        let answer = curl.checked_output();
        if answer.is_empty() {
            return Value::Null;
        }
        serde_json::from_slice(&answer).unwrap_or_else(|error| panic!("{method} {path}: {error}"))
    }

    /// Runs Python code with the oracle's modules at hand; the caller looks at the exit status.
    pub fn python(&self, code: &str, arguments: &[&str]) -> Output {
        self.run_python(&["-c", code], arguments)
    }

    /// The same of a program in a file, which may use others beside it.
    pub fn python_file(&self, path: &str, arguments: &[&str]) -> Output {
        self.run_python(&[path], arguments)
    }

    fn run_python(&self, program: &[&str], arguments: &[&str]) -> Output {
        let mut python = Command::new(&self.python);
        python.args(["-W", "ignore"]).args(program).args(arguments);
        python
            .output()
            .unwrap_or_else(|error| panic!("{}: {error}", self.python.display()))
    }

    /// As `python`, for code that must succeed: its standard output, parsed as JSON.
    pub fn python_json(&self, code: &str, arguments: &[&str]) -> Value {
        let mut python = Command::new(&self.python);
        let output = python
            .args(["-W", "ignore", "-c", code])
            .args(arguments)
            .checked_output();
        serde_json::from_slice(&output)
            .unwrap_or_else(|error| panic!("{error} in {}", String::from_utf8_lossy(&output)))
    }

    /// Calls methods of an engine as heat-api does, with the stock client, one after the other.
    pub fn calls(&self, heat_conf: &Path, calls: &Value) -> Vec<Value> {
        self.calls_written(heat_conf, &calls.to_string())
    }

    /// As `calls`, from a text that may hold what only Python reads.
    pub fn calls_written(&self, heat_conf: &Path, calls: &str) -> Vec<Value> {
        const CALLER: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/lab/rpc_call.py");
        let mut client = Command::new(&self.python)
            .args(["-W", "ignore", CALLER])
            .arg(heat_conf)
            .arg(&self.keystone.url)
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()
            .expect("the client starts");
        let mut input = client.stdin.take().expect("a pipe to the client");
        input.write_all(calls.as_bytes()).expect("the calls are written");
        drop(input);
        let output = client.wait_with_output().expect("the client ends");
        let errors = String::from_utf8_lossy(&output.stderr);
        match serde_json::from_slice(&output.stdout) {
            Ok(Value::Array(answers)) => answers,
            other => panic!("{other:?}: {errors}"),
        }
    }

    /// The path of a program of the lab's virtual environment, such as `heat-manage` or `openstack`.
    pub fn program(&self, name: &str) -> PathBuf {
        self.python.with_file_name(name)
    }

    /// Writes a heat.conf for an engine on a database and vhost of its own: the lab's, with the two connections
    /// replaced and `extra` appended (oslo.config takes the last value of an option and merges repeated groups).
    pub fn write_heat_conf(&self, database: &TestDatabase, vhost: &TestVhost, extra: &str) -> PathBuf {
        let lab_conf = std::fs::read_to_string(&self.heat_conf)
            .unwrap_or_else(|error| panic!("{}: {error}", self.heat_conf.display()));
        let text = format!(
            "{lab_conf}\n[DEFAULT]\ntransport_url = {}\n[database]\nconnection = {}\n{extra}\n",
            vhost.transport_url(),
            database.url()
        );
        let path = Path::new(env!("CARGO_TARGET_TMPDIR")).join(format!("{}.conf", vhost.name));
        std::fs::write(&path, text).unwrap_or_else(|error| panic!("{}: {error}", path.display()));
        path
    }

    fn delete_vhost(&self, name: &str) {
        let _ = Command::new("curl")
            .args(["-sS", "-X", "DELETE", "-u"])
            .arg(format!("{}:{}", self.broker.user, self.broker.password))
            .arg(format!("{}/api/vhosts/{name}", self.broker.management_url))
            .output();
    }

    /// Drops what test processes that are gone have left behind.
    fn sweep(&self) {
        for row in self.sql(&format!("SHOW DATABASES LIKE '{}%'", PREFIX.replace('_', "\\_"))) {
            if is_orphan(&row[0]) {
                self.sql(&format!("DROP DATABASE IF EXISTS {}", row[0]));
            }
        }
        for vhost in self
            .management("GET", "vhosts?columns=name", None)
            .as_array()
            .into_iter()
            .flatten()
        {
            let name = vhost["name"].as_str().unwrap_or_default();
            if is_orphan(name) {
                self.delete_vhost(name);
            }
        }
    }
}

impl DatabaseServer {
    fn client(&self) -> Command {
        let mut client = Command::new("mariadb");
        client
            .args([
                "--no-defaults",
                "--batch",
                "--skip-column-names",
                "--default-character-set=utf8mb4",
            ])
            .args([
                format!("--host={}", self.host),
                format!("--port={}", self.port),
                format!("--user={}", self.user),
                format!("--password={}", self.password),
            ]);
        client
    }
}

/// A database of the test's own; dropped with this value.
pub struct TestDatabase {
    pub name: String,
}

impl TestDatabase {
    /// As SQLAlchemy writes it in `[database] connection`.
    pub fn url(&self) -> String {
        let server = &Lab::get().database;
        format!(
            "mysql+pymysql://{}:{}@{}:{}/{}",
            server.user, server.password, server.host, server.port, self.name
        )
    }

    /// Runs statements in this database; gives the rows' columns as text (SQL NULL is `NULL`).
    pub fn sql(&self, statements: &str) -> Vec<Vec<String>> {
        rows(&self.client().args(["-e", statements]).checked_output())
    }

    fn client(&self) -> Command {
        let mut client = Lab::get().database.client();
        client.arg(&self.name);
        client
    }
}

impl Drop for TestDatabase {
    fn drop(&mut self) {
        // Not checked: a panic while another one unwinds would abort the whole run, and the sweep finds what stays.
        let drop = format!("DROP DATABASE IF EXISTS {}", self.name);
        let _ = Lab::get().database.client().args(["-e", &drop]).output();
    }
}

/// A port for a server that is yet to start. It is none of those that the system gives to connections, one of which might take
/// it in the meantime.
pub fn free_port() -> u16 {
    const FIRST: u32 = 24_000;
    const COUNT: u32 = 8_000;
    static NEXT: AtomicU32 = AtomicU32::new(0);
    loop {
        // Runs beside this one begin elsewhere.
        let begin = std::process::id().wrapping_mul(131);
        let chosen = FIRST + begin.wrapping_add(NEXT.fetch_add(1, Ordering::Relaxed)) % COUNT;
        let port = u16::try_from(chosen).expect("a port");
        if TcpListener::bind(("127.0.0.1", port)).is_ok() {
            return port;
        }
    }
}

/// A vhost of the test's own; deleted, with all that is in it, with this value.
pub struct TestVhost {
    pub name: String,
}

impl TestVhost {
    /// As `transport_url` has it.
    pub fn transport_url(&self) -> String {
        let broker = &Lab::get().broker;
        format!(
            "rabbit://{}:{}@{}:{}/{}",
            broker.user, broker.password, broker.host, broker.port, self.name
        )
    }

    pub fn queues(&self) -> Vec<Value> {
        self.list("queues")
    }

    pub fn exchanges(&self) -> Vec<Value> {
        self.list("exchanges")
    }

    pub fn bindings(&self) -> Vec<Value> {
        self.list("bindings")
    }

    /// As a stranger to oslo.messaging has it.
    pub async fn connect(&self) -> Connection {
        let address = self.transport_url().replace("rabbit:", "amqp:");
        let connection = Connection::connect(&address, ConnectionProperties::default()).await;
        connection.expect("the broker answers")
    }

    /// Sends a frame of any size as it is to one of Heat's topics, where a queue must take it.
    pub fn publish(&self, topic: &str, body: &str) {
        let runtime = tokio::runtime::Runtime::new().expect("a runtime");
        let returned = runtime.block_on(async {
            let connection = self.connect().await;
            let channel = connection.create_channel().await?;
            channel.confirm_select(ConfirmSelectOptions::default()).await?;
            let mandatory = BasicPublishOptions {
                mandatory: true,
                ..BasicPublishOptions::default()
            };
            let properties = BasicProperties::default()
                .with_content_type("application/json".into())
                .with_content_encoding("utf-8".into());
            let confirmation = channel
                .basic_publish("heat".into(), topic.into(), mandatory, body.as_bytes(), properties)
                .await?;
            confirmation.await
        });
        match returned.expect("the broker takes it") {
            Confirmation::Ack(None) => {}
            other => panic!("{topic}: {other:?}"),
        }
    }

    /// Loses every message that waits in a queue.
    pub fn purge(&self, queue: &str) {
        Lab::get().management("DELETE", &format!("queues/{}/{queue}/contents", self.name), None);
    }

    pub fn delete_queue(&self, queue: &str) {
        let path = format!("queues/{}/{}", self.name, queue.replace('/', "%2F"));
        Lab::get().management("DELETE", &path, None);
    }

    /// Closes every client connection of this vhost, as a restart of the broker would.
    pub fn close_connections(&self) {
        for connection in self.list("connections") {
            let name = connection["name"]
                .as_str()
                .unwrap_or_default()
                .replace(' ', "%20")
                .replace('>', "%3E");
            Lab::get().management("DELETE", &format!("connections/{name}"), None);
        }
    }

    fn list(&self, kind: &str) -> Vec<Value> {
        let path = match kind {
            "connections" => format!("vhosts/{}/connections", self.name),
            _ => format!("{kind}/{}", self.name),
        };
        match Lab::get().management("GET", &path, None) {
            Value::Array(items) => items,
            other => panic!("{path}: {other}"),
        }
    }
}

impl Drop for TestVhost {
    fn drop(&mut self) {
        Lab::get().delete_vhost(&self.name);
    }
}

/// The KEY=VALUE lines that `tests/lab/up` leaves.
struct Coordinates {
    path: PathBuf,
    values: HashMap<String, String>,
}

impl Coordinates {
    fn read(path: &Path) -> Coordinates {
        let text = std::fs::read_to_string(path).unwrap_or_else(|error| {
            panic!("no lab runs here ({}: {error}): run tests/lab/up", path.display());
        });
        let values = text
            .lines()
            .filter(|line| !line.starts_with('#'))
            .filter_map(|line| line.split_once('='))
            .map(|(key, value)| (key.to_owned(), value.to_owned()))
            .collect();
        Coordinates {
            path: path.to_owned(),
            values,
        }
    }

    fn text(&self, key: &str) -> String {
        let value = self.values.get(key);
        value
            .unwrap_or_else(|| panic!("{} lacks {key}: run tests/lab/up", self.path.display()))
            .clone()
    }

    fn port(&self, key: &str) -> u16 {
        self.text(key)
            .parse()
            .unwrap_or_else(|error| panic!("{}: {key}: {error}", self.path.display()))
    }
}

trait CheckedOutput {
    /// Standard output of a program that must succeed.
    fn checked_output(&mut self) -> Vec<u8>;
}

impl CheckedOutput for Command {
    fn checked_output(&mut self) -> Vec<u8> {
        let output = self.stderr(Stdio::piped()).output();
        let output = output.unwrap_or_else(|error| panic!("{:?}: {error}", self.get_program()));
        if !output.status.success() {
            let _ = std::io::stderr().write_all(&output.stderr);
            panic!(
                "{:?} ended with {}: {}",
                self.get_program(),
                output.status,
                String::from_utf8_lossy(&output.stdout)
            );
        }
        output.stdout
    }
}

fn rows(batch: &[u8]) -> Vec<Vec<String>> {
    let text = String::from_utf8_lossy(batch);
    text.lines()
        .map(|line| line.split('\t').map(unescape_batch).collect())
        .collect()
}

/// The mariadb client's batch mode escapes what would break a line or a column.
fn unescape_batch(column: &str) -> String {
    let mut plain = String::with_capacity(column.len());
    let mut characters = column.chars();
    while let Some(character) = characters.next() {
        match (character, character == '\\') {
            (_, true) => match characters.next() {
                Some('n') => plain.push('\n'),
                Some('t') => plain.push('\t'),
                Some('0') => plain.push('\0'),
                Some(other) => plain.push(other),
                None => plain.push('\\'),
            },
            (character, false) => plain.push(character),
        }
    }
    plain
}

fn unique_name(hint: &str) -> String {
    static COUNTER: AtomicU32 = AtomicU32::new(0);
    let number = COUNTER.fetch_add(1, Ordering::Relaxed);
    format!("{PREFIX}{}_{number}_{hint}", std::process::id())
}

fn is_orphan(name: &str) -> bool {
    let process = name.strip_prefix(PREFIX).and_then(|rest| rest.split('_').next());
    process.is_some_and(|process| !Path::new("/proc").join(process).exists())
}

#[test]
fn a_fresh_database_has_the_schema_and_goes_again() {
    let lab = Lab::get();
    let database = lab.fresh_database("lab");
    assert_eq!(database.sql("SELECT COUNT(*) FROM alembic_version"), [["1"]]);
    assert_eq!(database.sql(r"SELECT 'a\tb\nc\\d'"), [["a\tb\nc\\d"]]);
    let name = database.name.clone();
    drop(database);
    assert!(lab.sql(&format!("SHOW DATABASES LIKE '{name}'")).is_empty());
}

#[test]
fn a_fresh_vhost_is_empty_and_goes_again() {
    let lab = Lab::get();
    let vhost = lab.fresh_vhost("lab");
    assert!(vhost.queues().is_empty());
    assert!(vhost.exchanges().iter().any(|exchange| exchange["name"] == "amq.topic"));
    assert!(vhost.bindings().is_empty());
    let name = vhost.name.clone();
    drop(vhost);
    let left = lab.management("GET", "vhosts?columns=name", None);
    assert!(
        left.as_array()
            .is_some_and(|vhosts| vhosts.iter().all(|vhost| vhost["name"] != name.as_str()))
    );
}

#[test]
fn python_has_the_oracle() {
    let version = Lab::get().python_json(
        "import json, sys, importlib.metadata as m; print(json.dumps([m.version('openstack-heat'), sys.argv[1]]))",
        &["seen"],
    );
    assert_eq!(version, serde_json::json!(["27.0.1", "seen"]));
}
