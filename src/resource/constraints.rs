//! What a value must fulfil beyond its type.

use std::cmp::Ordering;

use async_trait::async_trait;
use serde_json::{Map, Value, json};

use super::literal::Literal;
use super::schema::PropertyType;
use crate::python::json::dumps;
use crate::python::number::PyNumber;
use crate::python::regex::PythonRegex;
use crate::python::repr::to_text;
use crate::python::value::{bool_from_text, contains};

#[derive(Clone, Copy, Debug)]
pub enum Rule<'s> {
    Length {
        min: Option<u64>,
        max: Option<u64>,
    },
    Range {
        min: Option<Literal<'s>>,
        max: Option<Literal<'s>>,
    },
    Modulo {
        step: i64,
        offset: i64,
    },
    AllowedTexts(&'s [&'s str]),
    AllowedValues(&'s [Literal<'s>]),
    AllowedPattern(&'s str),
    /// A named check that asks a service, see [`CustomConstraints`].
    Custom(&'s str),
}

#[derive(Clone, Copy, Debug)]
pub struct Constraint<'s> {
    pub rule: Rule<'s>,
    /// Where given, it is what the user reads in place of the rule's own error text.
    pub description: Option<&'s str>,
}

impl<'s> Constraint<'s> {
    const fn new(rule: Rule<'s>) -> Self {
        Self {
            rule,
            description: None,
        }
    }

    pub const fn length(min: Option<u64>, max: Option<u64>) -> Self {
        assert!(min.is_some() || max.is_some(), "a length needs a bound");
        Self::new(Rule::Length { min, max })
    }

    pub const fn range(min: Option<i64>, max: Option<i64>) -> Self {
        const fn bound<'s>(bound: Option<i64>) -> Option<Literal<'s>> {
            match bound {
                Some(bound) => Some(Literal::Integer(bound)),
                None => None,
            }
        }
        Self::range_of(bound(min), bound(max))
    }

    pub const fn range_of(min: Option<Literal<'s>>, max: Option<Literal<'s>>) -> Self {
        assert!(min.is_some() || max.is_some(), "a range needs a bound");
        Self::new(Rule::Range { min, max })
    }

    pub const fn modulo(step: i64, offset: i64) -> Self {
        assert!(step != 0, "a step of zero leads nowhere");
        assert!(offset.abs() < step.abs(), "the offset must be smaller than the step");
        assert!(step > 0 || offset <= 0, "step and offset must have the same sign");
        assert!(step < 0 || offset >= 0, "step and offset must have the same sign");
        Self::new(Rule::Modulo { step, offset })
    }

    pub const fn one_of(allowed: &'s [&'s str]) -> Self {
        Self::new(Rule::AllowedTexts(allowed))
    }

    pub const fn one_of_values(allowed: &'s [Literal<'s>]) -> Self {
        Self::new(Rule::AllowedValues(allowed))
    }

    /// The whole value must match, as Python's `re` understands the pattern.
    pub const fn pattern(pattern: &'s str) -> Self {
        Self::new(Rule::AllowedPattern(pattern))
    }

    pub const fn custom(name: &'s str) -> Self {
        Self::new(Rule::Custom(name))
    }

    pub const fn describe(mut self, description: &'s str) -> Self {
        self.description = Some(description);
        self
    }

    /// Whether the constraint can be put on a property of that type.
    pub const fn suits(&self, kind: PropertyType) -> bool {
        use PropertyType::{Any, Integer, List, Map, Number, String};
        match self.rule {
            Rule::Length { .. } => matches!(kind, String | List | Map),
            Rule::Range { .. } | Rule::Modulo { .. } => matches!(kind, Integer | Number),
            Rule::AllowedTexts(_) | Rule::AllowedValues(_) | Rule::Custom(_) => !matches!(kind, Map | Any),
            Rule::AllowedPattern(_) => matches!(kind, String),
        }
    }

    /// As `resource_schema` shows it.
    pub fn to_api(&self) -> Value {
        let mut shown = Map::new();
        if let Some(description) = self.description {
            shown.insert("description".into(), description.into());
        }
        let (name, rule) = match &self.rule {
            Rule::Length { min, max } => ("length", bounds_to_api(min.map(Value::from), max.map(Value::from))),
            Rule::Range { min, max } => (
                "range",
                bounds_to_api(min.map(|min| min.to_value()), max.map(|max| max.to_value())),
            ),
            Rule::Modulo { step, offset } => ("modulo", json!({"step": step, "offset": offset})),
            Rule::AllowedTexts(allowed) => ("allowed_values", json!(allowed)),
            Rule::AllowedValues(allowed) => (
                "allowed_values",
                Value::Array(allowed.iter().map(Literal::to_value).collect()),
            ),
            Rule::AllowedPattern(pattern) => ("allowed_pattern", (*pattern).into()),
            Rule::Custom(name) => ("custom_constraint", (*name).into()),
        };
        shown.insert(name.into(), rule);
        Value::Object(shown)
    }
}

impl Constraint<'_> {
    /// Checks a value that already has the property's type. The error is what the user reads. A custom rule cannot be
    /// judged here and passes: see [`CustomConstraints`].
    pub fn check(&self, value: &Value, kind: PropertyType) -> Result<(), String> {
        self.broken(value, kind)
            .map_or(Ok(()), |text| Err(self.description.map_or(text, str::to_owned)))
    }

    /// The error text when the value breaks the rule.
    fn broken(&self, value: &Value, kind: PropertyType) -> Option<String> {
        match &self.rule {
            Rule::Length { min, max } => {
                let length = length(value)?;
                let too_short = min.is_some_and(|min| length < min);
                let too_long = max.is_some_and(|max| length > max);
                let bounds = || bounds_text(min.map(Value::from).as_ref(), max.map(Value::from).as_ref());
                (too_short || too_long).then(|| format!("length ({length}) is out of range {}", bounds()))
            }
            Rule::Range { min, max } => {
                let number = PyNumber::of(value)?;
                let min = min.map(|min| min.to_value());
                let max = max.map(|max| max.to_value());
                let beyond = |bound: &Option<Value>, side| {
                    let bound = bound.as_ref().and_then(PyNumber::of);
                    bound.is_some_and(|bound| number.compare(&bound) == Some(side))
                };
                let outside = beyond(&min, Ordering::Less) || beyond(&max, Ordering::Greater);
                outside.then(|| {
                    let bounds = bounds_text(min.as_ref(), max.as_ref());
                    format!("{} is out of range {bounds}", to_text(value))
                })
            }
            Rule::Modulo { step, offset } => {
                let remainder = PyNumber::of(value)?.modulo(&PyNumber::Int((*step).into()));
                let fits = remainder.is_some_and(|found| found.equals(&PyNumber::Int((*offset).into())));
                (!fits).then(|| {
                    let value = to_text(value);
                    format!("{value} is not a multiple of {step} with an offset of {offset}")
                })
            }
            Rule::AllowedTexts(allowed) => {
                let allowed: Vec<Value> = allowed.iter().map(|text| Value::from(*text)).collect();
                not_among(&allowed, value, kind)
            }
            Rule::AllowedValues(allowed) => {
                let allowed: Vec<Value> = allowed.iter().map(Literal::to_value).collect();
                not_among(&allowed, value, kind)
            }
            Rule::AllowedPattern(pattern) => {
                let text = value.as_str()?;
                let matches = PythonRegex::compile(pattern)
                    .and_then(|regex| regex.match_reaches_end(text))
                    .unwrap_or(false);
                (!matches).then(|| format!("\"{text}\" does not match pattern \"{pattern}\""))
            }
            Rule::Custom(_) => None,
        }
    }
}

fn length(value: &Value) -> Option<u64> {
    let length = match value {
        Value::String(text) => text.chars().count(),
        Value::Array(items) => items.len(),
        Value::Object(entries) => entries.len(),
        _ => return None,
    };
    u64::try_from(length).ok()
}

fn bounds_text(min: Option<&Value>, max: Option<&Value>) -> String {
    let text = |bound: Option<&Value>| to_text(bound.unwrap_or(&Value::Null));
    format!("(min: {}, max: {})", text(min), text(max))
}

/// A list must have nothing else in it; anything else must be one of the allowed, compared as its type compares.
fn not_among(allowed: &[Value], value: &Value, kind: PropertyType) -> Option<String> {
    let fits = match value {
        Value::Array(items) => items.iter().all(|item| contains(allowed, item)),
        _ => {
            let comparable = |value: &Value| comparable_as(kind, value);
            allowed
                .iter()
                .map(comparable)
                .collect::<Result<Vec<_>, _>>()
                .and_then(|allowed| Ok(contains(&allowed, &comparable(value)?)))
                .unwrap_or(false)
        }
    };
    (!fits).then(|| {
        let allowed: Vec<String> = allowed.iter().map(dumps).collect();
        format!("{} is not an allowed value [{}]", dumps(value), allowed.join(", "))
    })
}

fn comparable_as(kind: PropertyType, value: &Value) -> Result<Value, String> {
    match kind {
        PropertyType::String => Ok(Value::from(to_text(value))),
        PropertyType::Boolean => bool_from_text(&to_text(value)).map(Value::from),
        _ => Ok(value.clone()),
    }
}

/// Asks services whether they know a value.
#[async_trait]
pub trait CustomConstraints: Send + Sync {
    /// Whether the value passes the check of that name; the error is what the user reads.
    async fn validate(&self, name: &str, value: &Value) -> Result<(), String>;
}

fn bounds_to_api(min: Option<Value>, max: Option<Value>) -> Value {
    let bounds = [("min", min), ("max", max)];
    let given = bounds
        .into_iter()
        .filter_map(|(name, bound)| bound.map(|bound| (name.to_owned(), bound)));
    Value::Object(given.collect())
}
