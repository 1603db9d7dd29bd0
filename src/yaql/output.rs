//! What leaves an expression: no iterators, no frozen dicts, no tuples.

use std::rc::Rc;

use super::call::Call;
use super::error::Error;
use super::iteration::Walk;
use super::signature::Outcome;
use super::value::{Dict, Items, Set, Value, View, ViewKind};
use crate::python::size;

/// The value as Python data of its own. Collections are held to the limit once more.
pub(super) fn converted(value: &Value, call: &Call<'_>) -> Outcome {
    let _depth = call.engine.enter_iterator()?;
    match value {
        Value::Dict(dict) => {
            let items = Value::View(Rc::new(View {
                dict: dict.clone(),
                kind: ViewKind::Items,
            }));
            limited(items, call)?;
            let mut plain = Dict::new(false);
            for (key, value) in dict.iter() {
                let value = converted(value, call)?;
                plain.insert(converted(key, call)?, value)?;
            }
            Ok(Value::Dict(Rc::new(plain)))
        }
        value if value.is_set() => {
            let mut set = Set::mutable();
            for item in items(value, call)? {
                set.insert(item)?;
            }
            Ok(Value::Set(Rc::new(set)))
        }
        value if value.is_iterable() => {
            let items = items(value, call)?;
            let room = size::collected(items.len());
            Ok(Value::List(Rc::new(Items::with_room(items, room))))
        }
        other => Ok(other.clone()),
    }
}

fn limited(value: Value, call: &Call<'_>) -> Outcome {
    call.invoke_on_values("#iter", vec![value])
}

fn items(value: &Value, call: &Call<'_>) -> Result<Vec<Value>, Error> {
    let mut walk = Walk::through(&limited(value.clone(), call)?, call.engine)?;
    let mut items = Vec::new();
    while let Some(item) = walk.next(call.engine)? {
        items.push(converted(&item, call)?);
    }
    Ok(items)
}
