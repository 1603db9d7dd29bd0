//! The message formats of `heat.common.exception`, to take a message apart into the arguments it was made of.
//!
//! A Python client does not show the message of a failure frame: it builds the exception anew from the keyword arguments
//! and shows the text that comes out. An argument that is missing there turns every message into "An unknown exception
//! occurred.", so what the lower rooms say as text is read back here.

use serde_json::{Map, Value};

/// Class and format; `{name}` stands for the argument `name`.
const FORMATS: &[(&str, &str)] = &[
    (
        "ActionInProgress",
        "Stack {stack_name} already has an action ({action}) in progress.",
    ),
    (
        "ActionNotComplete",
        "Stack {stack_name} has an action ({action}) in progress or failed state.",
    ),
    ("AuthorizationFailure", "Authorization failed.{failure_reason}"),
    ("CircularDependencyException", "Circular Dependency Found: {cycle}"),
    ("ClientNotAvailable", "The client ({client_name}) is not available."),
    ("ConcurrentTransaction", "Concurrent transaction for {action}"),
    (
        "ConflictingMergeStrategyForParam",
        "Conflicting merge strategy '{strategy}' for parameter '{param}' in file '{env_file}'.",
    ),
    (
        "DownloadLimitExceeded",
        "Permissible download limit exceeded: {message}",
    ),
    ("EntityNotFound", "The {entity} ({name}) could not be found."),
    ("Error", "{message}"),
    (
        "EventSendFailed",
        "Failed to send message to stack ({stack_name}) on other engine ({engine_id})",
    ),
    ("Forbidden", "You are not authorized to use {action}."),
    (
        "ImmutableParameterModified",
        "The following parameters are immutable and may not be updated: {keys}",
    ),
    ("Invalid", "Data supplied was not valid: {reason}"),
    ("InvalidBreakPointHook", "{message}"),
    ("InvalidContentType", "Invalid content type {content_type}"),
    (
        "InvalidExternalResourceDependency",
        "Invalid dependency with external {resource_type} resource: {external_id}",
    ),
    (
        "InvalidGlobalResource",
        "There was an error loading the definition of the global resource type {type_name}.",
    ),
    (
        "InvalidMergeStrategyForParam",
        "Invalid merge strategy '{strategy}' for parameter '{param}'.",
    ),
    ("InvalidRestrictedAction", "{message}"),
    ("InvalidSchemaError", "{message}"),
    ("InvalidServiceVersion", "Invalid service {service} version {version}"),
    (
        "InvalidTemplateAttribute",
        "The Referenced Attribute ({resource} {key}) is incorrect.",
    ),
    (
        "InvalidTemplateReference",
        "The specified reference \"{resource}\" (in {key}) is incorrect.",
    ),
    ("InvalidTemplateSection", "The template section is invalid: {section}"),
    (
        "InvalidTemplateVersion",
        "The template version is invalid: {explanation}",
    ),
    (
        "InvalidTenant",
        "Searching Tenant {target} from Tenant {actual} forbidden.",
    ),
    (
        "KeystoneServiceNameConflict",
        "Keystone has more than one service with same name {service}. Please use service id instead of name",
    ),
    ("MissingCredentialError", "Missing required credential: {required}"),
    ("NotSupported", "{feature} is not supported."),
    ("ObjectActionError", "Object action {action} failed because: {reason}"),
    ("PhysicalResourceExists", "The physical resource for ({name}) exists."),
    (
        "PhysicalResourceIDAmbiguity",
        "Multiple resources were found with the physical ID ({phys_id}).",
    ),
    (
        "PhysicalResourceNameAmbiguity",
        "Multiple physical resources were found with name ({name}).",
    ),
    (
        "PropertyUnspecifiedError",
        "At least one of the following properties must be specified: {props}.",
    ),
    ("RequestLimitExceeded", "Request limit exceeded: {message}"),
    ("ResourceActionNotSupported", "{action} is not supported for resource."),
    ("ResourceActionRestricted", "{action} is restricted for resource."),
    (
        "ResourceInError",
        "Went to status {resource_status} due to \"{status_reason}\"",
    ),
    (
        "ResourceNotAvailable",
        "The Resource ({resource_name}) is not available.",
    ),
    (
        "ResourceNotFound",
        "The Resource ({resource_name}) could not be found in Stack {stack_name}.",
    ),
    (
        "ResourcePropertyConflict",
        "Cannot define the following properties at the same time: {props}.",
    ),
    (
        "ResourcePropertyDependency",
        "{prop1} cannot be specified without {prop2}.",
    ),
    (
        "ResourcePropertyValueDependency",
        "{prop1} property should only be specified for {prop2} with value {value}.",
    ),
    (
        "ResourceTypeUnavailable",
        "HEAT-E99001 Service {service_name} is not available for resource type {resource_type}, reason: {reason}",
    ),
    (
        "ResourceUnknownStatus",
        "{result} - Unknown status {resource_status} due to \"{status_reason}\"",
    ),
    (
        "SnapshotNotFound",
        "The Snapshot ({snapshot}) for Stack ({stack}) could not be found.",
    ),
    ("StackExists", "The Stack ({stack_name}) already exists."),
    (
        "StopActionFailed",
        "Failed to stop stack ({stack_name}) on other engine ({engine_id})",
    ),
    (
        "TemplateOutputError",
        "Error in {resource} output {attribute}: {message}",
    ),
    (
        "UnknownUserParameter",
        "The Parameter ({key}) was not defined in template.",
    ),
    ("UnsupportedObjectError", "Unsupported object type {objtype}"),
    ("UserParameterMissing", "The Parameter ({key}) was not provided."),
];

/// Classes whose constructor always sets these too.
const ENTITY_CLASSES: &[&str] = &["ResourceNotFound", "SnapshotNotFound"];

/// The keyword arguments from which a client makes `message` again; empty if it cannot.
pub fn keywords(class: &str, message: &str) -> Map<String, Value> {
    let format = FORMATS
        .iter()
        .find(|(name, _)| *name == class)
        .map(|(_, format)| *format);
    let Some(found) = format.and_then(|format| take_apart(format, message)) else {
        return Map::new();
    };
    let mut keywords = Map::new();
    if ENTITY_CLASSES.contains(&class) {
        keywords.insert("entity".to_owned(), Value::Null);
        keywords.insert("name".to_owned(), Value::Null);
    }
    for (name, text) in found {
        keywords.insert(name.to_owned(), Value::String(text.to_owned()));
    }
    keywords
}

/// Each argument reaches to the first place where the fixed text behind it goes on, the last one to the end.
fn take_apart<'f, 'm>(format: &'f str, message: &'m str) -> Option<Vec<(&'f str, &'m str)>> {
    let mut pieces = format.split('{');
    let mut rest = message.strip_prefix(pieces.next()?)?;
    let mut found = Vec::new();
    let mut pieces = pieces.peekable();
    while let Some(piece) = pieces.next() {
        let (name, fixed) = piece.split_once('}')?;
        let text;
        if pieces.peek().is_none() {
            text = rest.strip_suffix(fixed)?;
            rest = "";
        } else {
            (text, rest) = rest.split_once(fixed)?;
        }
        found.push((name, text));
    }
    rest.is_empty().then_some(found)
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn fill(format: &str, keywords: &Map<String, Value>) -> String {
        keywords.iter().fold(format.to_owned(), |text, (name, value)| {
            text.replace(&format!("{{{name}}}"), value.as_str().unwrap_or("None"))
        })
    }

    #[test]
    fn every_format_reads_back_what_it_made() {
        for (class, format) in FORMATS {
            let arguments: Map<String, Value> = format
                .split('{')
                .skip(1)
                .map(|piece| (piece.split('}').next().unwrap().to_owned(), json!("a (b) c")))
                .collect();
            let message = fill(format, &arguments);
            assert_eq!(fill(format, &keywords(class, &message)), message, "{class}");
        }
    }

    #[test]
    fn a_resource_that_is_not_found_is_no_entity_with_a_name() {
        assert_eq!(
            Value::Object(keywords(
                "ResourceNotFound",
                "The Resource (a) could not be found in Stack s."
            )),
            json!({"entity": null, "name": null, "resource_name": "a", "stack_name": "s"})
        );
    }

    #[test]
    fn text_that_a_class_does_not_make_gives_nothing() {
        assert!(keywords("StackExists", "Something else").is_empty());
        assert!(keywords("NoSuchClass", "Something").is_empty());
    }
}
