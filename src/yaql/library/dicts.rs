//! Dicts. What is made from rules or other dicts is yaql's frozen kind, what is filled item by item Python's own.

use std::rc::Rc;

use crate::yaql::call::Call;
use crate::yaql::error::Error;
use crate::yaql::iteration::Walk;
use crate::yaql::signature::{
    Default, Function, Kind, Outcome, Parameter, any, both, function, iterable, lambda, mapping, method, of,
};
use crate::yaql::value::{Dict, Value, View, ViewKind};

const DICT: Parameter = mapping("dict");
const RULES: Parameter = of(Kind::Rule, "args");

pub(super) const FUNCTIONS: &[Function] = &[
    function("#map", &[], from_rules).rest(RULES).takes_rules(),
    function("dict", &[], from_rules).rest(RULES).takes_rules(),
    function("dict", &[iterable("items")], from_pairs).takes_rules(),
    method(
        "toDict",
        &[
            iterable("collection"),
            lambda("keySelector"),
            lambda("valueSelector").or(Default::Null),
        ],
        to_dict,
    ),
    method("get", &[DICT, any("key"), any("default").or(Default::Null)], |call| {
        Ok(call.dict(0).get(call.value(1))?.unwrap_or(call.value(2)).clone())
    }),
    method("set", &[DICT, any("key"), any("value")], |call| {
        call.engine
            .check_sizes((0..3).map(|index| (1, call.value(index).size())))?;
        with_entries(call, [(call.owned(1), call.owned(2))])
    })
    .takes_rules(),
    method("set", &[DICT, mapping("replacements")], merged).takes_rules(),
    method("set", &[DICT], |call| {
        let sizes = call.rest_values().map(|rule| (1, rule.size()));
        call.engine
            .check_sizes(std::iter::once((1, call.value(0).size())).chain(sizes))?;
        with_entries(call, rules(call))
    })
    .rest(RULES)
    .takes_rules(),
    function("#operator_+", &[mapping("left"), mapping("right")], merged),
    method("keys", &[DICT], |call| view(call, ViewKind::Keys)),
    method("values", &[DICT], |call| view(call, ViewKind::Values)),
    method("items", &[DICT], |call| view(call, ViewKind::Items)),
    both("len", &[DICT], |call| Ok(Value::int(call.dict(0).len()))),
    method("delete", &[DICT], |call| {
        without(call, call.rest_values().cloned().collect())
    })
    .rest(any("keys")),
    method("deleteAll", &[DICT, iterable("keys")], |call| {
        without(call, call.walk(1)?.collect(call.engine)?)
    }),
];

fn rules(call: &Call<'_>) -> Vec<(Value, Value)> {
    let pairs = call.rest_values().filter_map(|value| match value {
        Value::Rule(rule) => Some((rule.0.clone(), rule.1.clone())),
        _ => None,
    });
    pairs.collect()
}

fn frozen(dict: Dict) -> Value {
    Value::Dict(Rc::new(dict))
}

fn from_rules(call: &Call<'_>) -> Outcome {
    call.engine
        .check_sizes(call.rest_values().map(|rule| (1, rule.size())))?;
    Ok(frozen(Dict::frozen(rules(call))?))
}

fn from_pairs(call: &Call<'_>) -> Outcome {
    let mut dict = Dict::new(false);
    let mut walk = call.walk(0)?;
    while let Some(pair) = walk.next(call.engine)? {
        let mut pair = Walk::through(&pair, call.engine)?;
        let mut next = || pair.next(call.engine)?.ok_or_else(|| Error::stop_iteration(""));
        let (key, value) = (next()?, next()?);
        dict.insert(key, value)?;
        check_size(call, &dict)?;
    }
    dict.is_frozen = true;
    Ok(frozen(dict))
}

fn check_size(call: &Call<'_>, dict: &Dict) -> Result<(), Error> {
    call.engine.check_sizes([(1, dict.size())])
}

fn to_dict(call: &Call<'_>) -> Outcome {
    let (key_selector, value_selector) = (call.lambda(1), call.lambda_if_any(2));
    let mut dict = Dict::new(false);
    let mut walk = call.walk(0)?;
    while let Some(item) = walk.next(call.engine)? {
        let argument = std::slice::from_ref(&item);
        let key = key_selector.call(call.engine, argument)?;
        let value = match &value_selector {
            Some(selector) => selector.call(call.engine, argument)?,
            None => item,
        };
        dict.insert(key, value)?;
        check_size(call, &dict)?;
    }
    Ok(frozen(dict))
}

fn with_entries(call: &Call<'_>, entries: impl IntoIterator<Item = (Value, Value)>) -> Outcome {
    let mut dict = Dict::clone(&call.dict(0));
    dict.is_frozen = true;
    for (key, value) in entries {
        dict.insert(key, value)?;
    }
    Ok(frozen(dict))
}

fn merged(call: &Call<'_>) -> Outcome {
    call.engine
        .check_sizes([(1, call.value(0).size()), (1, call.value(1).size())])?;
    let other = call.dict(1);
    with_entries(call, other.iter().map(|(key, value)| (key.clone(), value.clone())))
}

fn view(call: &Call<'_>, kind: ViewKind) -> Outcome {
    let dict = call.dict(0);
    Ok(Value::View(Rc::new(View { dict, kind })))
}

fn without(call: &Call<'_>, keys: Vec<Value>) -> Outcome {
    let mut dict = Dict::clone(&call.dict(0));
    dict.is_frozen = false;
    for key in keys {
        dict.remove(&key)?;
    }
    Ok(frozen(dict))
}
