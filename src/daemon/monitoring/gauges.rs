//! What is known at the moment when somebody asks.

use std::sync::atomic::Ordering::Relaxed;
use std::time::Duration;

use chrono::NaiveDateTime;
use metrics::{counter, describe_counter, describe_gauge, gauge};
use tokio::time::Instant;
use tokio_util::sync::CancellationToken;

use super::Parts;
use crate::daemon::VERSION;
use crate::store::{LocksOfEngine, Store};

const INFO: &str = "heat_engine_info";
const READY: &str = "heat_engine_ready";
const ALIVE: &str = "heat_engine_alive";
const BROKER: &str = "heat_engine_broker_up";
const BLOCKED: &str = "heat_engine_broker_blocked";
const DATABASE: &str = "heat_engine_database_up";
const CHECKS: &str = "heat_engine_checks_running";
const LONGEST: &str = "heat_engine_check_longest_seconds";
const CONNECTIONS: &str = "heat_engine_database_connections";
const STATEMENTS: &str = "heat_engine_database_statements_total";
const TRANSACTIONS: &str = "heat_engine_database_transactions_total";
const RETRIES: &str = "heat_engine_database_retries_total";
const GIVEN_UP: &str = "heat_engine_database_given_up_total";
const CONFIRMED: &str = "heat_engine_database_confirmed_commits_total";
const SWEEPS: &str = "heat_engine_sweeps_total";
const MENDED: &str = "heat_engine_mended_total";
const LOCKS: &str = "heat_engine_locks";
const OLDEST_LOCK: &str = "heat_engine_lock_oldest_seconds";

pub fn describe() {
    describe_gauge!(INFO, "Always 1; the labels say which engine this is");
    describe_gauge!(READY, "1 while the engine consumes all queues and reaches the database");
    describe_gauge!(ALIVE, "1 while no part of the engine is stuck");
    describe_gauge!(BROKER, "1 while both connections to the broker are up");
    describe_gauge!(BLOCKED, "1 while the broker takes no messages");
    describe_gauge!(DATABASE, "1 while the database answers");
    describe_gauge!(CHECKS, "Checks of resources that this engine is working on");
    describe_gauge!(LONGEST, "How long the longest of them has been under way");
    describe_gauge!(CONNECTIONS, "Connections to the database, by state (used, idle)");
    describe_counter!(STATEMENTS, "SQL statements, without BEGIN, COMMIT and ROLLBACK");
    describe_counter!(TRANSACTIONS, "SQL transactions");
    describe_counter!(
        RETRIES,
        "Errors after which a unit of work runs again, by reason (deadlock, lock_wait, …)"
    );
    describe_counter!(GIVEN_UP, "Units of work that were given up after all retries");
    describe_counter!(CONFIRMED, "Commits without an answer that turned out to have been made");
    describe_counter!(
        SWEEPS,
        "Looks for lost work, by outcome (begun: all of them, broken_off: ended by an error)"
    );
    describe_counter!(MENDED, "What those looks found and mended, by what it was");
    describe_gauge!(LOCKS, "Resources that are locked, by holder (own: this engine, other)");
    describe_gauge!(OLDEST_LOCK, "Age of the oldest of those locks, by holder");
}

pub fn update(parts: Option<&Parts>, is_ready: bool, is_alive: bool) {
    gauge!(READY).set(truth(is_ready));
    gauge!(ALIVE).set(truth(is_alive));
    let Some(parts) = parts else { return };
    let (engine_id, host) = (parts.engine_id.clone(), parts.host.clone());
    gauge!(INFO, "version" => VERSION, "engine_id" => engine_id, "host" => host).set(1.0);
    let broker = parts.vitals.bus.health();
    gauge!(BROKER).set(truth(broker.connected));
    gauge!(BLOCKED).set(truth(broker.blocked.is_some()));
    gauge!(DATABASE).set(truth(parts.vitals.database.answers()));
    gauge!(CHECKS).set(parts.running.count() as f64);
    gauge!(LONGEST).set(parts.running.longest().as_secs_f64());
    let (used, idle) = parts.store.connections();
    gauge!(CONNECTIONS, "state" => "used").set(used as f64);
    gauge!(CONNECTIONS, "state" => "idle").set(idle as f64);
    let store = parts.store.counters();
    counter!(STATEMENTS).absolute(store.statements.load(Relaxed));
    counter!(TRANSACTIONS).absolute(store.transactions.load(Relaxed));
    counter!(GIVEN_UP).absolute(store.given_up.load(Relaxed));
    counter!(CONFIRMED).absolute(store.confirmed_commits.load(Relaxed));
    for (reason, count) in [
        ("deadlock", &store.deadlocks),
        ("lock_wait", &store.lock_waits),
        ("changed_read", &store.changed_reads),
        ("certification", &store.certification_failures),
        ("lost_connection", &store.lost_connections),
    ] {
        counter!(RETRIES, "reason" => reason).absolute(count.load(Relaxed));
    }
    let recovery = &parts.recovery;
    counter!(SWEEPS, "outcome" => "begun").absolute(recovery.sweeps.load(Relaxed));
    counter!(SWEEPS, "outcome" => "broken_off").absolute(recovery.broken_off.load(Relaxed));
    for (what, count) in recovery.mended() {
        counter!(MENDED, "what" => what).absolute(count);
    }
}

fn truth(is_so: bool) -> f64 {
    f64::from(u8::from(is_so))
}

/// The table of resources has no index for this, so it is asked rarely, and more rarely the longer it takes.
pub async fn watch_locks(store: Store, own: String, stopping: CancellationToken) {
    const LEAST_PAUSE: Duration = Duration::from_secs(30);
    const PAUSES_FOR_EACH_LOOK: u32 = 50;
    loop {
        let began = Instant::now();
        match store.locks_by_engine().await {
            Ok(locks) => show_locks(&locks, &own, store.clock().utc_now()),
            Err(error) => tracing::debug!(%error, "the locks could not be counted"),
        }
        let pause = LEAST_PAUSE.max(began.elapsed() * PAUSES_FOR_EACH_LOOK);
        if stopping.run_until_cancelled(tokio::time::sleep(pause)).await.is_none() {
            return;
        }
    }
}

fn show_locks(locks: &[LocksOfEngine], own: &str, now: NaiveDateTime) {
    for (holder, is_own) in [("own", true), ("other", false)] {
        let of_holder = || locks.iter().filter(|locks| (locks.engine_id == own) == is_own);
        let count: i64 = of_holder().map(|locks| locks.count).sum();
        let oldest = of_holder().filter_map(|locks| locks.oldest).min();
        let age = oldest.map_or(0, |oldest| (now - oldest).num_seconds().max(0));
        gauge!(LOCKS, "holder" => holder).set(count as f64);
        gauge!(OLDEST_LOCK, "holder" => holder).set(age as f64);
    }
}
