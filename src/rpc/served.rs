//! What of a stack only a Python engine can serve.

use super::error::{NotServed, RequestError};
use crate::stack::live::foreign_type;
use crate::template::StackDefinition;

/// Refuses, for now, what has resources or functions that this engine lacks: it may go to a Python engine.
pub fn ensure_served(definition: &StackDefinition) -> Result<(), RequestError> {
    if let Some(type_name) = foreign_type(definition) {
        return Err(NotServed::ResourceType(type_name.to_owned()).into());
    }
    match definition.function_not_built() {
        Some(function) => Err(NotServed::Function(function.to_owned()).into()),
        None => Ok(()),
    }
}
