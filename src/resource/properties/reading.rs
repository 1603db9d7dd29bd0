//! One reading of properties: given values become values of their types, level by level, translation rules and all.
//!
//! A reading waits for nobody. What only a service can say is noted on the way (custom constraints, names without an
//! answer) for the caller to ask.

use std::borrow::Cow;

use serde_json::{Map, Value};

use super::convert::converted;
use super::{Depth, Given, Names, Properties, Question};
use crate::python::json::dumps;
use crate::python::value::is_true;
use crate::resource::constraints::Rule;
use crate::resource::schema::{Inside, Property, PropertyType};
use crate::resource::translation::{Finder, Source, Translate, TranslationRule};

/// Why a value cannot be read, and where.
#[derive(Debug)]
pub(super) struct Refusal {
    pub path: Vec<String>,
    pub message: String,
}

/// A custom constraint whose service has to be asked.
#[derive(Debug)]
pub(super) struct ServiceCheck<'a> {
    pub path: Vec<String>,
    pub constraint: &'a str,
    pub value: Value,
    pub description: Option<&'a str>,
}

/// What counts at this point of a reading.
#[derive(Clone, Copy)]
struct Mode {
    /// Constraints, required keys and unknown keys are checked.
    validate: bool,
    /// Translation rules are in force.
    translate: bool,
}

/// A value at its level of the properties: what the template says of it and of the keys beside it.
struct Position<'a> {
    given: Option<Cow<'a, Value>>,
    siblings: Siblings<'a>,
}

#[derive(Clone, Copy)]
enum Siblings<'a> {
    Top,
    Map(&'a Map<String, Value>),
    Items,
}

/// Where rules may take values from.
#[derive(Clone, Copy)]
struct Origin<'a> {
    siblings: Siblings<'a>,
    /// Whether a value from elsewhere is validated on the way.
    validate: bool,
}

pub(super) struct Reading<'a> {
    properties: &'a Properties,
    path: Vec<String>,
    checks: Vec<ServiceCheck<'a>>,
    open: Vec<(Question, Value)>,
}

impl<'a> Reading<'a> {
    pub fn of(properties: &'a Properties) -> Self {
        Self {
            properties,
            path: Vec::new(),
            checks: Vec::new(),
            open: Vec::new(),
        }
    }

    pub fn value_of(&mut self, property: &'a Property<'a>) -> Result<Value, Refusal> {
        let mode = Mode {
            validate: false,
            translate: true,
        };
        self.top(property, mode)
    }

    /// The names that the values hold and that no service was asked about yet.
    pub fn open_questions(mut self) -> Vec<(Question, Value)> {
        for property in self.properties.schema.iter() {
            // What cannot be read has nothing to ask; whoever reads it in earnest meets the same refusal.
            let _ = self.value_of(property);
        }
        self.open
    }

    /// Whether everything fits, as far as that can be said without asking: the checks are still to be made, and come
    /// before the outcome.
    pub fn validate(mut self, depth: Depth) -> (Vec<ServiceCheck<'a>>, Result<(), Refusal>) {
        let outcome = self.validate_top(depth);
        (self.checks, outcome)
    }

    fn validate_top(&mut self, depth: Depth) -> Result<(), Refusal> {
        let properties = self.properties;
        for name in properties.given.keys() {
            if properties.property(name).is_none() {
                return Err(self.refuse(format!("Unknown Property {name}")));
            }
        }
        let mode = Mode {
            validate: true,
            translate: true,
        };
        for property in properties.schema.iter() {
            if self.is_dropped_at(property.name) {
                continue;
            }
            if depth == Depth::Values {
                self.top(property, mode)?;
            }
            if !property.implemented && properties.is_given(property.name) {
                return Err(self.refuse(format!("Property {} not implemented yet", property.name)));
            }
        }
        Ok(())
    }

    fn refuse(&self, message: String) -> Refusal {
        Refusal {
            path: self.path.clone(),
            message,
        }
    }

    fn at<T>(&mut self, name: &str, read: impl FnOnce(&mut Self) -> Result<T, Refusal>) -> Result<T, Refusal> {
        self.path.push(name.to_owned());
        let outcome = read(self);
        self.path.pop();
        outcome
    }

    fn top(&mut self, property: &'a Property<'a>, mut mode: Mode) -> Result<Value, Refusal> {
        let given = match self.properties.given.get(property.name) {
            Some(Given::Value(value)) => Some(Cow::Borrowed(value)),
            Some(Given::Unsettled(value)) => {
                mode.validate = false;
                Some(Cow::Borrowed(value))
            }
            Some(Given::Failed(message)) if !self.is_dropped_at(property.name) => {
                return self.at(property.name, |reading| Err(reading.refuse(message.clone())));
            }
            Some(Given::Absent | Given::Failed(_)) | None => None,
        };
        let position = Position {
            given,
            siblings: Siblings::Top,
        };
        self.property(property, property.name, position, mode)
    }

    /// The value of a property: what is given; else what rules make of nothing; else its default; else null.
    fn property(
        &mut self,
        property: &'a Property<'a>,
        name: &str,
        position: Position,
        mode: Mode,
    ) -> Result<Value, Refusal> {
        let is_assigned = position.given.is_some();
        self.path.push(name.to_owned());
        let outcome = self.property_here(property, position, mode);
        self.path.pop();
        match outcome {
            Err(mut refusal) if property.required && !is_assigned => {
                // The complaint is about the place where the property is missing.
                refusal.path.pop();
                Err(refusal)
            }
            outcome => outcome,
        }
    }

    fn property_here(&mut self, property: &'a Property<'a>, position: Position, mode: Mode) -> Result<Value, Refusal> {
        let has_rules = mode.translate && self.rules_here().next().is_some();
        let is_dropped = mode.translate && self.is_dropped_here();
        let siblings = position.siblings;
        let origin = |validate| Origin { siblings, validate };
        if let Some(given) = position.given.filter(|_| !is_dropped) {
            let mut value = given.into_owned();
            if has_rules {
                value = self.translated(value, origin(false))?;
            }
            return self.typed(property, value, mode);
        }
        if has_rules {
            let value = self.translated(Value::Null, origin(mode.validate))?;
            if !value.is_null() || property.default.is_some() {
                let plainly = Mode {
                    validate: false,
                    translate: false,
                };
                return self.typed(property, value, plainly);
            }
        }
        if property.default.is_some() {
            self.typed(property, Value::Null, mode)
        } else if property.required {
            Err(self.refuse(format!("Property {} not assigned", self.last_step())))
        } else if self.path.len() == 1 && property.name == "description" && property.update_allowed {
            Ok(self.properties.description.clone().into())
        } else {
            Ok(Value::Null)
        }
    }

    fn last_step(&self) -> &str {
        self.path.last().map_or("", String::as_str)
    }

    fn typed(&mut self, property: &'a Property<'a>, value: Value, mode: Mode) -> Result<Value, Refusal> {
        let value = if value.is_null() { nothing(property) } else { value };
        let converted = converted(property.kind, value, property.allow_conversion);
        let value = converted.map_err(|message| self.refuse(message))?;
        let value = self.inside(property, value, mode)?;
        if mode.validate {
            self.check(property, &value)?;
        }
        Ok(value)
    }

    fn inside(&mut self, property: &'a Property<'a>, value: Value, mode: Mode) -> Result<Value, Refusal> {
        match (property.inside, value) {
            (Inside::Items(item), Value::Array(items)) => items
                .iter()
                .enumerate()
                .map(|(index, given)| {
                    let position = Position {
                        given: Some(Cow::Borrowed(given)),
                        siblings: Siblings::Items,
                    };
                    let value = self.property(item, &index.to_string(), position, mode)?;
                    if mode.validate && !item.implemented {
                        return Err(self.refuse(format!("Property {index} not implemented yet")));
                    }
                    Ok(value)
                })
                .collect::<Result<Vec<_>, _>>()
                .map(Value::Array),
            (Inside::Keys(keys), Value::Object(entries)) => self.keys(keys, &entries, mode).map(Value::Object),
            (_, value) => Ok(value),
        }
    }

    /// All keys of the schema, in its order, also those without a value.
    fn keys(
        &mut self,
        keys: &'a [Property<'a>],
        entries: &Map<String, Value>,
        mode: Mode,
    ) -> Result<Map<String, Value>, Refusal> {
        if mode.validate {
            let is_known = |name: &String| keys.iter().any(|key| key.name == name);
            if let Some(unknown) = entries.keys().find(|name| !is_known(name)) {
                return Err(self.refuse(format!("Unknown Property {unknown}")));
            }
        }
        let mut values = Map::new();
        for key in keys {
            let position = Position {
                given: entries.get(key.name).map(Cow::Borrowed),
                siblings: Siblings::Map(entries),
            };
            let dropped = mode.translate && self.is_dropped_at(key.name);
            let key_mode = Mode {
                validate: mode.validate && !dropped,
                ..mode
            };
            values.insert(key.name.to_owned(), self.property(key, key.name, position, key_mode)?);
            if key_mode.validate && !key.implemented && entries.contains_key(key.name) {
                return Err(self.refuse(format!("Property {} not implemented yet", key.name)));
            }
        }
        Ok(values)
    }

    fn check(&mut self, property: &'a Property<'a>, value: &Value) -> Result<(), Refusal> {
        for constraint in property.constraints {
            if let Rule::Custom(name) = constraint.rule {
                self.checks.push(ServiceCheck {
                    path: self.path.clone(),
                    constraint: name,
                    value: value.clone(),
                    description: constraint.description,
                });
                continue;
            }
            constraint
                .check(value, property.kind)
                .map_err(|message| self.refuse(message))?;
        }
        Ok(())
    }
}

/// What null stands for: the default, or the emptiest value of the type.
fn nothing(property: &Property) -> Value {
    let default = property.default.map_or(Value::Null, |default| default.to_value());
    match property.kind {
        PropertyType::Any => Value::Null,
        _ if is_true(&default) => default,
        PropertyType::String => Value::from(""),
        PropertyType::Integer | PropertyType::Number => Value::from(0),
        PropertyType::Boolean => Value::Bool(false),
        PropertyType::Map => Value::Object(Map::new()),
        PropertyType::List => Value::Array(Vec::new()),
    }
}

/// The rules of translation, at the place where the reading stands.
impl<'a> Reading<'a> {
    fn rules_here(&self) -> impl Iterator<Item = &'a TranslationRule> {
        let rules = self.properties.rules.iter();
        rules.filter(|rule| without_positions(&self.path).eq(rule.path.iter().copied()))
    }

    /// Whether the property has no value of its own: it is deleted, or another takes its value.
    fn is_dropped_here(&self) -> bool {
        self.properties.rules.iter().any(|rule| {
            let dropped = match rule.translate {
                Translate::Delete => Some(rule.path.to_vec()),
                Translate::Replace(source) => Some(source.path_from_the_top(rule.path)),
                Translate::Add(_) | Translate::Resolve(_) => None,
            };
            dropped.is_some_and(|dropped| without_positions(&self.path).eq(dropped))
        })
    }

    fn is_dropped_at(&mut self, name: &str) -> bool {
        self.path.push(name.to_owned());
        let dropped = self.is_dropped_here();
        self.path.pop();
        dropped
    }

    fn translated(&mut self, value: Value, origin: Origin) -> Result<Value, Refusal> {
        let mut rules: Vec<&TranslationRule> = self.rules_here().collect();
        rules.sort_by_key(|rule| rule.turn());
        rules.into_iter().try_fold(value, |value, rule| match rule.translate {
            Translate::Add(source) => self.added(value, source, origin),
            Translate::Replace(source) => self.replaced(value, rule, source, origin),
            Translate::Resolve(finder) => self.found(value, finder),
            Translate::Delete => Ok(Value::Null),
        })
    }

    fn added(&mut self, value: Value, source: Source, origin: Origin) -> Result<Value, Refusal> {
        let mut items = match value {
            Value::Null => Vec::new(),
            Value::Array(items) => items,
            _ => {
                return Err(self.refuse(format!(
                    "Incorrect translation rule using - cannot resolve Add rule for non-list translation value \
                     \"{}\".",
                    self.path.join(".")
                )));
            }
        };
        match self.source_value(source, origin)? {
            Value::Null => {}
            Value::Array(more) => items.extend(more),
            one => items.push(one),
        }
        Ok(Value::Array(items))
    }

    fn replaced(
        &mut self,
        value: Value,
        rule: &TranslationRule,
        source: Source,
        origin: Origin,
    ) -> Result<Value, Refusal> {
        let other = self.source_value(source, origin)?;
        if source.is_a_property() && is_true(&other) && is_true(&value) {
            return Err(self.refuse(format!(
                "Cannot define the following properties at the same time: {}, {}",
                rule.path.join("."),
                source.path_from_the_top(rule.path).join(".")
            )));
        }
        Ok(if other.is_null() { value } else { other })
    }

    fn source_value(&mut self, source: Source, origin: Origin) -> Result<Value, Refusal> {
        match source {
            Source::Value(value) => Ok(value.to_value()),
            Source::Computed(compute) => Ok(compute(self.properties).unwrap_or(Value::Null)),
            Source::Path(path) => self.untranslated(path, origin.validate),
            Source::Sibling(name) => Ok(self.sibling(origin.siblings, name)),
            Source::Inside(name, further) => Ok(dig(&self.sibling(origin.siblings, name), further)),
        }
    }

    fn sibling(&self, siblings: Siblings, name: &str) -> Value {
        match siblings {
            Siblings::Map(entries) => entries.get(name).cloned().unwrap_or_default(),
            Siblings::Top => self.properties.as_given(name),
            Siblings::Items => Value::Null,
        }
    }

    /// The value at a path from the top as the user gave it, with types and defaults but without translation. What is
    /// wrong with it is reported as below the property that takes its value.
    fn untranslated(&mut self, path: &[&str], validate: bool) -> Result<Value, Refusal> {
        let Some((first, further)) = path.split_first() else {
            return Ok(Value::Null);
        };
        let Some(property) = self.properties.property(first) else {
            return Ok(Value::Null);
        };
        let here = std::mem::take(&mut self.path);
        let earlier_checks = self.checks.len();
        let mode = Mode {
            validate,
            translate: false,
        };
        let value = self.top(property, mode);
        self.path = here;
        for check in &mut self.checks[earlier_checks..] {
            check.path.splice(..1, self.path.iter().cloned());
        }
        value.map(|value| dig(&value, further)).map_err(|mut refusal| {
            let known = refusal.path.len().min(1);
            refusal.path.splice(..known, self.path.iter().cloned());
            refusal
        })
    }

    /// What a service calls the thing that the value names; each item of a list by itself, nothing for nothing.
    fn found(&mut self, value: Value, finder: Finder) -> Result<Value, Refusal> {
        if !is_true(&value) {
            return Ok(Value::Null);
        }
        if let Value::Array(items) = value {
            let found: Result<Vec<_>, _> = items.into_iter().map(|item| self.found(item, finder)).collect();
            return found.map(Value::Array);
        }
        let question = (finder, dumps(&value));
        match self.properties.answers.get(&question) {
            Some(Ok(found)) => Ok(found.clone()),
            Some(Err(_)) if self.properties.names == Names::FoundOrAsGiven => Ok(value),
            Some(Err(message)) => Err(self.refuse(message.clone())),
            None => {
                self.open.push((question, value.clone()));
                Ok(value)
            }
        }
    }
}

fn without_positions(path: &[String]) -> impl Iterator<Item = &str> {
    path.iter()
        .map(String::as_str)
        .filter(|step| step.is_empty() || !step.bytes().all(|byte| byte.is_ascii_digit()))
}

/// Further into a value; a list gives what each of its items gives.
fn dig(value: &Value, path: &[&str]) -> Value {
    let Some((first, further)) = path.split_first() else {
        return value.clone();
    };
    match value {
        Value::Object(entries) => entries.get(*first).map_or(Value::Null, |value| dig(value, further)),
        Value::Array(items) => items.iter().map(|item| dig(item, path)).collect(),
        _ => Value::Null,
    }
}
