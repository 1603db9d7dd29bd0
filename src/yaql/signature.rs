//! How a function of the library is declared: its name, how it may be called, the types of its parameters.
//!
//! The types decide which of several functions of one name is meant, and some of them what is evaluated at all. So they
//! are the oracle's, one by one, down to the classes that Python's `isinstance` asks for.

use super::call::{Argument, Call};
use super::error::Error;
use super::expression::Expression;
use super::value::Value;
use crate::python::number::PyNumber;

pub type Outcome = Result<Value, Error>;

pub struct Function {
    pub name: &'static str,
    pub form: Form,
    pub parameters: &'static [Parameter],
    /// For further positional arguments.
    pub rest: Option<Parameter>,
    /// For further keyword arguments.
    pub keywords: Option<Parameter>,
    /// Takes `a => b` as an argument like any other, not as a keyword argument.
    pub takes_rules: bool,
    pub body: fn(&Call<'_>) -> Outcome,
}

/// How a function may be called.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Form {
    Function,
    Method,
    Both,
}

#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Parameter {
    pub name: &'static str,
    pub kind: Kind,
    pub nullable: bool,
    pub default: Default,
}

#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Default {
    /// There is none.
    Required,
    Null,
    NoValue,
    Bool(bool),
    Int(i64),
    Text(&'static str),
    NoTime,
}

/// The type of a parameter.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Kind {
    Any,
    None,
    Bool,
    /// Python's `int`, of which `bool` is a subclass.
    Int,
    Mapping,
    Set,
    Iterator,
    Ordered,
    Regex,
    Context,
    TimeSpan,
    DateTime,
    /// A rule that was evaluated.
    Rule,
    Text,
    /// An integer that is no boolean.
    Integer,
    Number,
    /// Neither text nor dict; an iterator is limited when it is passed on.
    Iterable,
    IterableButSet,
    Sequence,
    /// A class instance that was opened to expressions. There is none here.
    Opened,
    /// A bare word in the expression itself.
    Word,
    /// The same, passed on as an expression.
    WordExpression,
    /// A text in the expression itself.
    TextConstant,
    /// What follows is not evaluated before it is passed on.
    Lambda,
    /// A lambda that is told in which context to run.
    LambdaInContext,
    /// A lambda that is called on a receiver.
    MethodLambda,
    Expression,
    CallExpression,
    LazyRule,
}

impl Kind {
    pub fn is_lazy(self) -> bool {
        matches!(
            self,
            Self::Lambda
                | Self::LambdaInContext
                | Self::MethodLambda
                | Self::Expression
                | Self::CallExpression
                | Self::LazyRule
        )
    }

    /// Whether every value of this type is one of the other, which then is the less special one.
    fn is_special_case_of(self, other: Kind) -> bool {
        let is_iterable = |kind| {
            matches!(
                kind,
                Self::Text
                    | Self::Mapping
                    | Self::Set
                    | Self::Iterator
                    | Self::Ordered
                    | Self::Iterable
                    | Self::IterableButSet
                    | Self::Sequence
            )
        };
        let abstract_iterable = |kind| matches!(kind, Self::Iterable | Self::IterableButSet);
        let is_class = |kind: Self| !kind.is_lazy() && !kind.looks_at_expression() && kind != Self::Opened;
        let is_int = |kind| matches!(kind, Self::Int | Self::Integer);
        match other {
            _ if !is_class(self) || !is_class(other) => false,
            Self::Any => self != Self::Any,
            Self::Iterable | Self::IterableButSet => is_iterable(self) && !abstract_iterable(self),
            Self::Sequence => self == Self::Text,
            Self::Number => is_int(self) || self == Self::Bool,
            _ if is_int(other) => self == Self::Bool,
            _ => false,
        }
    }

    fn looks_at_expression(self) -> bool {
        matches!(self, Self::Word | Self::WordExpression | Self::TextConstant)
    }
}

impl Parameter {
    const fn new(name: &'static str, kind: Kind, nullable: bool) -> Self {
        Self {
            name,
            kind,
            nullable,
            default: Default::Required,
        }
    }

    pub const fn or(mut self, default: Default) -> Self {
        self.default = default;
        if matches!(default, Default::Null) {
            self.nullable = true;
        }
        self
    }

    pub const fn nullable(mut self) -> Self {
        self.nullable = true;
        self
    }

    pub const fn not_null(mut self) -> Self {
        self.nullable = false;
        self
    }

    pub fn is_special_case_of(&self, other: &Parameter) -> bool {
        self.kind.is_special_case_of(other.kind)
    }

    pub fn default_value(&self) -> Value {
        match self.default {
            Default::Required | Default::NoValue => Value::NoValue,
            Default::Null => Value::Null,
            Default::Bool(flag) => Value::Bool(flag),
            Default::Int(integer) => Value::int(integer),
            Default::Text(text) => Value::from(text),
            Default::NoTime => Value::TimeSpan(super::dates::TimeSpan::default()),
        }
    }

    /// Whether an argument fits, as far as can be told: an expression that is not evaluated yet may give anything.
    pub fn accepts(&self, argument: &Argument) -> bool {
        match (self.kind, argument) {
            (Kind::Word | Kind::WordExpression, _) => {
                matches!(argument, Argument::Expression(expression) if matches!(**expression, Expression::Word(_)))
            }
            (Kind::TextConstant, Argument::Expression(expression)) => match &**expression {
                Expression::Constant(value) => matches!(value, Value::Text(_)),
                Expression::Word(_) => true,
                _ => false,
            },
            (Kind::TextConstant, Argument::Value(_)) => false,
            (Kind::Expression, _) => matches!(argument, Argument::Expression(_)),
            (Kind::CallExpression, _) => {
                matches!(argument, Argument::Expression(expression) if expression.uses_receiver())
            }
            (Kind::LazyRule, _) => {
                matches!(argument, Argument::Expression(expression) if matches!(**expression, Expression::Rule { .. }))
            }
            (Kind::Lambda | Kind::LambdaInContext, _) => true,
            (Kind::MethodLambda, Argument::Expression(expression)) => expression.uses_receiver(),
            (Kind::MethodLambda, Argument::Value(_)) => true,
            (_, Argument::Expression(expression)) => match &**expression {
                Expression::Constant(value) => self.accepts_value(value),
                Expression::Word(word) => self.accepts_value(&Value::Text(word.clone())),
                _ => true,
            },
            (_, Argument::Value(value)) => self.accepts_value(value),
        }
    }

    fn accepts_value(&self, value: &Value) -> bool {
        if value.is_null() {
            return self.nullable;
        }
        match self.kind {
            Kind::Any => true,
            Kind::Bool => matches!(value, Value::Bool(_)),
            Kind::Int => matches!(value, Value::Bool(_) | Value::Number(PyNumber::Int(_))),
            Kind::Integer => matches!(value, Value::Number(PyNumber::Int(_))),
            Kind::Number => matches!(value, Value::Number(_)),
            Kind::Mapping => matches!(value, Value::Dict(_)),
            Kind::Set => value.is_set(),
            Kind::Iterator => value.is_iterator(),
            Kind::Ordered => matches!(value, Value::Ordered(_)),
            Kind::Regex => matches!(value, Value::Regex(_)),
            Kind::Context => matches!(value, Value::Context(_)),
            Kind::TimeSpan => matches!(value, Value::TimeSpan(_)),
            Kind::DateTime => matches!(value, Value::DateTime(_)),
            Kind::Rule => matches!(value, Value::Rule(_)),
            Kind::Text => matches!(value, Value::Text(_)),
            Kind::Iterable => value.is_iterable(),
            Kind::IterableButSet => value.is_iterable() && !value.is_set(),
            Kind::Sequence => value.as_sequence().is_some(),
            _ => false,
        }
    }
}

pub const fn any(name: &'static str) -> Parameter {
    Parameter::new(name, Kind::Any, true)
}

pub const fn null(name: &'static str) -> Parameter {
    Parameter::new(name, Kind::None, true)
}

pub const fn lambda(name: &'static str) -> Parameter {
    Parameter::new(name, Kind::Lambda, true)
}

pub const fn lambda_in_context(name: &'static str) -> Parameter {
    Parameter::new(name, Kind::LambdaInContext, true)
}

pub const fn text(name: &'static str) -> Parameter {
    Parameter::new(name, Kind::Text, false)
}

pub const fn int(name: &'static str) -> Parameter {
    Parameter::new(name, Kind::Int, false)
}

pub const fn number(name: &'static str) -> Parameter {
    Parameter::new(name, Kind::Number, false)
}

pub const fn iterable(name: &'static str) -> Parameter {
    Parameter::new(name, Kind::Iterable, false)
}

pub const fn sequence(name: &'static str) -> Parameter {
    Parameter::new(name, Kind::Sequence, false)
}

pub const fn mapping(name: &'static str) -> Parameter {
    Parameter::new(name, Kind::Mapping, false)
}

pub const fn set(name: &'static str) -> Parameter {
    Parameter::new(name, Kind::Set, false)
}

/// A parameter of a type that is not common enough for a function of its own.
pub const fn of(kind: Kind, name: &'static str) -> Parameter {
    Parameter::new(name, kind, false)
}

impl Function {
    const fn new(
        name: &'static str,
        form: Form,
        parameters: &'static [Parameter],
        body: fn(&Call<'_>) -> Outcome,
    ) -> Self {
        Self {
            name,
            form,
            parameters,
            rest: None,
            keywords: None,
            takes_rules: false,
            body,
        }
    }

    pub const fn rest(mut self, parameter: Parameter) -> Self {
        self.rest = Some(parameter);
        self
    }

    pub const fn keywords(mut self, parameter: Parameter) -> Self {
        self.keywords = Some(parameter);
        self
    }

    pub const fn takes_rules(mut self) -> Self {
        self.takes_rules = true;
        self
    }
}

/// Called as `name(…)`.
pub const fn function(
    name: &'static str,
    parameters: &'static [Parameter],
    body: fn(&Call<'_>) -> Outcome,
) -> Function {
    Function::new(name, Form::Function, parameters, body)
}

/// Called as `receiver.name(…)`.
pub const fn method(name: &'static str, parameters: &'static [Parameter], body: fn(&Call<'_>) -> Outcome) -> Function {
    Function::new(name, Form::Method, parameters, body)
}

/// Called either way.
pub const fn both(name: &'static str, parameters: &'static [Parameter], body: fn(&Call<'_>) -> Outcome) -> Function {
    Function::new(name, Form::Both, parameters, body)
}

/// A function on a line, as `tests/conformance/yaql/context.py` writes the oracle's.
pub fn described(function: &Function) -> String {
    let form = match function.form {
        Form::Function => "function",
        Form::Method => "method",
        Form::Both => "both",
    };
    let rules = if function.takes_rules { " rules" } else { "" };
    let mut parameters: Vec<String> = function.parameters.iter().map(described_parameter).collect();
    parameters.extend(
        function
            .rest
            .iter()
            .map(|parameter| format!("*{}", described_parameter(parameter))),
    );
    parameters.extend(
        function
            .keywords
            .iter()
            .map(|parameter| format!("**{}", described_parameter(parameter))),
    );
    format!("{form}{rules} {}({})", function.name, parameters.join(", "))
}

fn described_parameter(parameter: &Parameter) -> String {
    let nullable = if parameter.nullable { "?" } else { "" };
    let default = match parameter.default {
        Default::Required => String::new(),
        Default::Null => "=None".to_owned(),
        Default::NoValue => "=NoValue".to_owned(),
        Default::Bool(true) => "=True".to_owned(),
        Default::Bool(false) => "=False".to_owned(),
        Default::Int(integer) => format!("={integer}"),
        Default::Text(text) => format!("={text}"),
        Default::NoTime => "=0:00:00".to_owned(),
    };
    format!("{}: {:?}{nullable}{default}", parameter.name, parameter.kind)
}
