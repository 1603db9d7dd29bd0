//! From one type to another, and what is of which type.

use crate::python::arithmetic::{to_float, truncate};
use crate::python::number::PyNumber;
use crate::python::numeral;
use crate::yaql::call::Call;
use crate::yaql::error::Error;
use crate::yaql::signature::{Function, Outcome, any, function, number};
use crate::yaql::value::Value;

pub(super) const FUNCTIONS: &[Function] = &[
    function("int", &[any("value")], int),
    function("float", &[any("value")], float),
    function("str", &[any("value")], |call| {
        Ok(match call.value(0) {
            Value::Null => "null".into(),
            Value::Bool(flag) => flag.to_string().into(),
            text @ Value::Text(_) => text.clone(),
            other => other.checked_text()?.into(),
        })
    }),
    function("hex", &[number("num").nullable()], |call| match call.value(0) {
        Value::Number(PyNumber::Int(integer)) => Ok(format!("{integer:#x}").into()),
        other => Err(Error::type_error(format!(
            "'{}' object cannot be interpreted as an integer",
            other.class_name()
        ))),
    }),
    function("isString", &[any("arg")], |call| {
        Ok(matches!(call.value(0), Value::Text(_)).into())
    }),
    function("isDict", &[any("arg")], |call| {
        Ok(matches!(call.value(0), Value::Dict(_)).into())
    }),
    function("isList", &[any("arg")], |call| {
        Ok(call.value(0).as_sequence().is_some().into())
    }),
    function("isSet", &[any("arg")], |call| Ok(call.value(0).is_set().into())),
    function("isIterable", &[any("value")], |call| {
        Ok(call.value(0).is_iterable().into())
    }),
    function("isRegex", &[any("value")], |call| {
        Ok(matches!(call.value(0), Value::Regex(_)).into())
    }),
    function("isDatetime", &[any("value")], |call| {
        Ok(matches!(call.value(0), Value::DateTime(_)).into())
    }),
    function("isTimespan", &[any("value")], |call| {
        Ok(matches!(call.value(0), Value::TimeSpan(_)).into())
    }),
];

fn int(call: &Call<'_>) -> Outcome {
    Ok(match call.value(0) {
        Value::Null => Value::int(0),
        Value::Bool(flag) => Value::int(u8::from(*flag)),
        Value::Number(PyNumber::Float(float)) => Value::int(truncate(*float)?),
        integer @ Value::Number(_) => integer.clone(),
        Value::Text(text) => Value::int(numeral::int(text)?),
        other => {
            return Err(Error::type_error(format!(
                "int() argument must be a string, a bytes-like object or a real number, not '{}'",
                other.class_name()
            )));
        }
    })
}

fn float(call: &Call<'_>) -> Outcome {
    Ok(Value::float(match call.value(0) {
        Value::Null => 0.0,
        Value::Bool(flag) => f64::from(u8::from(*flag)),
        Value::Number(number) => to_float(number)?,
        Value::Text(text) => numeral::float(text)?,
        other => {
            return Err(Error::type_error(format!(
                "float() argument must be a string or a real number, not '{}'",
                other.class_name()
            )));
        }
    }))
}
