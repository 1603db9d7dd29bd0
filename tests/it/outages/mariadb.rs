//! A database server of a test's own, which may be killed, filled up or made read-only.

use std::net::TcpStream;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Output, Stdio};
use std::time::{Duration, Instant};

use crate::lab::free_port;

const SCHEMA: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/migrations/heat_schema.sql");
/// Debian's place, beside what the path has.
const SERVERS: &str = "/usr/sbin";
const START: Duration = Duration::from_secs(90);

pub struct OwnDatabase {
    directory: PathBuf,
    port: u16,
    process: Option<Child>,
}

impl OwnDatabase {
    /// With Heat's schema, and a user who has no privilege beyond that.
    pub fn start() -> Self {
        let port = free_port();
        let directory = Path::new(env!("CARGO_TARGET_TMPDIR")).join(format!("mariadb_{port}"));
        std::fs::create_dir_all(directory.join("tmp")).expect("a directory");
        let mut database = Self {
            directory,
            port,
            process: None,
        };
        database.install();
        database.run();
        database.sql(
            "CREATE DATABASE heat CHARACTER SET utf8mb3; CREATE USER heat@'127.0.0.1' IDENTIFIED BY 'heat'; \
             GRANT ALL ON heat.* TO heat@'127.0.0.1'",
        );
        let schema = std::fs::File::open(SCHEMA).expect("migrations/heat_schema.sql is there");
        successful(database.client().arg("heat").stdin(schema));
        database
    }

    fn install(&self) {
        let mut install = Command::new("mariadb-install-db");
        let directory = self.directory.join("data");
        install
            // A server that starts removes whatever temporary tables it finds, whoever's they are.
            .env("TMPDIR", self.directory.join("tmp"))
            .args([
                "--no-defaults",
                "--skip-test-db",
                "--auth-root-authentication-method=normal",
            ])
            .arg("--innodb-log-file-size=8M")
            .arg(format!("--datadir={}", directory.display()))
            .arg(format!("--user={}", own_name()));
        successful(&mut install);
    }

    /// Starts the server, on what is there.
    pub fn run(&mut self) {
        let path = std::env::var("PATH").unwrap_or_default();
        let log = std::fs::File::create(self.directory.join("log")).expect("a log");
        let own = |name: &str| self.directory.join(name).display().to_string();
        let process = Command::new("mariadbd")
            .env("PATH", format!("{path}:{SERVERS}"))
            .args([
                "--no-defaults",
                "--skip-name-resolve",
                "--skip-log-bin",
                "--bind-address=127.0.0.1",
            ])
            .args(["--innodb-log-file-size=8M", "--innodb-buffer-pool-size=32M"])
            // It is the process that is killed, not the machine.
            .arg("--innodb-flush-log-at-trx-commit=2")
            .arg(format!("--datadir={}", own("data")))
            .arg(format!("--tmpdir={}", own("tmp")))
            .arg(format!("--socket={}", own("socket")))
            .arg(format!("--pid-file={}", own("pid")))
            .arg(format!("--port={}", self.port))
            .arg(format!("--user={}", own_name()))
            .stdin(Stdio::null())
            .stdout(log.try_clone().expect("a second handle"))
            .stderr(log)
            .spawn()
            .expect("mariadbd starts");
        self.process = Some(process);
        let start = Instant::now();
        while TcpStream::connect(("127.0.0.1", self.port)).is_err() {
            let log = self.directory.join("log");
            assert!(
                start.elapsed() < START,
                "the database did not start; see {}",
                log.display()
            );
            std::thread::sleep(Duration::from_millis(100));
        }
    }

    /// As the kernel does when there is no memory left.
    pub fn kill(&mut self) {
        if let Some(mut process) = self.process.take() {
            process.kill().expect("a process of ours");
            process.wait().expect("a child of ours");
        }
    }

    /// As `[database] connection` has it.
    pub fn url(&self) -> String {
        format!("mysql+pymysql://heat:heat@127.0.0.1:{}/heat", self.port)
    }

    /// Runs statements as root, one after the other on one connection.
    pub fn sql(&self, statements: &str) -> String {
        let output = successful(self.client().args(["-e", statements]));
        String::from_utf8_lossy(&output.stdout).into_owned()
    }

    fn client(&self) -> Command {
        let mut client = Command::new("mariadb");
        client
            .args(["--no-defaults", "--batch", "--skip-column-names", "--user=root"])
            .arg(format!("--socket={}", self.directory.join("socket").display()));
        client
    }
}

impl Drop for OwnDatabase {
    fn drop(&mut self) {
        if let Some(mut process) = self.process.take() {
            let _ = process.kill();
            let _ = process.wait();
        }
        let _ = std::fs::remove_dir_all(&self.directory);
    }
}

/// MariaDB will not run as root unless it is told to.
fn own_name() -> String {
    let output = successful(Command::new("id").arg("-un"));
    String::from_utf8_lossy(&output.stdout).trim().to_owned()
}

fn successful(command: &mut Command) -> Output {
    let output = command.output().expect("the program is there");
    assert!(
        output.status.success(),
        "{:?}: {}",
        command.get_program(),
        String::from_utf8_lossy(&output.stderr)
    );
    output
}
