//! `OS::Keystone::User`: somebody who can log in, with groups and roles.

use std::collections::BTreeSet;
use std::time::Duration;

use async_trait::async_trait;
use serde_json::{Map, Value};

use super::PHYSICAL_NAME_LIMIT;
use super::object::{Kind, fields, name_of, new_name};
use super::role_assignments::{self, Holder, ROLES, ROLES_PROPERTY};
use crate::cloud::{ServiceClient, segment};
use crate::resource::attributes::Attribute;
use crate::resource::constraints::Constraint;
use crate::resource::failure::Failure;
use crate::resource::instance::Instance;
use crate::resource::plugin::{Change, Changed, Plugin, Progress, ResourceType};
use crate::resource::properties::Properties;
use crate::resource::schema::{ITEM, Property};
use crate::resource::state::Action;
use crate::resource::support::SupportStatus;
use crate::resource::translation::TranslationRule;

pub static TYPE: ResourceType = ResourceType {
    name: "OS::Keystone::User",
    python_class: "KeystoneUser",
    description: "\
Heat Template Resource for Keystone User.

Users represent an individual API consumer. A user itself must be owned by
a specific domain, and hence all user names are not globally unique, but
only unique to their domain.",
    support: SupportStatus::since("2015.1").message("Supported versions: keystone v3"),
    service: Some("keystone"),
    properties: PROPERTIES,
    attributes: ATTRIBUTES,
    translation: TRANSLATION,
    rules: role_assignments::RULES,
    physical_name_limit: PHYSICAL_NAME_LIMIT,
    plugin: &UserPlugin,
};

const GROUPS: &str = "groups";

static PROPERTIES: &[Property] = &[
    Property::string("name")
        .describe("Name of keystone user.")
        .update_allowed(),
    Property::string("domain")
        .describe("Name or ID of keystone domain.")
        .default_str("default")
        .update_allowed()
        .constrain(&[Constraint::custom("keystone.domain")]),
    Property::string("description")
        .describe("Description of keystone user.")
        .default_str("")
        .update_allowed(),
    Property::boolean("enabled")
        .describe("Keystone user is enabled or disabled.")
        .default_bool(true)
        .update_allowed(),
    Property::string("email")
        .describe("Email address of keystone user.")
        .update_allowed(),
    Property::string("password")
        .describe("Password of keystone user.")
        .update_allowed(),
    Property::string("default_project")
        .describe("Name or ID of default project of keystone user.")
        .update_allowed()
        .constrain(&[Constraint::custom("keystone.project")]),
    Property::list(GROUPS)
        .describe("Keystone user groups.")
        .update_allowed()
        .items(
            &Property::string(ITEM)
                .describe("Keystone user group.")
                .constrain(&[Constraint::custom("keystone.group")]),
        ),
    ROLES_PROPERTY,
];

static ATTRIBUTES: &[Attribute] = &[
    Attribute::string("name").describe("User name.").since("9.0.0"),
    Attribute::string("default_project_id")
        .describe("Default project id for user.")
        .since("9.0.0"),
    Attribute::string("domain_id")
        .describe("Domain id for user.")
        .since("9.0.0"),
    Attribute::boolean("enabled")
        .describe("Flag of enable user.")
        .since("9.0.0"),
    Attribute::string("password_expires_at")
        .describe("Show user password expiration time.")
        .since("9.0.0"),
];

static TRANSLATION: &[TranslationRule] = &[
    TranslationRule::resolve(&["domain"], "get_domain_id"),
    TranslationRule::resolve(&["default_project"], "get_project_id"),
    TranslationRule::resolve(&[GROUPS], "get_group_id"),
];

const USER: Kind = Kind {
    collection: "users",
    key: "user",
};

/// Properties that are fields of the user, by the names of both; in the order of keystoneclient's requests, because
/// Keystone shows the fields that it has no column for in the order in which they came.
const FIELDS: &[(&str, &str)] = &[
    ("default_project", "default_project_id"),
    ("password", "password"),
    ("email", "email"),
    ("description", "description"),
    ("enabled", "enabled"),
];

struct UserPlugin;

#[async_trait]
impl Plugin for UserPlugin {
    async fn make(&self, instance: &mut Instance) -> Result<(), Failure> {
        let mut wanted = fields([
            ("name", name_of(instance)?.into()),
            ("domain_id", instance.properties.get("domain")?),
        ]);
        for (property, field) in FIELDS {
            wanted.extend(fields([(*field, instance.properties.get(property)?)]));
        }
        USER.create(instance, wanted).await
    }

    /// Groups and roles follow once the user's id is stored.
    async fn settle(&self, instance: &mut Instance, action: Action, _: Duration) -> Result<Progress, Failure> {
        if let (Action::Create, Some(id)) = (action, instance.physical_id()) {
            let groups = group_ids(&instance.properties)?;
            let keystone = instance.session.keystone().await?;
            for group in &groups {
                join(&keystone, group, id).await?;
            }
            role_assignments::grant_all(&instance.session, holder(id), &instance.properties).await?;
        }
        Ok(Progress::Done)
    }

    async fn change(&self, instance: &mut Instance, change: &Change<'_>) -> Result<Changed, Failure> {
        let mut wanted = fields([("name", new_name(instance, change)?.into())]);
        for (property, field) in FIELDS.iter().filter(|(property, _)| change.touches(property)) {
            wanted.extend(fields([(*field, change.after.get(property)?)]));
        }
        // Keystone refuses a change of nothing, and of the domain alone.
        if !wanted.is_empty() {
            wanted.extend(fields([("domain_id", change.after.get("domain")?)]));
            USER.update(instance, wanted).await?;
        }
        let Some(id) = instance.physical_id() else {
            return Ok(Changed::InPlace);
        };
        if change.touches(GROUPS) {
            let (before, after) = (group_ids(change.before)?, group_ids(change.after)?);
            let keystone = instance.session.keystone().await?;
            for group in after.difference(&before) {
                join(&keystone, group, id).await?;
            }
            for group in before.difference(&after) {
                leave(&keystone, group, id).await?;
            }
        }
        if change.touches(ROLES) {
            role_assignments::bring(&instance.session, holder(id), change.before, change.after).await?;
        }
        Ok(Changed::InPlace)
    }

    /// Memberships and assignments go with the user.
    async fn unmake(&self, instance: &mut Instance) -> Result<(), Failure> {
        USER.delete(instance).await
    }

    async fn attribute(&self, instance: &mut Instance, name: &str) -> Result<Option<Value>, Failure> {
        USER.attribute(instance, name).await
    }

    async fn show(&self, instance: &mut Instance) -> Result<Option<Value>, Failure> {
        USER.show(instance).await
    }

    async fn observe(&self, instance: &mut Instance) -> Result<Option<Map<String, Value>>, Failure> {
        let observed = USER
            .observe(instance, &["name", "description", "enabled", "email"])
            .await?;
        let (Some(mut live), Some(id)) = (observed, instance.physical_id()) else {
            return Ok(None);
        };
        let shown = USER.attribute(instance, "default_project_id").await?;
        live.insert("default_project".to_owned(), shown.unwrap_or_default());
        let keystone = instance.session.keystone().await?;
        let groups = keystone
            .get(format!("users/{}/groups", segment(id)))
            .send_for("groups")
            .await?;
        let groups = groups.as_array().into_iter().flatten().map(|group| group["id"].clone());
        live.insert(GROUPS.to_owned(), groups.collect());
        live.insert(
            ROLES.to_owned(),
            role_assignments::observe(&instance.session, holder(id)).await?,
        );
        Ok(Some(live))
    }
}

fn holder(id: &str) -> Holder<'_> {
    Holder {
        collection: "users",
        id,
    }
}

/// Translated from names already.
fn group_ids(properties: &Properties) -> Result<BTreeSet<String>, Failure> {
    let groups = properties.list(GROUPS)?;
    Ok(groups.iter().filter_map(Value::as_str).map(str::to_owned).collect())
}

fn membership(group: &str, user: &str) -> String {
    format!("groups/{}/users/{}", segment(group), segment(user))
}

async fn join(keystone: &ServiceClient, group: &str, user: &str) -> Result<(), Failure> {
    keystone.put(membership(group, user)).send().await?;
    Ok(())
}

/// Who is not in a group, or whose group is gone, has left it.
async fn leave(keystone: &ServiceClient, group: &str, user: &str) -> Result<(), Failure> {
    match keystone.delete(membership(group, user)).send().await {
        Err(error) if error.is_not_found() => Ok(()),
        outcome => Ok(outcome.map(drop)?),
    }
}
