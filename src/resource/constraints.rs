//! What a value must fulfil beyond its type.

use async_trait::async_trait;
use serde_json::{Map, Value, json};

use super::literal::Literal;
use super::schema::PropertyType;
use crate::python::regex::Patience;
use crate::template::TemplateError;
use crate::template::parameters::{self, ConstraintKind, ParameterType};

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
        let constraint = self.of_a_parameter().map_err(|error| error.to_string())?;
        let kind = parameter_type(kind);
        constraint
            .check(value, kind, kind.name(true))
            .map_err(|fault| fault.to_string())
    }

    /// The same constraint on a parameter: what it means, and how it complains, is one thing for both.
    fn of_a_parameter(&self) -> Result<parameters::Constraint, TemplateError> {
        let kind = match self.rule {
            Rule::Length { min, max } => ConstraintKind::length(min.map(Value::from), max.map(Value::from))?,
            Rule::Range { min, max } => {
                ConstraintKind::range(min.map(|min| min.to_value()), max.map(|max| max.to_value()))?
            }
            Rule::Modulo { step, offset } => ConstraintKind::modulo(Some(step.into()), Some(offset.into()))?,
            Rule::AllowedTexts(allowed) => {
                ConstraintKind::AllowedValues(allowed.iter().map(|text| Value::from(*text)).collect())
            }
            Rule::AllowedValues(allowed) => {
                ConstraintKind::AllowedValues(allowed.iter().map(Literal::to_value).collect())
            }
            Rule::AllowedPattern(pattern) => ConstraintKind::allowed_pattern(&pattern.into(), &Patience::default())?,
            Rule::Custom(name) => ConstraintKind::Custom(name.to_owned()),
        };
        Ok(parameters::Constraint {
            kind,
            description: self.description.map(str::to_owned),
        })
    }
}

/// How values of that type are compared.
fn parameter_type(kind: PropertyType) -> ParameterType {
    match kind {
        PropertyType::String => ParameterType::Text,
        PropertyType::Integer | PropertyType::Number => ParameterType::Number,
        PropertyType::Boolean => ParameterType::Boolean,
        PropertyType::List => ParameterType::List,
        PropertyType::Map | PropertyType::Any => ParameterType::Json,
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
