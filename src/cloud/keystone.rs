//! What the engine itself asks of Keystone: trusts, and the domain in which stacks have their users.

use std::fmt;

use serde_json::{Value, json};

use super::access::Access;
use super::error::CloudError;
use super::login::Scope;
use super::service::KEYSTONE;
use super::session::{ServiceClient, Session, segment};
use crate::identity::RequestContext;
use crate::python;

/// The longest name that Keystone takes for a project.
const MAX_PROJECT_NAME: usize = 64;

/// Keystone, as one caller.
#[derive(Clone)]
pub struct Keystone {
    session: Session,
    context: RequestContext,
}

impl fmt::Debug for Keystone {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Keystone").field("context", &self.context).finish()
    }
}

impl Keystone {
    pub(super) fn new(session: Session, context: &RequestContext) -> Self {
        Self {
            session,
            context: context.clone(),
        }
    }

    pub fn session(&self) -> &Session {
        &self.session
    }

    /// The caller's context with a trust of the caller in it; with the one it has already, if it has one.
    pub async fn create_trust_context(&self) -> Result<RequestContext, CloudError> {
        if self.context.trust_id.is_some() {
            return Ok(self.context.clone());
        }
        self.create_new_trust_context().await
    }

    /// As [`Self::create_trust_context`], but always with a new trust; one that the context had is deleted.
    pub async fn regenerate_trust_context(&self) -> Result<RequestContext, CloudError> {
        let renewed = self.create_new_trust_context().await?;
        if let Some(old) = &self.context.trust_id {
            self.delete_trust(old).await?;
        }
        Ok(renewed)
    }

    async fn create_new_trust_context(&self) -> Result<RequestContext, CloudError> {
        let access = self.session.authorized().await?;
        let trust_id = self.create_trust(&access).await?;
        let mut context = self.context.clone();
        context.trust_id = Some(trust_id);
        context.trustor_user_id = access.user_id.clone();
        Ok(context)
    }

    async fn create_trust(&self, trustor: &Access) -> Result<String, CloudError> {
        let roles = self.delegated_roles();
        let trust = json!({
            "impersonation": true,
            "project_id": trustor.project_id,
            "roles": roles.as_json(),
            "trustee_user_id": self.trustee_user_id().await?,
            "trustor_user_id": trustor.user_id,
            "allow_redelegation": self.session.cloud().options().trusts_may_be_redelegated(),
        });
        let client = self.session.service(&KEYSTONE);
        let outcome = client
            .post("OS-TRUST/trusts", json!({ "trust": without_nulls(trust) }))
            .send_for("trust")
            .await;
        let trust = match outcome {
            Err(error) if error.is_not_found() => {
                return Err(CloudError::MissingCredential {
                    required: format!("roles {}", python::repr(&roles.as_keywords())),
                });
            }
            outcome => outcome?,
        };
        id_of(&trust)
    }

    /// The trustee is known by name; its id comes with its token.
    async fn trustee_user_id(&self) -> Result<Option<String>, CloudError> {
        let login = self
            .session
            .cloud()
            .trustee_login(self.session.keystone_url(), Scope::Default)?;
        let access = self.session.with_login(login).authorized().await?;
        Ok(access.user_id.clone())
    }

    /// Ids where they are known, since another domain may have a role of the same name.
    fn delegated_roles(&self) -> DelegatedRoles {
        let configured = &self.session.cloud().options().trusts_delegated_roles;
        if !configured.is_empty() {
            return DelegatedRoles::Names(configured.clone());
        }
        let ids: Vec<String> = self
            .context
            .auth_token_info
            .as_deref()
            .and_then(|info| info["token"]["roles"].as_array())
            .map(|roles| {
                roles
                    .iter()
                    .filter_map(|role| role["id"].as_str().map(str::to_owned))
                    .collect()
            })
            .unwrap_or_default();
        if ids.is_empty() {
            DelegatedRoles::Names(self.context.roles.clone())
        } else {
            DelegatedRoles::Ids(ids)
        }
    }

    /// Deletes a trust; one that is gone, or that we may no longer see, needs no deletion.
    pub async fn delete_trust(&self, trust_id: &str) -> Result<(), CloudError> {
        let client = self.session.keystone().await?;
        match client
            .delete(format!("OS-TRUST/trusts/{}", segment(trust_id)))
            .send()
            .await
        {
            Err(CloudError::Http(error)) if matches!(error.status, 401 | 404) => Ok(()),
            outcome => outcome.map(drop),
        }
    }

    /// Makes the project for the users of a stack, in the domain for such projects; finds it if it was made before.
    ///
    /// Without such a domain, stack users live in the caller's own project.
    pub async fn create_stack_domain_project(&self, stack_id: &str) -> Result<Option<String>, CloudError> {
        let Some(domain) = self.stack_domain().await? else {
            return Ok(self.context.project_id.clone());
        };
        let project_id = self.context.project_id.as_deref().unwrap_or("None");
        let name: String = format!("{project_id}-{stack_id}")
            .chars()
            .take(MAX_PROJECT_NAME)
            .collect();
        let project = json!({
            "domain_id": domain.id,
            "name": name,
            "description": "Heat stack user project",
            "enabled": true,
        });
        let created = domain
            .admin
            .post("projects", json!({ "project": project }))
            .send_for("project")
            .await;
        match created {
            Err(error) if error.is_conflict() => match domain.find_project(&name).await? {
                Some(id) => Ok(Some(id)),
                None => Err(error),
            },
            created => id_of(&created?).map(Some),
        }
    }

    /// Deletes the project of a stack's users, but never one outside the domain for such projects: a stack that is
    /// older than that domain has its users in its owner's project.
    pub async fn delete_stack_domain_project(&self, project_id: &str) -> Result<(), CloudError> {
        let Some(domain) = self.stack_domain().await? else {
            return Ok(());
        };
        let path = format!("projects/{}", segment(project_id));
        let project = match domain.admin.get(&path).send_for("project").await {
            Err(CloudError::Http(error)) if error.status == 404 => return Ok(()),
            Err(CloudError::Http(error)) if error.status == 403 => {
                tracing::warn!(project_id, "unable to get details of project, not deleting it");
                return Ok(());
            }
            outcome => outcome?,
        };
        if project["domain_id"].as_str() != Some(domain.id.as_str()) {
            tracing::warn!(project_id, "not deleting a project outside the domain of stack users");
            return Ok(());
        }
        match domain.admin.delete(&path).send().await {
            Err(error) if error.is_not_found() => Ok(()),
            outcome => outcome.map(drop),
        }
    }

    /// The domain for stack users with its administrator's session, if heat.conf names one.
    async fn stack_domain(&self) -> Result<Option<StackDomain>, CloudError> {
        let cloud = self.session.cloud();
        let Some(login) = cloud.domain_admin_login(self.session.keystone_url()) else {
            return Ok(None);
        };
        let session = self.session.with_login(login);
        let access = session.authorized().await?;
        let id = cloud
            .options()
            .stack_user_domain_id
            .clone()
            .or_else(|| access.domain_id.clone());
        Ok(Some(StackDomain {
            id: id.ok_or_else(CloudError::authorization_failure)?,
            admin: session.service(&KEYSTONE),
        }))
    }
}

struct StackDomain {
    id: String,
    admin: ServiceClient,
}

impl StackDomain {
    async fn find_project(&self, name: &str) -> Result<Option<String>, CloudError> {
        let request = self
            .admin
            .get("projects")
            .query("name", name)
            .query("domain_id", &self.id);
        let projects = request.send_for("projects").await?;
        let found = projects.as_array().and_then(|projects| projects.first());
        Ok(found.and_then(|project| project["id"].as_str()).map(str::to_owned))
    }
}

enum DelegatedRoles {
    Ids(Vec<String>),
    Names(Vec<String>),
}

impl DelegatedRoles {
    fn as_json(&self) -> Value {
        let (key, values) = match self {
            Self::Ids(ids) => ("id", ids),
            Self::Names(names) => ("name", names),
        };
        if values.is_empty() {
            return Value::Null;
        }
        values.iter().map(|value| json!({ key: value })).collect()
    }

    /// The arguments of keystoneclient, which an error shows.
    fn as_keywords(&self) -> Value {
        match self {
            Self::Ids(ids) => json!({ "role_ids": ids }),
            Self::Names(names) => json!({ "role_names": names }),
        }
    }
}

pub(super) fn id_of(object: &Value) -> Result<String, CloudError> {
    object["id"]
        .as_str()
        .map(str::to_owned)
        .ok_or_else(|| CloudError::InvalidResponse {
            url: "Keystone".to_owned(),
            reason: "an object without an id".to_owned(),
        })
}

/// What Python's clients do not say, we do not say either.
pub(super) fn without_nulls(mut object: Value) -> Value {
    if let Some(fields) = object.as_object_mut() {
        fields.retain(|_, value| !value.is_null());
    }
    object
}
