//! Where the database is and how it is used: `[database]`.

use std::path::PathBuf;
use std::time::Duration;

use secrecy::{ExposeSecret, SecretString};
use sqlx::mysql::MySqlConnectOptions;

use super::connection_string::{ConnectionString, ConnectionStringError, parse_query};
use super::retry::RetryLimits;
use crate::settings::DatabaseSettings;

/// `[database]` as far as the store needs it; the defaults are oslo.db's.
#[derive(Debug, Clone)]
pub struct DatabaseOptions {
    pub connection: SecretString,
    /// `connection_parameters`: added to the query of the connection string.
    pub connection_parameters: String,
    /// `mysql_sql_mode`; `None` leaves the server's mode alone.
    pub sql_mode: Option<String>,
    /// `mysql_wsrep_sync_wait`
    pub wsrep_sync_wait: Option<i64>,
    /// `max_pool_size`; 0 is no limit.
    pub max_pool_size: u32,
    /// `max_overflow`; `None` is no limit (-1).
    pub max_overflow: Option<u32>,
    /// `pool_timeout`
    pub pool_timeout: Duration,
    /// `connection_recycle_time`; `None` keeps connections for ever (-1).
    pub connection_recycle_time: Option<Duration>,
    /// `max_retries` at start; `None` is no limit (-1).
    pub max_connect_retries: Option<u32>,
    /// `retry_interval` at start.
    pub connect_retry_interval: Duration,
    /// `db_max_retries` and its neighbours.
    pub retry: RetryLimits,
}

impl DatabaseOptions {
    pub fn new(connection: impl Into<String>) -> Self {
        Self {
            connection: SecretString::from(connection.into()),
            connection_parameters: String::new(),
            sql_mode: Some("TRADITIONAL".to_owned()),
            wsrep_sync_wait: None,
            max_pool_size: 5,
            max_overflow: Some(50),
            pool_timeout: Duration::from_secs(30),
            connection_recycle_time: Some(Duration::from_secs(3600)),
            max_connect_retries: Some(10),
            connect_retry_interval: Duration::from_secs(10),
            retry: RetryLimits::default(),
        }
    }

    /// `None` if no connection is configured: there is no default that could be right.
    pub fn from_settings(settings: &DatabaseSettings) -> Option<Self> {
        let unlimited = |limit: i64| u32::try_from(limit).ok();
        let defaults = Self::new(settings.connection.as_ref()?.expose_secret());
        Some(Self {
            connection_parameters: settings.connection_parameters.clone(),
            sql_mode: Some(settings.mysql_sql_mode.clone()).filter(|mode| !mode.is_empty()),
            wsrep_sync_wait: settings.mysql_wsrep_sync_wait,
            max_pool_size: settings.max_pool_size,
            max_overflow: settings.max_overflow.map_or(defaults.max_overflow, unlimited),
            pool_timeout: settings.pool_timeout.unwrap_or(defaults.pool_timeout),
            connection_recycle_time: u64::try_from(settings.connection_recycle_time)
                .ok()
                .map(Duration::from_secs),
            max_connect_retries: unlimited(settings.max_retries),
            connect_retry_interval: settings.retry_interval,
            retry: RetryLimits {
                max_retries: unlimited(settings.db_max_retries),
                interval: settings.db_retry_interval,
                increasing: settings.db_inc_retry_interval,
                max_interval: settings.db_max_retry_interval,
            },
            ..defaults
        })
    }

    /// What is wrong with the connection string, or with a file that it names. Nothing is connected.
    pub fn problem(&self) -> Option<ConnectionStringError> {
        let parsed = match self.parse() {
            Ok(parsed) => parsed,
            Err(error) => return Some(error),
        };
        if let Err(error) = parsed.connect_options() {
            return Some(error);
        }
        ["ssl_ca", "ssl_cert", "ssl_key"].into_iter().find_map(|option| {
            let path = PathBuf::from(parsed.option(option)?);
            let source = std::fs::File::open(&path).err()?;
            Some(ConnectionStringError::File { option, path, source })
        })
    }

    /// Where the database is, as a person reads it; without what lets in. `None` if the connection string cannot be used.
    pub fn address(&self) -> Option<String> {
        let options = self.connect_options().ok()?;
        Some(match options.get_socket() {
            Some(socket) => socket.display().to_string(),
            None => format!("{}:{}", options.get_host(), options.get_port()),
        })
    }

    fn parse(&self) -> Result<ConnectionString, ConnectionStringError> {
        let mut parsed = ConnectionString::parse(self.connection.expose_secret())?;
        parsed.query.extend(parse_query(&self.connection_parameters));
        Ok(parsed)
    }

    pub(super) fn connect_options(&self) -> Result<MySqlConnectOptions, ConnectionStringError> {
        self.parse()?.connect_options()
    }

    /// The most connections at one time: SQLAlchemy's pool size and its overflow together.
    pub(super) fn most_connections(&self) -> u32 {
        const UNLIMITED: u32 = 10_000;
        match (self.max_pool_size, self.max_overflow) {
            (0, _) | (_, None) => UNLIMITED,
            (size, Some(overflow)) => size.saturating_add(overflow),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_cannot_be_used_is_named() {
        let error = |text: &str| {
            let options = DatabaseOptions::new(text);
            options.problem().expect("a bad connection string").to_string()
        };
        assert!(error("heat").starts_with("no scheme"));
        assert!(error("sqlite:///heat.db").starts_with("database sqlite is not supported"));
        assert!(error("mysql://h/x?charset=latin1").starts_with("character set latin1"));
        assert_eq!(
            error("mysql://h/x?ssl_ca=/nowhere/ca.pem"),
            "ssl_ca: cannot read /nowhere/ca.pem"
        );
        let of_a_password = error("mysql://heat:pa@ss:s3cret@h/x");
        assert!(
            of_a_password.contains("no port") && !of_a_password.contains("s3cret"),
            "{of_a_password}"
        );
    }

    #[test]
    fn an_address_shows_no_secret() {
        let address = |text: &str| DatabaseOptions::new(text).address();
        assert_eq!(address("mysql://u:secret@h:1/x").as_deref(), Some("h:1"));
        assert_eq!(address("mysql://u:secret@h/x").as_deref(), Some("h:3306"));
        assert_eq!(
            address("mysql://u@/x?unix_socket=/run/m.sock").as_deref(),
            Some("/run/m.sock")
        );
        assert_eq!(address("heat"), None);
    }

    #[test]
    fn parameters_are_added_to_the_query() {
        let mut options = DatabaseOptions::new("mysql://h/x?charset=utf8");
        options.connection_parameters = "charset=latin1".to_owned();
        assert!(options.connect_options().is_err());
        assert_eq!(options.most_connections(), 55);
    }
}
