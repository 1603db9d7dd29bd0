//! What is checked of a stack before anything of it is stored.
//!
//! The order of the checks decides what a user is told first, so it is the oracle's.

use super::Stack;
use super::availability::find_service;
use super::error::StackError;
use super::live::{LiveResource, LiveStack, LiveStates, Readers};
use super::services::Services;
use crate::cloud::Session;
use crate::identity::RequestContext;
use crate::plugins::questions::Questions;
use crate::python::to_text;
use crate::resource::constraints::CustomConstraints;
use crate::resource::failure::{Failure, Remedy};
use crate::resource::properties::{Depth, PropertyError};
use crate::resource::rules::Facts;
use crate::store::UnstorableName;
use crate::template::{
    DeletionPolicy, NoResources, References, ResolveError, ResourceDefinition, StackDefinition, TemplateError,
};

/// How much is checked.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Thoroughness {
    /// Everything, as for a stack that is to be made.
    Full,
    /// What holds whatever the values of parameters and attributes are, as for a template alone.
    TemplateOnly,
}

/// Checks of a stack that is not stored what its template says, whatever types it uses.
pub async fn validate_language(
    services: &Services,
    context: &RequestContext,
    stack: &Stack,
    thoroughness: Thoroughness,
) -> Result<(), StackError> {
    let definition = &stack.definition;
    definition.template().validate()?;
    let session = services.cloud.session(context)?;
    validate_parameters(definition, &session, thoroughness).await?;
    Ok(definition.validate(&NoResources)?)
}

/// Checks its resources against their types, and then its outputs. What the template refers to is taken as not existing
/// yet. Errors whose codes are in `ignorable` do not count.
pub async fn validate_resources(
    services: &Services,
    context: &RequestContext,
    stack: &Stack,
    thoroughness: Thoroughness,
    ignorable: &[String],
) -> Result<(), StackError> {
    let definition = &stack.definition;
    let session = services.cloud.session(context)?;
    let readers = match thoroughness {
        Thoroughness::Full => Readers::ResourcesAndOutputs,
        Thoroughness::TemplateOnly => Readers::Template,
    };
    let mut live = LiveStack::load(services, context, stack, readers).await?;
    for resource in live.resources.values_mut() {
        if thoroughness == Thoroughness::Full {
            check_name(services, &resource.definition.name)?;
        }
        let checked = validate_resource(definition, resource, &live.states, &session, thoroughness).await;
        match checked {
            Err(error)
                if error
                    .code()
                    .is_some_and(|code| ignorable.iter().any(|ignored| ignored == code)) => {}
            checked => checked?,
        }
    }
    Ok(definition.validate_outputs(&live.states)?)
}

/// A name that no row can have would be found out only when the stack is stored already.
fn check_name(services: &Services, name: &str) -> Result<(), StackError> {
    services.store.check_name(name).map_err(|problem| {
        let message = unstorable_name(name, problem);
        StackError::Refused(Failure::terminal("StackValidationFailed", message))
    })
}

/// That no row can have the name of a resource, and why.
pub fn unstorable_name(name: &str, problem: UnstorableName) -> String {
    const SHOWN: usize = 40;
    let start: String = name.chars().take(SHOWN).collect();
    let dots = if start.len() < name.len() { "…" } else { "" };
    format!("Invalid name for resource \"{start}{dots}\": {problem}.")
}

async fn validate_parameters(
    definition: &StackDefinition,
    session: &Session,
    thoroughness: Thoroughness,
) -> Result<(), StackError> {
    let questions = Questions::new(session);
    for check in definition.parameters().validate(thoroughness == Thoroughness::Full)? {
        if let Err(message) = questions.validate(&check.constraint, &check.value).await {
            return Err(check.failure(&message).into());
        }
    }
    Ok(())
}

async fn validate_resource(
    definition: &StackDefinition,
    resource: &mut LiveResource,
    states: &LiveStates,
    session: &Session,
    thoroughness: Thoroughness,
) -> Result<(), StackError> {
    let scope = definition.scope(states);
    if let Some(external_id) = resource.definition.external_id(&scope)? {
        return match thoroughness {
            Thoroughness::Full => validate_external(resource, &to_text(&external_id)).await,
            Thoroughness::TemplateOnly => Ok(()),
        };
    }
    if thoroughness == Thoroughness::Full && resource.resource_type.plugin.takes_anything() {
        return Ok(());
    }
    let service = find_service(resource.resource_type, session).await;
    service.map_err(|unavailable| unavailable.for_template(&resource.definition.resource_type))?;
    resource.definition.validate(definition.template(), &scope)?;
    validate_deletion_policy(definition, resource)?;
    validate_update_policy(definition, resource, &scope)?;
    let questions = Questions::new(session);
    let properties = &resource.instance.properties;
    let depth = match thoroughness {
        Thoroughness::Full => Depth::Values,
        Thoroughness::TemplateOnly => Depth::Names,
    };
    let checked = properties.validate(depth, &questions).await;
    checked.map_err(|error| {
        StackError::Property(error.below(&[section_of_resources(definition), &resource.definition.name]))
    })?;
    if thoroughness == Thoroughness::Full {
        validate_rules(resource)?;
    }
    Ok(())
}

fn validate_rules(resource: &LiveResource) -> Result<(), StackError> {
    let rules = resource.resource_type.rules;
    if rules.is_empty() {
        return Ok(());
    }
    let instance = &resource.instance;
    let facts = Facts::of(resource.name(), &instance.properties, Some(&instance.stack));
    match facts.violations(rules).into_iter().next() {
        Some(first) => Err(in_resource(first.into(), resource.name())),
        None => Ok(()),
    }
}

fn section_of_resources(definition: &StackDefinition) -> &'static str {
    definition.template().keywords().resources
}

/// What a plug-in refuses names its resource, unless it is an exception of Heat's own.
fn in_resource(failure: Failure, name: &str) -> StackError {
    match failure.class {
        "StackValidationFailed" => return TemplateError::invalid(failure.message).into(),
        "NotSupported"
        | "PropertyUnspecifiedError"
        | "ResourcePropertyConflict"
        | "ResourcePropertyDependency"
        | "ResourcePropertyValueDependency" => return StackError::Refused(failure),
        _ => {}
    }
    let place = ["resources".to_owned(), name.to_owned()];
    TemplateError::StackValidationFailed {
        error: failure.class.to_owned(),
        path: place.into_iter().chain(failure.path).collect(),
        message: failure.message,
    }
    .into()
}

/// No type that this engine serves can keep a snapshot of what it deletes.
fn validate_deletion_policy(definition: &StackDefinition, resource: &LiveResource) -> Result<(), StackError> {
    if resource.definition.deletion_policy() != DeletionPolicy::Snapshot {
        return Ok(());
    }
    let keywords = definition.template().keywords();
    let path = [keywords.resources, resource.name(), keywords.deletion_policy];
    Err(TemplateError::invalid_at(&path, "\"Snapshot\" deletion policy not supported").into())
}

/// The first thing that an update policy says. No type that this engine serves can be told how to update itself, so it is
/// unknown to all of them.
pub fn unknown_in_update_policy(
    resource: &ResourceDefinition,
    references: &dyn References,
) -> Result<Option<String>, ResolveError> {
    let Some(policy) = resource.update_policy() else {
        return Ok(None);
    };
    // What the first thing says is nobody's concern any more.
    if let Some(entries) = policy.as_map() {
        return Ok(entries.keys().next().cloned());
    }
    let policy = policy.resolve(references)?;
    Ok(policy.as_object().and_then(|policy| policy.keys().next().cloned()))
}

fn validate_update_policy(
    definition: &StackDefinition,
    resource: &LiveResource,
    references: &dyn References,
) -> Result<(), StackError> {
    let Some(unknown) = unknown_in_update_policy(&resource.definition, references)? else {
        return Ok(());
    };
    let keywords = definition.template().keywords();
    let error = PropertyError {
        class: "StackValidationFailed",
        heading: "Property error",
        path: [keywords.resources, resource.name(), keywords.update_policy]
            .map(str::to_owned)
            .to_vec(),
        message: format!("Unknown Property {unknown}"),
    };
    Err(StackError::Property(error))
}

/// An object outside of Heat that a resource stands for has to be there.
async fn validate_external(resource: &mut LiveResource, external_id: &str) -> Result<(), StackError> {
    resource.instance.stand_for(external_id);
    let plugin = resource.resource_type.plugin;
    match plugin.show(&mut resource.instance).await {
        Ok(_) => Ok(()),
        Err(failure) if failure.remedy == Remedy::Missing => Err(TemplateError::invalid(format!(
            "Invalid external resource: Resource {external_id} ({}) can not be found.",
            resource.definition.resource_type
        ))
        .into()),
        Err(failure) => Err(in_resource(failure, resource.name())),
    }
}
