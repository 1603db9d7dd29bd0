//! Collections with items taken out, put in or replaced.

use std::rc::Rc;

use crate::python::size;
use crate::yaql::call::{Call, small};
use crate::yaql::iteration::Walk;
use crate::yaql::signature::{Default, Function, Kind, Outcome, Parameter, any, int, iterable, method, of, sequence};
use crate::yaql::value::{Items, Value};

const COLLECTION: Parameter = iterable("collection");
const POSITION: Parameter = int("position");
const COUNT: Parameter = int("count").or(Default::Int(1));

pub(super) const FUNCTIONS: &[Function] = &[
    method("delete", &[COLLECTION, POSITION, COUNT], |call| {
        let mut walk = call.walk(0)?;
        let place = Place::new(call, 1, 2);
        let mut index = -1;
        call.generator("delete", 240, move |engine| {
            while let Some(item) = walk.next(engine)? {
                index += 1;
                if !place.contains(index) {
                    return Ok(Some(item));
                }
            }
            Ok(None)
        })
    }),
    method("replace", &[COLLECTION, POSITION, any("value"), COUNT], |call| {
        let replacement = Walk::Owned(vec![call.owned(2)].into_iter());
        replaced(call, "replace", replacement)
    }),
    method(
        "replaceMany",
        &[COLLECTION, POSITION, iterable("values"), COUNT],
        |call| replaced(call, "replace_many", call.walk(2)?),
    ),
    method("insert", &[sequence("collection"), POSITION, any("value")], list_insert),
    method(
        "insert",
        &[of(Kind::IterableButSet, "collection"), POSITION, any("value")],
        |call| inserted(call, "iter_insert", Walk::Owned(vec![call.owned(2)].into_iter()), false),
    ),
    method("insertMany", &[COLLECTION, POSITION, iterable("values")], |call| {
        inserted(call, "insert_many", call.walk(2)?, true)
    }),
];

/// So many items from a position on; all of them if the count is negative.
struct Place {
    position: i64,
    count: i64,
}

impl Place {
    fn new(call: &Call<'_>, position: usize, count: usize) -> Self {
        Self {
            position: small(&call.int(position)),
            count: small(&call.int(count)),
        }
    }

    fn contains(&self, index: i64) -> bool {
        let end = self.position.saturating_add(self.count);
        index >= self.position && (self.count < 0 || index < end)
    }
}

fn replaced(call: &Call<'_>, function: &'static str, mut replacement: Walk) -> Outcome {
    let mut walk = call.walk(0)?;
    let place = Place::new(call, 1, 3);
    let mut index = -1;
    let mut is_replacing = false;
    call.generator(function, 256, move |engine| {
        loop {
            if is_replacing {
                match replacement.next(engine)? {
                    None => is_replacing = false,
                    item => return Ok(item),
                }
            }
            let Some(item) = walk.next(engine)? else {
                return Ok(None);
            };
            index += 1;
            if !place.contains(index) {
                return Ok(Some(item));
            }
            is_replacing = true;
        }
    })
}

/// New items before the one at a position, or at the end if the collection is shorter.
fn inserted(call: &Call<'_>, function: &'static str, mut new: Walk, at_start_if_negative: bool) -> Outcome {
    let mut walk = call.walk(0)?;
    let position = call.small_int(1);
    let mut index = -1;
    let mut is_inserting = at_start_if_negative && position < 0;
    let mut waiting: Option<Value> = None;
    let mut is_over = false;
    call.generator(function, 232, move |engine| {
        loop {
            if is_inserting {
                match new.next(engine)? {
                    None => is_inserting = false,
                    item => return Ok(item),
                }
            }
            if waiting.is_some() || is_over {
                return Ok(waiting.take());
            }
            match walk.next(engine)? {
                Some(item) => {
                    index += 1;
                    is_inserting = index == position;
                    waiting = Some(item);
                }
                None => {
                    is_inserting = position > index;
                    is_over = true;
                }
            }
        }
    })
}

fn list_insert(call: &Call<'_>) -> Outcome {
    let mut items = call.sequence(0).to_vec();
    let position = call.word_int(1)?;
    let length = i64::try_from(items.len()).unwrap_or(i64::MAX);
    let position = if position < 0 {
        position.saturating_add(length)
    } else {
        position
    };
    let room = size::grown((items.len() + 1) & !1, items.len() + 1);
    items.insert(usize::try_from(position.clamp(0, length)).unwrap_or(0), call.owned(2));
    Ok(Value::List(Rc::new(Items::with_room(items, room))))
}
