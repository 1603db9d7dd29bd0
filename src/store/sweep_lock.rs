//! Who sweeps: one engine at a time, by a lock that the database server keeps for a connection.
//!
//! A lock of the server (`GET_LOCK`) needs no table, and goes with the connection of whoever held it. Where several
//! servers take writes (Galera), each keeps its own locks, and one engine a server may sweep; where the server refuses such
//! locks at all, all do. That costs work and harms nothing, since a sweep changes rows by compare-and-swap alone.

use std::time::Duration;

use sqlx::mysql::{MySqlConnectOptions, MySqlConnection};
use sqlx::{AssertSqlSafe, Connection};
use tokio::time::timeout;

use super::connection::Store;
use super::error::StoreError;
use super::pool::out_of_time;

/// The names of such locks are the server's, so the database is part of it.
const NAME: &str = "CONCAT('heat_engine_rs sweep ', LEFT(MD5(DATABASE()), 16))";

/// For taking or keeping the lock, on a connection of its own.
const ANSWER_WITHIN: Duration = Duration::from_secs(10);

/// The right to sweep, and the connection that has it.
pub struct SweepLock {
    store: Store,
    held: Option<MySqlConnection>,
    /// The server knows no such locks: one is as good as held.
    is_moot: bool,
}

enum Attempt {
    Held(MySqlConnection),
    SomebodyElses,
    Refused(StoreError),
}

impl SweepLock {
    pub fn new(store: Store) -> Self {
        Self {
            store,
            held: None,
            is_moot: false,
        }
    }

    /// Takes the lock, or makes sure that we still have it. If we are not heard of for `lease`, the server gives it up.
    pub async fn hold(&mut self, lease: Duration) -> Result<bool, StoreError> {
        if self.is_moot {
            return Ok(true);
        }
        let held = self.held.take();
        let options = self.store.connect_options().clone();
        // In a task of its own: a caller that goes away must not cut a statement.
        let attempt = tokio::spawn(async move {
            let attempt = async {
                match held {
                    Some(connection) => keep(connection).await,
                    None => take(&options, lease).await,
                }
            };
            // The connection goes, and the lock with it, as soon as the server notices.
            let out_of_time = |_| Err(out_of_time("no word on the right to sweep within 10 seconds"));
            timeout(ANSWER_WITHIN, attempt).await.unwrap_or_else(out_of_time)
        });
        match attempt.await.map_err(|_| StoreError::Closed)?? {
            Attempt::Held(connection) => {
                self.held = Some(connection);
                Ok(true)
            }
            Attempt::SomebodyElses => Ok(false),
            Attempt::Refused(error) => {
                let error = &error as &dyn std::error::Error;
                tracing::warn!(error, "the database keeps no locks by name: every engine sweeps");
                self.is_moot = true;
                Ok(true)
            }
        }
    }

    pub async fn release(&mut self) {
        if let Some(connection) = self.held.take() {
            let _ = tokio::spawn(timeout(ANSWER_WITHIN, connection.close())).await;
        }
    }
}

async fn take(options: &MySqlConnectOptions, lease: Duration) -> Result<Attempt, StoreError> {
    let mut connection = MySqlConnection::connect_with(options).await?;
    let patience = format!("SET SESSION wait_timeout = {}", lease.as_secs().max(1));
    sqlx::raw_sql(AssertSqlSafe(patience)).execute(&mut connection).await?;
    let asking = format!("SELECT GET_LOCK({NAME}, 0)");
    let answer: Result<Option<i64>, sqlx::Error> = sqlx::query_scalar(AssertSqlSafe(asking))
        .fetch_one(&mut connection)
        .await;
    match answer.map_err(StoreError::from) {
        Ok(Some(1)) => Ok(Attempt::Held(connection)),
        Ok(_) => {
            connection.close().await?;
            Ok(Attempt::SomebodyElses)
        }
        Err(error) if error.transience().is_some() => Err(error),
        Err(error) => Ok(Attempt::Refused(error)),
    }
}

/// The lock is ours for as long as the connection is.
async fn keep(mut connection: MySqlConnection) -> Result<Attempt, StoreError> {
    match connection.ping().await {
        Ok(()) => Ok(Attempt::Held(connection)),
        Err(error) => {
            tracing::debug!(%error, "the connection that had the right to sweep is gone");
            Ok(Attempt::SomebodyElses)
        }
    }
}
