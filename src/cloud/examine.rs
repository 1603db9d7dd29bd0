//! Whether Keystone and the engine's own users are as heat.conf says, for an operator who asks.

use std::sync::Arc;

use reqwest::Method;
use serde_json::Value;

use super::access::Access;
use super::error::CloudError;
use super::login::{LoginRequest, Scope, parse_url};
use super::service::KEYSTONE;
use super::session::Session;
use super::transport::Request;
use super::{Cloud, login, v3};

/// What the questions are asked under.
const REQUEST_ID: &str = "req-doctor";

impl Cloud {
    /// Where Keystone is, as heat.conf says it, with its version.
    pub fn configured_keystone(&self) -> Option<String> {
        self.options().configured_auth_url().map(v3)
    }

    /// Asks an address whether Keystone is there; the answer is the version of its API.
    pub async fn greet(&self, keystone_url: &str) -> Result<String, CloudError> {
        let mut request = Request::new(KEYSTONE.name, Method::GET, parse_url(keystone_url)?);
        request.set_request_id(REQUEST_ID);
        let response = self.transport().send(&request).await?;
        match response.json_under("version")?.get("id").and_then(Value::as_str) {
            Some(version) => Ok(version.to_owned()),
            None => Err(response.invalid("it names no version".to_owned())),
        }
    }

    /// The engine's own user, to whom the owners of stacks delegate.
    pub async fn trustee_access(&self, keystone_url: &str) -> Result<Arc<Access>, CloudError> {
        let login = self.trustee_login(keystone_url, Scope::Default)?;
        self.log_in(&login, None, REQUEST_ID).await
    }

    /// The administrator of the domain of stack users; `None` if heat.conf names no such domain.
    pub async fn domain_admin_access(&self, keystone_url: &str) -> Option<Result<Arc<Access>, CloudError>> {
        let login = self.domain_admin_login(keystone_url)?;
        Some(self.log_in(&login, None, REQUEST_ID).await)
    }

    /// Whether Keystone has a role of that name, as the administrator of the domain of stack users sees it.
    pub async fn has_role(&self, keystone_url: &str, name: &str) -> Option<Result<bool, CloudError>> {
        let login = self.domain_admin_login(keystone_url)?;
        Some(self.find_role(login, name).await)
    }

    async fn find_role(&self, request: LoginRequest, name: &str) -> Result<bool, CloudError> {
        let keystone_url = request.keystone_url.clone();
        let session = Session::new(
            self.clone(),
            login(request),
            keystone_url.clone(),
            None,
            None,
            REQUEST_ID.to_owned(),
        );
        let keystone = session.service(&KEYSTONE).at(keystone_url);
        let roles = keystone.get("roles").query("name", name).send_for("roles").await?;
        Ok(roles.as_array().is_some_and(|roles| !roles.is_empty()))
    }
}
