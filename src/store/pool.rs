//! Connections that are kept for the next unit of work.
//!
//! A pool of our own, because what matters here is when a connection must not be used again. A unit is never cut in the
//! middle of a statement, so it gives its connection back in order, by [`Pool::give_back`], and nothing has to be asked
//! of the server then. A connection that is dropped instead (its link is broken or dead, or the unit ended in a panic) is
//! closed, with whatever it was in the middle of. And what happens to one connection is news of all: after a broken link
//! the others are tried before they are used, after a dead one, or when the server takes no writes any more, those that are
//! older than the finding are not used at all.

use std::collections::VecDeque;
use std::ops::{Deref, DerefMut};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use sqlx::mysql::{MySqlConnectOptions, MySqlConnection};
use sqlx::{AssertSqlSafe, Connection};
use tokio::sync::{Notify, OwnedSemaphorePermit, Semaphore};
use tokio::time::{Instant, timeout, timeout_at};
use tokio_util::sync::CancellationToken;

use super::error::{StoreError, Transience};
use super::options::DatabaseOptions;
use super::rehearsal::READ_ONLY;
use super::server_thread::ServerThread;

/// A connection that was used this recently is taken to be alive; if it is not, the unit of work is retried anyway.
const TRUSTED_IDLE_TIME: Duration = Duration::from_secs(5);

/// Connections beyond need are given back to the server after this time.
const IDLE_TIMEOUT: Duration = Duration::from_secs(60);

/// For one attempt to connect. A server that is busy takes its time; one that is away is asked again.
const CONNECTING: Duration = Duration::from_secs(5);
/// For a word from a connection that has nothing to do.
const ANSWER_WITHIN: Duration = Duration::from_secs(3);

/// Between attempts to connect, of one who waits for a connection.
const FIRST_PAUSE: Duration = Duration::from_millis(50);
const LONGEST_PAUSE: Duration = Duration::from_secs(1);

#[derive(Clone)]
pub(super) struct Pool(Arc<Shared>);

struct Shared {
    dial: Dial,
    most: usize,
    /// How long somebody waits for a connection.
    patience: Duration,
    lifetime: Option<Duration>,
    places: Arc<Semaphore>,
    /// Whoever has been idle for longest comes first and is taken last.
    idle: Mutex<VecDeque<Idle>>,
    trust: Mutex<Trust>,
    trouble: Notify,
    closing: CancellationToken,
}

struct Idle {
    connection: Known,
    since: Instant,
}

/// What is thought of connections from before a moment.
#[derive(Clone, Copy, Debug, Default)]
struct Trust {
    suspected: Option<Instant>,
    renounced: Option<Instant>,
}

/// How connections are made.
struct Dial {
    options: MySqlConnectOptions,
    /// Statements that make a session what a Python engine's is.
    set_up: Vec<String>,
}

/// A connection, and what the server calls it.
struct Known {
    connection: MySqlConnection,
    thread: Option<ServerThread>,
    made_at: Instant,
}

/// A connection for the time of one unit of work. Dropped, it is closed.
pub(super) struct Lease {
    known: Known,
    _place: OwnedSemaphorePermit,
}

impl Lease {
    /// What the server calls this connection, if it says.
    pub fn thread(&self) -> Option<ServerThread> {
        self.known.thread.clone()
    }
}

impl Deref for Lease {
    type Target = MySqlConnection;

    fn deref(&self) -> &MySqlConnection {
        &self.known.connection
    }
}

impl DerefMut for Lease {
    fn deref_mut(&mut self) -> &mut MySqlConnection {
        &mut self.known.connection
    }
}

impl Pool {
    /// Connects to nothing yet. Nobody is kept waiting from `closing` on.
    pub fn new(
        options: &DatabaseOptions,
        connect_options: MySqlConnectOptions,
        read_only: bool,
        closing: CancellationToken,
    ) -> Self {
        let most = usize::try_from(options.most_connections()).unwrap_or(usize::MAX);
        let mut set_up: Vec<String> = session_set_up(options).into_iter().collect();
        if read_only {
            set_up.push(READ_ONLY.to_owned());
        }
        Self(Arc::new(Shared {
            dial: Dial {
                options: connect_options,
                set_up,
            },
            most,
            patience: options.pool_timeout,
            lifetime: options.connection_recycle_time,
            places: Arc::new(Semaphore::new(most)),
            idle: Mutex::default(),
            trust: Mutex::default(),
            trouble: Notify::new(),
            closing,
        }))
    }

    /// For a connection beside the pool.
    pub fn connect_options(&self) -> &MySqlConnectOptions {
        &self.0.dial.options
    }

    /// Connections in use, and connections that wait for use.
    pub fn connections(&self) -> (usize, usize) {
        let used = self.0.most.saturating_sub(self.0.places.available_permits());
        (used, self.idle().len())
    }

    /// A connection that is thought to be alive. Where none can be had, the last reason why.
    pub async fn acquire(&self) -> Result<Lease, StoreError> {
        let deadline = Instant::now() + self.0.patience;
        let place = timeout_at(deadline, self.0.places.clone().acquire_owned())
            .await
            .map_err(|_| StoreError::Unreachable(sqlx::Error::PoolTimedOut))?
            .map_err(|_| StoreError::Closed)?;
        loop {
            // Not in the condition: the lock would be held all the time.
            let idle = self.idle().pop_back();
            let Some(idle) = idle else { break };
            if let Some(known) = self.if_of_use(idle).await {
                return Ok(Lease { known, _place: place });
            }
        }
        let known = self.connect_before(deadline).await?;
        Ok(Lease { known, _place: place })
    }

    /// Takes back a connection that has nothing under way.
    pub fn give_back(&self, lease: Lease) {
        if self.0.closing.is_cancelled() {
            return say_goodbye(lease.known.connection);
        }
        let now = Instant::now();
        let idle = Idle {
            connection: lease.known,
            since: now,
        };
        let mut all = self.idle();
        all.push_back(idle);
        while all.front().is_some_and(|longest| now - longest.since > IDLE_TIMEOUT) {
            if let Some(longest) = all.pop_front() {
                say_goodbye(longest.connection.connection);
            }
        }
    }

    /// A link was found broken: others may be.
    pub fn suspect_all(&self) {
        self.trust().suspected = Some(Instant::now());
        self.0.trouble.notify_one();
    }

    /// A link was found dead, or the server to be of no use any more, as after a failover: older connections may all be, or
    /// lead there.
    pub fn renounce_all(&self) {
        self.trust().renounced = Some(Instant::now());
        self.0.trouble.notify_one();
    }

    /// When something was amiss with a connection.
    pub async fn trouble(&self) {
        self.0.trouble.notified().await;
    }

    pub fn close(&self) {
        self.0.places.close();
        for idle in self.idle().drain(..) {
            say_goodbye(idle.connection.connection);
        }
    }

    async fn if_of_use(&self, idle: Idle) -> Option<Known> {
        let Idle { mut connection, since } = idle;
        let trust = *self.trust();
        let is_old = self.0.lifetime.is_some_and(|most| connection.made_at.elapsed() > most);
        if is_old || trust.renounced.is_some_and(|at| connection.made_at <= at) {
            say_goodbye(connection.connection);
            return None;
        }
        if since.elapsed() <= TRUSTED_IDLE_TIME && trust.suspected.is_none_or(|at| since > at) {
            return Some(connection);
        }
        match timeout(ANSWER_WITHIN, connection.connection.ping()).await {
            Ok(Ok(())) => Some(connection),
            Ok(Err(error)) => {
                tracing::debug!(%error, "an idle connection to the database has broken");
                self.suspect_all();
                None
            }
            Err(_) => {
                tracing::debug!("an idle connection to the database is dead");
                self.renounce_all();
                None
            }
        }
    }

    async fn connect_before(&self, deadline: Instant) -> Result<Known, StoreError> {
        let mut pause = FIRST_PAUSE;
        loop {
            let error = match timeout(CONNECTING, self.0.dial.connect()).await {
                Ok(Ok(known)) => return Ok(known),
                Ok(Err(error)) => error,
                Err(_) => out_of_time("no connection within 5 seconds"),
            };
            self.0.trouble.notify_one();
            if error.transience() != Some(Transience::LostConnection) || Instant::now() + pause > deadline {
                return Err(error);
            }
            let waiting = self.0.closing.run_until_cancelled(tokio::time::sleep(pause));
            if waiting.await.is_none() {
                return Err(error);
            }
            pause = (pause * 2).min(LONGEST_PAUSE);
        }
    }

    fn idle(&self) -> MutexGuard<'_, VecDeque<Idle>> {
        self.0.idle.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn trust(&self) -> MutexGuard<'_, Trust> {
        self.0.trust.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Dial {
    async fn connect(&self) -> Result<Known, StoreError> {
        let mut connection = MySqlConnection::connect_with(&self.options).await?;
        for statement in &self.set_up {
            sqlx::raw_sql(AssertSqlSafe(statement.clone()))
                .execute(&mut connection)
                .await?;
        }
        Ok(Known {
            thread: ServerThread::of(&mut connection).await?,
            connection,
            made_at: Instant::now(),
        })
    }
}

/// Of a link that is as good as broken.
pub(super) fn out_of_time(what: &'static str) -> StoreError {
    sqlx::Error::Io(std::io::Error::new(std::io::ErrorKind::TimedOut, what)).into()
}

/// The server need not wonder where the other end is.
fn say_goodbye(connection: MySqlConnection) {
    tokio::spawn(timeout(ANSWER_WITHIN, connection.close()));
}

/// What oslo.db sets on each connection.
fn session_set_up(options: &DatabaseOptions) -> Option<String> {
    let mut settings = Vec::new();
    if let Some(mode) = &options.sql_mode {
        settings.push(format!("sql_mode = '{}'", mode.replace(['\'', '\\'], "")));
    }
    if let Some(wait) = options.wsrep_sync_wait {
        settings.push(format!("wsrep_sync_wait = {wait}"));
    }
    if settings.is_empty() {
        None
    } else {
        Some(format!("SET SESSION {}", settings.join(", ")))
    }
}
