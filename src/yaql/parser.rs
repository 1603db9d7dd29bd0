//! The grammar: operator precedence, and argument lists in which arguments may be left out.

use std::rc::Rc;

use super::error::Error;
use super::expression::{DATA, Expression, FunctionCall, INDEX, LIST, MAP};
use super::lexer::{Lexer, Token};
use super::stack::Stack;
use super::value::Value;

/// Brackets, prefixes and operands inside each other. The oracle gives up where evaluating them takes a thousand Python frames.
const DEEPEST_NESTING: usize = 1000;
/// The same for chains of operators, whose tree is as deep as they are long.
const LONGEST_CHAIN: usize = 1000;

pub(super) fn parse(expression: &str, stack: &Stack) -> Result<Rc<Expression>, Error> {
    let mut parser = Parser {
        lexer: Lexer::new(expression),
        lookahead: None,
        nesting: 0,
        stack,
    };
    parser.advance()?;
    let tree = parser.value(LOOSEST)?;
    match parser.lookahead {
        None => Ok(tree),
        Some(_) => Err(parser.unexpected()),
    }
}

const LOOSEST: u8 = 1;
const NOT: u8 = 4;
const SIGN: u8 = 9;
const INDEXING: u8 = 10;

/// How tightly an operator binds, and whether a chain of it is grouped from the right.
fn binding(operator: &str) -> Option<(u8, bool)> {
    Some(match operator {
        "->" => (LOOSEST, true),
        "or" => (2, false),
        "and" => (3, false),
        ">" | "<" | ">=" | "<=" | "!=" | "=" | "in" => (5, false),
        "+" | "-" => (6, false),
        "*" | "/" | "mod" => (7, false),
        "=~" | "!~" => (8, false),
        "." | "?." => (11, false),
        _ => return None,
    })
}

struct Parser<'a> {
    lexer: Lexer<'a>,
    lookahead: Option<(Token, usize)>,
    nesting: usize,
    stack: &'a Stack,
}

type Tree = Result<Rc<Expression>, Error>;

impl Parser<'_> {
    fn advance(&mut self) -> Result<(), Error> {
        self.lookahead = self.lexer.next()?;
        Ok(())
    }

    /// Whether the next token is of this kind.
    fn next_is(&self, token: &Token) -> bool {
        let is_same = |next: &Token| std::mem::discriminant(next) == std::mem::discriminant(token);
        self.lookahead.as_ref().is_some_and(|(next, _)| is_same(next))
    }

    fn expect(&mut self, token: &Token) -> Result<(), Error> {
        if self.next_is(token) {
            self.advance()
        } else {
            Err(self.unexpected())
        }
    }

    fn unexpected(&self) -> Error {
        match &self.lookahead {
            None => Error::UnexpectedEnd,
            Some((token, position)) => Error::UnexpectedToken {
                token: token.shown(),
                position: *position,
                expression: self.lexer.expression().to_owned(),
            },
        }
    }

    /// An expression whose operators bind at least so tightly.
    fn value(&mut self, tightness: u8) -> Tree {
        self.stack.check()?;
        self.nesting += 1;
        if self.nesting > DEEPEST_NESTING {
            return Err(Error::recursion());
        }
        let mut left = self.operand()?;
        let mut length = 0;
        loop {
            left = match &self.lookahead {
                Some((Token::OpenIndex, _)) if INDEXING >= tightness => {
                    self.advance()?;
                    let mut arguments = vec![Some(left)];
                    arguments.extend(self.arguments(&Token::CloseIndex)?);
                    call(INDEX, arguments)
                }
                Some((Token::Operator(operator), _)) => {
                    let operator = *operator;
                    match binding(operator) {
                        Some((binding, from_right)) if binding >= tightness => {
                            self.advance()?;
                            let right = self.value(if from_right { binding } else { binding + 1 })?;
                            let name = match operator {
                                "=" => "*equal".to_owned(),
                                "!=" => "*not_equal".to_owned(),
                                other => format!("#operator_{other}"),
                            };
                            call(&name, vec![Some(left), Some(right)])
                        }
                        _ => break,
                    }
                }
                _ => break,
            };
            length += 1;
            if length > LONGEST_CHAIN {
                return Err(Error::recursion());
            }
        }
        self.nesting -= 1;
        Ok(left)
    }

    fn operand(&mut self) -> Tree {
        let Some((token, _)) = self.lookahead.clone() else {
            return Err(self.unexpected());
        };
        let constant = match token {
            Token::Operator(sign @ ("+" | "-")) => return self.prefixed(sign, SIGN + 1),
            Token::Operator("not") => return self.prefixed("not", NOT + 1),
            Token::OpenParenthesis => {
                self.advance()?;
                let inner = self.value(LOOSEST)?;
                self.expect(&Token::CloseParenthesis)?;
                return Ok(Rc::new(Expression::Wrapped(inner)));
            }
            Token::OpenIndex => return self.bracketed(LIST, &Token::CloseIndex),
            Token::OpenMap => return self.bracketed(MAP, &Token::CloseMap),
            Token::Function(name) => {
                self.advance()?;
                let arguments = self.arguments(&Token::CloseParenthesis)?;
                return Ok(Rc::new(Expression::Call(FunctionCall {
                    name: name.into(),
                    arguments,
                    is_plain: true,
                })));
            }
            Token::Data(name) => {
                self.advance()?;
                let name = Rc::new(Expression::Constant(Value::text(name)));
                return Ok(call(DATA, vec![Some(name)]));
            }
            Token::Word(word) => {
                self.advance()?;
                return Ok(Rc::new(Expression::Word(word.into())));
            }
            Token::Number(number) => Value::Number(number),
            Token::Text(text) => Value::text(text),
            Token::True => Value::Bool(true),
            Token::False => Value::Bool(false),
            Token::Null => Value::Null,
            _ => return Err(self.unexpected()),
        };
        self.advance()?;
        Ok(Rc::new(Expression::Constant(constant)))
    }

    fn prefixed(&mut self, operator: &str, tightness: u8) -> Tree {
        self.advance()?;
        let operand = self.value(tightness)?;
        Ok(call(&format!("#unary_operator_{operator}"), vec![Some(operand)]))
    }

    fn bracketed(&mut self, name: &str, closing: &Token) -> Tree {
        self.advance()?;
        let arguments = self.arguments(closing)?;
        Ok(call(name, arguments))
    }

    /// Everything up to the closing bracket. A comma more leaves an argument out, though not the last one; rules
    /// (`a => b`) come after all else, and after one argument left out at most.
    fn arguments(&mut self, closing: &Token) -> Result<Vec<Option<Rc<Expression>>>, Error> {
        let mut arguments = Vec::new();
        if self.next_is(closing) {
            self.advance()?;
            return Ok(arguments);
        }
        let mut only_rules = false;
        let mut left_out = self.commas()?;
        loop {
            let may_be_rule = only_rules || left_out == 0 || (left_out == 1 && !arguments.is_empty());
            arguments.extend(std::iter::repeat_n(None, left_out));
            let value = self.value(LOOSEST)?;
            if only_rules || (may_be_rule && self.next_is(&Token::Arrow)) {
                only_rules = true;
                self.expect(&Token::Arrow)?;
                let destination = self.value(LOOSEST)?;
                arguments.push(Some(Rc::new(Expression::Rule {
                    source: value,
                    destination,
                })));
            } else {
                arguments.push(Some(value));
            }
            if self.next_is(closing) {
                self.advance()?;
                return Ok(arguments);
            }
            self.expect(&Token::Comma)?;
            left_out = if only_rules { 0 } else { self.commas()? };
        }
    }

    fn commas(&mut self) -> Result<usize, Error> {
        let mut count = 0;
        while self.next_is(&Token::Comma) {
            self.advance()?;
            count += 1;
        }
        Ok(count)
    }
}

fn call(name: &str, arguments: Vec<Option<Rc<Expression>>>) -> Rc<Expression> {
    Rc::new(Expression::Call(FunctionCall {
        name: name.into(),
        arguments,
        is_plain: false,
    }))
}
