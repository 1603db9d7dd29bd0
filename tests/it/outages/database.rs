//! What databases do to those who work with them.

use std::time::Duration;

use serde_json::json;

use super::health::{NOTICED_WITHIN, Says};
use super::{OUTAGE, Patient, is_unharmed, live_through};
use crate::convergence::linked::LinkedSite;
use crate::convergence::site::eventually;
use crate::convergence::templates::flat;
use crate::lab::Lab;
use crate::link::{Strike, Weather};

const MOMENT: Duration = Duration::from_millis(300);

const AWAY: Says = Says::Missing("the database does not answer", NOTICED_WITHIN);

#[tokio::test(flavor = "multi_thread")]
async fn a_database_that_refuses_connections_for_a_while() {
    let linked = LinkedSite::new("db_cut", "").await;
    let engine = Patient::on(&linked).await;
    live_through(&linked.site, &engine, AWAY, || async {
        linked.database.weather(Weather::Cut);
        tokio::time::sleep(OUTAGE).await;
        linked.database.weather(Weather::Fair);
    })
    .await;
    linked.site.close().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn connections_that_are_killed() {
    let linked = LinkedSite::new("db_kill", "").await;
    let engine = Patient::on(&linked).await;
    let name = &linked.site.database.name;
    live_through(&linked.site, &engine, Says::Either, || async {
        for _ in 0..15 {
            let mine = format!("SELECT id FROM information_schema.processlist WHERE db = '{name}'");
            for row in Lab::get().sql(&mine) {
                Lab::get().try_sql(&format!("KILL CONNECTION {}", row[0]));
            }
            tokio::time::sleep(MOMENT).await;
        }
    })
    .await;
    linked.site.close().await;
}

/// B40: deadlocks, and waits for locks that are given up, now and then all the time.
#[rstest::rstest]
#[case::deadlock_1213_certification_failure(1213)]
#[case::lock_wait(1205)]
#[case::changed_read(1020)]
#[tokio::test(flavor = "multi_thread")]
async fn statements_that_are_refused_now_and_then(#[case] code: u16) {
    let linked = LinkedSite::new(&format!("db_{code}"), "").await;
    let _engine = linked.engine().await;
    linked.steps.arm_often(10, Strike::Refuse(code));
    let stack = linked.site.create("busy", super::busy()).await;
    linked.site.until(&stack, "CREATE_COMPLETE").await;
    let (seen, struck) = linked.steps.disarm();
    assert!(struck.is_some() && seen.len() > 100, "{} steps", seen.len());
    is_unharmed(&linked.site, &stack).await;
    linked.site.close().await;
}

/// B40, as large as it was met: a life with a deadlock at every tenth write or COMMIT comes to what one without comes to.
#[tokio::test(flavor = "multi_thread")]
async fn deadlocks_leave_no_trace_in_a_large_stack() {
    const LIFE: [(&str, &str); 3] = [
        ("create", "CREATE_COMPLETE"),
        ("update", "UPDATE_COMPLETE"),
        ("delete", "gone"),
    ];
    let linked = LinkedSite::new("db_hundred", "").await;
    let _engine = linked.engine().await;
    let site = &linked.site;
    let mut lives = Vec::new();
    for (name, disturbed) in [("calm", false), ("stormy", true)] {
        let wanted = |value: &str| flat(100, &json!({"value": value}));
        let mut life = Vec::new();
        let mut stack = None;
        for (what, state) in LIFE {
            if disturbed {
                linked
                    .steps
                    .arm_often_among(&["COMMIT", "UPDATE"], 10, Strike::Refuse(1213));
            }
            match (what, &stack) {
                ("update", Some(stack)) => site.update(stack, wanted("2")).await,
                ("delete", Some(stack)) => site.delete(stack).await,
                _ => stack = Some(site.create(name, wanted("1")).await),
            }
            let stack = stack.as_ref().expect("it is created first");
            site.until_settled(stack, state).await;
            let (_, struck) = linked.steps.disarm();
            assert_eq!(struck.is_some(), disturbed, "{name}, {what}");
            life.push(site.remains(stack).await.without(Some(name)));
        }
        lives.push(life);
    }
    assert_eq!(lives[0], lives[1]);
    linked.site.close().await;
}

/// As a server that is being demoted: not even what would only read is answered.
#[tokio::test(flavor = "multi_thread")]
async fn a_database_that_refuses_all_statements_for_a_while() {
    let linked = LinkedSite::new("db_refusing", "").await;
    let engine = Patient::on(&linked).await;
    live_through(&linked.site, &engine, AWAY, || async {
        linked.steps.arm_often(1, Strike::Refuse(1290));
        tokio::time::sleep(OUTAGE).await;
        linked.steps.disarm();
    })
    .await;
    linked.site.close().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_database_without_a_connection_left() {
    let linked = LinkedSite::new("db_full", "").await;
    let engine = Patient::on(&linked).await;
    live_through(&linked.site, &engine, AWAY, || async {
        linked.database.weather(Weather::Full);
        linked.database.drop_connections();
        tokio::time::sleep(OUTAGE).await;
        linked.database.weather(Weather::Fair);
    })
    .await;
    linked.site.close().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_link_to_the_database_that_stalls() {
    let linked = LinkedSite::new("db_stall", "").await;
    let engine = Patient::on(&linked).await;
    // Nobody says that anything is wrong: a look must have begun, and have waited for its answer.
    let unheard = Says::Missing("the database does not answer", NOTICED_WITHIN + MOMENT * 10);
    live_through(&linked.site, &engine, unheard, || async {
        linked.database.weather(Weather::Stalled);
        tokio::time::sleep(OUTAGE + MOMENT * 10).await;
        linked.database.weather(Weather::Fair);
    })
    .await;
    linked.site.close().await;
}

/// Power that fails, an address that moves, a firewall that loses its table: nobody is told, neither we nor the server,
/// which keeps the locks of what was under way.
#[tokio::test(flavor = "multi_thread")]
async fn a_link_to_the_database_that_is_silently_dead() {
    let linked = LinkedSite::new("db_forgotten", "").await;
    let engine = Patient::on(&linked).await;
    live_through(&linked.site, &engine, Says::Ready, || async {
        linked.database.forget_connections();
        tokio::time::sleep(OUTAGE).await;
    })
    .await;
    linked.site.close().await;
}

/// The same in the middle of a transaction, whose locks are in the way of whoever would do it again.
#[tokio::test(flavor = "multi_thread")]
async fn locks_of_a_dead_link_are_taken_back() {
    let linked = LinkedSite::new("db_dead_locks", "").await;
    let engine = Patient::on(&linked).await;
    let began = std::time::Instant::now();
    let mut stacks = Vec::new();
    for number in 0..3 {
        stacks.push(linked.site.create(&format!("busy-{number}"), super::busy()).await);
        linked.database.forget_connections();
    }
    let name = &linked.site.database.name;
    let open = format!(
        "SELECT trx_mysql_thread_id FROM information_schema.innodb_trx t \
         JOIN information_schema.processlist p ON p.id = t.trx_mysql_thread_id WHERE p.db = '{name}' AND t.trx_started < NOW() - INTERVAL 15 SECOND"
    );
    for stack in &stacks {
        is_unharmed(&linked.site, stack).await;
    }
    assert!(began.elapsed() < Duration::from_secs(60), "{:?}", began.elapsed());
    assert_eq!(
        Lab::get().sql(&open),
        Vec::<Vec<String>>::new(),
        "no transaction is left open"
    );
    drop(engine);
    linked.site.close().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_link_to_the_database_that_is_slow() {
    let linked = LinkedSite::new("db_slow", "").await;
    let engine = Patient::on(&linked).await;
    live_through(&linked.site, &engine, Says::Ready, || async {
        linked.database.weather(Weather::Slow(Duration::from_millis(20)));
        tokio::time::sleep(OUTAGE).await;
        linked.database.weather(Weather::Fair);
    })
    .await;
    linked.site.close().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn an_engine_that_starts_before_its_database() {
    let linked = LinkedSite::new("db_late", "").await;
    linked.database.weather(Weather::Cut);
    let starting = linked.engine();
    let late = async {
        tokio::time::sleep(OUTAGE / 2).await;
        linked.database.weather(Weather::Fair);
    };
    let (engine, ()) = tokio::join!(starting, late);
    eventually("it reports", || async { linked.site.living_engines().await == 1 }).await;
    drop(engine);
    linked.site.close().await;
}
