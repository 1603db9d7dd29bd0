//! Making lists, joining them, and their length.

use crate::python::size;
use crate::yaql::call::Call;
use crate::yaql::engine::Engine;
use crate::yaql::error::Error;
use crate::yaql::iteration::{Iter, IteratorClass, Walk};
use crate::yaql::signature::{
    Function, Kind, Outcome, Parameter, any, both, function, int, iterable, method, of, sequence,
};
use crate::yaql::value::{Value, nesting_around};

const COLLECTION: Parameter = iterable("collection");

pub(super) const FUNCTIONS: &[Function] = &[
    function("#list", &[], |call| {
        call.engine
            .check_sizes(call.rest_values().map(|value| (1, value.size())))?;
        Ok(Value::tuple(call.rest_values().cloned().collect()))
    })
    .rest(any("args")),
    function("list", &[], |call| {
        call.invoke_method("toList", unrolled(call.rest_values().cloned().collect()))
    })
    .rest(any("args")),
    method("toList", &[COLLECTION], |call| match call.value(0) {
        tuple @ Value::Tuple(_) => Ok(tuple.clone()),
        _ => Ok(Value::tuple(call.walk(0)?.collect(call.engine)?)),
    }),
    method("flatten", &[COLLECTION], |call| {
        let mut walks = vec![call.walk(0)?];
        call.generator("flatten", 216, move |engine| {
            next_leaf(&mut walks, engine, Value::is_iterable)
        })
    }),
    method("reverse", &[COLLECTION], |call| {
        const CLASS: IteratorClass = IteratorClass::Builtin("reversed", 48);
        let list = call.invoke_method("toList", call.owned(0))?;
        let mut items = Walk::through(&list, call.engine)?.collect(call.engine)?;
        call.iterator(CLASS, move |_| Ok(items.pop()))
    }),
    both("append", &[COLLECTION], |call| {
        let mut walk = call.walk(0)?;
        let mut more = call.rest_values().cloned().collect::<Vec<_>>().into_iter();
        call.generator("append", 200, move |engine| match walk.next(engine)? {
            None => Ok(more.next()),
            item => Ok(item),
        })
    })
    .rest(any("args")),
    both("concat", &[], |call| {
        chained(call, call.rest_values().cloned().collect())
    })
    .rest(iterable("collections")),
    function("#operator_+", &[iterable("left"), iterable("right")], combined),
    function("#operator_*", &[sequence("left"), int("right")], |call| {
        repeated(call, 0, 1)
    }),
    function("#operator_*", &[int("left"), sequence("right")], |call| {
        repeated(call, 1, 0)
    }),
    both("len", &[sequence("sequence")], |call| {
        Ok(Value::int(call.sequence(0).len()))
    }),
    both("len", &[of(Kind::Iterator, "collection")], counted),
    method("count", &[COLLECTION], counted),
];

/// The values, iterators among them replaced by what they give.
pub(super) fn unrolled(values: Vec<Value>) -> Value {
    const CLASS: IteratorClass = IteratorClass::Generator("list_.<locals>.rec", 216);
    let nesting = nesting_around(&values);
    let mut walks = vec![Walk::Owned(values.into_iter())];
    let iterator = Iter::new(CLASS, nesting, move |engine| {
        next_leaf(&mut walks, engine, Value::is_iterator)
    });
    Value::Iterator(iterator)
}

/// The next value that is not to be opened. The walks are inside each other.
fn next_leaf(walks: &mut Vec<Walk>, engine: &Engine, is_opened: fn(&Value) -> bool) -> Result<Option<Value>, Error> {
    while let Some(walk) = walks.last_mut() {
        match walk.next(engine)? {
            Some(value) if is_opened(&value) => walks.push(Walk::through(&value, engine)?),
            Some(value) => return Ok(Some(value)),
            None => drop(walks.pop()),
        }
    }
    Ok(None)
}

/// `itertools.chain`
fn chained(call: &Call<'_>, collections: Vec<Value>) -> Outcome {
    let mut collections = collections.into_iter();
    let mut current: Option<Walk> = None;
    call.iterator(IteratorClass::CHAIN, move |engine| {
        loop {
            if let Some(walk) = &mut current
                && let Some(item) = walk.next(engine)?
            {
                return Ok(Some(item));
            }
            match collections.next() {
                Some(collection) => current = Some(Walk::through(&collection, engine)?),
                None => return Ok(None),
            }
        }
    })
}

fn combined(call: &Call<'_>) -> Outcome {
    let both_sizes = || {
        call.engine
            .check_sizes([(1, call.value(0).size()), (1, call.value(1).size())])
    };
    match (call.value(0), call.value(1)) {
        (Value::Tuple(left), Value::Tuple(right)) => {
            both_sizes()?;
            call.engine.check_future_size(size::tuple(left.len() + right.len()))?;
            Ok(Value::tuple(left.iter().chain(right.iter()).cloned().collect()))
        }
        (Value::Set(left), Value::Set(right)) => {
            both_sizes()?;
            Ok(Value::Set(left.union(right).into()))
        }
        (left, right) => chained(call, vec![left.clone(), right.clone()]),
    }
}

fn repeated(call: &Call<'_>, sequence: usize, times: usize) -> Outcome {
    let (value, count) = (call.value(sequence), call.small_int(times));
    let items = call.sequence(sequence);
    let wide_count = i128::from(count);
    call.engine
        .check_sizes([(1 - wide_count, size::EMPTY_LIST), (wide_count, value.size())])?;
    let count = usize::try_from(count).unwrap_or(0);
    let length = items.len().saturating_mul(count);
    call.engine
        .check_future_size(size::tuple(0).saturating_add(length.saturating_mul(8)))?;
    let repeated: Vec<Value> = items.iter().cycle().take(length).cloned().collect();
    Ok(match value {
        Value::List(_) => Value::list(repeated),
        _ => Value::tuple(repeated),
    })
}

fn counted(call: &Call<'_>) -> Outcome {
    let mut walk = call.walk(0)?;
    let mut count = 0_u64;
    while walk.next(call.engine)?.is_some() {
        count += 1;
    }
    Ok(Value::int(count))
}
