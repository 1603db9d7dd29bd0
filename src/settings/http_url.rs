//! URLs as oslo.config takes them.

use std::net::Ipv6Addr;

/// Scheme and authority are checked; oslo.config lets any path pass.
pub(super) fn http_url(text: &str) -> Result<(), String> {
    let rest = text
        .split_once(':')
        .filter(|(scheme, _)| matches!(*scheme, "http" | "https"))
        .and_then(|(_, rest)| rest.strip_prefix("//"))
        .ok_or(format!("'{text}' is not a URL that starts with http:// or https://"))?;
    let authority = rest.split(['/', '?', '#']).next().unwrap_or_default();
    if authority.is_empty() {
        return Err(format!("'{text}' names no host"));
    }
    let host_and_port = authority.rsplit('@').next().unwrap_or_default();
    let (host_is_one, port) = match host_and_port.strip_prefix('[') {
        Some(bracketed) => {
            let (address, port) = bracketed
                .split_once(']')
                .ok_or(format!("the host of '{text}' lacks a ']'"))?;
            (is_ipv6_address(address), port.strip_prefix(':').unwrap_or(port))
        }
        None => {
            let (host, port) = host_and_port.split_once(':').unwrap_or((host_and_port, ""));
            (is_host(host), port)
        }
    };
    if !host_is_one {
        return Err(format!("'{text}' has a host that cannot be one"));
    }
    if !port.chars().all(|digit| digit.is_ascii_digit()) {
        return Err(format!("'{text}' has a port that is no number"));
    }
    Ok(())
}

/// With a zone behind a '%', perhaps.
fn is_ipv6_address(text: &str) -> bool {
    let address = text.split('%').next().unwrap_or_default();
    address.parse::<Ipv6Addr>().is_ok()
}

/// A registered name of RFC 3986; four numbers are an address and have to be one.
fn is_host(host: &str) -> bool {
    let numbers: Vec<&str> = host.split('.').collect();
    if numbers.len() == 4 && numbers.iter().all(|number| is_short_number(number)) {
        return numbers.iter().all(|number| number.parse::<u8>().is_ok());
    }
    let mut rest = host.chars();
    while let Some(character) = rest.next() {
        let is_fine = match character {
            '%' => {
                rest.next().is_some_and(|hex| hex.is_ascii_hexdigit())
                    && rest.next().is_some_and(|hex| hex.is_ascii_hexdigit())
            }
            other => other.is_ascii_alphanumeric() || "-._~!$&'()*+,;=".contains(other),
        };
        if !is_fine {
            return false;
        }
    }
    true
}

fn is_short_number(text: &str) -> bool {
    (1..=3).contains(&text.len()) && text.chars().all(|digit| digit.is_ascii_digit())
}
