//! What the server says of a connection, asked over another one.
//!
//! The list of the server's threads shows each user their own, without any privilege, and lets them end those.

use std::time::Duration;

use sqlx::mysql::{MySqlConnectOptions, MySqlConnection};
use sqlx::{AssertSqlSafe, Connection, Row};
use tokio::time::{Instant, timeout};

use super::error::StoreError;
use super::pool::out_of_time;

/// For one question, the connection for it included.
const ANSWER_WITHIN: Duration = Duration::from_secs(5);

/// How long the server may take to end a thread: a transaction is rolled back, or its commit is finished.
const ENDING: Duration = Duration::from_secs(10);
const LOOK_AGAIN: Duration = Duration::from_millis(100);

/// How servers are told apart. Whoever connects by way of a proxy or to an address that moves may meet several.
const SERVER: &str = "CONCAT_WS(' ', @@hostname, @@port)";

/// A connection as its server knows it. The address of our end tells it from one with the same number after a restart.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct ServerThread {
    id: i64,
    host: String,
    server: String,
}

/// What becomes of a connection at the server.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Standing {
    /// A statement is being worked on, or waits for a lock.
    AtWork,
    /// The server waits for a statement.
    Idle,
    /// The server knows nothing of it.
    Gone,
    /// Another server has answered.
    Elsewhere,
}

impl ServerThread {
    /// `None` if the server does not say.
    pub async fn of(connection: &mut MySqlConnection) -> Result<Option<Self>, StoreError> {
        let sql = format!(
            "SELECT CAST(ID AS SIGNED), HOST, {SERVER} FROM information_schema.PROCESSLIST WHERE ID = CONNECTION_ID()"
        );
        let row = sqlx::raw_sql(AssertSqlSafe(sql)).fetch_optional(connection).await;
        let thread = row.and_then(|row| {
            let row = row.ok_or(sqlx::Error::RowNotFound)?;
            Ok(Self {
                id: row.try_get(0)?,
                host: row.try_get(1)?,
                server: row.try_get(2)?,
            })
        });
        match thread.map_err(StoreError::from) {
            Ok(thread) => Ok(Some(thread)),
            Err(error) if error.transience().is_some() => Err(error),
            Err(error) => {
                tracing::debug!(%error, "the database does not say what it calls a connection");
                Ok(None)
            }
        }
    }

    pub async fn standing(&self, options: &MySqlConnectOptions) -> Result<Standing, StoreError> {
        let asking = async {
            let mut connection = MySqlConnection::connect_with(options).await?;
            let standing = self.ask(&mut connection).await?;
            let _ = connection.close().await;
            Ok(standing)
        };
        let answer = timeout(ANSWER_WITHIN, asking).await;
        answer.unwrap_or_else(|_| Err(out_of_time("the database does not say what it is doing")))
    }

    /// Sees to it that the server has done with this connection: what is under way on it ends, or is rolled back, and
    /// what is still on its way to the server comes too late.
    pub async fn end(&self, options: &MySqlConnectOptions) -> Result<(), StoreError> {
        let ending = async {
            let mut connection = MySqlConnection::connect_with(options).await?;
            self.end_over(&mut connection).await?;
            let _ = connection.close().await;
            Ok(())
        };
        let answer = timeout(ANSWER_WITHIN + ENDING, ending).await;
        answer.unwrap_or_else(|_| Err(out_of_time("the database does not end a connection")))
    }

    /// As [`Self::end`], over a connection that there is.
    pub async fn end_over(&self, connection: &mut MySqlConnection) -> Result<(), StoreError> {
        let deadline = Instant::now() + ENDING;
        while matches!(self.ask(connection).await?, Standing::AtWork | Standing::Idle) {
            if Instant::now() > deadline {
                return Err(out_of_time("the database does not end a connection"));
            }
            let kill = format!("KILL CONNECTION {}", self.id);
            match sqlx::raw_sql(AssertSqlSafe(kill)).execute(&mut *connection).await {
                Ok(_) => {}
                // It may have gone in this moment.
                Err(sqlx::Error::Database(error)) => tracing::debug!(%error, "a connection was not ended"),
                Err(error) => return Err(error.into()),
            }
            tokio::time::sleep(LOOK_AGAIN).await;
        }
        Ok(())
    }

    async fn ask(&self, connection: &mut MySqlConnection) -> Result<Standing, StoreError> {
        let sql =
            format!("SELECT {SERVER}, (SELECT COMMAND FROM information_schema.PROCESSLIST WHERE ID = ? AND HOST = ?)");
        let (server, command): (String, Option<String>) = sqlx::query_as(AssertSqlSafe(sql))
            .bind(self.id)
            .bind(&self.host)
            .persistent(false)
            .fetch_one(connection)
            .await?;
        Ok(match command.as_deref() {
            _ if server != self.server => Standing::Elsewhere,
            None => Standing::Gone,
            Some("Sleep") => Standing::Idle,
            Some(_) => Standing::AtWork,
        })
    }
}
