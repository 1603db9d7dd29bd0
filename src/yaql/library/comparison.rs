//! Equality of everything, and order among what has one: numbers, texts, sets (as subsets), moments and spans of time.
//! Null comes before everything else.

use std::cmp::Ordering;

use crate::yaql::call::Call;
use crate::yaql::signature::{Function, Kind, Outcome, Parameter, any, function, null, number, of, set, text};
use crate::yaql::value::Value;

const NUMBERS: &[Parameter] = &[number("left"), number("right")];
const TEXTS: &[Parameter] = &[text("left"), text("right")];
const SETS: &[Parameter] = &[set("left"), set("right")];
const MOMENTS: &[Parameter] = &[of(Kind::DateTime, "dt1"), of(Kind::DateTime, "dt2")];
const SPANS: &[Parameter] = &[of(Kind::TimeSpan, "ts1"), of(Kind::TimeSpan, "ts2")];

const NULL_AND_ANY: &[Parameter] = &[null("left"), any("right").not_null()];
const ANY_AND_NULL: &[Parameter] = &[any("left").not_null(), null("right")];
const NULLS: &[Parameter] = &[null("left"), null("right")];

pub(super) const FUNCTIONS: &[Function] = &[
    function("*equal", &[any("left"), any("right")], |call| {
        Ok(call.value(0).equals(call.value(1)).into())
    }),
    function("*not_equal", &[any("left"), any("right")], |call| {
        Ok((!call.value(0).equals(call.value(1))).into())
    }),
    function("#operator_<", NUMBERS, is_less),
    function("#operator_<", TEXTS, is_less),
    function("#operator_<", SETS, is_less),
    function("#operator_<", MOMENTS, is_less),
    function("#operator_<", SPANS, is_less),
    function("#operator_<", NULL_AND_ANY, yes),
    function("#operator_<", ANY_AND_NULL, no),
    function("#operator_<", NULLS, no),
    function("#operator_<=", NUMBERS, is_less_or_equal),
    function("#operator_<=", TEXTS, is_less_or_equal),
    function("#operator_<=", SETS, is_less_or_equal),
    function("#operator_<=", MOMENTS, is_less_or_equal),
    function("#operator_<=", SPANS, is_less_or_equal),
    function("#operator_<=", NULL_AND_ANY, yes),
    function("#operator_<=", ANY_AND_NULL, no),
    function("#operator_<=", NULLS, yes),
    function("#operator_>", NUMBERS, is_greater),
    function("#operator_>", TEXTS, is_greater),
    function("#operator_>", SETS, is_greater),
    function("#operator_>", MOMENTS, is_greater),
    function("#operator_>", SPANS, is_greater),
    function("#operator_>", NULL_AND_ANY, no),
    function("#operator_>", ANY_AND_NULL, yes),
    function("#operator_>", NULLS, no),
    function("#operator_>=", NUMBERS, is_greater_or_equal),
    function("#operator_>=", TEXTS, is_greater_or_equal),
    function("#operator_>=", SETS, is_greater_or_equal),
    function("#operator_>=", MOMENTS, is_greater_or_equal),
    function("#operator_>=", SPANS, is_greater_or_equal),
    function("#operator_>=", NULL_AND_ANY, no),
    function("#operator_>=", ANY_AND_NULL, yes),
    function("#operator_>=", NULLS, yes),
];

fn yes(_: &Call<'_>) -> Outcome {
    Ok(true.into())
}

fn no(_: &Call<'_>) -> Outcome {
    Ok(false.into())
}

fn is_less(call: &Call<'_>) -> Outcome {
    Ok(order(call).is_some_and(Ordering::is_lt).into())
}

fn is_less_or_equal(call: &Call<'_>) -> Outcome {
    Ok(order(call).is_some_and(Ordering::is_le).into())
}

fn is_greater(call: &Call<'_>) -> Outcome {
    Ok(order(call).is_some_and(Ordering::is_gt).into())
}

fn is_greater_or_equal(call: &Call<'_>) -> Outcome {
    Ok(order(call).is_some_and(Ordering::is_ge).into())
}

/// The order of two values of one type; NaN and sets of which none contains the other have none.
fn order(call: &Call<'_>) -> Option<Ordering> {
    match (call.value(0), call.value(1)) {
        (Value::Text(left), Value::Text(right)) => Some(left.cmp(right)),
        (Value::DateTime(left), Value::DateTime(right)) => left.compare(right),
        (Value::TimeSpan(left), Value::TimeSpan(right)) => Some(left.cmp(right)),
        (left, right) if left.is_set() => order_of_sets(left, right),
        (left, right) => left.as_number()?.compare(&right.as_number()?),
    }
}

fn order_of_sets(left: &Value, right: &Value) -> Option<Ordering> {
    let (left, right) = (left.set_items(), right.set_items());
    let order = left.len().cmp(&right.len());
    let (smaller, larger) = if order.is_le() { (left, right) } else { (right, left) };
    let is_subset = smaller.iter().all(|item| larger.iter().any(|other| item.equals(other)));
    is_subset.then_some(order)
}
