//! Rules of databases.

use super::Table;
use crate::python::repr::repr;
use crate::resource::rules::Condition::{Given, Missing, Set, Unset};
use crate::resource::rules::Refusal::Invalid;
use crate::resource::rules::Rule::{self, Code, Each, Exclusive, Refuse};
use crate::resource::rules::{Facts, Refusal, Violation};

pub(super) static RULES: Table = &[
    (
        "OS::Trove::Cluster",
        &[
            VERSION_OF_NOTHING,
            Each(
                "instances",
                &[Each(
                    "networks",
                    &[
                        Refuse(&[Missing(&["network", "port"])], NETWORK_OR_PORT),
                        Exclusive(&["network", "port"]),
                    ],
                )],
            ),
        ],
    ),
    (
        "OS::Trove::Instance",
        &[
            VERSION_OF_NOTHING,
            Refuse(
                &[Set(&["users"]), Unset(&["databases"])],
                Invalid("Databases property is required if users property is provided for resource {}."),
            ),
            Code(users_of_nothing),
            Each(
                "networks",
                &[
                    Refuse(&[Missing(&["network", "port"])], NETWORK_OR_PORT),
                    Refuse(&[Given(&["network", "port"])], NETWORK_OR_PORT),
                ],
            ),
        ],
    ),
];

const VERSION_OF_NOTHING: Rule = Refuse(
    &[Set(&["datastore_version"]), Unset(&["datastore_type"])],
    Invalid("Not allowed - datastore_version without datastore_type."),
);

const NETWORK_OR_PORT: Refusal = Invalid("Either network or port must be provided.");

/// Users may use the databases that are made with them.
fn users_of_nothing(facts: &Facts<'_>) -> Option<Violation> {
    let mut databases = Vec::new();
    for database in facts.get("databases").items()? {
        databases.push(database.entries()?.get("name")?.scalar()?);
    }
    if databases.is_empty() {
        return None;
    }
    for (index, user) in facts.get("users").items()?.iter().enumerate() {
        let wanted = user.entries()?.get("databases")?.items()?;
        let wanted = wanted
            .iter()
            .map(|database| database.scalar())
            .collect::<Option<Vec<_>>>()?;
        let missing: Vec<_> = wanted
            .into_iter()
            .filter(|database| !databases.contains(database))
            .collect();
        if !missing.is_empty() {
            let message = format!(
                "Database {} specified for user does not exist in databases for resource {}.",
                repr(&missing.into_iter().cloned().collect()),
                facts.resource
            );
            let path = ["users".to_owned(), index.to_string(), "databases".to_owned()];
            return Some(Violation {
                path: path.to_vec(),
                ..Violation::of_all(message)
            });
        }
    }
    None
}
