//! The schema that this store is written for: `migrations/heat_schema.sql`, read for its tables and columns.

const SCHEMA: &str = include_str!("../../migrations/heat_schema.sql");

/// What a database has to have. What it has besides is another release's, or somebody else's.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Schema {
    /// Alembic's name for this state of the schema.
    pub revision: String,
    pub tables: Vec<Table>,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Table {
    pub name: String,
    pub columns: Vec<String>,
}

impl Schema {
    pub fn expected() -> Self {
        Self::parse(SCHEMA)
    }

    fn parse(sql: &str) -> Self {
        let mut schema = Schema {
            revision: String::new(),
            tables: Vec::new(),
        };
        for line in sql.lines() {
            if let Some(name) = quoted(line, "CREATE TABLE ", '`') {
                let columns = Vec::new();
                schema.tables.push(Table { name, columns });
            } else if let (Some(column), Some(table)) = (quoted(line, "  ", '`'), schema.tables.last_mut()) {
                table.columns.push(column);
            } else if let Some(revision) = quoted(line, "INSERT INTO `alembic_version` VALUES (", '\'') {
                schema.revision = revision;
            }
        }
        schema
    }
}

/// The quoted text at the start of a line, behind `prefix`.
fn quoted(line: &str, prefix: &str, quote: char) -> Option<String> {
    let text = line.strip_prefix(prefix)?.strip_prefix(quote)?;
    text.split_once(quote).map(|(text, _)| text.to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_schema_is_read_whole() {
        let schema = Schema::expected();
        assert_eq!(schema.revision, "97b2a986f922");
        assert_eq!(schema.tables.len(), SCHEMA.matches("CREATE TABLE").count());
        let service = schema.tables.iter().find(|table| table.name == "service").unwrap();
        assert_eq!(service.columns[0], "id");
        assert!(service.columns.contains(&"engine_id".to_owned()));
        assert!(schema.tables.iter().all(|table| !table.columns.is_empty()));
    }
}
