//! Texts, counted in characters.

use std::rc::Rc;

use crate::python::size;
use crate::python::text::{is_blank, words, words_from_end};
use crate::yaql::call::Call;
use crate::yaql::error::Error;
use crate::yaql::signature::{
    Default, Function, Kind, Outcome, Parameter, both, function, int, iterable, mapping, method, of, text,
};
use crate::yaql::value::{Items, Value};

const STRING: Parameter = text("string");
const CHARACTERS: Parameter = text("chars").or(Default::Null);
const SEPARATOR: Parameter = text("separator").or(Default::Null);
const SPLITS: Parameter = int("maxSplits").or(Default::Int(-1));
const COUNT: Parameter = int("count").or(Default::Int(-1));

pub(super) const FUNCTIONS: &[Function] = &[
    both("len", &[STRING], |call| Ok(Value::int(call.text(0).chars().count()))),
    method("toLower", &[STRING], |call| Ok(call.text(0).to_lowercase().into())),
    method("toUpper", &[STRING], |call| Ok(call.text(0).to_uppercase().into())),
    method("split", &[STRING, SEPARATOR, SPLITS], split),
    method("rightSplit", &[STRING, SEPARATOR, SPLITS], right_split),
    method("join", &[iterable("sequence"), text("separator")], |call| {
        joined(call, 0, 1)
    }),
    method("join", &[text("separator"), iterable("sequence")], |call| {
        joined(call, 1, 0)
    }),
    function("concat", &[], concatenated).rest(text("args")),
    function("#operator_+", &[], concatenated).rest(text("args")),
    function("#operator_*", &[text("left"), int("right")], |call| {
        repeated(call, 0, 1)
    }),
    function("#operator_*", &[int("left"), text("right")], |call| {
        repeated(call, 1, 0)
    }),
    method("trim", &[STRING, CHARACTERS], |call| {
        Ok(trimmed(call.text(0), call.text_if_any(1), true, true).into())
    }),
    method("trimLeft", &[STRING, CHARACTERS], |call| {
        Ok(trimmed(call.text(0), call.text_if_any(1), true, false).into())
    }),
    method("trimRight", &[STRING, CHARACTERS], |call| {
        Ok(trimmed(call.text(0), call.text_if_any(1), false, true).into())
    }),
    both("norm", &[STRING.nullable(), CHARACTERS], |call| {
        let text = trimmed(call.text(0), call.text_if_any(1), true, true);
        Ok(if text.is_empty() { Value::Null } else { text.into() })
    }),
    both(
        "isEmpty",
        &[
            STRING.nullable(),
            of(Kind::Bool, "trim").or(Default::Bool(true)),
            CHARACTERS,
        ],
        |call| {
            let text = call.text(0);
            let rest = if call.flag(1) {
                trimmed(text, call.text_if_any(2), true, true)
            } else {
                text
            };
            Ok(rest.is_empty().into())
        },
    ),
    method("replace", &[STRING, text("old"), text("new"), COUNT], |call| {
        let count = call.word_int(3)?;
        Ok(replaced(call, call.text(0), call.text(1), call.text(2), count)?.into())
    }),
    method("replace", &[STRING, mapping("replacements"), COUNT], replaced_by_dict),
    method(
        "substring",
        &[STRING, int("start"), int("length").or(Default::Int(-1))],
        substring,
    ),
    method("toCharArray", &[STRING], |call| {
        let characters = call.text(0).chars().map(|c| Value::from(c.to_string()));
        Ok(Value::tuple(characters.collect()))
    }),
    function(
        "characters",
        &[
            flag("digits"),
            flag("hexdigits"),
            flag("asciiLowercase"),
            flag("asciiUppercase"),
            flag("asciiLetters"),
            flag("letters"),
            flag("octdigits"),
            flag("punctuation"),
            flag("printable"),
            flag("lowercase"),
            flag("uppercase"),
            flag("whitespace"),
        ],
        characters,
    ),
];

const fn flag(name: &'static str) -> Parameter {
    of(Kind::Bool, name).nullable().or(Default::Bool(false))
}

/// How many splits, where a negative number means all.
fn splits(call: &Call<'_>) -> Result<Option<usize>, Error> {
    Ok(usize::try_from(call.word_int(2)?).ok())
}

/// A list with the room that Python's `split` leaves in it.
fn split_list(parts: Vec<&str>, splits: Option<usize>) -> Value {
    const ROOM_AT_FIRST: usize = 12;
    let first = splits.map_or(ROOM_AT_FIRST, |splits| (splits + 1).min(ROOM_AT_FIRST));
    let room = size::grown(first, parts.len());
    let items = parts.into_iter().map(Value::from).collect();
    Value::List(Rc::new(Items::with_room(items, room)))
}

fn separator<'a>(call: &'a Call<'_>) -> Result<Option<&'a str>, Error> {
    match call.text_if_any(1) {
        Some("") => Err(Error::value_error("empty separator")),
        separator => Ok(separator),
    }
}

fn split(call: &Call<'_>) -> Outcome {
    let (text, splits) = (call.text(0), splits(call)?);
    let parts = match (separator(call)?, splits) {
        (None, _) => words(text, splits),
        (Some(separator), None) => text.split(separator).collect(),
        (Some(separator), Some(splits)) => text.splitn(splits.saturating_add(1), separator).collect(),
    };
    Ok(split_list(parts, splits))
}

fn right_split(call: &Call<'_>) -> Outcome {
    let (text, splits) = (call.text(0), splits(call)?);
    let parts = match (separator(call)?, splits) {
        (None, _) => words_from_end(text, splits),
        (Some(separator), splits) => {
            let most = splits.map_or(usize::MAX, |splits| splits.saturating_add(1));
            let mut parts: Vec<&str> = text.rsplitn(most, separator).collect();
            parts.reverse();
            parts
        }
    };
    Ok(split_list(parts, splits))
}

fn joined(call: &Call<'_>, sequence: usize, separator: usize) -> Outcome {
    let mut walk = call.walk(sequence)?;
    let mut texts = Vec::new();
    let mut length = 0;
    let separator = call.text(separator);
    while let Some(item) = walk.next(call.engine)? {
        let text = call.invoke_on_values("str", vec![item])?.to_text();
        length += text.len() + separator.len();
        texts.push(text);
    }
    call.engine.check_future_size(length.saturating_sub(separator.len()))?;
    Ok(texts.join(separator).into())
}

fn concatenated(call: &Call<'_>) -> Outcome {
    let texts: Vec<String> = call.rest_values().map(Value::to_text).collect();
    call.engine.check_future_size(texts.iter().map(String::len).sum())?;
    Ok(texts.concat().into())
}

fn repeated(call: &Call<'_>, text: usize, times: usize) -> Outcome {
    let (value, count) = (call.value(text), call.small_int(times));
    let text = call.text(text);
    let count_wide = i128::from(count);
    call.engine
        .check_sizes([(1 - count_wide, size::text("")), (count_wide, value.size())])?;
    let count = usize::try_from(count).unwrap_or(0);
    call.engine.check_future_size(text.len().saturating_mul(count))?;
    Ok(text.repeat(if text.is_empty() { 0 } else { count }).into())
}

fn trimmed<'a>(text: &'a str, characters: Option<&str>, at_start: bool, at_end: bool) -> &'a str {
    let goes = |c: char| characters.map_or_else(|| is_blank(c), |characters| characters.contains(c));
    let text = if at_start { text.trim_start_matches(goes) } else { text };
    if at_end { text.trim_end_matches(goes) } else { text }
}

/// A negative count replaces all.
fn replaced(call: &Call<'_>, text: &str, old: &str, new: &str, count: i64) -> Result<String, Error> {
    let most = usize::try_from(count).unwrap_or(usize::MAX);
    let times = text.matches(old).count().min(most);
    call.engine
        .check_future_size(text.len().saturating_sub(old.len() * times) + new.len().saturating_mul(times))?;
    Ok(text.replacen(old, new, most))
}

fn replaced_by_dict(call: &Call<'_>) -> Outcome {
    let count = call.word_int(2)?;
    let mut text = call.text(0).to_owned();
    for (old, new) in call.dict(1).iter() {
        let old = call.invoke_on_values("str", vec![old.clone()])?.to_text();
        let new = call.invoke_on_values("str", vec![new.clone()])?.to_text();
        text = replaced(call, &text, &old, &new, count)?;
    }
    Ok(text.into())
}

fn substring(call: &Call<'_>) -> Outcome {
    let text = call.text(0);
    let characters = i64::try_from(text.chars().count()).unwrap_or(i64::MAX);
    let (mut start, mut length) = (call.small_int(1), call.small_int(2));
    if length < 0 {
        length = characters;
    }
    if start < 0 {
        start = start.saturating_add(characters);
    }
    let range = slice_range(start, start.saturating_add(length), characters);
    let part: String = text.chars().skip(range.start).take(range.len()).collect();
    Ok(part.into())
}

/// `[start:end]` of so many items: what is negative counts from the end.
pub(super) fn slice_range(start: i64, end: i64, length: i64) -> std::ops::Range<usize> {
    let place = |index: i64| {
        let index = if index < 0 { index.saturating_add(length) } else { index };
        usize::try_from(index.clamp(0, length)).unwrap_or(0)
    };
    let (start, end) = (place(start), place(end));
    start..end.max(start)
}

const DIGITS: &str = "0123456789";
const HEX_DIGITS: &str = "0123456789abcdefABCDEF";
const OCTAL_DIGITS: &str = "01234567";
const LOWER_CASE: &str = "abcdefghijklmnopqrstuvwxyz";
const UPPER_CASE: &str = "ABCDEFGHIJKLMNOPQRSTUVWXYZ";
const PUNCTUATION: &str = "!\"#$%&'()*+,-./:;<=>?@[\\]^_`{|}~";
const WHITE_SPACE: &str = " \t\n\r\x0b\x0c";

/// Each character once. Python gives them in any order. Three of the classes are gone from its library.
fn characters(call: &Call<'_>) -> Outcome {
    let classes: [(usize, &[&str]); 9] = [
        (0, &[DIGITS]),
        (1, &[HEX_DIGITS]),
        (2, &[LOWER_CASE]),
        (3, &[UPPER_CASE]),
        (4, &[LOWER_CASE, UPPER_CASE]),
        (6, &[OCTAL_DIGITS]),
        (7, &[PUNCTUATION]),
        (8, &[DIGITS, LOWER_CASE, UPPER_CASE, PUNCTUATION, WHITE_SPACE]),
        (11, &[WHITE_SPACE]),
    ];
    for (index, name) in [(5, "letters"), (9, "lowercase"), (10, "uppercase")] {
        if call.flag(index) {
            return Err(Error::attribute_error(format!(
                "module 'string' has no attribute '{name}'"
            )));
        }
    }
    let chosen = classes.iter().filter(|(index, _)| call.flag(*index));
    let mut characters: Vec<char> = Vec::new();
    for character in chosen.flat_map(|(_, class)| class.iter()).flat_map(|part| part.chars()) {
        if !characters.contains(&character) {
            characters.push(character);
        }
    }
    Ok(Value::tuple(
        characters.into_iter().map(|c| Value::from(c.to_string())).collect(),
    ))
}
