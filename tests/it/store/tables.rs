//! What the tables give back, and their limits.

use std::sync::atomic::Ordering;

use futures_util::future::join_all;
use heat_engine::store::{
    Deleted, EventLimits, ExpectedResource, NewEvent, NewResource, NewService, NewSyncPoint, PropertiesData, Removal,
    Replacement, ResourceChanges, Scope, StackCreation, StackLock, StoreError, Swap, SyncPointKey,
};

use super::{fresh_store, resource, stack, stack_with_resource, template};

fn project(name: &str) -> Scope {
    Scope::Project(name.to_owned())
}

#[tokio::test(flavor = "multi_thread")]
async fn a_stack_is_seen_by_its_project_only() {
    let (_database, store) = fresh_store("stack_scope").await;
    let (id, _) = stack_with_resource(&store).await;
    for (scope, seen) in [(Scope::Everyone, true), (project("p1"), true), (project("p2"), false)] {
        let found = store.stack_get(&id, &scope, Deleted::Hidden).await.expect("a read");
        assert_eq!(found.is_some(), seen, "{scope:?}");
    }
    let found = store
        .stack_get_by_name("s", "p1", Deleted::Hidden)
        .await
        .expect("a read");
    assert_eq!(found.map(|stack| stack.id), Some(id.clone()));
    assert_eq!(
        store
            .stack_get_by_name("s", "p2", Deleted::Hidden)
            .await
            .expect("a read"),
        None
    );
    assert_eq!(store.stack_delete(&id).await.expect("an outcome"), Swap::Updated);
    assert_eq!(store.stack_delete(&id).await.expect("an outcome"), Swap::Gone);
    let shown = store
        .stack_get(&id, &project("p1"), Deleted::Shown)
        .await
        .expect("a read")
        .expect("a row");
    assert!(shown.deleted_at.is_some());
}

#[tokio::test(flavor = "multi_thread")]
async fn a_stack_comes_with_its_tags_or_not_at_all() {
    let (database, store) = fresh_store("tags").await;
    let mut tagged = stack("tagged", template(&store).await);
    tagged.tags = vec!["a".to_owned(), "b\u{1f600}".to_owned()];
    let refused = store.stack_create(&tagged).await;
    assert!(matches!(refused, Err(StoreError::Unstorable(_))), "{refused:?}");
    assert!(database.sql("SELECT id FROM stack").is_empty());
    tagged.tags = vec!["a".to_owned(), "ä".to_owned()];
    assert!(matches!(
        store.stack_create(&tagged).await,
        Ok(StackCreation::Created(_))
    ));
    assert_eq!(store.stack_tags_get(&tagged.id).await.unwrap(), tagged.tags);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_name_is_taken_once_in_a_project() {
    let (database, store) = fresh_store("stack_name").await;
    let (_, _) = stack_with_resource(&store).await;
    let mut other = stack("s", 1);
    other.id = "later".to_owned();
    assert_eq!(
        store.stack_create(&other).await.expect("an outcome"),
        StackCreation::NameTaken
    );
    assert_eq!(database.sql("SELECT id FROM stack"), [["stack-s"]]);
    other.tenant = Some("p2".to_owned());
    assert!(matches!(
        store.stack_create(&other).await,
        Ok(StackCreation::Created(_))
    ));
}

#[tokio::test(flavor = "multi_thread")]
async fn of_many_who_want_a_name_at_once_one_gets_it() {
    let (database, store) = fresh_store("stack_names").await;
    let (_, _) = stack_with_resource(&store).await;
    let candidates = (0..12).map(|number| {
        let store = &store;
        async move {
            let mut candidate = stack("wanted", 1);
            candidate.id = format!("candidate-{number}");
            store.stack_create(&candidate).await.expect("an outcome")
        }
    });
    let outcomes = join_all(candidates).await;
    let created = outcomes
        .iter()
        .filter(|outcome| matches!(outcome, StackCreation::Created(_)));
    assert_eq!(created.count(), 1, "{outcomes:?}");
    assert_eq!(
        database.sql("SELECT COUNT(*) FROM stack WHERE name = 'wanted'"),
        [["1"]]
    );
}

#[tokio::test(flavor = "multi_thread")]
async fn a_worker_reads_all_it_needs_in_two_statements() {
    let (_database, store) = fresh_store("loaded").await;
    let (stack_id, id) = stack_with_resource(&store).await;
    let properties = store
        .properties_data_create(&PropertiesData::plain("{\"a\": 1}"))
        .await
        .expect("properties");
    let changes = ResourceChanges {
        rsrc_prop_data_id: Some(Some(properties)),
        ..ResourceChanges::default()
    };
    assert_eq!(
        store.resource_update(id, &changes).await.expect("an outcome"),
        Swap::Updated
    );
    store.resource_data_add(id, "one", "1", None).await.expect("data");
    store
        .resource_data_add(id, "two", "2", Some("cryptography_decrypt_v1"))
        .await
        .expect("data");
    let attributes = PropertiesData::plain("{\"b\": 2}");
    let attr_id = store
        .resource_attributes_store(id, None, &attributes, None)
        .await
        .expect("an outcome");
    assert!(attr_id.is_some());
    let before = store.counters().statements.load(Ordering::Relaxed);
    let loaded = store.resource_load(id).await.expect("a read").expect("a row");
    assert_eq!(store.counters().statements.load(Ordering::Relaxed) - before, 1);
    assert_eq!(loaded.properties, Some(PropertiesData::plain("{\"a\": 1}")));
    assert_eq!(loaded.attributes, Some(attributes));
    let data: Vec<_> = loaded
        .data
        .iter()
        .map(|data| (data.key.as_str(), data.redact))
        .collect();
    assert_eq!(data, [("one", false), ("two", true)]);
    assert_eq!(loaded.resource.atomic_key, Some(1));
    assert_eq!(loaded.data, store.resource_data_all(id).await.expect("a read"));
    let all = store.resources_load_by_stack(&stack_id).await.expect("a read");
    assert_eq!(all, std::slice::from_ref(&loaded));
    assert!(store.resource_data_delete(id, "one").await.expect("an outcome"));
    assert!(!store.resource_data_delete(id, "one").await.expect("an outcome"));
}

#[tokio::test(flavor = "multi_thread")]
async fn resources_are_found_by_what_is_asked_for() {
    let (_database, store) = fresh_store("resources").await;
    let (stack_id, _) = stack_with_resource(&store).await;
    let more = ["a", "b", "c"].map(|name| resource(name, &stack_id, 1));
    let ids = store.resources_create(&more).await.expect("resources");
    assert_eq!(ids.len(), 3);
    assert_eq!(store.resources_create(&[]).await.expect("none"), Vec::<i64>::new());
    let deleted = ResourceChanges {
        action: Some("DELETE".to_owned()),
        status: Some("COMPLETE".to_owned()),
        physical_resource_id: Some(Some("phys".to_owned())),
        ..ResourceChanges::default()
    };
    assert_eq!(
        store.resource_update(ids[0], &deleted).await.expect("an outcome"),
        Swap::Updated
    );
    let found = store
        .resources_by_physical_id("phys", &project("p1"))
        .await
        .expect("a read");
    assert_eq!(found.len(), 1);
    assert!(
        store
            .resources_by_physical_id("phys", &project("p2"))
            .await
            .expect("a read")
            .is_empty()
    );
    assert_eq!(store.resources_purge_deleted(&stack_id).await.expect("a purge"), 1);
    assert_eq!(store.resources_by_stack(&stack_id).await.expect("a read").len(), 3);
    assert_eq!(store.resource_get(ids[0]).await.expect("a read"), None);
}

/// A replacement is made in full or not at all; Python leaves a row behind when the old one is locked.
#[tokio::test(flavor = "multi_thread")]
async fn a_replacement_is_made_in_full_or_not_at_all() {
    let (database, store) = fresh_store("replacement").await;
    let (stack_id, id) = stack_with_resource(&store).await;
    let replacement = NewResource {
        replaces: Some(id),
        ..resource("new", &stack_id, 1)
    };
    let stale = ExpectedResource::unlocked(Some(7));
    let outcome = store.resource_create_replacement(id, &replacement, &stale).await;
    assert_eq!(outcome.expect("an outcome"), Replacement::Lost);
    let gone = NewResource {
        current_template_id: Some(99),
        ..replacement.clone()
    };
    let free = ExpectedResource::unlocked(None);
    let outcome = store.resource_create_replacement(id, &gone, &free).await;
    assert_eq!(outcome.expect("an outcome"), Replacement::TemplateGone);
    assert_eq!(database.sql("SELECT COUNT(*) FROM resource"), [["1"]]);
    let outcome = store
        .resource_create_replacement(id, &replacement, &free)
        .await
        .expect("an outcome");
    let Replacement::Created(new_id) = outcome else {
        panic!("{outcome:?}")
    };
    let old = store.resource_get(id).await.expect("a read").expect("a row");
    assert_eq!((old.replaced_by, old.atomic_key), (Some(new_id), Some(1)));
}

#[tokio::test(flavor = "multi_thread")]
async fn attributes_are_not_stored_over_a_worker() {
    let (database, store) = fresh_store("attributes").await;
    let (_, id) = stack_with_resource(&store).await;
    let lock = ResourceChanges {
        engine_id: Some(Some("e1".to_owned())),
        ..ResourceChanges::default()
    };
    let free = ExpectedResource::unlocked(None);
    assert_eq!(
        store.resource_swap(id, &free, &lock).await.expect("an outcome"),
        Swap::Updated
    );
    let attributes = PropertiesData::plain("{}");
    let stored = store.resource_attributes_store(id, Some(1), &attributes, None).await;
    assert_eq!(stored.expect("an outcome"), None);
    assert_eq!(database.sql("SELECT COUNT(*) FROM resource_properties_data"), [["0"]]);
}

#[tokio::test(flavor = "multi_thread")]
async fn templates_go_with_their_last_reference() {
    let (database, store) = fresh_store("templates").await;
    let (_, _) = stack_with_resource(&store).await;
    assert_eq!(
        store.raw_template_delete(1).await.expect("an outcome"),
        Removal::StillReferenced
    );
    let files = store
        .raw_template_files_create("{\"f\": \"text\"}")
        .await
        .expect("files");
    let mut ids = Vec::new();
    for _ in 0..2 {
        let id = template(&store).await;
        let changes = heat_engine::store::RawTemplateChanges {
            files_id: Some(Some(files)),
            ..Default::default()
        };
        assert_eq!(
            store.raw_template_update(id, &changes).await.expect("an outcome"),
            Swap::Updated
        );
        ids.push(id);
    }
    let read = store.raw_template_get(ids[0]).await.expect("a read").expect("a row");
    assert_eq!((read.files_id, read.files), (Some(files), None));
    assert_eq!(
        store.raw_template_delete(ids[0]).await.expect("an outcome"),
        Removal::Removed
    );
    let kept = store.raw_template_files_get(files).await.expect("a read");
    assert_eq!(kept, Some(Some("{\"f\": \"text\"}".to_owned())));
    assert_eq!(
        store.raw_template_delete(ids[1]).await.expect("an outcome"),
        Removal::Removed
    );
    assert_eq!(store.raw_template_files_get(files).await.expect("a read"), None);
    assert_eq!(
        store.raw_template_delete(ids[1]).await.expect("an outcome"),
        Removal::Missing
    );
    assert_eq!(database.sql("SELECT id FROM raw_template"), [["1"]]);
}

#[tokio::test(flavor = "multi_thread")]
async fn too_many_events_lose_the_oldest() {
    let (database, store) = fresh_store("events").await;
    let (stack_id, id) = stack_with_resource(&store).await;
    let shared = store
        .properties_data_create(&PropertiesData::plain("{}"))
        .await
        .expect("properties");
    let only = store
        .properties_data_create(&PropertiesData::plain("{}"))
        .await
        .expect("properties");
    let changes = ResourceChanges {
        rsrc_prop_data_id: Some(Some(shared)),
        ..ResourceChanges::default()
    };
    assert_eq!(
        store.resource_update(id, &changes).await.expect("an outcome"),
        Swap::Updated
    );
    let event = |number: usize| NewEvent {
        uuid: format!("event-{number}"),
        stack_id: stack_id.clone(),
        rsrc_prop_data_id: Some(if number == 0 { only } else { shared }),
        ..NewEvent::default()
    };
    let events: Vec<_> = (0..450).map(event).collect();
    store.events_create(&events).await.expect("events");
    // A batch of two is looked for at each event.
    let limits = EventLimits {
        max_events_per_stack: 450,
        purge_batch_size: 2,
    };
    store.event_create_limited(&event(450), limits).await.expect("an event");
    assert_eq!(store.events_count(&stack_id).await.expect("a count"), 449);
    assert_eq!(database.sql("SELECT MIN(id) FROM event"), [["3"]]);
    assert_eq!(
        database.sql("SELECT id FROM resource_properties_data"),
        [[shared.to_string()]]
    );
    let unlimited = EventLimits {
        max_events_per_stack: 0,
        purge_batch_size: 2,
    };
    store
        .event_create_limited(&event(451), unlimited)
        .await
        .expect("an event");
    assert_eq!(store.events_count(&stack_id).await.expect("a count"), 450);
}

#[tokio::test(flavor = "multi_thread")]
async fn sync_points_of_a_wide_graph_are_made_together() {
    let (_database, store) = fresh_store("sync_points").await;
    let (stack_id, _) = stack_with_resource(&store).await;
    let point = |entity: usize, is_update: bool| NewSyncPoint {
        key: SyncPointKey {
            entity_id: entity.to_string(),
            traversal_id: "t1".to_owned(),
            is_update,
        },
        stack_id: stack_id.clone(),
    };
    let points: Vec<_> = (0..300)
        .flat_map(|entity| [point(entity, true), point(entity, false)])
        .collect();
    store.sync_points_create(&points).await.expect("sync points");
    let read = store
        .sync_point_get(&points[599].key)
        .await
        .expect("a read")
        .expect("a row");
    assert_eq!(
        (read.atomic_key, read.input_data.as_deref(), read.extra_data),
        (0, Some("{}"), None)
    );
    let again = store.sync_points_create(&points[..1]).await;
    assert!(matches!(again, Err(StoreError::Duplicate(_))));
    assert_eq!(store.sync_points_delete(&stack_id, "t1").await.expect("a count"), 600);
    let gone = store.sync_point_swap(&points[0].key, 0, Some("{}"), None).await;
    assert_eq!(gone.expect("an outcome"), Swap::Gone);
}

#[tokio::test(flavor = "multi_thread")]
async fn services_that_fall_silent_are_retired() {
    let (_database, store) = fresh_store("services").await;
    for id in ["own", "silent", "elsewhere"] {
        let service = NewService {
            id: id.to_owned(),
            engine_id: format!("engine-{id}"),
            host: if id == "elsewhere" { "other" } else { "h" }.to_owned(),
            hostname: "m".to_owned(),
            binary: "heat-engine".to_owned(),
            topic: "engine".to_owned(),
            report_interval: 60,
        };
        store.service_create(&service).await.expect("a service");
    }
    let now = store.clock().utc_now();
    let retire = |time_line| store.services_retire_silent("h", "heat-engine", "m", "own", time_line);
    assert_eq!(retire(now - chrono::TimeDelta::seconds(5)).await.expect("a count"), 0);
    assert_eq!(retire(now + chrono::TimeDelta::seconds(5)).await.expect("a count"), 1);
    let living: Vec<_> = store
        .services_all()
        .await
        .expect("a read")
        .into_iter()
        .map(|service| service.id)
        .collect();
    assert_eq!(living, ["elsewhere", "own"]);
    assert_eq!(store.service_report("silent").await.expect("an outcome"), Swap::Updated);
    let back = store.service_get("silent").await.expect("a read").expect("a row");
    assert_eq!(back.deleted_at, None);
    assert_eq!(store.service_report("unknown").await.expect("an outcome"), Swap::Gone);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_stack_lock_has_one_holder() {
    let (_database, store) = fresh_store("stack_lock").await;
    let (id, _) = stack_with_resource(&store).await;
    assert_eq!(store.stack_lock_get(&id).await.expect("a read"), None);
    assert_eq!(
        store.stack_lock_steal(&id, "e1", "e2").await.expect("an outcome"),
        Swap::Gone
    );
    assert_eq!(
        store.stack_lock_create(&id, "e1").await.expect("an outcome"),
        StackLock::Acquired
    );
    assert_eq!(
        store.stack_lock_create(&id, "e2").await.expect("an outcome"),
        StackLock::Held("e1".to_owned())
    );
    assert_eq!(
        store.stack_lock_steal(&id, "e3", "e2").await.expect("an outcome"),
        Swap::Lost
    );
    assert_eq!(
        store.stack_lock_release(&id, "e2").await.expect("an outcome"),
        Swap::Gone
    );
    assert_eq!(
        store.stack_lock_release(&id, "e1").await.expect("an outcome"),
        Swap::Updated
    );
    let nobodys = store.stack_lock_create("no such stack", "e1").await;
    assert!(matches!(nobodys, Err(StoreError::Reference(_))));
}

/// The write that stores a reason also gives up the lock, so no reason may make it fail.
#[tokio::test(flavor = "multi_thread")]
async fn no_reason_is_too_long_or_too_strange() {
    let (database, store) = fresh_store("reasons").await;
    let (stack_id, id) = stack_with_resource(&store).await;
    let reason = format!("x{}\u{1f600}", "\u{20ac}".repeat(70_000));
    let changes = ResourceChanges {
        status_reason: Some(reason),
        ..ResourceChanges::default()
    };
    let free = ExpectedResource::unlocked(None);
    assert_eq!(
        store.resource_swap(id, &free, &changes).await.expect("an outcome"),
        Swap::Updated
    );
    let length = database.sql("SELECT LENGTH(status_reason), CHAR_LENGTH(status_reason) FROM resource");
    assert_eq!(length, [["65533", "21845"]]);
    let changes = ResourceChanges {
        status_reason: Some("\u{1f600} a".to_owned()),
        ..ResourceChanges::default()
    };
    assert_eq!(
        store.resource_update(id, &changes).await.expect("an outcome"),
        Swap::Updated
    );
    let read = store.resource_get(id).await.expect("a read").expect("a row");
    assert_eq!(read.status_reason.as_deref(), Some("\u{fffd} a"));
    for unstorable in ["n".repeat(256), "\u{1f600}".to_owned()] {
        let refused = store.resource_create(&resource(&unstorable, &stack_id, 1)).await;
        assert!(matches!(refused, Err(StoreError::Unstorable(_))), "{refused:?}");
    }
}

/// A database that a newer release keeps in four-byte UTF-8 takes everything.
#[tokio::test(flavor = "multi_thread")]
async fn four_byte_tables_keep_four_byte_characters() {
    let database = crate::lab::Lab::get().fresh_database("utf8mb4");
    database.sql(
        "ALTER TABLE stack MODIFY name VARCHAR(255) CHARACTER SET utf8mb4, \
         MODIFY status_reason TEXT CHARACTER SET utf8mb4",
    );
    let store = super::open(&format!("{}?charset=utf8mb4", database.url())).await;
    let template = template(&store).await;
    let mut new = stack("\u{1f600}", template);
    new.id = "emoji".to_owned();
    new.status_reason = Some("\u{1f600}".to_owned());
    assert!(matches!(store.stack_create(&new).await, Ok(StackCreation::Created(_))));
    let read = store
        .stack_get_by_name("\u{1f600}", "p1", Deleted::Hidden)
        .await
        .expect("a read")
        .expect("a row");
    assert_eq!(read.status_reason.as_deref(), Some("\u{1f600}"));
}
