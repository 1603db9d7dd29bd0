//! A deployment of its own: vhost, database, heat.conf, the engines that a test starts, and a caller.

use std::ffi::OsString;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, ExitStatus, Stdio};
use std::sync::OnceLock;
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::{Duration, Instant};

use heat_engine::clock::Clock;
use heat_engine::messaging::{Bus, CallError, Fault, Options, RpcClient, Target};
use heat_engine::settings::{Settings, SettingsSources};
use serde_json::{Map, Value, json};
use sqlx::mysql::MySqlPoolOptions;
use sqlx::{MySqlPool, Row};
use tokio::task::JoinHandle;

use crate::cloud::caller;
use crate::lab::{Lab, TestDatabase, TestVhost};
use crate::process_group;

/// `HEAT_ENGINE_RS` names another build, as for the lab's scripts.
pub fn program() -> OsString {
    std::env::var_os("HEAT_ENGINE_RS").unwrap_or(env!("CARGO_BIN_EXE_heat-engine-rs").into())
}

/// Long enough for a loaded machine; nothing waits that long unless it fails.
pub const PATIENCE: Duration = Duration::from_secs(120);
const LOOK_AGAIN: Duration = Duration::from_millis(50);

/// A user's context as heat-api sends it, with a token of Keystone's; the same for all tests of a run.
/// The context of a user like any other.
pub fn demo() -> &'static Map<String, Value> {
    static DEMO: OnceLock<Map<String, Value>> = OnceLock::new();
    DEMO.get_or_init(|| caller("demo", &Lab::get().keystone.url).to_wire())
}

pub struct Site {
    pub database: TestDatabase,
    pub vhost: TestVhost,
    pub configuration: PathBuf,
    pool: MySqlPool,
    bus: Bus,
    rpc: RpcClient,
}

/// Servers other than the lab's, as heat.conf names them.
#[derive(Default)]
pub struct Servers {
    pub database: Option<String>,
    pub broker: Option<String>,
}

#[derive(Clone)]
pub struct Caller(RpcClient);

impl Caller {
    pub async fn try_call(&self, method: &str, arguments: Value) -> Result<Value, CallError> {
        self.try_call_as(demo(), method, arguments).await
    }

    pub async fn try_call_as(
        &self,
        context: &Map<String, Value>,
        method: &str,
        arguments: Value,
    ) -> Result<Value, CallError> {
        let target = Target::topic("engine", "1.36");
        let Value::Object(arguments) = arguments else {
            panic!("arguments are a map");
        };
        self.0.call(&target, method, arguments, context, PATIENCE).await
    }
}

/// A stack that a test has made.
#[derive(Clone, Debug)]
pub struct Stack {
    pub name: String,
    pub id: String,
    identity: Value,
}

/// A row of `resource`, as far as tests look at it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Resource {
    pub id: i32,
    pub name: String,
    pub action: String,
    pub status: String,
    pub status_reason: Option<String>,
    pub physical_resource_id: Option<String>,
    pub engine_id: Option<String>,
    pub replaces: Option<i32>,
    pub replaced_by: Option<i32>,
}

impl Resource {
    pub fn state(&self) -> String {
        format!("{}_{}", self.action, self.status)
    }
}

impl Site {
    /// `extra` is appended to heat.conf.
    pub async fn new(hint: &str, extra: &str) -> Self {
        Self::among(hint, extra, Servers::default()).await
    }

    /// As `new`, where some of the servers are not the lab's.
    pub async fn among(hint: &str, extra: &str, servers: Servers) -> Self {
        let lab = Lab::get();
        let (database, vhost) = (lab.fresh_database(hint), lab.fresh_vhost(hint));
        let database_url = servers.database.unwrap_or_else(|| database.url());
        let transport_url = servers.broker.unwrap_or_else(|| vhost.transport_url());
        let places =
            format!("[database]\nconnection = {database_url}\n[DEFAULT]\ntransport_url = {transport_url}\n{extra}");
        let configuration = lab.write_heat_conf(&database, &vhost, &places);
        let url = database_url.replace("mysql+pymysql:", "mysql:");
        let pool = MySqlPoolOptions::new()
            .max_connections(2)
            .acquire_timeout(PATIENCE)
            .connect_lazy(&url)
            .expect("the URL is good");
        let settings = Settings::load(&SettingsSources::default()).expect("the defaults are good");
        let mut options = Options::new(&settings.messaging);
        options.transport.transport_url = transport_url.into();
        let bus = Bus::open(options, Clock::system()).expect("the options are good");
        Self {
            rpc: RpcClient::new(&bus),
            database,
            vhost,
            configuration,
            pool,
            bus,
        }
    }

    // ------------------------------------------------------------------ engines

    /// One of our engines, as soon as it serves all topics.
    pub async fn engine(&self) -> Engine {
        self.engine_with(&[]).await
    }

    /// As `engine`, with options in the environment as oslo.config reads them.
    pub async fn engine_with(&self, options: &[(&str, &str)]) -> Engine {
        let engine = self.launch_with(options);
        eventually("the engine serves all topics", || async {
            engine.fail_if_dead();
            engine.log().contains("all topics are served")
        })
        .await;
        engine
    }

    /// As `engine_with`, without waiting for it.
    pub fn launch_with(&self, options: &[(&str, &str)]) -> Engine {
        let mut command = Command::new(program());
        command
            .args(["--debug", "--config-file"])
            .arg(&self.configuration)
            .envs(options.iter().copied());
        self.start("rust", command)
    }

    /// A Python engine, without its pause between leaves.
    pub async fn python_engine(&self) -> Engine {
        let without_pause = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/lab/heat_engine_nosleep.py");
        let mut command = Command::new(&Lab::get().python);
        command
            .args(["-W", "ignore", without_pause, "--config-file"])
            .arg(&self.configuration)
            .envs([("OS_DEFAULT__NUM_ENGINE_WORKERS", "1"), ("OS_DEFAULT__HOST", "python")]);
        let before = self.living_engines().await;
        let engine = self.start("python", command);
        eventually("the Python engine serves all topics", || async {
            engine.fail_if_dead();
            self.living_engines().await > before && self.consumers("engine.python") > 0
        })
        .await;
        engine
    }

    fn start(&self, kind: &str, mut command: Command) -> Engine {
        static COUNTER: AtomicU32 = AtomicU32::new(0);
        let number = COUNTER.fetch_add(1, Ordering::Relaxed);
        let log = Path::new(env!("CARGO_TARGET_TMPDIR")).join(format!("{}-{kind}-{number}.log", self.vhost.name));
        let output = std::fs::File::create(&log).expect("the log can be written");
        command
            .stdin(Stdio::null())
            .stdout(output.try_clone().expect("a second handle"))
            .stderr(output);
        let process = process_group::spawn(&mut command).expect("the engine starts");
        Engine { process, log }
    }

    pub async fn living_engines(&self) -> i64 {
        self.count("service WHERE deleted_at IS NULL").await
    }

    fn consumers(&self, queue: &str) -> u64 {
        let queues = self.vhost.queues();
        let queue = queues.iter().find(|known| known["name"] == queue);
        queue.and_then(|queue| queue["consumers"].as_u64()).unwrap_or(0)
    }

    // ------------------------------------------------------------------ requests

    pub async fn try_call(&self, method: &str, arguments: Value) -> Result<Value, CallError> {
        self.caller().try_call(method, arguments).await
    }

    /// Somebody who asks in the test's name, and may wait for the answer elsewhere.
    pub fn caller(&self) -> Caller {
        Caller(self.rpc.clone())
    }

    /// The project of all that asks.
    pub fn tenant(&self) -> String {
        demo()["project_id"].as_str().expect("a project").to_owned()
    }

    pub async fn call(&self, method: &str, arguments: Value) -> Value {
        match self.try_call(method, arguments).await {
            Ok(answer) => answer,
            Err(CallError::Remote { fault, .. }) => panic!("{method}: {fault:?}"),
            Err(error) => panic!("{method}: {error}"),
        }
    }

    /// How a request is refused.
    pub async fn refusal(&self, method: &str, arguments: Value) -> Fault {
        match self.try_call(method, arguments).await {
            Err(CallError::Remote { fault, .. }) => fault,
            other => panic!("{method} is not refused: {other:?}"),
        }
    }

    pub async fn create(&self, name: &str, template: Value) -> Stack {
        self.create_with(name, template, json!({})).await
    }

    /// `args`: timeout_mins, disable_rollback and the like.
    pub async fn create_with(&self, name: &str, template: Value, args: Value) -> Stack {
        let identity = self.call("create_stack", create_arguments(name, template, args)).await;
        Stack {
            name: name.to_owned(),
            id: identity["stack_id"].as_str().expect("an identity").to_owned(),
            identity,
        }
    }

    /// By the cloud's administrator, who finds the services where `keystone_url` says.
    pub async fn create_as_admin(&self, name: &str, template: Value, keystone_url: &str) -> Stack {
        let admin = caller("admin", keystone_url).to_wire();
        let arguments = create_arguments(name, template, json!({}));
        let created = self.caller().try_call_as(&admin, "create_stack", arguments).await;
        let identity = created.expect("the stack is created");
        Stack {
            name: name.to_owned(),
            id: identity["stack_id"].as_str().expect("an identity").to_owned(),
            identity,
        }
    }

    pub async fn delete_as_admin(&self, stack: &Stack, keystone_url: &str) {
        let admin = caller("admin", keystone_url).to_wire();
        let deleted = self.ask_to_delete(stack, &admin).await;
        deleted.expect("no panic").expect("the stack is deleted");
    }

    /// The answer may be lost with the engine.
    pub fn ask_to_delete(&self, stack: &Stack, owner: &Map<String, Value>) -> JoinHandle<Result<Value, CallError>> {
        let (caller, arguments, owner) = (self.caller(), stack.delete_arguments(), owner.clone());
        tokio::spawn(async move { caller.try_call_as(&owner, "delete_stack", arguments).await })
    }

    /// A message that nobody answers.
    pub async fn cast(&self, target: &Target, method: &str, arguments: Map<String, Value>) {
        let cast = self.rpc.cast(target, method, arguments, demo()).await;
        cast.expect("a queue takes it");
    }

    /// What one engine answers to what only other engines ask.
    pub async fn ask_worker(&self, engine_id: &str, method: &str, arguments: Value) -> Value {
        let Value::Object(arguments) = arguments else {
            panic!("{method} takes arguments by name");
        };
        let target = Target::topic("engine_worker", "1.9").server(engine_id);
        let answer = self.rpc.call(&target, method, arguments, demo(), PATIENCE).await;
        answer.expect("an answer")
    }

    pub async fn update(&self, stack: &Stack, template: Value) {
        self.update_with(stack, template, json!({})).await;
    }

    pub async fn update_with(&self, stack: &Stack, template: Value, args: Value) {
        self.call("update_stack", stack.update_arguments(template, args)).await;
    }

    pub async fn delete(&self, stack: &Stack) {
        self.call("delete_stack", stack.delete_arguments()).await;
    }

    pub async fn cancel(&self, stack: &Stack, with_rollback: bool) {
        self.call("stack_cancel_update", stack.cancel_arguments(with_rollback))
            .await;
    }

    // ------------------------------------------------------------------ the tables

    /// The rows of a query that gives one text a row.
    pub async fn texts(&self, query: &str) -> Vec<String> {
        let query = sqlx::AssertSqlSafe(query.to_owned());
        sqlx::query_scalar(query)
            .fetch_all(&self.pool)
            .await
            .expect("a sound query")
    }

    /// `SELECT COUNT(*) FROM …`
    pub async fn count(&self, from: &str) -> i64 {
        let query = sqlx::AssertSqlSafe(format!("SELECT COUNT(*) FROM {from}"));
        sqlx::query_scalar(query)
            .fetch_one(&self.pool)
            .await
            .expect("a sound query")
    }

    /// The newest stack of that name.
    pub async fn find(&self, name: &str) -> Option<Stack> {
        let query = format!("SELECT id FROM stack WHERE name = '{name}' ORDER BY created_at DESC LIMIT 1");
        let id = self.texts(&query).await.pop()?;
        Some(Stack {
            name: name.to_owned(),
            identity: json!({"tenant": self.tenant(), "stack_name": name, "stack_id": id, "path": ""}),
            id,
        })
    }

    /// Such as `CREATE_COMPLETE`; `gone` once a stack is deleted.
    pub async fn state(&self, stack: &Stack) -> String {
        let query = format!(
            "SELECT IF(deleted_at IS NULL, CONCAT(action, '_', status), 'gone') FROM stack WHERE id = '{}'",
            stack.id
        );
        self.texts(&query).await.pop().expect("rows of stacks stay")
    }

    pub async fn reason(&self, stack: &Stack) -> String {
        let query = format!("SELECT status_reason FROM stack WHERE id = '{}'", stack.id);
        self.texts(&query).await.pop().expect("rows of stacks stay")
    }

    /// All resources of a stack, the oldest first.
    pub async fn resources(&self, stack: &Stack) -> Vec<Resource> {
        let query = "SELECT id, name, action, status, status_reason, nova_instance, engine_id, replaces, \
                     replaced_by FROM resource WHERE stack_id = ? ORDER BY id";
        let rows = sqlx::query(query)
            .bind(&stack.id)
            .fetch_all(&self.pool)
            .await
            .expect("a sound query");
        rows.iter()
            .map(|row| Resource {
                id: row.get("id"),
                name: row.get("name"),
                action: row.get("action"),
                status: row.get("status"),
                status_reason: row.get("status_reason"),
                physical_resource_id: row.get("nova_instance"),
                engine_id: row.get("engine_id"),
                replaces: row.get("replaces"),
                replaced_by: row.get("replaced_by"),
            })
            .collect()
    }

    /// The only resource of that name.
    pub async fn resource(&self, stack: &Stack, name: &str) -> Resource {
        let all = self.resources(stack).await;
        let mut named = all.iter().filter(|resource| resource.name == name);
        match (named.next(), named.next()) {
            (Some(resource), None) => resource.clone(),
            _ => panic!("not one {name} in {all:#?}"),
        }
    }

    /// What happened to the stack's resources and to itself, oldest first: `name ACTION_STATUS`.
    pub async fn events(&self, stack: &Stack) -> Vec<String> {
        let query = format!(
            "SELECT CONCAT(resource_name, ' ', resource_action, '_', resource_status) FROM event \
             WHERE stack_id = '{}' ORDER BY id",
            stack.id
        );
        self.texts(&query).await
    }

    pub async fn sync_points(&self, stack: &Stack) -> i64 {
        self.count(&format!("sync_point WHERE stack_id = '{}'", stack.id)).await
    }

    /// Every object that came to be has gone; to be called when the stack has.
    pub async fn nothing_is_leaked(&self, stack: &Stack) {
        let objects = |action: &str| {
            format!(
                "SELECT DISTINCT CONCAT(resource_name, ' ', physical_resource_id) FROM event \
                 WHERE stack_id = '{}' AND resource_action = '{action}' AND resource_status = 'COMPLETE' \
                 AND resource_type != 'OS::Heat::Stack'",
                stack.id
            )
        };
        let gone = self.texts(&objects("DELETE")).await;
        for made in self.texts(&objects("CREATE")).await {
            assert!(gone.contains(&made), "{made} is left: {:#?}", self.events(stack).await);
        }
        assert_eq!(self.resources(stack).await, []);
    }

    // ------------------------------------------------------------------ waiting

    /// Waits until the stack is in this state.
    pub async fn until(&self, stack: &Stack, state: &str) {
        let began = Instant::now();
        loop {
            let now = self.state(stack).await;
            if now == state {
                return;
            }
            if began.elapsed() > PATIENCE {
                let reason = self.reason(stack).await;
                let resources = self.resources(stack).await;
                panic!(
                    "{} is {now} ({reason}), not {state}; {resources:#?}; {:#?}",
                    stack.name,
                    self.events(stack).await
                );
            }
            tokio::time::sleep(LOOK_AGAIN).await;
        }
    }

    /// Waits until nothing is in progress.
    pub async fn until_ended(&self, stack: &Stack) {
        eventually("the stack comes to an end", || async {
            !self.state(stack).await.ends_with("IN_PROGRESS")
        })
        .await;
    }

    /// As `until`, and until the traversal is tidied away.
    pub async fn until_settled(&self, stack: &Stack, state: &str) {
        self.until(stack, state).await;
        eventually("no sync point is left", || async { self.sync_points(stack).await == 0 }).await;
    }

    /// Waits until the newest row of a resource is in this state.
    pub async fn until_resource(&self, stack: &Stack, name: &str, state: &str) -> Resource {
        let began = Instant::now();
        loop {
            let resources = self.resources(stack).await;
            let newest = resources.iter().rfind(|resource| resource.name == name);
            match newest {
                Some(resource) if resource.state() == state => return resource.clone(),
                _ if began.elapsed() > PATIENCE => panic!("no {name} is {state}: {resources:#?}"),
                _ => tokio::time::sleep(LOOK_AGAIN).await,
            }
        }
    }

    /// Messages that wait in a queue; `None` if there is none of that name.
    pub async fn waiting(&self, queue: &str) -> Option<u32> {
        let state = self.bus.queue_state(queue).await.expect("the broker answers");
        state.map(|state| state.waiting)
    }

    /// Waits until no message waits and none is being worked on, for a while.
    pub async fn until_quiet(&self) {
        self.until_quiet_for(Duration::from_millis(1500)).await;
    }

    pub async fn until_quiet_for(&self, time: Duration) {
        let mut quiet_since = Instant::now();
        let began = Instant::now();
        while quiet_since.elapsed() < time {
            let queues = self.vhost.queues();
            let busy = queues.iter().any(|queue| {
                let is_read = queue["name"].as_str().is_some_and(|name| name.starts_with("engine"));
                is_read && queue["messages"].as_u64().unwrap_or(0) > 0
            });
            if busy {
                quiet_since = Instant::now();
            }
            assert!(began.elapsed() < PATIENCE, "the queues do not empty");
            tokio::time::sleep(time / 8).await;
        }
    }

    pub async fn close(self) {
        self.bus.close().await;
        self.pool.close().await;
    }
}

impl Stack {
    /// As its owner names it.
    pub fn in_project(mut self, project_id: &Value) -> Self {
        self.identity["tenant"] = project_id.clone();
        self
    }

    pub fn delete_arguments(&self) -> Value {
        json!({"stack_identity": self.identity})
    }

    pub fn cancel_arguments(&self, with_rollback: bool) -> Value {
        json!({"stack_identity": self.identity, "cancel_with_rollback": with_rollback})
    }

    pub fn update_arguments(&self, template: Value, args: Value) -> Value {
        json!({"stack_identity": self.identity, "template": template, "params": {}, "files": {}, "args": args})
    }
}

pub fn create_arguments(name: &str, template: Value, args: Value) -> Value {
    json!({"stack_name": name, "template": template, "params": {}, "files": {}, "args": args})
}

/// Waits until something holds.
pub async fn eventually<F>(what: &str, mut holds: impl FnMut() -> F)
where
    F: Future<Output = bool>,
{
    let began = Instant::now();
    while !holds().await {
        assert!(began.elapsed() < PATIENCE, "not within {PATIENCE:?}: {what}");
        tokio::time::sleep(LOOK_AGAIN).await;
    }
}

/// A running engine; it is killed when this is dropped.
pub struct Engine {
    process: Child,
    log: PathBuf,
}

impl Engine {
    pub fn log(&self) -> String {
        std::fs::read_to_string(&self.log).unwrap_or_default()
    }

    /// The id under which it locks resources.
    pub fn id(&self) -> String {
        let log = self.log();
        let line = log
            .lines()
            .find(|line| line.contains("all topics are served"))
            .expect("the engine serves");
        let id = line.split_once("engine_id=").map(|(_, rest)| rest.trim_matches('"'));
        id.expect("the line names the engine").chars().take(36).collect()
    }

    pub fn process_id(&self) -> u32 {
        self.process.id()
    }

    /// Processor time that it has used.
    pub fn cpu_time(&self) -> Duration {
        const TICKS_A_SECOND: f64 = 100.0;
        let stat = std::fs::read_to_string(format!("/proc/{}/stat", self.process.id())).expect("it runs");
        let after_name = stat.rsplit_once(") ").expect("a name").1;
        let ticks = after_name.split(' ').skip(11).take(2).map(|field| field.parse::<f64>());
        Duration::from_secs_f64(ticks.map(|ticks| ticks.expect("a number")).sum::<f64>() / TICKS_A_SECOND)
    }

    /// Bytes of memory that it has.
    pub fn resident(&self) -> f64 {
        let status = std::fs::read_to_string(format!("/proc/{}/status", self.process.id())).expect("it runs");
        let line = status
            .lines()
            .find_map(|line| line.strip_prefix("VmRSS:"))
            .expect("Linux");
        let kilobytes: f64 = line.trim().trim_end_matches(" kB").parse().expect("a number");
        kilobytes * 1024.0
    }

    pub fn signal(&self, name: &str) {
        let process = self.process.id().to_string();
        let status = Command::new("kill").args(["-s", name, &process]).status();
        assert!(status.expect("kill").success());
    }

    /// Ends it at once, as a crash does.
    pub fn kill(mut self) {
        self.end();
    }

    pub async fn wait(&mut self) -> ExitStatus {
        let began = Instant::now();
        loop {
            if let Some(status) = self.process.try_wait().expect("a child of ours") {
                return status;
            }
            assert!(began.elapsed() < PATIENCE, "still there:\n{}", self.log());
            tokio::time::sleep(LOOK_AGAIN).await;
        }
    }

    pub fn is_alive(&mut self) -> bool {
        self.process.try_wait().expect("a child of ours").is_none()
    }

    fn fail_if_dead(&self) {
        let process = format!("/proc/{}/stat", self.process.id());
        let state = std::fs::read_to_string(process).unwrap_or_default();
        let dead = state
            .rsplit_once(')')
            .is_none_or(|(_, rest)| rest.trim_start().starts_with('Z'));
        assert!(!dead, "the engine ended:\n{}", self.log());
    }

    fn end(&mut self) {
        process_group::kill(&mut self.process);
    }
}

impl Drop for Engine {
    fn drop(&mut self) {
        self.end();
        if std::thread::panicking() {
            eprintln!("the engine's log: {}", self.log.display());
        } else {
            let _ = std::fs::remove_file(&self.log);
        }
    }
}
