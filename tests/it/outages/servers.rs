//! Servers that really fail: killed, restarted, full, read-only, out of memory, replaced by another.

use std::time::Duration;

use sqlx::{Connection, MySqlConnection};

use super::health::Says;
use super::mariadb::OwnDatabase;
use super::{OUTAGE, Patient, live_through};
use crate::convergence::site::{Servers, Site};
use crate::messaging::broker::OwnBroker;
use crate::recovery::RESTLESS;

/// Servers take their time to fail.
const SLOWLY: Duration = Duration::from_secs(25);
const NO_DATABASE: Says = Says::Missing("the database does not answer", SLOWLY);
const NO_BROKER: Says = Says::Missing("the broker is away", SLOWLY);

async fn site_on(hint: &str, database: &OwnDatabase, extra: &str) -> Site {
    let servers = Servers {
        database: Some(database.url()),
        broker: None,
    };
    Site::among(hint, extra, servers).await
}

/// Messages have to wait for their turn, so that the broker has some at any moment; the sweep finds what gets lost.
pub(super) async fn site_by(hint: &str, transport_url: String) -> Site {
    let extra = format!("{RESTLESS}\nmax_concurrent_checks = 4");
    let servers = Servers {
        database: None,
        broker: Some(transport_url),
    };
    Site::among(hint, &extra, servers).await
}

async fn own_connection(database: &OwnDatabase) -> MySqlConnection {
    let url = database.url().replace("mysql+pymysql:", "mysql:");
    MySqlConnection::connect(&url).await.expect("a connection")
}

// ---------------------------------------------------------------------- databases

#[tokio::test(flavor = "multi_thread")]
async fn a_database_that_is_killed_and_started_again() {
    let mut database = OwnDatabase::start();
    let site = site_on("own_killed", &database, "").await;
    let engine = Patient::with(&site, &[]).await;
    live_through(&site, &engine, NO_DATABASE, || async {
        database.kill();
        tokio::time::sleep(OUTAGE / 2).await;
        database.run();
    })
    .await;
    site.close().await;
}

/// After a failover the server that we know takes no writes; it answers all the same.
#[tokio::test(flavor = "multi_thread")]
async fn a_database_that_becomes_read_only() {
    let database = OwnDatabase::start();
    let site = site_on("own_readonly", &database, "").await;
    let engine = Patient::with(&site, &[]).await;
    let says = Says::Missing("the database takes no writes", SLOWLY);
    live_through(&site, &engine, says, || async {
        database.sql("SET GLOBAL read_only = 1");
        tokio::time::sleep(OUTAGE).await;
        database.sql("SET GLOBAL read_only = 0");
    })
    .await;
    site.close().await;
}

/// Others have all the connections, and ours are lost.
#[tokio::test(flavor = "multi_thread")]
async fn a_database_whose_connections_are_used_up() {
    let database = OwnDatabase::start();
    let site = site_on("own_full", &database, "").await;
    let engine = Patient::with(&site, &[]).await;
    live_through(&site, &engine, NO_DATABASE, || async {
        let mut others = Vec::new();
        for _ in 0..12 {
            others.push(own_connection(&database).await);
        }
        let mut ids = Vec::new();
        for other in &mut others {
            let id: u64 = sqlx::query_scalar("SELECT CONNECTION_ID()")
                .fetch_one(other)
                .await
                .expect("an id");
            ids.push(id.to_string());
        }
        let ours = format!(
            "SELECT ID FROM information_schema.PROCESSLIST WHERE USER = 'heat' AND ID NOT IN ({})",
            ids.join(", ")
        );
        let mut statements = "SET GLOBAL max_connections = 10; ".to_owned();
        for id in database.sql(&ours).lines() {
            statements.push_str(&format!("KILL {id}; "));
        }
        let seconds = OUTAGE.as_secs();
        statements.push_str(&format!("DO SLEEP({seconds}); SET GLOBAL max_connections = 151"));
        tokio::task::block_in_place(|| database.sql(&statements));
        drop(others);
    })
    .await;
    site.close().await;
}

/// Somebody holds the stack's rows for longer than a statement may wait for them.
#[tokio::test(flavor = "multi_thread")]
async fn rows_that_are_locked_for_longer_than_a_statement_waits() {
    let database = OwnDatabase::start();
    database.sql("SET GLOBAL innodb_lock_wait_timeout = 1");
    let site = site_on("own_locked", &database, "").await;
    let engine = Patient::with(&site, &[]).await;
    let mut other = own_connection(&database).await;
    live_through(&site, &engine, Says::Ready, || async {
        let mut transaction = other.begin().await.expect("a transaction");
        sqlx::query("SELECT id FROM resource FOR UPDATE")
            .fetch_all(&mut *transaction)
            .await
            .expect("the locks");
        tokio::time::sleep(OUTAGE).await;
        transaction.rollback().await.expect("an end");
    })
    .await;
    let log = engine.engine.log();
    assert!(log.contains("LockWait"), "no statement had to wait too long");
    site.close().await;
}

// ---------------------------------------------------------------------- brokers

/// Queues that are not durable are gone with all that was in them, and so are the replies that somebody waits for (B49).
/// Quorum queues keep what they hold, and their names (B53).
#[rstest::rstest]
#[case::forgetful("")]
#[case::quorum("?rabbit_quorum_queue=true")]
#[tokio::test(flavor = "multi_thread")]
async fn a_broker_that_is_restarted(#[case] query: &str) {
    let mut broker = tokio::task::block_in_place(OwnBroker::start);
    let site = site_by("own_broker", format!("{}{query}", broker.transport_url())).await;
    let engine = Patient::with(&site, &[]).await;
    live_through(&site, &engine, NO_BROKER, || async {
        tokio::task::block_in_place(|| {
            broker.stop();
            broker.run();
        });
    })
    .await;
    site.call("list_stacks", serde_json::json!({})).await;
    site.close().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_broker_that_runs_out_of_memory() {
    let broker = tokio::task::block_in_place(OwnBroker::start);
    let site = site_by("own_alarm", broker.transport_url()).await;
    let engine = Patient::with(&site, &[]).await;
    let says = Says::Missing("the broker takes no messages", SLOWLY);
    live_through(&site, &engine, says, || async {
        tokio::task::block_in_place(|| broker.control(&["set_vm_memory_high_watermark", "0"]));
        tokio::time::sleep(OUTAGE).await;
        tokio::task::block_in_place(|| broker.control(&["set_vm_memory_high_watermark", "0.9"]));
    })
    .await;
    site.close().await;
}

/// Two brokers that know nothing of each other: what the first held is lost with it, and the second has no queue yet. It
/// comes when everybody is with the first, since they would not find together otherwise.
#[tokio::test(flavor = "multi_thread")]
async fn a_broker_that_stops_for_good_beside_another() {
    let mut first = tokio::task::block_in_place(OwnBroker::start);
    let mut second = OwnBroker::prepare();
    let both = format!("rabbit://{},{}//", first.address(), second.address());
    let site = site_by("own_failover", both).await;
    let engine = Patient::with(&site, &[]).await;
    site.call("list_stacks", serde_json::json!({})).await;
    tokio::task::block_in_place(|| second.run());
    live_through(&site, &engine, Says::Either, || async {
        tokio::task::block_in_place(|| first.stop());
    })
    .await;
    let log = engine.engine.log();
    assert!(
        log.contains(&second.host_and_port()),
        "it is not with the second broker"
    );
    site.close().await;
}
