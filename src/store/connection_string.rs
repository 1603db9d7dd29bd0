//! Connection strings as SQLAlchemy reads them.
//!
//! SQLAlchemy's grammar is not a URL's: user, password and query are percent-decoded, the password may hold `:` and
//! `/` as they are, the database name is taken literally, and driver options travel in the query.

use std::path::PathBuf;

use percent_encoding::percent_decode_str;
use sqlx::mysql::{MySqlConnectOptions, MySqlSslMode};

use crate::settings::address;

/// Prepared statements that a connection keeps. The server has one budget for all connections of all engines
/// (`max_prepared_stmt_count`, 16,382 by default); what stacks live by fits in here (`shapes.rs` says why it should).
const PREPARED_STATEMENTS: usize = 96;

#[derive(Debug, thiserror::Error)]
pub enum ConnectionStringError {
    #[error("no scheme: expected mysql+pymysql://user:password@host/database")]
    NoScheme,
    #[error("database {0} is not supported, only mysql and mariadb")]
    UnsupportedDatabase(String),
    /// What stands there may be a part of a password, and is not shown.
    #[error("what follows the host is no port; @ : / ? in a password must be percent-encoded")]
    Port,
    /// Not shown either.
    #[error("the host has characters that no host has; @ : / ? in a password must be percent-encoded")]
    Host,
    #[error("a percent-encoded part is not UTF-8")]
    Encoding,
    #[error("character set {0} is not supported, only utf8, utf8mb3 and utf8mb4")]
    CharacterSet(String),
    #[error("{option} has no meaning for {value:?}")]
    Value { option: String, value: String },
    #[error("{option}: cannot read {}", path.display())]
    File {
        option: &'static str,
        path: PathBuf,
        source: std::io::Error,
    },
}

#[derive(Debug, PartialEq)]
pub(super) struct ConnectionString {
    user: Option<String>,
    password: Option<String>,
    host: Option<String>,
    port: Option<u16>,
    database: Option<String>,
    pub query: Vec<(String, String)>,
}

impl ConnectionString {
    pub fn parse(text: &str) -> Result<Self, ConnectionStringError> {
        let (scheme, rest) = text.trim().split_once("://").ok_or(ConnectionStringError::NoScheme)?;
        let dialect = scheme.split('+').next().unwrap_or(scheme);
        if !matches!(dialect, "mysql" | "mariadb") {
            return Err(ConnectionStringError::UnsupportedDatabase(dialect.to_owned()));
        }
        let (credentials, rest) = split_credentials(rest);
        let (rest, query) = rest.split_once('?').unwrap_or((rest, ""));
        let (address, database) = match rest.split_once('/') {
            Some((address, database)) => (address, Some(database)),
            None => (rest, None),
        };
        let (user, password) = match credentials {
            None => (None, None),
            Some(credentials) => match credentials.split_once(':') {
                Some((user, password)) => (Some(decode(user)?), Some(decode(password)?)),
                None => (Some(decode(credentials)?), None),
            },
        };
        let (host, port) = split_address(address)?;
        Ok(Self {
            user,
            password,
            host,
            port,
            database: database.filter(|name| !name.is_empty()).map(str::to_owned),
            query: parse_query(query),
        })
    }

    /// The last value that the query gives for an option.
    pub fn option(&self, name: &str) -> Option<&str> {
        let given = self.query.iter().rev().find(|(option, _)| option == name);
        given.map(|(_, value)| value.as_str())
    }

    fn flag(&self, name: &str) -> Result<Option<bool>, ConnectionStringError> {
        let Some(value) = self.option(name) else {
            return Ok(None);
        };
        match value.to_ascii_lowercase().as_str() {
            "1" | "true" | "yes" | "on" | "y" | "t" => Ok(Some(true)),
            "0" | "false" | "no" | "off" | "n" | "f" => Ok(Some(false)),
            _ => Err(ConnectionStringError::Value {
                option: name.to_owned(),
                value: value.to_owned(),
            }),
        }
    }

    pub fn connect_options(&self) -> Result<MySqlConnectOptions, ConnectionStringError> {
        // What sqlx would set on each connection by itself is not what a Python engine's connections have.
        let mut options = MySqlConnectOptions::new()
            .pipes_as_concat(false)
            .no_engine_substitution(false)
            .timezone(None)
            .statement_cache_capacity(PREPARED_STATEMENTS)
            .charset(self.character_set()?)
            .ssl_mode(self.ssl_mode()?);
        if let Some(user) = &self.user {
            options = options.username(user);
        }
        if let Some(password) = &self.password {
            options = options.password(password);
        }
        if let Some(host) = &self.host {
            options = options.host(host);
        }
        if let Some(port) = self.port {
            options = options.port(port);
        }
        if let Some(database) = &self.database {
            options = options.database(database);
        }
        if let Some(socket) = self.option("unix_socket") {
            options = options.socket(PathBuf::from(socket));
        }
        if let Some(file) = self.option("ssl_ca") {
            options = options.ssl_ca(file);
        }
        if let Some(file) = self.option("ssl_cert") {
            options = options.ssl_client_cert(file);
        }
        if let Some(file) = self.option("ssl_key") {
            options = options.ssl_client_key(file);
        }
        Ok(options)
    }

    fn character_set(&self) -> Result<&str, ConnectionStringError> {
        match self.option("charset") {
            None => Ok("utf8"),
            Some(name @ ("utf8" | "utf8mb3" | "utf8mb4")) => Ok(name),
            Some(name) => Err(ConnectionStringError::CharacterSet(name.to_owned())),
        }
    }

    /// PyMySQL encrypts when any ssl option is given, checks the certificate when it has an authority to check it by,
    /// and then the host name too unless told otherwise. mysqlclient's `ssl_mode` says it in one word.
    fn ssl_mode(&self) -> Result<MySqlSslMode, ConnectionStringError> {
        if let Some(mode) = self.option("ssl_mode") {
            return mode.parse().map_err(|_| ConnectionStringError::Value {
                option: "ssl_mode".to_owned(),
                value: mode.to_owned(),
            });
        }
        if self.flag("ssl_disabled")? == Some(true) {
            return Ok(MySqlSslMode::Disabled);
        }
        let check_certificate = self.flag("ssl_verify_cert")?;
        let check_host = self.flag("ssl_check_hostname")?.or(self.flag("ssl_verify_identity")?);
        let authority = self.option("ssl_ca").is_some();
        let asked_for = authority
            || check_certificate == Some(true)
            || ["ssl_cert", "ssl_key", "ssl"]
                .iter()
                .any(|option| self.option(option).is_some());
        Ok(match (asked_for, authority, check_certificate, check_host) {
            (false, ..) => MySqlSslMode::Disabled,
            (true, false, _, _) | (true, true, Some(false), _) => MySqlSslMode::Required,
            (true, true, _, Some(false)) => MySqlSslMode::VerifyCa,
            (true, true, _, _) => MySqlSslMode::VerifyIdentity,
        })
    }
}

/// Takes off `user:password@`. The user ends at the first `:` or `@`, the password at the next `@`, so that neither a
/// `/` nor a `?` in a password ends it; a text without `@` before the path has no credentials.
fn split_credentials(text: &str) -> (Option<&str>, &str) {
    let Some(user_end) = text.find([':', '/', '@']) else {
        return (None, text);
    };
    let at = match text.as_bytes().get(user_end) {
        Some(b'@') => Some(user_end),
        Some(b':') => text[user_end..].find('@').map(|offset| user_end + offset),
        _ => None,
    };
    match at {
        Some(at) => (Some(&text[..at]), &text[at + 1..]),
        None => (None, text),
    }
}

fn split_address(address: &str) -> Result<(Option<String>, Option<u16>), ConnectionStringError> {
    let (host, port) = match address.strip_prefix('[').and_then(|rest| rest.split_once(']')) {
        Some((host, "")) => (host, None),
        Some((host, rest)) => (host, Some(rest.strip_prefix(':').ok_or(ConnectionStringError::Port)?)),
        None => match address.split_once(':') {
            Some((host, port)) => (host, Some(port)),
            None => (address, None),
        },
    };
    let port = match port.filter(|port| !port.is_empty()) {
        Some(port) => Some(address::port(port).ok_or(ConnectionStringError::Port)?),
        None => None,
    };
    match host.is_empty() || address::is_host(host) {
        true => Ok((Some(host).filter(|host| !host.is_empty()).map(str::to_owned), port)),
        false => Err(ConnectionStringError::Host),
    }
}

pub(super) fn parse_query(query: &str) -> Vec<(String, String)> {
    url::form_urlencoded::parse(query.as_bytes())
        .into_owned()
        .filter(|(_, value)| !value.is_empty())
        .collect()
}

fn decode(text: &str) -> Result<String, ConnectionStringError> {
    let decoded = percent_decode_str(text)
        .decode_utf8()
        .map_err(|_| ConnectionStringError::Encoding)?;
    Ok(decoded.into_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parsed(text: &str) -> ConnectionString {
        ConnectionString::parse(text).expect("a good connection string")
    }

    #[test]
    fn the_usual_form() {
        let parts =
            parsed("mysql+pymysql://heat:s%40cret@db.example:3307/heat?charset=utf8&unix_socket=%2Frun%2Fm.sock");
        assert_eq!(parts.user.as_deref(), Some("heat"));
        assert_eq!(parts.password.as_deref(), Some("s@cret"));
        assert_eq!(parts.host.as_deref(), Some("db.example"));
        assert_eq!(parts.port, Some(3307));
        assert_eq!(parts.database.as_deref(), Some("heat"));
        assert_eq!(parts.option("unix_socket"), Some("/run/m.sock"));
    }

    #[test]
    fn passwords_with_slashes_questions_and_colons() {
        let parts = parsed("mysql://heat:a/b?c:d@host/heat");
        assert_eq!(parts.password.as_deref(), Some("a/b?c:d"));
        assert_eq!(parts.host.as_deref(), Some("host"));
    }

    #[test]
    fn parts_that_are_missing() {
        let parts = parsed("mysql:///heat");
        assert_eq!(
            (parts.user, parts.host, parts.database.as_deref()),
            (None, None, Some("heat"))
        );
        let parts = parsed("mariadb+pymysql://root@[::1]:3306");
        assert_eq!((parts.user.as_deref(), parts.password), (Some("root"), None));
        assert_eq!(
            (parts.host.as_deref(), parts.port, parts.database),
            (Some("::1"), Some(3306), None)
        );
        assert_eq!(parsed("mysql://host:3306/x").port, Some(3306));
    }

    #[test]
    fn addresses_that_are_none() {
        for text in [
            "mysql://h:0/x",
            "mysql://h:+3306/x",
            "mysql://h:65536/x",
            "mysql://[::1]3306/x",
            "mysql://a b/x",
            "mysql://u:p@h@h2/x",
        ] {
            assert!(ConnectionString::parse(text).is_err(), "{text}");
        }
    }

    #[test]
    fn encryption_follows_the_driver_that_the_string_is_written_for() {
        let mode = |query: &str| {
            format!(
                "{:?}",
                parsed(&format!("mysql://h/x?{query}")).ssl_mode().expect("a mode")
            )
        };
        assert_eq!(mode(""), "Disabled");
        assert_eq!(mode("ssl_ca=/ca.pem"), "VerifyIdentity");
        assert_eq!(mode("ssl_ca=/ca.pem&ssl_check_hostname=false"), "VerifyCa");
        assert_eq!(mode("ssl_ca=/ca.pem&ssl_verify_cert=false"), "Required");
        assert_eq!(mode("ssl_cert=/c.pem&ssl_key=/k.pem"), "Required");
        assert_eq!(mode("ssl_mode=VERIFY_CA"), "VerifyCa");
        assert_eq!(mode("ssl_disabled=true&ssl_ca=/ca.pem"), "Disabled");
    }
}
