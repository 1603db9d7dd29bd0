//! Iterators that come from no collection.

use std::collections::VecDeque;

use num_bigint::BigInt;

use crate::python::size;
use crate::yaql::call::Call;
use crate::yaql::engine::Engine;
use crate::yaql::error::Error;
use crate::yaql::iteration::{IteratorClass, Walk};
use crate::yaql::signature::{
    Default, Function, Kind, Outcome, Parameter, any, function, int, iterable, lambda, method, of,
};
use crate::yaql::value::{Key, Set, Value};

const DECYCLE: Parameter = of(Kind::Bool, "decycle").or(Default::Bool(false));
const SELECTOR: Parameter = lambda("selector").or(Default::Null);

pub(super) const FUNCTIONS: &[Function] = &[
    function("range", &[int("stop")], |call| {
        range(call, BigInt::ZERO, call.int(0), BigInt::from(1))
    }),
    function(
        "range",
        &[int("start"), int("stop"), int("step").or(Default::Int(1))],
        |call| range(call, call.int(0), call.int(1), call.int(2)),
    ),
    function(
        "sequence",
        &[int("start").or(Default::Int(0)), int("step").or(Default::Int(1))],
        |call| {
            const CLASS: IteratorClass = IteratorClass::Builtin("itertools.count", 56);
            let (mut next, step) = (call.int(0), call.int(1));
            call.iterator(CLASS, move |_| {
                let current = next.clone();
                next += &step;
                Ok(Some(Value::int(current)))
            })
        },
    ),
    method("repeat", &[any("value"), int("times").or(Default::Int(-1))], |call| {
        const CLASS: IteratorClass = IteratorClass::Builtin("itertools.repeat", 48);
        let (value, mut left) = (call.owned(0), call.word_int(1)?);
        let is_endless = left < 0;
        call.iterator(CLASS, move |_| {
            left -= 1;
            Ok((is_endless || left >= 0).then(|| value.clone()))
        })
    }),
    method("cycle", &[iterable("collection")], cycle),
    function(
        "generate",
        &[
            any("initial"),
            lambda("predicate"),
            lambda("producer"),
            SELECTOR,
            DECYCLE,
        ],
        generate,
    ),
    function(
        "generateMany",
        &[
            any("initial"),
            lambda("producer"),
            SELECTOR,
            DECYCLE,
            of(Kind::Bool, "depthFirst").or(Default::Bool(false)),
        ],
        generate_many,
    ),
];

fn range(call: &Call<'_>, start: BigInt, stop: BigInt, step: BigInt) -> Outcome {
    const CLASS: IteratorClass = IteratorClass::Builtin("range_iterator", 48);
    if step == BigInt::ZERO {
        return Err(Error::value_error("range() arg 3 must not be zero"));
    }
    let goes_up = step > BigInt::ZERO;
    let mut next = start;
    call.iterator(CLASS, move |_| {
        let is_over = if goes_up { next >= stop } else { next <= stop };
        if is_over {
            return Ok(None);
        }
        let current = next.clone();
        next += &step;
        Ok(Some(Value::int(current)))
    })
}

fn cycle(call: &Call<'_>) -> Outcome {
    const CLASS: IteratorClass = IteratorClass::Builtin("itertools.cycle", 64);
    let mut walk = call.walk(0)?;
    let mut items: Vec<Value> = Vec::new();
    let mut next = None;
    call.iterator(CLASS, move |engine| {
        if next.is_none() {
            match walk.next(engine)? {
                None => next = Some(0),
                Some(item) => {
                    items.push(item.clone());
                    return Ok(Some(item));
                }
            }
        }
        let index = next.unwrap_or(0);
        let item = items.get(index).cloned();
        next = Some(if index + 1 < items.len() { index + 1 } else { 0 });
        Ok(item)
    })
}

/// The values that were there before, where none may come twice.
struct Past(Option<Set>);

impl Past {
    fn new(call: &Call<'_>, decycle: usize) -> Self {
        Self(call.flag(decycle).then(Set::default))
    }

    /// Whether the value is new; all are where nobody looks.
    fn admits(&mut self, value: &Value, engine: &Engine) -> Result<bool, Error> {
        let Some(past) = &mut self.0 else {
            return Ok(true);
        };
        if past.contains(&Key::new(value.clone())?) {
            return Ok(false);
        }
        past.insert(value.clone())?;
        engine.check_sizes([(1, size::set(past.capacity()))])?;
        Ok(true)
    }
}

fn generate(call: &Call<'_>) -> Outcome {
    let (predicate, producer, selector) = (call.lambda(1), call.lambda(2), call.lambda_if_any(3));
    let mut past = Past::new(call, 4);
    let mut current = call.owned(0);
    let mut has_started = false;
    call.generator("generate", 264, move |engine| {
        if has_started {
            current = producer.call(engine, std::slice::from_ref(&current))?;
        }
        has_started = true;
        let goes_on = predicate.call(engine, std::slice::from_ref(&current))?.is_true();
        if !goes_on || !past.admits(&current, engine)? {
            return Ok(None);
        }
        match &selector {
            Some(selector) => selector.call(engine, std::slice::from_ref(&current)).map(Some),
            None => Ok(Some(current.clone())),
        }
    })
}

fn generate_many(call: &Call<'_>) -> Outcome {
    let (producer, selector) = (call.lambda(1), call.lambda_if_any(2));
    let mut past = Past::new(call, 3);
    let is_depth_first = call.flag(4);
    let mut queue = VecDeque::from([call.owned(0)]);
    let mut last: Option<Value> = None;
    call.generator("generate_many", 296, move |engine| {
        if let Some(item) = last.take() {
            let produced = producer.call(engine, &[item])?;
            let produced = Walk::through(&produced, engine)?.collect(engine)?;
            if is_depth_first {
                produced.into_iter().rev().for_each(|item| queue.push_front(item));
            } else {
                queue.extend(produced);
            }
            engine.check_sizes([(1, size::deque(queue.len()))])?;
        }
        while let Some(item) = queue.pop_front() {
            if past.admits(&item, engine)? {
                last = Some(item.clone());
                return match &selector {
                    Some(selector) => selector.call(engine, &[item]).map(Some),
                    None => Ok(Some(item)),
                };
            }
        }
        Ok(None)
    })
}
