//! Constraints that look at the value alone, and ask no service: addresses, names of the DNS, JSON. Parameters name them as
//! properties do.

mod addresses;
mod domain_names;

use serde_json::Value;

use crate::python::json_reader::loads;
use crate::python::to_text;
use crate::python::value::{class_name, is_true};

/// Checks a value against the format of that name; the error is what users read. `None` if there is no such format.
pub fn check(name: &str, value: &Value) -> Option<Result<(), String>> {
    let checked = match name {
        "ip_addr" => addresses::check_address(value),
        "ip_or_cidr" => addresses::check_address_or_subnet(value),
        "net_cidr" => addresses::check_subnet(value),
        "mac_addr" => addresses::check_mac(value),
        "dns_name" => of_text(value, domain_names::check_name),
        "dns_domain" => of_text(value, domain_names::check_domain),
        "rel_dns_name" => of_text(value, domain_names::check_relative_name),
        "json_string" => of_text(value, check_json),
        _ => return None,
    };
    Some(checked.map_err(|reason| format!("Error validating value '{}': {reason}", to_text(value))))
}

/// For checks of texts. Nothing is wrong with what is empty.
fn of_text(value: &Value, check: impl Fn(&str) -> Result<(), String>) -> Result<(), String> {
    match value {
        Value::String(text) if !text.is_empty() => check(text),
        other if is_true(other) => Err(format!("a text is expected, not '{}'", class_name(other))),
        _ => Ok(()),
    }
}

fn check_json(text: &str) -> Result<(), String> {
    loads(text)
        .map(drop)
        .map_err(|error| format!("JSON string {text} is invalid: {error}"))
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn values_are_refused_in_the_oracles_words() {
        let refused = |name, value: Value| check(name, &value).expect("a format").expect_err("refused");
        assert_eq!(
            refused("net_cidr", json!("10.0.0.0/33")),
            "Error validating value '10.0.0.0/33': Invalid net cidr invalid IPNetwork 10.0.0.0/33 "
        );
        assert_eq!(
            refused("mac_addr", json!(5)),
            "Error validating value '5': Invalid MAC address."
        );
        assert_eq!(check("dns_name", &json!("")), Some(Ok(())));
        assert_eq!(check("nova.flavor", &json!("x")), None);
    }
}
