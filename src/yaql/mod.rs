//! YAQL, the expression language that Heat's function `yaql` evaluates, as yaql 3.2.0 has it in the context that Heat
//! gives it.
//!
//! The language is small, its library is not, and what an expression means is decided while it runs: every operator is
//! a call, the types of the arguments choose among the functions of a name, and expressions can define functions of
//! their own, operators included. So this is an interpreter of calls: a parser makes a tree of them (`parser`), one place
//! chooses and calls (`evaluation`), and the library is tables of functions with their parameters' types (`library`,
//! `signature`).
//!
//! Whoever writes a template may use all of it, so nothing here trusts an expression: iterators are limited, values are
//! held to a memory quota (counted as Python counts it, so that the same expressions pass), and steps, depth and
//! regular expressions have bounds. Nothing here knows the time or chance: both are told beforehand.

mod call;
mod context;
mod dates;
mod engine;
mod error;
mod escapes;
mod evaluation;
mod expression;
mod iteration;
mod lexer;
mod library;
mod output;
mod parser;
mod signature;
mod value;

use std::rc::Rc;

pub use engine::{Allowance, Limits, Surroundings};
pub use error::Error;
pub use value::Value;

use call::Argument;
use context::Context;
use engine::Engine;
use expression::Expression;

/// An expression that was read.
#[derive(Debug)]
pub struct Statement {
    expression: Rc<Expression>,
}

impl Statement {
    pub fn parse(expression: &str) -> Result<Self, Error> {
        Ok(Self {
            expression: parser::parse(expression)?,
        })
    }

    /// The value for some data, which the expression knows as `$`.
    pub fn evaluate(
        &self,
        data: &serde_json::Value,
        limits: Limits,
        surroundings: Surroundings,
        allowance: &Allowance,
    ) -> Result<Value, Error> {
        let engine = Engine::new(limits, surroundings, allowance);
        let context = Context::root();
        let data = Value::from_json(data);
        engine.check_nesting(&data)?;
        context.set("1", data);
        let argument = Argument::Expression(self.expression.clone());
        evaluation::call_function(&engine, "#finalize", &context, None, vec![argument], Vec::new())
    }
}

/// All functions that expressions may call, as a line each: context, form, name and parameters.
pub fn library_listing() -> Vec<String> {
    let mut lines: Vec<String> = library::all()
        .map(|(level, function)| format!("{level} {}", signature::described(function)))
        .collect();
    lines.sort();
    lines
}
