//! Functions on maps.

use serde_json::{Map, Value};

use super::short_repr;
use super::strings::hashable;
use crate::python::repr::to_text;
use crate::python::value::class_name;
use crate::template::error::{Fault, ResolveError};
use crate::template::expression::{Expression, Resolver};

pub(super) fn merge(name: &str, arguments: &Expression, resolver: &Resolver<'_>) -> Result<Value, ResolveError> {
    let maps = match resolver.resolve(arguments)? {
        Value::Array(maps) => maps,
        // Python walks through a text character by character, and no character is a map.
        Value::String(text) => text
            .chars()
            .map(|character| Value::from(character.to_string()))
            .collect(),
        _ => {
            return Err(Fault::TypeError(format!(
                "Incorrect arguments to \"{name}\" should be: \"{name}\" : [ {{ \"key1\": \"val1\" }}, {{ \"key2\": \
                 \"val2\" }} ]"
            ))
            .into());
        }
    };
    let mut merged = Map::new();
    for map in maps {
        match map {
            Value::Null => {}
            Value::Object(entries) => merged.extend(entries),
            other => {
                return Err(Fault::TypeError(format!(
                    "Incorrect arguments: Items to merge must be maps. {} is type <class '{}'> instead of a dict",
                    short_repr(&other),
                    class_name(&other)
                ))
                .into());
            }
        }
    }
    Ok(Value::Object(merged))
}

fn replace_usage(name: &str) -> String {
    format!(
        "\"{name}\" : [ {{ \"key1\": \"val1\" }}, {{\"keys\": {{\"key1\": \"key2\"}}, \"values\": {{\"val1\": \
         \"val2\"}}}}]"
    )
}

pub(super) fn replace(name: &str, arguments: &Expression, resolver: &Resolver<'_>) -> Result<Value, ResolveError> {
    let wrong_arguments = || format!("Incorrect arguments to \"{name}\" should be: {}", replace_usage(name));
    let mut arguments = super::resolved_list(arguments, resolver)?
        .unwrap_or_default()
        .into_iter();
    let mut next_map = || match arguments.next() {
        Some(argument) => map_or_empty(name, argument),
        None => Err(Fault::TypeError(wrong_arguments())),
    };
    let (input, replacements) = (next_map()?, next_map()?);
    if arguments.next().is_some() {
        return Err(Fault::TypeError(wrong_arguments()).into());
    }
    if replacements.keys().any(|key| key != "keys" && key != "values") {
        return Err(Fault::ValueError(wrong_arguments()).into());
    }
    let part = |key: &str| replacements.get(key).cloned().unwrap_or(Value::Null);
    let keys = map_or_empty(name, part("keys"))?;
    let values = map_or_empty(name, part("values"))?;

    let mut output = Map::new();
    for (key, value) in &input {
        let new_key = match keys.get(key) {
            None | Some(Value::Null) => key.clone(),
            Some(new_key) => {
                let new_key = to_text(hashable(new_key)?);
                if new_key != *key && input.contains_key(&new_key) {
                    return Err(collision(&new_key, "input").into());
                }
                if output.contains_key(&new_key) {
                    return Err(collision(&new_key, "output").into());
                }
                new_key
            }
        };
        let new_value = value.as_str().and_then(|text| values.get(text)).unwrap_or(value);
        output.insert(new_key, new_value.clone());
    }
    Ok(Value::Object(output))
}

fn collision(key: &str, map: &str) -> Fault {
    Fault::ValueError(format!("key replacement {key} collides with a key in the {map} map"))
}

fn map_or_empty(name: &str, value: Value) -> Result<Map<String, Value>, Fault> {
    match value {
        Value::Null => Ok(Map::new()),
        Value::Object(entries) => Ok(entries),
        _ => Err(Fault::TypeError(format!(
            "Incorrect arguments: to \"{name}\", arguments must be a list of maps. Example:  {}",
            replace_usage(name)
        ))),
    }
}
