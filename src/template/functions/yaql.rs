//! `yaql`: an expression of another language, over data from the template. The language is a room of its own.

use serde_json::{Map, Value};

use crate::template::error::{Fault, ResolveError, TemplateError};
use crate::template::expression::{Expression, Resolver};
use crate::yaql::{Error, Statement};

pub(super) fn check(name: &str, arguments: &Expression) -> Result<(), Fault> {
    let Some(entries) = arguments.as_map() else {
        return Err(Fault::TypeError(format!("Arguments to \"{name}\" must be a map.")));
    };
    let only_known_keys = entries.keys().all(|key| key == "expression" || key == "data");
    if entries.contains_key("expression") && only_known_keys {
        return Ok(());
    }
    let example = format!(
        "{name}:\n              expression: $.data.var1.sum()\n              data:\n                var1: [3, 2, 1]"
    );
    Err(Fault::KeyError(format!("\"{name}\" syntax should be {example}").into()))
}

/// An expression that is written down can be read before anything is known.
pub(super) fn validate(name: &str, arguments: &Expression) -> Result<(), Fault> {
    match arguments.as_map().and_then(|entries| entries.get("expression")) {
        Some(expression) if !expression.is_call() => parse(name, &expression.render()).map(drop),
        _ => Ok(()),
    }
}

pub(super) fn resolve(name: &str, arguments: &Expression, resolver: &Resolver<'_>) -> Result<Value, ResolveError> {
    let resolved = |key: &str| {
        let argument = arguments.as_map().and_then(|entries| entries.get(key));
        argument.map(|argument| resolver.resolve(argument)).transpose()
    };
    let statement = parse(name, &resolved("expression")?.unwrap_or(Value::Null))?;
    let data = resolved("data")?.unwrap_or_else(|| Value::Object(Map::new()));
    let data = Value::Object(Map::from_iter([("data".to_owned(), data)]));
    let world = resolver.references.world().ok_or_else(|| not_now(name))?;
    let allowance = &resolver.references.allowance().yaql;
    Ok(world.evaluate(&statement, &data, allowance).map_err(raised)?)
}

fn parse(name: &str, expression: &Value) -> Result<Statement, Fault> {
    let Value::String(expression) = expression else {
        return Err(Fault::TypeError(format!(
            "The \"expression\" argument to {name} must contain a string."
        )));
    };
    Statement::parse(expression).map_err(|error| match error {
        error if error.is_yaqls_own() => Fault::ValueError(format!("Bad expression {error}.")),
        error => raised(error),
    })
}

fn raised(error: Error) -> Fault {
    let message = error.to_string();
    match error {
        Error::TooManyStepsTogether(_) => Fault::Template(TemplateError::AllowanceExceeded { message }),
        error => Fault::Raised {
            class: error.class_name(),
            message,
        },
    }
}

fn not_now(name: &str) -> Fault {
    Fault::ValueError(format!("The function \"{name}\" cannot be computed yet"))
}
