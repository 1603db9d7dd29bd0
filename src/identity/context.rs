//! The request context: who asks for what, as it travels with every frame on the bus.
//!
//! A context arrives from heat-api, is held while the engine works, and leaves again with each cast and notification.
//! Key order, defaults and what a notification leaves out are part of the wire, so that nobody can tell which engine
//! passed a context on.

use std::fmt;
use std::sync::Arc;

use serde_json::{Map, Value};

use crate::exception::RemoteException;

/// How deep the values of a context may nest; a token's catalogue needs six levels.
const MAX_DEPTH: usize = 32;

/// The caller of a request, or the owner of a stack on whose behalf the engine acts.
///
/// Cheap to clone: the one large part, the token's description with its catalogue, is shared.
#[derive(Clone, Default, PartialEq)]
pub struct RequestContext {
    pub user_id: Option<String>,
    pub project_id: Option<String>,
    pub project_name: Option<String>,
    pub system_scope: Option<String>,
    pub domain_id: Option<String>,
    pub user_domain_id: Option<String>,
    pub project_domain_id: Option<String>,
    pub is_admin: bool,
    pub is_admin_project: bool,
    pub read_only: bool,
    pub show_deleted: bool,
    pub auth_token: Option<String>,
    pub request_id: String,
    pub global_request_id: Option<String>,
    pub resource_uuid: Option<String>,
    pub roles: Vec<String>,
    /// The name given with a password, or else the user's name.
    pub username: Option<String>,
    pub password: Option<String>,
    pub aws_creds: Option<String>,
    pub trust_id: Option<String>,
    pub trustor_user_id: Option<String>,
    /// Keystone's answer when the caller's token was checked: `{"token": {…, "catalog": […]}}`.
    pub auth_token_info: Option<Arc<Value>>,
    pub auth_url: Option<String>,
    pub region_name: Option<String>,
    /// What osprofiler needs to join the caller's trace; passed on unread.
    pub trace_info: Option<Arc<Value>>,
    /// True for a context made of stored credentials whose roles and domains Keystone has not been asked for yet.
    pub roles_unknown: bool,
}

#[derive(Debug, thiserror::Error, PartialEq, Eq)]
pub enum ContextError {
    #[error("request context: {key} is not {expected}")]
    WrongType { key: &'static str, expected: &'static str },
    #[error("request context: {0} nests too deeply")]
    TooDeep(&'static str),
}

/// A request for another project's stack.
#[derive(Debug, thiserror::Error, PartialEq, Eq)]
#[error("Searching Tenant {target} from Tenant {actual} forbidden.")]
pub struct InvalidTenant {
    pub target: String,
    pub actual: String,
}

impl RemoteException for InvalidTenant {
    fn class_name(&self) -> &'static str {
        "InvalidTenant"
    }
}

impl RequestContext {
    /// Reads the context of a frame: its `_context_…` keys without that prefix.
    ///
    /// `new_request_id` names the request when the frame does not.
    pub fn from_wire(
        values: &Map<String, Value>,
        new_request_id: impl FnOnce() -> String,
    ) -> Result<Self, ContextError> {
        let reader = Reader(values);
        let user_name = reader.text("user_name")?;
        let password = reader.text("password")?;
        let mut username = reader.text("username")?;
        if username.is_none() && password.is_none() {
            username = user_name;
        }
        let roles = reader.roles()?;
        let is_admin_project = reader.flag("is_admin_project", true)?;
        let is_admin = match values.get("is_admin") {
            Some(Value::Null) => is_admin(&roles, is_admin_project),
            _ => reader.flag("is_admin", false)?,
        };
        Ok(Self {
            user_id: reader.text_or_older("user_id", "user")?,
            project_id: reader.text_or_older("tenant_id", "project_id")?,
            project_name: reader.text_or_older("tenant", "project_name")?,
            system_scope: reader.text("system_scope")?,
            domain_id: reader.text("domain")?,
            user_domain_id: reader.text_or_older("user_domain_id", "user_domain")?,
            project_domain_id: reader.text_or_older("project_domain_id", "project_domain")?,
            is_admin,
            is_admin_project,
            read_only: reader.flag("read_only", false)?,
            show_deleted: reader.flag("show_deleted", false)?,
            auth_token: reader.text("auth_token")?,
            request_id: reader
                .text("request_id")?
                .filter(|id| !id.is_empty())
                .unwrap_or_else(new_request_id),
            global_request_id: reader.text("global_request_id")?,
            resource_uuid: reader.text("resource_uuid")?,
            roles,
            username,
            password,
            aws_creds: reader.text("aws_creds")?,
            trust_id: reader.text("trust_id")?,
            trustor_user_id: reader.text("trustor_user_id")?,
            auth_token_info: reader.object("auth_token_info")?,
            auth_url: reader.text("auth_url")?,
            region_name: reader.text("region_name")?,
            trace_info: reader.object("trace_info")?,
            roles_unknown: false,
        })
    }

    /// The engine's own context, which sees every project.
    pub fn admin(request_id: String) -> Self {
        Self {
            request_id,
            is_admin: true,
            is_admin_project: true,
            ..Self::default()
        }
    }

    /// What goes with a cast or call, before the transport adds its prefix to each key.
    pub fn to_wire(&self) -> Map<String, Value> {
        let mut wire = Map::new();
        let mut put = |key: &str, value: Value| {
            wire.insert(key.to_owned(), value);
        };
        put("user", text(&self.user_id));
        put("project_id", text(&self.project_id));
        put("system_scope", text(&self.system_scope));
        put("project", text(&self.project_id));
        put("domain", text(&self.domain_id));
        put("user_domain", text(&self.user_domain_id));
        put("project_domain", text(&self.project_domain_id));
        put("is_admin", Value::Bool(self.is_admin));
        put("read_only", Value::Bool(self.read_only));
        put("show_deleted", Value::Bool(self.show_deleted));
        put("auth_token", text(&self.auth_token));
        put("request_id", Value::String(self.request_id.clone()));
        put("global_request_id", text(&self.global_request_id));
        put("resource_uuid", text(&self.resource_uuid));
        put("roles", Value::from(self.roles.clone()));
        put("user_identity", Value::String(self.user_identity()));
        put("is_admin_project", Value::Bool(self.is_admin_project));
        put("username", text(&self.username));
        put("password", text(&self.password));
        put("aws_creds", text(&self.aws_creds));
        put("trust_id", text(&self.trust_id));
        put("trustor_user_id", text(&self.trustor_user_id));
        put("auth_token_info", object(&self.auth_token_info));
        put("auth_url", text(&self.auth_url));
        put("region_name", text(&self.region_name));
        put("project_name", text(&self.project_name));
        if let Some(trace_info) = &self.trace_info {
            put("trace_info", trace_info.as_ref().clone());
        }
        wire
    }

    /// What goes with a notification, whose readers must not learn anything that authenticates.
    pub fn redacted(&self) -> Self {
        Self {
            user_id: self.user_id.clone(),
            project_id: self.project_id.clone(),
            project_name: self.project_name.clone(),
            system_scope: self.system_scope.clone(),
            domain_id: self.domain_id.clone(),
            user_domain_id: self.user_domain_id.clone(),
            project_domain_id: self.project_domain_id.clone(),
            is_admin: self.is_admin,
            is_admin_project: true,
            request_id: self.request_id.clone(),
            global_request_id: self.global_request_id.clone(),
            roles: self.roles.clone(),
            trace_info: self.trace_info.clone(),
            ..Self::default()
        }
    }

    /// Five ids in a row, as log lines and frames carry them.
    pub fn user_identity(&self) -> String {
        let or_dash = |value: &Option<String>| match value.as_deref() {
            None | Some("") => "-".to_owned(),
            Some(value) => value.to_owned(),
        };
        [
            &self.user_id,
            &self.project_id,
            &self.domain_id,
            &self.user_domain_id,
            &self.project_domain_id,
        ]
        .map(or_dash)
        .join(" ")
    }

    /// The id that ties this request to what other services do for it.
    pub fn global_id(&self) -> &str {
        match self.global_request_id.as_deref() {
            None | Some("") => &self.request_id,
            Some(id) => id,
        }
    }

    /// Whether this context may see a stack of `tenant`, or, as one of its stack users, of `stack_user_project_id`.
    ///
    /// To those who may not, the stack does not exist.
    pub fn may_see(&self, tenant: Option<&str>, stack_user_project_id: Option<&str>) -> bool {
        self.is_admin || self.is_in(tenant) || self.is_in(stack_user_project_id)
    }

    /// The same question for an identity that a client has sent: `tenant` is what the client claims.
    pub fn check_tenant(&self, tenant: &str, stack_user_project_id: Option<&str>) -> Result<(), InvalidTenant> {
        if self.may_see(Some(tenant), stack_user_project_id) {
            return Ok(());
        }
        Err(InvalidTenant {
            target: tenant.to_owned(),
            actual: self.project_id.clone().unwrap_or_else(|| "None".to_owned()),
        })
    }

    /// No project is never "the same project": a caller without one must not meet a stack without one.
    fn is_in(&self, project: Option<&str>) -> bool {
        project.is_some() && self.project_id.as_deref() == project
    }

    /// The span under which work for this request is logged. The log puts these fields where oslo.log has them.
    pub fn span(&self) -> tracing::Span {
        tracing::info_span!(
            "request",
            request_id = %self.request_id,
            global_request_id = self.global_request_id.as_deref(),
            user = self.user_id.as_deref(),
            project = self.project_id.as_deref(),
            domain = self.domain_id.as_deref(),
            system_scope = self.system_scope.as_deref(),
            user_domain = self.user_domain_id.as_deref(),
            project_domain = self.project_domain_id.as_deref(),
        )
    }
}

/// Names the request and its caller; nothing that authenticates.
impl fmt::Debug for RequestContext {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("RequestContext")
            .field("request_id", &self.request_id)
            .field("user_identity", &self.user_identity())
            .field("is_admin", &self.is_admin)
            .field("roles", &self.roles)
            .finish_non_exhaustive()
    }
}

fn text(value: &Option<String>) -> Value {
    value.clone().map_or(Value::Null, Value::String)
}

fn object(value: &Option<Arc<Value>>) -> Value {
    value.as_deref().cloned().unwrap_or(Value::Null)
}

struct Reader<'a>(&'a Map<String, Value>);

impl Reader<'_> {
    fn text(&self, key: &'static str) -> Result<Option<String>, ContextError> {
        match self.0.get(key) {
            None | Some(Value::Null) => Ok(None),
            Some(Value::String(text)) => Ok(Some(text.clone())),
            Some(_) => Err(ContextError::WrongType { key, expected: "text" }),
        }
    }

    /// Callers of older releases name some values differently; where they do, their name counts.
    fn text_or_older(&self, older: &'static str, key: &'static str) -> Result<Option<String>, ContextError> {
        self.text(if self.0.contains_key(older) { older } else { key })
    }

    fn flag(&self, key: &'static str, default: bool) -> Result<bool, ContextError> {
        match self.0.get(key) {
            None => Ok(default),
            Some(Value::Null) => Ok(false),
            Some(Value::Bool(flag)) => Ok(*flag),
            Some(_) => Err(ContextError::WrongType {
                key,
                expected: "true or false",
            }),
        }
    }

    fn roles(&self) -> Result<Vec<String>, ContextError> {
        let wrong = ContextError::WrongType {
            key: "roles",
            expected: "a list of names",
        };
        match self.0.get("roles") {
            None | Some(Value::Null) => Ok(Vec::new()),
            Some(Value::Array(roles)) => roles
                .iter()
                .map(|role| role.as_str().map(str::to_owned))
                .collect::<Option<_>>()
                .ok_or(wrong),
            Some(_) => Err(wrong),
        }
    }

    fn object(&self, key: &'static str) -> Result<Option<Arc<Value>>, ContextError> {
        match self.0.get(key) {
            None | Some(Value::Null) => Ok(None),
            Some(value @ Value::Object(_)) if is_shallow(value, MAX_DEPTH) => Ok(Some(Arc::new(value.clone()))),
            Some(Value::Object(_)) => Err(ContextError::TooDeep(key)),
            Some(_) => Err(ContextError::WrongType { key, expected: "a map" }),
        }
    }
}

fn is_shallow(value: &Value, levels: usize) -> bool {
    let Some(below) = levels.checked_sub(1) else {
        return false;
    };
    match value {
        Value::Array(items) => items.iter().all(|item| is_shallow(item, below)),
        Value::Object(items) => items.values().all(|item| is_shallow(item, below)),
        _ => true,
    }
}

/// The default rule `context_is_admin`: an administrator's role, in a project for administrators.
fn is_admin(roles: &[String], is_admin_project: bool) -> bool {
    is_admin_project && roles.iter().any(|role| role.to_lowercase() == "admin")
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn from_api() -> Map<String, Value> {
        let Value::Object(wire) = json!({
            "user": "u1", "project_id": "p1", "system_scope": null, "project": "p1", "domain": null,
            "user_domain": "default", "project_domain": "default", "is_admin": false, "read_only": false,
            "show_deleted": false, "auth_token": "TOKEN", "request_id": "req-1", "global_request_id": null,
            "resource_uuid": null, "roles": ["reader", "member"], "user_identity": "u1 p1 - default default",
            "is_admin_project": true, "username": "demo", "password": null, "aws_creds": null, "trust_id": null,
            "trustor_user_id": null, "auth_token_info": {"token": {"methods": ["password"]}},
            "auth_url": "http://127.0.0.1:15000/v3/", "region_name": "RegionOne", "project_name": "demo"
        }) else {
            unreachable!()
        };
        wire
    }

    fn read(wire: &Map<String, Value>) -> Result<RequestContext, ContextError> {
        RequestContext::from_wire(wire, || "req-new".to_owned())
    }

    #[test]
    fn a_context_leaves_as_it_came() {
        let wire = from_api();
        let passed_on = read(&wire).unwrap().to_wire();
        assert_eq!(
            serde_json::to_string(&passed_on).unwrap(),
            serde_json::to_string(&wire).unwrap()
        );
    }

    #[test]
    fn a_notification_tells_nothing_that_authenticates() {
        let mut expected = from_api();
        for key in ["auth_token", "username", "auth_token_info", "auth_url", "region_name"] {
            expected.insert(key.to_owned(), Value::Null);
        }
        let redacted = read(&from_api()).unwrap().redacted().to_wire();
        assert_eq!(
            serde_json::to_string(&redacted).unwrap(),
            serde_json::to_string(&expected).unwrap()
        );
    }

    #[test]
    fn an_unnamed_request_gets_a_name() {
        let mut wire = from_api();
        wire.insert("request_id".to_owned(), Value::Null);
        assert_eq!(read(&wire).unwrap().request_id, "req-new");
    }

    #[test]
    fn names_of_older_releases_count() {
        let mut wire = from_api();
        wire.insert("tenant_id".to_owned(), json!("older"));
        wire.insert("tenant".to_owned(), json!("older-name"));
        let context = read(&wire).unwrap();
        assert_eq!(context.project_id.as_deref(), Some("older"));
        assert_eq!(context.project_name.as_deref(), Some("older-name"));
    }

    #[test]
    fn wrong_types_are_refused() {
        let mut wire = from_api();
        wire.insert("roles".to_owned(), json!("admin"));
        assert_eq!(
            read(&wire).unwrap_err().to_string(),
            "request context: roles is not a list of names"
        );
        let mut wire = from_api();
        wire.insert("is_admin".to_owned(), json!("yes"));
        assert!(read(&wire).is_err());
        let deep = (0..40).fold(json!({}), |inner, _| json!({ "a": inner }));
        let mut wire = from_api();
        wire.insert("auth_token_info".to_owned(), deep);
        assert_eq!(read(&wire).unwrap_err(), ContextError::TooDeep("auth_token_info"));
    }

    #[test]
    fn debug_text_keeps_secrets() {
        let mut context = read(&from_api()).unwrap();
        context.password = Some("hush".to_owned());
        let text = format!("{context:?}");
        assert!(!text.contains("TOKEN") && !text.contains("hush"), "{text}");
    }

    #[test]
    fn projects_are_isolated() {
        let context = read(&from_api()).unwrap();
        assert!(context.may_see(Some("p1"), None));
        assert!(context.may_see(Some("other"), Some("p1")));
        assert!(!context.may_see(Some("other"), Some("users")));
        assert!(!RequestContext::default().may_see(Some("other"), None));
        assert_eq!(
            context.check_tenant("other", None).unwrap_err().to_string(),
            "Searching Tenant other from Tenant p1 forbidden."
        );
        assert!(RequestContext::admin("req-1".to_owned()).may_see(Some("other"), None));
    }
}
