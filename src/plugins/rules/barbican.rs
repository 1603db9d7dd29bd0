//! Rules of secrets, their containers and orders.

use super::Table;
use crate::resource::rules::Condition::{Any, Is, IsNot, Missing, Set, Unset};
use crate::resource::rules::Refusal::{Dependency, Invalid, ValueDependency};
use crate::resource::rules::Rule::{Code, Refuse};
use crate::resource::rules::{Facts, Violation};
use crate::template::Foreseen;

pub(super) static RULES: Table = &[
    (
        "OS::Barbican::CertificateContainer",
        &[Code(|facts| {
            repeated(
                facts,
                &[
                    "certificate_ref",
                    "private_key_ref",
                    "private_key_passphrase_ref",
                    "intermediates_ref",
                ],
            )
        })],
    ),
    ("OS::Barbican::GenericContainer", &[Code(repeated_secret)]),
    (
        "OS::Barbican::Order",
        &[
            Refuse(
                &[
                    IsNot("type", &["certificate"]),
                    Any(&[Missing(&["algorithm"]), Missing(&["bit_length"])]),
                ],
                Invalid("Properties algorithm and bit_length are required for {type} type of order."),
            ),
            Refuse(
                &[Is("type", &["certificate"]), Set(&["profile"]), Unset(&["ca_id"])],
                Dependency("profile", "ca_id"),
            ),
            Code(of_another_type),
        ],
    ),
    (
        "OS::Barbican::RSAContainer",
        &[Code(|facts| {
            repeated(
                facts,
                &["private_key_ref", "private_key_passphrase_ref", "public_key_ref"],
            )
        })],
    ),
    (
        "OS::Barbican::Secret",
        &[
            Refuse(
                &[Set(&["payload_content_type"]), Unset(&["payload"])],
                Dependency("payload_content_type", "payload"),
            ),
            Refuse(
                &[
                    Is("payload_content_type", &["application/octet-stream"]),
                    Set(&["payload"]),
                    Unset(&["payload_content_encoding"]),
                ],
                Invalid(
                    "Property unspecified. For '{payload_content_type}' value of 'payload_content_type' property, \
                     'payload_content_encoding' property must be specified.",
                ),
            ),
            Code(no_base64),
            Refuse(
                &[
                    Set(&["payload_content_encoding"]),
                    Any(&[
                        Unset(&["payload_content_type"]),
                        Is("payload_content_type", &["text/plain"]),
                    ]),
                ],
                ValueDependency(
                    "payload_content_encoding",
                    "payload_content_type",
                    "application/octet-stream",
                ),
            ),
        ],
    ),
];

const REPEATED: &str = "Duplicate refs are not allowed.";

/// A reference that stands in two of these properties.
fn repeated(facts: &Facts<'_>, names: &[&str]) -> Option<Violation> {
    let known: Vec<_> = names
        .iter()
        .filter_map(|name| Some((*name, text(facts.get(name))?)))
        .collect();
    let again = known.iter().enumerate().find(|(index, (_, one))| {
        let before = &known[..*index];
        before.iter().any(|(_, other)| one == other)
    });
    again.map(|(_, (name, _))| Violation::invalid(name, REPEATED))
}

fn repeated_secret(facts: &Facts<'_>) -> Option<Violation> {
    let mut seen = Vec::new();
    for secret in facts.get("secrets").items()? {
        let Some(reference) = secret.entries().and_then(|secret| text(secret.get("ref")?)) else {
            continue;
        };
        if seen.contains(&reference) {
            return Some(Violation::invalid("secrets", REPEATED));
        }
        seen.push(reference);
    }
    None
}

/// A text, or the resource whose name will stand here.
fn text(value: &Foreseen) -> Option<&str> {
    match value {
        Foreseen::Value(value) | Foreseen::Reference(value) => value.as_str(),
        _ => None,
    }
}

/// What orders may say beside their type.
const KEY: &[&str] = &[
    "algorithm",
    "bit_length",
    "expiration",
    "mode",
    "name",
    "payload_content_type",
];
const ASYMMETRIC: &[&str] = &[
    "algorithm",
    "bit_length",
    "expiration",
    "mode",
    "name",
    "pass_phrase",
    "payload_content_type",
];
const CERTIFICATE: &[&str] = &[
    "ca_id",
    "name",
    "profile",
    "request_data",
    "request_type",
    "source_container_ref",
    "subject_dn",
];

fn of_another_type(facts: &Facts<'_>) -> Option<Violation> {
    let order = facts.get("type").scalar()?.as_str()?;
    let allowed = match order {
        "key" => KEY,
        "asymmetric" => ASYMMETRIC,
        "certificate" => CERTIFICATE,
        _ => return None,
    };
    let mut unexpected: Vec<&str> = facts
        .names()
        .filter(|name| *name != "type" && !allowed.contains(name))
        .filter(|name| facts.get(name).is_null() == Some(false))
        .collect();
    unexpected.sort_unstable();
    let first = unexpected.first()?;
    let message = format!(
        "Unexpected properties: {}. Only these properties are allowed for {order} type of order: {}.",
        unexpected.join(", "),
        allowed.join(", ")
    );
    Some(Violation::invalid(first, message))
}

/// Bytes come as Base64, in which Python passes over what does not belong to it.
fn no_base64(facts: &Facts<'_>) -> Option<Violation> {
    let text = |name| facts.get(name).scalar()?.as_str().filter(|text| !text.is_empty());
    let (payload, encoding) = (text("payload")?, text("payload_content_encoding")?);
    let message =
        || format!("Invalid payload for specified '{encoding}' value of 'payload_content_encoding' property.");
    let is_binary = text("payload_content_type")? == "application/octet-stream";
    (is_binary && !is_base64(payload)).then(|| Violation::invalid("payload", message()))
}

fn is_base64(text: &str) -> bool {
    let (mut digits, mut padding) = (0, 0);
    for byte in text.bytes() {
        match byte {
            b'=' if digits >= 2 => {
                padding += 1;
                if digits + padding >= 4 {
                    return text.is_ascii();
                }
            }
            b'A'..=b'Z' | b'a'..=b'z' | b'0'..=b'9' | b'+' | b'/' => {
                padding = 0;
                digits = (digits + 1) % 4;
            }
            _ => {}
        }
    }
    digits == 0 && text.is_ascii()
}
