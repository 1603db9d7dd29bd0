//! Statements that have no answer.
//!
//! A link may die without a word: power fails, an address moves to another server, a firewall forgets the connection. A
//! statement would then wait until TCP gives up, a quarter of an hour, and for ever if the request had been acknowledged;
//! all this time the engine lives, and keeps the locks of what it works on. A limit in seconds for each statement
//! would be wrong: a wait for a lock may last what `innodb_lock_wait_timeout` says, and there are large statements. So
//! when there is no answer for a while, the server is asked over another connection what it is doing
//! ([`ServerThread`]). It may be at work. If it does not know the connection any more, or twice in a row waits for a
//! statement of ours as we do for its answer, the link is dead. A server that cannot be reached says nothing, and nothing
//! could be done elsewhere.
//!
//! Before a link is given up its thread at the server is ended, for two reasons: the locks of its transaction would stay
//! as long as the server takes the client for alive, hours mostly; and what is still on its way could arrive after the unit
//! of work has run again.
//!
//! (Keepalive and `TCP_USER_TIMEOUT` would do a part of this, but sqlx gives no way to set them; and they know nothing of a
//! proxy that has lost its other side.)

use std::pin::pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use sqlx::mysql::MySqlConnection;
use tokio::sync::Mutex;
use tokio::time::{Instant, timeout};

use super::error::{StoreError, Transience};
use super::pool::{Pool, out_of_time};
use super::server_thread::{ServerThread, Standing};

/// Without an answer for so long, the server is asked.
const WORRY_AFTER: Duration = Duration::from_secs(4);

/// Where another server than ours answers, ours cannot be asked. So long a wait for a lock does not last by default.
const LONGEST_STATEMENT: Duration = Duration::from_secs(60);

/// What a unit of work says to the server, as somebody can see who waits for it.
#[derive(Clone, Debug, Default)]
pub(super) struct Talk {
    thread: Option<ServerThread>,
    statements: Arc<AtomicU64>,
}

impl Talk {
    pub fn new(thread: Option<ServerThread>) -> Self {
        Self {
            thread,
            statements: Arc::default(),
        }
    }

    pub fn next_statement(&self) {
        self.statements.fetch_add(1, Ordering::Relaxed);
    }

    fn statements(&self) -> u64 {
        self.statements.load(Ordering::Relaxed)
    }

    /// Sees to it that nothing comes of the talk any more.
    pub async fn end(&self, pool: &Pool) -> Result<(), StoreError> {
        match &self.thread {
            Some(thread) => thread.end(pool.connect_options()).await,
            None => Ok(()),
        }
    }

    /// As [`Self::end`], over a connection that there is.
    pub async fn end_over(&self, connection: &mut MySqlConnection) -> Result<(), StoreError> {
        match &self.thread {
            Some(thread) => thread.end_over(connection).await,
            None => Ok(()),
        }
    }
}

/// Listens to those who have no answer.
#[derive(Default)]
pub(super) struct Listener {
    /// When the server could not be asked. Whoever else would ask at about the same time is spared the attempt.
    unheard: Mutex<Option<Instant>>,
}

impl Listener {
    /// Waits for what is being said on a connection, unless the link turns out to be dead. The connection must not be
    /// used any more then.
    pub async fn attend<T>(
        &self,
        pool: &Pool,
        talk: &Talk,
        words: impl Future<Output = Result<T, StoreError>>,
    ) -> Result<T, StoreError> {
        let mut words = pin!(words);
        let mut heard = (talk.statements(), Instant::now());
        let mut was_idle = false;
        loop {
            if let Ok(outcome) = timeout(WORRY_AFTER, words.as_mut()).await {
                return outcome;
            }
            if talk.statements() != heard.0 {
                heard = (talk.statements(), Instant::now());
                was_idle = false;
                continue;
            }
            let standing = tokio::select! {
                biased;
                outcome = words.as_mut() => return outcome,
                standing = self.standing(pool, talk) => standing,
            };
            let is_idle = standing == Some(Standing::Idle);
            let is_dead = match standing {
                Some(Standing::Gone) => true,
                Some(Standing::Idle) => was_idle,
                Some(Standing::Elsewhere) => heard.1.elapsed() > LONGEST_STATEMENT,
                Some(Standing::AtWork) | None => false,
            };
            was_idle = is_idle;
            if !is_dead {
                continue;
            }
            let ended = tokio::select! {
                biased;
                outcome = words.as_mut() => return outcome,
                ended = talk.end(pool) => ended,
            };
            if let Err(error) = ended {
                tracing::debug!(
                    error = &error as &dyn std::error::Error,
                    "a dead connection stays for now"
                );
                continue;
            }
            tracing::warn!(
                silent_for = ?heard.1.elapsed(),
                ?standing,
                "a connection to the database is dead; what was asked over it is asked again"
            );
            pool.renounce_all();
            return Err(out_of_time("the link to the database is dead"));
        }
    }

    /// `None` if the server does not say.
    async fn standing(&self, pool: &Pool, talk: &Talk) -> Option<Standing> {
        let Some(thread) = &talk.thread else {
            return Some(Standing::Elsewhere);
        };
        let mut unheard = self.unheard.lock().await;
        if unheard.is_some_and(|at| at.elapsed() < WORRY_AFTER) {
            return None;
        }
        match thread.standing(pool.connect_options()).await {
            Ok(standing) => {
                *unheard = None;
                Some(standing)
            }
            Err(error) => {
                *unheard = Some(Instant::now());
                tracing::debug!(error = &error as &dyn std::error::Error, "the database does not answer");
                if error.transience() == Some(Transience::LostConnection) {
                    pool.suspect_all();
                }
                None
            }
        }
    }
}
