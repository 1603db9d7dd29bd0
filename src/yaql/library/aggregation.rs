//! One value from a collection.

use crate::yaql::call::Call;
use crate::yaql::engine::Engine;
use crate::yaql::error::Error;
use crate::yaql::iteration::Walk;
use crate::yaql::signature::{Default, Function, Outcome, Parameter, any, both, iterable, lambda, method};
use crate::yaql::value::Value;

const COLLECTION: Parameter = iterable("collection");
const PREDICATE: &[Parameter] = &[COLLECTION, lambda("predicate").or(Default::Null)];
const WITH_DEFAULT: &[Parameter] = &[COLLECTION, any("default").or(Default::NoValue)];
const WITH_INITIAL: &[Parameter] = &[COLLECTION, any("initial").or(Default::NoValue)];
const WITH_SEED: &[Parameter] = &[COLLECTION, lambda("selector"), any("seed").or(Default::NoValue)];

pub(super) const FUNCTIONS: &[Function] = &[
    both("any", PREDICATE, |call| {
        let predicate = call.lambda_if_any(1);
        let mut walk = call.walk(0)?;
        while let Some(item) = walk.next(call.engine)? {
            match &predicate {
                Some(predicate) if !predicate.call(call.engine, &[item])?.is_true() => {}
                _ => return Ok(true.into()),
            }
        }
        Ok(false.into())
    }),
    both("all", PREDICATE, |call| {
        let predicate = call.lambda_if_any(1);
        let mut walk = call.walk(0)?;
        while let Some(item) = walk.next(call.engine)? {
            let verdict = match &predicate {
                Some(predicate) => predicate.call(call.engine, &[item])?,
                None => item,
            };
            if !verdict.is_true() {
                return Ok(false.into());
            }
        }
        Ok(true.into())
    }),
    method("sum", WITH_INITIAL, |call| {
        folded(call, 1, |left, right| {
            call.invoke_on_values("#operator_+", vec![left, right])
        })
    }),
    method("max", WITH_INITIAL, |call| {
        folded(call, 1, |left, right| call.invoke_on_values("max", vec![left, right]))
    }),
    method("min", WITH_INITIAL, |call| {
        folded(call, 1, |left, right| call.invoke_on_values("min", vec![left, right]))
    }),
    method("aggregate", WITH_SEED, aggregated),
    method("reduce", WITH_SEED, aggregated),
    method("accumulate", WITH_SEED, accumulated),
    method("first", WITH_DEFAULT, |call| {
        let first = call.walk(0)?.next(call.engine)?;
        first
            .or_else(|| call.given(1).cloned())
            .ok_or_else(|| Error::stop_iteration(""))
    }),
    method("single", &[COLLECTION], |call| {
        let mut walk = call.walk(0)?;
        let only = walk.next(call.engine)?.ok_or_else(|| Error::stop_iteration(""))?;
        match walk.next(call.engine)? {
            None => Ok(only),
            Some(_) => Err(Error::stop_iteration("Collection contains more than one item")),
        }
    }),
    method("last", WITH_DEFAULT, |call| {
        let last = match call.value(0).as_sequence() {
            Some(items) => items.last().cloned(),
            None => last_of(call.walk(0)?, call.engine)?,
        };
        last.or_else(|| call.given(1).cloned())
            .ok_or_else(|| Error::stop_iteration(""))
    }),
];

fn last_of(mut walk: Walk, engine: &Engine) -> Result<Option<Value>, Error> {
    let mut last = None;
    while let Some(item) = walk.next(engine)? {
        last = Some(item);
    }
    Ok(last)
}

/// `functools.reduce`
fn folded(call: &Call<'_>, initial: usize, combine: impl Fn(Value, Value) -> Outcome) -> Outcome {
    let mut walk = call.walk(0)?;
    let first = match call.given(initial) {
        Some(value) => Some(value.clone()),
        None => walk.next(call.engine)?,
    };
    let mut total = first.ok_or_else(|| Error::type_error("reduce() of empty iterable with no initial value"))?;
    while let Some(item) = walk.next(call.engine)? {
        total = combine(total, item)?;
    }
    Ok(total)
}

fn aggregated(call: &Call<'_>) -> Outcome {
    let selector = call.lambda(1);
    folded(call, 2, |left, right| selector.call(call.engine, &[left, right]))
}

fn accumulated(call: &Call<'_>) -> Outcome {
    let (mut walk, selector) = (call.walk(0)?, call.lambda(1));
    let mut seed = call.given(2).cloned();
    let mut total: Option<Value> = None;
    call.generator("accumulate", 256, move |engine| {
        let next = match (&total, seed.take()) {
            (None, Some(seed)) => seed,
            (None, None) => walk
                .next(engine)?
                .ok_or_else(|| Error::type_error("accumulate() of empty sequence with no initial value"))?,
            (Some(sum), _) => match walk.next(engine)? {
                Some(item) => selector.call(engine, &[sum.clone(), item])?,
                None => return Ok(None),
            },
        };
        total = Some(next.clone());
        Ok(Some(next))
    })
}
