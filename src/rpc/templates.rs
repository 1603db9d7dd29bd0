//! Templates, environments and files of stacks, and whether a template is sound.

use serde_json::{Map, Value, json};

use super::call::{Call, Engine};
use super::error::{NotServed, RequestError};
use super::find;
use super::served::ensure_served;
use super::stack_request::{TemplateArguments, check_template, template_only_stack};
use crate::python::repr;
use crate::python::value::is_true;
use crate::stack::validate::{Thoroughness, validate_language, validate_resources};
use crate::store::Deleted;
use crate::template::Environment;
use crate::template::parameters::all_schemata;

/// The error codes that a caller may ask to ignore.
const IGNORABLE_CODES: &[&str] = &["99001"];

pub async fn get_template(engine: &Engine, call: Call) -> Result<Value, RequestError> {
    let services = engine.services();
    let row = find::stack(
        services,
        &call.context,
        call.arguments.value("stack_identity"),
        Deleted::Shown,
    )
    .await?;
    let template = services.templates.get(row.raw_template_id).await?;
    Ok(Value::Object(template.body().clone()))
}

/// The environment as it is stored, hidden parameters redacted.
pub async fn get_environment(engine: &Engine, call: Call) -> Result<Value, RequestError> {
    let services = engine.services();
    let row = find::stack(
        services,
        &call.context,
        call.arguments.value("stack_identity"),
        Deleted::Shown,
    )
    .await?;
    let definition = services.templates.definition(&row, row.raw_template_id).await?;
    let mut environment = definition.template().environment().to_stored();
    let template = definition.template();
    let largest_file = services.settings.engine.max_template_size;
    let schemata = all_schemata(template, template.files(), largest_file)?;
    let is_hidden = |name: &str| schemata.get(name).is_some_and(|schema| is_true(&schema.hidden));
    Environment::redact(&mut environment, is_hidden);
    Ok(environment)
}

pub async fn get_files(engine: &Engine, call: Call) -> Result<Value, RequestError> {
    let services = engine.services();
    let row = find::stack(
        services,
        &call.context,
        call.arguments.value("stack_identity"),
        Deleted::Shown,
    )
    .await?;
    let template = services.templates.get(row.raw_template_id).await?;
    Ok(Value::Object(template.files().as_map().clone()))
}

/// What is wrong with a template is a result, not a failure of the request.
pub async fn validate_template(engine: &Engine, call: Call) -> Result<Value, RequestError> {
    let arguments = &call.arguments;
    if arguments.value("template").is_none() {
        return Ok(bad_request("No Template provided."));
    }
    let ignorable = arguments.texts("ignorable_errors")?.unwrap_or_default();
    let unknown: Vec<Value> = ignorable
        .iter()
        .filter(|code| !IGNORABLE_CODES.contains(&code.as_str()))
        .map(|code| Value::from(code.as_str()))
        .collect();
    if !unknown.is_empty() {
        let unknown = repr(&Value::Array(unknown));
        return Ok(bad_request(&format!("Invalid codes in ignore_errors : {unknown}")));
    }
    let template = TemplateArguments::read(engine, arguments)?.into_template(&engine.services().templates)?;
    if let Err(error) = check_template(engine, &template) {
        return Ok(json!({ "Error": error.to_string() }));
    }
    let stack = match template_only_stack(engine, &call.context, template) {
        Ok(stack) => stack,
        Err(error) => return as_result(error),
    };
    let (services, context) = (engine.services(), &call.context);
    let depth = Thoroughness::TemplateOnly;
    if let Err(error) = validate_language(services, context, &stack, depth).await {
        return as_result(error.into());
    }
    ensure_served(&stack.definition)?;
    if let Err(error) = validate_resources(services, context, &stack, depth, &ignorable).await {
        return as_result(error.into());
    }
    let template = stack.template();
    let mut shown = Map::new();
    shown.insert("Description".to_owned(), template.description());
    let parameters = stack.definition.parameters().defined();
    let parameters: Map<String, Value> = parameters
        .map(|parameter| (parameter.name.clone(), parameter.describe()))
        .collect();
    shown.insert("Parameters".to_owned(), Value::Object(parameters));
    if let Some(groups) = template.parameter_groups() {
        shown.insert("ParameterGroups".to_owned(), groups.clone());
    }
    shown.insert("Environment".to_owned(), template.environment().to_user());
    Ok(Value::Object(shown))
}

/// A validation that fails is what was asked for; everything else fails the request.
fn as_result(error: RequestError) -> Result<Value, RequestError> {
    match error.class() {
        "StackValidationFailed" => Ok(json!({ "Error": error.to_string() })),
        _ => Err(error),
    }
}

/// The oracle returns an HTTP error object here, which its serializer turns into text that names an address in memory.
fn bad_request(explanation: &str) -> Value {
    tracing::info!("validate_template: {explanation}");
    Value::from("<HTTPBadRequest 400 Bad Request>")
}

/// For `validate_template` the oracle's error for an unknown type is a result too.
pub(super) fn unknown_type_result(what: &NotServed) -> Value {
    json!({ "Error": what.to_string() })
}
