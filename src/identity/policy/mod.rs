//! What a caller may use: the rules for resource types.
//!
//! The API checks who may call what; the engine checks, for each type in a template, whether its user may have such a
//! resource. Only names with a default rule are ever looked up: that is why an operator can open or close these types
//! in the policy file, and no others.

mod check;
mod files;

use std::collections::HashMap;
use std::path::PathBuf;
use std::sync::RwLock;

use super::context::RequestContext;
use crate::exception::RemoteException;
use check::{Check, Credentials};
pub use files::PolicyFileError;
use files::RuleFiles;

/// Rules that other rules refer to.
const BASE_RULES: &[(&str, &str)] = &[
    ("context_is_admin", "(role:admin and is_admin_project:True)"),
    ("project_admin", "role:admin"),
    ("deny_stack_user", "not role:heat_stack_user"),
    ("deny_everybody", "!"),
    ("allow_everybody", ""),
];

/// Types for administrators, unless the policy file says otherwise. A `*` stands for all types of a service.
const RESTRICTED_TYPES: &[&str] = &[
    "OS::Blazar::Host",
    "OS::Cinder::EncryptedVolumeType",
    "OS::Cinder::QoSAssociation",
    "OS::Cinder::QoSSpecs",
    "OS::Cinder::Quota",
    "OS::Cinder::VolumeType",
    "OS::Keystone::*",
    "OS::Manila::ShareType",
    "OS::Neutron::ProviderNet",
    "OS::Neutron::QoSBandwidthLimitRule",
    "OS::Neutron::QoSDscpMarkingRule",
    "OS::Neutron::QoSMinimumBandwidthRule",
    "OS::Neutron::QoSMinimumPacketRateRule",
    "OS::Neutron::QoSPolicy",
    "OS::Neutron::Quota",
    "OS::Neutron::Segment",
    "OS::Nova::Flavor",
    "OS::Nova::HostAggregate",
    "OS::Nova::Quota",
    "OS::Octavia::AvailabilityZone",
    "OS::Octavia::AvailabilityZoneProfile",
    "OS::Octavia::Flavor",
    "OS::Octavia::FlavorProfile",
    "OS::Octavia::Quota",
];

const RESTRICTED_TYPE_RULE: &str = "rule:project_admin";

/// A type that the caller may not use.
#[derive(Clone, Debug, thiserror::Error, PartialEq, Eq)]
#[error("You are not authorized to use {action}.")]
pub struct Forbidden {
    pub action: String,
}

impl RemoteException for Forbidden {
    fn class_name(&self) -> &'static str {
        "Forbidden"
    }
}

/// The rules, as the operator's files have them now.
#[derive(Debug)]
pub struct ResourcePolicy {
    files: RuleFiles,
    rules: RwLock<Rules>,
}

type Rules = HashMap<String, Check>;

impl ResourcePolicy {
    /// Reads the policy file and, over it, the files in `directories`, each in the order of names. What does not exist
    /// says nothing.
    pub fn read(file: Option<PathBuf>, directories: Vec<PathBuf>) -> Result<Self, PolicyFileError> {
        let files = RuleFiles::new(file, directories);
        let rules = rules_with(files.read_if_changed()?.unwrap_or_default());
        Ok(Self {
            files,
            rules: RwLock::new(rules),
        })
    }

    /// The default rules alone.
    pub fn defaults() -> Self {
        Self {
            files: RuleFiles::new(None, Vec::new()),
            rules: RwLock::new(rules_with(Vec::new())),
        }
    }

    /// Whether `context` may have a resource of `type_name`, which need not exist.
    pub fn enforce(&self, context: &RequestContext, type_name: &str) -> Result<(), Forbidden> {
        self.follow_files();
        let rules = self.rules.read().unwrap_or_else(std::sync::PoisonError::into_inner);
        let policy = |name: &str| format!("resource_types:{name}");
        if !allows(&rules, context, &policy(type_name)) {
            return Err(Forbidden {
                action: policy(type_name),
            });
        }
        let service = type_name
            .rsplit_once("::")
            .map_or(String::new(), |(service, _)| format!("{service}::"));
        if !allows(&rules, context, &policy(&format!("{service}*"))) {
            return Err(Forbidden {
                action: type_name.to_owned(),
            });
        }
        Ok(())
    }

    /// As [`Self::enforce`] for all types of a template: the first one that is forbidden counts.
    pub fn enforce_all<'a>(
        &self,
        context: &RequestContext,
        type_names: impl IntoIterator<Item = &'a str>,
    ) -> Result<(), Forbidden> {
        type_names
            .into_iter()
            .try_for_each(|type_name| self.enforce(context, type_name))
    }

    /// An operator's change takes effect with the next request; one that cannot be read takes none.
    fn follow_files(&self) {
        match self.files.read_if_changed() {
            Ok(None) => {}
            Ok(Some(overrides)) => {
                *self.rules.write().unwrap_or_else(std::sync::PoisonError::into_inner) = rules_with(overrides);
            }
            Err(error) => tracing::error!(%error, "policy files changed and cannot be read: the old rules stay"),
        }
    }
}

fn rules_with(overrides: Vec<(String, Check)>) -> Rules {
    let base = BASE_RULES
        .iter()
        .map(|(name, rule)| ((*name).to_owned(), Check::parse(rule)));
    let restricted = RESTRICTED_TYPES
        .iter()
        .map(|name| (format!("resource_types:{name}"), Check::parse(RESTRICTED_TYPE_RULE)));
    base.chain(restricted).chain(overrides).collect()
}

fn allows(rules: &Rules, context: &RequestContext, policy: &str) -> bool {
    let is_restricted = policy
        .strip_prefix("resource_types:")
        .is_some_and(|name| RESTRICTED_TYPES.contains(&name));
    if !is_restricted {
        return true;
    }
    has_project_scope(context)
        && rules
            .get(policy)
            .is_none_or(|check| check.passes(&Credentials::of(context), rules))
}

/// Tokens for a domain or for the system are not for projects' resources.
fn has_project_scope(context: &RequestContext) -> bool {
    let is_empty = |value: &Option<String>| value.as_deref().is_none_or(str::is_empty);
    is_empty(&context.system_scope) && is_empty(&context.domain_id)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn user_with(roles: &[&str]) -> RequestContext {
        RequestContext {
            project_id: Some("p1".to_owned()),
            roles: roles.iter().map(|role| (*role).to_owned()).collect(),
            ..RequestContext::default()
        }
    }

    #[test]
    fn some_types_are_for_administrators() {
        let policy = ResourcePolicy::defaults();
        let member = user_with(&["member"]);
        let admin = user_with(&["Admin"]);
        assert_eq!(policy.enforce(&member, "OS::Heat::None"), Ok(()));
        assert_eq!(policy.enforce(&member, "My::Own"), Ok(()));
        assert_eq!(policy.enforce(&admin, "OS::Keystone::Project"), Ok(()));
        assert_eq!(policy.enforce(&admin, "OS::Nova::Flavor"), Ok(()));
        assert_eq!(
            policy
                .enforce(&member, "OS::Keystone::Project")
                .unwrap_err()
                .to_string(),
            "You are not authorized to use OS::Keystone::Project."
        );
        assert_eq!(
            policy.enforce(&member, "OS::Nova::Flavor").unwrap_err().to_string(),
            "You are not authorized to use resource_types:OS::Nova::Flavor."
        );
    }

    #[test]
    fn a_domains_token_is_not_for_restricted_types() {
        let admin = RequestContext {
            domain_id: Some("d1".to_owned()),
            ..user_with(&["admin"])
        };
        assert!(ResourcePolicy::defaults().enforce(&admin, "OS::Nova::Flavor").is_err());
    }

    #[test]
    fn the_first_forbidden_type_is_named() {
        let types = ["OS::Heat::None", "OS::Nova::Quota", "OS::Nova::Flavor"];
        let refused = ResourcePolicy::defaults().enforce_all(&user_with(&[]), types);
        assert_eq!(refused.unwrap_err().action, "resource_types:OS::Nova::Quota");
    }
}
