//! `transport_url` as oslo.messaging reads it, which is not quite as a URL: several brokers, each with its own
//! credentials, share one virtual host, and the query overrides options by name.

use percent_encoding::percent_decode_str;

use super::error::SetupError;
use crate::settings::address;

const DEFAULT_PORT: u16 = 5672;

/// One broker and how to log in to it.
#[derive(Clone, PartialEq, Eq)]
pub struct Broker {
    pub host: String,
    pub port: u16,
    pub username: String,
    pub password: String,
}

impl Broker {
    /// `host:port`, for logs.
    pub fn address(&self) -> String {
        if self.host.contains(':') {
            format!("[{}]:{}", self.host, self.port)
        } else {
            format!("{}:{}", self.host, self.port)
        }
    }
}

impl std::fmt::Debug for Broker {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "Broker({}@{})", self.username, self.address())
    }
}

/// A parsed `transport_url`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TransportUrl {
    /// Never empty: a URL without hosts means the local broker.
    pub brokers: Vec<Broker>,
    pub virtual_host: String,
    /// Options by name, in the order of the query.
    pub overrides: Vec<(String, String)>,
}

impl TransportUrl {
    pub fn parse(text: &str) -> Result<Self, SetupError> {
        let text = text.trim();
        let (scheme, rest) = text
            .split_once(':')
            .ok_or_else(|| refused("it has no scheme; rabbit://user:password@host:5672/vhost is expected"))?;
        if !matches!(scheme.to_ascii_lowercase().as_str(), "rabbit" | "kombu" | "kombu+amqp") {
            return Err(refused(format!(
                "the driver '{scheme}' is not supported; only rabbit is"
            )));
        }
        let rest = rest.split('#').next().unwrap_or_default();
        let (rest, query) = rest.split_once('?').unwrap_or((rest, ""));
        let (hosts, path) = match rest.strip_prefix("//") {
            Some(authority) => authority.split_once('/').unwrap_or((authority, "")),
            None => ("", rest.strip_prefix('/').unwrap_or(rest)),
        };

        let mut brokers = Vec::new();
        for host in hosts.split(',').filter(|host| !host.is_empty()) {
            brokers.push(parse_broker(host)?);
        }
        if brokers.is_empty() {
            brokers.push(parse_broker("localhost")?);
        }
        warn_of_mixed_credentials(hosts);
        Ok(Self {
            brokers,
            virtual_host: virtual_host(path)?,
            overrides: parse_query(query)?,
        })
    }
}

fn refused(problem: impl Into<String>) -> SetupError {
    SetupError::TransportUrl(problem.into())
}

/// oslo.messaging decodes the path, and kombu, given the result, decodes it once more.
fn virtual_host(path: &str) -> Result<String, SetupError> {
    let name = decode(&decode(path)?)?;
    Ok(if name.is_empty() { "/".to_owned() } else { name })
}

fn parse_broker(text: &str) -> Result<Broker, SetupError> {
    let (credentials, address) = match text.rsplit_once('@') {
        Some((credentials, address)) => (Some(credentials), address),
        None => (None, text),
    };
    let (username, password) = match credentials {
        Some(credentials) => credentials.split_once(':').unwrap_or((credentials, "")),
        None => ("", ""),
    };
    let (host, port) = host_and_port(address)?;
    // What is left out is RabbitMQ's own default, as kombu fills it in.
    let or = |value: String, default: &str| if value.is_empty() { default.to_owned() } else { value };
    Ok(Broker {
        host: or(host, "localhost"),
        port,
        username: or(decode(username)?, "guest"),
        password: or(decode(password)?, "guest"),
    })
}

/// A bare IPv6 address has no port; one with a port is in brackets.
fn host_and_port(address: &str) -> Result<(String, u16), SetupError> {
    let (host, port) = if let Some(bracketed) = address.strip_prefix('[') {
        let (host, rest) = bracketed
            .split_once(']')
            .ok_or_else(|| refused("the bracket before an IPv6 address is not closed"))?;
        let port = match (rest.is_empty(), rest.strip_prefix(':')) {
            (true, _) => None,
            (false, Some(port)) => Some(port),
            (false, None) => return Err(refused("what follows the ']' of an IPv6 address is no port")),
        };
        (host, port)
    } else if address.matches(':').count() == 1 {
        let (host, port) = address.split_once(':').unwrap_or((address, ""));
        (host, Some(port))
    } else {
        (address, None)
    };
    let port = match port {
        // What stands there may be a part of a password.
        Some(port) => address::port(port).ok_or_else(|| {
            refused("what follows the host is no port; # / ? @ : in a password must be percent-encoded")
        })?,
        None => DEFAULT_PORT,
    };
    // Nor is this shown: without a '@' the host is what should have been user and password.
    match host.is_empty() || address::is_host(host) {
        true => Ok((host.to_owned(), port)),
        false => Err(refused("a host has characters that no host has")),
    }
}

fn warn_of_mixed_credentials(hosts: &str) {
    let has_credentials = |host: &str| host.rsplit_once('@').is_some_and(|(user, _)| user.contains(':'));
    let (with, without): (Vec<&str>, Vec<&str>) = hosts
        .split(',')
        .filter(|host| !host.is_empty())
        .partition(|host| has_credentials(host));
    if !with.is_empty() && !without.is_empty() {
        tracing::warn!(
            brokers_without = without.len(),
            "transport_url gives credentials for some brokers only; the others are tried as guest"
        );
    }
}

/// Repeated options are joined by commas; options without a value do not count.
fn parse_query(query: &str) -> Result<Vec<(String, String)>, SetupError> {
    let mut overrides: Vec<(String, String)> = Vec::new();
    for pair in query.split('&') {
        let (name, value) = pair.split_once('=').unwrap_or((pair, ""));
        if value.is_empty() {
            continue;
        }
        let (name, value) = (decode(&name.replace('+', " "))?, decode(&value.replace('+', " "))?);
        match overrides.iter_mut().find(|(known, _)| *known == name) {
            Some((_, values)) => {
                values.push(',');
                values.push_str(&value);
            }
            None => overrides.push((name, value)),
        }
    }
    Ok(overrides)
}

fn decode(text: &str) -> Result<String, SetupError> {
    let decoded = percent_decode_str(text).decode_utf8();
    decoded
        .map(|text| text.into_owned())
        .map_err(|_| refused("its percent-encoding is not UTF-8"))
}

#[cfg(test)]
mod tests {
    use super::*;
    use rstest::rstest;

    fn broker(host: &str, port: u16, username: &str, password: &str) -> Broker {
        let own = str::to_owned;
        Broker {
            host: own(host),
            port,
            username: own(username),
            password: own(password),
        }
    }

    #[rstest]
    #[case::local("rabbit://", vec![broker("localhost", 5672, "guest", "guest")], "/")]
    #[case::slash("rabbit:///", vec![broker("localhost", 5672, "guest", "guest")], "/")]
    #[case::one("rabbit://u:p@h:1/v", vec![broker("h", 1, "u", "p")], "v")]
    #[case::root("rabbit://u:p@h//", vec![broker("h", 5672, "u", "p")], "/")]
    #[case::two(
        "rabbit://u:p%40@h1:1,u2:p2@[::1]:5/%2Fv",
        vec![broker("h1", 1, "u", "p@"), broker("::1", 5, "u2", "p2")],
        "/v"
    )]
    #[case::at_in_user("rabbit://u@x:p@h/", vec![broker("h", 5672, "u@x", "p")], "/")]
    #[case::colon_in_password("rabbit://u:p:q@h:80/", vec![broker("h", 80, "u", "p:q")], "/")]
    #[case::bare_ipv6("rabbit://::1/v", vec![broker("::1", 5672, "guest", "guest")], "v")]
    #[case::capitals("RABBIT://h/a/b", vec![broker("h", 5672, "guest", "guest")], "a/b")]
    #[case::empty_hosts("rabbit://,u:p@h,/x", vec![broker("h", 5672, "u", "p")], "x")]
    fn reads_what_oslo_reads(#[case] text: &str, #[case] brokers: Vec<Broker>, #[case] virtual_host: &str) {
        let url = TransportUrl::parse(text).unwrap();
        assert_eq!((url.brokers, url.virtual_host.as_str()), (brokers, virtual_host));
    }

    #[test]
    fn the_query_names_options() {
        let url = TransportUrl::parse("rabbit://h/v?ssl=1&a=&kombu_failover_strategy=shuffle&ssl=2").unwrap();
        let expected = [("ssl", "1,2"), ("kombu_failover_strategy", "shuffle")];
        assert_eq!(url.overrides, expected.map(|(k, v)| (k.to_owned(), v.to_owned())));
    }

    #[rstest]
    #[case("nothing")]
    #[case("kafka://h/")]
    #[case("rabbit://u:p#x@h/")]
    #[case("rabbit://h:99999/")]
    #[case("rabbit://[::1/")]
    #[case("rabbit://[::1]5672/")]
    #[case("rabbit://h:0/")]
    #[case("rabbit://h:+5672/")]
    #[case("rabbit://u:q@a b:5672/")]
    #[case("rabbit://u:q@h1;h2:5672/")]
    fn refuses(#[case] text: &str) {
        let refusal = TransportUrl::parse(text).unwrap_err().to_string();
        assert!(!refusal.contains("p#x") && !refusal.contains("'p'"), "{refusal}");
    }

    #[test]
    fn passwords_stay_out_of_logs() {
        let url = TransportUrl::parse("rabbit://u:hidden@h/").unwrap();
        assert!(!format!("{url:?}").contains("hidden"));
    }
}
