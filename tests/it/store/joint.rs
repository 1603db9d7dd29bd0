//! Units that share a transaction: whatever befalls it, each of them has its effect once, or not at all and knows it.

use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::Duration;

use futures_util::future::join_all;
use heat_engine::store::{ExpectedResource, NewEvent, PropertiesData, ResourceChanges, Store, StoreError, Swap};
use rstest::rstest;
use tokio::sync::Semaphore;
use tokio::task::JoinHandle;

use super::{fresh_store, open, resource, stack_with_resource, template};
use crate::lab::{Lab, TestDatabase};
use crate::link::{Link, Protocol, Steps, Strike};

const MEMBERS: usize = 8;
/// As many transactions as there may be at a time, so that whoever comes next has to wait for company.
const BLOCKERS: usize = 4;
/// Enough for all members to come.
const MOMENT: Duration = Duration::from_millis(200);

/// What befalls the transaction that the group is in, or the first of those that follow it.
#[derive(Clone, Copy, Debug)]
enum Fault {
    None,
    /// Refused in the middle of the writes.
    Write(Strike),
    Commit(Strike),
}

impl Fault {
    fn arm(self, steps: &Steps) {
        match self {
            Self::None => {}
            Self::Write(strike) => steps.arm_among(&["UPDATE resource"], (MEMBERS / 2, strike), || {}),
            Self::Commit(strike) => steps.arm_among(&["COMMIT"], (0, strike), || {}),
        }
    }
}

struct Group {
    database: TestDatabase,
    store: Store,
    steps: Arc<Steps>,
    /// Of each member.
    resources: Vec<i64>,
    stack_id: String,
    _link: Link,
}

impl Group {
    async fn new(hint: &str) -> Self {
        let (database, plain) = fresh_store(hint).await;
        let (stack_id, _) = stack_with_resource(&plain).await;
        let template = template(&plain).await;
        let mut resources = Vec::new();
        for number in 0..MEMBERS {
            let row = resource(&format!("m{number}"), &stack_id, template);
            resources.push(plain.resource_create(&row).await.expect("a resource"));
        }
        let (server, steps) = (&Lab::get().database, Arc::<Steps>::default());
        let link = Link::counting(&server.host, server.port, Protocol::MySql, steps.clone()).await;
        let linked = database
            .url()
            .replace(&format!(":{}/", server.port), &format!(":{}/", link.port));
        Self {
            store: open(&linked).await,
            database,
            steps,
            resources,
            stack_id,
            _link: link,
        }
    }

    /// Keeps one of the places for transactions busy until it is told to end; it has begun when this returns. The first to
    /// end takes all who wait by then.
    async fn block(&self, end: &Arc<Semaphore>) -> JoinHandle<()> {
        let (store, begun) = (self.store.clone(), Arc::new(Semaphore::new(0)));
        let arguments = (begun.clone(), end.clone());
        let blocker = tokio::spawn(async move {
            let blocked = store.joint_transaction(arguments, |_, (begun, end)| {
                Box::pin(async move {
                    begun.add_permits(1);
                    end.acquire().await.expect("it is never closed").forget();
                    Ok(())
                })
            });
            blocked.await.expect("nothing to fail");
        });
        begun.acquire().await.expect("it is never closed").forget();
        blocker
    }

    /// As the change of a resource's state: properties, the row by compare-and-swap, an event.
    async fn member(&self, number: usize, expected: ExpectedResource, fault: Fault) -> Result<Swap, StoreError> {
        let event = NewEvent {
            uuid: format!("event-{number}"),
            stack_id: self.stack_id.clone(),
            ..NewEvent::default()
        };
        let arguments = (self.resources[number], expected, event, self.steps.clone());
        let joined = self
            .store
            .joint_transaction(arguments, move |session, (id, expected, event, steps)| {
                Box::pin(async move {
                    // Once, when the first member is being served.
                    if number == 0 && !steps.is_armed() {
                        fault.arm(steps);
                    }
                    let properties = session.properties_data_create(&PropertiesData::plain("{}")).await?;
                    let changes = ResourceChanges {
                        engine_id: Some(Some(format!("engine-{number}"))),
                        rsrc_prop_data_id: Some(Some(properties)),
                        ..ResourceChanges::default()
                    };
                    let swap = session.resource_swap(*id, expected, &changes).await?;
                    if swap.is_updated() {
                        session.event_create(event).await?;
                    } else {
                        session.abandon();
                    }
                    Ok(swap)
                })
            });
        joined.await
    }
}

#[rstest]
#[tokio::test(flavor = "multi_thread")]
async fn each_member_of_a_group_has_its_effect_once(
    #[values(
        Fault::None,
        Fault::Write(Strike::Refuse(1213)),
        Fault::Write(Strike::Before),
        Fault::Write(Strike::After),
        Fault::Commit(Strike::Refuse(1213)),
        Fault::Commit(Strike::Before),
        Fault::Commit(Strike::After)
    )]
    fault: Fault,
    #[values(None, Some(0), Some(5))] loser: Option<usize>,
) {
    let group = Group::new("joint").await;
    let (first_end, last_end) = (Arc::new(Semaphore::new(0)), Arc::new(Semaphore::new(0)));
    // One serves those who come while it lasts; the others stay until all is over.
    let mut blockers = vec![group.block(&first_end).await];
    for _ in 1..BLOCKERS {
        blockers.push(group.block(&last_end).await);
    }
    let members = join_all((0..MEMBERS).map(|number| {
        let key = (loser == Some(number)).then_some(7);
        group.member(number, ExpectedResource::unlocked(key), fault)
    }));
    let served = async {
        tokio::time::sleep(MOMENT).await;
        first_end.add_permits(1);
    };
    let (outcomes, ()) = tokio::join!(members, served);
    last_end.add_permits(BLOCKERS);
    for blocker in blockers {
        blocker.await.expect("no panic");
    }

    let was_struck = group.steps.has_struck();
    assert_eq!(was_struck, !matches!(fault, Fault::None), "{fault:?}");
    for (number, outcome) in outcomes.into_iter().enumerate() {
        let swap = outcome.unwrap_or_else(|error| panic!("{number}: {error}"));
        let expected = if loser == Some(number) {
            Swap::Lost
        } else {
            Swap::Updated
        };
        assert_eq!(swap, expected, "{number}");
    }
    let rows = group.database.sql(
        "SELECT r.name, COALESCE(r.atomic_key, 0), COALESCE(r.engine_id, '-'), COUNT(p.id), COUNT(e.id) FROM resource r \
         LEFT JOIN resource_properties_data p ON p.id = r.rsrc_prop_data_id \
         LEFT JOIN event e ON e.uuid = CONCAT('event-', SUBSTR(r.name, 2)) WHERE r.name LIKE 'm%' GROUP BY r.id ORDER BY r.id",
    );
    let expected: Vec<Vec<String>> = (0..MEMBERS)
        .map(|number| match loser == Some(number) {
            true => [format!("m{number}"), "0".into(), "-".into(), "0".into(), "0".into()],
            false => [
                format!("m{number}"),
                "1".into(),
                format!("engine-{number}"),
                "1".into(),
                "1".into(),
            ],
        })
        .map(Vec::from)
        .collect();
    assert_eq!(rows, expected);
    let winners = (MEMBERS - usize::from(loser.is_some())).to_string();
    for table in ["resource_properties_data", "event"] {
        let count = group.database.sql(&format!("SELECT COUNT(*) FROM {table}"));
        assert_eq!(count, [[winners.clone()]], "{table}");
    }

    let counters = group.store.counters();
    let confirmed = counters.confirmed_commits.load(Ordering::Relaxed);
    let is_unanswered = matches!(fault, Fault::Commit(Strike::After));
    assert_eq!(confirmed, u64::from(is_unanswered));
    let transactions = counters.transactions.load(Ordering::Relaxed) - BLOCKERS as u64;
    match (fault, loser) {
        (Fault::None | Fault::Commit(Strike::After), None) => assert_eq!(transactions, 1, "all in one"),
        (Fault::Write(Strike::Before | Strike::After) | Fault::Commit(Strike::Before), None) => {
            assert_eq!(transactions, 2, "all in one, twice");
        }
        // Each of its own after the group.
        _ => assert!(transactions > MEMBERS as u64, "{transactions}"),
    }
    group.store.close().await;
}
