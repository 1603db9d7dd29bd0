//! Work that was lost in one way or another, and comes to its end without anybody asking for it again.

mod bounds;
mod ends;
mod holders;
mod litter;
mod messages;
mod objects;
mod steps;

use serde_json::json;

use crate::convergence::site::{Engine, Site, Stack, eventually};
use crate::convergence::templates::{template, test, test_after};

/// Engines that report each second and look for lost work as often. A deletion may be gone on with, as nothing can be abandoned.
pub const RESTLESS: &str = "[DEFAULT]\nperiodic_interval = 1\nenable_stack_abandon = false\n\
                            [heat_engine_rs]\nrecovery_interval = 1\nrecovery_patience = 2";

impl Site {
    pub async fn restless(hint: &str) -> Self {
        Self::new(hint, RESTLESS).await
    }

    /// `a`, whose create takes so many seconds, and `b` after it.
    pub async fn create_pair(&self, name: &str, seconds: u32) -> Stack {
        let slowly = json!({"value": "1", "action_wait_secs": {"create": seconds}});
        let resources = json!({"a": test(slowly), "b": test_after(json!({}), &["a"])});
        self.create(name, template(resources)).await
    }

    /// Runs a statement.
    pub fn change(&self, statement: &str) {
        self.database.sql(statement);
    }

    /// The end of a stack that has come by itself, with nothing left behind.
    pub async fn until_tidy(&self, stack: &Stack, state: &str) {
        self.until_settled(stack, state).await;
        for resource in self.resources(stack).await {
            assert_eq!(resource.engine_id, None, "{resource:?}");
            assert_ne!(resource.status, "IN_PROGRESS", "{resource:?}");
        }
    }

    /// How often each of these happened.
    pub async fn times<const N: usize>(&self, stack: &Stack, happened: [&str; N]) -> [usize; N] {
        let events = self.events(stack).await;
        happened.map(|event| events.iter().filter(|known| *known == event).count())
    }
}

/// Ends an engine in peace, which hands its messages back.
pub async fn stop(mut engine: Engine) {
    engine.signal("TERM");
    engine.wait().await;
}

/// A pair of which `a` is made, and the message for `b` is lost.
pub async fn asleep_between(site: &Site, name: &str, args: serde_json::Value) -> Stack {
    let engine = site.engine().await;
    let slowly = json!({"value": "1", "action_wait_secs": {"create": 3}});
    let resources = json!({"a": test(slowly), "b": test_after(json!({}), &["a"])});
    let stack = site.create_with(name, template(resources), args).await;
    site.until_resource(&stack, "a", "CREATE_IN_PROGRESS").await;
    stop(engine).await;
    assert_eq!(site.resource(&stack, "a").await.state(), "CREATE_COMPLETE");
    eventually("the message for `b` waits", || async {
        let queues = site.vhost.queues();
        let workers = queues.iter().find(|queue| queue["name"] == "engine_worker");
        workers.is_some_and(|queue| queue["messages"] == 1)
    })
    .await;
    site.vhost.purge("engine_worker");
    stack
}
