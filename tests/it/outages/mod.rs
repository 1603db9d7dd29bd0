//! The database or the broker goes away, or comes and goes, while stacks are made. Nothing may be lost or done twice, the
//! engine must neither end nor spin, `/ready` has to say so meanwhile, and all goes on as soon as it can.

mod broker;
mod cluster;
mod database;
mod health;
mod mariadb;
mod servers;

use std::time::{Duration, Instant};

use serde_json::{Value, json};

use crate::convergence::linked::LinkedSite;
use crate::convergence::site::{Engine, Site, Stack};
use crate::convergence::templates::{template, test, test_after};
use crate::metrics::free_address;
use health::{Says, Watching};

/// How long an outage lasts.
const OUTAGE: Duration = Duration::from_secs(6);

/// From fair weather to a stack that is complete. Undisturbed it takes ten seconds, of which an outage costs some; the rest
/// is for a busy machine.
const SETTLED_WITHIN: Duration = Duration::from_secs(20);

/// Of one core.
const MOST_CPU: f64 = 0.15;

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

/// An engine that can be asked how it is.
struct Patient {
    engine: Engine,
    health_address: String,
}

impl Patient {
    async fn on(linked: &LinkedSite) -> Self {
        Self::with(&linked.site, &linked.options()).await
    }

    async fn with(site: &Site, options: &[(&'static str, String)]) -> Self {
        let health_address = free_address();
        let mut all: Vec<(&str, &str)> = options.iter().map(|(name, value)| (*name, value.as_str())).collect();
        all.push(("OS_HEAT_ENGINE_RS__HEALTH_ADDRESS", &health_address));
        Self {
            engine: site.engine_with(&all).await,
            health_address,
        }
    }
}

/// Makes a stack and, when it is under way, lets `outage` happen. In the end there must be nothing to see of it.
async fn live_through<F: Future<Output = ()>>(
    site: &Site,
    patient: &Patient,
    says: Says,
    outage: impl FnOnce() -> F,
) -> Stack {
    let stack = site.create("busy", busy()).await;
    site.until_resource(&stack, "r1", "CREATE_IN_PROGRESS").await;
    let watching = Watching::start(&patient.health_address);
    let (began, before) = (Instant::now(), patient.engine.cpu_time());
    outage().await;
    let (took, spent) = (began.elapsed(), patient.engine.cpu_time() - before);
    let share = spent.as_secs_f64() / took.as_secs_f64();
    assert!(share < MOST_CPU, "{spent:?} of CPU time in {took:?}: it spins");
    settles(site, &stack, SETTLED_WITHIN).await;
    watching.stop().judge(says, began, began + took);
    is_unharmed(site, &stack).await;
    stack
}

async fn settles(site: &Site, stack: &Stack, within: Duration) {
    let fair = Instant::now();
    site.until_settled(stack, "CREATE_COMPLETE").await;
    let took = fair.elapsed();
    println!("settled {took:.1?} after the outage");
    assert!(took < within, "it took {took:?} from fair weather on");
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
