//! The engine contract, called with the stock client: by itself, and beside Python engines on the same bus and tables.

use std::cell::RefCell;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use heat_engine::plugins::TYPES;
use serde_json::{Value, json};

use crate::lab::{Lab, TestDatabase, TestVhost};
use crate::process_group;

const PROGRAM: &str = env!("CARGO_BIN_EXE_heat-engine-rs");
/// Long enough for a loaded machine; nothing waits that long unless it fails.
const PATIENCE: Duration = Duration::from_secs(120);

/// Engines on one database and one vhost. They end with this value.
pub struct Deployment {
    database: TestDatabase,
    vhost: TestVhost,
    engines: RefCell<Vec<Child>>,
}

impl Deployment {
    pub fn new(hint: &str) -> Self {
        let lab = Lab::get();
        Self {
            database: lab.fresh_database(hint),
            vhost: lab.fresh_vhost(hint),
            engines: RefCell::default(),
        }
    }

    /// Starts an engine of ours on a host of that name; gives its engine id once it is in the service table.
    pub fn start_ours(&self, host: &str) -> String {
        self.start(Path::new(PROGRAM), host, &["--debug"])
    }

    pub fn start_python(&self, host: &str) -> String {
        self.start(&Lab::get().program("heat-engine"), host, &[])
    }

    fn start(&self, program: &Path, host: &str, arguments: &[&str]) -> String {
        let before = self.engine_ids();
        let log = std::fs::File::create(self.file(&format!("{host}.log"))).expect("a log file");
        let mut command = Command::new(program);
        command
            .arg("--config-file")
            .arg(self.configuration(host))
            .args(arguments)
            .stdin(Stdio::null())
            .stdout(Stdio::null())
            .stderr(log);
        let engine =
            process_group::spawn(&mut command).unwrap_or_else(|error| panic!("{}: {error}", program.display()));
        self.engines.borrow_mut().push(engine);
        wait_for("the engine in the service table", || {
            self.engine_ids().into_iter().find(|id| !before.contains(id))
        })
    }

    /// Kills the engine that was started last, as a crash would.
    fn kill_last(&self) {
        let engine = self.engines.borrow_mut().pop();
        process_group::kill(&mut engine.expect("an engine runs"));
    }

    fn engine_ids(&self) -> Vec<String> {
        let rows = self
            .database
            .sql("SELECT engine_id FROM service WHERE deleted_at IS NULL");
        rows.into_iter().map(|mut row| row.remove(0)).collect()
    }

    pub fn configuration(&self, host: &str) -> PathBuf {
        let extra = format!("[DEFAULT]\nhost = {host}\nnum_engine_workers = 1\nengine_life_check_timeout = 5");
        let written = Lab::get().write_heat_conf(&self.database, &self.vhost, &extra);
        let own = self.file(&format!("{host}.conf"));
        std::fs::rename(&written, &own).expect("the configuration can be moved");
        own
    }

    fn file(&self, name: &str) -> PathBuf {
        Path::new(env!("CARGO_TARGET_TMPDIR")).join(format!("{}-{name}", self.vhost.name))
    }

    /// Makes the calls one after the other, through the stock client.
    fn calls(&self, calls: &Value) -> Vec<Value> {
        Lab::get().calls(&self.configuration("client"), calls)
    }

    fn call(&self, method: &str, args: Value) -> Value {
        self.calls(&json!([{"method": method, "args": args}])).remove(0)
    }

    fn result(&self, method: &str, args: Value) -> Value {
        let mut answer = self.call(method, args);
        assert!(answer.get("result").is_some(), "{method}: {answer}");
        answer["result"].take()
    }

    fn create(&self, name: &str, resources: Value) -> Value {
        let template = json!({"heat_template_version": "2018-08-31", "resources": resources});
        self.result(
            "create_stack",
            json!({"stack_name": name, "template": template, "params": {}, "files": {}, "args": {}}),
        )
    }

    /// The stack's state once nothing is going on any more.
    fn settled(&self, identity: &Value) -> String {
        let id = identity["stack_id"].as_str().expect("a stack id");
        let query = format!("SELECT action, status, status_reason FROM stack WHERE id = '{id}'");
        wait_for("the stack to settle", || {
            let row = self.database.sql(&query).pop()?;
            (row[1] != "IN_PROGRESS").then(|| format!("{}_{}: {}", row[0], row[1], row[2]))
        })
    }
}

impl Drop for Deployment {
    fn drop(&mut self) {
        for engine in self.engines.borrow_mut().iter_mut() {
            process_group::kill(engine);
        }
    }
}

fn wait_for<T>(what: &str, mut look: impl FnMut() -> Option<T>) -> T {
    let started = Instant::now();
    loop {
        if let Some(found) = look() {
            return found;
        }
        assert!(started.elapsed() < PATIENCE, "waited in vain for {what}");
        std::thread::sleep(Duration::from_millis(200));
    }
}

fn class(answer: &Value) -> &str {
    answer["failure"]["class"].as_str().unwrap_or_default()
}

fn message(answer: &Value) -> &str {
    answer["failure"]["message"].as_str().unwrap_or_default()
}

#[test]
fn refusals_reach_the_stock_client_as_heats_exceptions() {
    let deployment = Deployment::new("rpcrefuse");
    deployment.start_ours("ours");
    let identity = json!({"tenant": "t", "stack_name": "nobody", "stack_id": "0", "path": ""});
    let answers = deployment.calls(&json!([
        {"method": "identify_stack", "args": {"stack_name": "nobody"}},
        {"method": "show_stack", "args": {"stack_identity": identity}},
        {"method": "show_stack", "args": {"stack_identity": {"tenant": "t"}}},
        {"method": "create_stack"},
        {"method": "create_stack", "args": {"of": "my own"}},
        {"method": "start"},
        {"method": "reset"},
        {"method": "service_manage_report"},
        {"method": "_get_stack"},
        {"method": "identify_stack", "args": {"stack_name": "nobody"}, "version": "1.99"},
        {"method": "list_stacks", "args": {"sort_dir": "up"}},
    ]));
    let seen: Vec<(&str, &str)> = answers.iter().map(|answer| (class(answer), message(answer))).collect();
    assert_eq!(
        seen,
        [
            ("EntityNotFound", "The Stack (nobody) could not be found."),
            ("EntityNotFound", "The Stack (nobody) could not be found."),
            (
                "TypeError",
                "HeatIdentifier.__init__() missing 2 required positional arguments: 'stack_name' and 'stack_id'"
            ),
            (
                "TypeError",
                "EngineService.create_stack() missing 5 required positional arguments: 'stack_name', 'template', \
                 'params', 'files', and 'args'"
            ),
            (
                "TypeError",
                "EngineService.create_stack() got an unexpected keyword argument 'of'"
            ),
            ("NoSuchMethod", "Endpoint does not support RPC method start"),
            ("NoSuchMethod", "Endpoint does not support RPC method reset"),
            (
                "NoSuchMethod",
                "Endpoint does not support RPC method service_manage_report"
            ),
            ("NoSuchMethod", "Endpoint does not support RPC method _get_stack"),
            (
                "UnsupportedVersion",
                "Endpoint does not support RPC version 1.99. Attempted method: identify_stack"
            ),
            (
                "ValueError",
                "Unknown sort direction, must be one of: asc-nullsfirst, asc-nullslast, desc-nullsfirst, \
                 desc-nullslast"
            ),
        ]
    );
    // What heat-api would make of the first: the code and the message of the real one.
    assert_eq!(answers[0]["shown"]["code"], 404);
    assert_eq!(
        answers[0]["shown"]["error"]["message"],
        "The Stack (nobody) could not be found."
    );
}

#[test]
fn projects_do_not_see_each_others_stacks() {
    let deployment = Deployment::new("rpctenants");
    deployment.start_ours("ours");
    let identity = deployment.create("mine", json!({"a": {"type": "OS::Heat::None"}}));
    assert_eq!(
        deployment.settled(&identity),
        "CREATE_COMPLETE: Stack CREATE completed successfully"
    );
    let id = identity["stack_id"].as_str().expect("a stack id");
    deployment
        .database
        .sql(&format!("UPDATE stack SET tenant = 'theirs' WHERE id = '{id}'"));
    let mut theirs = identity.clone();
    theirs["tenant"] = json!("theirs");
    let answers = deployment.calls(&json!([
        {"method": "show_stack", "args": {"stack_identity": theirs}},
        {"method": "delete_stack", "args": {"stack_identity": theirs}},
        {"method": "get_template", "args": {"stack_identity": theirs}},
        {"method": "list_stacks"},
        {"method": "list_events", "args": {"stack_identity": null}},
        {"method": "show_stack", "args": {"stack_identity": theirs}, "user": "admin"},
    ]));
    for answer in &answers[..3] {
        assert_eq!(message(answer), "The Stack (mine) could not be found.");
    }
    assert_eq!(answers[3]["result"], json!([]));
    assert_eq!(answers[4]["result"], json!([]));
    assert_eq!(answers[5]["result"][0]["stack_name"], "mine");
}

#[test]
fn limits_and_names_are_checked_before_anything_is_stored() {
    let deployment = Deployment::new("rpclimits");
    deployment.start_ours("ours");
    let resources = |count: usize| -> Value {
        (0..count)
            .map(|index| (format!("r{index}"), json!({"type": "OS::Heat::None"})))
            .collect()
    };
    let create_with = |name: &str, resources: Value, args: Value| {
        let template = json!({"heat_template_version": "2018-08-31", "resources": resources});
        json!({"method": "create_stack", "args": {
            "stack_name": name, "template": template, "params": {}, "files": {}, "args": args
        }})
    };
    let create = |name: &str, resources: Value| create_with(name, resources, json!({}));
    let answers = deployment.calls(&json!([
        create("1st", resources(1)),
        create(
            "loop",
            json!({
                "a": {"type": "OS::Heat::None", "depends_on": "b"},
                "b": {"type": "OS::Heat::None", "depends_on": "a"}
            })
        ),
        create("gone", json!({"a": {"type": "OS::Heat::None", "depends_on": "z"}})),
        {"method": "preview_stack", "args": {
            "stack_name": "late",
            "template": {"heat_template_version": "2018-08-31", "resources": resources(1)},
            "params": {}, "files": {}, "args": {"timeout_mins": 1e30},
        }},
        create_with("late", resources(1), json!({"timeout_mins": 1_u64 << 31})),
        create_with("tagged", resources(1), json!({"tags": ["a", "b\u{1f600}"]})),
    ]));
    assert_eq!(class(&answers[0]), "StackValidationFailed");
    assert_eq!(class(&answers[1]), "CircularDependencyException");
    assert_eq!(
        message(&answers[2]),
        "The specified reference \"z\" (in a) is incorrect."
    );
    assert_eq!(answers[3]["result"]["stack_name"], "late", "{}", answers[3]);
    assert_eq!(message(&answers[4]), "Invalid timeout value 2147483648");
    assert_eq!(
        message(&answers[5]),
        "Invalid tag, \"b\u{1f600}\": the database cannot hold the character '\u{1f600}'"
    );
    for table in ["stack", "raw_template", "user_creds"] {
        let count = deployment.database.sql(&format!("SELECT COUNT(*) FROM {table}"));
        assert_eq!(count[0][0], "0", "{table}");
    }
}

#[test]
fn what_is_not_served_goes_to_a_python_engine_wherever_it_runs() {
    let deployment = Deployment::new("rpchandover");
    deployment.start_ours("shared");
    let ask = json!({"method": "resource_schema", "args": {"type_name": "OS::Heat::SoftwareConfig"}});
    let list = json!({"method": "list_resource_types", "args": {"type_name": "OS::Heat::.*"}});
    let preview = json!({"method": "preview_stack", "args": {
        "stack_name": "constrained",
        "template": {
            "heat_template_version": "2018-08-31",
            "parameters": {"zone": {"type": "string", "constraints": [{"custom_constraint": "timezone"}]}},
            "resources": {"a": {"type": "OS::Heat::None"}},
        },
        "params": {"parameters": {"zone": "Europe/Berlin"}}, "files": {}, "args": {},
    }});
    let alone = deployment.calls(&json!([
        ask,
        {"method": "list_software_configs"},
        {"method": "resource_schema", "args": {"type_name": "OS::Heat::None"}},
        list,
        preview,
    ]));
    assert_eq!(
        (class(&alone[4]), message(&alone[4])),
        (
            "NotSupported",
            "The constraint \"timezone\" (no Python engine is alive to serve it) is not supported."
        )
    );
    assert_eq!(
        (class(&alone[0]), message(&alone[0])),
        (
            "EntityNotFound",
            "The Resource Type (OS::Heat::SoftwareConfig) could not be found."
        )
    );
    assert_eq!(
        (class(&alone[1]), message(&alone[1])),
        (
            "NotSupported",
            "Method list_software_configs (no Python engine is alive to serve it) is not supported."
        )
    );
    assert_eq!(alone[2]["result"]["resource_type"], "OS::Heat::None");
    let own_types = alone[3]["result"].as_array().expect("a list").len();
    assert_eq!(
        own_types,
        TYPES.iter().filter(|it| it.name.starts_with("OS::Heat::")).count()
    );

    // On the same host, where both kinds read one queue and a frame may come back before it finds the right one.
    deployment.start_ours("shared");
    deployment.start_python("shared");
    let answers = deployment.calls(&json!(vec![ask.clone(); 12]));
    for answer in &answers {
        assert_eq!(
            answer["result"]["resource_type"], "OS::Heat::SoftwareConfig",
            "{answer}"
        );
    }
    for answer in deployment.calls(&json!(vec![preview; 6])) {
        assert_eq!(answer["result"]["stack_name"], "constrained", "{answer}");
    }
    // A Python engine has more types to tell of, whoever is asked.
    for answer in deployment.calls(&json!(vec![list; 6])) {
        let all = answer["result"].as_array().expect("a list").len();
        assert!(all > own_types, "{answer}");
    }

    // On a host of its own.
    deployment.kill_last();
    deployment.start_python("elsewhere");
    for answer in deployment.calls(&json!(vec![ask; 6])) {
        assert_eq!(
            answer["result"]["resource_type"], "OS::Heat::SoftwareConfig",
            "{answer}"
        );
    }
}

#[test]
fn stacks_with_foreign_types_lose_nothing_beside_a_python_engine() {
    let deployment = Deployment::new("rpcmixed");
    deployment.start_ours("ours");
    let foreign = json!({"type": "OS::Heat::SoftwareConfig", "properties": {"config": "echo", "group": "script"}});
    let own = json!({"type": "OS::Heat::RandomString", "depends_on": ["f0"]});
    let mut resources = json!({});
    for index in 0..4 {
        resources[format!("f{index}")] = foreign.clone();
        resources[format!("o{index}")] = own.clone();
    }
    let template = json!({"heat_template_version": "2018-08-31", "resources": resources});
    let arguments = json!({"stack_name": "mixed", "template": template, "params": {}, "files": {}, "args": {}});
    let refused = deployment.call("create_stack", arguments);
    assert_eq!(
        (class(&refused), message(&refused)),
        (
            "StackValidationFailed",
            "The Resource Type (OS::Heat::SoftwareConfig) could not be found."
        )
    );

    deployment.start_python("python");
    let identity = deployment.create("mixed", resources);
    assert_eq!(
        deployment.settled(&identity),
        "CREATE_COMPLETE: Stack CREATE completed successfully"
    );
    let shown = deployment.result("list_stack_resources", json!({"stack_identity": identity}));
    assert_eq!(shown.as_array().map(Vec::len), Some(8));

    // Only ours are left: the delete cannot be finished, and says so instead of hanging.
    deployment.kill_last();
    deployment
        .database
        .sql("UPDATE service SET updated_at = '2000-01-01' WHERE host = 'python'");
    deployment.result("delete_stack", json!({"stack_identity": identity}));
    let end = deployment.settled(&identity);
    assert!(end.starts_with("DELETE_FAILED: Resource DELETE failed: "), "{end}");

    // With a Python engine back, the same delete goes through.
    deployment.start_python("python");
    deployment.result("delete_stack", json!({"stack_identity": identity}));
    assert_eq!(
        deployment.settled(&identity),
        "DELETE_COMPLETE: Stack DELETE completed successfully"
    );
}

#[test]
fn stacks_stop_at_their_hooks_beside_a_python_engine_and_nowhere_else() {
    let deployment = Deployment::new("rpchooks");
    deployment.start_ours("ours");
    let template = json!({
        "heat_template_version": "2018-08-31",
        "resources": {"a": {"type": "OS::Heat::RandomString"}, "b": {"type": "OS::Heat::RandomString"}},
    });
    let hooks = json!({"resource_registry": {"resources": {"a": {"hooks": ["pre-create", "pre-delete"]}}}});
    let arguments = json!({"stack_name": "hooked", "template": template, "params": hooks, "files": {}, "args": {}});
    let refusal = |hook: &str| {
        format!("The hook \"{hook}\" of resource \"a\" (no Python engine is alive to serve it) is not supported.")
    };
    for method in ["create_stack", "preview_stack"] {
        let refused = deployment.call(method, arguments.clone());
        assert_eq!(
            (class(&refused), message(&refused)),
            ("NotSupported", refusal("pre-create").as_str()),
            "{method}"
        );
    }

    deployment.start_python("python");
    let identity = deployment.result("create_stack", arguments);
    let pass = |hook: &str| {
        let query = format!("SELECT COUNT(*) FROM resource_data WHERE `key` = '{hook}'");
        wait_for(hook, || (deployment.database.sql(&query)[0][0] == "1").then_some(()));
        let details = json!({"unset_hook": hook});
        let signal = json!({"stack_identity": identity, "resource_name": "a", "details": details, "sync_call": true});
        deployment.result("resource_signal", signal);
    };
    pass("pre-create");
    assert_eq!(
        deployment.settled(&identity),
        "CREATE_COMPLETE: Stack CREATE completed successfully"
    );

    deployment.kill_last();
    deployment
        .database
        .sql("UPDATE service SET updated_at = '2000-01-01' WHERE host = 'python'");
    let refused = deployment.call("delete_stack", json!({"stack_identity": identity}));
    assert_eq!(
        (class(&refused), message(&refused)),
        ("NotSupported", refusal("pre-delete").as_str())
    );
    deployment.result("list_stack_resources", json!({"stack_identity": identity}));

    deployment.start_python("python");
    deployment.result("delete_stack", json!({"stack_identity": identity}));
    pass("pre-delete");
    assert_eq!(
        deployment.settled(&identity),
        "DELETE_COMPLETE: Stack DELETE completed successfully"
    );
}

#[test]
fn our_engines_know_each_other_and_python_engines_notice_nothing() {
    let deployment = Deployment::new("rpckinds");
    let ours = deployment.start_ours("ours");
    let python = deployment.start_python("python");
    let ask = |engine: &str| json!({"method": "listening", "topic": "heat-engine-listener", "server": engine, "version": "1.0"});
    let answers = deployment.calls(&json!([ask(&ours), ask(&python)]));
    assert_eq!(answers, [json!({"result": true}), json!({"result": true})]);
    let services = deployment.result("list_services", json!({}));
    let services = services.as_array().expect("a list");
    assert_eq!(services.len(), 2);
    let keys = |service: &Value| {
        service
            .as_object()
            .map(|service| service.keys().cloned().collect::<Vec<_>>())
    };
    assert_eq!(keys(&services[0]), keys(&services[1]));
    for service in services {
        assert_eq!(
            (&service["binary"], &service["topic"], &service["status"]),
            (&json!("heat-engine"), &json!("engine"), &json!("up"))
        );
    }
}
