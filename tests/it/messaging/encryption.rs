//! TLS by the `ssl_*` options, with certificates made for the purpose.

use std::io::{BufRead, BufReader};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::Duration;

use heat_engine::clock::Clock;
use heat_engine::messaging::{Bus, Options};
use rstest::rstest;

use super::methods;
use crate::lab::{Lab, TestVhost};

const PROXY: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/it/messaging/tls_proxy.py");

/// An authority, a certificate of a broker named `broker.test` and of 127.0.0.1, and one of a client.
struct Certificates(PathBuf);

impl Certificates {
    fn make(hint: &str) -> Self {
        let directory = Path::new(env!("CARGO_TARGET_TMPDIR")).join(format!("tls_{hint}_{}", std::process::id()));
        std::fs::create_dir_all(&directory).unwrap();
        let made = Self(directory);
        made.openssl("req -x509 -newkey rsa:2048 -nodes -days 2 -subj /CN=authority -keyout ca.key -out ca.pem");
        made.issue("broker", "DNS:broker.test");
        made.issue("local", "IP:127.0.0.1");
        made.issue("client", "DNS:client.test");
        made
    }

    fn issue(&self, name: &str, alternative_name: &str) {
        std::fs::write(self.0.join("names"), format!("subjectAltName={alternative_name}")).unwrap();
        self.openssl(&format!(
            "req -newkey rsa:2048 -nodes -subj /CN={name} -keyout {name}.key -out {name}.csr"
        ));
        self.openssl(&format!(
            "x509 -req -in {name}.csr -CA ca.pem -CAkey ca.key -CAcreateserial -days 2 -extfile names -out {name}.pem"
        ));
    }

    fn openssl(&self, arguments: &str) {
        let made = Command::new("openssl")
            .args(arguments.split(' '))
            .current_dir(&self.0)
            .output()
            .unwrap();
        assert!(made.status.success(), "{}", String::from_utf8_lossy(&made.stderr));
    }

    fn path(&self, name: &str) -> String {
        self.0.join(name).to_str().unwrap().to_owned()
    }
}

impl Drop for Certificates {
    fn drop(&mut self) {
        let _ = std::fs::remove_dir_all(&self.0);
    }
}

struct Proxy {
    process: Child,
    port: u16,
}

impl Proxy {
    fn start(certificates: &Certificates, name: &str, asks_clients: bool) -> Self {
        let broker = &Lab::get().broker;
        let authority = if asks_clients {
            certificates.path("ca.pem")
        } else {
            String::new()
        };
        let mut process = Command::new(&Lab::get().python)
            .arg(PROXY)
            .args([
                certificates.path(&format!("{name}.pem")),
                certificates.path(&format!("{name}.key")),
                authority,
            ])
            .args([broker.host.clone(), broker.port.to_string()])
            .stdout(Stdio::piped())
            .spawn()
            .unwrap();
        let mut line = String::new();
        BufReader::new(process.stdout.take().unwrap())
            .read_line(&mut line)
            .unwrap();
        let port = line.trim().parse().unwrap();
        Self { process, port }
    }
}

impl Drop for Proxy {
    fn drop(&mut self) {
        let _ = self.process.kill();
        let _ = self.process.wait();
    }
}

fn options(vhost: &TestVhost, proxy: &Proxy, certificates: &Certificates) -> Options {
    let broker = &Lab::get().broker;
    let mut options = methods::options(vhost, "");
    let url = format!(
        "rabbit://{}:{}@127.0.0.1:{}/{}",
        broker.user, broker.password, proxy.port, vhost.name
    );
    options.transport.transport_url = url.into();
    options.rabbit.ssl = true;
    options.rabbit.ssl_ca_file = certificates.path("ca.pem");
    options
}

async fn connects(options: Options) -> bool {
    let bus = Bus::open(options, Clock::system()).unwrap();
    tokio::time::timeout(Duration::from_secs(4), bus.connected())
        .await
        .is_ok()
}

#[rstest]
#[case::named("local", true, true)]
#[case::named_otherwise("broker", true, false)]
#[case::name_not_asked("broker", false, true)]
#[tokio::test(flavor = "multi_thread")]
async fn the_broker_must_be_who_it_says(#[case] name: &str, #[case] verify_name: bool, #[case] accepted: bool) {
    let vhost = Lab::get().fresh_vhost("tls");
    let certificates = Certificates::make(&format!("{name}_{verify_name}"));
    let proxy = Proxy::start(&certificates, name, false);
    let mut options = options(&vhost, &proxy, &certificates);
    options.rabbit.ssl_enforce_hostname_verification = verify_name;
    assert_eq!(connects(options.clone()).await, accepted);

    // An authority that is not the broker's does not make it so, whoever looks at names.
    let others = Certificates::make(&format!("others_{name}_{verify_name}"));
    options.rabbit.ssl_ca_file = others.path("ca.pem");
    assert!(!connects(options.clone()).await);
    options.rabbit.ssl_ca_file = String::new();
    assert!(!connects(options).await);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_client_shows_its_certificate() {
    let vhost = Lab::get().fresh_vhost("tls_client");
    let certificates = Certificates::make("client");
    let proxy = Proxy::start(&certificates, "local", true);
    let mut options = options(&vhost, &proxy, &certificates);
    assert!(!connects(options.clone()).await);
    options.rabbit.ssl_cert_file = certificates.path("client.pem");
    options.rabbit.ssl_key_file = certificates.path("client.key");
    assert!(connects(options).await);
}

#[test]
fn a_file_that_is_missing_is_named() {
    let mut options = Options::new(&heat_engine::settings::Settings::defaults().messaging);
    options.rabbit.ssl = true;
    options.rabbit.ssl_ca_file = "/no/such/ca.pem".to_owned();
    let runtime = tokio::runtime::Runtime::new().unwrap();
    let error = runtime.block_on(async { Bus::open(options, Clock::system()).unwrap_err() });
    assert!(error.to_string().contains("ssl_ca_file: /no/such/ca.pem"), "{error}");
}
