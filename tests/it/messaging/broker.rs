//! A broker of a test's own, which may be stopped, or told that it has no memory left; and three that are one.

use std::collections::BTreeSet;
use std::net::TcpStream;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use heat_engine::messaging::Options;
use heat_engine::settings::{Settings, SettingsSources};

use crate::lab::free_port;

const PROGRAMS: &str = "/usr/lib/rabbitmq/bin";

pub struct OwnBroker {
    directory: PathBuf,
    port: u16,
    ports_of_erlang: (u16, u16),
    process: Option<Child>,
}

impl OwnBroker {
    pub fn start() -> Self {
        let mut broker = Self::prepare();
        broker.run();
        broker
    }

    /// One that does not run yet.
    pub fn prepare() -> Self {
        Self::prepare_among(free_port())
    }

    /// One that can be found by those that were made with the same port for names.
    fn prepare_among(port_for_names: u16) -> Self {
        let port = free_port();
        let directory = Path::new(env!("CARGO_TARGET_TMPDIR")).join(format!("broker_{port}"));
        std::fs::create_dir_all(&directory).unwrap();
        let broker = Self {
            directory,
            port,
            ports_of_erlang: (free_port(), port_for_names),
            process: None,
        };
        let configuration = format!(
            "listeners.tcp.1 = 127.0.0.1:{}\nloopback_users = none\ndisk_free_limit.absolute = 10MB\n",
            broker.port
        );
        std::fs::write(broker.directory.join("rabbitmq.conf"), configuration).unwrap();
        for (file, text) in [("plugins", "[]."), ("env.conf", ""), ("advanced.config", "[].")] {
            std::fs::write(broker.directory.join(file), text).unwrap();
        }
        // By which nodes, and those who control them, know each other.
        let cookie = broker.directory.join(".erlang.cookie");
        std::fs::write(&cookie, "OFTESTSALONE").unwrap();
        std::fs::set_permissions(&cookie, std::fs::Permissions::from_mode(0o400)).unwrap();
        broker
    }

    fn name(&self) -> String {
        format!("test{}@localhost", self.port)
    }

    fn join(&self, other: &OwnBroker) {
        self.control(&["stop_app"]);
        self.control(&["join_cluster", &other.name()]);
        self.control(&["start_app"]);
    }

    pub fn queue_names(&self) -> BTreeSet<String> {
        let listed = self.control(&["list_queues", "-q", "--no-table-headers", "name"]);
        listed.lines().map(str::to_owned).collect()
    }

    pub fn run(&mut self) {
        let log = std::fs::File::create(self.directory.join("out")).unwrap();
        let process = self
            .program("rabbitmq-server")
            .stdout(log.try_clone().unwrap())
            .stderr(log)
            .spawn()
            .unwrap();
        self.process = Some(process);
        let start = Instant::now();
        while TcpStream::connect(("127.0.0.1", self.port)).is_err() {
            assert!(
                start.elapsed() < Duration::from_secs(90),
                "the broker did not start; see {}",
                self.directory.display()
            );
            std::thread::sleep(Duration::from_millis(200));
        }
        self.control(&["await_startup"]);
    }

    pub fn stop(&mut self) {
        self.control(&["stop"]);
        if let Some(mut process) = self.process.take() {
            process.wait().unwrap();
        }
    }

    /// What it says to it.
    pub fn control(&self, arguments: &[&str]) -> String {
        let done = self.program("rabbitmqctl").args(arguments).output().unwrap();
        assert!(
            done.status.success(),
            "rabbitmqctl {arguments:?}: {}",
            String::from_utf8_lossy(&done.stderr)
        );
        String::from_utf8(done.stdout).unwrap()
    }

    pub fn host_and_port(&self) -> String {
        format!("127.0.0.1:{}", self.port)
    }

    /// As one of a list in a transport URL.
    pub fn address(&self) -> String {
        format!("guest:guest@{}", self.host_and_port())
    }

    pub fn transport_url(&self) -> String {
        format!("rabbit://{}//", self.address())
    }

    pub fn options(&self, query: &str) -> Options {
        let settings = Settings::load(&SettingsSources::default()).expect("the defaults are good");
        let mut options = Options::new(&settings.messaging);
        options.transport.transport_url = format!("{}?{query}", self.transport_url()).into();
        options
    }

    fn program(&self, name: &str) -> Command {
        let in_directory = |file: &str| self.directory.join(file);
        let mut program = Command::new(Path::new(PROGRAMS).join(name));
        program
            .current_dir(&self.directory)
            .env("HOME", &self.directory)
            .env("RABBITMQ_NODENAME", self.name())
            .env("RABBITMQ_HOME_DIR", &self.directory)
            .env("RABBITMQ_MNESIA_BASE", in_directory("mnesia"))
            .env("RABBITMQ_LOG_BASE", in_directory("log"))
            .env("RABBITMQ_CONFIG_FILE", in_directory("rabbitmq"))
            .env("RABBITMQ_ADVANCED_CONFIG_FILE", in_directory("advanced.config"))
            .env("RABBITMQ_CONF_ENV_FILE", in_directory("env.conf"))
            .env("RABBITMQ_ENABLED_PLUGINS_FILE", in_directory("plugins"))
            .env("RABBITMQ_PID_FILE", in_directory("pid"))
            .env("RABBITMQ_DIST_PORT", self.ports_of_erlang.0.to_string())
            .env("ERL_EPMD_ADDRESS", "127.0.0.1")
            .env("ERL_EPMD_PORT", self.ports_of_erlang.1.to_string())
            // Schedulers that wait busily take the processors from everybody else.
            .env(
                "RABBITMQ_SERVER_ADDITIONAL_ERL_ARGS",
                "+sbwt none +sbwtdcpu none +sbwtdio none",
            )
            .stdin(Stdio::null());
        program
    }
}

/// Three brokers that share what they hold.
pub struct Cluster {
    pub nodes: [OwnBroker; 3],
}

impl Cluster {
    pub fn start() -> Self {
        let port_for_names = free_port();
        let mut nodes = [(); 3].map(|()| OwnBroker::prepare_among(port_for_names));
        // The first one's daemon is everybody's.
        let (first, others) = nodes.split_first_mut().unwrap();
        first.run();
        std::thread::scope(|scope| {
            for node in others.iter_mut() {
                scope.spawn(|| node.run());
            }
        });
        others.iter().for_each(|node| node.join(first));
        Self { nodes }
    }

    pub fn transport_url(&self) -> String {
        let addresses = self.nodes.each_ref().map(OwnBroker::address);
        format!("rabbit://{}//", addresses.join(","))
    }
}

impl Drop for OwnBroker {
    fn drop(&mut self) {
        if self.process.is_some() {
            let _ = self.program("rabbitmqctl").arg("stop").output();
        }
        if let Some(mut process) = self.process.take() {
            let _ = process.wait();
        }
        // The daemon that maps names to ports stays otherwise; it is this broker's alone.
        let _ = Command::new("epmd")
            .env("ERL_EPMD_PORT", self.ports_of_erlang.1.to_string())
            .arg("-kill")
            .output();
        let _ = std::fs::remove_dir_all(&self.directory);
    }
}
