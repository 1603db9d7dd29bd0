//! Messages that come twice, late and out of order must lead to what they lead to when they come once.

use std::collections::{BTreeMap, BTreeSet};
use std::time::Duration;

use super::courier::{Courier, Manners};
use super::site::{Site, Stack, eventually};
use super::templates::web;

/// What is left of a step of the scenario, as far as it may be compared.
#[derive(Debug, PartialEq, Eq)]
struct Remains {
    stack: String,
    resources: BTreeSet<String>,
    /// How often what happened to which.
    events: BTreeMap<String, usize>,
    templates: i64,
    sync_points: i64,
}

struct Step {
    remains: Remains,
    /// Id in the table and physical name of each resource.
    identities: BTreeMap<String, (i32, String)>,
    random: Option<String>,
    frames: usize,
}

async fn look(site: &Site, stack: &Stack, courier: &Courier) -> Step {
    let id = &stack.id;
    let values = format!(
        "SELECT CONCAT_WS(' ', r.name, r.action, r.status, IF(d.redact, 'hidden', d.value), r.engine_id, r.replaces, r.replaced_by, \
         IF(r.current_template_id = s.raw_template_id, 'current', 'old'), \
         (SELECT GROUP_CONCAT(o.name ORDER BY o.name) FROM resource o \
          WHERE o.stack_id = s.id AND JSON_CONTAINS(r.requires, CAST(o.id AS CHAR)))) \
         FROM resource r JOIN stack s ON s.id = r.stack_id \
         LEFT JOIN resource_data d ON d.resource_id = r.id AND d.`key` = 'value' WHERE s.id = '{id}'"
    );
    // `left` is the random text and the round; the random text itself is stored encrypted.
    let left = site
        .texts(&format!(
            "SELECT d.value FROM resource_data d JOIN resource r ON r.id = d.resource_id \
             WHERE r.stack_id = '{id}' AND r.name = 'left'"
        ))
        .await
        .pop();
    let random = left.and_then(|left| Some(left.split_once('-')?.0.to_owned()));
    let hidden = random.clone().unwrap_or("(no random text)".to_owned());
    let resources = site.texts(&values).await;
    let mut events = BTreeMap::new();
    for event in site.events(stack).await {
        *events.entry(event).or_default() += 1;
    }
    let identities = site.resources(stack).await.into_iter().map(|resource| {
        let physical = resource.physical_resource_id.unwrap_or_default();
        (resource.name, (resource.id, physical))
    });
    Step {
        remains: Remains {
            stack: site.state(stack).await,
            resources: resources.iter().map(|row| row.replace(&hidden, "(random)")).collect(),
            events,
            templates: site.count("raw_template").await,
            sync_points: site.sync_points(stack).await,
        },
        identities: identities.collect(),
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

#[tokio::test(flavor = "multi_thread")]
async fn twice_late_and_out_of_order_is_as_good_as_once() {
    let once = Manners {
        copies: 1,
        longest_delay: Duration::ZERO,
        seed: 0,
    };
    let twice = Manners {
        copies: 2,
        longest_delay: Duration::from_millis(400),
        seed: 20_270_131,
    };
    let (undisturbed, disturbed) = tokio::join!(live_through("once", once), live_through("twice", twice));
    for (expected, found) in undisturbed.iter().zip(&disturbed) {
        assert_eq!(expected.remains, found.remains);
        // A second delivery may ask once more for what was lost, but what it asks for must not multiply.
        assert!(
            found.frames <= 3 * expected.frames,
            "{} frames, undisturbed {}",
            found.frames,
            expected.frames
        );
    }
    let [created, updated, _] = disturbed;
    assert!(created.random.is_some());
    assert_eq!(created.random, updated.random);
    for (name, identity) in &updated.identities {
        let replaced = ["right", "chain2"].contains(&name.as_str());
        assert_eq!(created.identities[name] != *identity, replaced, "{name}");
    }
}
