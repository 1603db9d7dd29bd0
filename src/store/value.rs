//! A value for a statement that is put together at run time.

use chrono::NaiveDateTime;
use serde_json::Value;
use sqlx::mysql::{MySql, MySqlArguments};
use sqlx::query::Query;

#[derive(Debug, Clone, PartialEq)]
pub enum SqlValue {
    Text(Option<String>),
    Integer(Option<i64>),
    Boolean(Option<bool>),
    Time(Option<NaiveDateTime>),
}

impl SqlValue {
    pub fn is_null(&self) -> bool {
        matches!(
            self,
            SqlValue::Text(None) | SqlValue::Integer(None) | SqlValue::Boolean(None) | SqlValue::Time(None)
        )
    }

    pub fn to_json(&self) -> Value {
        match self {
            SqlValue::Text(text) => text.as_deref().into(),
            SqlValue::Integer(number) => (*number).into(),
            SqlValue::Boolean(flag) => (*flag).into(),
            SqlValue::Time(time) => time.map(|time| time.to_string()).into(),
        }
    }
}

macro_rules! from_plain {
    ($($kind:ty => $variant:ident),* $(,)?) => { $(
        impl From<$kind> for SqlValue {
            fn from(value: $kind) -> Self {
                SqlValue::$variant(Some(value))
            }
        }

        impl From<Option<$kind>> for SqlValue {
            fn from(value: Option<$kind>) -> Self {
                SqlValue::$variant(value)
            }
        }
    )* };
}

from_plain! { String => Text, i64 => Integer, bool => Boolean, NaiveDateTime => Time }

impl From<&str> for SqlValue {
    fn from(value: &str) -> Self {
        SqlValue::Text(Some(value.to_owned()))
    }
}

pub(super) type Statement<'q> = Query<'q, MySql, MySqlArguments>;

pub(super) fn bind_all<'q>(statement: Statement<'q>, values: &'q [SqlValue]) -> Statement<'q> {
    values.iter().fold(statement, |statement, value| match value {
        SqlValue::Text(value) => statement.bind(value),
        SqlValue::Integer(value) => statement.bind(value),
        SqlValue::Boolean(value) => statement.bind(value),
        SqlValue::Time(value) => statement.bind(value),
    })
}

/// `?, ?, ?` for so many values.
pub(super) fn placeholders(count: usize) -> String {
    vec!["?"; count].join(", ")
}
