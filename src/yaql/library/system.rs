//! Contexts and functions as values: `let`, `with`, `def`, `->` and their kind.

use std::rc::Rc;

use crate::python::PythonError;
use crate::yaql::call::{Argument, Call, Definition};
use crate::yaql::context::{Name, positional_name};
use crate::yaql::error::Error;
use crate::yaql::evaluation::call_function;
use crate::yaql::iteration::Memory;
use crate::yaql::lexer::is_word;
use crate::yaql::signature::{
    Default, Function, Kind, Outcome, any, function, iterable, lambda, lambda_in_context, mapping, method, of,
    sequence, text,
};
use crate::yaql::value::{Dict, Value};

pub(super) const FUNCTIONS: &[Function] = &[
    function("let", &[], let_).rest(any("args")).keywords(any("kwargs")),
    function("with", &[], let_).rest(any("args")),
    method("unpack", &[iterable("sequence")], unpack).rest(text("args")),
    function(
        "#operator_->",
        &[of(Kind::Context, "left"), lambda_in_context("right")],
        |call| match call.value(0) {
            Value::Context(context) => call.lambda(1).call_in(call.engine, context),
            _ => Ok(Value::Null),
        },
    ),
    function("def", &[text("name"), lambda("func")], def),
    method(
        "assert",
        &[
            any("obj"),
            lambda("condition"),
            text("message").or(Default::Text("Assertion failed")),
        ],
        assert,
    ),
    function(
        "call",
        &[
            text("name"),
            sequence("args"),
            mapping("kwargs"),
            any("receiver").or(Default::NoValue),
        ],
        call_by_name,
    ),
];

fn let_(call: &Call<'_>) -> Outcome {
    for (index, value) in call.rest_values().enumerate() {
        call.context.set(positional_name(index), value.clone());
    }
    for (name, value) in &call.keywords {
        call.context.set(Name::Owned(name.to_string()), value.clone());
    }
    Ok(Value::Context(call.context.clone()))
}

/// Without names, the first item of an iterator is gone before the counting begins, as in Python.
fn unpack(call: &Call<'_>) -> Outcome {
    let names: Vec<String> = call.rest_values().map(Value::to_text).collect();
    let mut walk = call.walk(0)?;
    let mut items = Vec::new();
    while items.len() <= names.len() {
        match walk.next(call.engine)? {
            Some(item) => items.push(item),
            None => break,
        }
    }
    if !names.is_empty() {
        if names.len() != items.len() {
            return Err(Error::value_error(format!(
                "Cannot unpack {} elements into {}",
                items.len(),
                names.len()
            )));
        }
        for (name, item) in names.into_iter().zip(items) {
            call.context.set(Name::Owned(name), item);
        }
        return Ok(Value::Context(call.context.clone()));
    }
    let mut walk = call.walk(0)?;
    let mut index = 0;
    while let Some(item) = walk.next(call.engine)? {
        call.context.set(positional_name(index), item);
        index += 1;
    }
    Ok(Value::Context(call.context.clone()))
}

fn def(call: &Call<'_>) -> Outcome {
    let definition = Definition {
        name: function_name(call.text(0)),
        body: call.lambda(1),
    };
    call.context.define(definition);
    call.engine.forget_at_end(&call.context);
    Ok(Value::Context(call.context.clone()))
}

/// Functions are defined in camel case, however they are spelt. (They are called as they are spelt.)
fn function_name(spelt: &str) -> String {
    let spelt = spelt.trim_end_matches('_');
    let first = spelt.chars().next().unwrap_or('a');
    if first.is_alphabetic() {
        return camel_case(spelt);
    }
    match spelt.char_indices().skip(1).find(|(_, c)| *c == first) {
        Some((index, _)) if spelt.chars().nth(1) != Some(first) => {
            let (marked, name) = spelt.split_at(index + first.len_utf8());
            format!("{marked}{}", camel_case(name))
        }
        _ => spelt.to_owned(),
    }
}

fn camel_case(name: &str) -> String {
    let mut result = String::with_capacity(name.len());
    let mut characters = name.chars().peekable();
    while let Some(character) = characters.next() {
        let next = characters.peek().copied().filter(|next| is_word(*next));
        match next {
            Some(next) if character == '_' && !result.is_empty() => {
                result.extend(next.to_uppercase());
                characters.next();
            }
            _ => result.push(character),
        }
    }
    result
}

fn assert(call: &Call<'_>) -> Outcome {
    let mut object = call.owned(0);
    if object.is_iterator() {
        object = Value::Memory(Rc::new(Memory::of(object)));
    }
    if call
        .lambda(1)
        .call(call.engine, std::slice::from_ref(&object))?
        .is_true()
    {
        return Ok(object);
    }
    Err(PythonError::new("AssertionError", call.text(2)).into())
}

fn call_by_name(call: &Call<'_>) -> Outcome {
    let arguments = call.sequence(1).iter().cloned().map(Argument::Value).collect();
    let keywords = keyword_arguments(&call.dict(2))?;
    let receiver = call.given(3).cloned();
    call_function(call.engine, call.text(0), &call.context, receiver, arguments, keywords)
}

fn keyword_arguments(dict: &Dict) -> Result<Vec<(Rc<str>, Argument)>, Error> {
    let mut keywords = Vec::new();
    for (key, value) in dict.iter() {
        let Value::Text(name) = key else {
            return Err(Error::type_error(format!(
                "expected string or bytes-like object, got '{}'",
                key.class_name()
            )));
        };
        let starts_as_word = name.starts_with(|c: char| is_word(c) && !c.is_numeric()) && !name.starts_with("__");
        if !starts_as_word {
            return Err(PythonError::new("RuntimeError", "dictionary changed size during iteration").into());
        }
        keywords.push((name.clone(), Argument::Value(value.clone())));
    }
    Ok(keywords)
}
