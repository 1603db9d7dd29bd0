//! Functions that only the CloudFormation family and the first HOT version have.

use std::borrow::Cow;
use std::collections::BTreeMap;

use serde_json::{Map, Value};

use super::lookup::python_index;
use super::strings::{hashable, not_iterable};
use crate::python::json_reader::loads;
use crate::python::number::{PyNumber, parse_int};
use crate::python::repr::to_text;
use crate::python::value::class_name;
use crate::template::error::{Fault, ResolveError, TemplateError};
use crate::template::expression::{Expression, Resolver};

pub(super) fn param_ref(arguments: &Expression, resolver: &Resolver<'_>) -> Result<Value, ResolveError> {
    let name = resolver.resolve(arguments)?;
    let missing = || TemplateError::InvalidTemplateReference {
        resource: to_text(&name),
        key: "unknown".to_owned(),
    };
    match hashable(&name)? {
        Value::String(name) => resolver.references.parameter(name)?.ok_or_else(|| missing().into()),
        _ => Err(missing().into()),
    }
}

/// What Python gets when it unpacks arguments: the items of a list, but also the keys of a map and the characters of a
/// text. `None` for what cannot be unpacked.
pub(super) fn unpacked(arguments: &Expression) -> Option<Cow<'_, [Expression]>> {
    let scalar = |text: String| Expression::Scalar(Value::String(text));
    match arguments {
        Expression::List(items) => Some(Cow::Borrowed(items)),
        Expression::Map(entries) => Some(entries.keys().cloned().map(scalar).collect()),
        Expression::Scalar(Value::String(text)) => Some(text.chars().map(String::from).map(scalar).collect()),
        _ => None,
    }
}

pub(super) fn check_find_in_map(arguments: &Expression) -> Result<(), Fault> {
    match unpacked(arguments).map(|items| items.len()) {
        Some(3) => Ok(()),
        Some(few @ 0..=2) => Err(Fault::KeyError(
            format!("not enough values to unpack (expected 3, got {few})").into(),
        )),
        Some(_) => Err(Fault::KeyError("too many values to unpack (expected 3)".into())),
        None => Err(not_iterable(arguments)),
    }
}

pub(super) fn find_in_map(arguments: &Expression, resolver: &Resolver<'_>) -> Result<Value, ResolveError> {
    let arguments = unpacked(arguments).unwrap_or_default();
    let [map, key, name] = arguments.as_ref() else {
        return Err(Fault::KeyError("not enough values to unpack".into()).into());
    };
    let no_mappings = Value::Object(Map::new());
    let mappings = resolver.references.mappings().unwrap_or(&no_mappings);
    let map = subscript(mappings, &resolver.resolve(map)?)?;
    let (key, name) = (resolver.resolve(key)?, resolver.resolve(name)?);
    Ok(subscript(&subscript(&map, &key)?, &name)?)
}

/// Python's `collection[key]`.
fn subscript(collection: &Value, key: &Value) -> Result<Value, Fault> {
    let index = || match PyNumber::of(key) {
        Some(PyNumber::Int(index)) => Some(index),
        _ => None,
    };
    let beyond = |kind: &str| Fault::Raised {
        class: "IndexError",
        message: format!("{kind} index out of range"),
    };
    match collection {
        Value::Object(entries) => hashable(key)?
            .as_str()
            .and_then(|key| entries.get(key).cloned())
            .ok_or_else(|| Fault::KeyError(key.clone())),
        Value::Array(items) => {
            let class = class_name(key);
            let wrong = || Fault::TypeError(format!("list indices must be integers or slices, not {class}"));
            let position = python_index(&index().ok_or_else(wrong)?, items.len());
            position
                .map(|position| items[position].clone())
                .ok_or_else(|| beyond("list"))
        }
        Value::String(text) => {
            let class = class_name(key);
            let wrong = || Fault::TypeError(format!("string indices must be integers, not '{class}'"));
            let position = python_index(&index().ok_or_else(wrong)?, text.chars().count());
            let letter = position.and_then(|position| text.chars().nth(position));
            letter
                .map(|letter| Value::from(letter.to_string()))
                .ok_or_else(|| beyond("string"))
        }
        other => Err(Fault::TypeError(format!(
            "'{}' object is not subscriptable",
            class_name(other)
        ))),
    }
}

pub(super) fn check_select(name: &str, arguments: &Expression) -> Result<(), Fault> {
    match unpacked(arguments).map(|items| items.len()) {
        Some(2) => Ok(()),
        Some(_) => Err(Fault::ValueError(format!(
            "Arguments to \"{name}\" must be of the form [index, collection]"
        ))),
        None => Err(not_iterable(arguments)),
    }
}

pub(super) fn select(name: &str, arguments: &Expression, resolver: &Resolver<'_>) -> Result<Value, ResolveError> {
    let arguments = unpacked(arguments).unwrap_or_default();
    let [index, collection] = arguments.as_ref() else {
        return Err(Fault::TypeError(format!("Arguments to {name} not fully resolved")).into());
    };
    let index = resolver.resolve(index)?;
    let collection = match resolver.resolve(collection)? {
        Value::String(text) if text.is_empty() => return Ok(Value::from("")),
        Value::String(text) => loads(&text).map_err(|error| Fault::ValueError(format!("\"{name}\": {error}")))?,
        other => other,
    };
    match collection {
        Value::Object(entries) => match index {
            Value::String(key) => Ok(entries.get(&key).cloned().unwrap_or_else(|| Value::from(""))),
            _ => Err(Fault::TypeError(format!("Index to \"{name}\" must be a string")).into()),
        },
        Value::Array(items) => {
            let number = match &index {
                Value::String(text) => parse_int(text),
                other => PyNumber::of(other).and_then(|number| match number {
                    PyNumber::Int(index) => Some(index),
                    PyNumber::Float(float) => PyNumber::Float(float.trunc()).as_exact_integer(),
                }),
            };
            let number = number.ok_or_else(|| Fault::TypeError(format!("Index to \"{name}\" must be an integer")))?;
            let item = python_index(&number, items.len()).map(|position| items[position].clone());
            Ok(item.unwrap_or_else(|| Value::from("")))
        }
        Value::Null => Ok(Value::from("")),
        _ => Err(Fault::TypeError(format!("Arguments to {name} not fully resolved")).into()),
    }
}

pub(super) fn check_split(name: &str, arguments: &Expression) -> Result<(), Fault> {
    let message = format!("Incorrect arguments to \"{name}\" should be: \"{name}\" : [ \",\", \"str1,str2\"]]");
    match arguments {
        Expression::List(items) if items.len() == 2 => Ok(()),
        Expression::List(_) => Err(Fault::ValueError(message)),
        Expression::Scalar(Value::String(_)) | Expression::Map(_) => Err(Fault::TypeError(message)),
        other => Err(not_iterable(other)),
    }
}

pub(super) fn split(name: &str, arguments: &Expression, resolver: &Resolver<'_>) -> Result<Value, ResolveError> {
    let [delimiter, text] = arguments.as_list().unwrap_or_default() else {
        return Err(Fault::TypeError(format!("Delimiter for {name} must be string")).into());
    };
    let text = resolver.resolve(text)?;
    let Some(delimiter) = delimiter.as_text() else {
        return Err(Fault::TypeError(format!("Delimiter for {name} must be string")).into());
    };
    let Value::String(text) = text else {
        let class = class_name(&text);
        return Err(Fault::TypeError(format!("String to split must be string; got <class '{class}'>")).into());
    };
    if delimiter.is_empty() {
        return Err(Fault::ValueError("empty separator".to_owned()).into());
    }
    Ok(text.split(delimiter).map(Value::from).collect())
}

/// Nothing is converted: user data is taken as plain text.
pub(super) fn base64(name: &str, arguments: &Expression, resolver: &Resolver<'_>) -> Result<Value, ResolveError> {
    match resolver.resolve(arguments)? {
        text @ Value::String(_) => Ok(text),
        _ => Err(Fault::TypeError(format!("\"{name}\" argument must be a string")).into()),
    }
}

pub(super) fn check_member_list(name: &str, arguments: &Expression) -> Result<(), Fault> {
    let items = unpacked(arguments).ok_or_else(|| not_iterable(arguments))?;
    let [key_name, value_name, _] = items.as_ref() else {
        let usage = "\n            {'Fn::MemberListToMap': ['Name', 'Value',\n                                     \
                     ['.member.0.Name=key',\n                                      '.member.0.Value=door']]}\n            ";
        return Err(Fault::TypeError(format!("Wrong Arguments try: \"{usage}\"")));
    };
    if key_name.as_text().is_none() {
        return Err(Fault::TypeError(format!("{name} Key Name must be a string")));
    }
    if value_name.as_text().is_none() {
        return Err(Fault::TypeError(format!("{name} Value Name must be a string")));
    }
    Ok(())
}

/// `['Name', 'Value', ['.member.0.Name=a', '.member.0.Value=b']]` gives `{a: b}`.
pub(super) fn member_list_to_map(arguments: &Expression, resolver: &Resolver<'_>) -> Result<Value, ResolveError> {
    let arguments = unpacked(arguments).unwrap_or_default();
    let [key_name, value_name, list] = arguments.as_ref() else {
        return Err(Fault::TypeError("Member list must be a list".to_owned()).into());
    };
    let (key_name, value_name) = (
        key_name.as_text().unwrap_or_default(),
        value_name.as_text().unwrap_or_default(),
    );
    // Python walks through the keys of a map and the characters of a text, too.
    let list: Vec<Value> = match resolver.resolve(list)? {
        Value::Array(items) => items,
        Value::Object(entries) => entries.into_iter().map(|(key, _)| Value::String(key)).collect(),
        Value::String(text) => text.chars().map(|letter| Value::String(letter.into())).collect(),
        _ => return Err(Fault::TypeError("Member list must be a list".to_owned()).into()),
    };
    let mut members: BTreeMap<num_bigint::BigInt, Map<String, Value>> = BTreeMap::new();
    for (position, item) in list.iter().enumerate() {
        let Value::String(item) = item else {
            return Err(Fault::TypeError("Member list items must be strings".to_owned()).into());
        };
        let Some((place, value)) = item.split_once('=') else {
            let message = format!("dictionary update sequence element #{position} has length 1; 2 is required");
            return Err(Fault::ValueError(message).into());
        };
        if let Some((index, field)) = member_place(place) {
            members
                .entry(index)
                .or_default()
                .insert(field.to_owned(), Value::from(value));
        }
    }
    let mut map = Map::new();
    for fields in members.values() {
        if let (Some(key), Some(value)) = (fields.get(key_name), fields.get(value_name)) {
            map.insert(to_text(key), value.clone());
        }
    }
    Ok(Value::Object(map))
}

/// Number and field of `.member.3.Name`.
fn member_place(place: &str) -> Option<(num_bigint::BigInt, &str)> {
    let (number, field) = place.strip_prefix(".member.")?.split_once('.')?;
    let is_number = !number.is_empty() && number.bytes().all(|byte| byte.is_ascii_digit());
    is_number
        .then(|| parse_int(number))
        .flatten()
        .map(|number| (number, field))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn places_of_members() {
        assert_eq!(member_place(".member.3.Name"), Some((3.into(), "Name")));
        assert_eq!(member_place(".member.x.Name"), None);
    }
}
