//! Messages that come twice, late and out of order must lead to what they lead to when they come once.

use std::collections::BTreeMap;
use std::time::Duration;

use futures_util::future::join_all;
use rand::rngs::StdRng;
use rand::{RngExt, SeedableRng};
use serde_json::json;

use super::courier::{Courier, Manners};
use super::remains::Remains;
use super::site::{Site, Stack, eventually};
use super::templates::{knot, of_every_type, web};
use crate::cloud::caller;
use crate::lab::Lab;

/// As a broker does on a good day.
const ONCE: Manners = Manners {
    copies: 1,
    longest_delay: Duration::ZERO,
    seed: 0,
};

struct Step {
    remains: Remains,
    templates: i64,
    /// Id in the table and physical name of each resource.
    identities: BTreeMap<String, (i32, String)>,
    random: Option<String>,
    frames: usize,
}

async fn look(site: &Site, stack: &Stack, courier: &Courier) -> Step {
    // `left` is the random text and the round; the random text itself is stored encrypted.
    let left = site
        .texts(&format!(
            "SELECT d.value FROM resource_data d JOIN resource r ON r.id = d.resource_id \
             WHERE r.stack_id = '{}' AND r.name = 'left'",
            stack.id
        ))
        .await
        .pop();
    let random = left.and_then(|left| Some(left.split_once('-')?.0.to_owned()));
    let identities = site.resources(stack).await.into_iter().map(|resource| {
        let physical = resource.physical_resource_id.unwrap_or_default();
        (resource.name, (resource.id, physical))
    });
    Step {
        identities: identities.collect(),
        remains: site.remains(stack).await.without(random.as_deref()),
        templates: site.count("raw_template").await,
        random,
        frames: courier.taken(),
    }
}

/// Creates, updates (in place, with two replacements) and deletes the web.
async fn live_through(hint: &str, manners: Manners) -> [Step; 3] {
    let site = Site::new(hint, "").await;
    let _engine = site.engine().await;
    let courier = Courier::start(&site.vhost, manners).await;
    let stack = site.create("web", web(1)).await;
    let created = after(&site, &stack, &courier, "CREATE_COMPLETE").await;
    site.update(&stack, web(2)).await;
    let updated = after(&site, &stack, &courier, "UPDATE_COMPLETE").await;
    site.delete(&stack).await;
    let deleted = after(&site, &stack, &courier, "gone").await;
    site.close().await;
    [created, updated, deleted]
}

async fn after(site: &Site, stack: &Stack, courier: &Courier, state: &str) -> Step {
    site.until_settled(stack, state).await;
    eventually("all is delivered", || async { courier.is_idle() }).await;
    site.until_quiet().await;
    look(site, stack, courier).await
}

/// By the update of the web.
const REPLACED: [&str; 2] = ["right", "chain2"];

#[tokio::test(flavor = "multi_thread")]
async fn twice_late_and_out_of_order_is_as_good_as_once() {
    let twice = Manners {
        copies: 2,
        longest_delay: Duration::from_millis(400),
        seed: 20_270_131,
    };
    let (undisturbed, disturbed) = tokio::join!(live_through("once", ONCE), live_through("twice", twice));
    for (expected, found) in undisturbed.iter().zip(&disturbed) {
        let [expected_remains, found_remains] =
            [expected, found].map(|step| without_updates_of(REPLACED, step.remains.clone()));
        assert_eq!(expected_remains, found_remains);
        assert_eq!(expected.templates, found.templates);
        // A second delivery may ask once more for what was lost, but what it asks for must not multiply.
        assert!(
            found.frames <= 2 * expected.frames,
            "{} frames, undisturbed {}",
            found.frames,
            expected.frames
        );
    }
    let [created, updated, _] = disturbed;
    assert!(created.random.is_some());
    assert_eq!(created.random, updated.random);
    for (name, identity) in &updated.identities {
        let replaced = REPLACED.contains(&name.as_str());
        assert_eq!(created.identities[name] != *identity, replaced, "{name}");
    }
}

/// What is left after each part of the life of a stack that has every type; it is the administrator's.
async fn live_as_every_type(hint: &str, manners: Manners) -> [Remains; 3] {
    let site = Site::new(hint, "").await;
    let _engine = site.engine().await;
    let courier = Courier::start(&site.vhost, manners).await;
    let keystone = &Lab::get().keystone.url;
    let admin = caller("admin", keystone).to_wire();
    let stack = site.create_as_admin("types", of_every_type(1), keystone).await;
    let created = after(&site, &stack, &courier, "CREATE_COMPLETE").await;
    let wanted = stack.update_arguments(of_every_type(2), json!({}));
    let asked = site.caller().try_call_as(&admin, "update_stack", wanted).await;
    asked.expect("the update begins");
    let updated = after(&site, &stack, &courier, "UPDATE_COMPLETE").await;
    site.delete_as_admin(&stack, keystone).await;
    let deleted = after(&site, &stack, &courier, "gone").await;
    site.close().await;
    [created, updated, deleted].map(|step| without_updates_of(["random", "delay"], step.remains))
}

/// Without the events that come once more when a message comes again between the end of an update that asks for a
/// replacement and the row of that replacement: the update is begun again, and finds the same. (With the Python engine it
/// is no different.)
fn without_updates_of(replaced: [&str; 2], mut remains: Remains) -> Remains {
    remains.events.retain(|event, _| {
        let is_update_of = |name: &str| event.strip_prefix(name).is_some_and(|rest| rest.starts_with(" UPDATE"));
        !replaced.into_iter().any(is_update_of)
    });
    remains
}

#[tokio::test(flavor = "multi_thread")]
async fn no_type_minds_messages_that_come_twice() {
    let twice = Manners {
        copies: 2,
        longest_delay: Duration::from_millis(300),
        seed: 20_270_201,
    };
    let (undisturbed, disturbed) = tokio::join!(
        live_as_every_type("typesonce", ONCE),
        live_as_every_type("typestwice", twice)
    );
    assert_eq!(undisturbed, disturbed);
}

/// A stack that is given no peace: updates and cancels come when they like.
pub async fn live_uneasily(site: &Site, number: u64) {
    let mut chance = StdRng::seed_from_u64(number);
    let stack = site.create(&format!("uneasy{number}"), knot(0)).await;
    for round in 1..5 {
        tokio::time::sleep(Duration::from_millis(chance.random_range(0..2500))).await;
        match chance.random_range(0..4) {
            // Refused when nothing is in progress.
            0 => drop(
                site.try_call("stack_cancel_update", stack.cancel_arguments(false))
                    .await,
            ),
            1 => drop(site.try_call("stack_cancel_update", stack.cancel_arguments(true)).await),
            _ => site.update(&stack, knot(round)).await,
        }
    }
    site.until_ended(&stack).await;
    // A cancel with rollback may still be about to begin.
    tokio::time::sleep(Duration::from_secs(1)).await;
    site.until_ended(&stack).await;
    site.update(&stack, knot(9)).await;
    // Python's engine leaves sync points of a traversal that is overtaken while it begins.
    site.until(&stack, "UPDATE_COMPLETE").await;
    // Deleted rows are purged after the stack's end is announced.
    eventually("what is deleted is purged", || async {
        let resources = site.resources(&stack).await;
        resources.iter().all(|row| row.action != "DELETE")
    })
    .await;
    let resources = site.resources(&stack).await;
    let bottom = site
        .texts(&format!(
            "SELECT d.value FROM resource_data d JOIN resource r ON r.id = d.resource_id \
             WHERE r.stack_id = '{}' AND r.name IN ('bottom', 'chain4') AND d.`key` = 'value' ORDER BY r.name",
            stack.id
        ))
        .await;
    assert_eq!(resources.len(), 9, "{resources:#?}");
    assert!(
        resources
            .iter()
            .all(|row| row.status == "COMPLETE" && row.engine_id.is_none()),
        "{resources:#?}"
    );
    assert!(
        bottom.len() == 2 && bottom[0].ends_with("-9") && bottom[1] == "9xxxx",
        "{bottom:?}"
    );
    site.delete(&stack).await;
    site.until(&stack, "gone").await;
    site.nothing_is_leaked(&stack).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn interrupted_stacks_come_to_their_end_all_the_same() {
    let site = Site::new("uneasy", "").await;
    let _engines = tokio::join!(site.engine(), site.engine());
    let manners = Manners {
        copies: 2,
        longest_delay: Duration::from_millis(600),
        seed: 7,
    };
    let _courier = Courier::start(&site.vhost, manners).await;
    join_all((0..8).map(|number| live_uneasily(&site, number))).await;
    site.until_quiet().await;
    assert_eq!(site.count("resource").await, 0);
    assert_eq!(site.count("sync_point").await, 0);
    site.close().await;
}
