//! Addresses as options name them: `host:port` to listen on, ports in URLs, URLs of services.
//!
//! What the system would make something of is not enough: `[::1]9465` or `http://h:9465` would be looked up as the name of
//! a host, and an engine that waits for such a name to be found tells nobody what is wrong with it.

use std::net::{Ipv4Addr, Ipv6Addr};

use url::Url;

use super::http_url::http_url;

const LONGEST_NAME: usize = 253;
const LONGEST_LABEL: usize = 63;

/// A port that can be connected to: digits alone, and not 0.
pub fn port(text: &str) -> Option<u16> {
    let are_digits = !text.is_empty() && text.chars().all(|digit| digit.is_ascii_digit());
    text.parse().ok().filter(|port| are_digits && *port != 0)
}

/// A name or an address without brackets (an IPv6 one with its zone, perhaps), as far as that can be told without asking
/// anybody.
pub fn is_host(text: &str) -> bool {
    let without_zone = text.split('%').next().unwrap_or_default();
    without_zone.parse::<Ipv6Addr>().is_ok() || is_name_or_ipv4(text)
}

/// Underscores are no part of names on the internet, but of those in containers' networks.
fn is_name_or_ipv4(text: &str) -> bool {
    let looks_like_numbers = text.chars().all(|it| it.is_ascii_digit() || it == '.');
    if looks_like_numbers {
        return text.parse::<Ipv4Addr>().is_ok();
    }
    let is_label = |label: &str| {
        (1..=LONGEST_LABEL).contains(&label.len())
            && label
                .chars()
                .all(|it| it.is_ascii_alphanumeric() || it == '-' || it == '_')
            && !label.starts_with('-')
            && !label.ends_with('-')
    };
    // A name may end with the dot of the root.
    let name = text.strip_suffix('.').unwrap_or(text);
    name.len() <= LONGEST_NAME && name.split('.').all(is_label)
}

/// `host:port` on which a process can listen.
pub(super) fn listening(text: &str) -> Result<(), String> {
    let refused = |problem: &str| format!("'{text}' {problem}; such as 127.0.0.1:9465 or [::1]:9465 is expected");
    let Some((host, port_text)) = text.rsplit_once(':') else {
        return Err(refused("is not host:port"));
    };
    if host.contains("://") {
        return Err(refused("is a URL, not host:port"));
    }
    let bracketed = host.strip_prefix('[').and_then(|rest| rest.strip_suffix(']'));
    let host_is_one = match bracketed {
        Some(address) => address.parse::<Ipv6Addr>().is_ok(),
        None if host.parse::<Ipv6Addr>().is_ok() => return Err(refused("has an IPv6 address without brackets")),
        None => is_name_or_ipv4(host),
    };
    if !host_is_one {
        return Err(refused("has a host that cannot be one"));
    }
    match port(port_text) {
        Some(_) => Ok(()),
        None => Err(refused("has a port that is not between 1 and 65535")),
    }
}

/// A URL at which a service of the cloud can be asked.
pub fn service_url(text: &str) -> Result<(), String> {
    http_url(text)?;
    let url = Url::parse(text).map_err(|error| format!("'{text}' is no URL: {error}"))?;
    match url.port() {
        Some(0) => Err(format!("'{text}' has the port 0")),
        _ => Ok(()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn addresses_to_listen_on() {
        let good = [
            "127.0.0.1:9465",
            "0.0.0.0:1",
            "[::1]:9465",
            "[::]:65535",
            "localhost:80",
            "node-1.example.:9465",
            "heat_engine:9465",
        ];
        for text in good {
            assert_eq!(listening(text), Ok(()), "{text}");
        }
        let odd = [
            ("9465", "is not host:port"),
            ("http://127.0.0.1:9465", "is a URL, not host:port"),
            ("::1:9465", "has an IPv6 address without brackets"),
            ("[::1]9465", "has a host that cannot be one"),
            ("[127.0.0.1]:9465", "has a host that cannot be one"),
            ("256.0.0.1:9465", "has a host that cannot be one"),
            ("127.0.1:9465", "has a host that cannot be one"),
            (":9465", "has a host that cannot be one"),
            ("*:9465", "has a host that cannot be one"),
            ("a b:9465", "has a host that cannot be one"),
            ("user@host:9465", "has a host that cannot be one"),
            ("-h:9465", "has a host that cannot be one"),
            ("a..b:9465", "has a host that cannot be one"),
            ("127.0.0.1:", "has a port that is not between 1 and 65535"),
            ("127.0.0.1:0", "has a port that is not between 1 and 65535"),
            ("127.0.0.1:+80", "has a port that is not between 1 and 65535"),
            ("127.0.0.1: 80", "has a port that is not between 1 and 65535"),
            ("127.0.0.1:65536", "has a port that is not between 1 and 65535"),
            ("127.0.0.1:80/metrics", "has a port that is not between 1 and 65535"),
        ];
        for (text, problem) in odd {
            let told = listening(text).unwrap_err();
            assert!(told.starts_with(&format!("'{text}' {problem}; ")), "{text}: {told}");
        }
    }

    #[test]
    fn urls_of_services() {
        for good in ["http://keystone", "https://[::1]:5000/v3", "http://k:5000/identity/v3/"] {
            assert_eq!(service_url(good), Ok(()), "{good}");
        }
        for odd in [
            "keystone:5000",
            "http://",
            "http:/k",
            "ftp://k",
            "http://k:99999/v3",
            "http://k:0",
            "http://a b/",
        ] {
            assert!(service_url(odd).is_err(), "{odd}");
        }
    }
}
