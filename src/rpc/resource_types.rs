//! The resource types that a user may have, and what each is like.

use serde_json::{Value, json};

use super::call::{Call, Engine};
use super::error::{NotServed, RequestError};
use crate::plugins::{self, TYPES};
use crate::python::regex::{Patience, PythonRegex};
use crate::python::repr::repr_tuple;
use crate::python::to_text;
use crate::resource::plugin::ResourceType;
use crate::resource::provider_template::{Dialect, provider_template};
use crate::resource::support::Support;
use crate::stack::availability::find_service;

/// The types of this engine that the caller may have, in a cloud that has what they need.
pub async fn list_resource_types(engine: &Engine, call: Call) -> Result<Value, RequestError> {
    let arguments = &call.arguments;
    let status = match arguments.value("support_status") {
        Some(given) => Some(support(given)?),
        None => None,
    };
    let pattern = match arguments.value("type_name").map(to_text) {
        Some(pattern) => match PythonRegex::compile(&pattern, &Patience::default()) {
            Ok(pattern) => Some(pattern),
            // What is no pattern matches nothing.
            Err(_) => return Ok(json!([])),
        },
        None => None,
    };
    let version = arguments.value("heat_version").map(to_text);
    let with_description = arguments.flag("with_description", false);
    let session = engine.services().cloud.session(&call.context)?;
    let mut shown = Vec::new();
    for resource_type in TYPES {
        let name = resource_type.name;
        let is_wanted = !resource_type.support.is_hidden()
            && pattern
                .as_ref()
                .is_none_or(|pattern| matches!(pattern.match_end(name), Ok(Some(_))))
            && version
                .as_deref()
                .is_none_or(|version| resource_type.support.version == Some(version))
            && status.is_none_or(|status| resource_type.support.status == status)
            && engine.policy.enforce(&call.context, name).is_ok();
        if is_wanted && find_service(resource_type, &session).await.is_ok() {
            shown.push(match with_description {
                true => json!({"resource_type": name, "description": resource_type.description}),
                false => Value::from(name),
            });
        }
    }
    Ok(Value::Array(shown))
}

fn support(given: &Value) -> Result<Support, RequestError> {
    let named = |status: &Support| given.as_str() == Some(status.as_str());
    Support::ALL.into_iter().find(named).ok_or_else(|| {
        let all = Support::ALL.map(|status| Value::from(status.as_str()));
        RequestError::Invalid(format!(
            "Invalid support status and should be one of {}",
            repr_tuple(&all)
        ))
    })
}

pub async fn resource_schema(engine: &Engine, call: Call) -> Result<Value, RequestError> {
    let resource_type = known_type(engine, &call)?;
    let session = engine.services().cloud.session(&call.context)?;
    let service = find_service(resource_type, &session).await;
    service.map_err(|unavailable| unavailable.for_question(resource_type.name))?;
    Ok(resource_type.to_api(call.arguments.flag("with_description", false)))
}

pub async fn generate_template(engine: &Engine, call: Call) -> Result<Value, RequestError> {
    let dialect = match call.arguments.value("template_type").and_then(Value::as_str) {
        Some("hot") => Dialect::Hot,
        _ => Dialect::Cfn,
    };
    Ok(provider_template(known_type(engine, &call)?, dialect))
}

/// The type that is asked about, if the caller may use it. One that this engine lacks is another engine's to tell of.
fn known_type(engine: &Engine, call: &Call) -> Result<&'static ResourceType, RequestError> {
    let name = to_text(call.arguments.value("type_name").unwrap_or(&Value::Null));
    engine.policy.enforce(&call.context, &name)?;
    let resource_type = plugins::find(&name).ok_or(NotServed::ResourceType(name))?;
    if resource_type.support.is_hidden() {
        return Err(RequestError::NotSupported(resource_type.name.to_owned()));
    }
    Ok(resource_type)
}
