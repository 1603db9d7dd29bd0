//! Pages of a list: after a marker row, by sort keys, with the row's id as the last of them.

use std::str::FromStr;

use super::filter::Conditions;
use super::value::SqlValue;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum SortDirection {
    Ascending,
    Descending,
}

impl FromStr for SortDirection {
    type Err = ();

    fn from_str(text: &str) -> Result<Self, ()> {
        match text {
            "asc" => Ok(SortDirection::Ascending),
            "desc" => Ok(SortDirection::Descending),
            _ => Err(()),
        }
    }
}

/// Which part of a list is wanted; the sort keys are those of the API, and unknown ones are left out.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Page {
    pub limit: Option<u64>,
    /// Id of the last row of the page before.
    pub marker: Option<String>,
    pub sort_keys: Vec<String>,
    pub sort_direction: Option<SortDirection>,
}

/// How the rows are ordered: columns of the table, the id last.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Order {
    pub columns: Vec<&'static str>,
    direction: SortDirection,
}

impl Page {
    /// `keys` pairs the API's sort keys with columns; without any the newest come first.
    pub(super) fn order(&self, keys: &[(&str, &'static str)]) -> Order {
        let column = |key: &String| keys.iter().find(|(name, _)| name == key).map(|(_, column)| *column);
        let mut columns: Vec<_> = self.sort_keys.iter().filter_map(column).collect();
        let mut default_direction = SortDirection::Ascending;
        if columns.is_empty() {
            columns.push("created_at");
            default_direction = SortDirection::Descending;
        }
        columns.push("id");
        Order {
            columns,
            direction: self.sort_direction.unwrap_or(default_direction),
        }
    }
}

impl Order {
    /// ` ORDER BY … LIMIT …`; `table` is what the statement calls the table.
    pub fn clauses(&self, table: &str, limit: Option<u64>) -> String {
        let word = match self.direction {
            SortDirection::Ascending => "ASC",
            SortDirection::Descending => "DESC",
        };
        let keys: Vec<_> = self
            .columns
            .iter()
            .map(|column| format!("{table}.{column} {word}"))
            .collect();
        let limit = limit.map(|limit| format!(" LIMIT {limit}")).unwrap_or_default();
        format!(" ORDER BY {}{limit}", keys.join(", "))
    }

    /// Rows after the one with these sort values: those that differ first in some key, and are beyond it there.
    ///
    /// Keys in which the marker row has NULL are passed over; the id, which is never NULL, decides.
    pub fn after(&self, table: &str, marker: &[SqlValue], conditions: &mut Conditions) {
        let beyond = match self.direction {
            SortDirection::Ascending => ">",
            SortDirection::Descending => "<",
        };
        let given: Vec<_> = self
            .columns
            .iter()
            .zip(marker)
            .filter(|(_, value)| !value.is_null())
            .collect();
        let mut alternatives = Vec::new();
        let mut values = Vec::new();
        for (position, (column, value)) in given.iter().enumerate() {
            let equal = given[..position]
                .iter()
                .map(|(column, _)| format!("{table}.{column} = ?"));
            let mut parts: Vec<_> = equal.collect();
            parts.push(format!("{table}.{column} {beyond} ?"));
            alternatives.push(format!("({})", parts.join(" AND ")));
            values.extend(given[..position].iter().map(|(_, value)| (*value).clone()));
            values.push((*value).clone());
        }
        conditions.add(format!("({})", alternatives.join(" OR ")), values);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const KEYS: &[(&str, &str)] = &[("stack_name", "name"), ("updated_time", "updated_at")];

    #[test]
    fn newest_first_without_sort_keys() {
        let order = Page::default().order(KEYS);
        assert_eq!(
            order.clauses("s", Some(3)),
            " ORDER BY s.created_at DESC, s.id DESC LIMIT 3"
        );
        let page = Page {
            sort_keys: vec!["nonsense".into(), "stack_name".into()],
            ..Page::default()
        };
        assert_eq!(page.order(KEYS).clauses("s", None), " ORDER BY s.name ASC, s.id ASC");
    }

    #[test]
    fn a_marker_passes_over_keys_without_value() {
        let page = Page {
            sort_keys: vec!["updated_time".into(), "stack_name".into()],
            ..Page::default()
        };
        let mut conditions = Conditions::default();
        page.order(KEYS)
            .after("s", &[SqlValue::Time(None), "n".into(), "i".into()], &mut conditions);
        assert_eq!(
            conditions.where_clause(),
            " WHERE ((s.name > ?) OR (s.name = ? AND s.id > ?))"
        );
        assert_eq!(conditions.values, ["n".into(), "n".into(), SqlValue::from("i")]);
    }
}
