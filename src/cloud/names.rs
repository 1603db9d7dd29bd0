//! From what a template calls something to its id in Keystone.
//!
//! An id is tried first, then a name; `name{domain}` says in which domain.

use super::error::CloudError;
use super::session::{ServiceClient, Session, segment};

/// What Keystone can look up.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Entity {
    Domain,
    Group,
    Project,
    Region,
    Role,
    Service,
    User,
}

impl Entity {
    /// What errors call it.
    pub fn title(self) -> &'static str {
        match self {
            Self::Domain => "KeystoneDomain",
            Self::Group => "KeystoneGroup",
            Self::Project => "KeystoneProject",
            Self::Region => "KeystoneRegion",
            Self::Role => "KeystoneRole",
            Self::Service => "KeystoneService",
            Self::User => "KeystoneUser",
        }
    }

    fn key(self) -> &'static str {
        match self {
            Self::Domain => "domain",
            Self::Group => "group",
            Self::Project => "project",
            Self::Region => "region",
            Self::Role => "role",
            Self::Service => "service",
            Self::User => "user",
        }
    }

    fn collection(self) -> &'static str {
        match self {
            Self::Domain => "domains",
            Self::Group => "groups",
            Self::Project => "projects",
            Self::Region => "regions",
            Self::Role => "roles",
            Self::Service => "services",
            Self::User => "users",
        }
    }

    fn lives_in_a_domain(self) -> bool {
        matches!(self, Self::Group | Self::Project | Self::Role | Self::User)
    }

    fn not_found(self, name: &str) -> CloudError {
        CloudError::EntityNotFound {
            entity: self.title(),
            name: name.to_owned(),
        }
    }
}

impl Session {
    /// The id in Keystone of what a template calls `name`.
    pub async fn find(&self, entity: Entity, name: &str) -> Result<String, CloudError> {
        let client = self.keystone().await?;
        if !entity.lives_in_a_domain() {
            return find_in(&client, entity, name, None).await;
        }
        let Some((own_name, domain)) = split_domain(name) else {
            return find_in(&client, entity, name, None).await;
        };
        let domain = match find_in(&client, Entity::Domain, domain, None).await {
            Err(error) if error.is_not_found() => return Err(entity.not_found(name)),
            outcome => outcome?,
        };
        find_in(&client, entity, own_name, Some(&domain)).await
    }
}

async fn find_in(
    client: &ServiceClient,
    entity: Entity,
    name: &str,
    domain: Option<&str>,
) -> Result<String, CloudError> {
    // The path of nothing is that of the whole collection.
    if name.is_empty() {
        return Err(entity.not_found(name));
    }
    let by_id = client
        .get(format!("{}/{}", entity.collection(), segment(name)))
        .send_for(entity.key())
        .await;
    match by_id {
        Ok(found) => return super::keystone::id_of(&found),
        Err(CloudError::Http(error)) if error.status == 404 => {}
        Err(error) => return Err(error),
    }
    if entity == Entity::Region {
        return Err(entity.not_found(name));
    }
    let mut request = client.get(entity.collection()).query("name", name);
    if let Some(domain) = domain {
        request = request.query("domain_id", domain);
    }
    let listed = request.send_for(entity.collection()).await?;
    let listed = listed.as_array().map(Vec::as_slice).unwrap_or_default();
    let ids: Vec<&str> = listed
        .iter()
        .filter(|object| object["name"].as_str() == Some(name))
        .filter_map(|object| object["id"].as_str())
        .collect();
    match (entity, ids.as_slice()) {
        (_, []) => Err(entity.not_found(name)),
        (Entity::User, [_, _, ..]) => Err(CloudError::NoUniqueMatch),
        (Entity::Service, [_, _, ..]) => Err(CloudError::ServiceNameConflict {
            service: name.to_owned(),
        }),
        (_, [first, ..]) => Ok((*first).to_owned()),
    }
}

/// Splits `name{domain}`.
fn split_domain(name: &str) -> Option<(&str, &str)> {
    name.strip_suffix('}')?.split_once('{')
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_domain_is_in_braces_at_the_end() {
        assert_eq!(split_domain("demo{heat}"), Some(("demo", "heat")));
        assert_eq!(split_domain("a{b{c}"), Some(("a", "b{c")));
        assert_eq!(split_domain("demo{}"), Some(("demo", "")));
        assert_eq!(split_domain("demo"), None);
        assert_eq!(split_domain("{x}demo"), None);
    }
}
