//! Whether the cloud has the service that a resource type needs.

use super::error::StackError;
use crate::cloud::{CloudError, KEYSTONE, NEUTRON, Service, Session};
use crate::resource::plugin::ResourceType;

static SERVICES: [&Service; 2] = [&KEYSTONE, &NEUTRON];

/// Why a type cannot be had in the cloud of that session.
pub struct Unavailable {
    pub service: &'static Service,
    pub cause: CloudError,
}

/// Looks for an endpoint of the type's service. A type without a service can be had everywhere.
pub async fn find_service(resource_type: &ResourceType, session: &Session) -> Result<(), Unavailable> {
    let needed = resource_type.service;
    let Some(service) = SERVICES.into_iter().find(|known| Some(known.name) == needed) else {
        return Ok(());
    };
    match session.service(service).endpoint().await {
        Ok(_) => Ok(()),
        Err(cause) => Err(Unavailable { service, cause }),
    }
}

impl Unavailable {
    /// What a template that uses the type, under that name, is refused with.
    pub fn for_template(self, type_name: &str) -> StackError {
        let service_type = self.service.types.first().copied().unwrap_or_default();
        let reason = format!(
            "{} {service_type} endpoint is not in service catalog.",
            self.service.name
        );
        self.with_reason(type_name, reason)
    }

    /// What a question about the type itself is refused with.
    pub fn for_question(self, type_name: &str) -> StackError {
        self.with_reason(type_name, "Service endpoint not in service catalog.".to_owned())
    }

    fn with_reason(self, type_name: &str, not_in_catalog: String) -> StackError {
        StackError::TypeUnavailable {
            service: self.service.name.to_owned(),
            type_name: type_name.to_owned(),
            reason: match self.cause {
                CloudError::EndpointNotFound(_) | CloudError::EmptyCatalog => not_in_catalog,
                other => other.to_string(),
            },
        }
    }
}
