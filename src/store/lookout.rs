//! Whether the database is of use at this moment, for those who tell others.
//!
//! A look has a connection of its own: the pool's may all be taken, and who waits for one waits long. It tries a new one
//! when that is broken, so its answer is about the server and not about one link to it.

use std::time::Duration;

use sqlx::mysql::MySqlConnection;
use sqlx::{AssertSqlSafe, Connection};
use tokio::time::timeout;

use super::error::StoreError;
use super::pool::{Pool, out_of_time};

/// For a word over a connection that there is, and for one over a new one.
const OLD_LINK: Duration = Duration::from_secs(1);
const NEW_LINK: Duration = Duration::from_secs(2);

/// A server that is read-only is not so for those who have one of these.
const WRITES_ANYWAY: &str = "'SUPER', 'READ_ONLY ADMIN', 'READ ONLY ADMIN', 'CONNECTION_ADMIN'";

/// What the database is good for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Usefulness {
    Full,
    /// As after a failover, or with a cluster that is being repaired.
    ReadOnly,
}

pub struct Lookout {
    pool: Pool,
    connection: Option<MySqlConnection>,
}

impl Lookout {
    pub(super) fn new(pool: Pool) -> Self {
        Self { pool, connection: None }
    }

    /// Takes three seconds at most, and may be dropped.
    pub async fn look(&mut self) -> Result<Usefulness, StoreError> {
        if let Some(connection) = self.connection.take() {
            match timeout(OLD_LINK, examine(connection)).await {
                Ok(Ok((connection, found))) => {
                    self.connection = Some(connection);
                    return Ok(found);
                }
                Ok(Err(_)) | Err(_) => self.pool.suspect_all(),
            }
        }
        let looking = async { examine(MySqlConnection::connect_with(self.pool.connect_options()).await?).await };
        let (connection, found) = timeout(NEW_LINK, looking)
            .await
            .unwrap_or_else(|_| Err(out_of_time("no answer within two seconds")))?;
        self.connection = Some(connection);
        Ok(found)
    }

    /// When somebody has had trouble with a connection: the next look should not wait.
    pub async fn trouble(&self) {
        self.pool.trouble().await;
    }
}

/// A statement, since a node that has lost its cluster answers a ping.
async fn examine(mut connection: MySqlConnection) -> Result<(MySqlConnection, Usefulness), StoreError> {
    let is_read_only: bool = sqlx::query_scalar("SELECT @@global.read_only NOT IN ('0', 'OFF')")
        .fetch_one(&mut connection)
        .await?;
    if !is_read_only {
        return Ok((connection, Usefulness::Full));
    }
    let sql = format!(
        "SELECT EXISTS(SELECT 1 FROM information_schema.USER_PRIVILEGES WHERE PRIVILEGE_TYPE IN ({WRITES_ANYWAY}) \
         AND REPLACE(GRANTEE, '''', '') = CURRENT_USER())"
    );
    let writes_anyway: bool = sqlx::query_scalar(AssertSqlSafe(sql))
        .fetch_one(&mut connection)
        .await?;
    let found = if writes_anyway {
        Usefulness::Full
    } else {
        Usefulness::ReadOnly
    };
    Ok((connection, found))
}
