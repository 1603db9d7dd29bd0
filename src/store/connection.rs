//! How a unit of work runs.

use std::panic::AssertUnwindSafe;
use std::sync::atomic::Ordering;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use futures_util::FutureExt;
use futures_util::future::BoxFuture;
use sqlx::mysql::MySqlConnectOptions;
use sqlx::{Connection, MySqlConnection};
use tokio::sync::oneshot;
use tokio::time::timeout;
use tokio_util::sync::CancellationToken;
use tokio_util::task::TaskTracker;
use tracing::Instrument;

use super::counters::StoreCounters;
use super::error::{StoreError, Transience};
use super::joint::{CallersUnit, Joint, JointUnit, Outcome, answer_all, run_units};
use super::lookout::Lookout;
use super::options::DatabaseOptions;
use super::pool::{Pool, out_of_time};
use super::probe::Probe;
use super::rehearsal::Rehearsal;
use super::resource_load::{Load, MOST_LOADED, ResourceInStack, answer_loads};
use super::retry::{Retries, RetryLimits};
use super::session::{Onlooker, Session};
use super::silence::{Listener, Talk};
use super::text::{Repertoire, UnstorableName};
use crate::clock::Clock;
use crate::journal::Journal;

/// For the first look at the tables.
const FIRST_LOOK: Duration = Duration::from_secs(10);

/// The database. A cheap handle: clones share one pool.
#[derive(Clone)]
pub struct Store {
    inner: Arc<Inner>,
}

struct Inner {
    pool: Pool,
    listener: Listener,
    clock: Clock,
    retry: RetryLimits,
    counters: Arc<StoreCounters>,
    repertoire: Repertoire,
    units: TaskTracker,
    /// Nothing is tried again from now on.
    closing: CancellationToken,
    onlooker: Onlooker,
    joint_units: Joint<Box<dyn JointUnit>>,
    joint_loads: Joint<Load>,
}

/// Joint transactions at a time, and how many units one may have. More of either make the other smaller.
const JOINT_TRANSACTIONS: usize = 4;
const UNITS_OF_A_TRANSACTION: usize = 16;
const JOINT_LOADS: usize = 2;

#[derive(Clone, Copy, PartialEq, Eq)]
enum UnitKind {
    SingleStatement,
    Transaction,
    /// A transaction of several units, which is not worth insisting on.
    Group,
}

impl Store {
    /// Opens the pool and waits, as long as the options say, for a first connection.
    pub async fn connect(options: &DatabaseOptions, clock: Clock) -> Result<Self, StoreError> {
        Self::connect_watched(options, clock, Journal::default()).await
    }

    /// As [`Self::connect`], for somebody who looks on. In a rehearsal nothing is written.
    pub async fn connect_watched(
        options: &DatabaseOptions,
        clock: Clock,
        journal: Journal,
    ) -> Result<Self, StoreError> {
        let connect_options = options.connect_options()?;
        let rehearsal = journal.rehearses().then(|| Arc::new(Rehearsal::default()));
        let repertoire = first_connection(options, &connect_options).await?;
        let closing = CancellationToken::new();
        Ok(Self {
            inner: Arc::new(Inner {
                pool: Pool::new(options, connect_options, rehearsal.is_some(), closing.clone()),
                listener: Listener::default(),
                clock,
                retry: options.retry.clone(),
                counters: Arc::default(),
                repertoire,
                units: TaskTracker::new(),
                closing,
                onlooker: Onlooker {
                    journal,
                    rehearsal,
                    transaction: None,
                },
                joint_units: Joint::new(JOINT_TRANSACTIONS, UNITS_OF_A_TRANSACTION),
                joint_loads: Joint::new(JOINT_LOADS, MOST_LOADED),
            }),
        })
    }

    /// Connections in use, and connections that wait for use.
    pub fn connections(&self) -> (usize, usize) {
        self.inner.pool.connections()
    }

    pub fn counters(&self) -> Arc<StoreCounters> {
        self.inner.counters.clone()
    }

    pub fn clock(&self) -> &Clock {
        &self.inner.clock
    }

    /// Whether rows can have this name, of a resource for example.
    pub fn check_name(&self, name: &str) -> Result<(), UnstorableName> {
        self.inner.repertoire.check_name(name)
    }

    /// For somebody who looks again and again whether the database is of use.
    pub fn lookout(&self) -> Lookout {
        Lookout::new(self.inner.pool.clone())
    }

    /// For a connection beside the pool.
    pub(super) fn connect_options(&self) -> &MySqlConnectOptions {
        self.inner.pool.connect_options()
    }

    /// Lets units of work that are running finish, without another attempt, and closes the pool; new units are refused.
    pub async fn close(&self) {
        self.inner.closing.cancel();
        self.inner.units.close();
        self.inner.units.wait().await;
        self.inner.pool.close();
    }

    /// Runs several statements as one transaction, committed when `work` returns a value and rolled back when it
    /// returns an error or has called [`Session::abandon`].
    pub async fn transaction<A, T, W>(&self, arguments: A, work: W) -> Result<T, StoreError>
    where
        A: Send + Sync + 'static,
        T: Send + 'static,
        W: for<'s> Fn(&'s mut Session, &'s A) -> BoxFuture<'s, Result<T, StoreError>> + Send + Sync + 'static,
    {
        self.unit(UnitKind::Transaction, arguments, work).await
    }

    /// As [`Self::transaction`], together with what others ask for at the same time. For units that write to rows
    /// which nobody else writes to, and read nothing: they may see what is not committed.
    pub async fn joint_transaction<A, T, W>(&self, arguments: A, work: W) -> Result<T, StoreError>
    where
        A: Send + Sync + 'static,
        T: Send + 'static,
        W: for<'s> Fn(&'s mut Session, &'s A) -> BoxFuture<'s, Result<T, StoreError>> + Send + Sync + 'static,
    {
        let (answer, told) = oneshot::channel();
        let unit = CallersUnit {
            arguments,
            work,
            value: Mutex::default(),
            answer,
        };
        if self.inner.joint_units.enter(Box::new(unit)) {
            let inner = self.inner.clone();
            self.inner.units.spawn(async move { inner.serve_joint_units().await });
        }
        told.await.unwrap_or(Err(StoreError::Closed))
    }

    /// A resource as [`Session::resources_load`] gives it, read together with those that others ask for.
    pub async fn resource_load_with_stack(&self, id: i64) -> Result<Option<ResourceInStack>, StoreError> {
        let (answer, told) = oneshot::channel();
        if self.inner.joint_loads.enter(Load { id, answer }) {
            let inner = self.inner.clone();
            self.inner.units.spawn(async move { inner.serve_joint_loads().await });
        }
        told.await.unwrap_or(Err(StoreError::Closed))
    }

    /// Runs one statement, which is its own transaction.
    pub(super) async fn single<A, T, W>(&self, arguments: A, work: W) -> Result<T, StoreError>
    where
        A: Send + Sync + 'static,
        T: Send + 'static,
        W: for<'s> Fn(&'s mut Session, &'s A) -> BoxFuture<'s, Result<T, StoreError>> + Send + Sync + 'static,
    {
        self.unit(UnitKind::SingleStatement, arguments, work).await
    }

    async fn unit<A, T, W>(&self, kind: UnitKind, arguments: A, work: W) -> Result<T, StoreError>
    where
        A: Send + Sync + 'static,
        T: Send + 'static,
        W: for<'s> Fn(&'s mut Session, &'s A) -> BoxFuture<'s, Result<T, StoreError>> + Send + Sync + 'static,
    {
        let inner = self.inner.clone();
        let unit = async move { inner.run(kind, &arguments, &work).await };
        match self.inner.units.spawn(unit.in_current_span()).await {
            Ok(result) => result,
            Err(broken) => match broken.try_into_panic() {
                Ok(panic) => std::panic::resume_unwind(panic),
                Err(_) => Err(StoreError::Closed),
            },
        }
    }
}

/// How one run of a transaction ended.
enum Run<T> {
    Done(T),
    Unanswered(Unanswered<T>, StoreError),
}

/// COMMIT was sent and its answer was lost; the probes tell what became of it.
struct Unanswered<T> {
    value: T,
    probes: Vec<Probe>,
    talk: Talk,
}

impl Inner {
    async fn run<A, T, W>(&self, kind: UnitKind, arguments: &A, work: &W) -> Result<T, StoreError>
    where
        W: for<'s> Fn(&'s mut Session, &'s A) -> BoxFuture<'s, Result<T, StoreError>>,
    {
        let mut retries = Retries::new(&self.retry, &self.clock);
        let mut unsure = false;
        let mut unanswered: Option<Unanswered<T>> = None;
        loop {
            let run = match unanswered.take() {
                Some(commit) => match self.was_made(&commit.probes, &commit.talk).await {
                    Ok(true) => {
                        StoreCounters::count(&self.counters.confirmed_commits);
                        return Ok(commit.value);
                    }
                    Ok(false) => self.run_once(kind, arguments, work, unsure).await,
                    Err(error) => Ok(Run::Unanswered(commit, error)),
                },
                None => self.run_once(kind, arguments, work, unsure).await,
            };
            let error = match run {
                Ok(Run::Done(value)) => return Ok(value),
                Ok(Run::Unanswered(commit, error)) => {
                    unanswered = Some(commit);
                    error
                }
                Err(error) => error,
            };
            let transience = error.transience();
            if let Some(transience) = transience {
                self.counters.count_transience(transience);
            }
            unsure |= transience == Some(Transience::LostConnection);
            if error.is_of_the_server() {
                self.pool.renounce_all();
            } else if transience == Some(Transience::LostConnection) {
                self.pool.suspect_all();
            }
            if kind == UnitKind::Group && transience != Some(Transience::LostConnection) {
                return Err(error);
            }
            let Some(pause) = retries.pause_after(&error) else {
                if transience.is_some() {
                    StoreCounters::count(&self.counters.given_up);
                }
                return Err(error);
            };
            tracing::debug!(?transience, ?pause, "the unit of work runs again");
            let pause = tokio::time::sleep(pause);
            if self.closing.run_until_cancelled(pause).await.is_none() {
                return Err(error);
            }
        }
    }

    async fn serve_joint_units(&self) {
        while let Some(units) = self.joint_units.next() {
            // Those of a group that panics are told that there is no store; others are not concerned.
            let served = AssertUnwindSafe(self.run_joint_units(units)).catch_unwind().await;
            if served.is_err() {
                tracing::error!("a unit of work ended in a panic");
            }
        }
    }

    /// Runs units as one transaction; if that cannot stand for the sake of one of them, each as its own. So does a refusal:
    /// what collides with others would do so again, and a group is the larger the busier the database is.
    async fn run_joint_units(&self, units: Vec<Box<dyn JointUnit>>) {
        if units.len() == 1 {
            return self.run_joint_unit(units).await;
        }
        match self.run(UnitKind::Group, &units, &run_units).await {
            Ok(Outcome::Stands) => answer_all(units, Ok(())),
            Err(error) if error.transience() == Some(Transience::LostConnection) => answer_all(units, Err(error)),
            Ok(Outcome::Abandoned) | Err(_) => {
                for unit in units {
                    self.run_joint_unit(vec![unit]).await;
                }
            }
        }
    }

    async fn run_joint_unit(&self, only: Vec<Box<dyn JointUnit>>) {
        let outcome = self.run(UnitKind::Transaction, &only, &run_units).await;
        answer_all(only, outcome.map(drop));
    }

    async fn serve_joint_loads(&self) {
        while let Some(loads) = self.joint_loads.next() {
            let ids: Vec<i64> = loads.iter().map(|load| load.id).collect();
            let loading = self.run(UnitKind::SingleStatement, &ids, &|session, ids| {
                Box::pin(session.resources_load_with_stacks(ids))
            });
            match AssertUnwindSafe(loading).catch_unwind().await {
                Ok(found) => answer_loads(loads, found),
                Err(_) => tracing::error!("reading resources ended in a panic"),
            }
        }
    }

    async fn run_once<A, T, W>(
        &self,
        kind: UnitKind,
        arguments: &A,
        work: &W,
        unsure: bool,
    ) -> Result<Run<T>, StoreError>
    where
        W: for<'s> Fn(&'s mut Session, &'s A) -> BoxFuture<'s, Result<T, StoreError>>,
    {
        let mut session = self.session(kind, unsure).await?;
        let talk = session.talk();
        let value = match self.attend(&talk, work(&mut session, arguments)).await {
            Ok(value) => value,
            Err(error) => {
                self.roll_back(session, &talk, &error).await;
                return Err(error);
            }
        };
        let probes = session.take_probes();
        match self.attend(&talk, session.finish()).await {
            Ok(()) => {
                self.pool.give_back(session.into_lease());
                Ok(Run::Done(value))
            }
            Err(error) if error.transience() == Some(Transience::LostConnection) && !probes.is_empty() => {
                Ok(Run::Unanswered(Unanswered { value, probes, talk }, error))
            }
            Err(error) => {
                self.roll_back(session, &talk, &error).await;
                Err(error)
            }
        }
    }

    /// The error that leads here is the one to tell of. A connection that is of no use any more is dropped.
    async fn roll_back(&self, mut session: Session, talk: &Talk, reason: &StoreError) {
        if reason.transience() == Some(Transience::LostConnection) {
            return;
        }
        match self.attend(talk, session.roll_back()).await {
            Ok(()) => self.pool.give_back(session.into_lease()),
            Err(error) => tracing::debug!(error = &error as &dyn std::error::Error, "rollback failed"),
        }
    }

    async fn session(&self, kind: UnitKind, unsure: bool) -> Result<Session, StoreError> {
        let lease = self.pool.acquire().await?;
        let onlooker = self.onlooker.clone();
        let mut session = Session::new(
            lease,
            self.clock.clone(),
            self.counters.clone(),
            self.repertoire,
            unsure,
            onlooker,
        );
        if kind != UnitKind::SingleStatement {
            let number = self.counters.transactions.fetch_add(1, Ordering::Relaxed) + 1;
            let talk = session.talk();
            self.attend(&talk, session.begin(number)).await?;
        }
        Ok(session)
    }

    /// Whether a commit without an answer was made. Nothing may come of it afterwards.
    async fn was_made(&self, probes: &[Probe], talk_of_commit: &Talk) -> Result<bool, StoreError> {
        // Whoever waits for a connection waits patiently, and whoever asks for one beside the pool does not.
        let mut connection = self.pool.acquire().await?;
        let talk = Talk::new(connection.thread());
        self.attend(&talk, talk_of_commit.end_over(&mut connection)).await?;
        talk.next_statement();
        for probe in probes {
            let is_found = self.attend(&talk, probe.finds_our_write(&mut connection)).await?;
            if is_found {
                self.pool.give_back(connection);
                return Ok(true);
            }
            talk.next_statement();
        }
        self.pool.give_back(connection);
        Ok(false)
    }

    async fn attend<T>(
        &self,
        talk: &Talk,
        words: impl Future<Output = Result<T, StoreError>>,
    ) -> Result<T, StoreError> {
        self.listener.attend(&self.pool, talk, words).await
    }
}

async fn first_connection(
    options: &DatabaseOptions,
    connect_options: &MySqlConnectOptions,
) -> Result<Repertoire, StoreError> {
    let mut failures = 0;
    loop {
        let error = match timeout(FIRST_LOOK, look_at_tables(connect_options)).await {
            Ok(Ok(repertoire)) => return Ok(repertoire),
            Ok(Err(error)) => error,
            Err(_) => out_of_time("no answer within 10 seconds"),
        };
        failures += 1;
        let may_pass = error.transience() == Some(Transience::LostConnection);
        if !may_pass || options.max_connect_retries.is_some_and(|most| failures > most) {
            return Err(error);
        }
        tracing::warn!(
            failures,
            host = connect_options.get_host(),
            port = connect_options.get_port(),
            database = connect_options.get_database(),
            error = &error as &dyn std::error::Error,
            "no connection to the database yet"
        );
        tokio::time::sleep(options.connect_retry_interval).await;
    }
}

/// Whether the tables hold characters beyond the basic plane.
async fn look_at_tables(connect_options: &MySqlConnectOptions) -> Result<Repertoire, StoreError> {
    let mut connection = MySqlConnection::connect_with(connect_options).await?;
    let character_set: Option<String> = sqlx::query_scalar(
        "SELECT CHARACTER_SET_NAME FROM information_schema.COLUMNS \
         WHERE TABLE_SCHEMA = DATABASE() AND TABLE_NAME = 'stack' AND COLUMN_NAME = 'status_reason'",
    )
    .fetch_optional(&mut connection)
    .await?
    .flatten();
    connection.close().await?;
    match character_set.as_deref() {
        Some("utf8mb4") => Ok(Repertoire::Full),
        Some(_) => Ok(Repertoire::BasicPlane),
        None => Err(StoreError::NoTables),
    }
}
