//! Topic `engine`: the contract that heat-api calls, as one table.

use std::fmt::Display;

use async_trait::async_trait;
use futures_util::future::BoxFuture;
use serde_json::Value;
use tokio::time::Instant;
use tracing::{Instrument, Span};

use super::arguments::{Arguments, Signature};
use super::call::{Call, Engine};
use super::error::{NotServed, RequestError};
use super::handover::Handed;
use super::measure::{self, Outcome};
use super::{
    events, language, outputs, preview, resource_types, resources, services, stacks_read, stacks_write, templates,
};
use crate::identity::RequestContext;
use crate::messaging::{Answer, Dispatch, Fault, Request};
use crate::python::json_reader::Misfit;
use crate::template::TemplateError;

/// The topic of the contract.
pub const TOPIC: &str = "engine";
/// Requests up to this version are served.
pub const VERSION: &str = "1.36";

type Handler = for<'e> fn(&'e Engine, Call) -> BoxFuture<'e, Result<Value, RequestError>>;

struct Method {
    name: &'static str,
    signature: Signature,
    handler: Handler,
}

/// A method that this engine serves.
macro_rules! method {
    ($family:ident::$name:ident ($($required:ident),*) [$($optional:ident),*]) => {
        Method {
            name: stringify!($name),
            signature: Signature::new(&[$(stringify!($required)),*], &[$(stringify!($optional)),*]),
            handler: |engine, call| Box::pin($family::$name(engine, call)),
        }
    };
}

/// By name. In round brackets what a method needs, in square ones what it takes besides.
static METHODS: &[Method] = &[
    method!(services::authenticated_to_backend () []),
    method!(stacks_read::count_stacks ()
        [filters, tenant_safe, show_deleted, show_nested, show_hidden, tags, tags_any, not_tags, not_tags_any]),
    method!(stacks_write::create_stack (stack_name, template, params, files, args)
        [environment_files, files_container, owner_id, nested_depth, user_creds_id, stack_user_project_id,
         parent_resource_name, template_id]),
    method!(stacks_write::delete_stack (stack_identity) []),
    method!(resources::describe_stack_resource(stack_identity, resource_name)[with_attr]),
    method!(resources::describe_stack_resources (stack_identity, resource_name) []),
    method!(resources::find_physical_resource (physical_resource_id) []),
    method!(resource_types::generate_template(type_name)[template_type]),
    method!(templates::get_environment (stack_identity) []),
    method!(templates::get_files (stack_identity) []),
    method!(services::get_revision () []),
    method!(templates::get_template (stack_identity) []),
    method!(stacks_read::identify_stack (stack_name) []),
    method!(events::list_events (stack_identity) [filters, limit, marker, sort_keys, sort_dir, nested_depth]),
    method!(outputs::list_outputs (stack_identity) []),
    method!(resource_types::list_resource_types () [support_status, type_name, heat_version, with_description]),
    method!(services::list_services () []),
    method!(resources::list_stack_resources (stack_identity) [nested_depth, with_detail, filters]),
    method!(stacks_read::list_stacks ()
        [limit, marker, sort_keys, sort_dir, filters, tenant_safe, show_deleted, show_nested, show_hidden, tags,
         tags_any, not_tags, not_tags_any]),
    method!(language::list_template_functions(template_version)[with_condition]),
    method!(language::list_template_versions () []),
    method!(preview::preview_stack (stack_name, template, params, files, args) [environment_files, files_container]),
    method!(preview::preview_update_stack (stack_identity, template, params, files, args)
        [environment_files, files_container]),
    method!(resource_types::resource_schema(type_name)[with_description]),
    method!(outputs::show_output (stack_identity, output_key) []),
    method!(stacks_read::show_stack(stack_identity)[resolve_outputs]),
    method!(stacks_write::stack_cancel_update(stack_identity)[cancel_with_rollback]),
    method!(stacks_write::update_stack (stack_identity, template, params, files, args)
        [environment_files, files_container, template_id]),
    method!(templates::validate_template (template)
        [params, files, environment_files, files_container, show_nested, ignorable_errors]),
];

/// Methods of the contract that only Python engines have. What those expose beyond the contract (`start`, `stop`,
/// `wait`, `reset` and the timers) is no business of anybody on the bus and stays unknown.
static HANDED_OVER: &[&str] = &[
    "abandon_stack",
    "check_software_deployment",
    "create_software_config",
    "create_software_deployment",
    "delete_snapshot",
    "delete_software_config",
    "delete_software_deployment",
    "export_stack",
    "list_software_configs",
    "list_software_deployments",
    "metadata_software_deployments",
    "migrate_convergence_1",
    "resource_mark_unhealthy",
    "resource_signal",
    "show_snapshot",
    "show_software_config",
    "show_software_deployment",
    "signal_software_deployment",
    "stack_check",
    "stack_list_snapshots",
    "stack_restore",
    "stack_resume",
    "stack_snapshot",
    "stack_suspend",
    "update_software_deployment",
];

/// Methods that a Python engine answers more fully, and this one only where none is alive: it has more types.
static BETTER_ANSWERED_BY_PYTHON: &[&str] = &["list_resource_types"];

fn method(name: &str) -> Option<&'static Method> {
    METHODS
        .binary_search_by_key(&name, |method| method.name)
        .ok()
        .map(|index| &METHODS[index])
}

#[async_trait]
impl Dispatch for Engine {
    fn contains(&self, name: &str) -> bool {
        method(name).is_some() || HANDED_OVER.binary_search(&name).is_ok()
    }

    async fn call(&self, mut request: Request) -> Result<Answer, Fault> {
        let new_request_id = || format!("req-{}", self.services().clock.new_uuid());
        let context = RequestContext::from_wire(&request.context, new_request_id);
        let span = context.as_ref().map_or_else(|_| Span::none(), RequestContext::span);
        let arguments = Arguments::new(std::mem::take(&mut request.arguments));
        let about = About::new(&request, &arguments);
        let context = context.map_err(|error| RequestError::ValueError(error.to_string()));
        let began = Instant::now();
        let answer = self.answer(&request, &about, context, arguments).instrument(span).await;
        let (outcome, answer) = match answer {
            Ok(answer @ Answer::Value(_)) => (Outcome::Answered, Ok(answer)),
            Ok(Answer::HandedOver) => (Outcome::HandedOver, Ok(Answer::HandedOver)),
            Err(refusal) => (refusal.outcome, Err(refusal.fault)),
        };
        measure::requested(&about.method, outcome, began.elapsed());
        answer
    }
}

/// What a line in the log says of a request besides its id.
struct About {
    method: String,
    stack: Option<String>,
}

impl About {
    fn new(request: &Request, arguments: &Arguments) -> Self {
        let identity = arguments
            .value("stack_identity")
            .and_then(|identity| identity.get("stack_name"));
        let stack = arguments.value("stack_name").or(identity).and_then(Value::as_str);
        Self {
            method: request.method.clone(),
            stack: stack.map(str::to_owned),
        }
    }
}

impl Engine {
    async fn answer(
        &self,
        request: &Request,
        about: &About,
        context: Result<RequestContext, RequestError>,
        arguments: Arguments,
    ) -> Result<Answer, Refusal> {
        let is_better_elsewhere = BETTER_ANSWERED_BY_PYTHON.contains(&request.method.as_str());
        if is_better_elsewhere && self.is_handed_over(request, about, &"it may have more to tell").await {
            return Ok(Answer::HandedOver);
        }
        let outcome = match method(&request.method) {
            Some(method) => self.serve(method, request.misfit.as_ref(), context, arguments).await,
            None => Err(NotServed::Feature(format!("Method {}", request.method)).into()),
        };
        match outcome {
            Ok(value) => Ok(Answer::Value(value)),
            Err(RequestError::NotServed(what)) => self.hand_over(request, about, what).await,
            Err(error) => Err(refuse(about, error)),
        }
    }

    async fn serve(
        &self,
        method: &Method,
        misfit: Option<&Misfit>,
        context: Result<RequestContext, RequestError>,
        arguments: Arguments,
    ) -> Result<Value, RequestError> {
        method
            .signature
            .check(&format!("EngineService.{}", method.name), arguments.all())?;
        // A template, and what comes with it, is stored as it is or not at all. What only names something finds nothing.
        if let Some(misfit) = misfit.filter(|_| method.signature.takes("template")) {
            let path: Vec<&str> = misfit.path.iter().map(String::as_str).collect();
            return Err(TemplateError::invalid_at(&path, format!("{} cannot be stored", misfit.what)).into());
        }
        let call = Call {
            context: context?,
            arguments,
        };
        (method.handler)(self, call).await
    }

    /// The next engine answers the caller; where there is none, the caller learns what is missing.
    async fn hand_over(&self, request: &Request, about: &About, what: NotServed) -> Result<Answer, Refusal> {
        match self.is_handed_over(request, about, &what).await {
            true => Ok(Answer::HandedOver),
            false => without_engine(about, what),
        }
    }

    async fn is_handed_over(&self, request: &Request, about: &About, why: &(dyn Display + Sync)) -> bool {
        let About { method, stack } = about;
        match self.handover.request(&request.frame).await {
            Ok(Handed::Over) => {
                tracing::info!(method, stack, "handed to a Python engine: {why}");
                true
            }
            Ok(Handed::NoEngine) => false,
            Err(error) => {
                let error = &error as &dyn std::error::Error;
                tracing::error!(method, stack, error, "cannot hand the request to a Python engine");
                false
            }
        }
    }
}

/// What the oracle says where it does not have a type either: it finds that out while it checks a stack.
fn without_engine(about: &About, what: NotServed) -> Result<Answer, Refusal> {
    let error = match (&what, about.method.as_str()) {
        (NotServed::ResourceType(_), "validate_template") => {
            return Ok(Answer::Value(templates::unknown_type_result(&what)));
        }
        (NotServed::ResourceType(_), "create_stack" | "preview_stack" | "preview_update_stack" | "update_stack") => {
            RequestError::invalid_stack(what.to_string())
        }
        _ => what.into(),
    };
    Err(refuse(about, error))
}

/// What a caller gets instead of an answer.
struct Refusal {
    outcome: Outcome,
    fault: Fault,
}

/// A mistake of the caller's is their business, and no error of ours.
fn refuse(About { method, stack }: &About, error: RequestError) -> Refusal {
    let outcome = if error.is_expected() {
        match error.quotes_the_caller() {
            true => tracing::info!(method, stack, "refused: {}", error.class()),
            false => tracing::info!(method, stack, "refused: {error}"),
        }
        Outcome::Refused
    } else {
        tracing::error!(method, stack, error = %error.chain(), "the request failed");
        Outcome::Failed
    };
    Refusal {
        outcome,
        fault: error.into(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_tables_are_sorted_and_cover_the_contract() {
        assert!(METHODS.is_sorted_by_key(|method| method.name));
        assert!(HANDED_OVER.is_sorted());
        assert_eq!(METHODS.len() + HANDED_OVER.len(), 54);
        for inner in ["start", "stop", "wait", "reset", "service_manage_report", "_get_stack"] {
            assert!(method(inner).is_none() && HANDED_OVER.binary_search(&inner).is_err());
        }
    }
}
