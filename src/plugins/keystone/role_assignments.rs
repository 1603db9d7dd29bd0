//! The `roles` that types for users and groups have: a role in a project or in a domain.

use std::collections::BTreeSet;

use serde_json::{Map, Value, json};

use crate::cloud::{CloudError, Entity, ServiceClient, Session, segment};
use crate::resource::constraints::Constraint;
use crate::resource::failure::Failure;
use crate::resource::properties::Properties;
use crate::resource::rules::{Condition, Refusal, Rule};
use crate::resource::schema::{ITEM, Property};

pub(super) const ROLES: &str = "roles";

pub(super) static ROLES_PROPERTY: Property = Property::list(ROLES)
    .describe("List of role assignments.")
    .items(
        &Property::map(ITEM)
            .describe("Map between role with either project or domain.")
            .keys(&[
                Property::string("role")
                    .describe("Keystone role.")
                    .required()
                    .constrain(&[Constraint::custom("keystone.role")]),
                Property::string("project")
                    .describe("Keystone project.")
                    .constrain(&[Constraint::custom("keystone.project")]),
                Property::string("domain")
                    .describe("Keystone domain.")
                    .constrain(&[Constraint::custom("keystone.domain")]),
            ]),
    )
    .update_allowed();

/// Who has the roles: `users` or `groups`, and which.
#[derive(Clone, Copy)]
pub(super) struct Holder<'a> {
    pub collection: &'static str,
    pub id: &'a str,
}

/// One role in one place, all by id.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
struct Assignment {
    /// `projects` or `domains`.
    places: &'static str,
    place: String,
    role: String,
}

impl Assignment {
    fn path(&self, holder: Holder<'_>) -> String {
        let [place, id, role] = [&self.place, holder.id, &self.role].map(segment);
        format!("{}/{place}/{}/{id}/roles/{role}", self.places, holder.collection)
    }
}

/// Each role is for a project or for a domain.
pub(in crate::plugins) static RULES: &[Rule] = &[Rule::Each(
    ROLES,
    &[
        Rule::Exclusive(&["project", "domain"]),
        Rule::Refuse(
            &[Condition::Missing(&["project", "domain"])],
            Refusal::Invalid("Either project or domain must be specified for role {role}"),
        ),
    ],
)];

pub(super) async fn grant_all(session: &Session, holder: Holder<'_>, wanted: &Properties) -> Result<(), Failure> {
    let wanted = wanted.list(ROLES)?;
    let keystone = session.keystone().await?;
    for assignment in with_ids(session, &wanted, Unknown::IsAnError).await? {
        grant(&keystone, holder, &assignment).await?;
    }
    Ok(())
}

/// Grants what is new and takes away what is no longer wanted.
///
/// Both sides are compared by id, since the same role may be written once by name and once by id.
pub(super) async fn bring(
    session: &Session,
    holder: Holder<'_>,
    before: &Properties,
    after: &Properties,
) -> Result<(), Failure> {
    let after = with_ids(session, &after.list(ROLES)?, Unknown::IsAnError).await?;
    let before = with_ids(session, &before.list(ROLES)?, Unknown::IsGone).await?;
    let keystone = session.keystone().await?;
    for new in after.difference(&before) {
        grant(&keystone, holder, new).await?;
    }
    for old in before.difference(&after) {
        match keystone.delete(old.path(holder)).send().await {
            Err(error) if error.is_not_found() => {}
            outcome => drop(outcome?),
        }
    }
    Ok(())
}

async fn grant(keystone: &ServiceClient, holder: Holder<'_>, assignment: &Assignment) -> Result<(), CloudError> {
    keystone.put(assignment.path(holder)).send().await.map(drop)
}

/// What to make of a name that Keystone does not know.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Unknown {
    IsAnError,
    /// Then nobody has a role there any more.
    IsGone,
}

async fn with_ids(
    session: &Session,
    assignments: &[Value],
    unknown: Unknown,
) -> Result<BTreeSet<Assignment>, CloudError> {
    let mut found = BTreeSet::new();
    for assignment in assignments.iter().filter_map(Value::as_object) {
        match with_id(session, assignment).await {
            Ok(assignment) => found.extend(assignment),
            Err(error) if error.is_not_found() && unknown == Unknown::IsGone => {}
            Err(error) => return Err(error),
        }
    }
    Ok(found)
}

async fn with_id(session: &Session, assignment: &Map<String, Value>) -> Result<Option<Assignment>, CloudError> {
    let text = |key: &str| {
        assignment
            .get(key)
            .and_then(Value::as_str)
            .filter(|text| !text.is_empty())
    };
    let role = session.find(Entity::Role, text("role").unwrap_or_default()).await?;
    let (places, entity, name) = match (text("project"), text("domain")) {
        (Some(project), _) => ("projects", Entity::Project, project),
        (None, Some(domain)) => ("domains", Entity::Domain, domain),
        (None, None) => return Ok(None),
    };
    Ok(Some(Assignment {
        places,
        place: session.find(entity, name).await?,
        role,
    }))
}

/// The roles that the holder has now, as the property writes them.
pub(super) async fn observe(session: &Session, holder: Holder<'_>) -> Result<Value, Failure> {
    let keystone = session.keystone().await?;
    let key = format!("{}.id", holder.collection.trim_end_matches('s'));
    let request = keystone.get("role_assignments").query(&key, holder.id);
    let assignments = request.send_for("role_assignments").await?;
    Ok(assignments
        .as_array()
        .into_iter()
        .flatten()
        .filter(|assignment| assignment["role"]["id"].is_string())
        .map(|assignment| {
            let scope = &assignment["scope"];
            json!({
                "role": assignment["role"]["id"],
                "domain": scope["domain"]["id"],
                "project": scope["project"]["id"],
            })
        })
        .collect())
}
