//! `repeat`: a copy of a template for each item of a list, or for each combination of items.

use serde_json::{Map, Value};

use crate::python::value::class_name;
use crate::template::allowance::weight;
use crate::template::error::{Fault, ResolveError};
use crate::template::expression::{Call, Expression, Resolver};

/// What may be walked through, by version.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum RepeatDialect {
    Lists,
    /// A map stands for its keys.
    ListsAndMaps,
    /// `permutations: false` walks through all lists at once.
    Permutations,
}

pub(super) fn check(dialect: RepeatDialect, name: &str, arguments: &Expression) -> Result<(), Fault> {
    let Some(entries) = arguments.as_map() else {
        return Err(Fault::TypeError(format!("Arguments to \"{name}\" must be a map")));
    };
    if !entries.contains_key("for_each") || !entries.contains_key("template") {
        return Err(Fault::KeyError(
            "\"repeat\" syntax should be repeat:\n              template: This is %var%\n              \
             for_each:\n                %var%: ['a', 'b', 'c']"
                .into(),
        ));
    }
    let permutations = entries.get("permutations");
    let is_boolean = permutations.is_none_or(|value| matches!(value, Expression::Scalar(Value::Bool(_))));
    if dialect == RepeatDialect::Permutations && !is_boolean {
        return Err(Fault::TypeError(format!(
            "\"permutations\" should be boolean type for {name} function."
        )));
    }
    Ok(())
}

pub(super) fn validate(call: &Call) -> Result<(), Fault> {
    let for_each = call.arguments.as_map().and_then(|entries| entries.get("for_each"));
    if for_each.is_some_and(|value| value.is_call() || value.as_map().is_some()) {
        return Ok(());
    }
    Err(Fault::TypeError(format!(
        "The \"for_each\" argument to \"{}\" must contain a map",
        call.name
    )))
}

pub(super) fn resolve(
    dialect: RepeatDialect,
    name: &str,
    arguments: &Expression,
    resolver: &Resolver<'_>,
) -> Result<Value, ResolveError> {
    let part = |key: &str| {
        arguments
            .as_map()
            .and_then(|entries| entries.get(key))
            .unwrap_or(&Expression::Absent)
    };
    let for_each = resolver
        .resolve(part("for_each"))
        .map_err(|error| error.below("for_each"))?;
    let permute = dialect != RepeatDialect::Permutations
        || !matches!(part("permutations"), Expression::Scalar(Value::Bool(false)));
    let Value::Object(for_each) = for_each else {
        let class = class_name(&for_each);
        return Err(Fault::AttributeError(format!("'{class}' object has no attribute 'items'")).into());
    };
    if for_each.is_empty() {
        return Err(Fault::ValueError("not enough values to unpack (expected 2, got 0)".to_owned()).into());
    }
    let maps_allowed = match dialect {
        RepeatDialect::Lists => false,
        RepeatDialect::ListsAndMaps => true,
        RepeatDialect::Permutations => permute,
    };
    let mut lengths = Vec::new();
    let mut lists = Vec::with_capacity(for_each.len());
    for value in for_each.values() {
        let list = walked_through(name, value, maps_allowed)?;
        if !value.is_null() {
            lengths.push(list.len());
        }
        lists.push(list);
    }
    if !permute && lengths.iter().any(|length| *length != lengths[0]) {
        return Err(Fault::ValueError(format!(
            "For {name}, the length of for_each values should be equal if no nested loop."
        ))
        .into());
    }
    let template = resolver
        .resolve(part("template"))
        .map_err(|error| error.below("template"))?;
    let keys: Vec<&String> = for_each.keys().collect();
    let count = if permute {
        lists
            .iter()
            .try_fold(1_usize, |product, list| product.checked_mul(list.len()))
            .unwrap_or(usize::MAX)
    } else {
        lists.iter().map(Vec::len).min().unwrap_or(0)
    };
    // Refused before the first copy is made; the copies themselves may turn out larger.
    resolver.spend(count.saturating_mul(weight(&template) + keys.len()))?;
    let mut copies = Vec::with_capacity(count);
    for number in 0..count {
        let values = if permute {
            combination(&lists, number)
        } else {
            lists.iter().map(|list| &list[number]).collect()
        };
        let copy = replaced(&template, &keys, &values)?;
        resolver.spend(weight(&copy).saturating_sub(weight(&template)))?;
        copies.push(copy);
    }
    Ok(Value::Array(copies))
}

fn walked_through(name: &str, value: &Value, maps_allowed: bool) -> Result<Vec<Value>, Fault> {
    match value {
        Value::Null => Ok(Vec::new()),
        Value::Array(items) => Ok(items.clone()),
        Value::Object(entries) if maps_allowed => Ok(entries.keys().map(|key| Value::from(key.as_str())).collect()),
        _ => Err(Fault::TypeError(format!(
            "The values of the \"for_each\" argument to \"{name}\" must be lists{}",
            if maps_allowed { " or maps" } else { "" }
        ))),
    }
}

/// The n-th combination, where the last list turns fastest.
fn combination(lists: &[Vec<Value>], number: usize) -> Vec<&Value> {
    let mut rest = number;
    let mut values: Vec<&Value> = lists
        .iter()
        .rev()
        .map(|list| {
            let value = &list[rest % list.len()];
            rest /= list.len();
            value
        })
        .collect();
    values.reverse();
    values
}

fn replaced(template: &Value, keys: &[&String], values: &[&Value]) -> Result<Value, Fault> {
    match template {
        Value::String(text) => replaced_text(text, keys, values).map(Value::String),
        Value::Array(items) => items
            .iter()
            .map(|item| replaced(item, keys, values))
            .collect::<Result<_, _>>()
            .map(Value::Array),
        Value::Object(entries) => entries
            .iter()
            .map(|(key, value)| Ok((replaced_text(key, keys, values)?, replaced(value, keys, values)?)))
            .collect::<Result<Map<_, _>, _>>()
            .map(Value::Object),
        other => Ok(other.clone()),
    }
}

fn replaced_text(text: &str, keys: &[&String], values: &[&Value]) -> Result<String, Fault> {
    let mut replaced = text.to_owned();
    for (key, value) in keys.iter().zip(values) {
        let Value::String(value) = value else {
            return Err(Fault::TypeError(format!(
                "replace() argument 2 must be str, not {}",
                if value.is_null() { "None" } else { class_name(value) }
            )));
        };
        let occurrences = replaced.matches(key.as_str()).count();
        if occurrences.saturating_mul(value.len()) > LONGEST_TEXT {
            return Err(Fault::limit(format!(
                "a text of repeat is too long (more than {LONGEST_TEXT} bytes)"
            )));
        }
        replaced = replaced.replace(key.as_str(), value);
    }
    Ok(replaced)
}

const LONGEST_TEXT: usize = 16 * 1024 * 1024;
