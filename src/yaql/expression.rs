//! The tree of an expression. Everything but a constant is a call of a function, operators included.

use std::rc::Rc;

use super::value::Value;

#[derive(Debug)]
pub enum Expression {
    Constant(Value),
    /// A bare word: a text that may also name a property or a keyword argument.
    Word(Rc<str>),
    Call(FunctionCall),
    /// In parentheses.
    Wrapped(Rc<Expression>),
    /// `source => destination`
    Rule {
        source: Rc<Expression>,
        destination: Rc<Expression>,
    },
}

#[derive(Debug)]
pub struct FunctionCall {
    pub name: Rc<str>,
    /// `None` where an argument was left out: `f(1,,2)`.
    pub arguments: Vec<Option<Rc<Expression>>>,
    /// Written as `name(…)`, which is the only form that can be called on a receiver.
    pub is_plain: bool,
}

pub const LIST: &str = "#list";
pub const MAP: &str = "#map";
pub const INDEX: &str = "#indexer";
pub const DATA: &str = "#get_context_data";

impl Expression {
    /// Constants are not evaluated before they are passed on: some parameters want to see them.
    pub fn is_constant(&self) -> bool {
        matches!(self, Self::Constant(_) | Self::Word(_))
    }

    pub fn uses_receiver(&self) -> bool {
        matches!(self, Self::Call(call) if call.is_plain)
    }
}
