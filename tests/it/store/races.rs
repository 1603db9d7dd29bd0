//! Two engines at once, and a database that fails.

use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::Duration;

use heat_engine::store::{
    Deleted, ExpectedResource, NewEvent, NewSyncPoint, NewUserCreds, PropertiesData, ResourceChanges, Scope,
    StackChanges, Store, StoreError, Swap, SweepLock, SyncPointKey,
};
use tokio::sync::Barrier;

use super::proxy::{Lost, Proxy};
use super::{fresh_store, open, options, resource, stack_with_resource, standing_clock, template};
use crate::lab::Lab;

fn locked(engine: &str) -> ResourceChanges {
    ResourceChanges {
        engine_id: Some(Some(engine.to_owned())),
        ..ResourceChanges::default()
    }
}

fn key(entity: &str) -> SyncPointKey {
    SyncPointKey {
        entity_id: entity.to_owned(),
        traversal_id: "t1".to_owned(),
        is_update: true,
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn of_many_who_want_a_lock_one_gets_it() {
    let (_database, store) = fresh_store("lock_race").await;
    let (stack_id, id) = stack_with_resource(&store).await;
    let attempts = (0..20).map(|engine| {
        let store = store.clone();
        tokio::spawn(async move {
            let engine = format!("engine-{engine}");
            store
                .resource_swap(id, &ExpectedResource::unlocked(None), &locked(&engine))
                .await
                .expect("an outcome")
        })
    });
    let mut outcomes = Vec::new();
    for attempt in attempts.collect::<Vec<_>>() {
        outcomes.push(attempt.await.expect("no panic"));
    }
    assert_eq!(outcomes.iter().filter(|outcome| **outcome == Swap::Updated).count(), 1);
    assert_eq!(outcomes.iter().filter(|outcome| **outcome == Swap::Lost).count(), 19);
    assert_eq!(store.engines_locking_stack(&stack_id).await.expect("engines").len(), 1);
    let gone = store
        .resource_swap(id + 1, &ExpectedResource::unlocked(None), &locked("e"))
        .await;
    assert_eq!(gone.expect("an outcome"), Swap::Gone);
}

/// Python removes the row with what is being made.
#[tokio::test(flavor = "multi_thread")]
async fn a_row_with_which_somebody_has_begun_is_not_removed_as_unmade() {
    let (_database, store) = fresh_store("unmade").await;
    let (_, id) = stack_with_resource(&store).await;
    let changed = |action: &str, engine: Option<&str>| ResourceChanges {
        action: Some(action.to_owned()),
        engine_id: Some(engine.map(str::to_owned)),
        ..ResourceChanges::default()
    };
    for (state, outcome) in [
        (changed("CREATE", Some("e1")), Swap::Lost),
        (changed("CREATE", None), Swap::Lost),
        (changed("INIT", Some("e1")), Swap::Lost),
        (changed("INIT", None), Swap::Updated),
    ] {
        let updated = store.resource_update(id, &state).await.expect("an outcome");
        assert_eq!(updated, Swap::Updated);
        assert_eq!(store.resource_delete_unmade(id).await.expect("an outcome"), outcome);
    }
    assert_eq!(store.resource_delete_unmade(id).await.expect("an outcome"), Swap::Gone);
}

#[tokio::test(flavor = "multi_thread")]
async fn no_predecessor_is_forgotten_in_a_sync_point() {
    let (_database, store) = fresh_store("sync_race").await;
    let (stack_id, _) = stack_with_resource(&store).await;
    store
        .sync_points_create(&[NewSyncPoint {
            key: key("1"),
            stack_id,
        }])
        .await
        .expect("a sync point");
    let workers: Vec<_> = (0..10)
        .map(|worker| tokio::spawn(add_to_sync_point(store.clone(), worker)))
        .collect();
    for worker in workers {
        worker.await.expect("no panic");
    }
    let point = store
        .sync_point_get(&key("1"))
        .await
        .expect("a read")
        .expect("a sync point");
    assert_eq!(point.atomic_key, 10);
    let data: Vec<u32> = serde_json::from_str(&point.input_data.expect("data")).expect("JSON");
    assert_eq!(data.len(), 10);
}

async fn add_to_sync_point(store: Store, worker: u32) {
    loop {
        let point = store
            .sync_point_get(&key("1"))
            .await
            .expect("a read")
            .expect("a sync point");
        let mut data: Vec<u32> = serde_json::from_str(point.input_data.as_deref().unwrap_or("[]")).unwrap_or_default();
        data.push(worker);
        let text = format!("{data:?}");
        let swapped = store
            .sync_point_swap(&key("1"), point.atomic_key, Some(&text), None)
            .await;
        if swapped.expect("an outcome") == Swap::Updated {
            return;
        }
    }
}

/// Units that lock two rows in opposite order, so that the server must refuse one of them.
#[tokio::test(flavor = "multi_thread")]
async fn a_deadlock_runs_the_whole_unit_again() {
    let (_database, store) = fresh_store("deadlock").await;
    let (stack_id, first) = stack_with_resource(&store).await;
    let template = template(&store).await;
    let second = store
        .resource_create(&resource("r2", &stack_id, template))
        .await
        .expect("a resource");
    let meeting = Arc::new(Barrier::new(2));
    let runs = Arc::new(AtomicU32::new(0));
    let unit = |ids: [i64; 2], reason: &str| {
        let changes = ResourceChanges {
            status_reason: Some(reason.to_owned()),
            ..ResourceChanges::default()
        };
        let arguments = (ids, changes, meeting.clone(), runs.clone());
        store.transaction(arguments, |session, (ids, changes, meeting, runs)| {
            Box::pin(async move {
                let run = runs.fetch_add(1, Ordering::SeqCst);
                let first = session.resource_update(ids[0], changes).await?;
                if run < 2 {
                    meeting.wait().await;
                }
                let second = session.resource_update(ids[1], changes).await?;
                Ok((first, second))
            })
        })
    };
    let (one, other) = tokio::join!(unit([first, second], "one"), unit([second, first], "other"));
    assert_eq!(one.expect("committed"), (Swap::Updated, Swap::Updated));
    assert_eq!(other.expect("committed"), (Swap::Updated, Swap::Updated));
    assert_eq!(runs.load(Ordering::SeqCst), 3);
    assert_eq!(store.counters().deadlocks.load(Ordering::Relaxed), 1);
    let rows = store.resources_by_stack(&stack_id).await.expect("a read");
    assert_eq!(
        rows[0].status_reason, rows[1].status_reason,
        "both rows are of the same unit"
    );
}

/// The unit commits, and the answer never arrives.
#[tokio::test(flavor = "multi_thread")]
async fn a_commit_without_answer_is_not_made_twice_nor_taken_for_lost() {
    let (database, plain) = fresh_store("lost_commit").await;
    let (stack_id, id) = stack_with_resource(&plain).await;
    let proxy = Proxy::start().await;
    let store = open(&proxy.url(&database)).await;
    let event = NewEvent {
        uuid: "event-1".to_owned(),
        stack_id: stack_id.clone(),
        ..NewEvent::default()
    };
    proxy.lose_answer(Lost::Commit);
    let swapped = store
        .transaction((event, id), |session, (event, id)| {
            Box::pin(async move {
                let properties = session
                    .properties_data_create(&PropertiesData::plain("{\"length\": 8}"))
                    .await?;
                let event = NewEvent {
                    rsrc_prop_data_id: Some(properties),
                    ..event.clone()
                };
                session.event_create(&event).await?;
                let changes = ResourceChanges {
                    rsrc_prop_data_id: Some(Some(properties)),
                    ..locked("e1")
                };
                session
                    .resource_swap(*id, &ExpectedResource::unlocked(None), &changes)
                    .await
            })
        })
        .await;
    assert_eq!(swapped.expect("an outcome"), Swap::Updated);
    assert!(proxy.has_struck());
    assert_eq!(store.counters().confirmed_commits.load(Ordering::Relaxed), 1);
    let events = database.sql("SELECT uuid, rsrc_prop_data_id FROM event");
    assert_eq!(events, [["event-1", "1"]]);
    assert_eq!(database.sql("SELECT COUNT(*) FROM resource_properties_data"), [["1"]]);
    assert_eq!(
        database.sql("SELECT atomic_key, engine_id, rsrc_prop_data_id FROM resource"),
        [["1", "e1", "1"]]
    );
}

/// The same for rows that nothing but their id tells from others.
#[tokio::test(flavor = "multi_thread")]
async fn a_row_without_a_name_is_made_once() {
    let (database, _plain) = fresh_store("lost_insert").await;
    let proxy = Proxy::start().await;
    let store = open(&proxy.url(&database)).await;
    for lost in [Lost::Statement, Lost::Commit] {
        proxy.lose_answer(lost);
        let template = template(&store).await;
        proxy.lose_answer(lost);
        let files = store.raw_template_files_create("{}").await.expect("files");
        proxy.lose_answer(lost);
        let creds = store
            .user_creds_create(&NewUserCreds::default())
            .await
            .expect("credentials");
        for (table, id) in [
            ("raw_template", template),
            ("raw_template_files", files),
            ("user_creds", creds),
        ] {
            assert_eq!(
                database.sql(&format!("SELECT id FROM {table}")),
                [[id.to_string()]],
                "{table}"
            );
            database.sql(&format!("DELETE FROM {table}"));
        }
    }
}

/// The same for statements that are their own transaction.
#[tokio::test(flavor = "multi_thread")]
async fn a_swap_without_answer_knows_its_own_success() {
    let (database, plain) = fresh_store("lost_swap").await;
    let (stack_id, id) = stack_with_resource(&plain).await;
    let proxy = Proxy::start().await;
    let store = open(&proxy.url(&database)).await;

    proxy.lose_answer(Lost::Statement);
    let swapped = store
        .resource_swap(id, &ExpectedResource::unlocked(None), &locked("e1"))
        .await;
    assert_eq!(swapped.expect("an outcome"), Swap::Updated);
    let other = store
        .resource_swap(id, &ExpectedResource::unlocked(None), &locked("e2"))
        .await;
    assert_eq!(other.expect("an outcome"), Swap::Lost);

    let point = NewSyncPoint {
        key: key("1"),
        stack_id: stack_id.clone(),
    };
    proxy.lose_answer(Lost::Statement);
    store
        .sync_points_create(std::slice::from_ref(&point))
        .await
        .expect("a sync point");
    proxy.lose_answer(Lost::Statement);
    let swapped = store.sync_point_swap(&key("1"), 0, Some("{\"a\": \"x\"}"), None).await;
    assert_eq!(swapped.expect("an outcome"), Swap::Updated);
    let other = store.sync_point_swap(&key("1"), 0, Some("{\"a\": \"X\"}"), None).await;
    assert_eq!(other.expect("an outcome"), Swap::Lost);

    proxy.lose_answer(Lost::Statement);
    let again = resource("r2", &stack_id, 1);
    let created = store.resource_create(&again).await.expect("a resource");
    assert_eq!(
        database.sql("SELECT id FROM resource WHERE name = 'r2'"),
        [[created.to_string()]]
    );

    let changes = StackChanges {
        current_traversal: Some("t2".to_owned()),
        ..StackChanges::default()
    };
    proxy.lose_answer(Lost::Statement);
    let swapped = store.stack_swap(&stack_id, Some("t1"), &changes).await;
    assert_eq!(swapped.expect("an outcome"), Swap::Updated);
    assert!(proxy.has_struck());
    assert!(store.counters().lost_connections.load(Ordering::Relaxed) >= 5);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_caller_that_goes_away_does_not_cut_a_unit() {
    let (_database, store) = fresh_store("cut").await;
    let (_, id) = stack_with_resource(&store).await;
    let unit = store.transaction(id, |session, id| {
        Box::pin(async move {
            let changes = ResourceChanges {
                status_reason: Some("first".to_owned()),
                ..ResourceChanges::default()
            };
            let _ = session.resource_update(*id, &changes).await?;
            tokio::time::sleep(Duration::from_millis(200)).await;
            session.resource_update(*id, &locked("e1")).await
        })
    });
    assert!(tokio::time::timeout(Duration::from_millis(50), unit).await.is_err());
    store.close().await;
    assert!(matches!(store.resource_get(id).await, Err(StoreError::Closed)));
    let store = open(&_database.url()).await;
    let row = store.resource_get(id).await.expect("a read").expect("a row");
    assert_eq!(
        (row.status_reason.as_deref(), row.engine_id.as_deref()),
        (Some("first"), Some("e1"))
    );
}

#[tokio::test(flavor = "multi_thread")]
async fn an_error_or_second_thoughts_roll_the_unit_back() {
    let (_database, store) = fresh_store("rollback").await;
    let (stack_id, id) = stack_with_resource(&store).await;
    let failed = store.transaction(id, |session, id| {
        Box::pin(async move {
            let _ = session.resource_update(*id, &locked("e1")).await?;
            Err::<(), _>(StoreError::UnknownFilter("none".to_owned()))
        })
    });
    assert!(failed.await.is_err());
    let abandoned = store.transaction(id, |session, id| {
        Box::pin(async move {
            session.abandon();
            session.resource_update(*id, &locked("e2")).await
        })
    });
    assert_eq!(abandoned.await.expect("an outcome"), Swap::Updated);
    assert_eq!(
        store.engines_locking_stack(&stack_id).await.expect("engines"),
        Vec::<String>::new()
    );
}

#[tokio::test(flavor = "multi_thread")]
async fn a_database_that_is_not_there_is_told_of() {
    let error = Store::connect(&options("mysql://root:x@127.0.0.1:1/heat"), standing_clock()).await;
    assert!(matches!(error.map(|_| ()), Err(StoreError::Transient { .. })));
    let server = &Lab::get().database;
    let nowhere = format!(
        "mysql://{}:{}@{}:{}/no_such",
        server.user, server.password, server.host, server.port
    );
    let error = Store::connect(&options(&nowhere), standing_clock()).await.map(|_| ());
    assert_eq!(error.expect_err("no database").server_error_number(), Some(1049));
}

/// One engine of a database sweeps at a time; another follows when the first is gone.
#[tokio::test(flavor = "multi_thread")]
async fn the_right_to_sweep_is_one_engines_until_it_is_gone() {
    let (_database, store) = fresh_store("sweep").await;
    let (_other_database, elsewhere) = fresh_store("sweep").await;
    let lease = Duration::from_secs(2);
    let (mut first, mut second) = (SweepLock::new(store.clone()), SweepLock::new(store.clone()));
    assert!(first.hold(lease).await.expect("an answer"));
    assert!(first.hold(lease).await.expect("an answer"));
    assert!(!second.hold(lease).await.expect("an answer"));
    assert!(SweepLock::new(elsewhere).hold(lease).await.expect("an answer"));
    // It is not heard of for longer than its lease, as if its machine had lost power.
    tokio::time::sleep(lease + Duration::from_secs(2)).await;
    assert!(second.hold(lease).await.expect("an answer"));
    assert!(!first.hold(lease).await.expect("an answer"));
    second.release().await;
    assert!(first.hold(lease).await.expect("an answer"));
}

/// sqlx counts the rows that matched, not those that changed, as SQLAlchemy does.
#[tokio::test(flavor = "multi_thread")]
async fn a_write_that_changes_nothing_is_no_loss() {
    let (_database, store) = fresh_store("found_rows").await;
    let (stack_id, id) = stack_with_resource(&store).await;
    for _ in 0..2 {
        assert_eq!(
            store.resource_update(id, &locked("e1")).await.expect("an outcome"),
            Swap::Updated
        );
        let same = StackChanges {
            current_traversal: Some("t1".to_owned()),
            ..StackChanges::default()
        };
        assert_eq!(
            store
                .stack_swap(&stack_id, Some("t1"), &same)
                .await
                .expect("an outcome"),
            Swap::Updated
        );
    }
    let lost = store.stack_swap(&stack_id, Some("t0"), &StackChanges::default()).await;
    assert_eq!(lost.expect("an outcome"), Swap::Lost);
    assert_eq!(store.stack_delete(&stack_id).await.expect("an outcome"), Swap::Updated);
    let gone = store.stack_swap(&stack_id, Some("t1"), &StackChanges::default()).await;
    assert_eq!(gone.expect("an outcome"), Swap::Gone);
    assert_eq!(
        store
            .stack_get(&stack_id, &Scope::Everyone, Deleted::Hidden)
            .await
            .expect("a read"),
        None
    );
}
