//! The database, its schema, and what the user may do in it.

use super::Place;
use crate::lab::Lab;

#[test]
fn a_database_without_tables_or_with_too_few_is_found() {
    let lab = Lab::get();
    let place = Place {
        database: lab.empty_database("empty"),
        vhost: lab.fresh_vhost("empty"),
    };
    assert!(
        place
            .visit("", &[])
            .has("problem", "database: the database has no tables of Heat")
    );
    let place = Place::new("fewer");
    place
        .database
        .sql("ALTER TABLE service DROP COLUMN report_interval; DROP TABLE stack_tag;");
    place.database.sql("UPDATE alembic_version SET version_num = 'older'");
    let visit = place.visit("", &[]);
    assert!(
        visit.has(
            "problem",
            "database: the schema lacks service.report_interval, stack_tag"
        ),
        "{}",
        visit.report
    );
}

#[test]
fn a_schema_of_another_time_is_found() {
    let place = Place::new("revision");
    let at = |revision: &str| {
        place
            .database
            .sql(&format!("UPDATE alembic_version SET version_num = '{revision}'"));
        place.visit("", &[])
    };
    let earlier = at("88be64598c0f");
    let wanted = "database: the schema is at 88be64598c0f, an earlier state than 97b2a986f922";
    assert!(earlier.has("problem", wanted), "{}", earlier.report);
    let later = at("0123456789ab");
    let wanted =
        "database: the schema is at 0123456789ab, which this engine does not know; it is written for 97b2a986f922";
    assert!(later.has("warning", wanted), "{}", later.report);
}

#[test]
fn a_key_that_opens_nothing_is_found() {
    let place = Place::new("doctor_key");
    place.database.sql(
        "INSERT INTO user_creds (created_at, decrypt_method, trust_id) \
         VALUES (UTC_TIMESTAMP(), 'cryptography_decrypt_v1', 'gAAAAABk-of-another-key')",
    );
    let visit = place.visit("", &[]);
    let wanted = "database: auth_encryption_key does not open the newest stored credentials";
    assert!(visit.has("problem", wanted), "{:#?}", visit.of("problem"));
}

#[test]
fn a_user_who_may_not_do_everything_is_found() {
    let place = Place::new("grants");
    let (name, database) = (&place.database.name, &Lab::get().database);
    let connection = format!(
        "[database]\nconnection = mysql+pymysql://{name}:p@{}:{}/{name}\n",
        database.host, database.port
    );
    let tables: Vec<String> = place
        .database
        .sql("SHOW TABLES")
        .into_iter()
        .map(|mut row| row.remove(0))
        .collect();
    let all = "SELECT, INSERT, UPDATE, DELETE";
    // All tables but one, with what is left of that.
    let told = |table: &str, left: &str| {
        let mut grants = format!("CREATE USER '{name}'@'%' IDENTIFIED BY 'p'; ");
        for other in tables.iter().filter(|other| *other != table) {
            grants += &format!("GRANT {all} ON {name}.{other} TO '{name}'@'%'; ");
        }
        if !left.is_empty() {
            grants += &format!("GRANT {left} ON {name}.{table} TO '{name}'@'%'; ");
        }
        Lab::get().sql(&grants);
        let visit = place.visit(&connection, &[]);
        Lab::get().sql(&format!("DROP USER '{name}'@'%'"));
        let problems = visit
            .of("problem")
            .into_iter()
            .filter(|what| what.starts_with("database:"));
        (problems.collect::<Vec<_>>(), visit)
    };
    let (nothing, _) = told("none", "");
    assert_eq!(nothing, Vec::<String>::new());
    for lacking in all.split(", ") {
        let left: Vec<&str> = all.split(", ").filter(|privilege| *privilege != lacking).collect();
        let (problems, visit) = told("event", &left.join(", "));
        let of_event = format!("{lacking} on event");
        assert!(
            problems.len() == 1 && problems[0].contains(&of_event) && !problems[0].contains("resource"),
            "{lacking}: {}",
            visit.report
        );
        assert_eq!(visit.code, Some(1));
    }
    // A table that the server hides from the user is not taken for one that is not there.
    let (problems, _) = told("stack_tag", "");
    let refused = "DELETE on stack_tag; INSERT on stack_tag; SELECT on stack_tag; UPDATE on stack_tag";
    assert_eq!(problems, [format!("database: the user may not {refused}")]);
    let (_, visit) = told("service", "");
    let wanted =
        "stacks: which stacks are asleep, and whose queues are left: without the service table nobody can tell";
    assert!(visit.has("unseen", wanted), "{}", visit.report);
    let (problems, visit) = told("alembic_version", "");
    assert_eq!(problems, Vec::<String>::new());
    let wanted = "database: the revision of the schema: the user may not read alembic_version";
    assert!(visit.has("unseen", wanted), "{}", visit.report);
    // One who may not even enter.
    Lab::get().sql(&format!("CREATE USER '{name}'@'%' IDENTIFIED BY 'p'"));
    let visit = place.visit(&connection, &[]);
    Lab::get().sql(&format!("DROP USER '{name}'@'%'"));
    assert!(visit.has("problem", "Access denied for user"), "{}", visit.report);
    assert!(
        visit.report.to_string().contains("GRANT SELECT, INSERT"),
        "{}",
        visit.report
    );
}
