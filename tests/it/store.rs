//! The store on a real MariaDB, beside the Python engine's own database layer.

mod joint;
mod oracle;
mod proxy;
mod races;
mod secrets;
mod tables;

use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use chrono::NaiveDateTime;
use heat_engine::clock::{Clock, TimeSource};
use heat_engine::store::{DatabaseOptions, NewRawTemplate, NewResource, NewStack, RetryLimits, StackCreation, Store};

use crate::lab::{Lab, TestDatabase};

/// A clock that stands still, with a fraction that columns drop.
struct StandingClock {
    drawn: AtomicU64,
}

const NOW: &str = "2026-01-02T03:04:05.987654";

impl TimeSource for StandingClock {
    fn utc_now(&self) -> NaiveDateTime {
        NOW.parse().expect("a time")
    }

    fn random_u64(&self) -> u64 {
        self.drawn
            .fetch_add(1, Ordering::Relaxed)
            .wrapping_mul(0x9e37_79b9_7f4a_7c15)
    }
}

fn standing_clock() -> Clock {
    Clock::from_source(StandingClock {
        drawn: AtomicU64::new(1),
    })
}

fn options(url: &str) -> DatabaseOptions {
    let mut options = DatabaseOptions::new(url);
    options.max_connect_retries = Some(0);
    options.retry = RetryLimits {
        max_retries: Some(20),
        interval: Duration::from_millis(20),
        increasing: false,
        max_interval: Duration::from_millis(20),
    };
    options
}

async fn open(url: &str) -> Store {
    Store::connect(&options(url), standing_clock())
        .await
        .expect("the database answers")
}

/// A store on a database of its own. The database goes when the first value is dropped.
async fn fresh_store(hint: &str) -> (TestDatabase, Store) {
    let database = Lab::get().fresh_database(hint);
    let store = open(&database.url()).await;
    (database, store)
}

fn stack(name: &str, raw_template_id: i64) -> NewStack {
    NewStack {
        id: format!("stack-{name}"),
        name: name.to_owned(),
        raw_template_id,
        username: Some("demo".to_owned()),
        action: Some("CREATE".to_owned()),
        status: Some("IN_PROGRESS".to_owned()),
        status_reason: Some("Stack CREATE started".to_owned()),
        tenant: Some("p1".to_owned()),
        disable_rollback: true,
        convergence: true,
        current_traversal: Some("t1".to_owned()),
        ..NewStack::default()
    }
}

fn resource(name: &str, stack_id: &str, template_id: i64) -> NewResource {
    NewResource {
        uuid: format!("uuid-{name}"),
        stack_id: stack_id.to_owned(),
        root_stack_id: Some(stack_id.to_owned()),
        name: name.to_owned(),
        action: Some("INIT".to_owned()),
        status: Some("COMPLETE".to_owned()),
        status_reason: Some(String::new()),
        current_template_id: Some(template_id),
        ..NewResource::default()
    }
}

async fn template(store: &Store) -> i64 {
    let template = NewRawTemplate {
        template: "{\"heat_template_version\": \"2018-08-31\"}".to_owned(),
        environment: "{\"parameters\": {}}".to_owned(),
        files_id: None,
    };
    store.raw_template_create(&template).await.expect("a template")
}

/// A template, a stack `s` on it and a resource `r` in that.
async fn stack_with_resource(store: &Store) -> (String, i64) {
    let template = template(store).await;
    let stack = stack("s", template);
    let created = store.stack_create(&stack).await.expect("a stack");
    assert!(matches!(created, StackCreation::Created(_)));
    let resource = store
        .resource_create(&resource("r", &stack.id, template))
        .await
        .expect("a resource");
    (stack.id, resource)
}
