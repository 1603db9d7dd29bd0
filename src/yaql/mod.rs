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
mod stack;
mod value;

use std::rc::Rc;

pub use engine::{Allowance, Limits, Surroundings};
pub use error::Error;
pub use value::Value;

use call::Argument;
use context::Context;
use engine::Engine;
use expression::Expression;
use stack::Stack;

/// An expression that was read.
#[derive(Debug)]
pub struct Statement {
    text: String,
    /// `None` for one that takes a deeper stack to be read.
    expression: Option<Rc<Expression>>,
}

impl Statement {
    pub fn parse(expression: &str) -> Result<Self, Error> {
        let stack = Stack::ordinary();
        let parsed = parser::parse(expression, &stack);
        let expression_read = match stack.is_exhausted() {
            true => {
                stack::deep(|stack| parser::parse(expression, &stack).map(drop))?;
                None
            }
            false => Some(parsed?),
        };
        Ok(Self {
            text: expression.to_owned(),
            expression: expression_read,
        })
    }

    /// What is to be told of the value for some data, which the expression knows as `$`.
    pub fn evaluate<T: Send>(
        &self,
        data: &serde_json::Value,
        limits: Limits,
        surroundings: Surroundings,
        allowance: &Allowance,
        told: impl Fn(&Value) -> T + Sync,
    ) -> Result<T, Error> {
        let evaluate = |expression: &Rc<Expression>, stack: Rc<Stack>| {
            let engine = Engine::new(limits, surroundings, allowance, stack);
            let context = Context::root();
            engine.spend(STEPS_A_PART * parts(data))?;
            let data = Value::from_json(data);
            engine.check_nesting(&data)?;
            context.set("1", data);
            let argument = Argument::Expression(expression.clone());
            let value = evaluation::call_function(&engine, "#finalize", &context, None, vec![argument], Vec::new())?;
            Ok(told(&value))
        };
        if let Some(expression) = &self.expression {
            let stack = Rc::new(Stack::ordinary());
            let evaluated = evaluate(expression, stack.clone());
            if !stack.is_exhausted() {
                return evaluated;
            }
        }
        let text = self.text.as_str();
        stack::deep(|stack| evaluate(&parser::parse(text, &stack)?, Rc::new(stack)))
    }
}

/// To take over a part of the data: a number, a text, a list or a map.
const STEPS_A_PART: u64 = 2;

fn parts(data: &serde_json::Value) -> u64 {
    1 + match data {
        serde_json::Value::Array(items) => items.iter().map(parts).sum(),
        serde_json::Value::Object(entries) => entries.values().map(parts).sum(),
        _ => 0,
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

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn evaluated(expression: &str) -> Result<serde_json::Value, Error> {
        let (limits, data) = (
            Limits {
                memory: -1,
                ..Limits::default()
            },
            json!({"data": [1]}),
        );
        let statement = Statement::parse(expression)?;
        statement.evaluate(
            &data,
            limits,
            Surroundings::default(),
            &Allowance::default(),
            Value::to_json,
        )
    }

    #[test]
    fn data_is_paid_for() {
        let large = json!({"data": vec![1; 200_000]});
        let allowance = Allowance::default();
        let statement = Statement::parse("1").expect("an expression");
        let (limits, surroundings) = (Limits::default(), Surroundings::default());
        let evaluate = || statement.evaluate(&large, limits, surroundings, &allowance, Value::to_json);
        let told: Vec<_> = (0..50).map(|_| evaluate()).collect();
        assert!(told[0].is_ok());
        assert!(matches!(told[49], Err(Error::TooManyStepsTogether(_))));
    }

    /// The depths are those up to which yaql 3.2.0 goes under Heat, in Python 3.11.
    #[test]
    fn expressions_are_as_deep_as_the_oracle_takes_them() {
        let shapes = [
            ("(", "1", ")", 492),
            ("- ", "1", "", 139),
            ("not ", "true", "", 139),
            ("[", "1", "]", 139),
            ("{a=>", "1", "}", 108),
            ("str(", "1", ")", 139),
            ("1+(", "1", ")", 108),
            ("(-", "1", ")", 108),
            ("", "1", "+1", 139),
            ("", "str(1)", ".trim()", 138),
            ("[1].select(", "1", ")", 477),
            ("switch(true => ", "1", ")", 122),
        ];
        let on_a_small_stack = std::thread::Builder::new().stack_size(1024 * 1024).spawn(move || {
            for (before, inside, after, deepest) in shapes {
                let nested = |depth: usize| format!("{}{inside}{}", before.repeat(depth), after.repeat(depth));
                if let Err(error) = evaluated(&nested(deepest)) {
                    panic!("{before}{inside}{after}: {error}");
                }
                let error = evaluated(&nested(10_000)).unwrap_err();
                assert_eq!(error.class_name(), "RecursionError", "{before}{inside}{after}");
            }
        });
        on_a_small_stack.expect("a thread").join().expect("no failure");
    }
}
