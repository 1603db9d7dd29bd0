//! What Heat says in the words of the Python program that it is, said to authors of templates.
//!
//! What goes over the bus stays Heat's text, to the letter. Here nobody compares texts, but somebody has to understand
//! them: `unhashable type: 'dict'` is no help to who wrote a map where a name belongs.

use std::borrow::Cow;

use crate::python::literal::Literal;

/// A text of Heat's and the words for it.
///
/// Holes in the text: `{}` is anything, `{class}` the name of a Python class, `{value}` what Python writes for a value,
/// `{more}` another text that is said in words itself. `{0}`, `{1}` … stand for them in the words and in the step.
struct Saying {
    text: &'static str,
    words: &'static str,
    /// The step from the place that is known to the one that it is about; empty where that is the same.
    step: &'static str,
}

const fn say(text: &'static str, words: &'static str) -> Saying {
    Saying { text, words, step: "" }
}

const fn say_at(text: &'static str, words: &'static str, step: &'static str) -> Saying {
    Saying { text, words, step }
}

/// The first that fits counts.
static SAYINGS: &[Saying] = &[
    // Parts of a template.
    say_at(
        "\"{}\" is not a valid keyword inside a resource definition",
        "\"{0}\" is not a valid keyword inside a resource definition",
        "{0}",
    ),
    say_at(
        "Invalid keyword(s) inside a resource definition: {}",
        "\"{0}\" is not a valid keyword inside a resource definition",
        "{0}",
    ),
    say("Resource {} is missing \"{}\"", "\"{1}\" is missing"),
    say_at("Resource {} {} type must be object", "\"{1}\" has to be a map", "{1}"),
    say_at("Resource {} {} type must be string", "\"{1}\" has to be a text", "{1}"),
    say_at(
        "Resource {} {} type must be list or string",
        "\"{1}\" has to be a name or a list of names",
        "{1}",
    ),
    say_at(
        "Resource {} {} type must be string{}boolean",
        "\"{1}\" has to be the name of a condition, a function of conditions, true or false",
        "{1}",
    ),
    say_at(
        "Resource {} {} must be a list of strings",
        "\"{1}\" has to be a list of names",
        "{1}",
    ),
    say(
        "The definition of condition \"{}\" is invalid: {}",
        "a condition is a function of conditions, true or false",
    ),
    say(
        "Condition definitions must be a map. Found a {class} instead",
        "the section has to be a map of conditions, and is {0}",
    ),
    say("Invalid condition \"{{}\"", "a map stands where a condition is needed"),
    say("Invalid condition \"[{}\"", "a list stands where a condition is needed"),
    say(
        "\"{}\" must contain a map of {} maps. Found a [<class '{class}'>] instead",
        "\"{0}\" has to be a map of {1} maps, and there is {2}",
    ),
    say(
        "Resources must contain Resource. Found a [<class '{class}'>] instead",
        "the definition of a resource is a map, and this is {0}",
    ),
    say(
        "Output validation error: Output definitions must be a map. Found a {class} instead",
        "the definition of an output is a map, and this is {0}",
    ),
    say("Each {} must contain a {} key.", "\"{1}\" is missing"),
    say("Each {} definition must contain a {} key.", "\"{1}\" is missing"),
    say(
        "The template version is invalid: The function {} is not supported in this version of HOT.",
        "{0} is no function in this version",
    ),
    say(
        "The specified reference \"{}\" (in {}) is incorrect.",
        "The specified reference \"{0}\" is incorrect.",
    ),
    say_at(
        "Invalid deletion policy \"{value}\"",
        "{0} is no deletion policy",
        "deletion_policy",
    ),
    // Parameters.
    say_at(
        "Invalid key '{}' for parameter ({})",
        "\"{0}\" is no key of parameters",
        "{0}",
    ),
    say_at(
        "Invalid key '{}' for {}constraint{}",
        "\"{0}\" is no key of {1}constraint{2}",
        "constraints",
    ),
    say("Invalid key '{}' for {}", "\"{0}\" is no key of {1}"),
    say("Invalid {}, expected a {}", "{0} has to be a {1}"),
    say_at(
        "No constraint expressed",
        "this says nothing that could be checked",
        "constraints",
    ),
    say_at(
        "A {} constraint must have {}",
        "A {0} constraint must have {1}",
        "constraints",
    ),
    say_at(
        "min/max length must be integral",
        "min and max of a length have to be whole numbers",
        "constraints",
    ),
    say_at(
        "step/offset must be integer",
        "step and offset have to be whole numbers",
        "constraints",
    ),
    say_at(
        "AllowedValues must be a list",
        "the allowed values have to be a list",
        "constraints",
    ),
    say_at(
        "AllowedPattern must be a string",
        "the allowed pattern has to be a text",
        "constraints",
    ),
    say_at(
        "Range constraint invalid for {}",
        "\"range\" is no constraint for the type {0}",
        "constraints",
    ),
    say_at(
        "Length constraint invalid for {}",
        "\"length\" is no constraint for the type {0}",
        "constraints",
    ),
    say_at(
        "Modulo constraint invalid for {}",
        "\"modulo\" is no constraint for the type {0}",
        "constraints",
    ),
    say_at(
        "AllowedValues constraint invalid for {}",
        "\"allowed_values\" is no constraint for the type {0}",
        "constraints",
    ),
    say_at(
        "AllowedPattern constraint invalid for {}",
        "\"allowed_pattern\" is no constraint for the type {0}",
        "constraints",
    ),
    say_at(
        "CustomConstraint constraint invalid for {}",
        "\"custom_constraint\" is no constraint for the type {0}",
        "constraints",
    ),
    say_at("Invalid type ({value})", "{0} is no type of parameters", "type"),
    say_at(
        "Invalid default {value} ({more})",
        "the default, {0}, does not fit: {1}",
        "default",
    ),
    say_at(
        "Default must be a comma-delimited list string: '{class}' object has no attribute 'split'",
        "the default has to be a list, or a text with commas, and is {0}",
        "default",
    ),
    say(
        "Value must be a comma-delimited list string: '{class}' object has no attribute 'split'",
        "a list is needed, or a text with commas, and this is {0}",
    ),
    say_at("Invalid AllowedPattern {}", "Invalid AllowedPattern {0}", "constraints"),
    say("Error validating value {}: {more}", "Error validating value {0}: {1}"),
    say(
        "Unrecognized value '{value}', acceptable values are: {}",
        "{0} is neither true (on, yes, t, y, 1) nor false (off, no, f, n, 0)",
    ),
    // Environments.
    say(
        "environment section \"{}\" must be a {}, not a {class}",
        "the section has to be a {1}, and is {2}",
    ),
    say(
        "environment section \"{}\" must hold names, not a {class}",
        "names are needed here, and this is {1}",
    ),
    say(
        "environment section \"{}\" names \"{}\", which is no parameter of the environment",
        "\"{1}\" is no parameter of the environment",
    ),
    say(
        "environment parameters must be a map, not a {class}",
        "the section has to be a map, and is {0}",
    ),
    say(
        "environment section \"resource_registry\": \"{}\" must be the name of a type or a template, not a {class}",
        "this has to be the name of a type or of a template, and is {1}",
    ),
    say("environment section \"resource_registry\": {}", "{0}"),
    say(
        "environment section \"event_sinks\": a sink must be a map, not a {class}",
        "a sink has to be a map, and this is {0}",
    ),
    say("environment section \"event_sinks\": {}", "{0}"),
    say(
        "Invalid parameter in environment .",
        "this cannot be merged with what another file says",
    ),
    say("Invalid parameter in environment {}.", "this is no JSON: {0}"),
    // Functions.
    say(
        "\"repeat\" syntax should be {}",
        "\"repeat\" takes \"template\" and \"for_each\", a map of lists",
    ),
    say(
        "\"yaql\" syntax should be {}",
        "\"yaql\" takes \"expression\" and, if it needs any, \"data\"",
    ),
    say(
        "\"{}\" syntax should be {}",
        "\"{0}\" takes \"template\", a text, and \"params\", a map",
    ),
    say(
        "Wrong Arguments try: {}",
        "this takes a list of the name of keys, the name of values, and a list of texts such as .member.0.NAME=value",
    ),
    say(
        "Items to merge must be maps. {} is type <class '{class}'> instead of a dict",
        "only maps can be merged, and one item is {1}: {0}",
    ),
    say(
        "String to split must be string; got <class '{class}'>",
        "only a text can be split, and this is {0}",
    ),
    say(
        "not enough values to unpack (expected 2, got 0)",
        "\"for_each\" is empty",
    ),
    say(
        "not enough values to unpack (expected {}, got {})",
        "{0} items are needed here, and there are {1}",
    ),
    say(
        "too many values to unpack (expected {})",
        "{0} items are needed here, and there are more",
    ),
    say(
        "cannot unpack non-iterable {class} object",
        "a list is needed here, and this is {0}",
    ),
    say(
        "replace() argument 2 must be str, not {class}",
        "only texts can be put in by for_each, not {0}",
    ),
    say("empty separator", "the text that is to be found is empty"),
    say(
        "must be str or None, not {class}",
        "the delimiter has to be a text, and is {0}",
    ),
    say(
        "'{class}' object has no attribute 'split'",
        "only a text can be split, and this is {0}",
    ),
    say(
        "'NoneType' object has no attribute '{}'",
        "no resource stands in front of this template",
    ),
    say(
        "'{class}' object has no attribute 'items'",
        "a map is needed here, and this is {0}",
    ),
    say(
        "'{class}' object has no attribute 'get'",
        "a map is needed here, and this is {0}",
    ),
    say(
        "'{class}' object has no attribute 'read'",
        "a text is needed here, and this is {0}",
    ),
    say(
        "'{class}' object has no attribute 'extend'",
        "a list cannot be added to {0}",
    ),
    say(
        "dictionary update sequence element #{} has length 1; 2 is required",
        "the item [{0}] has no \"=\"",
    ),
    say("quote_from_bytes() expected bytes", "the fragment has to be a text"),
    say(
        "'in <string>' requires string as left operand, not {class}",
        "only a text can be in a text, and {0} is looked for",
    ),
    say(
        "Unknown method \"{}\" for receiver {value}",
        "there is no method \"{0}\" of {1}",
    ),
    say("Unknown function \"#property#{}\"", "nothing here is called \"{0}\""),
    say(
        "No function \"#operator_{}\" matches supplied arguments",
        "\"{0}\" does not go with these values",
    ),
    say(
        "No function \"#unary_operator_{}\" matches supplied arguments",
        "\"{0}\" does not go with this value",
    ),
    say(
        "No function \"#indexer\" matches supplied arguments",
        "nothing can be looked up in this value",
    ),
    say("found unhashable key", "a list or a map cannot be a key"),
    say(
        "Items to join must be string, map or list not {value}",
        "Items to join must be string, map or list, not {0}",
    ),
    say(
        "Items to join must be strings not {value}",
        "Items to join must be strings, not {0}",
    ),
    say(
        "Invalid URL port \"{}\" for {} called with {}",
        "Invalid URL port \"{0}\"",
    ),
    say(
        "'latin-1' codec can't encode {}",
        "only characters up to U+00FF can be digested",
    ),
    say(
        "Algorithm must be one of {}",
        "the algorithm has to be one of md5, sha1, sha224, sha256, sha384 and sha512",
    ),
    say("None", "nothing is asked for"),
    // What Python does with values.
    // YAQL on what is empty, or has been put in an order.
    say("", "there is nothing in what this is taken from"),
    say(
        "reduce() of empty iterable with no initial value",
        "there is nothing in what this is made of",
    ),
    say(
        "No method \"{}\" for receiver <yaql.{} object{}> matches supplied arguments",
        "what stands before \".{0}\" is no list: \".toList()\" makes one of it",
    ),
    say("unhashable type: '{class}'", "{0} stands where a name is needed"),
    say(
        "list indices must be integers or slices, not {class}",
        "items of a list go by number, and {0} is asked for",
    ),
    say(
        "string indices must be integers, not '{class}'",
        "letters of a text go by number, and {0} is asked for",
    ),
    say("string index out of range", "the text has fewer letters"),
    say("list index out of range", "the list has fewer items"),
    say("tuple index out of range", "the list has fewer items"),
    say(
        "'{class}' object is not subscriptable",
        "something inside is asked for, and this is {0}",
    ),
    say(
        "argument of type '{class}' is not iterable",
        "a map or a list is needed here, and this is {0}",
    ),
    say(
        "'{class}' object is not iterable",
        "a map or a list is needed here, and this is {0}",
    ),
    say("'{class}' object is not callable", "{0} cannot be called"),
    say("'{class}' object has no attribute {}", "{0} cannot do this"),
    say(
        "'{class}' object does not support item assignment",
        "a map cannot be merged with {0}",
    ),
    say(
        "'{}' not supported between instances of '{class}' and '{class}'",
        "{1} and {2} cannot be compared",
    ),
    say(
        "unsupported operand type(s) for {}: '{class}' and '{class}'",
        "{0} does not go with {1} and {2}",
    ),
    say(
        "can only concatenate {class} (not \"{class}\") to {class}",
        "{1} cannot be added to {0}",
    ),
    say(
        "can't multiply sequence by non-int of type '{class}'",
        "nothing can be repeated by {0}",
    ),
    say("bad operand type for unary {}: '{class}'", "{0} does not go with {1}"),
    say("bad operand type for {}: '{class}'", "{0} does not go with {1}"),
    say(
        "sequence item {}: expected str instance, {class} found",
        "only texts can be joined, and one is {1}",
    ),
    say(
        "expected string or bytes-like object, got '{class}'",
        "a text is needed here, and this is {0}",
    ),
    say("object of type '{class}' has no len()", "{0} has no length"),
    say(
        "int() argument must be a string, a bytes-like object or a real number, not '{class}'",
        "a number is needed here, and this is {0}",
    ),
    say(
        "float() argument must be a string or a real number, not '{class}'",
        "a number is needed here, and this is {0}",
    ),
    say("could not convert string to float: {value}", "{0} is not a number"),
    say(
        "invalid literal for int() with base {}: {value}",
        "{1} is not a whole number",
    ),
    say(
        "Exceeds the limit ({} digits) {}",
        "the number has more than {0} digits",
    ),
    say(
        "cannot convert float infinity to integer",
        "the number is infinite, and a whole one is needed",
    ),
    say(
        "cannot convert float NaN to integer",
        "this is no number, and a whole one is needed",
    ),
    say("Python int too large to convert to {}", "the number is too large"),
    say("int too large to convert to float", "the number is too large"),
    say(
        "maximum recursion depth exceeded{}",
        "this goes in circles, or too deep",
    ),
    say("maximum recursion depth exceeded", "this goes in circles, or too deep"),
    // Values of properties.
    say(
        "Value must be a string; got {value}",
        "a text is needed here, and this is {0}",
    ),
    // What is one needs no other.
    say(
        "\"[{}\" is not a list",
        "a list is needed here, and this is a text that looks like one",
    ),
    say(
        "\"{{}\" is not a map",
        "a map is needed here, and this is a text that looks like one",
    ),
    say("\"{value}\" is not a list", "a list is needed here, and this is {0}"),
    say("\"{value}\" is not a map", "a map is needed here, and this is {0}"),
];

/// A message in words.
#[derive(Debug, PartialEq, Eq)]
pub struct Said {
    pub message: String,
    /// The step from the place that is known to the one that the message is about.
    pub step: Option<String>,
}

/// What Heat says, in words where its text is Python's. A text that says something by itself stays as it is.
pub fn in_words(text: &str) -> Said {
    let text = bounds_in_words(&unquoted(&shortened(text)));
    // What a message quotes is said behind a colon.
    let starts = text.match_indices(": ").map(|(at, colon)| at + colon.len());
    for start in [0].into_iter().chain(starts) {
        let (heading, rest) = text.split_at(start);
        if let Some(said) = SAYINGS.iter().find_map(|saying| saying.of(rest)) {
            return Said {
                message: format!("{heading}{}", said.message),
                ..said
            };
        }
        let is_all = heading.is_empty() || heading.ends_with(" is invalid: ");
        if let Some(name) = key_alone(rest).filter(|_| is_all) {
            return Said {
                message: format!("{heading}there is no {name}"),
                step: None,
            };
        }
    }
    Said {
        message: text,
        step: None,
    }
}

/// Python shows the message of a KeyError as it would be written in a program.
fn unquoted(text: &str) -> String {
    let start = text.rfind(": '").map_or(0, |colon| colon + 2);
    [0, start]
        .into_iter()
        .find_map(|start| match Literal::parse(&text[start..]) {
            Ok(Literal::Text(message)) if message.contains(' ') && !text[start..].ends_with("\"\"") => {
                Some(format!("{}{message}", &text[..start]))
            }
            _ => None,
        })
        .unwrap_or_else(|| text.to_owned())
}

/// Python shows a bound that is not there.
fn bounds_in_words(text: &str) -> String {
    let with_one = |text: String, before: &str, after: &str, words: &str| match text.split_once(before) {
        Some((start, rest)) => match rest.split_once(after) {
            Some((bound, end)) if !bound.contains(", ") => format!("{start}({words} {bound}){end}"),
            _ => text,
        },
        None => text,
    };
    let text = with_one(text.to_owned(), "(min: None, max: ", ")", "at most");
    with_one(text, "(min: ", ", max: None)", "at least")
}

/// The key that a KeyError is about, which is all that Python says of it.
fn key_alone(text: &str) -> Option<String> {
    match Literal::parse(text).ok()? {
        Literal::Text(key) => Some(format!("\"{key}\"")),
        Literal::Int(_) | Literal::Bool(_) | Literal::Float(_) => Some(format!("key {text}")),
        _ => None,
    }
}

impl Saying {
    fn of(&self, text: &str) -> Option<Said> {
        let found = fill(self.text, text)?;
        Some(Said {
            message: with_values(self.words, &found),
            step: Some(with_values(self.step, &found)).filter(|step| !step.is_empty()),
        })
    }
}

/// `{0}` and its like replaced by the values of that number.
fn with_values(words: &str, values: &[String]) -> String {
    let mut pieces = words.split('{');
    let mut text = pieces.next().unwrap_or_default().to_owned();
    for piece in pieces {
        let value = piece
            .split_once('}')
            .and_then(|(number, rest)| Some((values.get(number.parse::<usize>().ok()?)?, rest)));
        match value {
            Some((value, rest)) => text.extend([value.as_str(), rest]),
            None => text.extend(["{", piece]),
        }
    }
    text
}

/// What stands in the holes of a pattern, if the text is one of it.
pub fn fill(pattern: &str, text: &str) -> Option<Vec<String>> {
    let Some((before, kind, after)) = first_hole(pattern) else {
        return (pattern == text).then(Vec::new);
    };
    let rest = text.strip_prefix(before)?;
    let next = first_hole(after).map_or(after, |(literal, _, _)| literal);
    let ends = rest.match_indices(next).map(|(end, _)| end);
    // Nothing follows on the last hole: it takes all.
    let ends: Vec<usize> = if next.is_empty() {
        vec![rest.len()]
    } else {
        ends.collect()
    };
    ends.into_iter().find_map(|end| {
        let said = kind.said(&rest[..end])?;
        let mut found = vec![said];
        found.extend(fill(after, &rest[end..])?);
        Some(found)
    })
}

#[derive(Clone, Copy)]
enum Hole {
    Anything,
    Class,
    Value,
    More,
}

const HOLES: [(&str, Hole); 4] = [
    ("{}", Hole::Anything),
    ("{class}", Hole::Class),
    ("{value}", Hole::Value),
    ("{more}", Hole::More),
];

/// The text before the first hole of a pattern, the hole, and what follows.
fn first_hole(pattern: &str) -> Option<(&str, Hole, &str)> {
    let found = HOLES
        .iter()
        .filter_map(|(name, hole)| Some((pattern.find(name)?, *name, *hole)));
    let (start, name, hole) = found.min_by_key(|(start, _, _)| *start)?;
    Some((&pattern[..start], hole, &pattern[start + name.len()..]))
}

impl Hole {
    fn said(self, text: &str) -> Option<String> {
        match self {
            Self::Anything => Some(text.to_owned()),
            Self::Class => (!text.is_empty() && is_name(text)).then(|| class_in_words(text)),
            Self::Value => Some(value_in_words(text)),
            Self::More => Some(in_words(text).message),
        }
    }
}

fn is_name(text: &str) -> bool {
    text.chars()
        .all(|letter| letter.is_alphanumeric() || "._".contains(letter))
}

/// A message with the middle of a long value left out: what is said of it stands before and behind. To look for sayings in all
/// of it would take the square of its length.
fn shortened(text: &str) -> Cow<'_, str> {
    const LONGEST: usize = 2000;
    const KEPT: (usize, usize) = (600, 300);
    let count = text.chars().count();
    if count <= LONGEST {
        return Cow::Borrowed(text);
    }
    let start: String = text.chars().take(KEPT.0).collect();
    let end: String = text.chars().skip(count - KEPT.1).collect();
    Cow::Owned(format!("{start}… ({count} characters) …{end}"))
}

fn class_in_words(class: &str) -> String {
    match class {
        "str" => "a text".to_owned(),
        "dict" => "a map".to_owned(),
        "list" | "tuple" => "a list".to_owned(),
        "int" => "a whole number".to_owned(),
        "float" => "a number".to_owned(),
        "bool" => "true or false".to_owned(),
        "NoneType" | "None" => "nothing".to_owned(),
        "Function" => "a call of a function".to_owned(),
        other => format!("something else ({other})"),
    }
}

/// A value that Python wrote; of lists and maps, which Python writes otherwise than a template, only what they are.
fn value_in_words(written: &str) -> String {
    match Literal::parse(written) {
        Ok(Literal::Text(text)) => format!("\"{text}\""),
        Ok(Literal::None) => "nothing".to_owned(),
        Ok(Literal::Bool(flag)) => flag.to_string(),
        Ok(Literal::Int(_) | Literal::Float(_)) => written.to_owned(),
        _ if written.starts_with('{') => "a map".to_owned(),
        _ if written.starts_with('[') => "a list".to_owned(),
        _ => format!("\"{written}\""),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pythons_texts_are_said_in_words() {
        for (text, words) in [
            ("unhashable type: 'dict'", "a map stands where a name is needed"),
            ("'M'", "there is no \"M\""),
            ("'it\\'s'", "there is no \"it's\""),
            ("5", "there is no key 5"),
            (
                "Parameter 'n' is invalid: could not convert string to float: 'a: b'",
                "Parameter 'n' is invalid: \"a: b\" is not a number",
            ),
            (
                "Parameter 'p' is invalid: Invalid default abc (could not convert string to float: 'abc')",
                "Parameter 'p' is invalid: the default, \"abc\", does not fit: \"abc\" is not a number",
            ),
            (
                "Parameter 'p' is invalid: Invalid default 9 (9 is out of range (min: None, max: 5))",
                "Parameter 'p' is invalid: the default, 9, does not fit: 9 is out of range (at most 5)",
            ),
            (
                "length (2) is out of range (min: 3, max: None)",
                "length (2) is out of range (at least 3)",
            ),
            (
                "length (2) is out of range (min: 3, max: 5)",
                "length (2) is out of range (min: 3, max: 5)",
            ),
            ("'Resource a is missing \"type\"'", "\"type\" is missing"),
            (
                "'\"yaql\" syntax should be yaql:\\n              expression: x'",
                "\"yaql\" takes \"expression\" and, if it needs any, \"data\"",
            ),
            (
                "not enough values to unpack (expected 3, got 1)",
                "3 items are needed here, and there are 1",
            ),
            (
                "Invalid condition \"{'equlas': [1, 2]}\"",
                "a map stands where a condition is needed",
            ),
            ("Invalid condition \"is_pord\"", "Invalid condition \"is_pord\""),
            ("\"{'a': 1}\" is not a list", "a list is needed here, and this is a map"),
            (
                "\"{\"a\": 1}\" is not a map",
                "a map is needed here, and this is a text that looks like one",
            ),
            ("cannot read x: No such file", "cannot read x: No such file"),
            ("the value is: 'x'", "the value is: 'x'"),
            (
                "Invalid default {1} ('x')",
                "the default, a map, does not fit: there is no \"x\"",
            ),
        ] {
            assert_eq!(in_words(text).message, words, "{text}");
        }
    }

    #[test]
    fn what_is_said_of_a_long_value_is_told() {
        let said = in_words(&format!("\"{}\" does not match pattern \"b+\"", "a: ".repeat(100_000)));
        assert!(said.message.contains("(300030 characters)"), "{}", said.message);
        assert!(
            said.message.ends_with("does not match pattern \"b+\""),
            "{}",
            said.message
        );
        assert!(said.message.chars().count() < 1000);
    }

    #[test]
    fn the_place_may_be_more_exact_than_what_was_known() {
        let step = |text| in_words(text).step;
        assert_eq!(
            step("Resource a depends_on type must be list or string").as_deref(),
            Some("depends_on")
        );
        assert_eq!(
            step("Parameter 'p' is invalid: Invalid default x (y)").as_deref(),
            Some("default")
        );
        assert_eq!(step("unhashable type: 'list'"), None);
    }
}
