//! How much one sweep mends, and what an engine leaves that dies in the midst of one.

use serde_json::json;

use super::steps::kill;
use super::{RESTLESS, asleep_between};
use crate::convergence::linked::LinkedSite;
use crate::convergence::site::{Site, Stack, eventually};
use crate::convergence::templates::flat;
use crate::metrics::{free_address, page};

/// As docs/reliability.md promises.
const MOST_MENDED: usize = 200;

const END_OF_A_SWEEP: &str = "the sweep has mended what was lost";

/// A stack of so many resources, all of which a dead engine holds. Whoever works on them next is done at once.
async fn stranded(site: &Site, name: &str, resources: usize) -> Stack {
    let engine = site.engine().await;
    let stack = site
        .create(name, flat(resources, &json!({"action_wait_secs": {"create": 3601}})))
        .await;
    let held = format!(
        "resource WHERE stack_id = '{}' AND status = 'IN_PROGRESS' AND engine_id IS NOT NULL",
        stack.id
    );
    eventually("all are held", || async { site.count(&held).await == resources as i64 }).await;
    engine.kill();
    site.change(
        "UPDATE resource_properties_data SET data = REPLACE(data, '3601', '0'); \
         UPDATE raw_template SET template = REPLACE(template, '3601', '0')",
    );
    stack
}

/// An hour until the next look, unless this one has left something: what it leaves must not wait for that.
#[tokio::test(flavor = "multi_thread")]
async fn a_sweep_mends_so_much_and_leaves_the_rest_to_the_next() {
    let address = free_address();
    let site = Site::new(
        "bounds",
        &format!(
            "[DEFAULT]\nperiodic_interval = 1\n\
             [heat_engine_rs]\nrecovery_interval = 3600\nrecovery_patience = 2\nmetrics_address = {address}"
        ),
    )
    .await;
    // The address is the living engine's.
    let stack = stranded(&site, "bounds", 300).await;
    // Whoever has reported just now is taken to live until the next look, which would be in an hour here.
    let recent = "service WHERE COALESCE(updated_at, created_at) > UTC_TIMESTAMP() - INTERVAL 3 SECOND";
    eventually("its last report is old", || async { site.count(recent).await == 0 }).await;
    // What it had not acknowledged yet would come again, and mend a part of it.
    site.vhost.purge("engine_worker");
    let engine = site.engine().await;
    site.until_tidy(&stack, "CREATE_COMPLETE").await;

    let log = engine.log();
    let sweeps: Vec<[usize; 2]> = log
        .split(END_OF_A_SWEEP)
        .map(|sweep| {
            ["Worker went down during resource CREATE", "sending its message again"]
                .map(|what| sweep.lines().filter(|line| line.contains(what)).count())
        })
        .filter(|mended| *mended != [0, 0])
        .collect();
    assert_eq!(sweeps, [[200, 0], [100, 100], [0, 200]], "locks and messages of each");
    assert!(sweeps.iter().all(|[locks, messages]| locks + messages <= MOST_MENDED));

    // The same is told by the events and by the counters.
    let events = "event WHERE resource_action = 'CREATE' AND resource_status = 'FAILED' \
                  AND resource_status_reason = 'Worker went down during resource CREATE'";
    assert_eq!(site.count(events).await, 300);
    let told = page(&address);
    for line in [
        r#"heat_engine_mended_total{what="dead_engine"} 1"#,
        r#"heat_engine_mended_total{what="lock"} 300"#,
        r#"heat_engine_mended_total{what="message"} 300"#,
        r#"heat_engine_mended_total{what="given_up"} 0"#,
    ] {
        assert!(told.contains(line), "no {line} in {told}");
    }
    site.close().await;
}

/// Left-overs count as everything else does, and 150 that cannot be removed keep none of the others from it.
#[tokio::test(flavor = "multi_thread")]
async fn left_overs_are_removed_in_parts_past_those_that_stay() {
    let site = Site::restless("parts").await;
    site.change(
        "INSERT INTO user_creds (created_at, username, trust_id, decrypt_method) \
         SELECT UTC_TIMESTAMP() - INTERVAL 2 HOUR, 'stays', 'sealed with another key', 'cryptography_decrypt_v1' \
         FROM seq_1_to_150; \
         INSERT INTO user_creds (created_at, username) SELECT UTC_TIMESTAMP() - INTERVAL 2 HOUR, 'goes' FROM seq_1_to_250; \
         INSERT INTO raw_template (created_at, template) SELECT UTC_TIMESTAMP() - INTERVAL 2 HOUR, 'goes' FROM seq_1_to_250",
    );
    let engine = site.engine().await;
    eventually("what can go goes", || async {
        site.count("user_creds WHERE username = 'goes'").await == 0 && site.count("raw_template").await == 0
    })
    .await;
    assert_eq!(site.count("user_creds").await, 150);
    eventually("the sweeps are told of", || async {
        engine.log().matches(END_OF_A_SWEEP).count() == 3
    })
    .await;
    let log = engine.log();
    let sweeps: Vec<&str> = log.lines().filter(|line| line.contains(END_OF_A_SWEEP)).collect();
    for (sweep, mended) in sweeps.iter().zip(["mended=200", "mended=200", "mended=100"]) {
        assert!(sweep.contains(mended), "{sweeps:#?}");
    }
    site.close().await;
}

/// One sweeper after the other dies, each at another step of what the one before it has left.
#[tokio::test(flavor = "multi_thread")]
async fn who_dies_in_the_midst_of_a_sweep_leaves_nothing_that_the_next_does_not_find() {
    let linked = LinkedSite::new("midst", RESTLESS).await;
    let site = &linked.site;
    let asleep = asleep_between(site, "asleep", json!({})).await;
    let held = stranded(site, "held", 40).await;
    site.change(
        "INSERT INTO raw_template (created_at, template) SELECT UTC_TIMESTAMP() - INTERVAL 2 HOUR, 'left' FROM seq_1_to_20",
    );
    let mut struck = Vec::new();
    for step in [45, 100, 150, 170, 190] {
        linked.steps.arm(None, || {});
        let mut engine = linked.engine().await;
        let victim = engine.process_id();
        let strike = crate::link::Strike::After;
        linked.steps.arm(Some((step, strike)), move || kill(victim));
        eventually("the sweeper dies, or nothing is left", || async {
            linked.steps.has_struck() || site.state(&held).await == "CREATE_COMPLETE"
        })
        .await;
        let (_, by) = linked.steps.disarm();
        if let Some(by) = by {
            engine.wait().await;
            struck.push(by);
        }
    }
    assert!(struck.len() >= 3, "{struck:#?}");
    let _engine = linked.engine().await;
    for stack in [&asleep, &held] {
        site.until_tidy(stack, "CREATE_COMPLETE").await;
        let made_twice = format!(
            "SELECT physical_resource_id FROM event WHERE stack_id = '{}' AND resource_action = 'CREATE' \
             AND resource_status = 'COMPLETE' GROUP BY physical_resource_id HAVING COUNT(*) > 1",
            stack.id
        );
        assert_eq!(site.texts(&made_twice).await, Vec::<String>::new(), "{struck:#?}");
    }
    eventually("what nobody has goes", || async {
        site.count("raw_template WHERE template = 'left'").await == 0
    })
    .await;
    for stack in [&asleep, &held] {
        site.delete(stack).await;
        site.until_settled(stack, "gone").await;
        site.nothing_is_leaked(stack).await;
    }
    linked.site.close().await;
}
