//! Exact-match filters, as clients send them with lists.

use serde_json::{Map, Value};

use super::error::StoreError;
use super::shapes::padded;
use super::value::{SqlValue, placeholders};

#[derive(Debug, Clone, PartialEq)]
pub struct Filter {
    pub column: String,
    pub test: FilterTest,
}

#[derive(Debug, Clone, PartialEq)]
pub enum FilterTest {
    Is(SqlValue),
    OneOf(Vec<SqlValue>),
}

impl Filter {
    pub fn is(column: &str, value: impl Into<SqlValue>) -> Self {
        Self {
            column: column.to_owned(),
            test: FilterTest::Is(value.into()),
        }
    }

    /// Filters from a request: a value, or a list of which one must match.
    pub fn from_json(filters: &Map<String, Value>) -> Result<Vec<Self>, StoreError> {
        let filter = |(column, value): (&String, &Value)| {
            let test = match value {
                Value::Array(values) => FilterTest::OneOf(
                    values
                        .iter()
                        .map(|value| plain(column, value))
                        .collect::<Result<_, _>>()?,
                ),
                value => FilterTest::Is(plain(column, value)?),
            };
            Ok(Self {
                column: column.clone(),
                test,
            })
        };
        filters.iter().map(filter).collect()
    }
}

fn plain(column: &str, value: &Value) -> Result<SqlValue, StoreError> {
    match value {
        Value::Null => Ok(SqlValue::Text(None)),
        Value::Bool(flag) => Ok(SqlValue::from(*flag)),
        // A number is compared by its text, so that none is too large.
        Value::Number(number) => Ok(number
            .as_i64()
            .map_or_else(|| number.to_string().into(), SqlValue::from)),
        Value::String(text) => Ok(SqlValue::from(text.as_str())),
        Value::Array(_) | Value::Object(_) => Err(StoreError::FilterValue(column.to_owned())),
    }
}

/// Conditions joined by AND, with the values to bind in order.
#[derive(Debug, Default)]
pub(super) struct Conditions {
    texts: Vec<String>,
    pub values: Vec<SqlValue>,
}

impl Conditions {
    pub fn add(&mut self, text: impl Into<String>, values: impl IntoIterator<Item = SqlValue>) {
        self.texts.push(text.into());
        self.values.extend(values);
    }

    /// `columns` pairs the names that clients use with those of the table.
    pub fn add_filters(&mut self, filters: &[Filter], columns: &[(&str, &'static str)]) -> Result<(), StoreError> {
        for filter in filters {
            let column = columns.iter().find(|(name, _)| *name == filter.column);
            let Some((_, column)) = column else {
                return Err(StoreError::UnknownFilter(filter.column.clone()));
            };
            match &filter.test {
                FilterTest::Is(value) if value.is_null() => self.add(format!("{column} IS NULL"), []),
                FilterTest::Is(value) => self.add(format!("{column} = ?"), [value.clone()]),
                FilterTest::OneOf(values) if values.is_empty() => self.add("FALSE", []),
                FilterTest::OneOf(values) => {
                    let values = padded(values);
                    self.add(format!("{column} IN ({})", placeholders(values.len())), values);
                }
            }
        }
        Ok(())
    }

    /// ` WHERE …`, or nothing.
    pub fn where_clause(&self) -> String {
        if self.texts.is_empty() {
            String::new()
        } else {
            format!(" WHERE {}", self.texts.join(" AND "))
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn values_lists_and_nulls() {
        let filters = serde_json::json!({"status": ["A", "B"], "owner_id": null, "name": "x", "action": []});
        let filters = Filter::from_json(filters.as_object().expect("an object")).expect("good filters");
        let columns = [
            ("status", "s.status"),
            ("owner_id", "s.owner_id"),
            ("name", "s.name"),
            ("action", "s.action"),
        ];
        let mut conditions = Conditions::default();
        conditions.add_filters(&filters, &columns).expect("known columns");
        assert_eq!(
            conditions.where_clause(),
            " WHERE s.status IN (?, ?) AND s.owner_id IS NULL AND s.name = ? AND FALSE"
        );
        assert_eq!(conditions.values, ["A".into(), "B".into(), SqlValue::from("x")]);
    }

    #[test]
    fn what_cannot_be_filtered_by_is_an_error() {
        let mut conditions = Conditions::default();
        let error = conditions.add_filters(&[Filter::is("id; DROP", "x")], &[("id", "s.id")]);
        assert!(matches!(error, Err(StoreError::UnknownFilter(_))));
        let filters = serde_json::json!({"name": {"a": 1}});
        assert!(Filter::from_json(filters.as_object().expect("an object")).is_err());
    }
}
