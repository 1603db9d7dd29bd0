//! Addresses of IP and Ethernet, as netaddr reads them.

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};

use num_bigint::BigInt;
use serde_json::Value;

use crate::python::number::{PyNumber, parse_int};
use crate::python::text::is_blank;
use crate::python::to_text;
use crate::python::value::class_name;

pub fn check_address(value: &Value) -> Result<(), String> {
    match value {
        Value::String(text) if read_address(text).is_ok() => Ok(()),
        _ => Err("Invalid IP address".to_owned()),
    }
}

pub fn check_address_or_subnet(value: &Value) -> Result<(), String> {
    let has_slash = match value {
        Value::String(text) => text.contains('/'),
        Value::Array(items) => items.iter().any(|item| item == "/"),
        Value::Object(entries) => entries.contains_key("/"),
        _ => return Err(format!("{} is not a valid IP or CIDR", to_text(value))),
    };
    let message = match value {
        Value::String(text) if has_slash => read_subnet(text).err(),
        Value::String(text) => read_address(text).err(),
        other if has_slash => Some(no_subnet(other)),
        other => Some(format!("'{}' is not a valid IP address", to_text(other))),
    };
    message.map_or(Ok(()), Err)
}

pub fn check_subnet(value: &Value) -> Result<(), String> {
    let invalid = |reason: String| format!("Invalid net cidr {reason} ");
    let verbose = match value {
        Value::String(text) => written_out(text),
        other => number_written_out(other)
            .ok_or_else(|| invalid(format!("unexpected type <class '{}'> for addr arg", class_name(other))))?,
    };
    match read_network(&verbose) {
        Ok(Some(_)) => {}
        Ok(None) => return Err(invalid(format!("invalid IPNetwork {verbose}"))),
        Err(TwoPrefixes) => {
            return Err(invalid(
                "IPAddress() does not support netmasks or subnet prefixes! See documentation for details.".to_owned(),
            ));
        }
    }
    match value {
        Value::String(text) => read_subnet(text),
        other => Err(no_subnet(other)),
    }
}

fn no_subnet(value: &Value) -> String {
    format!("'{}' is not a valid IP subnet", to_text(value))
}

/// Python reads an address of version 4 with leading zeros as decimal numbers, and then refuses the way in which it is
/// written.
fn read_address(text: &str) -> Result<(), String> {
    let wrong = || format!("'{text}' is not a valid IP address");
    if text.chars().any(is_blank) {
        return Err(wrong());
    }
    if text.contains(':') {
        return text.parse::<Ipv6Addr>().map(drop).map_err(|_| wrong());
    }
    let octets: Option<Vec<u8>> = text
        .split('.')
        .map(|part| parse_int(part).and_then(|number| u8::try_from(&number).ok()))
        .collect();
    let octets: [u8; 4] = octets.and_then(|octets| octets.try_into().ok()).ok_or_else(wrong)?;
    let address = Ipv4Addr::from(octets);
    if address.to_string() == text {
        Ok(())
    } else {
        Err(format!(
            "'{text}' is not an accepted IP address, '{address}' is recommended"
        ))
    }
}

fn read_subnet(text: &str) -> Result<(), String> {
    let has_blanks = text.chars().any(is_blank);
    match read_network(text) {
        Ok(Some((IpAddr::V4(address), width))) if !has_blanks && format!("{address}/{width}") == text => Ok(()),
        Ok(Some((IpAddr::V6(_), _))) if !has_blanks && text.contains('/') => Ok(()),
        _ => Err(format!("'{text}' is not a valid IP subnet")),
    }
}

/// More than one slash: netaddr fails in another way.
struct TwoPrefixes;

/// An address with the width of its prefix, which may be written as a mask.
fn read_network(text: &str) -> Result<Option<(IpAddr, u8)>, TwoPrefixes> {
    let (address, prefix) = match text.split_once('/') {
        Some((address, prefix)) => (address, Some(prefix)),
        None => (text, None),
    };
    let Ok(address) = address.parse::<IpAddr>() else {
        return Ok(None);
    };
    let most = if address.is_ipv4() { 32 } else { 128 };
    let width = match prefix {
        None => Some(most),
        Some(prefix) => match parse_int(prefix) {
            Some(number) => u8::try_from(&number).ok().filter(|width| *width <= most),
            None if prefix.contains('/') => return Err(TwoPrefixes),
            None => mask_width(prefix, address.is_ipv4()),
        },
    };
    Ok(width.map(|width| (address, width)))
}

/// The width that a mask stands for: ones and then zeros, or the other way round.
fn mask_width(mask: &str, is_ipv4: bool) -> Option<u8> {
    let (bits, most) = if is_ipv4 {
        (u128::from(mask.parse::<Ipv4Addr>().ok()?.to_bits()), 32)
    } else {
        (mask.parse::<Ipv6Addr>().ok()?.to_bits(), 128)
    };
    let all = u128::MAX >> (128 - most);
    let is_run_of_ones = |bits: u128| bits & bits.wrapping_add(1) == 0;
    let width = if is_run_of_ones(!bits & all) {
        bits.count_ones()
    } else if is_run_of_ones(bits) {
        most - bits.count_ones()
    } else {
        return None;
    };
    u8::try_from(width).ok()
}

/// `10` means 10.0.0.0/8, and `192.168/16` 192.168.0.0/16. What is no such abbreviation stays as it is.
fn written_out(text: &str) -> String {
    if text.is_empty() || text.contains(':') {
        return text.to_owned();
    }
    let verbose = match parse_int(text) {
        Some(number) => classful_width(&number).map(|width| format!("{number}.0.0.0/{width}")),
        None => parts_written_out(text),
    };
    verbose.unwrap_or_else(|| text.to_owned())
}

fn number_written_out(value: &Value) -> Option<String> {
    let number = match PyNumber::of(value)? {
        PyNumber::Int(number) => number,
        PyNumber::Float(float) => PyNumber::Float(float.trunc()).as_exact_integer()?,
    };
    classful_width(&number).map(|width| format!("{number}.0.0.0/{width}"))
}

fn parts_written_out(text: &str) -> Option<String> {
    let (address, prefix) = match text.split_once('/') {
        Some((address, prefix)) => (address, Some(prefix)),
        None => (text, None),
    };
    let mut parts: Vec<&str> = address.split('.').collect();
    if parts.len() > 4 {
        return None;
    }
    parts.resize(4, "0");
    let prefix = match prefix {
        Some(prefix) => {
            let width = u8::try_from(&parse_int(prefix)?).ok()?;
            (width <= 32).then(|| prefix.to_owned())?
        }
        None => classful_width(&parse_int(parts[0])?)?.to_string(),
    };
    Some(format!("{}/{prefix}", parts.join(".")))
}

/// The width of a network before there were prefixes, by its first octet.
fn classful_width(octet: &BigInt) -> Option<u8> {
    Some(match u8::try_from(octet).ok()? {
        0..=127 => 8,
        128..=191 => 16,
        192..=223 => 24,
        224..=239 => 4,
        240..=255 => 32,
    })
}

pub fn check_mac(value: &Value) -> Result<(), String> {
    match value {
        Value::String(text) if is_mac(text) => Ok(()),
        _ => Err("Invalid MAC address.".to_owned()),
    }
}

/// Six groups of a byte, three of two, two of three, or none at all. As Python's `$`, a line may end behind it.
fn is_mac(text: &str) -> bool {
    let text = text.strip_suffix('\n').unwrap_or(text);
    let is_hex = |group: &str| group.bytes().all(|byte| byte.is_ascii_hexdigit());
    let in_groups = |separator: char, count: usize, least: usize, most: usize| {
        let groups: Vec<&str> = text.split(separator).collect();
        groups.len() == count
            && groups
                .iter()
                .all(|group| is_hex(group) && (least..=most).contains(&group.len()))
    };
    let with =
        |separator| in_groups(separator, 6, 1, 2) || in_groups(separator, 3, 1, 4) || in_groups(separator, 2, 5, 6);
    with(':') || with('-') || in_groups('.', 3, 1, 4) || (is_hex(text) && (11..=12).contains(&text.len()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn abbreviations_are_written_out() {
        assert_eq!(written_out("10"), "10.0.0.0/8");
        assert_eq!(written_out("192.168"), "192.168.0.0/24");
        assert_eq!(written_out("128/8"), "128.0.0.0/8");
        assert_eq!(written_out("a"), "a");
        assert_eq!(written_out("1.2.3.4.5"), "1.2.3.4.5");
    }

    #[test]
    fn masks_have_widths() {
        assert_eq!(mask_width("255.255.0.0", true), Some(16));
        assert_eq!(mask_width("0.0.255.255", true), Some(16));
        assert_eq!(mask_width("255.0.255.0", true), None);
        assert_eq!(mask_width("ffff::", false), Some(16));
        assert_eq!(mask_width("0.0.0.0", true), Some(0));
    }
}
