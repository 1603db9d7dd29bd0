//! What a deployment says about its engines, and whether a caller is who it says.

use serde_json::{Value, json};

use super::call::{Call, Engine};
use super::error::RequestError;
use super::time::plain_time;
use crate::store::Service;

pub async fn list_services(engine: &Engine, _: Call) -> Result<Value, RequestError> {
    let now = engine.services().clock.utc_now();
    let services = engine.services().store.services_all().await?;
    Ok(services.iter().map(|service| format_service(service, now)).collect())
}

pub async fn get_revision(engine: &Engine, _: Call) -> Result<Value, RequestError> {
    Ok(Value::from(engine.services().settings.revision.heat_revision.as_str()))
}

/// Whether Keystone takes the caller's token.
pub async fn authenticated_to_backend(engine: &Engine, call: Call) -> Result<Value, RequestError> {
    let session = engine.services().cloud.session(&call.context)?;
    Ok(Value::Bool(session.access().await.is_ok()))
}

fn format_service(service: &Service, now: chrono::NaiveDateTime) -> Value {
    json!({
        "id": service.id,
        "binary": service.binary,
        "engine_id": service.engine_id,
        "host": service.host,
        "hostname": service.hostname,
        "topic": service.topic,
        "report_interval": service.report_interval,
        "created_at": plain_time(service.created_at),
        "updated_at": plain_time(service.updated_at),
        "deleted_at": plain_time(service.deleted_at),
        "status": if service.is_up(now) { "up" } else { "down" },
    })
}
