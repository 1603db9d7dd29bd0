//! What a stack keeps of its owner, so that the engine can act for them when they are gone.
//!
//! Either a trust (the engine's own user may act as the owner, within the delegated roles) or, by an old option, the
//! owner's password. These are the values in clear; the table holds the secret ones encrypted.

use std::fmt;

use super::context::RequestContext;
use crate::exception::RemoteException;

/// The values of one `user_creds` row, decrypted.
#[derive(Clone, Default, PartialEq, Eq)]
pub struct UserCredentials {
    pub username: Option<String>,
    pub password: Option<String>,
    pub region_name: Option<String>,
    pub tenant: Option<String>,
    pub tenant_id: Option<String>,
    pub auth_url: Option<String>,
    pub trust_id: Option<String>,
    pub trustor_user_id: Option<String>,
}

#[derive(Debug, thiserror::Error, PartialEq, Eq)]
#[error("Attempt to use stored_context with no user_creds")]
pub struct NoStoredCredentials;

impl RemoteException for NoStoredCredentials {
    fn class_name(&self) -> &'static str {
        "Error"
    }
}

impl UserCredentials {
    /// What to keep of `context`. With a trust the row needs, and gets, neither name nor password.
    pub fn of(context: &RequestContext) -> Self {
        let common = Self {
            region_name: context.region_name.clone(),
            tenant: context.project_name.clone(),
            tenant_id: context.project_id.clone(),
            auth_url: context.auth_url.clone(),
            trustor_user_id: context.trustor_user_id.clone(),
            ..Self::default()
        };
        match context.trust_id.as_deref() {
            None | Some("") => Self {
                username: context.username.clone(),
                password: context.password.clone(),
                ..common
            },
            Some(trust_id) => Self {
                trust_id: Some(trust_id.to_owned()),
                ..common
            },
        }
    }

    /// The context of stored credentials, for work that outlives its caller or is not the caller's.
    ///
    /// Roles and domains are not stored: `roles_unknown` stays set until `Cloud::complete_context` has asked for them,
    /// which must happen before such a context goes on the wire. It is never an administrator's.
    pub fn context(&self, request_id: &str) -> RequestContext {
        RequestContext {
            project_id: self.tenant_id.clone(),
            project_name: self.tenant.clone(),
            username: self.username.clone(),
            password: self.password.clone(),
            trust_id: self.trust_id.clone(),
            trustor_user_id: self.trustor_user_id.clone(),
            auth_url: self.auth_url.clone(),
            region_name: self.region_name.clone(),
            request_id: request_id.to_owned(),
            is_admin_project: true,
            roles_unknown: true,
            ..RequestContext::default()
        }
    }

    /// Whether a trust in these credentials was given by `user_id` for `project_id`.
    ///
    /// If not, the stack has changed hands, and the new owner must give a trust of their own.
    pub fn are_of(&self, user_id: Option<&str>, project_id: Option<&str>) -> bool {
        self.trustor_user_id.as_deref() == user_id && self.tenant_id.as_deref() == project_id
    }
}

/// Names the owner; nothing that authenticates.
impl fmt::Debug for UserCredentials {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("UserCredentials")
            .field("tenant_id", &self.tenant_id)
            .field("trustor_user_id", &self.trustor_user_id)
            .field("has_trust", &self.trust_id.is_some())
            .finish_non_exhaustive()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn caller() -> RequestContext {
        RequestContext {
            username: Some("demo".to_owned()),
            password: Some("hush".to_owned()),
            project_id: Some("p1".to_owned()),
            project_name: Some("demo".to_owned()),
            region_name: Some("RegionOne".to_owned()),
            auth_url: Some("http://keystone/v3/".to_owned()),
            ..RequestContext::default()
        }
    }

    #[test]
    fn a_trust_replaces_name_and_password() {
        let kept = UserCredentials::of(&RequestContext {
            trust_id: Some("t1".to_owned()),
            trustor_user_id: Some("u1".to_owned()),
            ..caller()
        });
        assert_eq!(kept.trust_id.as_deref(), Some("t1"));
        assert_eq!((kept.username, kept.password), (None, None));
        assert_eq!(kept.tenant.as_deref(), Some("demo"));
    }

    #[test]
    fn without_a_trust_the_password_is_kept() {
        let kept = UserCredentials::of(&caller());
        assert_eq!(kept.password.as_deref(), Some("hush"));
        assert_eq!(kept.trust_id, None);
        assert!(!format!("{kept:?}").contains("hush"));
    }

    #[test]
    fn stored_credentials_make_a_context_that_is_nobodys_admin() {
        let kept = UserCredentials::of(&caller());
        let context = kept.context("req-1");
        assert_eq!(context.project_id.as_deref(), Some("p1"));
        assert_eq!(context.request_id, "req-1");
        assert!(!context.is_admin && context.roles_unknown);
    }
}
