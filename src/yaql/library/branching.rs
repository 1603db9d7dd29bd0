//! `switch`, `coalesce` and their kind: arguments are evaluated as far as they are needed.

use crate::yaql::call::Call;
use crate::yaql::signature::{Function, Kind, Outcome, function, int, lambda, method, of};
use crate::yaql::value::Value;

pub(super) const FUNCTIONS: &[Function] = &[
    function("switch", &[], |call| {
        for (condition, value) in call.rest_rules() {
            if condition.call_here(call.engine)?.is_true() {
                return value.call_here(call.engine);
            }
        }
        Ok(Value::Null)
    })
    .rest(of(Kind::LazyRule, "args"))
    .takes_rules(),
    function("selectCase", &[], |call| {
        let cases = call.rest_lambdas();
        for (index, case) in cases.iter().enumerate() {
            if case.call(call.engine, &[])?.is_true() {
                return Ok(Value::int(index));
            }
        }
        Ok(Value::int(cases.len()))
    })
    .rest(lambda("args")),
    method("switchCase", &[int("case")], switch_case).rest(lambda("args")),
    function("selectAllCases", &[], |call| {
        let mut cases = call.rest_lambdas().into_iter().enumerate();
        call.generator("select_all_cases", 216, move |engine| {
            for (index, case) in cases.by_ref() {
                if case.call(engine, &[])?.is_true() {
                    return Ok(Some(Value::int(index)));
                }
            }
            Ok(None)
        })
    })
    .rest(lambda("args")),
    function("examine", &[], |call| {
        let mut cases = call.rest_lambdas().into_iter();
        call.generator("examine", 224, move |engine| {
            let case = cases.next().map(|case| case.call(engine, &[]));
            Ok(case.transpose()?.map(|value| value.is_true().into()))
        })
    })
    .rest(lambda("args")),
    function("coalesce", &[], |call| {
        for lambda in call.rest_lambdas() {
            let value = lambda.call(call.engine, &[])?;
            if !value.is_null() {
                return Ok(value);
            }
        }
        Ok(Value::Null)
    })
    .rest(lambda("args")),
];

/// A number that no case has means the last one.
fn switch_case(call: &Call<'_>) -> Outcome {
    let cases = call.rest_lambdas();
    let chosen = usize::try_from(call.small_int(0))
        .ok()
        .and_then(|index| cases.get(index));
    chosen
        .or(cases.last())
        .map(|case| case.call(call.engine, &[]))
        .transpose()
        .map(Value::from)
}
