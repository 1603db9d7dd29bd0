//! Asks Keystone whether it is there, and logs in as the users that the engine has of its own.

use tokio::time::timeout;

use super::report::{Area, Report};
use super::{PATIENCE, tell_silence};
use crate::cloud::{Cloud, CloudError};
use crate::settings::{DeferredAuthMethod, Settings};

pub async fn look(settings: &Settings, cloud: &Cloud, report: &mut Report) {
    let Some(keystone_url) = cloud.configured_keystone() else {
        report.warning(
            Area::Identity,
            "heat.conf does not say where Keystone is",
            "the engine's own users cannot log in where a request does not say it either",
            "set [clients_keystone] auth_uri",
        );
        return;
    };
    let Some(greeting) = in_time(
        &format!("Keystone at {keystone_url}"),
        cloud.greet(&keystone_url),
        report,
    )
    .await
    else {
        return;
    };
    match greeting {
        Ok(version) => report.fine(Area::Identity, format!("Keystone {version} answers at {keystone_url}")),
        Err(CloudError::Http(error)) if error.status >= 500 => {
            report.problem(
                Area::Identity,
                format!(
                    "Keystone at {keystone_url} answers with HTTP {}: {}",
                    error.status, error.message
                ),
                "no stack can be created, and none that needs a service can change",
                KEYSTONE_FAILS,
            );
            return;
        }
        Err(error) => {
            report.problem(
                Area::Identity,
                format!("Keystone does not answer at {keystone_url}: {error}"),
                "no stack can be created, and none that needs a service can change",
                "start Keystone, or correct [clients_keystone] auth_uri and the certificates of [clients]",
            );
            return;
        }
    }
    if settings.engine.deferred_auth_method == DeferredAuthMethod::Trusts {
        look_at_trustee(settings, cloud, &keystone_url, report).await;
    }
    look_at_stack_domain(settings, cloud, &keystone_url, report).await;
}

/// The answer; `None` if there is none for too long, which is told.
async fn in_time<T>(who: &str, asking: impl Future<Output = T>, report: &mut Report) -> Option<T> {
    let answer = timeout(PATIENCE, asking).await.ok();
    if answer.is_none() {
        tell_silence(Area::Identity, who, report);
    }
    answer
}

async fn look_at_trustee(settings: &Settings, cloud: &Cloud, keystone_url: &str, report: &mut Report) {
    let url = settings.trustee.auth_url.as_deref().unwrap_or(keystone_url);
    let who = format!(
        "Keystone, where [trustee] {} logs in, at {url},",
        name_of_trustee(settings)
    );
    let Some(access) = in_time(&who, cloud.trustee_access(keystone_url), report).await else {
        return;
    };
    match access {
        Ok(_) => report.fine(
            Area::Identity,
            format!("[trustee] {} can log in", name_of_trustee(settings)),
        ),
        Err(error) => report.problem(
            Area::Identity,
            format!(
                "[trustee] {} cannot log in: {}",
                name_of_trustee(settings),
                told(&error)
            ),
            "owners of stacks delegate to this user: without it no stack can be created, and none that needs a service \
             can change",
            remedy(&error, "correct username, password and domain in [trustee]"),
        ),
    }
}

fn name_of_trustee(settings: &Settings) -> &str {
    let trustee = &settings.trustee;
    let name = trustee.username.as_deref().or(trustee.user_id.as_deref());
    name.unwrap_or("(no user)")
}

async fn look_at_stack_domain(settings: &Settings, cloud: &Cloud, keystone_url: &str, report: &mut Report) {
    let admin = settings.engine.stack_domain_admin.as_deref().unwrap_or_default();
    let role = &settings.engine.heat_stack_user_role;
    let who = format!("Keystone, where {admin} logs in, at {keystone_url},");
    let Some(access) = in_time(&who, cloud.domain_admin_access(keystone_url), report).await else {
        return;
    };
    match access {
        // The configuration warns of it.
        None => return,
        Some(Ok(access)) => {
            report.fine(
                Area::Identity,
                format!("{admin}, who makes users for stacks, can log in to their domain"),
            );
            judge_roles(admin, &access.role_names(), report);
        }
        Some(Err(error)) => {
            report.problem(
                Area::Identity,
                format!("{admin} cannot log in to the domain of stack users: {}", told(&error)),
                "wait conditions, software deployments and auto-scaling need users there",
                remedy(
                    &error,
                    "run `heat-keystone-setup-domain`, or correct stack_user_domain_id or _name, stack_domain_admin and \
                     stack_domain_admin_password in [DEFAULT]",
                ),
            );
            return;
        }
    }
    let Some(has_role) = in_time(&who, cloud.has_role(keystone_url, role), report).await else {
        return;
    };
    match has_role {
        Some(Ok(false)) => report.problem(
            Area::Identity,
            format!("there is no role {role}"),
            "users that stacks make get it",
            "`openstack role create`, or correct [DEFAULT] heat_stack_user_role",
        ),
        Some(Ok(true)) => report.fine(Area::Identity, format!("there is a role {role}")),
        // That an administrator of a domain may not list roles is no fault of theirs.
        Some(Err(error)) => report.unseen(
            Area::Identity,
            format!(
                "whether there is a role {role}: {admin} may not list roles ({})",
                told(&error)
            ),
            "users that stacks make get it; without it their stacks fail",
            "`openstack role show`, as an administrator of the cloud",
        ),
        None => {}
    }
}

/// By Keystone's own rules; a cloud's policy may say otherwise, and is not asked: that would take making a user.
fn judge_roles(admin: &str, roles: &[String], report: &mut Report) {
    const MAKE_USERS: [&str; 2] = ["admin", "manager"];
    if roles
        .iter()
        .any(|role| MAKE_USERS.contains(&role.to_lowercase().as_str()))
    {
        return;
    }
    report.warning(
        Area::Identity,
        format!("{admin} has no role `admin` in the domain of stack users, only {}", roles.join(", ")),
        "by Keystone's own policy only an administrator of the domain makes users there: wait conditions, software \
         deployments and auto-scaling need them",
        "`openstack role add --user-domain DOMAIN --user USER --domain DOMAIN admin`, if the policy of this cloud is not \
         another one",
    );
}

const KEYSTONE_FAILS: &str = "Keystone itself fails: look into its log";

/// Credentials are to be corrected where Keystone has looked at them, or where they are incomplete.
fn remedy<'a>(error: &CloudError, of_credentials: &'a str) -> &'a str {
    match error {
        CloudError::Http(error) if matches!(error.status, 401 | 403) => of_credentials,
        CloudError::Http(error) if error.status >= 500 => KEYSTONE_FAILS,
        CloudError::Connect { .. } | CloudError::Timeout { .. } | CloudError::Tls { .. } => {
            "see that Keystone can be reached from here, at each attempt"
        }
        CloudError::MissingCredential { .. }
        | CloudError::AuthorizationFailure { .. }
        | CloudError::Misconfigured(_) => of_credentials,
        _ => "see what Keystone says, and look into its log",
    }
}

fn told(error: &CloudError) -> String {
    match error {
        CloudError::Http(error) => error.message.clone(),
        other => other.to_string(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::doctor::Severity;

    #[test]
    fn credentials_are_to_be_corrected_if_keystone_refuses_them() {
        let remedy_of = |status| {
            let error = crate::cloud::HttpError {
                status,
                message: String::new(),
                request_id: None,
                retry_after: None,
                wording: crate::cloud::Wording::Keystoneauth,
            };
            remedy(&CloudError::Http(error), "correct them")
        };
        assert_eq!((remedy_of(401), remedy_of(403)), ("correct them", "correct them"));
        assert_eq!((remedy_of(500), remedy_of(503)), (KEYSTONE_FAILS, KEYSTONE_FAILS));
        assert_ne!(remedy_of(404), "correct them");
    }

    #[test]
    fn who_makes_users_is_an_administrator() {
        let severity = |roles: &[&str]| {
            let mut report = Report::default();
            let roles: Vec<String> = roles.iter().map(|role| (*role).to_owned()).collect();
            judge_roles("heat_domain_admin", &roles, &mut report);
            report.severity()
        };
        assert_eq!(severity(&["reader", "Admin"]), Severity::Fine);
        assert_eq!(severity(&["member", "reader"]), Severity::Warning);
    }
}
