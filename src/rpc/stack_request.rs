//! What a create or an update asks for: the template with its environment and files, and the stack that they make.

use std::sync::Arc;

use indexmap::IndexMap;
use serde_json::{Map, Value};

use super::arguments::{Arguments, lacks};
use super::call::{Call, Engine};
use super::error::{NotServed, RequestError};
use super::find;
use super::find::stack_by_name;
use super::served::{ensure_constraints_served, ensure_no_hooks, ensure_served};
use super::stack_arguments::StackArguments;
use crate::identity::RequestContext;
use crate::python::to_text;
use crate::python::value::class_name;
use crate::resource::state::{Action, Status};
use crate::stack::templates::Templates;
use crate::stack::validate::{Thoroughness, validate_language, validate_resources};
use crate::stack::{Stack, identity_of};
use crate::store::{self, StackQuery};
use crate::template::environment::{merge_environment_files, mergeable_parameters};
use crate::template::parameters::{ParameterSchema, all_schemata, own_schemata};
use crate::template::{Environment, Files, StackDefinition, Template};

const LONGEST_NAME: usize = 255;

/// Template, environment and files, as they stand in a request.
pub struct TemplateArguments {
    /// `None`: an update that keeps its template.
    template: Option<Value>,
    environment: Map<String, Value>,
    files: Files,
    environment_files: Vec<String>,
    largest_file: u64,
}

impl TemplateArguments {
    pub fn read(engine: &Engine, arguments: &Arguments) -> Result<Self, RequestError> {
        if arguments.value("files_container").is_some() {
            return Err(NotServed::Feature("Reading files from a Swift container".to_owned()).into());
        }
        let environment = arguments.map("params")?.cloned().unwrap_or_default();
        if let Some(registry) = environment
            .get("resource_registry")
            .filter(|registry| is_wrong_map(registry))
        {
            return Err(lacks(registry, "items"));
        }
        Ok(Self {
            template: arguments.value("template").cloned(),
            environment,
            files: files(arguments.value("files"))?,
            environment_files: arguments.texts("environment_files")?.unwrap_or_default(),
            largest_file: engine.services().settings.engine.max_template_size,
        })
    }

    pub fn into_template(self, templates: &Templates) -> Result<Template, RequestError> {
        let Self {
            template,
            mut environment,
            files,
            environment_files,
            largest_file,
        } = self;
        let template = template.unwrap_or_default();
        if !template.is_object() {
            return Err(lacks(&template, "items"));
        }
        let template = Template::new(template, Environment::default(), files)?;
        let schemata = all_schemata(&template, template.files(), largest_file)?;
        merge(&mut environment, &environment_files, &template, &schemata)?;
        let environment = templates.environment(&Value::Object(environment))?;
        environment.check_encrypted_names()?;
        Ok(template.with_environment(environment))
    }

    /// The template of a PATCH: what the request does not name is as in `current`.
    fn patch(self, current: &Template, cleared: &[String]) -> Result<Template, RequestError> {
        let Self {
            template,
            mut environment,
            files,
            environment_files,
            largest_file,
        } = self;
        let body = template.unwrap_or_else(|| Value::Object(current.body().clone()));
        let template = Template::new(body, Environment::default(), current.files().updated(&files))?;
        let schemata = all_schemata(&template, &files, largest_file)?;
        merge(&mut environment, &environment_files, &template, &schemata)?;
        let own = own_schemata(&template)?;
        let addition = Value::Object(environment);
        let is_parameter = |name: &str| own.contains_key(name);
        let environment = current.environment().patched(&addition, cleared, is_parameter)?;
        Ok(template.with_environment(environment))
    }
}

fn files(given: Option<&Value>) -> Result<Files, RequestError> {
    let Some(given) = given else {
        return Ok(Files::default());
    };
    let contents = match given {
        Value::Object(contents) => contents,
        Value::Array(_) => return Err(lacks(given, "values")),
        other => return Ok(Files::from_value(other.clone())?),
    };
    match contents.values().find(|content| !content.is_string()) {
        Some(content) => Err(RequestError::TypeError(format!(
            "<class '{}'> can't be decoded",
            class_name(content)
        ))),
        None => Ok(Files::from_value(given.clone())?),
    }
}

/// Nothing at all is as good as an empty map.
fn is_wrong_map(value: &Value) -> bool {
    !value.is_object() && !value.is_null()
}

fn merge(
    environment: &mut Map<String, Value>,
    names: &[String],
    template: &Template,
    schemata: &IndexMap<String, ParameterSchema>,
) -> Result<(), RequestError> {
    let mergeable = mergeable_parameters(schemata);
    Ok(merge_environment_files(
        environment,
        names,
        template.files(),
        &mergeable,
    )?)
}

/// Checks that come before a stack is made of a template.
pub fn check_template(engine: &Engine, template: &Template) -> Result<(), RequestError> {
    template
        .validate()
        .map_err(|error| RequestError::invalid_stack(error.to_string()))?;
    check_size(engine, template)
}

fn check_size(engine: &Engine, template: &Template) -> Result<(), RequestError> {
    let count = u64::try_from(template.resource_count()).unwrap_or(u64::MAX);
    if engine
        .services()
        .settings
        .engine
        .max_resources_per_stack
        .is_exceeded_by(count)
    {
        return Err(RequestError::RequestLimitExceeded(
            "Maximum resources per stack exceeded.".to_owned(),
        ));
    }
    Ok(())
}

/// A stack that is there only to look at its template.
pub fn template_only_stack(
    engine: &Engine,
    context: &RequestContext,
    template: Template,
) -> Result<Stack, RequestError> {
    let row = new_row(engine, context, "dummy", &StackArguments::default());
    unstored(engine, row, template)
}

fn unstored(engine: &Engine, row: store::Stack, template: Template) -> Result<Stack, RequestError> {
    let definition = StackDefinition::new(Arc::new(template), &identity_of(&row, false), &engine.services().world)?;
    Ok(Stack {
        row,
        stored: false,
        definition: Arc::new(definition),
        tags: None,
        converge: false,
    })
}

fn new_row(engine: &Engine, context: &RequestContext, name: &str, arguments: &StackArguments) -> store::Stack {
    store::Stack {
        id: String::new(),
        created_at: engine.services().clock.utc_now(),
        updated_at: None,
        deleted_at: None,
        name: name.to_owned(),
        raw_template_id: 0,
        prev_raw_template_id: None,
        user_creds_id: None,
        username: context.username.clone(),
        owner_id: None,
        action: Some(Action::Create.to_string()),
        status: Some(Status::InProgress.to_string()),
        status_reason: Some(String::new()),
        timeout: arguments.timeout_mins,
        tenant: context.project_id.clone(),
        disable_rollback: arguments.disable_rollback.unwrap_or(true),
        stack_user_project_id: None,
        backup: false,
        nested_depth: 0,
        convergence: true,
        current_traversal: None,
        parent_resource_name: None,
    }
}

/// A stack that is to be made, or to be looked at as if it were.
pub struct NewStackRequest {
    name: Value,
    template: Template,
    pub arguments: StackArguments,
}

impl NewStackRequest {
    pub async fn read(engine: &Engine, call: &Call) -> Result<Self, RequestError> {
        refuse_what_only_python_does(engine, &call.arguments)?;
        let arguments = StackArguments::read(call.arguments.required_map("args")?)?;
        if arguments.adopts {
            return Err(NotServed::Feature("Adopting a stack".to_owned()).into());
        }
        Ok(Self {
            name: call.arguments.value("stack_name").cloned().unwrap_or_default(),
            template: TemplateArguments::read(engine, &call.arguments)?.into_template(&engine.services().templates)?,
            arguments,
        })
    }

    /// The stack, not stored, if everything about it is sound.
    pub async fn validated(self, engine: &Engine, context: &RequestContext) -> Result<Stack, RequestError> {
        let name = to_text(&self.name);
        if stack_by_name(engine.services(), context, &name).await?.is_some() {
            return Err(RequestError::StackExists(name));
        }
        check_quota(engine, context).await?;
        check_template(engine, &self.template)?;
        check_name(&self.name)?;
        let mut stack = unstored(engine, new_row(engine, context, &name, &self.arguments), self.template)?;
        stack.tags = Some(self.arguments.tags.clone().unwrap_or_default());
        stack.converge = self.arguments.converge.unwrap_or(false);
        check_stack(engine, context, &stack).await?;
        Ok(stack)
    }
}

/// Nested stacks, and stacks that one process keeps to itself, are the business of Python engines.
fn refuse_what_only_python_does(engine: &Engine, arguments: &Arguments) -> Result<(), RequestError> {
    let what = if !engine.services().settings.engine.convergence_engine {
        "A stack without convergence"
    } else if arguments.value("owner_id").is_some() || arguments.value("template_id").is_some() {
        "A nested stack"
    } else {
        return Ok(());
    };
    Err(NotServed::Feature(what.to_owned()).into())
}

async fn check_quota(engine: &Engine, context: &RequestContext) -> Result<(), RequestError> {
    let limit = engine.services().settings.engine.max_stacks_per_tenant;
    let crate::settings::Limit::AtMost(most) = limit else {
        return Ok(());
    };
    if context.is_admin {
        return Ok(());
    }
    let mut query = StackQuery::new(find::scope_of(context));
    query.hidden_tags = engine.services().settings.engine.hidden_stack_tags.clone();
    let count = engine.services().store.stacks_count(&query).await?;
    if limit.is_reached_by(u64::try_from(count).unwrap_or(0)) {
        return Err(RequestError::RequestLimitExceeded(format!(
            "You have reached the maximum stacks per tenant, {most}. Please delete some stacks."
        )));
    }
    Ok(())
}

fn check_name(name: &Value) -> Result<(), RequestError> {
    let Value::String(name) = name else {
        let name = to_text(name);
        return Err(RequestError::invalid_stack(format!(
            "Invalid stack name {name}, must be a string"
        )));
    };
    let mut characters = name.chars();
    let begins_well = characters.next().is_some_and(|first| first.is_ascii_alphabetic());
    let goes_on_well = characters.all(|other| other.is_ascii_alphanumeric() || "_.-".contains(other));
    if begins_well && goes_on_well && name.len() <= LONGEST_NAME {
        return Ok(());
    }
    Err(RequestError::invalid_stack(format!(
        "Invalid stack name {name} must contain only alphanumeric or \"_-.\" characters, must start with alpha and \
         must be 255 characters or less."
    )))
}

/// The checks that need the stack as a whole.
async fn check_stack(engine: &Engine, context: &RequestContext, stack: &Stack) -> Result<(), RequestError> {
    check_policy(engine, context, stack)?;
    ensure_constraints_served(&stack.definition)?;
    // What is wrong with the language is wrong for every engine, so it need not go to another one.
    validate_language(engine.services(), context, stack, Thoroughness::Full).await?;
    ensure_served(&stack.definition)?;
    ensure_no_hooks(stack.template(), stack.definition.resources().keys())?;
    Ok(validate_resources(engine.services(), context, stack, Thoroughness::Full, &[]).await?)
}

/// The oracle lets the database find out, when half of the stack is stored.
pub fn refuse_what_no_row_holds(engine: &Engine, stack: &Stack) -> Result<(), RequestError> {
    for tag in stack.tags.iter().flatten() {
        let problem = |why| RequestError::ValueError(format!("Invalid tag, \"{tag}\": {why}"));
        engine.services().store.check_name(tag).map_err(problem)?;
    }
    match stack.row.timeout {
        Some(minutes) if i32::try_from(minutes).is_err() => {
            Err(RequestError::ValueError(format!("Invalid timeout value {minutes}")))
        }
        _ => Ok(()),
    }
}

/// Whether the caller may use the types of a stack.
pub fn check_policy(engine: &Engine, context: &RequestContext, stack: &Stack) -> Result<(), RequestError> {
    let types = stack
        .definition
        .resources()
        .values()
        .map(|resource| resource.resource_type.as_str());
    Ok(engine.policy.enforce_all(context, types)?)
}

/// What an existing stack is to become.
pub struct UpdateRequest {
    template: Template,
    pub arguments: StackArguments,
}

impl UpdateRequest {
    pub async fn read(engine: &Engine, call: &Call, current: &Stack) -> Result<Self, RequestError> {
        refuse_what_only_python_updates(current)?;
        let arguments = call.arguments.required_map("args")?;
        let template_arguments = TemplateArguments::read(engine, &call.arguments)?;
        let is_patch = arguments.get("existing").is_some_and(crate::python::value::is_true);
        let template = if is_patch {
            let cleared = StackArguments::cleared(arguments)?;
            template_arguments.patch(current.template(), &cleared)?
        } else if call.arguments.value("template_id").is_some() {
            return Err(NotServed::Feature("A nested stack".to_owned()).into());
        } else {
            template_arguments.into_template(&engine.services().templates)?
        };
        check_size(engine, &template)?;
        Ok(Self {
            template,
            arguments: StackArguments::read(arguments)?,
        })
    }

    /// The stack as it is to be, not stored, if everything about it is sound.
    pub async fn validated(
        self,
        engine: &Engine,
        context: &RequestContext,
        current: &Stack,
    ) -> Result<Stack, RequestError> {
        let given = self.template.environment().parameters.clone();
        let arguments = self.arguments;
        let row = store::Stack {
            disable_rollback: arguments.disable_rollback.unwrap_or(current.row.disable_rollback),
            timeout: arguments.timeout_mins.or(current.row.timeout),
            action: Some(Action::Create.to_string()),
            status: Some(Status::InProgress.to_string()),
            status_reason: Some(String::new()),
            ..current.row.clone()
        };
        let definition = StackDefinition::new(
            Arc::new(self.template),
            &identity_of(&current.row, true),
            &engine.services().world,
        )?;
        let before = current.definition.parameters();
        before.refuse_immutable_changes(definition.parameters(), &given)?;
        let tags = match arguments.tags {
            Some(tags) => tags,
            None if arguments.existing => current.tags.clone().unwrap_or_default(),
            None => Vec::new(),
        };
        let stack = Stack {
            row,
            stored: false,
            definition: Arc::new(definition),
            tags: Some(tags),
            converge: arguments.converge.unwrap_or(current.converge),
        };
        check_stack(engine, context, &stack).await?;
        ensure_no_hooks(stack.template(), current.definition.resources().keys())?;
        Ok(stack)
    }
}

/// Stacks that only Python engines can work on.
pub fn refuse_what_only_python_updates(stack: &Stack) -> Result<(), RequestError> {
    if !stack.row.convergence {
        return Err(NotServed::Feature("A stack without convergence".to_owned()).into());
    }
    if stack.row.owner_id.is_some() {
        return Err(NotServed::Feature("A nested stack".to_owned()).into());
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn names_are_what_the_api_says_they_are() {
        assert!(check_name(&json!("web-1.a_b")).is_ok());
        assert_eq!(
            check_name(&json!("1web")).unwrap_err().to_string(),
            "Invalid stack name 1web must contain only alphanumeric or \"_-.\" characters, must start with alpha and \
             must be 255 characters or less."
        );
        assert!(check_name(&json!("ä")).is_err());
        assert!(check_name(&json!("a".repeat(256))).is_err());
        assert_eq!(
            check_name(&json!(7)).unwrap_err().to_string(),
            "Invalid stack name 7, must be a string"
        );
    }
}
