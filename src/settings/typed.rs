//! The types that settings have beyond numbers and text, and how serde reads them.

use std::time::Duration;

use secrecy::SecretString;
use serde::de::Error;
use serde::{Deserialize, Deserializer};

/// A limit of which an operator may say "none" with a negative number.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Limit {
    Unlimited,
    AtMost(u64),
}

impl Limit {
    pub fn is_exceeded_by(self, count: u64) -> bool {
        match self {
            Limit::Unlimited => false,
            Limit::AtMost(most) => count > most,
        }
    }

    /// Is there room for one more beside `count`?
    pub fn is_reached_by(self, count: u64) -> bool {
        match self {
            Limit::Unlimited => false,
            Limit::AtMost(most) => count >= most,
        }
    }
}

impl<'de> Deserialize<'de> for Limit {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let number = i64::deserialize(deserializer)?;
        Ok(u64::try_from(number).map_or(Limit::Unlimited, Limit::AtMost))
    }
}

/// A number of seconds, whole or not.
pub fn seconds<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Duration, D::Error> {
    duration_from(f64::deserialize(deserializer)?)
}

pub fn optional_seconds<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Option<Duration>, D::Error> {
    Option::<f64>::deserialize(deserializer)?.map(duration_from).transpose()
}

fn duration_from<E: Error>(seconds: f64) -> Result<Duration, E> {
    Duration::try_from_secs_f64(seconds).map_err(|_| E::custom(format!("{seconds} is not a number of seconds")))
}

/// Why a value does not fit its field, for people.
pub fn misfit(kind: figment::error::Kind) -> String {
    use figment::error::{Actual, Kind};
    let (actual, expected) = match kind {
        Kind::InvalidValue(actual, expected) | Kind::InvalidType(actual, expected) => (actual, expected),
        other => return other.to_string(),
    };
    let number = match actual {
        Actual::Signed(number) => number.to_string(),
        Actual::Unsigned(number) => number.to_string(),
        Actual::Float(number) => number.to_string(),
        other => other.to_string(),
    };
    let most = match expected.as_str() {
        "u16" => u64::from(u16::MAX),
        "u32" => u64::from(u32::MAX),
        "u64" | "usize" => u64::MAX,
        _ => return format!("{number} is not {expected}"),
    };
    format!("{number} is not between 0 and {most}")
}

pub fn secret<'de, D: Deserializer<'de>>(deserializer: D) -> Result<SecretString, D::Error> {
    String::deserialize(deserializer).map(SecretString::from)
}

pub fn optional_secret<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Option<SecretString>, D::Error> {
    Ok(Option::<String>::deserialize(deserializer)?.map(SecretString::from))
}
