//! The conditions of a template, decided from parameters alone.

use std::cell::{Cell, RefCell};
use std::collections::HashMap;

use indexmap::IndexMap;
use serde_json::{Map, Value};

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
    pub(super) fn parse(template: &Template, parameters: &Parameters, world: &World) -> Result<Self, TemplateError> {
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
        let references = ConditionScope::new(&undecided, parameters, template, world, None);
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
    decided: RefCell<HashMap<String, Progress>>,
    depth: Cell<usize>,
}

#[derive(Clone, Copy)]
enum Progress {
    Started,
    Decided(bool),
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
    ) -> Self {
        Self {
            conditions,
            parameters,
            template,
            world,
            facade,
            decided: RefCell::default(),
            depth: Cell::new(0),
        }
    }

    fn decide(&self, name: &str, definition: &Expression) -> Result<bool, ResolveError> {
        if self.depth.get() >= LONGEST_CHAIN {
            return Err(condition_error(format!("Condition \"{name}\" depends on too many others")).into());
        }
        self.depth.set(self.depth.get() + 1);
        let resolved = definition.resolve(self);
        self.depth.set(self.depth.get() - 1);
        match resolved? {
            Value::Bool(holds) => Ok(holds),
            other => Err(invalid_definition(name, &other).into()),
        }
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
        let progress = self.decided.borrow().get(name).copied();
        match progress {
            Some(Progress::Decided(holds)) => return Ok(holds),
            Some(Progress::Started) => {
                return Err(condition_error(format!("Circular definition for condition \"{name}\"")).into());
            }
            None => {}
        }
        self.decided.borrow_mut().insert(name.clone(), Progress::Started);
        let holds = self.decide(name, definition)?;
        self.decided.borrow_mut().insert(name.clone(), Progress::Decided(holds));
        Ok(holds)
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
