//! The database or the broker goes away, or comes and goes, while stacks are made. Nothing may be lost or done twice, and the
//! engine must neither end nor spin.

mod broker;
mod database;

use std::time::Duration;

use serde_json::{Value, json};

use crate::convergence::linked::LinkedSite;
use crate::convergence::site::{Engine, Site, Stack};
use crate::convergence::templates::{template, test, test_after};

/// How long an outage lasts.
const OUTAGE: Duration = Duration::from_secs(5);

/// Ten resources one after the other and ten at once, so that something happens at any moment of some seconds.
fn busy() -> Value {
    let mut resources = json!({"r0": test(json!({"value": "x"}))});
    for number in 1..10 {
        let before = format!("r{}", number - 1);
        let slowly = json!({"value": "x", "action_wait_secs": {"create": 0.4}});
        resources[format!("r{number}")] = test_after(slowly, &[&before]);
        resources[format!("f{number}")] = test(json!({"value": "x", "wait_secs": number}));
    }
    template(resources)
}

/// Makes a stack and, when it is under way, lets `outage` happen. In the end there must be nothing to see of it.
async fn live_through<F: Future<Output = ()>>(
    linked: &LinkedSite,
    engine: &Engine,
    outage: impl FnOnce() -> F,
) -> Stack {
    let site = &linked.site;
    let stack = site.create("busy", busy()).await;
    site.until_resource(&stack, "r1", "CREATE_IN_PROGRESS").await;
    let before = engine.cpu_time();
    outage().await;
    let spent = engine.cpu_time() - before;
    assert!(spent < OUTAGE / 2, "{spent:?} of CPU time: it spins");
    is_unharmed(site, &stack).await;
    stack
}

async fn is_unharmed(site: &Site, stack: &Stack) {
    site.until_settled(stack, "CREATE_COMPLETE").await;
    site.until_quiet().await;
    let resources = site.resources(stack).await;
    assert_eq!(resources.len(), 19);
    for resource in &resources {
        assert_eq!(
            (resource.state().as_str(), &resource.engine_id),
            ("CREATE_COMPLETE", &None),
            "{resource:?}"
        );
    }
    // Each began once and ended once: an outage is no failure.
    let mut events = site.events(stack).await;
    events.sort();
    let all = events.len();
    events.dedup();
    assert_eq!((events.len(), all), (2 * 20, 2 * 20), "{events:#?}");
}
