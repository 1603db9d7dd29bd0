//! A call as the body of a function sees it: arguments of the declared types, and a context of its own.

use std::rc::Rc;

use num_bigint::BigInt;

use super::context::{Context, Name, positional_name};
use super::engine::Engine;
use super::error::Error;
use super::evaluation::{call_function, evaluate};
use super::expression::Expression;
use super::iteration::{Iter, IteratorClass, Walk};
use super::signature::Outcome;
use super::value::{Dict, Items, Value};
use crate::python::PythonError;
use crate::python::number::PyNumber;

/// An argument before the function is chosen.
#[derive(Clone)]
pub enum Argument {
    Expression(Rc<Expression>),
    Value(Value),
}

/// An argument as its parameter wants it.
pub enum Bound {
    Value(Value),
    Lambda(Lambda),
    Expression(Rc<Expression>),
    /// The two sides of a rule.
    Rule(Lambda, Lambda),
}

pub struct Call<'a> {
    pub engine: &'a Engine,
    pub context: Context,
    pub(super) arguments: Vec<Bound>,
    pub(super) rest: Vec<Bound>,
    pub(super) keywords: Vec<(Rc<str>, Value)>,
}

const NOTHING: Value = Value::NoValue;

impl Call<'_> {
    pub fn value(&self, index: usize) -> &Value {
        match self.arguments.get(index) {
            Some(Bound::Value(value)) => value,
            _ => &NOTHING,
        }
    }

    pub fn owned(&self, index: usize) -> Value {
        self.value(index).clone()
    }

    /// An argument that may have been left out.
    pub fn given(&self, index: usize) -> Option<&Value> {
        Some(self.value(index)).filter(|value| value.is_given())
    }

    pub fn text(&self, index: usize) -> &str {
        self.text_if_any(index).unwrap_or_default()
    }

    pub fn text_if_any(&self, index: usize) -> Option<&str> {
        match self.value(index) {
            Value::Text(text) => Some(text),
            _ => None,
        }
    }

    pub fn number(&self, index: usize) -> PyNumber {
        self.value(index).as_number().unwrap_or(PyNumber::Int(BigInt::ZERO))
    }

    pub fn int(&self, index: usize) -> BigInt {
        match self.number(index) {
            PyNumber::Int(integer) => integer,
            PyNumber::Float(_) => BigInt::ZERO,
        }
    }

    /// An integer as far as it fits; what is beyond is as good as infinite.
    pub fn small_int(&self, index: usize) -> i64 {
        small(&self.int(index))
    }

    /// An integer that must fit into a machine's word.
    pub fn word_int(&self, index: usize) -> Result<i64, Error> {
        i64::try_from(&self.int(index))
            .map_err(|_| PythonError::new("OverflowError", "Python int too large to convert to C ssize_t").into())
    }

    pub fn flag(&self, index: usize) -> bool {
        self.value(index).is_true()
    }

    pub fn dict(&self, index: usize) -> Rc<Dict> {
        match self.value(index) {
            Value::Dict(dict) => dict.clone(),
            _ => Rc::new(Dict::new(true)),
        }
    }

    pub fn sequence(&self, index: usize) -> Rc<Items> {
        match self.value(index).as_sequence() {
            Some(items) => items.clone(),
            None => Rc::new(Items::exactly(Vec::new())),
        }
    }

    pub fn walk(&self, index: usize) -> Result<Walk, Error> {
        Walk::through(self.value(index), self.engine)
    }

    pub fn lambda(&self, index: usize) -> Lambda {
        self.lambda_if_any(index)
            .unwrap_or_else(|| Lambda::constant(Value::Null, self.context.clone()))
    }

    pub fn lambda_if_any(&self, index: usize) -> Option<Lambda> {
        match self.arguments.get(index) {
            Some(Bound::Lambda(lambda)) => Some(lambda.clone()),
            _ => None,
        }
    }

    pub fn expression(&self, index: usize) -> Argument {
        match self.arguments.get(index) {
            Some(Bound::Expression(expression)) => Argument::Expression(expression.clone()),
            _ => Argument::Value(self.owned(index)),
        }
    }

    pub fn rest_values(&self) -> impl Iterator<Item = &Value> {
        self.rest.iter().map(|bound| match bound {
            Bound::Value(value) => value,
            _ => &NOTHING,
        })
    }

    pub fn rest_lambdas(&self) -> Vec<Lambda> {
        let lambdas = self.rest.iter().filter_map(|bound| match bound {
            Bound::Lambda(lambda) => Some(lambda.clone()),
            _ => None,
        });
        lambdas.collect()
    }

    pub fn rest_rules(&self) -> impl Iterator<Item = (&Lambda, &Lambda)> {
        self.rest.iter().filter_map(|bound| match bound {
            Bound::Rule(source, destination) => Some((source, destination)),
            _ => None,
        })
    }

    /// Calls whatever function has the name where this call is made: templates may define their own.
    pub fn invoke(&self, name: &str, arguments: Vec<Argument>) -> Outcome {
        invoke(self.engine, &self.context, name, arguments)
    }

    pub fn invoke_on_values(&self, name: &str, arguments: Vec<Value>) -> Outcome {
        self.invoke(name, arguments.into_iter().map(Argument::Value).collect())
    }

    /// A method that gets nothing but its receiver.
    pub fn invoke_method(&self, name: &str, receiver: Value) -> Outcome {
        invoke_method(self.engine, &self.context, name, receiver)
    }

    /// How many values are inside each other in something that keeps all arguments.
    pub(super) fn nesting(&self) -> u32 {
        let values = self.arguments.iter().chain(&self.rest).filter_map(|bound| match bound {
            Bound::Value(value) => Some(value.nesting()),
            _ => None,
        });
        1 + values.max().unwrap_or(0).max(self.context.nesting())
    }

    pub fn iterator(
        &self,
        class: IteratorClass,
        step: impl FnMut(&Engine) -> Result<Option<Value>, Error> + 'static,
    ) -> Outcome {
        Ok(Value::Iterator(Iter::new(class, self.nesting(), step)))
    }

    /// An iterator that Python makes by a generator function of this name and size.
    pub fn generator(
        &self,
        function: &'static str,
        size: usize,
        step: impl FnMut(&Engine) -> Result<Option<Value>, Error> + 'static,
    ) -> Outcome {
        self.iterator(IteratorClass::Generator(function, size), step)
    }
}

pub fn invoke(engine: &Engine, context: &Context, name: &str, arguments: Vec<Argument>) -> Outcome {
    call_function(engine, name, &context.child(), None, arguments, Vec::new())
}

pub fn invoke_method(engine: &Engine, context: &Context, name: &str, receiver: Value) -> Outcome {
    call_function(engine, name, &context.child(), Some(receiver), Vec::new(), Vec::new())
}

pub fn small(integer: &BigInt) -> i64 {
    i64::try_from(integer).unwrap_or(match integer.sign() {
        num_bigint::Sign::Minus => i64::MIN,
        _ => i64::MAX,
    })
}

/// An argument that the function evaluates itself, as often as it likes.
#[derive(Clone)]
pub struct Lambda {
    body: Argument,
    context: Context,
}

impl Lambda {
    pub fn new(expression: Rc<Expression>, context: Context) -> Self {
        Self {
            body: Argument::Expression(expression),
            context,
        }
    }

    pub fn constant(value: Value, context: Context) -> Self {
        Self {
            body: Argument::Value(value),
            context,
        }
    }

    /// With positional arguments `$1`, `$2`, …
    pub fn call(&self, engine: &Engine, arguments: &[Value]) -> Outcome {
        self.call_with(engine, arguments, &[])
    }

    pub fn call_with(&self, engine: &Engine, arguments: &[Value], keywords: &[(Rc<str>, Value)]) -> Outcome {
        let context = self.context.child();
        for (index, value) in arguments.iter().enumerate() {
            context.set(positional_name(index), value.clone());
        }
        for (name, value) in keywords {
            context.set(Name::Owned(format!("${name}")), value.clone());
        }
        self.run(engine, &context, None)
    }

    pub fn call_on(&self, engine: &Engine, receiver: Value) -> Outcome {
        self.run(engine, &self.context.child(), Some(receiver))
    }

    pub fn call_in(&self, engine: &Engine, context: &Context) -> Outcome {
        self.run(engine, context, None)
    }

    /// Evaluates it where it was written.
    pub fn call_here(&self, engine: &Engine) -> Outcome {
        self.run(engine, &self.context, None)
    }

    fn run(&self, engine: &Engine, context: &Context, receiver: Option<Value>) -> Outcome {
        match &self.body {
            Argument::Expression(expression) => evaluate(engine, expression, context, receiver),
            Argument::Value(value) => Ok(value.clone()),
        }
    }
}

/// A function that an expression defined.
pub struct Definition {
    pub name: String,
    pub body: Lambda,
}
