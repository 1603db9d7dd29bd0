//! `and`, `or`, `not`: the first two give one of their operands.

use crate::yaql::signature::{Function, any, function, lambda};
use crate::yaql::value::Value;

pub(super) const FUNCTIONS: &[Function] = &[
    function("#operator_and", &[lambda("left"), lambda("right")], |call| {
        let left = call.lambda(0).call(call.engine, &[])?;
        if left.is_true() {
            call.lambda(1).call(call.engine, &[])
        } else {
            Ok(left)
        }
    }),
    function("#operator_or", &[lambda("left"), lambda("right")], |call| {
        let left = call.lambda(0).call(call.engine, &[])?;
        if left.is_true() {
            Ok(left)
        } else {
            call.lambda(1).call(call.engine, &[])
        }
    }),
    function("#unary_operator_not", &[any("arg")], |call| Ok((!call.flag(0)).into())),
    function("bool", &[any("value")], |call| Ok(call.flag(0).into())),
    function("isBoolean", &[any("value")], |call| {
        Ok(matches!(call.value(0), Value::Bool(_)).into())
    }),
];
