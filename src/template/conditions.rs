//! The conditions of a template, decided from parameters alone.

use std::cell::RefCell;
use std::collections::{HashMap, HashSet};

use indexmap::IndexMap;
use serde_json::{Map, Value};

use super::allowance::Allowance;
use super::document::Template;
use super::error::{Fault, ResolveError, TemplateError};
use super::expression::{Context, Expression, ParseScope};
use super::parameters::Parameters;
use super::place::Place;
use super::references::{Facade, References};
use super::world::World;
use crate::python::repr::to_text;
use crate::python::value::class_name;

/// Conditions by name, parsed but not decided.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Conditions {
    definitions: IndexMap<String, Expression>,
}

impl Conditions {
    pub(super) fn parse(
        template: &Template,
        parameters: &Parameters,
        world: &World,
        allowance: &Allowance,
    ) -> Result<Self, TemplateError> {
        if !template.version().has_conditions() {
            return Ok(Self::default());
        }
        let section = template.keywords().conditions;
        let none = Map::new();
        let raw = match template.body().get(section) {
            None => &none,
            Some(Value::Object(raw)) => raw,
            Some(other) => {
                return Err(TemplateError::StackValidationFailed {
                    error: "Conditions validation error".to_owned(),
                    path: Vec::new(),
                    message: format!(
                        "Condition definitions must be a map. Found a {} instead",
                        class_name(other)
                    ),
                });
            }
        };
        let undecided = Self::default();
        let references = ConditionScope::new(&undecided, parameters, template, world, None, allowance);
        let scope = ParseScope {
            version: template.version(),
            context: Context::Condition,
            references: &references,
        };
        let definitions = raw
            .iter()
            .map(|(name, snippet)| Ok((name.clone(), parse_condition(name, snippet, &scope)?)))
            .collect::<Result<_, TemplateError>>()?;
        Ok(Self { definitions })
    }

    pub fn names(&self) -> impl Iterator<Item = &str> {
        self.definitions.keys().map(String::as_str)
    }

    /// The names, each behind those of which its definition speaks, so that deciding one after the other goes no deeper than
    /// circles lead.
    pub(super) fn inner_first(&self) -> Vec<&str> {
        let mut ordered = Vec::new();
        let mut met = HashSet::new();
        let mut waiting: Vec<(&str, bool)> = self.names().map(|name| (name, false)).collect();
        waiting.reverse();
        while let Some((name, is_behind_them)) = waiting.pop() {
            if is_behind_them {
                ordered.push(name);
            } else if met.insert(name) {
                waiting.push((name, true));
                let mut texts: Vec<String> = Vec::new();
                collect_texts(&self.definitions[name].render(), &mut texts);
                let inner = texts.iter().filter_map(|text| self.definitions.get_key_value(text));
                waiting.extend(inner.map(|(name, _)| (name.as_str(), false)));
            }
        }
        ordered
    }

    pub fn validate(&self, references: &dyn References) -> Result<(), TemplateError> {
        self.names().try_for_each(|name| self.validate_one(name, references))
    }

    pub(super) fn validate_one(&self, name: &str, references: &dyn References) -> Result<(), TemplateError> {
        let Some(definition) = self.definitions.get(name) else {
            return Ok(());
        };
        let may_be_a_condition = definition.is_call() || matches!(definition, Expression::Scalar(Value::Bool(_)));
        if !may_be_a_condition {
            return Err(invalid_definition(name, &definition.render()));
        }
        definition.validate(references, &Place::Start(&[]))
    }
}

/// All texts in a value.
pub(super) fn collect_texts(value: &Value, found: &mut impl Extend<String>) {
    match value {
        Value::String(text) => found.extend([text.clone()]),
        Value::Array(items) => items.iter().for_each(|item| collect_texts(item, found)),
        Value::Object(entries) => entries.values().for_each(|item| collect_texts(item, found)),
        _ => {}
    }
}

pub(super) fn parse_condition(
    name: &str,
    snippet: &Value,
    scope: &ParseScope<'_>,
) -> Result<Expression, TemplateError> {
    let section = scope.version.keywords().conditions;
    Expression::parse(snippet, scope, &Place::Start(&[section, name]))
}

fn invalid_definition(name: &str, definition: &Value) -> TemplateError {
    condition_error(format!(
        "The definition of condition \"{name}\" is invalid: {}",
        to_text(definition)
    ))
}

fn condition_error(message: String) -> TemplateError {
    TemplateError::StackValidationFailed {
        error: "Condition validation error".to_owned(),
        path: Vec::new(),
        message,
    }
}

/// What is known while a template is read: parameters, and conditions as they are decided one after the other.
pub(super) struct ConditionScope<'a> {
    conditions: &'a Conditions,
    parameters: &'a Parameters,
    template: &'a Template,
    world: &'a World,
    facade: Option<&'a Facade>,
    allowance: Allowance,
    decided: RefCell<HashMap<String, Progress>>,
    /// The conditions that are being decided, the outermost first.
    asked: RefCell<Vec<String>>,
    culprit: RefCell<Option<String>>,
}

#[derive(Clone)]
enum Progress {
    Started,
    Decided(bool),
    Failed(Failure),
}

#[derive(Clone)]
struct Failure {
    error: ResolveError,
    /// The condition whose own definition is wrong.
    culprit: String,
}

/// Conditions that refer to each other this many times in a row are refused; Python gives up at a similar depth.
const LONGEST_CHAIN: usize = 100;

impl<'a> ConditionScope<'a> {
    pub fn new(
        conditions: &'a Conditions,
        parameters: &'a Parameters,
        template: &'a Template,
        world: &'a World,
        facade: Option<&'a Facade>,
        allowance: &Allowance,
    ) -> Self {
        Self {
            conditions,
            parameters,
            template,
            world,
            facade,
            allowance: allowance.clone(),
            decided: RefCell::default(),
            asked: RefCell::default(),
            culprit: RefCell::default(),
        }
    }

    /// The condition that is to blame for the last failure, if one is.
    pub fn take_culprit(&self) -> Option<String> {
        self.culprit.take()
    }

    fn decide(&self, name: &str, definition: &Expression) -> Result<bool, ResolveError> {
        let outermost = {
            let asked = self.asked.borrow();
            (asked.len() >= LONGEST_CHAIN).then(|| asked[0].clone())
        };
        if let Some(outermost) = outermost {
            let error = condition_error(format!("Condition \"{outermost}\" depends on too many others"));
            self.culprit.replace(Some(outermost));
            return Err(error.into());
        }
        self.asked.borrow_mut().push(name.to_owned());
        let resolved = definition.resolve(self);
        self.asked.borrow_mut().pop();
        match resolved? {
            Value::Bool(holds) => Ok(holds),
            other => Err(invalid_definition(name, &other).into()),
        }
    }

    fn fail(&self, failure: Failure) -> ResolveError {
        self.culprit.replace(Some(failure.culprit));
        failure.error
    }
}

impl References for ConditionScope<'_> {
    fn parameter(&self, name: &str) -> Result<Option<Value>, ResolveError> {
        self.parameters.get(name).map(|parameter| parameter.value()).transpose()
    }

    fn condition(&self, name: &Value) -> Result<bool, ResolveError> {
        let name = match name {
            Value::Null => return Ok(true),
            Value::Bool(holds) => return Ok(*holds),
            other => other,
        };
        let definition = name
            .as_str()
            .and_then(|name| self.conditions.definitions.get_key_value(name));
        let Some((name, definition)) = definition else {
            return Err(Fault::ValueError(format!("Invalid condition \"{}\"", to_text(name))).into());
        };
        let progress = self.decided.borrow().get(name).cloned();
        match progress {
            Some(Progress::Decided(holds)) => return Ok(holds),
            Some(Progress::Failed(failure)) => return Err(self.fail(failure)),
            Some(Progress::Started) => {
                return Err(condition_error(format!("Circular definition for condition \"{name}\"")).into());
            }
            None => {}
        }
        self.decided.borrow_mut().insert(name.clone(), Progress::Started);
        let decided = self.decide(name, definition).map_err(|error| Failure {
            // Where in its definition is no place in that of others.
            error: error.fault.into(),
            culprit: self.take_culprit().unwrap_or_else(|| name.clone()),
        });
        let progress = match &decided {
            Ok(holds) => Progress::Decided(*holds),
            Err(failure) => Progress::Failed(failure.clone()),
        };
        self.decided.borrow_mut().insert(name.clone(), progress);
        decided.map_err(|failure| self.fail(failure))
    }

    fn allowance(&self) -> &Allowance {
        &self.allowance
    }

    fn world(&self) -> Option<&World> {
        Some(self.world)
    }

    fn file(&self, name: &str) -> Option<Value> {
        self.template.files().get(name).cloned()
    }

    fn mappings(&self) -> Option<&Value> {
        self.template.mappings()
    }

    fn facade(&self) -> Option<&Facade> {
        self.facade
    }

    fn has_resource(&self, name: &str) -> bool {
        self.template
            .resource_section()
            .is_some_and(|resources| resources.contains_key(name))
    }
}
