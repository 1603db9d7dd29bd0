//! What properties ask of services: whether a value names something (custom constraints), and what its id is
//! (translation rules that resolve). A line for each question that exists.

use std::time::Duration;

use async_trait::async_trait;
use serde_json::Value;

use crate::cloud::{Entity, Session};
use crate::python::to_text;
use crate::resource::constraints::CustomConstraints;
use crate::resource::formats;
use crate::resource::translation::{Finder, NameFinder};

/// Asks in the name of a session.
pub struct Questions<'a> {
    session: &'a Session,
}

const KEYSTONE_CONSTRAINTS: &[(&str, Entity)] = &[
    ("keystone.domain", Entity::Domain),
    ("keystone.group", Entity::Group),
    ("keystone.project", Entity::Project),
    ("keystone.region", Entity::Region),
    ("keystone.role", Entity::Role),
    ("keystone.service", Entity::Service),
    ("keystone.user", Entity::User),
];

const KEYSTONE_FINDERS: &[(&str, Entity)] = &[
    ("get_domain_id", Entity::Domain),
    ("get_group_id", Entity::Group),
    ("get_project_id", Entity::Project),
    ("get_region_id", Entity::Region),
    ("get_role_id", Entity::Role),
    ("get_service_id", Entity::Service),
    ("get_user_id", Entity::User),
];

/// Constraints of Heat's that need services, calendars or clocks which this engine has no client for.
const ELSEWHERE: &[&str] = &[
    "barbican.container",
    "barbican.secret",
    "blazar.reservation",
    "cinder.backup",
    "cinder.qos_specs",
    "cinder.snapshot",
    "cinder.volume",
    "cinder.vtype",
    "cron_expression",
    "designate.zone",
    "expiration",
    "glance.image",
    "ironic.node",
    "ironic.portgroup",
    "iso_8601",
    "magnum.cluster_template",
    "manila.share_network",
    "manila.share_snapshot",
    "manila.share_type",
    "mistral.workflow",
    "neutron.address_scope",
    "neutron.flow_classifier",
    "neutron.lbaas.listener",
    "neutron.lbaas.loadbalancer",
    "neutron.lbaas.pool",
    "neutron.lbaas.provider",
    "neutron.network",
    "neutron.port",
    "neutron.port_pair",
    "neutron.port_pair_group",
    "neutron.qos_policy",
    "neutron.router",
    "neutron.security_group",
    "neutron.segment",
    "neutron.subnet",
    "neutron.subnetpool",
    "neutron.taas.tap_flow",
    "neutron.taas.tap_service",
    "nova.flavor",
    "nova.host",
    "nova.keypair",
    "nova.network",
    "nova.server",
    "octavia.availabilityzone",
    "octavia.availabilityzoneprofile",
    "octavia.flavor",
    "octavia.flavorprofile",
    "octavia.l7policy",
    "octavia.listener",
    "octavia.loadbalancer",
    "octavia.pool",
    "timezone",
    "trove.flavor",
    "zaqar.queue",
];

/// Whether a constraint is one of Heat's that this engine cannot check.
pub fn is_checked_elsewhere(constraint: &str) -> bool {
    ELSEWHERE.binary_search(&constraint).is_ok()
}

/// Whether Heat has a constraint of that name which asks somebody.
pub fn is_known(constraint: &str) -> bool {
    constraint == DELAY || entity_of(KEYSTONE_CONSTRAINTS, constraint).is_some() || is_checked_elsewhere(constraint)
}

/// The check that only takes time, as long as its value says: for tests.
const DELAY: &str = "test_constr";
const LONGEST_DELAY: f64 = 3600.0;

impl<'a> Questions<'a> {
    pub fn new(session: &'a Session) -> Self {
        Self { session }
    }
}

fn entity_of(table: &[(&str, Entity)], name: &str) -> Option<Entity> {
    table
        .iter()
        .find(|(known, _)| *known == name)
        .map(|(_, entity)| *entity)
}

#[async_trait]
impl CustomConstraints for Questions<'_> {
    async fn validate(&self, name: &str, value: &Value) -> Result<(), String> {
        if name == DELAY {
            let seconds = value.as_f64().unwrap_or(0.0).clamp(0.0, LONGEST_DELAY);
            tokio::time::sleep(Duration::from_secs_f64(seconds)).await;
            return Ok(());
        }
        if let Some(checked) = formats::check(name, value) {
            return checked;
        }
        let text = to_text(value);
        let refusal = |message: String| format!("Error validating value '{text}': {message}");
        match entity_of(KEYSTONE_CONSTRAINTS, name) {
            Some(entity) => self
                .session
                .find(entity, &text)
                .await
                .map(drop)
                .map_err(|error| refusal(error.to_string())),
            None => Err(format!("\"{text}\" does not validate {name} (constraint not found)")),
        }
    }
}

#[async_trait]
impl NameFinder for Questions<'_> {
    async fn find(&self, finder: &Finder, name: &Value) -> Result<Value, String> {
        match entity_of(KEYSTONE_FINDERS, finder.name) {
            Some(entity) => {
                let id = self
                    .session
                    .find(entity, &to_text(name))
                    .await
                    .map_err(|error| error.to_string())?;
                Ok(Value::from(id))
            }
            None => Err(format!("The finder {} is not known to this engine", finder.name)),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn constraints_are_sorted_to_be_found() {
        assert!(ELSEWHERE.is_sorted());
        assert!(is_checked_elsewhere("nova.flavor"));
        assert!(!is_checked_elsewhere("keystone.project"));
    }
}
