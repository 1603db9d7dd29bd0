//! What of a stack only a Python engine can serve.

use super::error::{NotServed, RequestError};
use crate::plugins::questions::is_checked_elsewhere;
use crate::stack::live::foreign_type;
use crate::template::parameters::Parameter;
use crate::template::{StackDefinition, Template};

/// Refuses, for now, what has resources that this engine lacks: it may go to a Python engine.
pub fn ensure_served(definition: &StackDefinition) -> Result<(), RequestError> {
    match foreign_type(definition) {
        Some(type_name) => Err(NotServed::ResourceType(type_name.to_owned()).into()),
        None => Ok(()),
    }
}

/// Refuses parameters with a constraint that only a Python engine can check, before they are checked.
pub fn ensure_constraints_served(definition: &StackDefinition) -> Result<(), RequestError> {
    let constraints = definition
        .parameters()
        .defined()
        .flat_map(Parameter::custom_constraints);
    match constraints.into_iter().find(|name| is_checked_elsewhere(name)) {
        Some(name) => Err(NotServed::Feature(format!("The constraint \"{name}\"")).into()),
        None => Ok(()),
    }
}

/// Refuses what would stop at a hook, which only a Python engine does. Looking at such a stack needs no hooks.
pub fn ensure_no_hooks<'a>(
    template: &Template,
    resources: impl IntoIterator<Item = &'a String>,
) -> Result<(), RequestError> {
    let registry = &template.environment().registry;
    hooked(resources, |name| registry.hook(name))
}

/// As [`ensure_no_hooks`], for a stack that is to be deleted.
pub fn ensure_no_delete_hooks(definition: &StackDefinition) -> Result<(), RequestError> {
    let registry = &definition.template().environment().registry;
    hooked(definition.resources().keys(), |name| registry.hook_of(name, true))
}

fn hooked<'a, 'r>(
    resources: impl IntoIterator<Item = &'a String>,
    hook: impl Fn(&str) -> Option<&'r str>,
) -> Result<(), RequestError> {
    for name in resources {
        if let Some(hook) = hook(name) {
            return Err(NotServed::Feature(format!("The hook \"{hook}\" of resource \"{name}\"")).into());
        }
    }
    Ok(())
}
