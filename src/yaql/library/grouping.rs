//! Several collections at once, and one collection in groups.

use std::rc::Rc;

use indexmap::IndexMap;

use super::queries::memorized;
use crate::python::size;
use crate::yaql::call::{Call, Lambda};
use crate::yaql::engine::Engine;
use crate::yaql::error::Error;
use crate::yaql::iteration::{IteratorClass, Walk};
use crate::yaql::signature::{Default, Function, Outcome, any, iterable, lambda, method};
use crate::yaql::value::{Key, Value};

pub(super) const FUNCTIONS: &[Function] = &[
    method(
        "groupBy",
        &[
            iterable("collection"),
            lambda("keySelector"),
            lambda("valueSelector").or(Default::Null),
            lambda("aggregator").or(Default::Null),
        ],
        group_by,
    ),
    method("zip", &[], |call| {
        const CLASS: IteratorClass = IteratorClass::Builtin("zip", 64);
        let mut walks = walks(call)?;
        call.iterator(CLASS, move |engine| {
            let mut items = Vec::with_capacity(walks.len());
            for walk in &mut walks {
                match walk.next(engine)? {
                    Some(item) => items.push(item),
                    None => return Ok(None),
                }
            }
            Ok((!items.is_empty()).then(|| Value::tuple(items)))
        })
    })
    .rest(iterable("collections")),
    method("zipLongest", &[], zip_longest)
        .rest(iterable("collections"))
        .keywords(any("kwargs")),
    method(
        "join",
        &[
            iterable("collection1"),
            iterable("collection2"),
            lambda("predicate"),
            lambda("selector"),
        ],
        join,
    ),
];

fn walks(call: &Call<'_>) -> Result<Vec<Walk>, Error> {
    call.rest_values()
        .map(|value| Walk::through(value, call.engine))
        .collect()
}

fn zip_longest(call: &Call<'_>) -> Outcome {
    const CLASS: IteratorClass = IteratorClass::Builtin("itertools.zip_longest", 72);
    let mut walks: Vec<Option<Walk>> = walks(call)?.into_iter().map(Some).collect();
    let default = call.keywords.iter().find(|(name, _)| &**name == "default");
    let default = default.map_or(Value::Null, |(_, value)| value.clone());
    call.iterator(CLASS, move |engine| {
        let mut items = Vec::with_capacity(walks.len());
        for walk in &mut walks {
            let item = match walk {
                Some(walk) => walk.next(engine)?,
                None => None,
            };
            if item.is_none() {
                *walk = None;
            }
            items.push(item.unwrap_or_else(|| default.clone()));
        }
        Ok(walks.iter().any(Option::is_some).then(|| Value::tuple(items)))
    })
}

fn join(call: &Call<'_>) -> Outcome {
    let mut outer = call.walk(0)?;
    let other = memorized(call.owned(1));
    let (predicate, selector) = (call.lambda(2), call.lambda(3));
    let mut pairing: Option<(Value, Walk)> = None;
    call.generator("join", 272, move |engine| {
        loop {
            let (item, walk) = match &mut pairing {
                Some(pairing) => pairing,
                None => match outer.next(engine)? {
                    Some(item) => pairing.insert((item, Walk::through(&other, engine)?)),
                    None => return Ok(None),
                },
            };
            match walk.next(engine)? {
                None => pairing = None,
                Some(other_item) => {
                    let pair = [item.clone(), other_item];
                    if predicate.call(engine, &pair)?.is_true() {
                        return selector.call(engine, &pair).map(Some);
                    }
                }
            }
        }
    })
}

/// Pairs of a key and the list of the values that have it, or what the aggregator makes of the list.
fn group_by(call: &Call<'_>) -> Outcome {
    let (key_selector, value_selector) = (call.lambda(1), call.lambda_if_any(2));
    let mut groups: IndexMap<Key, Vec<Value>> = IndexMap::new();
    let mut has_only_text_keys = true;
    let mut walk = call.walk(0)?;
    while let Some(item) = walk.next(call.engine)? {
        let argument = std::slice::from_ref(&item);
        let value = match &value_selector {
            Some(selector) => selector.call(call.engine, argument)?,
            None => item.clone(),
        };
        let key = key_selector.call(call.engine, argument)?;
        has_only_text_keys &= matches!(key, Value::Text(_));
        groups.entry(Key::new(key)?).or_default().push(value);
        call.engine
            .check_sizes([(1, size::dict(groups.len(), has_only_text_keys))])?;
    }
    let mut groups = groups.into_iter();
    let mut aggregation = call.lambda_if_any(3).map(Aggregation::new);
    call.iterator(IteratorClass::MAP, move |engine| {
        let Some((key, values)) = groups.next() else {
            return Ok(None);
        };
        let (key, values) = (key.value().clone(), Value::appended(values));
        match &mut aggregation {
            Some(aggregation) => aggregation.of_group(engine, key, values).map(Some),
            None => Ok(Some(Value::tuple(vec![key, values]))),
        }
    })
}

/// An aggregator takes the list of values. Before yaql 1.1.1 it took key and list and gave key and result; one that
/// fails on the list is tried that way, unless an earlier group has shown that it is of the new kind.
struct Aggregation {
    aggregator: Lambda,
    may_be_old: bool,
    failure: Option<Error>,
}

impl Aggregation {
    fn new(aggregator: Lambda) -> Self {
        Self {
            aggregator,
            may_be_old: true,
            failure: None,
        }
    }

    fn of_group(&mut self, engine: &Engine, key: Value, values: Value) -> Outcome {
        if self.failure.is_none() {
            match self.aggregator.call(engine, std::slice::from_ref(&values)) {
                Ok(result) => {
                    self.may_be_old &= looks_like_old(&result, &values);
                    return Ok(Value::tuple(vec![key, result]));
                }
                Err(error) if is_misunderstanding(&error) => self.failure = Some(error),
                Err(error) => return Err(error),
            }
        }
        let group = Value::tuple(vec![key, values]);
        if self.may_be_old
            && let Ok(result) = self.aggregator.call(engine, &[group])
            && length(&result) == Some(2)
        {
            return Ok(result);
        }
        Err(self.failure.clone().unwrap_or_else(Error::recursion))
    }
}

fn is_misunderstanding(error: &Error) -> bool {
    matches!(error, Error::NoMatchingMethod { .. } | Error::NoMatchingFunction(_)) || error.class_name() == "IndexError"
}

fn looks_like_old(result: &Value, values: &Value) -> bool {
    match (result.as_sequence(), values.as_sequence()) {
        (Some(result), Some(values)) => match (&***result, &***values) {
            ([first, _], [value, _]) => first.equals(value),
            _ => false,
        },
        _ => false,
    }
}

/// `len(value)`, where it has one.
fn length(value: &Value) -> Option<usize> {
    match value {
        Value::Text(text) => Some(text.chars().count()),
        Value::Dict(dict) => Some(dict.len()),
        Value::View(view) => Some(view.dict.len()),
        value if value.is_set() => Some(value.set_items().len()),
        value => value.as_sequence().map(|items: &Rc<_>| items.len()),
    }
}
