//! `OS::Keystone::Project`: a unit of ownership.

use async_trait::async_trait;
use serde_json::{Map, Value};

use super::PHYSICAL_NAME_LIMIT;
use super::object::{Kind, fields, name_of, new_name};
use crate::cloud::{CloudError, NEUTRON, segment};
use crate::resource::attributes::Attribute;
use crate::resource::constraints::Constraint;
use crate::resource::failure::Failure;
use crate::resource::instance::Instance;
use crate::resource::plugin::{Change, Changed, Plugin, ResourceType};
use crate::resource::schema::Property;
use crate::resource::support::SupportStatus;
use crate::resource::translation::TranslationRule;

pub static TYPE: ResourceType = ResourceType {
    name: "OS::Keystone::Project",
    python_class: "KeystoneProject",
    description: "\
Heat Template Resource for Keystone Project.

Projects represent the base unit of ownership in OpenStack, in that all
resources in OpenStack should be owned by a specific project. A project
itself must be owned by a specific domain, and hence all project names are
not globally unique, but unique to their domain. If the domain for a
project is not specified, then it is added to the default domain.",
    support: SupportStatus::since("2015.1").message("Supported versions: keystone v3"),
    service: Some("keystone"),
    properties: PROPERTIES,
    attributes: ATTRIBUTES,
    translation: TRANSLATION,
    rules: &[],
    physical_name_limit: PHYSICAL_NAME_LIMIT,
    plugin: &ProjectPlugin,
};

static PROPERTIES: &[Property] = &[
    Property::string("name")
        .describe("Name of keystone project.")
        .update_allowed(),
    Property::string("domain")
        .describe("Name or id of keystone domain.")
        .default_str("default")
        .update_allowed()
        .constrain(&[Constraint::custom("keystone.domain")]),
    Property::string("description")
        .describe("Description of keystone project.")
        .default_str("")
        .update_allowed(),
    Property::boolean("enabled")
        .describe("This project is enabled or disabled.")
        .default_bool(true)
        .update_allowed(),
    Property::string("parent")
        .describe("The name or ID of parent of this keystone project in hierarchy.")
        .since("6.0.0")
        .constrain(&[Constraint::custom("keystone.project")]),
    Property::list("tags")
        .describe("A list of tags for labeling and sorting projects.")
        .since("10.0.0")
        .default_list(&[])
        .update_allowed(),
];

static ATTRIBUTES: &[Attribute] = &[
    Attribute::string("name").describe("Project name.").since("10.0.0"),
    Attribute::string("parent_id")
        .describe("Parent project id.")
        .since("10.0.0"),
    Attribute::string("domain_id")
        .describe("Domain id for project.")
        .since("10.0.0"),
    Attribute::boolean("enabled")
        .describe("Flag of enable project.")
        .since("10.0.0"),
    Attribute::boolean("is_domain")
        .describe("Indicates whether the project also acts as a domain.")
        .since("10.0.0"),
];

static TRANSLATION: &[TranslationRule] = &[
    TranslationRule::resolve(&["domain"], "get_domain_id"),
    TranslationRule::resolve(&["parent"], "get_project_id"),
];

const PROJECT: Kind = Kind {
    collection: "projects",
    key: "project",
};

struct ProjectPlugin;

#[async_trait]
impl Plugin for ProjectPlugin {
    async fn make(&self, instance: &mut Instance) -> Result<(), Failure> {
        let properties = &instance.properties;
        let wanted = fields([
            ("name", name_of(instance)?.into()),
            ("domain_id", properties.get("domain")?),
            ("description", properties.get("description")?),
            ("enabled", properties.get("enabled")?),
            ("parent_id", properties.text("parent")?.into()),
            ("tags", properties.get("tags")?),
        ]);
        PROJECT.create(instance, wanted).await
    }

    async fn change(&self, instance: &mut Instance, change: &Change<'_>) -> Result<Changed, Failure> {
        if change.changed.is_empty() {
            return Ok(Changed::InPlace);
        }
        let mut wanted = fields([
            ("name", new_name(instance, change)?.into()),
            ("domain_id", change.after.get("domain")?),
            ("tags", new_tags(change)?),
        ]);
        for name in ["description", "enabled"] {
            if change.touches(name) {
                wanted.extend(fields([(name, change.after.get(name)?)]));
            }
        }
        PROJECT.update(instance, wanted).await?;
        Ok(Changed::InPlace)
    }

    async fn unmake(&self, instance: &mut Instance) -> Result<(), Failure> {
        if let Some(id) = instance.physical_id() {
            delete_default_security_groups(instance, id).await?;
        }
        PROJECT.delete(instance).await
    }

    async fn attribute(&self, instance: &mut Instance, name: &str) -> Result<Option<Value>, Failure> {
        PROJECT.attribute(instance, name).await
    }

    async fn show(&self, instance: &mut Instance) -> Result<Option<Value>, Failure> {
        PROJECT.show(instance).await
    }

    async fn observe(&self, instance: &mut Instance) -> Result<Option<Map<String, Value>>, Failure> {
        PROJECT
            .observe(instance, &["name", "description", "enabled", "tags"])
            .await
    }
}

/// A template without tags leaves those that the project has.
fn new_tags(change: &Change<'_>) -> Result<Value, Failure> {
    let after = change.after.get("tags")?;
    match after.as_array() {
        Some(tags) if !tags.is_empty() => Ok(after),
        _ => Ok(change.before.get("tags")?),
    }
}

/// Neutron makes one for each project that it sees, and would keep it when the project is gone.
async fn delete_default_security_groups(instance: &Instance, project_id: &str) -> Result<(), CloudError> {
    let neutron = instance.session.service(&NEUTRON);
    let request = neutron
        .get("security-groups")
        .query("project_id", project_id)
        .query("name", "default");
    let groups = match request.send_for("security_groups").await {
        // A cloud without Neutron has none.
        Err(error) if error.is_missing_endpoint() => return Ok(()),
        groups => groups?,
    };
    for group in groups.as_array().into_iter().flatten() {
        let Some(id) = group["id"].as_str() else {
            continue;
        };
        match neutron.delete(format!("security-groups/{}", segment(id))).send().await {
            Err(error) if error.is_not_found() => {}
            outcome => drop(outcome?),
        }
    }
    Ok(())
}
