//! The same calls, once by the Python engine's database layer and once by ours, leave the same rows.

use chrono::TimeDelta;
use heat_engine::clock::{Clock, TimeSource};
use heat_engine::store::{
    Deleted, EventQuery, ExpectedResource, Filter, NewEvent, NewRawTemplate, NewResource, NewService, NewSyncPoint,
    Page, PropertiesData, RawTemplateChanges, Removal, Replacement, ResourceChanges, Scope, StackChanges,
    StackCreation, StackLock, StackQuery, Store, Swap, SyncPointKey,
};
use serde_json::{Map, Value, json};
use std::sync::Arc;
use std::sync::atomic::{AtomicI64, Ordering};

use super::{NOW, options, resource, stack};
use crate::lab::{Lab, TestDatabase};

const CALLS: &str = include_str!("oracle_calls.py");

const TABLES: [&str; 13] = [
    "event",
    "raw_template",
    "raw_template_files",
    "resource",
    "resource_data",
    "resource_properties_data",
    "service",
    "snapshot",
    "stack",
    "stack_lock",
    "stack_tag",
    "sync_point",
    "user_creds",
];

/// A clock that moves only when it is told to.
#[derive(Clone, Default)]
struct SetClock {
    seconds: Arc<AtomicI64>,
}

impl TimeSource for SetClock {
    fn utc_now(&self) -> chrono::NaiveDateTime {
        let start: chrono::NaiveDateTime = NOW.parse().expect("a time");
        start + TimeDelta::seconds(self.seconds.load(Ordering::SeqCst))
    }

    fn random_u64(&self) -> u64 {
        u64::MAX
    }
}

fn all_rows(database: &TestDatabase) -> Vec<(&'static str, Vec<Vec<String>>)> {
    TABLES
        .map(|table| (table, database.sql(&format!("SELECT * FROM {table} ORDER BY 1, 2, 3"))))
        .to_vec()
}

async fn compare(until: &str) {
    let theirs = Lab::get().fresh_database("oracle_theirs");
    Lab::get().python_json(CALLS, &[&theirs.url(), NOW, until]);
    let ours = Lab::get().fresh_database("oracle_ours");
    let clock = SetClock::default();
    let store = Store::connect(&options(&ours.url()), Clock::from_source(clock.clone()))
        .await
        .expect("connects");
    fill(&store, &clock).await;
    if until == "empty" {
        empty(&store).await;
    }
    for ((table, their_rows), (_, our_rows)) in all_rows(&theirs).into_iter().zip(all_rows(&ours)) {
        assert_eq!(our_rows, their_rows, "table {table}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn rows_are_written_as_python_writes_them() {
    compare("filled").await;
}

#[tokio::test(flavor = "multi_thread")]
async fn rows_are_removed_as_python_removes_them() {
    compare("empty").await;
}

fn sync_point(entity: &str) -> SyncPointKey {
    SyncPointKey {
        entity_id: entity.to_owned(),
        traversal_id: "t1".to_owned(),
        is_update: true,
    }
}

fn some(text: &str) -> Option<String> {
    Some(text.to_owned())
}

async fn fill(store: &Store, clock: &SetClock) {
    let later = clock.utc_now() + TimeDelta::seconds(90);
    store
        .raw_template_files_create(r#"{"a.yaml": "h\u00e9"}"#)
        .await
        .expect("files");
    for (template, environment) in [
        (
            r#"{"heat_template_version": "2018-08-31"}"#,
            r#"{"parameters": {"p": "\u20ac"}}"#,
        ),
        (r#"{"n": 2}"#, "{}"),
    ] {
        let template = NewRawTemplate {
            template: template.to_owned(),
            environment: environment.to_owned(),
            files_id: Some(1),
        };
        store.raw_template_create(&template).await.expect("a template");
    }
    let created = store.stack_create(&stack("s", 1)).await.expect("a stack");
    assert_eq!(
        created,
        StackCreation::Created("2026-01-02T03:04:05".parse().expect("a time"))
    );
    store
        .stack_tags_set("stack-s", &["a".to_owned(), "\u{e9}".to_owned()])
        .await
        .expect("tags");
    let points = ["1", "2", "stack-s"].map(|entity| NewSyncPoint {
        key: sync_point(entity),
        stack_id: "stack-s".to_owned(),
    });
    store.sync_points_create(&points).await.expect("sync points");
    let two = NewResource {
        requires: vec![1],
        rsrc_metadata: some("{}"),
        ..resource("two", "stack-s", 1)
    };
    let ids = store
        .resources_create(&[resource("one", "stack-s", 1), two])
        .await
        .expect("resources");
    assert_eq!(ids, [1, 2]);
    let lock = |engine: &str| ResourceChanges {
        engine_id: Some(some(engine)),
        ..ResourceChanges::default()
    };
    let free = ExpectedResource::unlocked(None);
    assert_eq!(
        store.resource_swap(1, &free, &lock("e1")).await.expect("an outcome"),
        Swap::Updated
    );
    assert_eq!(
        store.resource_swap(1, &free, &lock("e2")).await.expect("an outcome"),
        Swap::Lost
    );
    store
        .properties_data_create(&PropertiesData::plain(r#"{"length": 8, "x": "\u00e9"}"#))
        .await
        .expect("properties");
    create_events(store, later).await;
    let noted = ResourceChanges {
        physical_resource_id: Some(some("phys-1")),
        rsrc_prop_data_id: Some(Some(1)),
        ..ResourceChanges::default()
    };
    assert_eq!(
        store.resource_update(1, &noted).await.expect("an outcome"),
        Swap::Updated
    );
    let plain = store.resource_data_add(1, "plain", "v1", None).await.expect("data");
    let kept = store.resource_data_add(1, "kept", "v1", None).await.expect("data");
    clock.seconds.store(90, Ordering::SeqCst);
    for (row, value) in [(plain, "v2"), (kept, "v1")] {
        let written = store.resource_data_write(row, value, None).await.expect("an outcome");
        assert_eq!(written, Swap::Updated);
    }
    finish_resource(store, later).await;
    change_stack(store, later).await;
    fill_services_and_locks(store).await;
}

async fn create_events(store: &Store, later: chrono::NaiveDateTime) {
    let first = NewEvent {
        uuid: "event-1".to_owned(),
        stack_id: "stack-s".to_owned(),
        resource_name: some("one"),
        resource_action: some("CREATE"),
        resource_status: some("IN_PROGRESS"),
        resource_status_reason: Some("\u{e9}".repeat(300)),
        resource_type: some("OS::Heat::TestResource"),
        rsrc_prop_data_id: Some(1),
        ..NewEvent::default()
    };
    store.event_create(&first).await.expect("an event");
    let second = NewEvent {
        uuid: "event-2".to_owned(),
        stack_id: "stack-s".to_owned(),
        created_at: Some(later),
        resource_name: some("s"),
        resource_type: some("OS::Heat::Stack"),
        ..NewEvent::default()
    };
    store.event_create(&second).await.expect("an event");
}

async fn finish_resource(store: &Store, later: chrono::NaiveDateTime) {
    let done = ResourceChanges {
        engine_id: Some(None),
        action: some("CREATE"),
        status: some("COMPLETE"),
        status_reason: Some("\u{20ac}".repeat(30_000)),
        updated_at: Some(Some(later)),
        rsrc_metadata: Some(some(r#"{"k": "\u00e9"}"#)),
        ..ResourceChanges::default()
    };
    let mine = ExpectedResource::locked_by("e1", Some(1));
    assert_eq!(
        store.resource_swap(1, &mine, &done).await.expect("an outcome"),
        Swap::Updated
    );
    let data = r#"{"input_data": {"tuple:(1, True)": 1}}"#;
    let key = sync_point("2");
    assert_eq!(
        store
            .sync_point_swap(&key, 0, Some(data), None)
            .await
            .expect("an outcome"),
        Swap::Updated
    );
    assert_eq!(
        store
            .sync_point_swap(&key, 0, Some("{}"), None)
            .await
            .expect("an outcome"),
        Swap::Lost
    );
    let whole = sync_point("stack-s");
    let extra = Some(r#"{"skip": true}"#);
    assert_eq!(
        store.sync_point_swap(&whole, 0, None, extra).await.expect("an outcome"),
        Swap::Updated
    );
    let attributes = PropertiesData::plain(r#"{"attr": "\u00e9"}"#);
    let stored = store.resource_attributes_store(1, Some(2), &attributes, None).await;
    assert_eq!(stored.expect("an outcome"), Some(2));
    let attributes = PropertiesData::plain(r#"{"attr": 2}"#);
    let stored = store.resource_attributes_store(1, Some(3), &attributes, Some(2)).await;
    assert_eq!(stored.expect("an outcome"), Some(2));
}

async fn change_stack(store: &Store, later: chrono::NaiveDateTime) {
    for (id, environment) in [(2, "{}"), (1, r#"{"parameters": {"p": 2}}"#)] {
        let changes = RawTemplateChanges {
            environment: some(environment),
            ..RawTemplateChanges::default()
        };
        assert_eq!(
            store.raw_template_update(id, &changes).await.expect("an outcome"),
            Swap::Updated
        );
    }
    let changes = StackChanges {
        action: some("CREATE"),
        status: some("FAILED"),
        status_reason: some("bad"),
        current_traversal: some(""),
        prev_raw_template_id: Some(Some(2)),
        updated_at: Some(Some(later)),
        current_deps: Some(some(r#"{"edges": [[[1, true], null]]}"#)),
        ..StackChanges::default()
    };
    assert_eq!(
        store
            .stack_swap("stack-s", Some("t1"), &changes)
            .await
            .expect("an outcome"),
        Swap::Updated
    );
    assert_eq!(
        store
            .stack_swap("stack-s", Some("t1"), &changes)
            .await
            .expect("an outcome"),
        Swap::Lost
    );
    let replacement = NewResource {
        uuid: "uuid-three".to_owned(),
        replaces: Some(2),
        requires: vec![3, 1],
        status_reason: None,
        ..resource("two", "stack-s", 2)
    };
    let free = ExpectedResource::unlocked(None);
    let created = store.resource_create_replacement(2, &replacement, &free).await;
    assert_eq!(created.expect("an outcome"), Replacement::Created(3));
}

async fn fill_services_and_locks(store: &Store) {
    for (id, engine) in [("service-1", "e1"), ("service-2", "e2")] {
        let service = NewService {
            id: id.to_owned(),
            engine_id: engine.to_owned(),
            host: "h".to_owned(),
            hostname: "m".to_owned(),
            binary: "heat-engine".to_owned(),
            topic: "engine".to_owned(),
            report_interval: 60,
        };
        store.service_create(&service).await.expect("a service");
    }
    assert_eq!(
        store.service_retire("service-2").await.expect("an outcome"),
        Swap::Updated
    );
    let lock = store.stack_lock_create("stack-s", "e1").await;
    assert_eq!(lock.expect("an outcome"), StackLock::Acquired);
    let lock = store.stack_lock_create("stack-s", "e2").await;
    assert_eq!(lock.expect("an outcome"), StackLock::Held("e1".to_owned()));
    assert_eq!(
        store.stack_lock_steal("stack-s", "e1", "e2").await.expect("an outcome"),
        Swap::Updated
    );
}

async fn empty(store: &Store) {
    assert_eq!(
        store.resource_attributes_delete(1, 2).await.expect("an outcome"),
        Swap::Updated
    );
    store
        .properties_data_create(&PropertiesData::plain(r#"{"kept": true}"#))
        .await
        .expect("properties");
    let attributes = PropertiesData::plain(r#"{"attr": 3}"#);
    let stored = store.resource_attributes_store(3, None, &attributes, None).await;
    assert_eq!(stored.expect("an outcome"), Some(4));
    let deleted = ResourceChanges {
        action: some("DELETE"),
        status: some("COMPLETE"),
        ..ResourceChanges::default()
    };
    assert_eq!(
        store.resource_update(3, &deleted).await.expect("an outcome"),
        Swap::Updated
    );
    let changes = StackChanges {
        prev_raw_template_id: Some(None),
        ..StackChanges::default()
    };
    assert_eq!(
        store.stack_swap("stack-s", None, &changes).await.expect("an outcome"),
        Swap::Updated
    );
    assert_eq!(store.resources_purge_deleted("stack-s").await.expect("a purge"), 1);
    assert_eq!(
        store.resource_delete_unmade(2).await.expect("an outcome"),
        Swap::Updated
    );
    assert_eq!(store.sync_points_delete("stack-s", "t1").await.expect("a count"), 3);
    assert_eq!(store.events_purge_oldest("stack-s", 1).await.expect("a count"), 1);
    assert_eq!(
        store.stack_lock_release("stack-s", "e2").await.expect("an outcome"),
        Swap::Updated
    );
    store.stack_tags_set("stack-s", &["b".to_owned()]).await.expect("tags");
    assert_eq!(
        store.service_delete("service-2").await.expect("an outcome"),
        Swap::Updated
    );
    assert_eq!(store.stack_delete("stack-s").await.expect("an outcome"), Swap::Updated);
    assert_eq!(
        store.raw_template_delete(1).await.expect("an outcome"),
        Removal::StillReferenced
    );
}

/// Lists: the same queries on the same rows give the same ids in the same order.
#[tokio::test(flavor = "multi_thread")]
async fn lists_are_those_of_python() {
    let database = Lab::get().fresh_database("lists");
    let clock = SetClock::default();
    let store = Store::connect(&options(&database.url()), Clock::from_source(clock.clone()))
        .await
        .expect("connects");
    fill_lists(&store, &clock).await;
    let queries = stack_queries();
    let asked = json!({"stacks": queries, "events": event_queries()});
    let answers = Lab::get().python_json(LISTS, &[&database.url(), &asked.to_string()]);
    for (query, theirs) in queries.iter().zip(answers["stacks"].as_array().expect("a list")) {
        let ours = store.stacks_list(&stack_query(query)).await.expect("a list");
        let ids: Vec<_> = ours.iter().map(|stack| stack.id.as_str()).collect();
        let count = store.stacks_count(&stack_query(query)).await.expect("a count");
        assert_eq!(json!([ids, count]), *theirs, "{query}");
    }
    for (query, theirs) in event_queries()
        .iter()
        .zip(answers["events"].as_array().expect("a list"))
    {
        let ours = store.events_list(&event_query(query)).await.expect("a list");
        let ids: Vec<_> = ours.iter().map(|event| event.uuid.as_str()).collect();
        assert_eq!(json!(ids), *theirs, "{query}");
    }
}

const LISTS: &str = r"
import json, sys
from oslo_config import cfg
from heat.common import context
from heat.db import api
cfg.CONF([], project='heat')
cfg.CONF.set_override('connection', sys.argv[1], 'database')
cfg.CONF.set_override('hidden_stack_tags', ['hidden'])
def cnxt(query):
    admin = query.pop('admin', False)
    return context.RequestContext(project_id='p1', is_admin=admin)
asked, answers = json.loads(sys.argv[2]), {'stacks': [], 'events': []}
for query in asked['stacks']:
    ids = [stack.id for stack in api.stack_get_all(cnxt(dict(query)), **{k: v for k, v in query.items() if k != 'admin'})]
    rest = {k: v for k, v in query.items() if k not in ('admin', 'limit', 'marker', 'sort_keys', 'sort_dir')}
    answers['stacks'].append([ids, api.stack_count_all(cnxt(dict(query)), **rest)])
for query in asked['events']:
    if 'stack_id' in query:
        events = api.event_get_all_by_stack(cnxt({}), **query)
    else:
        events = api.event_get_all_by_tenant(cnxt({}), **query)
    answers['events'].append([event.uuid for event in events])
print(json.dumps(answers))
";

fn stack_queries() -> Vec<Value> {
    let plain = [
        json!({}),
        json!({"admin": true}),
        json!({"show_deleted": true}),
        json!({"show_nested": true}),
        json!({"show_hidden": true}),
        json!({"show_nested": true, "show_deleted": true, "show_hidden": true, "admin": true}),
        json!({"tags": ["x"]}),
        json!({"tags": ["x", "y"]}),
        json!({"tags_any": ["x", "z"]}),
        json!({"not_tags": ["x"]}),
        json!({"not_tags": ["x", "y"]}),
        json!({"not_tags_any": ["y", "z"]}),
        json!({"filters": {"status": "COMPLETE"}}),
        json!({"filters": {"status": ["COMPLETE", "FAILED"], "name": "n3"}}),
        json!({"filters": {"convergence": false}, "show_nested": true}),
        json!({"filters": {"owner_id": "s0"}, "show_nested": true}),
        json!({"filters": {"parent_resource_name": null}, "show_nested": true}),
    ];
    let paged = [
        json!({"limit": 2}),
        json!({"limit": 2, "marker": "s2"}),
        json!({"marker": "no such"}),
        json!({"sort_keys": ["stack_name"]}),
        json!({"sort_keys": ["stack_name"], "sort_dir": "desc"}),
        json!({"sort_keys": ["stack_status", "updated_time"]}),
        json!({"sort_keys": ["stack_status", "updated_time"], "marker": "s3"}),
        json!({"sort_keys": ["stack_status", "updated_time"], "marker": "s4", "sort_dir": "desc"}),
        json!({"sort_keys": ["updated_time"], "marker": "s2"}),
        json!({"sort_keys": ["nonsense"]}),
        json!({"sort_keys": ["nonsense"], "sort_dir": "asc", "limit": 3}),
    ];
    plain.into_iter().chain(paged).collect()
}

fn event_queries() -> Vec<Value> {
    vec![
        json!({"stack_id": "s0"}),
        json!({"stack_id": "s0", "limit": 2}),
        json!({"stack_id": "s0", "limit": 2, "marker": "ev-2"}),
        json!({"stack_id": "s0", "sort_keys": ["resource_type"], "marker": "ev-3"}),
        json!({"stack_id": "s0", "sort_keys": ["event_time"], "sort_dir": "asc"}),
        json!({"stack_id": "s0", "filters": {"resource_name": "r1"}}),
        json!({"stack_id": "s0", "filters": {"resource_status": ["COMPLETE"], "resource_action": "CREATE"}}),
        json!({"stack_id": "s0", "filters": {"uuid": "ev-1", "resource_name": "r1"}}),
        json!({"filters": {"stack_id": ["s0", "s5"]}}),
        json!({"limit": 3}),
    ]
}

fn texts(query: &Value, name: &str) -> Vec<String> {
    let list = query[name].as_array().cloned().unwrap_or_default();
    list.iter().filter_map(Value::as_str).map(str::to_owned).collect()
}

fn filters(query: &Value) -> Vec<Filter> {
    let filters = query["filters"].as_object().cloned().unwrap_or_else(Map::new);
    Filter::from_json(&filters).expect("good filters")
}

fn page(query: &Value) -> Page {
    Page {
        limit: query["limit"].as_u64(),
        marker: query["marker"].as_str().map(str::to_owned),
        sort_keys: texts(query, "sort_keys"),
        sort_direction: query["sort_dir"]
            .as_str()
            .map(|text| text.parse().expect("a direction")),
    }
}

fn stack_query(query: &Value) -> StackQuery {
    let is = |name: &str| query[name].as_bool().unwrap_or(false);
    StackQuery {
        page: page(query),
        filters: filters(query),
        show_deleted: is("show_deleted"),
        show_nested: is("show_nested"),
        show_hidden: is("show_hidden"),
        hidden_tags: vec!["hidden".to_owned()],
        tags: texts(query, "tags"),
        tags_any: texts(query, "tags_any"),
        not_tags: texts(query, "not_tags"),
        not_tags_any: texts(query, "not_tags_any"),
        ..StackQuery::new(if is("admin") {
            Scope::Everyone
        } else {
            Scope::Project("p1".to_owned())
        })
    }
}

fn event_query(query: &Value) -> EventQuery {
    let stack_id = query["stack_id"].as_str().map(str::to_owned);
    EventQuery {
        project: if stack_id.is_none() { some("p1") } else { None },
        stack_id,
        filters: filters(query),
        page: page(query),
        with_properties: true,
    }
}

async fn fill_lists(store: &Store, clock: &SetClock) {
    let template = NewRawTemplate {
        template: "{}".to_owned(),
        environment: "{}".to_owned(),
        files_id: None,
    };
    store.raw_template_create(&template).await.expect("a template");
    let statuses = [
        "COMPLETE",
        "FAILED",
        "COMPLETE",
        "IN_PROGRESS",
        "COMPLETE",
        "FAILED",
        "COMPLETE",
        "COMPLETE",
    ];
    for (number, status) in statuses.iter().enumerate() {
        let mut new = stack(&format!("n{}", 7 - number), 1);
        new.id = format!("s{number}");
        new.status = some(status);
        new.convergence = number != 4;
        new.updated_at = (number % 3 == 0).then(|| clock.utc_now());
        if number == 5 {
            new.tenant = some("p2");
        }
        if number == 6 {
            new.owner_id = some("s0");
            new.parent_resource_name = some("nested");
        }
        let _ = store.stack_create(&new).await.expect("a stack");
        let tags = ["x", "x y", "z", "hidden", "", "x", "", "y"][number];
        let tags: Vec<_> = tags.split_whitespace().map(str::to_owned).collect();
        store.stack_tags_set(&new.id, &tags).await.expect("tags");
        if number % 2 == 0 {
            clock.seconds.fetch_add(1, Ordering::SeqCst);
        }
    }
    assert_eq!(store.stack_delete("s7").await.expect("an outcome"), Swap::Updated);
    for number in 0..6 {
        let event = NewEvent {
            uuid: format!("ev-{number}"),
            stack_id: if number == 5 { "s5" } else { "s0" }.to_owned(),
            resource_name: Some(format!("r{}", number % 2)),
            resource_action: some("CREATE"),
            resource_status: some(if number < 3 { "IN_PROGRESS" } else { "COMPLETE" }),
            resource_type: Some(format!("OS::Heat::T{}", number % 2)),
            ..NewEvent::default()
        };
        store.event_create(&event).await.expect("an event");
        if number % 2 == 0 {
            clock.seconds.fetch_add(1, Ordering::SeqCst);
        }
    }
    let below = store.stacks_below("s0", Deleted::Hidden).await.expect("a list");
    assert_eq!(below.iter().map(|stack| stack.id.as_str()).collect::<Vec<_>>(), ["s6"]);
    assert_eq!(store.stack_root_id("s6").await.expect("a read").as_deref(), Some("s0"));
}
