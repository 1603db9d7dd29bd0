//! Functions on lists.

use serde_json::Value;

use crate::python::dumps;
use crate::python::value::{self, Distinct, class_name, is_true};
use crate::template::error::{Fault, ResolveError};
use crate::template::expression::{Expression, Resolver};

pub(super) fn concat(
    unique: bool,
    name: &str,
    arguments: &Expression,
    resolver: &Resolver<'_>,
) -> Result<Value, ResolveError> {
    let arguments = super::resolved_list(arguments, resolver)?.map_err(|_| {
        Fault::TypeError(format!(
            "Incorrect arguments to \"{name}\" should be: \"{name}\" : [ [ <value 1>, <value 2> ], [ <value 3>, \
             <value 4> ] ]"
        ))
    })?;
    let mut items = Vec::new();
    for list in &arguments {
        match list {
            Value::Null => {}
            Value::Array(more) => items.extend(more.iter().cloned()),
            other => {
                return Err(Fault::TypeError(format!(
                    "Incorrect arguments: Items to concat must be lists. {} contains an item that is not a list: {}",
                    dumps(&Value::Array(arguments.clone())),
                    dumps(other)
                ))
                .into());
            }
        }
    }
    if !unique {
        return Ok(Value::Array(items));
    }
    let mut seen = Distinct::default();
    Ok(Value::Array(
        items.into_iter().filter(|item| seen.insert(item)).collect(),
    ))
}

pub(super) fn check_contains(name: &str, arguments: &Expression) -> Result<(), Fault> {
    match arguments.as_list() {
        Some(items) if items.len() == 2 => Ok(()),
        Some(items) if !items.is_empty() => Err(Fault::ValueError(format!(
            "Arguments to \"{name}\" must be of the form: [value1, [value1, value2]]"
        ))),
        _ => Err(Fault::TypeError(format!(
            "Incorrect arguments to \"{name}\" should be: \"{name}\" : [ \"value1\", [ \"value1\", \"value2\"]]"
        ))),
    }
}

pub(super) fn contains(name: &str, arguments: &Expression, resolver: &Resolver<'_>) -> Result<Value, ResolveError> {
    let Some([item, sequence]) = arguments.as_list() else {
        return Err(Fault::TypeError(format!("Second argument to \"{name}\" should be a sequence.")).into());
    };
    let item = resolver.resolve(item)?;
    match (resolver.resolve(sequence)?, item) {
        (Value::Array(items), item) => Ok(Value::Bool(value::contains(&items, &item))),
        (Value::String(text), Value::String(part)) => Ok(Value::Bool(text.contains(&part))),
        (Value::String(_), other) => Err(Fault::TypeError(format!(
            "'in <string>' requires string as left operand, not {}",
            class_name(&other)
        ))
        .into()),
        _ => Err(Fault::TypeError(format!("Second argument to \"{name}\" should be a sequence.")).into()),
    }
}

pub(super) fn check_filter(name: &str, arguments: &Expression) -> Result<(), Fault> {
    match arguments.as_list() {
        None => Err(Fault::TypeError(format!("Argument to \"{name}\" must be a list"))),
        Some([_, _]) => Ok(()),
        Some(items) => Err(Fault::ValueError(format!(
            "\"{name}\" expected 2 arguments of the form [values, sequence] but got {} arguments instead",
            items.len()
        ))),
    }
}

pub(super) fn filter(name: &str, arguments: &Expression, resolver: &Resolver<'_>) -> Result<Value, ResolveError> {
    let Some([values, sequence]) = arguments.as_list() else {
        return Err(Fault::TypeError(format!("Argument to \"{name}\" must be a list")).into());
    };
    let sequence = match resolver.resolve(sequence)? {
        Value::Array(items) => items,
        empty if !is_true(&empty) => return Ok(empty),
        _ => return Err(Fault::TypeError(format!("\"{name}\" only works with lists")).into()),
    };
    if sequence.is_empty() {
        return Ok(Value::Array(sequence));
    }
    let values = match resolver.resolve(values)? {
        Value::Array(values) => values,
        empty if !is_true(&empty) => return Ok(Value::Array(sequence)),
        _ => return Err(Fault::TypeError(format!("\"{name}\" filters a list of values")).into()),
    };
    let values: Distinct = values.iter().collect();
    Ok(Value::Array(
        sequence.into_iter().filter(|item| !values.contains(item)).collect(),
    ))
}
