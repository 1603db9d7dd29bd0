//! The outputs of a stack, with the values that they have now.

use serde_json::{Map, Value, json};

use super::Stack;
use super::error::StackError;
use super::live::{LiveStack, Readers};
use super::services::Services;
use crate::identity::RequestContext;
use crate::template::OutputDefinition;

/// The outputs in the order of the template, without their values.
pub fn described(stack: &Stack) -> Result<Vec<Value>, StackError> {
    let outputs = stack.definition.outputs()?;
    Ok(outputs
        .values()
        .map(|output| Value::Object(description(output)))
        .collect())
}

/// All outputs with their values, as far as they can be told. What is learned of attributes on the way is kept.
pub async fn resolved(services: &Services, context: &RequestContext, stack: &Stack) -> Result<Vec<Value>, StackError> {
    let mut live = LiveStack::load(services, context, stack, Readers::ResourcesAndOutputs).await?;
    live.keep_attributes(services).await;
    values(services, context, stack, &mut live).await
}

/// The outputs with the values that follow from the states of the resources.
pub async fn values(
    services: &Services,
    context: &RequestContext,
    stack: &Stack,
    live: &mut LiveStack,
) -> Result<Vec<Value>, StackError> {
    let mut shown = Vec::new();
    for output in stack.definition.outputs()?.values() {
        shown.push(with_value(services, context, stack, output, live).await);
    }
    Ok(shown)
}

/// One output with its value; `None` if the stack has none of that name.
pub async fn one(
    services: &Services,
    context: &RequestContext,
    stack: &Stack,
    name: &str,
) -> Result<Option<Value>, StackError> {
    let Some(output) = stack.definition.outputs()?.get(name) else {
        return Ok(None);
    };
    let mut live = LiveStack::load(services, context, stack, Readers::OneOutput(name)).await?;
    Ok(Some(with_value(services, context, stack, output, &mut live).await))
}

fn description(output: &OutputDefinition) -> Map<String, Value> {
    Map::from_iter([
        ("output_key".to_owned(), json!(output.name)),
        ("description".to_owned(), json!(output.description())),
    ])
}

/// A value that cannot be told does not spoil the others: its error stands beside it.
async fn with_value(
    services: &Services,
    context: &RequestContext,
    stack: &Stack,
    output: &OutputDefinition,
    live: &mut LiveStack,
) -> Value {
    if output.expression().needs_availability_zones() {
        live.states.learn_availability_zones(services, context).await;
    }
    let mut shown = description(output);
    let value = match output.value(&stack.definition.scope(&live.states)) {
        Ok(value) => value,
        Err(error) => {
            shown.insert("output_error".to_owned(), Value::String(error.to_string()));
            Value::Null
        }
    };
    shown.insert("output_value".to_owned(), value);
    Value::Object(shown)
}
