//! Sets.

use std::rc::Rc;

use super::lists::unrolled;
use crate::yaql::call::Call;
use crate::yaql::error::Error;
use crate::yaql::signature::{Function, Outcome, Parameter, any, both, function, iterable, method, set};
use crate::yaql::value::{Set, Value};

const SETS: &[Parameter] = &[set("left"), set("right")];
const SET: &[Parameter] = &[set("set")];

pub(super) const FUNCTIONS: &[Function] = &[
    function("set", &[], |call| {
        call.invoke_method("toSet", unrolled(call.rest_values().cloned().collect()))
    })
    .rest(any("args")),
    method("toSet", &[iterable("collection")], to_set),
    both("len", SET, |call| Ok(Value::int(call.value(0).set_items().len()))),
    method("union", SETS, |call| combined(call, "union", Set::union)),
    method("intersect", SETS, |call| {
        combined(call, "intersection", Set::intersection)
    }),
    method("difference", SETS, |call| combined(call, "difference", Set::difference)),
    function("#operator_-", SETS, |call| {
        combined(call, "difference", Set::difference)
    }),
    method("symmetricDifference", SETS, |call| {
        combined(call, "symmetric_difference", Set::symmetric_difference)
    }),
    method("add", SET, |call| with_values(call, "union", Set::union)).rest(any("values")),
    method("remove", SET, |call| with_values(call, "difference", Set::difference)).rest(any("values")),
];

fn to_set(call: &Call<'_>) -> Outcome {
    if let set @ Value::Set(_) = call.value(0) {
        return Ok(set.clone());
    }
    let mut set = Set::default();
    let mut walk = call.walk(0)?;
    while let Some(item) = walk.next(call.engine)? {
        set.insert(item)?;
    }
    Ok(Value::Set(Rc::new(set)))
}

/// The view of a dict counts as a set but has none of its methods.
fn as_set(value: &Value, method: &str) -> Result<Rc<Set>, Error> {
    match value {
        Value::Set(set) => Ok(set.clone()),
        other => Err(Error::no_attribute(other.class_name(), method)),
    }
}

fn set_of(values: impl IntoIterator<Item = Value>) -> Result<Set, Error> {
    let mut set = Set::default();
    for value in values {
        set.insert(value)?;
    }
    Ok(set)
}

fn combined(call: &Call<'_>, method: &str, combine: fn(&Set, &Set) -> Set) -> Outcome {
    let left = as_set(call.value(0), method)?;
    let result = match call.value(1) {
        Value::Set(right) => combine(&left, right),
        right => combine(&left, &set_of(right.set_items())?),
    };
    Ok(Value::Set(Rc::new(result)))
}

fn with_values(call: &Call<'_>, method: &str, combine: fn(&Set, &Set) -> Set) -> Outcome {
    let values = set_of(call.rest_values().cloned())?;
    let set = as_set(call.value(0), method)?;
    Ok(Value::Set(Rc::new(combine(&set, &values))))
}
