//! The tree that a piece of a template becomes: values, with calls of intrinsic functions in them.

use std::cell::Cell;

use indexmap::{IndexMap, IndexSet};
use serde_json::{Map, Value};

use super::allowance::WORK_FOR_ONE;
use super::error::{Fault, ResolveError, TemplateError};
use super::functions::{self, Function};
use super::place::Place;
use super::references::References;
use super::version::TemplateVersion;
use crate::python::repr::{repr_tuple, to_text};

/// A piece of a template, parsed.
#[derive(Debug, Clone, PartialEq)]
pub enum Expression {
    /// Anything but a list or a map.
    Scalar(Value),
    List(Vec<Expression>),
    Map(IndexMap<String, Expression>),
    Call(Box<Call>),
    /// What an `if` without a third argument becomes: the item around it is as good as not written.
    Absent,
}

/// A call of a function. Of an `if` only the chosen branch is left.
#[derive(Debug, Clone, PartialEq)]
pub struct Call {
    pub(crate) function: Function,
    pub(crate) name: String,
    pub(crate) arguments: Expression,
}

impl Call {
    pub(crate) fn asks_for_attribute(&self) -> bool {
        matches!(self.function, Function::GetAttribute(_))
    }

    /// Whether its value is what it has found somewhere, as it stands there.
    fn only_looks_up(&self) -> bool {
        matches!(
            self.function,
            Function::GetParam
                | Function::ParamRef
                | Function::Ref
                | Function::GetResource
                | Function::GetAttribute(_)
                | Function::GetFile
                | Function::ResourceFacade { .. }
        )
    }

    pub(crate) fn has_constant_arguments(&self) -> bool {
        let mut is_constant = true;
        self.arguments.visit_calls(&mut |_| is_constant = false);
        is_constant
    }
}

/// An attribute, or a place inside one, that a `get_attr` asks for.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct AttributePath {
    pub name: String,
    pub path: Vec<Value>,
}

impl AttributePath {
    pub fn new(name: impl Into<String>, path: Vec<Value>) -> Self {
        Self {
            name: name.into(),
            path,
        }
    }

    /// Stands for all attributes of a resource.
    pub fn all() -> Self {
        Self::new("*", Vec::new())
    }

    pub fn is_all(&self) -> bool {
        self.name == "*" && self.path.is_empty()
    }

    /// As messages show it: the name, or name and path as a tuple.
    pub fn to_text(&self) -> String {
        if self.path.is_empty() {
            return self.name.clone();
        }
        let mut parts = vec![Value::from(self.name.as_str())];
        parts.extend(self.path.iter().cloned());
        repr_tuple(&parts)
    }
}

/// Which functions a piece of a template may use.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Context {
    Body,
    Condition,
}

/// What parsing needs to know: an `if` is decided, and a `Ref` is told apart, while the template is read.
#[derive(Clone, Copy)]
pub(crate) struct ParseScope<'a> {
    pub version: TemplateVersion,
    pub context: Context,
    pub references: &'a dyn References,
}

impl Expression {
    pub(crate) fn parse(snippet: &Value, scope: &ParseScope<'_>, place: &Place<'_>) -> Result<Self, TemplateError> {
        match snippet {
            Value::Object(entries) => {
                if let Some((name, arguments)) = entries.iter().next().filter(|_| entries.len() == 1)
                    && let Some(function) = functions::lookup(scope.version, scope.context, name)
                {
                    return Self::parse_call(function, name, arguments, scope, &place.entry(name));
                }
                let parsed = entries
                    .iter()
                    .map(|(key, value)| Ok((key.clone(), Self::parse(value, scope, &place.entry(key))?)))
                    .collect::<Result<_, TemplateError>>()?;
                Ok(Self::Map(parsed))
            }
            Value::Array(items) => {
                let parsed = items
                    .iter()
                    .enumerate()
                    .map(|(index, item)| Self::parse(item, scope, &place.item(index)))
                    .collect::<Result<_, TemplateError>>()?;
                Ok(Self::List(parsed))
            }
            scalar => Ok(Self::Scalar(scalar.clone())),
        }
    }

    fn parse_call(
        function: Function,
        name: &str,
        arguments: &Value,
        scope: &ParseScope<'_>,
        place: &Place<'_>,
    ) -> Result<Self, TemplateError> {
        let call = |function, arguments| {
            Self::Call(Box::new(Call {
                function,
                name: name.to_owned(),
                arguments,
            }))
        };
        if let Function::If { may_omit_else } = function {
            let chosen = functions::choose_branch(name, arguments, may_omit_else, scope)
                .map_err(|error| at_place(error, place))?;
            let branch = match chosen {
                Some(branch) => Self::parse(branch, scope, place)?,
                None => Self::Absent,
            };
            return Ok(call(function, branch));
        }
        let arguments = Self::parse(arguments, scope, place)?;
        let function = functions::specialise(function, &arguments, scope).map_err(|fault| at_place(fault, place))?;
        functions::check_arguments(function, name, &arguments).map_err(|fault| at_place(fault, place))?;
        Ok(call(function, arguments))
    }

    /// A value without any function in it.
    pub fn constant(value: &Value) -> Self {
        match value {
            Value::Array(items) => Self::List(items.iter().map(Self::constant).collect()),
            Value::Object(entries) => Self::Map(
                entries
                    .iter()
                    .map(|(key, value)| (key.clone(), Self::constant(value)))
                    .collect(),
            ),
            scalar => Self::Scalar(scalar.clone()),
        }
    }

    /// The value; null where the whole expression is absent.
    pub fn resolve(&self, references: &dyn References) -> Result<Value, ResolveError> {
        Resolver::new(references).resolve(self)
    }

    /// As [`resolve`](Self::resolve); `None` where the whole expression is absent.
    pub fn resolve_or_absent(&self, references: &dyn References) -> Result<Option<Value>, ResolveError> {
        Resolver::new(references).resolve_or_absent(self)
    }

    /// The template text that this expression came from (of an `if`, its chosen branch in the place of the arguments).
    pub fn render(&self) -> Value {
        match self {
            Self::Scalar(value) => value.clone(),
            Self::List(items) => Value::Array(items.iter().map(Self::render).collect()),
            Self::Map(entries) => {
                let rendered = entries
                    .iter()
                    .filter(|(_, value)| !value.is_absent())
                    .map(|(key, value)| (key.clone(), value.render()));
                Value::Object(rendered.collect())
            }
            Self::Call(call) if matches!(call.function, Function::If { .. }) => call.arguments.render(),
            Self::Call(call) => Value::Object(Map::from_iter([(call.name.clone(), call.arguments.render())])),
            Self::Absent => Value::Null,
        }
    }

    /// Shows every call in it, those in the arguments of calls too.
    pub(crate) fn visit_calls(&self, visit: &mut dyn FnMut(&Call)) {
        match self {
            Self::Scalar(_) | Self::Absent => {}
            Self::List(items) => items.iter().for_each(|item| item.visit_calls(visit)),
            Self::Map(entries) => entries.values().for_each(|value| value.visit_calls(visit)),
            Self::Call(call) => {
                visit(call);
                call.arguments.visit_calls(visit);
            }
        }
    }

    /// Shows the calls that compute a value, each with its place; those in the arguments of calls are parts of a value.
    pub(crate) fn visit_computed<'e>(&'e self, place: &mut Vec<String>, visit: &mut dyn FnMut(&[String], &'e Self)) {
        let mut below = |step: String, value: &'e Self| {
            place.push(step);
            value.visit_computed(place, visit);
            place.pop();
        };
        match self {
            Self::Scalar(_) | Self::Absent => {}
            Self::List(items) => {
                let steps = items.iter().enumerate();
                steps.for_each(|(index, item)| below(index.to_string(), item));
            }
            Self::Map(entries) => entries.iter().for_each(|(key, value)| below(key.clone(), value)),
            Self::Call(call) if matches!(call.function, Function::If { .. }) => {
                call.arguments.visit_computed(place, visit);
            }
            Self::Call(call) if call.only_looks_up() => {}
            Self::Call(_) => visit(place, self),
        }
    }

    pub(super) fn is_absent(&self) -> bool {
        match self {
            Self::Absent => true,
            Self::Call(call) => matches!(call.function, Function::If { .. }) && call.arguments.is_absent(),
            _ => false,
        }
    }

    /// Checks the arguments of all functions in it, as far as that goes without computing them.
    pub fn validate(&self, references: &dyn References, place: &Place<'_>) -> Result<(), TemplateError> {
        match self {
            Self::Scalar(_) | Self::Absent => Ok(()),
            Self::List(items) => items
                .iter()
                .enumerate()
                .try_for_each(|(index, item)| item.validate(references, &place.item(index))),
            Self::Map(entries) => entries
                .iter()
                .try_for_each(|(key, value)| value.validate(references, &place.entry(key))),
            Self::Call(call) => {
                functions::validate(call, references).map_err(|fault| TemplateError::StackValidationFailed {
                    error: String::new(),
                    path: place.entry(&call.name).steps(),
                    message: fault.to_string(),
                })
            }
        }
    }

    /// The names of the resources that it refers to, in the order in which they are met and as often.
    pub fn dependencies(&self, references: &dyn References, place: &Place<'_>) -> Result<Vec<String>, ResolveError> {
        let mut names = Vec::new();
        self.collect_dependencies(&Resolver::new(references), place, &mut names)?;
        Ok(names)
    }

    fn collect_dependencies(
        &self,
        resolver: &Resolver<'_>,
        place: &Place<'_>,
        names: &mut Vec<String>,
    ) -> Result<(), ResolveError> {
        match self {
            Self::Scalar(_) | Self::Absent => Ok(()),
            Self::List(items) => items
                .iter()
                .enumerate()
                .try_for_each(|(index, item)| item.collect_dependencies(resolver, &place.item(index), names)),
            Self::Map(entries) => entries
                .iter()
                .try_for_each(|(key, value)| value.collect_dependencies(resolver, &place.entry(key), names)),
            Self::Call(call) => {
                call.arguments
                    .collect_dependencies(resolver, &place.entry(&call.name), names)?;
                if let Some(name) = functions::referenced_resource(call, resolver, place)? {
                    names.push(name);
                }
                Ok(())
            }
        }
    }

    /// The attributes of resources that it asks for. What cannot be told yet is left out: it will be asked for live.
    pub fn attributes(&self, references: &dyn References) -> Vec<(String, AttributePath)> {
        let mut attributes = IndexSet::new();
        self.collect_attributes(&Resolver::new(references), &mut attributes);
        attributes.into_iter().collect()
    }

    fn collect_attributes(&self, resolver: &Resolver<'_>, attributes: &mut IndexSet<(String, AttributePath)>) {
        match self {
            Self::Scalar(_) | Self::Absent => {}
            Self::List(items) => items
                .iter()
                .for_each(|item| item.collect_attributes(resolver, attributes)),
            Self::Map(entries) => entries
                .values()
                .for_each(|value| value.collect_attributes(resolver, attributes)),
            Self::Call(call) => {
                call.arguments.collect_attributes(resolver, attributes);
                attributes.extend(functions::referenced_attribute(call, resolver));
            }
        }
    }

    pub(crate) fn as_list(&self) -> Option<&[Expression]> {
        match self {
            Self::List(items) => Some(items),
            _ => None,
        }
    }

    pub(crate) fn as_map(&self) -> Option<&IndexMap<String, Expression>> {
        match self {
            Self::Map(entries) => Some(entries),
            _ => None,
        }
    }

    pub(crate) fn as_text(&self) -> Option<&str> {
        match self {
            Self::Scalar(Value::String(text)) => Some(text),
            _ => None,
        }
    }

    pub(crate) fn is_call(&self) -> bool {
        matches!(self, Self::Call(_))
    }

    pub(crate) fn is_null(&self) -> bool {
        matches!(self, Self::Scalar(Value::Null))
    }

    /// Python's `not arguments`, before anything is resolved.
    pub(crate) fn is_empty(&self) -> bool {
        match self {
            Self::Scalar(value) => !crate::python::value::is_true(value),
            Self::List(items) => items.is_empty(),
            Self::Map(entries) => entries.is_empty(),
            Self::Call(_) | Self::Absent => false,
        }
    }

    /// Python's `str()` of it, for messages.
    pub(crate) fn to_text(&self) -> String {
        to_text(&self.render())
    }
}

/// Python's own exceptions become validation failures that name the place; Heat's travel on as they are.
fn at_place(error: impl Into<ResolveError>, place: &Place<'_>) -> TemplateError {
    match error.into().fault {
        Fault::Template(error) => error,
        fault @ (Fault::AttributeError(_) | Fault::Attribute(_)) => TemplateError::Python {
            class: fault.class_name(),
            message: fault.to_string(),
        },
        fault => TemplateError::StackValidationFailed {
            error: String::new(),
            path: vec![place.to_string()],
            message: fault.to_string(),
        },
    }
}

/// One resolution: the references and what is left of its budget.
pub(crate) struct Resolver<'a> {
    pub references: &'a dyn References,
    budget: Cell<usize>,
}

impl<'a> Resolver<'a> {
    pub fn new(references: &'a dyn References) -> Self {
        Self {
            references,
            budget: Cell::new(WORK_FOR_ONE),
        }
    }

    /// Pays for work before it is done.
    pub fn spend(&self, work: usize) -> Result<(), Fault> {
        let left = self.budget.get().checked_sub(work).ok_or_else(|| {
            Fault::limit(format!(
                "the value of a template function is too large (more than {WORK_FOR_ONE} bytes)"
            ))
        })?;
        self.budget.set(left);
        self.references.allowance().spend(work)
    }

    pub fn resolve(&self, expression: &Expression) -> Result<Value, ResolveError> {
        Ok(self.resolve_or_absent(expression)?.unwrap_or(Value::Null))
    }

    /// `None` where nothing is to be there at all.
    pub fn resolve_or_absent(&self, expression: &Expression) -> Result<Option<Value>, ResolveError> {
        match expression {
            Expression::Absent => Ok(None),
            Expression::Scalar(value) => Ok(Some(value.clone())),
            Expression::List(items) => self.resolve_list(items).map(|items| Some(Value::Array(items))),
            Expression::Map(entries) => {
                let mut resolved = Map::with_capacity(entries.len());
                for (key, value) in entries {
                    if let Some(value) = self
                        .resolve_or_absent(value)
                        .map_err(|error| error.below(key.as_str()))?
                    {
                        resolved.insert(key.clone(), value);
                    }
                }
                Ok(Some(Value::Object(resolved)))
            }
            Expression::Call(call) => functions::resolve(call, self).map_err(|error| error.below(call.name.as_str())),
        }
    }

    pub fn resolve_list(&self, items: &[Expression]) -> Result<Vec<Value>, ResolveError> {
        let mut resolved = Vec::with_capacity(items.len());
        for (index, item) in items.iter().enumerate() {
            if let Some(value) = self
                .resolve_or_absent(item)
                .map_err(|error| error.below(index.to_string()))?
            {
                resolved.push(value);
            }
        }
        Ok(resolved)
    }
}
