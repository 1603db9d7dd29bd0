//! A resource as its rows have it, in the form in which plug-ins and messages want it.

use std::collections::BTreeMap;
use std::sync::Arc;

use super::Stack;
use super::error::StackError;
use super::services::Services;
use crate::resource::attributes::AttributeCache;
use crate::resource::instance::StackFacts;
use crate::resource::state::{Action, Status};
use crate::store::{Resource, ResourceData};

/// What is done with the resource, and how it went. Words that no engine writes count as nothing done.
pub fn state_of(row: &Resource) -> (Action, Status) {
    let action = row.action.as_deref().and_then(|word| word.parse().ok());
    let status = row.status.as_deref().and_then(|word| word.parse().ok());
    (action.unwrap_or(Action::Init), status.unwrap_or(Status::Complete))
}

/// What plug-ins may know of the stack.
pub fn facts_of(services: &Services, stack: &Stack) -> Arc<StackFacts> {
    Arc::new(StackFacts {
        id: stack.id().to_owned(),
        name: stack.name().to_owned(),
        tenant_id: stack.tenant().to_owned(),
        user_project_id: stack.row.stack_user_project_id.clone(),
        action: stack.action(),
        timeout: stack.timeout(services),
    })
}

/// What a resource has stored for itself, in clear.
pub fn readable(services: &Services, data: &[ResourceData]) -> Result<BTreeMap<String, String>, StackError> {
    let mut values = BTreeMap::new();
    for item in data {
        let Some(value) = &item.value else { continue };
        let method = item.decrypt_method.as_deref();
        let value = match method.filter(|method| item.redact && !method.is_empty()) {
            Some(method) => services.key.decrypt(method, value)?,
            None => value.clone(),
        };
        values.insert(item.key.clone(), value);
    }
    Ok(values)
}

/// Keeps what was learned of a resource's attributes, unless the resource has moved on.
pub async fn keep_attributes(
    services: &Services,
    row: &Resource,
    state: (Action, Status),
    attributes: &AttributeCache,
) -> Result<(), StackError> {
    let (action, status) = state;
    let is_lasting = status == Status::Complete && !matches!(action, Action::Init | Action::Delete);
    if !is_lasting || !attributes.has_news() {
        return Ok(());
    }
    let encrypt = services.settings.engine.encrypt_parameters_and_properties;
    let sealed = services.key.seal_properties(&attributes.to_stored(), encrypt)?;
    let stored = services
        .store
        .resource_attributes_store(row.id, row.atomic_key, &sealed, row.attr_data_id)
        .await?;
    tracing::debug!(resource_id = row.id, stored, "attributes kept");
    Ok(())
}
