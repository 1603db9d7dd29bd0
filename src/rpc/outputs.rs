//! The outputs of a stack.

use serde_json::Value;

use super::call::{Call, Engine};
use super::error::RequestError;
use super::find;
use super::served::ensure_served;
use crate::python::to_text;
use crate::stack::Stack;
use crate::stack::outputs;
use crate::store::Deleted;

pub async fn list_outputs(engine: &Engine, call: Call) -> Result<Value, RequestError> {
    let services = engine.services();
    let row = find::stack(
        services,
        &call.context,
        call.arguments.value("stack_identity"),
        Deleted::Hidden,
    )
    .await?;
    let stack = Stack::from_row(services, row).await?;
    Ok(Value::Array(outputs::described(&stack)?))
}

pub async fn show_output(engine: &Engine, call: Call) -> Result<Value, RequestError> {
    let services = engine.services();
    let row = find::stack(
        services,
        &call.context,
        call.arguments.value("stack_identity"),
        Deleted::Hidden,
    )
    .await?;
    let stack = Stack::from_row(services, row).await?;
    let name = to_text(call.arguments.value("output_key").unwrap_or(&Value::Null));
    if !stack.definition.outputs()?.contains_key(&name) {
        return Err(RequestError::NotFound(format!(
            "Specified output key {name} not found."
        )));
    }
    ensure_served(&stack.definition)?;
    let shown = outputs::one(services, &call.context, &stack, &name).await?;
    Ok(shown.unwrap_or(Value::Null))
}
