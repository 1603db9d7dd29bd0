//! Finding what a request names, and only for those who may see it.

use serde_json::Value;

use super::arguments::Signature;
use super::error::RequestError;
use crate::identity::RequestContext;
use crate::stack::identifier::Identifier;
use crate::stack::services::Services;
use crate::store::{Deleted, Scope, Stack};

const IDENTITY: Signature = Signature::new(&["tenant", "stack_name", "stack_id"], &["path"]);

/// A stack as a client names it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct StackIdentity {
    pub tenant: String,
    pub stack_name: String,
    pub stack_id: String,
    pub path: String,
}

impl StackIdentity {
    pub fn read(value: Option<&Value>) -> Result<Self, RequestError> {
        let Some(Value::Object(parts)) = value else {
            return Err(RequestError::TypeError(format!(
                "heat.common.identifier.HeatIdentifier() argument after ** must be a mapping, not {}",
                crate::python::value::class_name(value.unwrap_or(&Value::Null))
            )));
        };
        IDENTITY.check("HeatIdentifier.__init__", parts)?;
        let text = |name: &str| {
            parts
                .get(name)
                .filter(|part| !part.is_null())
                .map(crate::python::to_text)
        };
        let identity = Self {
            tenant: parts.get("tenant").map(crate::python::to_text).unwrap_or_default(),
            stack_name: text("stack_name").unwrap_or_default(),
            stack_id: text("stack_id").unwrap_or_default(),
            path: text("path").unwrap_or_default(),
        };
        if identity.stack_name.contains('/') {
            return Err(RequestError::ValueError("Stack name may not contain \"/\"".to_owned()));
        }
        Ok(identity)
    }
}

/// Whose stacks a caller sees. An administrator sees all; a caller without a project none.
pub fn scope_of(context: &RequestContext) -> Scope {
    if context.is_admin {
        Scope::Everyone
    } else {
        Scope::Project(context.project_id.clone().unwrap_or_default())
    }
}

/// The row of the stack that a request is about.
pub async fn stack(
    services: &Services,
    context: &RequestContext,
    identity: Option<&Value>,
    deleted: Deleted,
) -> Result<Stack, RequestError> {
    let identity = StackIdentity::read(identity)?;
    let not_found = || RequestError::EntityNotFound {
        entity: "Stack",
        name: identity.stack_name.clone(),
    };
    let deleted = if context.show_deleted { Deleted::Shown } else { deleted };
    let found = services
        .store
        .stack_get(&identity.stack_id, &scope_of(context), deleted)
        .await?;
    let stack = found.ok_or_else(not_found)?;
    context.check_tenant(&identity.tenant, stack.stack_user_project_id.as_deref())?;
    if !identity.path.is_empty() || stack.name != identity.stack_name {
        return Err(not_found());
    }
    Ok(stack)
}

/// The caller's stack of that name.
pub async fn stack_by_name(
    services: &Services,
    context: &RequestContext,
    name: &str,
) -> Result<Option<Stack>, RequestError> {
    let Some(project) = &context.project_id else {
        return Ok(None);
    };
    let deleted = if context.show_deleted {
        Deleted::Shown
    } else {
        Deleted::Hidden
    };
    Ok(services.store.stack_get_by_name(name, project, deleted).await?)
}

pub fn identifier(stack: &Stack) -> Identifier {
    Identifier::stack(
        stack.tenant.as_deref().unwrap_or_default(),
        &*stack.name,
        Some(&stack.id),
    )
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn error(value: Value) -> String {
        StackIdentity::read(Some(&value)).unwrap_err().to_string()
    }

    #[test]
    fn an_identity_has_three_parts() {
        assert_eq!(
            error(json!({"tenant": "t"})),
            "HeatIdentifier.__init__() missing 2 required positional arguments: 'stack_name' and 'stack_id'"
        );
        assert_eq!(
            error(json!("web")),
            "heat.common.identifier.HeatIdentifier() argument after ** must be a mapping, not str"
        );
        assert_eq!(
            error(json!({"tenant": "t", "stack_name": "a/b", "stack_id": "1"})),
            "Stack name may not contain \"/\""
        );
    }
}
