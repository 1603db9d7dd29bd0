//! Each metric is made to move, by what it is said to count.

use std::time::Duration;

use serde_json::{Value, json};

use super::{free_address, get};
use crate::cloud::caller;
use crate::convergence::linked::LinkedSite;
use crate::convergence::site::{Engine, Site, eventually};
use crate::convergence::templates::{flat, template, test};
use crate::fault_proxy::{Fate, FaultProxy};
use crate::lab::Lab;
use crate::link::Strike;

/// An engine that tells its metrics.
struct Told {
    engine: Engine,
    address: String,
}

impl Told {
    async fn start(site: &Site, options: &[(&str, &str)]) -> Self {
        let address = free_address();
        let mut all = options.to_vec();
        all.push(("OS_HEAT_ENGINE_RS__METRICS_ADDRESS", &address));
        Self {
            engine: site.engine_with(&all).await,
            address,
        }
    }

    fn page(&self) -> String {
        let (status, page) = get(&self.address, "/metrics");
        assert_eq!(status, 200);
        page
    }

    /// The value of a series, as it is written: `name{label="x"}`. What was never counted is not there.
    fn value(&self, series: &str) -> Option<f64> {
        let page = self.page();
        let line = page
            .lines()
            .find_map(|line| line.strip_prefix(series)?.strip_prefix(' '))?;
        Some(line.parse().unwrap_or_else(|error| panic!("{series} {line}: {error}")))
    }

    /// The sum of all series of a metric whose labels hold all these.
    fn sum(&self, metric: &str, labels: &[&str]) -> f64 {
        let page = self.page();
        let of_metric = page
            .lines()
            .filter_map(|line| line.strip_prefix(metric)?.strip_prefix('{'));
        let wanted = of_metric.filter(|line| labels.iter().all(|label| line.contains(label)));
        wanted
            .filter_map(|line| line.rsplit_once("} ")?.1.parse::<f64>().ok())
            .sum()
    }

    async fn until(&self, series: &str, holds: impl Fn(f64) -> bool) {
        eventually(series, || async { self.value(series).is_some_and(&holds) }).await;
    }
}

/// One table of what a refused statement counts as.
#[rstest::rstest]
#[case::deadlock(1213, "deadlock")]
#[case::lock_wait(1205, "lock_wait")]
#[case::changed_read(1020, "changed_read")]
#[tokio::test(flavor = "multi_thread")]
async fn retries_are_counted_by_their_reason(#[case] code: u16, #[case] reason: &str) {
    let linked = LinkedSite::new(&format!("moves_{code}"), "").await;
    let options = linked.options();
    let options: Vec<(&str, &str)> = options.iter().map(|(name, value)| (*name, value.as_str())).collect();
    let told = Told::start(&linked.site, &options).await;
    let series = |reason: &str| format!("heat_engine_database_retries_total{{reason=\"{reason}\"}}");
    assert_eq!(told.value(&series(reason)), Some(0.0));
    let statements = told.value("heat_engine_database_statements_total").expect("it is told");
    linked.steps.arm_often(10, Strike::Refuse(code));
    let stack = linked.site.create("moves", flat(10, &json!({"value": "x"}))).await;
    linked.site.until(&stack, "CREATE_COMPLETE").await;
    linked.steps.disarm();
    let counted = told.value(&series(reason)).expect("it is told");
    assert!(counted >= 3.0, "{reason}: {counted}\n{}", told.engine.log());
    for other in [
        "deadlock",
        "lock_wait",
        "changed_read",
        "certification",
        "lost_connection",
    ] {
        if other != reason {
            assert_eq!(told.value(&series(other)), Some(0.0), "{other}");
        }
    }
    assert_eq!(told.value("heat_engine_database_given_up_total"), Some(0.0));
    assert!(told.value("heat_engine_database_statements_total") > Some(statements + 50.0));
    assert!(told.value("heat_engine_database_transactions_total") > Some(10.0));
    linked.site.close().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn lost_connections_are_counted_on_either_link() {
    let linked = LinkedSite::new("moves_lost", "").await;
    let options = linked.options();
    let options: Vec<(&str, &str)> = options.iter().map(|(name, value)| (*name, value.as_str())).collect();
    let told = Told::start(&linked.site, &options).await;
    let consuming = "heat_engine_broker_connections_total{purpose=\"consuming\"}";
    assert_eq!(told.value(consuming), Some(1.0));
    linked.broker.drop_connections();
    told.until(consuming, |made| made == 2.0).await;
    told.until("heat_engine_broker_up", |up| up == 1.0).await;
    told.until("heat_engine_ready", |ready| ready == 1.0).await;

    let used = told.sum("heat_engine_database_connections", &[]);
    assert!((1.0..=25.0).contains(&used), "{used}");
    linked.steps.arm_often(10, Strike::Before);
    let stack = linked.site.create("moves", flat(5, &json!({"value": "x"}))).await;
    linked.site.until(&stack, "CREATE_COMPLETE").await;
    linked.steps.disarm();
    let lost = told.value("heat_engine_database_retries_total{reason=\"lost_connection\"}");
    assert!(lost >= Some(1.0), "{lost:?}");
    linked.site.close().await;
}

/// Somebody moves the key of a row while an engine works on it.
#[tokio::test(flavor = "multi_thread")]
async fn lost_swaps_are_counted_by_table() {
    let site = Site::new("moves_swap", "").await;
    let told = Told::start(&site, &[]).await;
    let series = "heat_engine_swaps_lost_total{table=\"resource\"}";
    assert_eq!(told.value(series), None);
    let slowly = json!({"value": "x", "action_wait_secs": {"create": 3}});
    let stack = site.create("moves", template(json!({"a": test(slowly)}))).await;
    let held = site.until_resource(&stack, "a", "CREATE_IN_PROGRESS").await;
    site.database.sql(&format!(
        "UPDATE resource SET atomic_key = atomic_key + 1, engine_id = 'somebody' WHERE id = {}",
        held.id
    ));
    told.until(series, |lost| lost >= 1.0).await;
    site.close().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn locks_have_an_age_and_sweeps_free_those_of_the_dead() {
    let site = Site::new(
        "moves_locks",
        "[DEFAULT]\nperiodic_interval = 1\nengine_life_check_timeout = 1",
    )
    .await;
    let slowly = json!({"value": "x", "action_wait_secs": {"create": 100}});
    let engine = site.engine_with(&[("OS_HEAT_ENGINE_RS__RECOVERY_INTERVAL", "0")]).await;
    let stack = site
        .create_with("dead", flat(2, &slowly), json!({"disable_rollback": true}))
        .await;
    for name in ["r0", "r1"] {
        site.until_resource(&stack, name, "CREATE_IN_PROGRESS").await;
    }
    engine.kill();
    site.vhost.purge("engine_worker");
    site.database
        .sql("UPDATE event SET created_at = UTC_TIMESTAMP() - INTERVAL 1 HOUR WHERE resource_name = 'r0'");
    // What has waited for a day for its turn is not held for a day.
    site.database
        .sql("UPDATE resource SET created_at = UTC_TIMESTAMP() - INTERVAL 1 DAY, updated_at = NULL");
    tokio::time::sleep(Duration::from_secs(3)).await;

    // One that only looks: the locks are others', and an hour old.
    let looks = Told::start(&site, &[("OS_HEAT_ENGINE_RS__RECOVERY_INTERVAL", "0")]).await;
    looks
        .until("heat_engine_locks{holder=\"other\"}", |locks| locks == 2.0)
        .await;
    let age = looks
        .value("heat_engine_lock_oldest_seconds{holder=\"other\"}")
        .expect("it is told");
    assert!((3600.0..4000.0).contains(&age), "{age}");
    assert_eq!(looks.value("heat_engine_locks{holder=\"own\"}"), Some(0.0));
    assert_eq!(looks.value("heat_engine_sweeps_total{outcome=\"begun\"}"), Some(0.0));

    // One that sweeps frees them.
    let sweeps = Told::start(&site, &[("OS_HEAT_ENGINE_RS__RECOVERY_INTERVAL", "1")]).await;
    sweeps
        .until("heat_engine_mended_total{what=\"lock\"}", |freed| freed == 2.0)
        .await;
    assert_eq!(
        sweeps.value("heat_engine_mended_total{what=\"dead_engine\"}"),
        Some(1.0)
    );
    let begun = sweeps.value("heat_engine_sweeps_total{outcome=\"begun\"}");
    sweeps
        .until("heat_engine_sweeps_total{outcome=\"begun\"}", |now| Some(now) > begun)
        .await;
    assert_eq!(
        sweeps.value("heat_engine_sweeps_total{outcome=\"broken_off\"}"),
        Some(0.0)
    );

    // What it holds itself is its own.
    drop(looks);
    let stack = site.create("alive", flat(1, &slowly)).await;
    site.until_resource(&stack, "r0", "CREATE_IN_PROGRESS").await;
    sweeps
        .until("heat_engine_locks{holder=\"own\"}", |locks| locks >= 1.0)
        .await;
    sweeps
        .until("heat_engine_checks_running", |running| running >= 1.0)
        .await;
    sweeps
        .until("heat_engine_check_longest_seconds", |age| age >= 1.0)
        .await;
    site.close().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn requests_to_services_are_counted_by_their_code() {
    let proxy = FaultProxy::start(&Lab::get().keystone.url).await;
    let site = Site::new("moves_http", "").await;
    let told = Told::start(&site, &[("OS_CLIENTS_KEYSTONE__AUTH_URI", &proxy.url)]).await;
    let owner = caller("demo", &proxy.url).to_wire();
    let count = |code: &str| {
        let code = format!("code=\"{code}\"");
        told.sum(
            "heat_engine_http_requests_total",
            &["service=\"keystone\"", "method=\"POST\"", &code],
        )
    };
    assert_eq!((count("503"), count("none")), (0.0, 0.0));
    proxy.next("POST /v3/auth/tokens", [Fate::Refuse(503, ""), Fate::LoseAnswer]);
    for name in ["one", "two", "three"] {
        // Some of them fail: it is counted all the same.
        let arguments = crate::convergence::site::create_arguments(name, template(json!({})), json!({}));
        let _ = site.caller().try_call_as(&owner, "create_stack", arguments).await;
    }
    eventually("both are counted", || async {
        count("503") == 1.0 && count("none") == 1.0
    })
    .await;
    assert!(count("201") >= 1.0);
    let seconds = told.value("heat_engine_http_request_seconds_count{service=\"keystone\"}");
    assert!(seconds >= Some(3.0), "{seconds:?}");
    site.close().await;
}

/// One place, and many who want it: the queue does not empty.
#[tokio::test(flavor = "multi_thread")]
async fn a_queue_that_does_not_empty_grows_old() {
    let site = Site::new("moves_queue", "").await;
    let one = [
        ("OS_HEAT_ENGINE_RS__MAX_CONCURRENT_CHECKS", "1"),
        ("OS_HEAT_ENGINE_RS__MAX_CHECKS_IN_FLIGHT", "1"),
    ];
    let told = Told::start(&site, &one).await;
    let age = "heat_engine_queue_age_seconds{queue=\"engine_worker\"}";
    told.until(age, |age| age < 1.0).await;
    let slowly = json!({"value": "x", "action_wait_secs": {"create": 8}});
    let stack = site.create("moves", flat(6, &slowly)).await;
    told.until("heat_engine_queue_messages{queue=\"engine_worker\"}", |messages| {
        messages >= 2.0
    })
    .await;
    told.until(age, |age| age >= 10.0).await;
    assert_eq!(
        told.value("heat_engine_queue_consumers{queue=\"engine_worker\"}"),
        Some(1.0)
    );
    let waited = "heat_engine_delivery_wait_seconds_sum{topic=\"engine_worker\"}";
    told.until(waited, |seconds| seconds >= 5.0).await;
    site.until(&stack, "CREATE_COMPLETE").await;
    told.until(age, |age| age < 1.0).await;
    site.close().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn memory_and_processor_time_are_those_of_the_process() {
    let site = Site::new("moves_process", "").await;
    let told = Told::start(&site, &[]).await;
    let (resident, cpu) = (told.engine.resident(), told.engine.cpu_time().as_secs_f64());
    let memory = told.value("process_resident_memory_bytes").expect("it is told");
    assert!(
        memory > 0.5 * resident && memory < 2.0 * resident,
        "{memory}, {resident}"
    );
    let stack = site.create("moves", flat(20, &json!({"value": "x"}))).await;
    site.until(&stack, "CREATE_COMPLETE").await;
    let spent = told.value("process_cpu_seconds_total").expect("it is told");
    assert!(
        spent >= cpu && spent <= told.engine.cpu_time().as_secs_f64() + 0.1,
        "{cpu} {spent}"
    );
    let files = told.value("process_open_fds").expect("it is told");
    assert!(files > 5.0 && Some(files) < told.value("process_max_fds"), "{files}");
    let done = r#"heat_engine_checks_total{type="OS::Heat::TestResource",node="update",outcome="done"}"#;
    assert_eq!(told.value(done), Some(20.0));
    let took = "heat_engine_check_seconds_count{type=\"OS::Heat::TestResource\"}";
    assert_eq!(told.value(took), Some(20.0));
    let confirmed = told.value("heat_engine_frames_published_total{outcome=\"confirmed\"}");
    assert!(confirmed >= Some(20.0), "{confirmed:?}");
    let answered = json!(told.value("heat_engine_requests_total{method=\"create_stack\",outcome=\"answered\"}"));
    assert_eq!(answered, Value::from(1.0));
    site.close().await;
}
