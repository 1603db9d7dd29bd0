//! Lazy queries: what gives an iterator over a collection.

use std::rc::Rc;

use crate::python::size;
use crate::yaql::call::Call;
use crate::yaql::error::Error;
use crate::yaql::iteration::{IteratorClass, Memory, Walk};
use crate::yaql::signature::{Default, Function, Kind, Outcome, Parameter, both, int, iterable, lambda, method, of};
use crate::yaql::value::{Set, Value};

const COLLECTION: Parameter = iterable("collection");
const PREDICATE: &[Parameter] = &[COLLECTION, lambda("predicate")];
const SELECTOR: &[Parameter] = &[COLLECTION, lambda("selector")];
const COUNT: &[Parameter] = &[COLLECTION, int("count")];

pub(super) const FUNCTIONS: &[Function] = &[
    method("where", PREDICATE, filtered),
    method("filter", PREDICATE, filtered),
    method("select", SELECTOR, selected),
    method("map", SELECTOR, selected),
    method("selectMany", SELECTOR, select_many),
    method("limit", COUNT, limited_to),
    method("take", COUNT, limited_to),
    method("skip", COUNT, skipped),
    method("takeWhile", PREDICATE, take_while),
    method("skipWhile", PREDICATE, skip_while),
    both(
        "distinct",
        &[COLLECTION, lambda("keySelector").or(Default::Null)],
        distinct,
    ),
    both(
        "enumerate",
        &[COLLECTION, of(Kind::Int, "start").nullable().or(Default::Int(0))],
        enumerated,
    ),
    method("memorize", &[COLLECTION], |call| Ok(memorized(call.owned(0)))),
    method("defaultIfEmpty", &[COLLECTION, iterable("default")], default_if_empty),
];

fn filtered(call: &Call<'_>) -> Outcome {
    let (mut walk, predicate) = (call.walk(0)?, call.lambda(1));
    call.iterator(IteratorClass::FILTER, move |engine| {
        while let Some(item) = walk.next(engine)? {
            if predicate.call(engine, std::slice::from_ref(&item))?.is_true() {
                return Ok(Some(item));
            }
        }
        Ok(None)
    })
}

fn selected(call: &Call<'_>) -> Outcome {
    let (mut walk, selector) = (call.walk(0)?, call.lambda(1));
    call.iterator(IteratorClass::MAP, move |engine| {
        let item = walk.next(engine)?;
        item.map(|item| selector.call(engine, &[item])).transpose()
    })
}

fn select_many(call: &Call<'_>) -> Outcome {
    let (mut walk, selector) = (call.walk(0)?, call.lambda(1));
    let mut inner: Option<Walk> = None;
    call.generator("select_many", 232, move |engine| {
        loop {
            if let Some(items) = &mut inner {
                match items.next(engine)? {
                    None => inner = None,
                    item => return Ok(item),
                }
            }
            let Some(item) = walk.next(engine)? else {
                return Ok(None);
            };
            let selected = selector.call(engine, &[item])?;
            if !selected.is_iterable() {
                return Ok(Some(selected));
            }
            inner = Some(Walk::through(&selected, engine)?);
        }
    })
}

/// A count for `itertools.islice`, which says one thing of negative counts and another (`what`) of those that are too
/// large.
pub(super) fn slice_count(call: &Call<'_>, index: usize, what: &str) -> Result<usize, Error> {
    let complaint = |what: &str| {
        Error::value_error(format!(
            "{what} for islice() must be None or an integer: 0 <= x <= sys.maxsize."
        ))
    };
    match call.word_int(index) {
        // Python's sign of an error, too.
        Ok(-1) | Err(_) => Err(complaint(what)),
        Ok(count) => usize::try_from(count).map_err(|_| complaint("Indices")),
    }
}

fn limited_to(call: &Call<'_>) -> Outcome {
    let mut left = slice_count(call, 1, "Stop argument")?;
    let mut walk = call.walk(0)?;
    call.iterator(IteratorClass::SLICE, move |engine| {
        if left == 0 {
            return Ok(None);
        }
        left -= 1;
        walk.next(engine)
    })
}

fn skipped(call: &Call<'_>) -> Outcome {
    let mut to_skip = slice_count(call, 1, "Indices")?;
    let mut walk = call.walk(0)?;
    call.iterator(IteratorClass::SLICE, move |engine| {
        while to_skip > 0 {
            to_skip -= 1;
            if walk.next(engine)?.is_none() {
                return Ok(None);
            }
        }
        walk.next(engine)
    })
}

fn take_while(call: &Call<'_>) -> Outcome {
    const CLASS: IteratorClass = IteratorClass::Builtin("itertools.takewhile", 56);
    let (mut walk, predicate) = (call.walk(0)?, call.lambda(1));
    call.iterator(CLASS, move |engine| {
        let Some(item) = walk.next(engine)? else {
            return Ok(None);
        };
        let holds = predicate.call(engine, std::slice::from_ref(&item))?.is_true();
        Ok(holds.then_some(item))
    })
}

fn skip_while(call: &Call<'_>) -> Outcome {
    const CLASS: IteratorClass = IteratorClass::Builtin("itertools.dropwhile", 56);
    let (mut walk, predicate) = (call.walk(0)?, call.lambda(1));
    let mut is_skipping = true;
    call.iterator(CLASS, move |engine| {
        while let Some(item) = walk.next(engine)? {
            if is_skipping && predicate.call(engine, std::slice::from_ref(&item))?.is_true() {
                continue;
            }
            is_skipping = false;
            return Ok(Some(item));
        }
        Ok(None)
    })
}

fn distinct(call: &Call<'_>) -> Outcome {
    let (mut walk, key_selector) = (call.walk(0)?, call.lambda_if_any(1));
    let mut known = Set::default();
    call.generator("distinct", 264, move |engine| {
        while let Some(item) = walk.next(engine)? {
            let key = match &key_selector {
                Some(selector) => selector.call(engine, std::slice::from_ref(&item))?,
                None => item.clone(),
            };
            let count = known.len();
            known.insert(key)?;
            if known.len() > count {
                engine.check_sizes([(1, size::set(known.capacity()))])?;
                return Ok(Some(item));
            }
        }
        Ok(None)
    })
}

fn enumerated(call: &Call<'_>) -> Outcome {
    let mut walk = call.walk(0)?;
    let has_start = !call.value(1).is_null();
    let mut index = call.int(1);
    call.generator("enumerate_", 232, move |engine| {
        if !has_start {
            return Err(Error::type_error(
                "'NoneType' object cannot be interpreted as an integer",
            ));
        }
        Ok(walk.next(engine)?.map(|item| {
            let pair = Value::list(vec![Value::int(index.clone()), item]);
            index += 1;
            pair
        }))
    })
}

pub(super) fn memorized(collection: Value) -> Value {
    if collection.is_iterator() {
        Value::Memory(Rc::new(Memory::of(collection)))
    } else {
        collection
    }
}

fn default_if_empty(call: &Call<'_>) -> Outcome {
    let collection = memorized(call.owned(0));
    let is_empty = Walk::through(&collection, call.engine)?.next(call.engine)?.is_none();
    Ok(if is_empty { call.owned(1) } else { collection })
}
