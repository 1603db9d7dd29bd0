//! What can go wrong with the database.

use std::sync::Arc;

use sqlx::mysql::MySqlDatabaseError;

use super::connection_string::ConnectionStringError;

/// Errors that say nothing about the work itself: the same unit may well succeed when it runs again.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum Transience {
    #[error("deadlock in the database")]
    Deadlock,
    #[error("a lock in the database was held for too long")]
    LockWait,
    #[error("a row of the database changed after it was read")]
    ChangedRead,
    #[error("the nodes of the database did not agree to a commit")]
    Certification,
    #[error("no connection to the database")]
    LostConnection,
}

#[derive(Debug, thiserror::Error)]
pub enum StoreError {
    #[error("the database connection string cannot be used")]
    ConnectionString(#[from] ConnectionStringError),
    #[error("the database did not answer in time or is not reachable")]
    Unreachable(#[source] sqlx::Error),
    #[error("{transience}")]
    Transient {
        transience: Transience,
        #[source]
        source: sqlx::Error,
    },
    #[error("a row with that key exists already")]
    Duplicate(#[source] sqlx::Error),
    #[error("a row that this one refers to is missing, or this one is still referred to")]
    Reference(#[source] sqlx::Error),
    /// Too long, out of range, or characters that the column's character set lacks.
    #[error("the database cannot hold a value")]
    Unstorable(#[source] sqlx::Error),
    #[error("column {column} of a row in {table} cannot be read")]
    Unreadable {
        table: &'static str,
        column: &'static str,
        #[source]
        source: serde_json::Error,
    },
    #[error("there is no column {0} to filter by")]
    UnknownFilter(String),
    #[error("the value of filter {0} is neither text, number, boolean nor a list of those")]
    FilterValue(String),
    #[error("the database has no tables of Heat; `heat-manage db_sync` makes them")]
    NoTables,
    #[error("the store is closed")]
    Closed,
    /// The work of several was one unit, and this is what became of it.
    #[error(transparent)]
    Joint(Arc<StoreError>),
    #[error("the database statement failed")]
    Statement(#[source] sqlx::Error),
}

impl StoreError {
    /// Why the unit of work may run again, if it may.
    pub fn transience(&self) -> Option<Transience> {
        match self.of_all() {
            StoreError::Transient { transience, .. } => Some(*transience),
            StoreError::Unreachable(_) => Some(Transience::LostConnection),
            _ => None,
        }
    }

    /// Whether a value that a user gave is the reason.
    pub fn is_of_the_users_making(&self) -> bool {
        matches!(self.of_all(), StoreError::Unstorable(_))
    }

    /// What a user is told. A value that they gave and that the database cannot hold is theirs to change; all else is the
    /// operator's, and in the log.
    pub fn for_users(&self) -> String {
        match self.of_all() {
            StoreError::Unstorable(source) => {
                let reason = message_of(source).unwrap_or("it does not fit");
                format!("The database cannot store a value: {reason}")
            }
            _ => "the database failed".to_owned(),
        }
    }

    /// The server's error number, where the server has spoken.
    pub fn server_error_number(&self) -> Option<u16> {
        self.below().and_then(server_error_number)
    }

    /// The server's own words, where the server has spoken.
    pub fn server_message(&self) -> Option<&str> {
        self.below().and_then(message_of)
    }

    fn below(&self) -> Option<&sqlx::Error> {
        match self.of_all() {
            StoreError::Transient { source, .. }
            | StoreError::Unreachable(source)
            | StoreError::Duplicate(source)
            | StoreError::Reference(source)
            | StoreError::Unstorable(source)
            | StoreError::Statement(source) => Some(source),
            _ => None,
        }
    }

    /// Whether the server does not take writes, or leaves: what else is connected to it is of no use either.
    pub(super) fn is_of_the_server(&self) -> bool {
        matches!(
            self.server_error_number(),
            Some(1047 | 1053 | 1079 | 1290 | 1792 | 1836)
        )
    }

    pub(super) fn is_duplicate(&self) -> bool {
        matches!(self.of_all(), StoreError::Duplicate(_))
    }

    /// What became of the unit of which this one was a part.
    fn of_all(&self) -> &StoreError {
        match self {
            StoreError::Joint(error) => error.of_all(),
            own => own,
        }
    }
}

fn message_of(error: &sqlx::Error) -> Option<&str> {
    error.as_database_error().map(|error| error.message())
}

fn server_error_number(error: &sqlx::Error) -> Option<u16> {
    let database = error.as_database_error()?;
    Some(database.try_downcast_ref::<MySqlDatabaseError>()?.number())
}

impl From<sqlx::Error> for StoreError {
    fn from(error: sqlx::Error) -> Self {
        match error {
            sqlx::Error::PoolClosed => return StoreError::Closed,
            sqlx::Error::PoolTimedOut => return StoreError::Unreachable(error),
            sqlx::Error::Io(_) | sqlx::Error::Tls(_) | sqlx::Error::Protocol(_) => {
                return transient(Transience::LostConnection, error);
            }
            _ => {}
        }
        match server_error_number(&error) {
            Some(1213) => transient(Transience::Deadlock, error),
            Some(1205) => transient(Transience::LockWait, error),
            Some(1020) => transient(Transience::ChangedRead, error),
            // "Got error … during COMMIT", and what group replication says for the same thing.
            Some(1180 | 3101) => transient(Transience::Certification, error),
            // A Galera node that is not in its cluster, shutdown, killed or timed-out connections, read-only after a
            // failover, no connection left: another connection, or the same a moment later, may reach a better server.
            Some(1040 | 1047 | 1053 | 1079 | 1203 | 1290 | 1792 | 1836 | 1927 | 2006 | 2013 | 4031) => {
                transient(Transience::LostConnection, error)
            }
            Some(1022 | 1062 | 1169 | 1586) => StoreError::Duplicate(error),
            Some(1216 | 1217 | 1451 | 1452) => StoreError::Reference(error),
            Some(1264 | 1265 | 1292 | 1366 | 1406 | 3988) => StoreError::Unstorable(error),
            _ => StoreError::Statement(error),
        }
    }
}

fn transient(transience: Transience, source: sqlx::Error) -> StoreError {
    StoreError::Transient { transience, source }
}
