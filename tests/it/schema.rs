//! `migrations/heat_schema.sql` is what `heat-manage db_sync` makes.

use std::fmt::Write;
use std::path::Path;
use std::process::Command;

use crate::lab::{Lab, TestDatabase};

const SCHEMA: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/migrations/heat_schema.sql");

#[test]
fn the_schema_is_that_of_db_sync() {
    let lab = Lab::get();
    let theirs = lab.empty_database("db_sync");
    db_sync(lab, &theirs);
    if std::env::var_os("WRITE_SCHEMA").is_some() {
        std::fs::write(SCHEMA, schema_file(&theirs)).expect("migrations/heat_schema.sql can be written");
    }
    let ours = lab.fresh_database("migrations");
    assert_eq!(tables(&ours), tables(&theirs));
    for table in tables(&theirs) {
        assert_eq!(
            create_table(&ours, &table),
            create_table(&theirs, &table),
            "table {table}"
        );
    }
    let revision = "SELECT version_num FROM alembic_version";
    assert_eq!(ours.sql(revision), theirs.sql(revision));
}

fn db_sync(lab: &Lab, database: &TestDatabase) {
    let configuration = Path::new(env!("CARGO_TARGET_TMPDIR")).join(format!("{}.conf", database.name));
    let text = format!("[database]\nconnection = {}\n", database.url());
    std::fs::write(&configuration, text).expect("the configuration can be written");
    let mut heat_manage = Command::new(lab.program("heat-manage"));
    let output = heat_manage
        .arg("--config-file")
        .arg(&configuration)
        .arg("db_sync")
        .output();
    let output = output.expect("heat-manage starts");
    assert!(
        output.status.success(),
        "db_sync: {}",
        String::from_utf8_lossy(&output.stderr)
    );
}

fn tables(database: &TestDatabase) -> Vec<String> {
    database.sql("SHOW TABLES").into_iter().flatten().collect()
}

fn create_table(database: &TestDatabase, table: &str) -> String {
    let statement = database
        .sql(&format!("SHOW CREATE TABLE `{table}`"))
        .remove(0)
        .remove(1);
    statement
        .split(' ')
        .filter(|word| !word.starts_with("AUTO_INCREMENT="))
        .collect::<Vec<_>>()
        .join(" ")
}

fn schema_file(database: &TestDatabase) -> String {
    let revision = &database.sql("SELECT version_num FROM alembic_version")[0][0];
    let mut text = format!(
        "-- Heat's schema at alembic revision {revision} (openstack-heat 27.0.1), for MariaDB and MySQL.\n\
         -- What `heat-manage db_sync` makes, written down so that a database can be made without Python:\n\
         --   mariadb heat < migrations/heat_schema.sql\n\
         -- Do not edit. Regenerate with:  WRITE_SCHEMA=1 cargo test --test it schema::\n\n\
         SET FOREIGN_KEY_CHECKS = 0;\n\n"
    );
    for table in tables(database) {
        let _ = writeln!(text, "{};\n", create_table(database, &table));
    }
    let _ = writeln!(
        text,
        "INSERT INTO `alembic_version` VALUES ('{revision}');\n\nSET FOREIGN_KEY_CHECKS = 1;"
    );
    text
}
