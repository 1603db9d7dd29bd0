//! Asks Keystone whether it is there, and logs in as the users that the engine has of its own.

use super::report::{Area, Report};
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
    match cloud.greet(&keystone_url).await {
        Ok(version) => report.fine(Area::Identity, format!("Keystone {version} answers at {keystone_url}")),
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

async fn look_at_trustee(settings: &Settings, cloud: &Cloud, keystone_url: &str, report: &mut Report) {
    match cloud.trustee_access(keystone_url).await {
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
            "correct username, password and domain in [trustee]",
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
    match cloud.domain_admin_access(keystone_url).await {
        // The configuration warns of it.
        None => return,
        Some(Ok(_)) => report.fine(
            Area::Identity,
            format!("{admin}, who makes users for stacks, can log in to their domain"),
        ),
        Some(Err(error)) => {
            report.problem(
                Area::Identity,
                format!("{admin} cannot log in to the domain of stack users: {}", told(&error)),
                "wait conditions, software deployments and auto-scaling need users there",
                "run `heat-keystone-setup-domain`, or correct stack_user_domain_id or _name, stack_domain_admin and \
                 stack_domain_admin_password in [DEFAULT]",
            );
            return;
        }
    }
    match cloud.has_role(keystone_url, role).await {
        Some(Ok(false)) => report.problem(
            Area::Identity,
            format!("there is no role {role}"),
            "users that stacks make get it",
            "`openstack role create`, or correct [DEFAULT] heat_stack_user_role",
        ),
        Some(Ok(true)) => report.fine(Area::Identity, format!("there is a role {role}")),
        // That an administrator of a domain may not list roles is no fault of theirs.
        Some(Err(_)) | None => {}
    }
}

fn told(error: &CloudError) -> String {
    match error {
        CloudError::Http(error) => error.message.clone(),
        other => other.to_string(),
    }
}
