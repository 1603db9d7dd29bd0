//! `mergeWith`: two dicts merged as deep as they go.

use std::rc::Rc;

use crate::python::size;
use crate::yaql::call::{Call, Lambda};
use crate::yaql::error::Error;
use crate::yaql::signature::{Default, Function, Outcome, int, lambda, mapping, method};
use crate::yaql::value::{Dict, Set, Value};

pub(super) const FUNCTIONS: &[Function] = &[method(
    "mergeWith",
    &[
        mapping("dict"),
        mapping("another"),
        lambda("listMerger").or(Default::Null),
        lambda("itemMerger").or(Default::Null),
        int("maxLevels").or(Default::Int(0)),
    ],
    |call| {
        let merge = Merge {
            call,
            lists: call.lambda_if_any(2),
            items: call.lambda_if_any(3),
        };
        merge.dicts(&call.dict(0), &call.dict(1), call.small_int(4))
    },
)];

struct Merge<'a> {
    call: &'a Call<'a>,
    lists: Option<Lambda>,
    items: Option<Lambda>,
}

impl Merge<'_> {
    /// The number of levels that are left; zero means all.
    fn dicts(&self, left: &Dict, right: &Dict, levels: i64) -> Outcome {
        self.call.engine.spend(1)?;
        let mut merged = Dict::new(false);
        for (key, value) in left.iter() {
            let value = match right.get(key)? {
                Some(other) => self.values(value, other, levels)?,
                None => value.clone(),
            };
            merged.insert(key.clone(), value)?;
        }
        for (key, value) in right.iter() {
            if merged.get(key)?.is_none() {
                merged.insert(key.clone(), value.clone())?;
            }
        }
        Ok(Value::Dict(Rc::new(merged)))
    }

    fn values(&self, left: &Value, right: &Value, levels: i64) -> Outcome {
        let goes_deeper = levels != 1;
        match (left, right) {
            (Value::Dict(left), Value::Dict(right)) if goes_deeper => {
                self.dicts(left, right, if levels == 0 { 0 } else { levels - 1 })
            }
            (left, right) if goes_deeper && left.as_sequence().is_some() && right.as_sequence().is_some() => {
                self.sequences(left, right)
            }
            (left, right) if goes_deeper && (matches!(right, Value::Dict(_)) || right.as_sequence().is_some()) => {
                Err(Error::type_error(format!(
                    "Cannot merge {} with {}",
                    left.class_repr(),
                    right.class_repr()
                )))
            }
            (left, right) => match &self.items {
                Some(merger) => merger.call(self.call.engine, &[left.clone(), right.clone()]),
                None => Ok(right.clone()),
            },
        }
    }

    fn sequences(&self, left: &Value, right: &Value) -> Outcome {
        if let Some(merger) = &self.lists {
            return merger.call(self.call.engine, &[left.clone(), right.clone()]);
        }
        if left.class_name() != right.class_name() {
            let (left, right) = (left.class_name(), right.class_name());
            return Err(Error::type_error(format!(
                "can only concatenate {left} (not \"{right}\") to {left}"
            )));
        }
        let mut known = Set::default();
        let mut items = Vec::new();
        for item in [left, right]
            .into_iter()
            .filter_map(Value::as_sequence)
            .flat_map(|items| items.iter())
        {
            let count = known.len();
            known.insert(item.clone())?;
            if known.len() > count {
                self.call.engine.check_sizes([(1, size::set(known.capacity()))])?;
                items.push(item.clone());
            }
        }
        self.call.invoke_method("toList", Value::appended(items))
    }
}
