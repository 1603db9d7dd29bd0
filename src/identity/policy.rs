//! What a caller may use.

/// The default rule `context_is_admin`: an administrator's role, in a project for administrators.
///
/// Role names have no case.
pub fn is_context_admin(roles: &[String], is_admin_project: bool) -> bool {
    is_admin_project && has_role(roles, "admin")
}

fn has_role(roles: &[String], wanted: &str) -> bool {
    roles.iter().any(|role| role.to_lowercase() == wanted.to_lowercase())
}
