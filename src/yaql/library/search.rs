//! Finding things in texts and collections.

use crate::yaql::call::{Call, Lambda};
use crate::yaql::engine::Engine;
use crate::yaql::error::Error;
use crate::yaql::iteration::Walk;
use crate::yaql::signature::{
    Default, Function, Outcome, Parameter, any, function, int, iterable, lambda, mapping, method, text,
};
use crate::yaql::value::{Key, Value, ViewKind};

const COLLECTION: Parameter = iterable("collection");
const FROM_START: &[Parameter] = &[text("string"), text("sub"), int("start").or(Default::Int(0))];
const IN_PART: &[Parameter] = &[text("string"), text("sub"), int("start"), int("length")];

pub(super) const FUNCTIONS: &[Function] = &[
    function("#operator_in", &[text("left"), text("right")], |call| {
        Ok(call.text(1).contains(call.text(0)).into())
    }),
    function("#operator_in", &[any("value"), COLLECTION], |call| contains(call, 1, 0)),
    method("contains", &[COLLECTION, any("value")], |call| contains(call, 0, 1)),
    method("containsKey", &[mapping("dict"), any("key")], |call| {
        Ok(call.dict(0).get(call.value(1))?.is_some().into())
    }),
    method("containsValue", &[mapping("dict"), any("value")], |call| {
        let dict = call.dict(0);
        let found = dict.iter().any(|(_, value)| value.equals(call.value(1)));
        Ok(found.into())
    }),
    method("startsWith", &[text("string")], |call| {
        let starts = |prefix: &Value| call.text(0).starts_with(&prefix.to_text());
        Ok(call.rest_values().any(starts).into())
    })
    .rest(text("prefixes")),
    method("endsWith", &[text("string")], |call| {
        let ends = |suffix: &Value| call.text(0).ends_with(&suffix.to_text());
        Ok(call.rest_values().any(ends).into())
    })
    .rest(text("suffixes")),
    method("indexOf", FROM_START, |call| found_in_text(call, Direction::Forwards)),
    method("indexOf", IN_PART, |call| found_in_part(call, Direction::Forwards)),
    method("lastIndexOf", FROM_START, |call| {
        found_in_text(call, Direction::Backwards)
    }),
    method("lastIndexOf", IN_PART, |call| found_in_part(call, Direction::Backwards)),
    method("indexOf", &[COLLECTION, any("item")], |call| {
        let item = call.owned(1);
        found(call, Direction::Forwards, |_, candidate| Ok(candidate.equals(&item)))
    }),
    method("lastIndexOf", &[COLLECTION, any("item")], |call| {
        let item = call.owned(1);
        found(call, Direction::Backwards, |_, candidate| Ok(candidate.equals(&item)))
    }),
    method("indexWhere", &[COLLECTION, lambda("predicate")], |call| {
        let predicate = call.lambda(1);
        found(call, Direction::Forwards, |engine, item| {
            holds(&predicate, engine, item)
        })
    }),
    method("lastIndexWhere", &[COLLECTION, lambda("predicate")], |call| {
        let predicate = call.lambda(1);
        found(call, Direction::Backwards, |engine, item| {
            holds(&predicate, engine, item)
        })
    }),
];

#[derive(Clone, Copy, PartialEq, Eq)]
enum Direction {
    Forwards,
    Backwards,
}

fn holds(predicate: &Lambda, engine: &Engine, item: &Value) -> Result<bool, Error> {
    Ok(predicate.call(engine, std::slice::from_ref(item))?.is_true())
}

fn contains(call: &Call<'_>, collection: usize, value: usize) -> Outcome {
    let value = call.value(value);
    let found = match call.value(collection) {
        Value::Set(set) => set.contains(&Key::new(value.clone())?),
        Value::View(view) if view.kind == ViewKind::Keys => view.dict.get(value)?.is_some(),
        collection => {
            let mut walk = Walk::through(collection, call.engine)?;
            let mut found = false;
            while let Some(item) = walk.next(call.engine)? {
                if item.equals(value) {
                    found = true;
                    break;
                }
            }
            found
        }
    };
    Ok(found.into())
}

/// The place of the first or last item that fits; -1 if none does. Looking for the last one looks at all of them.
fn found(call: &Call<'_>, direction: Direction, fits: impl Fn(&Engine, &Value) -> Result<bool, Error>) -> Outcome {
    let mut walk = call.walk(0)?;
    let mut place: i64 = -1;
    let mut index: i64 = 0;
    while let Some(item) = walk.next(call.engine)? {
        if fits(call.engine, &item)? {
            place = index;
            if direction == Direction::Forwards {
                break;
            }
        }
        index += 1;
    }
    Ok(Value::int(place))
}

fn found_in_text(call: &Call<'_>, direction: Direction) -> Outcome {
    let place = find(call.text(0), call.text(1), call.small_int(2), i64::MAX, direction);
    Ok(Value::int(place))
}

fn found_in_part(call: &Call<'_>, direction: Direction) -> Outcome {
    let length_of_text = i64::try_from(call.text(0).chars().count()).unwrap_or(i64::MAX);
    let (mut start, mut length) = (call.small_int(2), call.small_int(3));
    if start < 0 {
        start = start.saturating_add(length_of_text);
    }
    if length < 0 {
        length = length_of_text.saturating_sub(start);
    }
    let end = start.saturating_add(length);
    let place = find(call.text(0), call.text(1), start, end, direction);
    Ok(Value::int(place))
}

/// `str.find` and `str.rfind`: in characters, and -1 where there is none.
fn find(text: &str, wanted: &str, start: i64, end: i64, direction: Direction) -> i64 {
    let length = i64::try_from(text.chars().count()).unwrap_or(i64::MAX);
    let from_end = |index: i64| {
        if index < 0 {
            index.saturating_add(length).max(0)
        } else {
            index
        }
    };
    let (start, end) = (from_end(start), from_end(end).min(length));
    if start > end {
        return -1;
    }
    let byte_at = |index: i64| {
        let index = usize::try_from(index).unwrap_or(usize::MAX);
        text.char_indices().nth(index).map_or(text.len(), |(byte, _)| byte)
    };
    let part = &text[byte_at(start)..byte_at(end)];
    let found = match direction {
        Direction::Forwards => part.find(wanted),
        Direction::Backwards => part.rfind(wanted),
    };
    found.map_or(-1, |byte| {
        start + i64::try_from(part[..byte].chars().count()).unwrap_or(i64::MAX)
    })
}
