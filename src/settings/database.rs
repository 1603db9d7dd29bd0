//! `[database]`: oslo.db's options.

use std::time::Duration;

use secrecy::SecretString;
use serde::Deserialize;

use super::option::*;
use super::typed;

const NOT_SQLALCHEMY: &str = "belongs to another database backend; MySQL and MariaDB are served";

pub const OPTIONS: &[OptionSpec] = &[
    text_unset("connection").secret(),
    text("connection_parameters", ""),
    integer("max_pool_size", "5"),
    integer("max_overflow", "50"),
    integer_unset("pool_timeout"),
    integer("connection_recycle_time", "3600"),
    integer("max_retries", "10"),
    integer("retry_interval", "10"),
    integer("db_max_retries", "20"),
    integer("db_retry_interval", "1"),
    boolean("db_inc_retry_interval", true),
    integer("db_max_retry_interval", "10"),
    text("mysql_sql_mode", "TRADITIONAL"),
    integer_unset("mysql_wsrep_sync_wait"),
    integer("connection_debug", "0").min(0).max(100),
    boolean("connection_trace", false).instead("statements are traced with their place in the code at DEBUG of sqlx"),
    boolean("use_db_reconnect", false).instead("a lost connection is always made anew"),
    text("backend", "sqlalchemy").instead("there is one backend"),
    text_unset("slave_connection")
        .secret()
        .instead("every statement goes to `connection`, as in the Python engine"),
    text_unset("asyncio_connection").secret().instead(NOT_SQLALCHEMY),
    text_unset("asyncio_slave_connection").secret().instead(NOT_SQLALCHEMY),
    boolean("synchronous_reader", true).instead(NOT_SQLALCHEMY),
    boolean("sqlite_synchronous", true).instead(NOT_SQLALCHEMY),
];

#[derive(Clone, Debug, Deserialize)]
pub struct DatabaseSettings {
    /// As SQLAlchemy writes it: `mysql+pymysql://user:password@host/heat?charset=utf8`.
    #[serde(deserialize_with = "typed::optional_secret")]
    pub connection: Option<SecretString>,
    /// More query parameters for `connection`: `key1=value1&key2=value2`.
    pub connection_parameters: String,
    /// Connections that are kept; 0: as many as are asked for.
    pub max_pool_size: u32,
    /// Connections beyond `max_pool_size`, in a rush; negative: as many as are asked for.
    pub max_overflow: Option<i64>,
    /// How long to wait for a connection of the pool.
    #[serde(deserialize_with = "typed::optional_seconds")]
    pub pool_timeout: Option<Duration>,
    /// Seconds after which a connection is made anew; -1: never.
    pub connection_recycle_time: i64,
    /// Attempts to connect at the start; -1: without end.
    pub max_retries: i64,
    #[serde(deserialize_with = "typed::seconds")]
    pub retry_interval: Duration,
    /// Attempts to repeat a transaction that met a deadlock or a lost connection; -1: without end.
    pub db_max_retries: i64,
    #[serde(deserialize_with = "typed::seconds")]
    pub db_retry_interval: Duration,
    /// Double the interval after each attempt, up to `db_max_retry_interval`.
    pub db_inc_retry_interval: bool,
    #[serde(deserialize_with = "typed::seconds")]
    pub db_max_retry_interval: Duration,
    /// Empty: what the server has.
    pub mysql_sql_mode: String,
    pub mysql_wsrep_sync_wait: Option<i64>,
    /// 0 to 100: from nothing to every statement.
    pub connection_debug: u32,
}
