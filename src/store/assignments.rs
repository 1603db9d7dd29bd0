//! Which columns a write touches, in order, and with what.

use super::value::SqlValue;

/// Reads the named columns of a row into the struct whose fields have those names; other fields are given as usual.
macro_rules! from_columns {
    ($row:expr => $target:ident { $($column:ident),* $(,)? } $(with { $($field:ident: $value:expr),* $(,)? })?) => {
        $target {
            $($column: sqlx::Row::try_get($row, stringify!($column))?,)*
            $($($field: $value,)*)?
        }
    };
}
pub(super) use from_columns;

#[derive(Debug, Clone, Default)]
pub(super) struct Assignments {
    columns: Vec<(&'static str, SqlValue)>,
}

impl Assignments {
    pub fn set(&mut self, column: &'static str, value: impl Into<SqlValue>) {
        self.columns.push((column, value.into()));
    }

    /// Sets the column if a new value is given for it.
    pub fn set_given<T: Clone + Into<SqlValue>>(&mut self, column: &'static str, value: &Option<T>) {
        if let Some(value) = value {
            self.set(column, value.clone());
        }
    }

    pub fn is_empty(&self) -> bool {
        self.columns.is_empty()
    }

    pub fn values(&self) -> impl Iterator<Item = SqlValue> {
        self.columns.iter().map(|(_, value)| value.clone())
    }

    /// For UPDATE: `name = ?, status = ?`.
    pub fn set_clause(&self) -> String {
        let pairs: Vec<_> = self.columns.iter().map(|(name, _)| format!("`{name}` = ?")).collect();
        pairs.join(", ")
    }

    /// For INSERT: `name, status`.
    pub fn column_list(&self) -> String {
        let names: Vec<_> = self.columns.iter().map(|(name, _)| format!("`{name}`")).collect();
        names.join(", ")
    }

    /// A condition that holds where a row has these very values, with the values to bind.
    ///
    /// Compared as bytes: the tables' collation takes `a` for `A`. Times are left out, since the columns drop the
    /// fraction that the values have.
    pub fn same_values(&self) -> (String, Vec<SqlValue>) {
        let compared = self
            .columns
            .iter()
            .filter(|(_, value)| !matches!(value, SqlValue::Time(_)));
        let (conditions, values): (Vec<_>, Vec<_>) = compared
            .map(|(name, value)| (format!("BINARY `{name}` <=> BINARY ?"), value.clone()))
            .unzip();
        let condition = if conditions.is_empty() {
            "TRUE".to_owned()
        } else {
            conditions.join(" AND ")
        };
        (condition, values)
    }
}
