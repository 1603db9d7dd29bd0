//! Creating, updating, cancelling and deleting stacks.

use std::sync::Arc;

use serde_json::Value;
use tracing::Instrument;

use super::call::{Call, Engine};
use super::error::RequestError;
use super::find;
use super::served::ensure_no_delete_hooks;
use super::stack_request::{
    NewStackRequest, UpdateRequest, check_policy, refuse_what_no_row_holds, refuse_what_only_python_updates,
};
use crate::convergence::traversal::{Plan, PlannedSettings, PlannedTemplate};
use crate::identity::RequestContext;
use crate::resource::state::{Action, Status};
use crate::settings::ReauthenticationMethod;
use crate::stack::Stack;
use crate::stack::creation::{Creation, create_user_project};
use crate::stack::error::StackError;
use crate::stack::renewal::renew_credentials;
use crate::stack::{creation, credentials};
use crate::store::Deleted;

pub async fn create_stack(engine: &Engine, call: Call) -> Result<Value, RequestError> {
    let services = engine.services();
    let request = NewStackRequest::read(engine, &call).await?;
    let draft = request.validated(engine, &call.context).await?;
    refuse_what_no_row_holds(engine, &draft)?;
    tracing::info!(stack = draft.name(), "creating stack");
    let mut stack = match creation::store(services, &call.context, draft).await? {
        Creation::Stored(stack) => *stack,
        Creation::NameTaken(name) => return Err(RequestError::StackExists(name)),
    };
    let context = acting_context(engine, &call.context, &stack).await?;
    if let Err(error) = create_user_project(services, &context, &mut stack).await {
        let reason = match error.is_authorization_failure() {
            true => error.to_string(),
            false => "Failed to create stack user project".to_owned(),
        };
        tracing::error!(
            stack = stack.name(),
            error = &error as &dyn std::error::Error,
            "no project for stack users"
        );
        let swap = stack
            .set_state(services, &context, Action::Create, Status::Failed, &reason)
            .await?;
        tracing::debug!(?swap, "stack marked");
    }
    let plan = Plan {
        action: Action::Create,
        template: PlannedTemplate::Stored(stack.row.raw_template_id),
        settings: None,
        stop_workers: false,
    };
    let begun = engine.convergence.converge(&context, &mut stack, plan).await?;
    tracing::debug!(stack = stack.name(), begun, "create");
    Ok(stack.identifier().to_value())
}

/// Who does the work: the caller, or by `reauthentication_auth_method = trusts` whoever the stack's trust makes us.
async fn acting_context(
    engine: &Engine,
    caller: &RequestContext,
    stack: &Stack,
) -> Result<RequestContext, RequestError> {
    let services = engine.services();
    if services.settings.engine.reauthentication_auth_method != ReauthenticationMethod::Trusts {
        return Ok(caller.clone());
    }
    Ok(credentials::stored_context(services, &caller.request_id, stack).await?)
}

/// How often an update or a delete is tried again because somebody else has begun something with the stack at the same
/// moment, such as a rollback.
const ATTEMPTS: u32 = 5;

pub async fn update_stack(engine: &Engine, call: Call) -> Result<Value, RequestError> {
    let mut attempt = 1;
    loop {
        let (begun, stack) = begin_update(engine, &call).await?;
        if begun || attempt == ATTEMPTS {
            return Ok(stack.identifier().to_value());
        }
        tracing::info!(attempt, "the stack has moved on; updating it as it is now");
        attempt += 1;
    }
}

/// False if the stack has changed in the meantime.
async fn begin_update(engine: &Engine, call: &Call) -> Result<(bool, Stack), RequestError> {
    let services = engine.services();
    let row = find::stack(
        services,
        &call.context,
        call.arguments.value("stack_identity"),
        Deleted::Hidden,
    )
    .await?;
    let mut stack = Stack::from_row(services, row).await?;
    refuse_what_only_python_updates(&stack)?;
    tracing::info!(stack = stack.name(), "updating stack");
    check_policy(engine, &call.context, &stack)?;
    let refusal = match stack.action() {
        Action::Suspend => Some("Updating a stack when it is suspended"),
        Action::Delete => Some("Updating a stack when it is deleting"),
        _ => None,
    };
    if let Some(refusal) = refusal {
        return Err(RequestError::NotSupported(refusal.to_owned()));
    }
    stack.tags(services).await?;
    let request = UpdateRequest::read(engine, call, &stack).await?;
    let updated = request.validated(engine, &call.context, &stack).await?;
    refuse_what_no_row_holds(engine, &updated)?;
    renew_credentials(services, &call.context, &mut stack).await?;
    let context = acting_context(engine, &call.context, &stack).await?;
    let plan = Plan {
        action: Action::Update,
        template: PlannedTemplate::New(updated.template().clone()),
        settings: Some(PlannedSettings {
            disable_rollback: updated.row.disable_rollback,
            timeout_mins: updated.row.timeout,
            converge: updated.converge,
            tags: updated.tags.unwrap_or_default(),
        }),
        stop_workers: false,
    };
    let begun = engine.convergence.converge(&context, &mut stack, plan).await?;
    tracing::debug!(stack = stack.name(), begun, "update");
    Ok((begun, stack))
}

pub async fn delete_stack(engine: &Engine, call: Call) -> Result<Value, RequestError> {
    for attempt in 1..=ATTEMPTS {
        if begin_delete(engine, &call).await? {
            break;
        }
        tracing::info!(attempt, "the stack has moved on; deleting it as it is now");
    }
    Ok(Value::Null)
}

/// False if the stack has changed in the meantime.
async fn begin_delete(engine: &Engine, call: &Call) -> Result<bool, RequestError> {
    let services = engine.services();
    let row = find::stack(
        services,
        &call.context,
        call.arguments.value("stack_identity"),
        Deleted::Hidden,
    )
    .await?;
    let mut stack = Stack::from_row(services, row).await?;
    refuse_what_only_python_updates(&stack)?;
    tracing::info!(stack = stack.name(), "deleting stack");
    check_policy(engine, &call.context, &stack)?;
    if (stack.action(), stack.status()) == (Action::Delete, Status::Complete) {
        let name = stack.name().to_owned();
        let (convergence, context) = (engine.convergence.clone(), call.context.clone());
        in_background(engine, stack, move |mut stack| async move {
            convergence.purge(&context, &mut stack).await
        });
        return Err(RequestError::EntityNotFound { entity: "Stack", name });
    }
    ensure_no_delete_hooks(&stack.definition)?;
    renew_credentials(services, &call.context, &mut stack).await?;
    if stack.is_in_progress() {
        engine.convergence.stop_traversal(&call.context, &mut stack).await?;
    }
    let plan = Plan {
        action: Action::Delete,
        template: PlannedTemplate::New(Arc::new(stack.template().emptied())),
        settings: None,
        stop_workers: true,
    };
    let begun = engine.convergence.converge(&call.context, &mut stack, plan).await?;
    tracing::debug!(stack = stack.name(), begun, "delete");
    Ok(begun)
}

pub async fn stack_cancel_update(engine: &Engine, call: Call) -> Result<Value, RequestError> {
    let services = engine.services();
    let row = find::stack(
        services,
        &call.context,
        call.arguments.value("stack_identity"),
        Deleted::Hidden,
    )
    .await?;
    let stack = Stack::from_row(services, row).await?;
    refuse_what_only_python_updates(&stack)?;
    let with_rollback = call.arguments.flag("cancel_with_rollback", true);
    let allowed = match stack.action() {
        Action::Update => true,
        Action::Create => !with_rollback,
        _ => false,
    };
    if !(allowed && stack.is_in_progress()) {
        return Err(RequestError::NotSupported(format!(
            "Cancelling update when stack is {}",
            stack.state()
        )));
    }
    tracing::info!(stack = stack.name(), with_rollback, "cancelling the update of stack");
    let (convergence, context) = (engine.convergence.clone(), call.context.clone());
    in_background(engine, stack, move |mut stack| async move {
        match with_rollback {
            true => convergence.roll_back(&context, &mut stack).await,
            false => convergence.stop_traversal(&context, &mut stack).await,
        }
    });
    Ok(Value::Null)
}

/// What goes on after the caller has its answer.
fn in_background<W, F>(engine: &Engine, stack: Stack, work: W)
where
    W: FnOnce(Stack) -> F,
    F: Future<Output = Result<(), StackError>> + Send + 'static,
{
    let name = stack.name().to_owned();
    let work = work(stack);
    let logged = async move {
        if let Err(error) = work.await {
            tracing::error!(
                stack = name,
                error = &error as &dyn std::error::Error,
                "work on the stack failed"
            );
        }
    };
    engine.services().background.spawn(logged.in_current_span());
}
