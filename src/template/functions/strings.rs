//! Functions that make and take apart text.

use serde_json::Value;

use super::lookup::python_index;
use super::{short_repr, unhashable};
use crate::python::json::dumps_sorted;
use crate::python::number::{PyNumber, parse_int};
use crate::python::repr::to_text;
use crate::python::value::class_name;
use crate::template::error::{Fault, ResolveError};
use crate::template::expression::{Expression, Resolver};

/// The kinds of `str_replace`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum ReplaceDialect {
    /// Values are texts or numbers.
    Plain,
    /// Lists and maps are put in as JSON.
    Json,
    /// Each placeholder must occur.
    Strict,
    /// And no value may be empty.
    VeryStrict,
    /// `Fn::Replace`: a list of mapping and text.
    Cfn,
}

impl ReplaceDialect {
    fn writes_json(self) -> bool {
        matches!(self, Self::Json | Self::Strict | Self::VeryStrict)
    }

    fn must_replace_all(self) -> bool {
        matches!(self, Self::Strict | Self::VeryStrict)
    }
}

/// Mapping and text of a replacement.
fn replace_parts<'a>(
    dialect: ReplaceDialect,
    name: &str,
    arguments: &'a Expression,
) -> Result<(&'a Expression, &'a Expression), Fault> {
    if dialect == ReplaceDialect::Cfn {
        let example = format!("{{\"{name}\": [ {{\"$var1\": \"foo\", \"%var2%\": \"bar\"}}, \"$var1 is %var2%\"]}}");
        let message = format!("Incorrect arguments to \"{name}\" should be: {example}");
        return match arguments {
            Expression::List(items) if items.len() == 2 => Ok((&items[0], &items[1])),
            Expression::List(_) => Err(Fault::ValueError(message)),
            Expression::Scalar(Value::String(_)) | Expression::Map(_) => Err(Fault::TypeError(message)),
            other => Err(not_iterable(other)),
        };
    }
    let Some(entries) = arguments.as_map() else {
        return Err(Fault::TypeError(format!("Arguments to \"{name}\" must be a map")));
    };
    match (entries.get("params"), entries.get("template")) {
        (Some(params), Some(template)) => Ok((params, template)),
        _ => {
            let example = format!(
                "{name}:\n              template: This is var1 template var2\n              params:\n                \
                 var1: a\n                var2: string"
            );
            Err(Fault::KeyError(format!("\"{name}\" syntax should be {example}").into()))
        }
    }
}

pub(super) fn not_iterable(arguments: &Expression) -> Fault {
    let class = super::lookup::python_class(arguments);
    Fault::TypeError(format!("cannot unpack non-iterable {class} object"))
}

pub(super) fn check_replace(dialect: ReplaceDialect, name: &str, arguments: &Expression) -> Result<(), Fault> {
    let (mapping, _) = replace_parts(dialect, name, arguments)?;
    if mapping.as_map().is_none() && !mapping.is_call() {
        return Err(Fault::TypeError(format!("\"{name}\" parameters must be a mapping")));
    }
    Ok(())
}

pub(super) fn replace(
    dialect: ReplaceDialect,
    name: &str,
    arguments: &Expression,
    resolver: &Resolver<'_>,
) -> Result<Value, ResolveError> {
    let (mapping, text) = replace_parts(dialect, name, arguments)?;
    let text = resolver.resolve(text).map_err(|error| error.below("template"))?;
    let mapping = resolver.resolve(mapping).map_err(|error| error.below("params"))?;
    let Value::String(text) = text else {
        return Err(Fault::TypeError(format!("\"{name}\" template must be a string")).into());
    };
    let Value::Object(mapping) = mapping else {
        return Err(Fault::TypeError(format!("\"{name}\" params must be a map")).into());
    };
    let mut placeholders: Vec<&String> = mapping.keys().collect();
    sort_longest_first(&mut placeholders);

    let mut pieces = vec![Piece::Open(&text)];
    let mut values = Vec::with_capacity(placeholders.len());
    let mut unused = Vec::new();
    // Each placeholder goes once through what is left of the text.
    resolver.spend((placeholders.len() * text.len()) / 16)?;
    for placeholder in placeholders {
        values.push(replacement(dialect, name, &mapping[placeholder], placeholder)?);
        if placeholder.is_empty() {
            return Err(Fault::ValueError("empty separator".to_owned()).into());
        }
        let before = pieces.len();
        pieces = split_pieces(pieces, placeholder, values.len() - 1);
        if pieces.len() == before {
            unused.push(placeholder.as_str());
        }
    }
    if dialect.must_replace_all() && !unused.is_empty() {
        return Err(Fault::ValueError(format!(
            "The following params were not found in the template: {}",
            unused.join(",")
        ))
        .into());
    }
    let parts = || {
        pieces.iter().map(|piece| match piece {
            Piece::Open(text) => text,
            Piece::Closed(index) => values[*index].as_str(),
        })
    };
    resolver.spend(parts().map(str::len).sum())?;
    Ok(Value::String(parts().collect()))
}

/// Longer placeholders go first, so that one that begins another does not spoil it.
fn sort_longest_first(placeholders: &mut [&String]) {
    placeholders.sort_by(|left, right| {
        right
            .chars()
            .count()
            .cmp(&left.chars().count())
            .then_with(|| left.cmp(right))
    });
}

/// A part of the text that may still hold placeholders, or the place of a value, which is not looked into again.
#[derive(Clone, Copy)]
enum Piece<'a> {
    Open(&'a str),
    Closed(usize),
}

fn split_pieces<'a>(pieces: Vec<Piece<'a>>, placeholder: &str, value: usize) -> Vec<Piece<'a>> {
    let mut split = Vec::with_capacity(pieces.len());
    for piece in pieces {
        match piece {
            Piece::Open(text) => {
                for (index, part) in text.split(placeholder).enumerate() {
                    if index > 0 {
                        split.push(Piece::Closed(value));
                    }
                    split.push(Piece::Open(part));
                }
            }
            closed @ Piece::Closed(_) => split.push(closed),
        }
    }
    split
}

fn replacement(dialect: ReplaceDialect, name: &str, value: &Value, placeholder: &str) -> Result<String, Fault> {
    let text = match value {
        Value::Null => String::new(),
        Value::Array(_) | Value::Object(_) if !dialect.writes_json() => {
            return Err(Fault::TypeError(format!(
                "\"{name}\" params must be strings or numbers, param {placeholder} is not valid"
            )));
        }
        Value::Array(items) if items.is_empty() && dialect == ReplaceDialect::VeryStrict => String::new(),
        Value::Object(entries) if entries.is_empty() && dialect == ReplaceDialect::VeryStrict => String::new(),
        Value::Array(_) | Value::Object(_) => dumps_sorted(value),
        scalar => to_text(scalar),
    };
    if dialect == ReplaceDialect::VeryStrict && text.is_empty() {
        return Err(Fault::ValueError(format!(
            "{name} has an undefined or empty value for param {placeholder}, must be a defined non-empty value"
        )));
    }
    Ok(text)
}

pub(super) fn check_join(name: &str, arguments: &Expression) -> Result<(), Fault> {
    let message = format!("Incorrect arguments to \"{name}\" should be: \"{name}\" : [ \" \", [ \"str1\", \"str2\"]]");
    match arguments.as_list() {
        None => Err(Fault::TypeError(message)),
        Some(items) if items.len() != 2 => Err(Fault::ValueError(message)),
        Some(_) => Ok(()),
    }
}

pub(super) fn join(name: &str, arguments: &Expression, resolver: &Resolver<'_>) -> Result<Value, ResolveError> {
    let Some([delimiter, strings]) = arguments.as_list() else {
        return Err(Fault::TypeError(format!("\"{name}\" must operate on a list")).into());
    };
    let strings = match resolver.resolve(strings)? {
        Value::Null => Vec::new(),
        Value::Array(items) => items,
        _ => return Err(Fault::TypeError(format!("\"{name}\" must operate on a list")).into()),
    };
    let delimiter = resolved_delimiter(name, delimiter, resolver)?;
    let texts = strings
        .iter()
        .map(|item| match item {
            Value::Null => Ok(String::new()),
            Value::String(text) => Ok(text.clone()),
            other => Err(Fault::TypeError(format!(
                "Items to join must be strings not {}",
                short_repr(other)
            ))),
        })
        .collect::<Result<Vec<_>, _>>()?;
    joined(&texts, &delimiter, resolver)
}

pub(super) fn check_join_multiple(name: &str, arguments: &Expression) -> Result<(), Fault> {
    let message =
        format!("Incorrect arguments to \"{name}\" should be: \"{name}\" : [ \" \", [ \"str1\", \"str2\"] ...]");
    match arguments.as_list() {
        None => Err(Fault::TypeError(message)),
        Some(items) if items.len() < 2 => Err(Fault::ValueError(message)),
        Some(_) => Ok(()),
    }
}

pub(super) fn join_multiple(
    name: &str,
    arguments: &Expression,
    resolver: &Resolver<'_>,
) -> Result<Value, ResolveError> {
    let [delimiter, lists @ ..] = arguments.as_list().unwrap_or_default() else {
        return Err(Fault::TypeError(format!("\"{name}\" must operate on a list")).into());
    };
    let mut strings = Vec::new();
    for list in resolver.resolve_list(lists)? {
        match list {
            Value::Array(items) => strings.extend(items),
            empty if !crate::python::value::is_true(&empty) => {}
            _ => return Err(Fault::TypeError(format!("\"{name}\" must operate on a list")).into()),
        }
    }
    let delimiter = resolved_delimiter(name, delimiter, resolver)?;
    let texts = strings
        .iter()
        .map(|item| match item {
            Value::Null => Ok(String::new()),
            Value::String(text) => Ok(text.clone()),
            Value::Array(_) | Value::Object(_) => Ok(dumps_sorted(item)),
            other => Err(Fault::TypeError(format!(
                "Items to join must be string, map or list not {}",
                short_repr(other)
            ))),
        })
        .collect::<Result<Vec<_>, _>>()?;
    joined(&texts, &delimiter, resolver)
}

fn resolved_delimiter(name: &str, delimiter: &Expression, resolver: &Resolver<'_>) -> Result<String, ResolveError> {
    match resolver.resolve(delimiter)? {
        Value::String(delimiter) => Ok(delimiter),
        _ => Err(Fault::TypeError(format!("\"{name}\" delimiter must be a string")).into()),
    }
}

fn joined(texts: &[String], delimiter: &str, resolver: &Resolver<'_>) -> Result<Value, ResolveError> {
    resolver.spend(texts.iter().map(|text| text.len() + delimiter.len()).sum())?;
    Ok(Value::String(texts.join(delimiter)))
}

fn str_split_usage(name: &str) -> String {
    format!("should be: \"{name}\" : [ \",\", \"apples,pears\", <index>]")
}

pub(super) fn check_str_split(name: &str, arguments: &Expression) -> Result<(), Fault> {
    if arguments.as_text().is_some() || arguments.as_map().is_some() {
        return Err(Fault::TypeError(format!(
            "Incorrect arguments to \"{name}\" {}",
            str_split_usage(name)
        )));
    }
    Ok(())
}

pub(super) fn str_split(name: &str, arguments: &Expression, resolver: &Resolver<'_>) -> Result<Value, ResolveError> {
    let arguments = super::resolved_list(arguments, resolver)?;
    let Some([delimiter, text, rest @ ..]) = arguments.as_deref().ok() else {
        return Err(Fault::ValueError(format!("Incorrect arguments to \"{name}\" {}", str_split_usage(name))).into());
    };
    let parts: Vec<Value> = match (text, delimiter) {
        (Value::Null, _) => return Ok(Value::Null),
        (Value::String(_), Value::String(delimiter)) if delimiter.is_empty() => {
            return Err(Fault::ValueError("empty separator".to_owned()).into());
        }
        (Value::String(text), Value::String(delimiter)) => text.split(delimiter.as_str()).map(Value::from).collect(),
        (Value::String(text), Value::Null) => text.split_whitespace().map(Value::from).collect(),
        (Value::String(_), other) => {
            return Err(Fault::TypeError(format!("must be str or None, not {}", class_name(other))).into());
        }
        (other, _) => {
            let class = class_name(other);
            return Err(Fault::AttributeError(format!("'{class}' object has no attribute 'split'")).into());
        }
    };
    let Some(index) = rest.first() else {
        return Ok(Value::Array(parts));
    };
    let index = match index {
        Value::String(text) => parse_int(text),
        other => match PyNumber::of(other) {
            Some(PyNumber::Int(index)) => Some(index),
            Some(PyNumber::Float(float)) => PyNumber::Float(float.trunc()).as_exact_integer(),
            None => return Err(not_an_integer(other).into()),
        },
    };
    let index =
        index.ok_or_else(|| Fault::ValueError(format!("Incorrect index to \"{name}\" {}", str_split_usage(name))))?;
    let position = python_index(&index, parts.len()).ok_or_else(|| {
        Fault::ValueError(format!(
            "Incorrect index to \"{name}\" should be between 0 and {}",
            i64::try_from(parts.len()).unwrap_or(i64::MAX) - 1
        ))
    })?;
    Ok(parts[position].clone())
}

/// What Python's `int()` says of something that is neither text nor number.
pub(super) fn not_an_integer(value: &Value) -> Fault {
    Fault::TypeError(format!(
        "int() argument must be a string, a bytes-like object or a real number, not '{}'",
        class_name(value)
    ))
}

/// A key of a map, where Python refuses what cannot be hashed.
pub(super) fn hashable(value: &Value) -> Result<&Value, Fault> {
    match value {
        Value::Array(_) | Value::Object(_) => Err(unhashable(value)),
        other => Ok(other),
    }
}
