//! Reaches the database, compares its schema, tries what the user may do.

use std::collections::BTreeMap;

use super::report::{Area, Report};
use crate::clock::Clock;
use crate::exception::chain;
use crate::settings::{DatabaseSettings, Settings};
use crate::store::{DatabaseOptions, RetryLimits, Schema, ServerFacts, Store, StoreError, Table, lacking};

/// Clocks further apart than this make engines take each other for dead, or stacks time out early.
const MOST_SECONDS_APART: i64 = 5;

/// It is read only.
const OF_ALEMBIC: &str = "alembic_version";

/// States of the schema before the one that this engine is written for, since Heat counts them by Alembic.
const EARLIER_REVISIONS: [&str; 3] = ["c6214ca60943", "d2db381e3324", "88be64598c0f"];

const GRANT: &str = "GRANT SELECT, INSERT, UPDATE, DELETE on Heat's database to the user of [database] connection";

/// Connections that heat-api, Keystone and the others are left, at least.
const LEFT_FOR_OTHERS: u64 = 20;

/// The store, if it can be reached and has tables.
pub async fn look(settings: &Settings, report: &mut Report) -> Option<Store> {
    let options = DatabaseOptions {
        max_connect_retries: Some(0),
        retry: RetryLimits {
            max_retries: Some(0),
            ..RetryLimits::default()
        },
        ..DatabaseOptions::from_settings(&settings.database)?
    };
    let store = match Store::connect(&options, Clock::system()).await {
        Ok(store) => store,
        Err(error) => {
            tell_unreachable(&error, options.address(), report);
            return None;
        }
    };
    if let Err(error) = look_closer(settings, &store, report).await {
        let advice = match error.server_error_number() {
            Some(1044 | 1142 | 1143 | 1370) => GRANT,
            _ => "look into the log of the database server",
        };
        report.problem(
            Area::Database,
            format!("a question was not answered: {}", chain(&error)),
            "what the engine asks may fail too",
            advice,
        );
    }
    Some(store)
}

fn tell_unreachable(error: &StoreError, address: Option<String>, report: &mut Report) {
    let at = address.map(|address| format!(" at {address}")).unwrap_or_default();
    let by_address = format!("start the server{at}, or correct its address in [database] connection");
    let (why, advice) = match (error, error.server_error_number()) {
        (StoreError::NoTables, _) => (
            "an engine has nothing to work on",
            "run `heat-manage db_sync` of the release that heat-api has, or load migrations/heat_schema.sql",
        ),
        (_, Some(1045)) => (
            "no engine can start",
            "correct user and password in [database] connection, or the grants of the server",
        ),
        (_, Some(1044)) => ("no engine can start", GRANT),
        (_, Some(1049)) => (
            "no engine can start",
            "make the database, or correct its name in [database] connection",
        ),
        _ => ("no engine can start, and those that run wait", by_address.as_str()),
    };
    report.problem(Area::Database, chain(error), why, advice);
}

async fn look_closer(settings: &Settings, store: &Store, report: &mut Report) -> Result<(), StoreError> {
    if let Some(facts) = store.server_facts().await? {
        report.fine(
            Area::Database,
            format!("{} answers, as user {}", facts.version, facts.user),
        );
        let apart = (facts.now - store.clock().utc_now()).num_seconds();
        judge_server(&settings.database, &facts, apart, report);
        if facts.is_read_only {
            report.unseen(
                Area::Database,
                "what the user may do: a server that takes no writes refuses them all alike",
                "a lack of privileges would be found by users",
                "ask again when the server takes writes",
            );
            return Ok(());
        }
    }
    let expected = Schema::expected();
    let is_complete = compare_schema(&expected, store, report).await?;
    if is_complete {
        try_privileges(&expected.tables, store, report).await?;
    }
    Ok(())
}

/// `apart`: seconds by which its clock is before ours.
fn judge_server(database: &DatabaseSettings, facts: &ServerFacts, apart: i64, report: &mut Report) {
    if facts.is_read_only {
        report.problem(
            Area::Database,
            "the server is read-only",
            "no stack can change",
            "point [database] connection to the server that takes writes, or switch read_only off",
        );
    }
    if apart.abs() > MOST_SECONDS_APART {
        report.problem(
            Area::Database,
            format!("the clock of the database server differs from ours by {apart} s"),
            "engines tell by times in the tables whether others live, and when a stack's time is over",
            "have both machines take the time from one source (chrony, ntp)",
        );
    }
    let overflow = database.max_overflow.and_then(|overflow| u64::try_from(overflow).ok());
    let most = u64::from(database.max_pool_size) + overflow.unwrap_or(0);
    if facts.most_connections < most + LEFT_FOR_OTHERS {
        report.warning(
            Area::Database,
            format!(
                "the server takes {} connections, and one engine may ask for {most}",
                facts.most_connections
            ),
            "in a rush the engine, or its neighbours, are refused",
            "raise max_connections of the server, or lower [database] max_pool_size and max_overflow",
        );
    }
    if facts.character_set != "utf8mb4" {
        report.fine(
            Area::Database,
            format!(
                "tables are {}: characters beyond U+FFFF (emoji) are refused in names and values, as by the Python engine",
                facts.character_set
            ),
        );
    }
}

/// Whether every table and column is there.
async fn compare_schema(expected: &Schema, store: &Store, report: &mut Report) -> Result<bool, StoreError> {
    let columns = store.columns().await?;
    // The server shows nobody a table of which they may do nothing: the trial of privileges tells of it.
    let mut denied = Vec::new();
    for table in expected
        .tables
        .iter()
        .filter(|table| !columns.iter().any(|column| column.table == table.name))
    {
        if store.is_denied(table).await? {
            denied.push(table.name.clone());
        }
    }
    let mut lacking = lacking(&expected.tables, &columns);
    lacking.retain(|name| !denied.contains(name));
    if !lacking.is_empty() {
        report.problem(
            Area::Database,
            format!("the schema lacks {}", lacking.join(", ")),
            "statements of the engine fail",
            "run `heat-manage db_sync` of openstack-heat 27.0.1",
        );
        return Ok(false);
    }
    if denied.iter().any(|name| name == OF_ALEMBIC) {
        report.unseen(
            Area::Database,
            format!("the revision of the schema: the user may not read {OF_ALEMBIC}"),
            "a schema of another release goes unnoticed",
            "GRANT SELECT on it",
        );
        return Ok(true);
    }
    match store.schema_revision().await? {
        Some(revision) if revision == expected.revision => {
            report.fine(Area::Database, format!("the schema is at {revision}, as it should be"));
        }
        Some(revision) if EARLIER_REVISIONS.contains(&revision.as_str()) => report.problem(
            Area::Database,
            format!("the schema is at {revision}, an earlier state than {}", expected.revision),
            "an upgrade was not finished: Python engines of 27.0.1 fail, and what this engine writes others may not expect",
            "run `heat-manage db_sync` of openstack-heat 27.0.1",
        ),
        other => report.warning(
            Area::Database,
            format!(
                "the schema is at {}, which this engine does not know; it is written for {}",
                other.as_deref().unwrap_or("no revision"),
                expected.revision
            ),
            "all that is needed is there, but in a later release columns may mean something else",
            "take the heat-engine-rs that speaks the release of the schema (`heat-manage db_version` names it)",
        ),
    }
    Ok(true)
}

async fn try_privileges(tables: &[Table], store: &Store, report: &mut Report) -> Result<(), StoreError> {
    let tables: Vec<&Table> = tables.iter().filter(|table| table.name != OF_ALEMBIC).collect();
    let mut refused: BTreeMap<&str, Vec<String>> = BTreeMap::new();
    for table in &tables {
        for refusal in store.refusals(table).await? {
            refused.entry(refusal.privilege).or_default().push(refusal.table);
        }
    }
    if refused.is_empty() {
        report.fine(Area::Database, "the user may do all that the engine does");
    } else {
        report.problem(
            Area::Database,
            format!("the user may not {}", by_privilege(&refused, tables.len())),
            "statements of the engine fail, and with them stacks",
            GRANT,
        );
    }
    Ok(())
}

/// `DELETE on event, stack; SELECT on all 16 tables`.
fn by_privilege(refused: &BTreeMap<&str, Vec<String>>, number_of_tables: usize) -> String {
    let of_each = refused.iter().map(|(privilege, tables)| match tables.len() {
        all if all == number_of_tables => format!("{privilege} on all {all} tables"),
        _ => format!("{privilege} on {}", tables.join(", ")),
    });
    of_each.collect::<Vec<_>>().join("; ")
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::doctor::Severity;
    use crate::settings::SettingsSources;

    fn facts() -> ServerFacts {
        ServerFacts {
            version: "11.4".to_owned(),
            user: "heat@%".to_owned(),
            character_set: "utf8mb4".to_owned(),
            is_read_only: false,
            most_connections: 500,
            now: chrono::DateTime::UNIX_EPOCH.naive_utc(),
        }
    }

    fn severity(facts: &ServerFacts, apart: i64) -> Severity {
        let mut report = Report::default();
        let settings = Settings::read(&SettingsSources::default()).settings;
        judge_server(&settings.database, facts, apart, &mut report);
        report.severity()
    }

    #[test]
    fn what_is_refused_is_told_by_privilege() {
        let tables = |names: &[&str]| names.iter().map(|name| (*name).to_owned()).collect::<Vec<_>>();
        let refused = BTreeMap::from([("SELECT", tables(&["event", "stack"])), ("DELETE", tables(&["event"]))]);
        assert_eq!(by_privilege(&refused, 2), "DELETE on event; SELECT on all 2 tables");
        assert_eq!(by_privilege(&refused, 3), "DELETE on event; SELECT on event, stack");
    }

    #[test]
    fn a_server_is_judged_by_what_it_says() {
        assert_eq!(severity(&facts(), 5), Severity::Fine);
        assert_eq!(severity(&facts(), -6), Severity::Problem);
        assert_eq!(severity(&facts(), 6), Severity::Problem);
        let is_read_only = true;
        assert_eq!(
            severity(
                &ServerFacts {
                    is_read_only,
                    ..facts()
                },
                0
            ),
            Severity::Problem
        );
        let most_connections = 60;
        assert_eq!(
            severity(
                &ServerFacts {
                    most_connections,
                    ..facts()
                },
                0
            ),
            Severity::Warning
        );
        let character_set = "utf8mb3".to_owned();
        assert_eq!(
            severity(
                &ServerFacts {
                    character_set,
                    ..facts()
                },
                0
            ),
            Severity::Fine
        );
    }
}
