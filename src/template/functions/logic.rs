//! Conditions and the choice between two values.

use serde_json::Value;

use crate::python::value;
use crate::template::error::{Fault, ResolveError};
use crate::template::expression::{Context, Expression, ParseScope, Resolver};
use crate::template::place::Place;

/// The branch of an `if` that counts, still unparsed: what is in the other one need not even make sense. `None` where
/// there is no else and the condition is false.
pub(crate) fn choose_branch<'a>(
    name: &str,
    arguments: &'a Value,
    may_omit_else: bool,
    scope: &ParseScope<'_>,
) -> Result<Option<&'a Value>, ResolveError> {
    let (condition, if_true, if_false) = match arguments.as_array().map(Vec::as_slice) {
        Some([condition, if_true, if_false]) => (condition, if_true, Some(if_false)),
        Some([condition, if_true]) if may_omit_else => (condition, if_true, None),
        _ => {
            return Err(Fault::ValueError(format!(
                "Arguments to \"{name}\" must be of the form: [condition_name, value_if_true, value_if_false]"
            ))
            .into());
        }
    };
    let condition_scope = ParseScope {
        context: Context::Condition,
        ..*scope
    };
    let condition = Expression::parse(condition, &condition_scope, &Place::Start(&[name]))?;
    let condition = condition.resolve(scope.references)?;
    let holds = scope.references.condition(&condition)?;
    Ok(if holds { Some(if_true) } else { if_false })
}

pub(super) fn check_equals(name: &str, arguments: &Expression) -> Result<(), Fault> {
    match arguments.as_list() {
        Some([_, _]) => Ok(()),
        _ => Err(Fault::ValueError(format!(
            "Arguments to \"{name}\" must be of the form: [value_1, value_2]"
        ))),
    }
}

pub(super) fn equals(arguments: &Expression, resolver: &Resolver<'_>) -> Result<Value, ResolveError> {
    let [left, right] = arguments.as_list().unwrap_or_default() else {
        return Ok(Value::Bool(false));
    };
    Ok(Value::Bool(value::equals(
        &resolver.resolve(left)?,
        &resolver.resolve(right)?,
    )))
}

pub(super) fn check_not(in_list: bool, name: &str, arguments: &Expression) -> Result<(), Fault> {
    if in_list && arguments.as_list().is_none_or(|items| items.len() != 1) {
        return Err(Fault::ValueError(format!(
            "Arguments to \"{name}\" must be of the form: [condition]"
        )));
    }
    if arguments.is_null() {
        return Err(Fault::ValueError(format!("Argument to \"{name}\" must be a condition")));
    }
    Ok(())
}

pub(super) fn not(in_list: bool, arguments: &Expression, resolver: &Resolver<'_>) -> Result<Value, ResolveError> {
    let condition = match arguments.as_list() {
        Some([only]) if in_list => only,
        _ => arguments,
    };
    let condition = resolver.resolve(condition)?;
    Ok(Value::Bool(!resolver.references.condition(&condition)?))
}

pub(super) fn check_several(name: &str, arguments: &Expression) -> Result<(), Fault> {
    match arguments.as_list() {
        None => Err(Fault::ValueError(format!(
            "Arguments to \"{name}\" must be a list of conditions"
        ))),
        Some(items) if items.len() < 2 => Err(Fault::ValueError(format!(
            "The minimum number of condition arguments to \"{name}\" is 2."
        ))),
        Some(_) => Ok(()),
    }
}

pub(super) fn and(arguments: &Expression, resolver: &Resolver<'_>) -> Result<Value, ResolveError> {
    for condition in resolver.resolve_list(arguments.as_list().unwrap_or_default())? {
        if !resolver.references.condition(&condition)? {
            return Ok(Value::Bool(false));
        }
    }
    Ok(Value::Bool(true))
}

pub(super) fn or(arguments: &Expression, resolver: &Resolver<'_>) -> Result<Value, ResolveError> {
    for condition in resolver.resolve_list(arguments.as_list().unwrap_or_default())? {
        if resolver.references.condition(&condition)? {
            return Ok(Value::Bool(true));
        }
    }
    Ok(Value::Bool(false))
}
