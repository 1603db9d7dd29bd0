//! Regular expressions in Python's dialect.

use std::rc::Rc;

use crate::python::PythonError;
use crate::python::regex::{Patience, RegexError};
pub use crate::python::regex_search::PatternFlags;
use crate::python::regex_search::{Match, Matches, SearchRegex, Template, escaped};
use crate::python::repr::repr_text;
use crate::yaql::call::{Call, Lambda};
use crate::yaql::context::{Context, Name, positional_name};
use crate::yaql::engine::Engine;
use crate::yaql::error::Error;
use crate::yaql::signature::{
    Default, Function, Kind, Outcome, Parameter, function, int, lambda_in_context, method, of, text,
};
use crate::yaql::value::{Dict, Value};

const REGEXP: Parameter = of(Kind::Regex, "regexp");
const STRING: Parameter = text("string");
const SELECTOR: Parameter = lambda_in_context("selector").or(Default::Null);
const MAX_SPLIT: Parameter = int("maxSplit").or(Default::Int(0));
const COUNT: Parameter = int("count").or(Default::Int(0));
const REPLACER: Parameter = lambda_in_context("repl");

pub(in crate::yaql) const FUNCTIONS: &[Function] = &[
    function(
        "regex",
        &[text("pattern"), flag("ignoreCase"), flag("multiLine"), flag("dotAll")],
        |call| {
            let flags = PatternFlags {
                ignore_case: call.flag(1),
                multi_line: call.flag(2),
                dot_all: call.flag(3),
            };
            Ok(Value::Regex(call.engine.pattern(call.text(0), flags)?))
        },
    ),
    method("matches", &[REGEXP, STRING], |call| matches(call, 0, 1)),
    method("matches", &[STRING, text("regexp")], |call| matches(call, 1, 0)),
    function("#operator_=~", &[STRING, text("pattern")], |call| matches(call, 1, 0)),
    function("#operator_=~", &[STRING, REGEXP], |call| matches(call, 1, 0)),
    function("#operator_!~", &[STRING, text("pattern")], does_not_match),
    function("#operator_!~", &[STRING, REGEXP], does_not_match),
    method("search", &[REGEXP, STRING, SELECTOR], search),
    method("searchAll", &[REGEXP, STRING, SELECTOR], search_all),
    method("split", &[REGEXP, STRING, MAX_SPLIT], |call| split(call, 0, 1)),
    method("split", &[STRING, REGEXP, MAX_SPLIT], |call| split(call, 1, 0)),
    method("replace", &[REGEXP, STRING, text("repl"), COUNT], |call| {
        replaced(call, 0, 1)
    }),
    method("replace", &[STRING, REGEXP, text("repl"), COUNT], |call| {
        replaced(call, 1, 0)
    }),
    method("replaceBy", &[REGEXP, STRING, REPLACER, COUNT], |call| {
        replaced_by(call, 0, 1)
    }),
    method("replaceBy", &[STRING, REGEXP, REPLACER, COUNT], |call| {
        replaced_by(call, 1, 0)
    }),
    function("escapeRegex", &[STRING], |call| Ok(escaped(call.text(0)).into())),
];

const fn flag(name: &'static str) -> Parameter {
    of(Kind::Bool, name).nullable().or(Default::Bool(false))
}

pub struct Pattern {
    source: String,
    flags: PatternFlags,
    regex: SearchRegex,
}

impl Pattern {
    pub fn compile(source: &str, flags: PatternFlags, patience: &Patience) -> Result<Self, Error> {
        Ok(Self {
            source: source.to_owned(),
            flags,
            regex: SearchRegex::compile(source, flags, patience).map_err(regex_error)?,
        })
    }

    pub fn source(&self) -> &str {
        &self.source
    }

    /// About what Python's compiled pattern takes.
    pub fn size(&self) -> usize {
        160 + 16 * self.source.len()
    }

    pub fn repr(&self) -> String {
        let shown: String = repr_text(&self.source).chars().take(200).collect();
        let flags = [
            ("re.IGNORECASE", self.flags.ignore_case),
            ("re.MULTILINE", self.flags.multi_line),
            ("re.DOTALL", self.flags.dot_all),
        ];
        let set: Vec<&str> = flags
            .iter()
            .filter(|(_, is_set)| *is_set)
            .map(|(name, _)| *name)
            .collect();
        match set.as_slice() {
            [] => format!("re.compile({shown})"),
            set => format!("re.compile({shown}, {})", set.join("|")),
        }
    }
}

impl PartialEq for Pattern {
    fn eq(&self, other: &Self) -> bool {
        self.source == other.source && self.flags == other.flags
    }
}

fn regex_error(error: RegexError) -> Error {
    PythonError::new(error.class_name(), error.to_string()).into()
}

/// A pattern that is given as such or as text.
fn pattern(call: &Call<'_>, index: usize) -> Result<Rc<Pattern>, Error> {
    match call.value(index) {
        Value::Regex(pattern) => Ok(pattern.clone()),
        _ => call.engine.pattern(call.text(index), PatternFlags::default()),
    }
}

/// Searching costs more than other steps.
fn pay(engine: &Engine, text: &str) -> Result<(), Error> {
    const BYTES_A_STEP: usize = 64;
    engine.spend((text.len() / BYTES_A_STEP) as u64 + 1)
}

fn is_match(call: &Call<'_>, regexp: usize, string: usize) -> Result<bool, Error> {
    let text = call.text(string);
    pay(call.engine, text)?;
    pattern(call, regexp)?.regex.is_match(text).map_err(regex_error)
}

fn matches(call: &Call<'_>, regexp: usize, string: usize) -> Outcome {
    Ok(is_match(call, regexp, string)?.into())
}

fn does_not_match(call: &Call<'_>) -> Outcome {
    Ok((!is_match(call, 1, 0)?).into())
}

fn search(call: &Call<'_>) -> Outcome {
    let (pattern, text) = (pattern(call, 0)?, call.text(1));
    pay(call.engine, text)?;
    let found = Matches::default().next(&pattern.regex, text).map_err(regex_error)?;
    let Some(found) = found else {
        return Ok(Value::Null);
    };
    selected(
        &pattern,
        &found,
        text,
        call.lambda_if_any(2).as_ref(),
        &call.context,
        call.engine,
    )
}

fn search_all(call: &Call<'_>) -> Outcome {
    let (pattern, text, selector) = (pattern(call, 0)?, call.text(1).to_owned(), call.lambda_if_any(2));
    let mut matches = Matches::default();
    let context = call.context.clone();
    call.generator("search_all", 256, move |engine| {
        pay(engine, &text)?;
        let found = matches.next(&pattern.regex, &text).map_err(regex_error)?;
        let selected = found.map(|found| selected(&pattern, &found, &text, selector.as_ref(), &context, engine));
        selected.transpose()
    })
}

/// What a selector makes of a match; without one, its text.
fn selected(
    pattern: &Pattern,
    found: &Match,
    text: &str,
    selector: Option<&Lambda>,
    context: &Context,
    engine: &Engine,
) -> Outcome {
    let Some(selector) = selector else {
        return Ok(text[found.start()..found.end()].into());
    };
    let context = context.child();
    publish(pattern, found, text, &context)?;
    selector.call_in(engine, &context)
}

/// Variables for the match (`$`, `$1`) and its groups (`$2`, …): value, start and end in characters.
fn publish(pattern: &Pattern, found: &Match, text: &str, context: &Context) -> Result<(), Error> {
    for (index, place) in found.groups().iter().enumerate() {
        context.set(positional_name(index), record(*place, text)?);
    }
    for (_, index) in pattern.regex.group_names() {
        publish_named(pattern, found, text, *index, context)?;
    }
    Ok(())
}

fn record(place: Option<(usize, usize)>, text: &str) -> Outcome {
    let in_characters = |byte: usize| i64::try_from(text[..byte].chars().count()).unwrap_or(i64::MAX);
    let (value, start, end) = match place {
        Some((start, end)) => (Value::from(&text[start..end]), in_characters(start), in_characters(end)),
        None => (Value::Null, -1, -1),
    };
    let mut record = Dict::new(false);
    record.insert("value".into(), value)?;
    record.insert("start".into(), Value::int(start))?;
    record.insert("end".into(), Value::int(end))?;
    Ok(Value::Dict(Rc::new(record)))
}

/// Groups with names do not work in the oracle: it takes the text of the group for the pair of its name and text. So all
/// but texts of two characters fail.
fn publish_named(pattern: &Pattern, found: &Match, text: &str, index: usize, context: &Context) -> Result<(), Error> {
    let Some((start, end)) = found.groups().get(index).copied().flatten() else {
        return Err(Error::type_error("cannot unpack non-iterable NoneType object"));
    };
    let characters: Vec<char> = text[start..end].chars().collect();
    let [name, group] = characters.as_slice() else {
        return Err(Error::value_error(match characters.len() {
            few @ 0..2 => format!("not enough values to unpack (expected 2, got {few})"),
            _ => "too many values to unpack (expected 2)".to_owned(),
        }));
    };
    let group = group.to_string();
    let Some(named) = pattern.regex.group_named(&group) else {
        return Err(Error::index_error("no such group"));
    };
    let place = found.groups().get(named).copied().flatten();
    let Value::Dict(record) = record(place, text)? else {
        return Ok(());
    };
    let mut record = Dict::clone(&record);
    record.insert("value".into(), group.into())?;
    context.set(Name::Owned(format!("${name}")), Value::Dict(Rc::new(record)));
    Ok(())
}

/// No limit where the count is zero, nothing at all where it is negative.
fn goes_on(count: i64, done: i64) -> bool {
    count == 0 || done < count
}

fn split(call: &Call<'_>, regexp: usize, string: usize) -> Outcome {
    let (pattern, text, most) = (pattern(call, regexp)?, call.text(string), call.word_int(2)?);
    let mut matches = Matches::default();
    let (mut parts, mut last, mut splits) = (Vec::new(), 0, 0);
    while goes_on(most, splits) {
        pay(call.engine, text)?;
        let Some(found) = matches.next(&pattern.regex, text).map_err(regex_error)? else {
            break;
        };
        parts.push(Value::from(&text[last..found.start()]));
        for group in found.groups().iter().skip(1) {
            parts.push(group.map_or(Value::Null, |(start, end)| text[start..end].into()));
        }
        last = found.end();
        splits += 1;
    }
    parts.push(Value::from(&text[last..]));
    Ok(Value::appended(parts))
}

fn replaced(call: &Call<'_>, regexp: usize, string: usize) -> Outcome {
    let (pattern, text) = (pattern(call, regexp)?, call.text(string));
    let template = Template::parse(call.text(2), &pattern.regex)?;
    substituted(call, &pattern, text, |found, _, output| {
        call.engine.check_future_size(output.len() + template.length(found))?;
        template.expand(found, text, output);
        Ok(())
    })
}

fn replaced_by(call: &Call<'_>, regexp: usize, string: usize) -> Outcome {
    let (pattern, text) = (pattern(call, regexp)?, call.text(string));
    let replacer = call.lambda(2);
    substituted(call, &pattern, text, |found, parts, output| {
        let context = call.context.child();
        publish(&pattern, found, text, &call.context)?;
        match replacer.call_in(call.engine, &context)? {
            Value::Null => {}
            Value::Text(replacement) => {
                call.engine.check_future_size(output.len() + replacement.len())?;
                output.push_str(&replacement);
            }
            other => {
                return Err(Error::type_error(format!(
                    "sequence item {parts}: expected str instance, {} found",
                    other.class_name()
                )));
            }
        }
        Ok(())
    })
}

/// The text with each match replaced; `replace` is told how many pieces there are so far.
fn substituted(
    call: &Call<'_>,
    pattern: &Pattern,
    text: &str,
    mut replace: impl FnMut(&Match, usize, &mut String) -> Result<(), Error>,
) -> Outcome {
    let most = call.word_int(3)?;
    let mut matches = Matches::default();
    let (mut output, mut last, mut replacements, mut parts) = (String::new(), 0, 0, 0);
    while goes_on(most, replacements) {
        pay(call.engine, text)?;
        let Some(found) = matches.next(&pattern.regex, text).map_err(regex_error)? else {
            break;
        };
        parts += usize::from(last < found.start());
        output.push_str(&text[last..found.start()]);
        replace(&found, parts, &mut output)?;
        parts += 1;
        last = found.end();
        replacements += 1;
    }
    output.push_str(&text[last..]);
    Ok(output.into())
}
