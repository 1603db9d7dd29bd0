//! Dots, brackets and variables: how an expression gets at values.

use crate::yaql::call::{Argument, Call, invoke};
use crate::yaql::error::Error;
use crate::yaql::iteration::IteratorClass;
use crate::yaql::output::converted;
use crate::yaql::signature::{Function, Kind, Outcome, any, function, int, iterable, mapping, of, sequence};
use crate::yaql::value::Value;

pub(super) const FUNCTIONS: &[Function] = &[
    function("#get_context_data", &[of(Kind::TextConstant, "name")], |call| {
        Ok(call.context.get(call.text(0)))
    }),
    function(
        "#operator_.",
        &[any("receiver"), of(Kind::MethodLambda, "expr").nullable()],
        |call| call.lambda(1).call_on(call.engine, call.owned(0)),
    ),
    function("#operator_.", &[mapping("dict"), of(Kind::Word, "key")], |call| {
        item(call)
    }),
    function(
        "#operator_.",
        &[iterable("collection"), of(Kind::WordExpression, "attribute")],
        attribute_of_all,
    ),
    function(
        "#operator_?.",
        &[any("receiver"), of(Kind::Expression, "expr")],
        |call| {
            if call.value(0).is_null() {
                return Ok(Value::Null);
            }
            call.invoke("#operator_.", vec![Argument::Value(call.owned(0)), call.expression(1)])
        },
    ),
    function("#indexer", &[sequence("list"), int("index")], indexed),
    function("#indexer", &[mapping("dict"), any("key")], item),
    function("#indexer", &[mapping("dict"), any("key"), any("default")], |call| {
        Ok(call.dict(0).get(call.value(1))?.unwrap_or(call.value(2)).clone())
    }),
];

/// Python classes that were opened to expressions. Heat opens none, but their functions are there and are asked.
pub(super) const OPENED: &[Function] = &[
    function(
        "#operator_.",
        &[of(Kind::Opened, "receiver"), of(Kind::CallExpression, "expr")],
        |_| Ok(Value::Null),
    ),
    function(
        "#operator_.",
        &[of(Kind::Opened, "obj"), of(Kind::Word, "attr")],
        |_| Ok(Value::Null),
    ),
    function("#indexer", &[of(Kind::Opened, "obj"), any("key")], |_| Ok(Value::Null)),
];

pub(super) const FALLBACKS: &[Function] = &[
    function("#operator_.", &[any("obj"), of(Kind::Word, "name")], |call| {
        call.invoke_on_values(&format!("#property#{}", call.text(1)), vec![call.owned(0)])
    }),
    function("#iter", &[iterable("iterator")], |call| Ok(call.owned(0))),
    function("#finalize", &[any("obj")], |call| converted(call.value(0), call)),
];

fn item(call: &Call<'_>) -> Outcome {
    let (dict, key) = (call.dict(0), call.value(1));
    dict.get(key)?.cloned().ok_or_else(|| Error::key_error(key.repr()))
}

fn attribute_of_all(call: &Call<'_>) -> Outcome {
    let mut walk = call.walk(0)?;
    let attribute = call.expression(1);
    let context = call.context.clone();
    call.iterator(IteratorClass::MAP, move |engine| {
        let Some(item) = walk.next(engine)? else {
            return Ok(None);
        };
        let arguments = vec![Argument::Value(item), attribute.clone()];
        invoke(engine, &context, "#operator_.", arguments).map(Some)
    })
}

fn indexed(call: &Call<'_>) -> Outcome {
    let items = call.sequence(0);
    let class = call.value(0).class_name();
    let out_of_range = || Error::index_error(format!("{class} index out of range"));
    let index = call.int(1);
    let Ok(index) = i64::try_from(&index) else {
        return Err(Error::index_error("cannot fit 'int' into an index-sized integer"));
    };
    let length = i64::try_from(items.len()).unwrap_or(i64::MAX);
    let from_start = if index < 0 { index + length } else { index };
    usize::try_from(from_start)
        .ok()
        .and_then(|index| items.get(index).cloned())
        .ok_or_else(out_of_range)
}
