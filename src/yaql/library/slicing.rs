//! Collections cut into pieces.

use super::queries::slice_count;
use super::strings::slice_range;
use crate::yaql::call::Call;
use crate::yaql::engine::Engine;
use crate::yaql::error::Error;
use crate::yaql::iteration::Walk;
use crate::yaql::signature::{Function, Outcome, Parameter, int, iterable, lambda, method};
use crate::yaql::value::Value;

const COLLECTION: Parameter = iterable("collection");
const PREDICATE: &[Parameter] = &[COLLECTION, lambda("predicate")];

pub(super) const FUNCTIONS: &[Function] = &[
    method("slice", &[COLLECTION, int("length")], sliced),
    method("splitAt", &[COLLECTION, int("index")], |call| {
        let list = call.invoke_method("toList", call.owned(0))?;
        let items = Walk::through(&list, call.engine)?.collect(call.engine)?;
        let length = i64::try_from(items.len()).unwrap_or(i64::MAX);
        let (before, after) = items.split_at(slice_range(0, call.small_int(1), length).end);
        Ok(Value::list(vec![
            Value::tuple(before.to_vec()),
            Value::tuple(after.to_vec()),
        ]))
    }),
    method("splitWhere", PREDICATE, split_where),
    method("sliceWhere", PREDICATE, slice_where),
];

fn sliced(call: &Call<'_>) -> Outcome {
    let mut walk = call.walk(0)?;
    let length = slice_count(call, 1, "Stop argument");
    call.generator("slice_", 248, move |engine| {
        let length = length.clone()?;
        let mut slice = Vec::new();
        while slice.len() < length {
            match walk.next(engine)? {
                Some(item) => slice.push(item),
                None => break,
            }
        }
        if slice.is_empty() {
            return Ok(None);
        }
        let slice = Value::tuple(slice);
        engine.check_memory(&slice)?;
        Ok(Some(slice))
    })
}

/// The collection as a list, made when the first piece is asked for.
enum Source {
    Collection(Walk),
    Items(std::vec::IntoIter<Value>),
}

impl Source {
    fn next(&mut self, engine: &Engine) -> Result<Option<Value>, Error> {
        if let Self::Collection(walk) = self {
            let mut items = Vec::new();
            while let Some(item) = walk.next(engine)? {
                items.push(item);
            }
            let items = Value::tuple(items);
            engine.check_memory(&items)?;
            let items = items.as_sequence().map(|items| items.to_vec()).unwrap_or_default();
            *self = Self::Items(items.into_iter());
        }
        match self {
            Self::Items(items) => Ok(items.next()),
            Self::Collection(walk) => walk.next(engine),
        }
    }
}

/// Items for which the predicate is true separate the pieces and are in none of them.
fn split_where(call: &Call<'_>) -> Outcome {
    let (mut source, predicate) = (Source::Collection(call.walk(0)?), call.lambda(1));
    call.generator("split_where", 248, move |engine| {
        let mut piece = Vec::new();
        while let Some(item) = source.next(engine)? {
            if predicate.call(engine, std::slice::from_ref(&item))?.is_true() {
                return Ok(Some(Value::tuple(piece)));
            }
            piece.push(item);
        }
        Ok((!piece.is_empty()).then(|| Value::tuple(piece)))
    })
}

/// A new piece begins where the predicate gives another value than before.
fn slice_where(call: &Call<'_>) -> Outcome {
    let (mut source, predicate) = (Source::Collection(call.walk(0)?), call.lambda(1));
    let mut next_piece: Vec<Value> = Vec::new();
    let mut current: Option<Value> = None;
    call.generator("slice_where", 264, move |engine| {
        let mut piece = std::mem::take(&mut next_piece);
        while let Some(item) = source.next(engine)? {
            let verdict = predicate.call(engine, std::slice::from_ref(&item))?;
            let changes = current
                .replace(verdict.clone())
                .is_some_and(|before| !before.equals(&verdict));
            if changes {
                next_piece.push(item);
                return Ok(Some(Value::tuple(piece)));
            }
            piece.push(item);
        }
        Ok((!piece.is_empty()).then(|| Value::tuple(piece)))
    })
}
