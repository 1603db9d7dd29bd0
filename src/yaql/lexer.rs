//! From text to tokens, one at a time: the parser may find fault before the lexer has seen everything.

use super::error::Error;
use super::escapes;
use crate::python::number::PyNumber;
use crate::python::numeral::{self, is_decimal_digit};

#[derive(Debug, Clone)]
pub(super) enum Token {
    Number(PyNumber),
    Text(String),
    /// A bare word.
    Word(String),
    True,
    False,
    Null,
    /// A name with its opening parenthesis: blanks between them are not allowed.
    Function(String),
    /// `$name`, with the dollar.
    Data(String),
    Operator(&'static str),
    OpenIndex,
    OpenMap,
    Arrow,
    Comma,
    OpenParenthesis,
    CloseParenthesis,
    CloseIndex,
    CloseMap,
}

impl Token {
    /// How messages show it: the value rather than the text it was read from.
    pub fn shown(&self) -> String {
        match self {
            Self::Number(number) => number.text(),
            Self::Text(text) | Self::Word(text) | Self::Function(text) | Self::Data(text) => text.clone(),
            Self::True => "True".to_owned(),
            Self::False => "False".to_owned(),
            Self::Null => "None".to_owned(),
            Self::Operator(symbol) => (*symbol).to_owned(),
            Self::OpenIndex => "[".to_owned(),
            Self::OpenMap => "{".to_owned(),
            Self::Arrow => "=>".to_owned(),
            Self::Comma => ",".to_owned(),
            Self::OpenParenthesis => "(".to_owned(),
            Self::CloseParenthesis => ")".to_owned(),
            Self::CloseIndex => "]".to_owned(),
            Self::CloseMap => "}".to_owned(),
        }
    }
}

/// Longest first.
const SYMBOLS: [(&str, Token); 22] = [
    ("=>", Token::Arrow),
    ("->", Token::Operator("->")),
    ("?.", Token::Operator("?.")),
    ("=~", Token::Operator("=~")),
    ("!~", Token::Operator("!~")),
    (">=", Token::Operator(">=")),
    ("<=", Token::Operator("<=")),
    ("!=", Token::Operator("!=")),
    (".", Token::Operator(".")),
    ("+", Token::Operator("+")),
    ("-", Token::Operator("-")),
    ("*", Token::Operator("*")),
    ("/", Token::Operator("/")),
    (">", Token::Operator(">")),
    ("<", Token::Operator("<")),
    ("=", Token::Operator("=")),
    ("[", Token::OpenIndex),
    ("{", Token::OpenMap),
    ("(", Token::OpenParenthesis),
    (")", Token::CloseParenthesis),
    ("]", Token::CloseIndex),
    ("}", Token::CloseMap),
];

const WORD_OPERATORS: [&str; 5] = ["mod", "in", "not", "and", "or"];

#[derive(Debug)]
pub(super) struct Lexer<'a> {
    expression: &'a str,
    /// What is still to be read.
    rest: &'a str,
    /// How many characters were read.
    position: usize,
}

impl<'a> Lexer<'a> {
    pub fn new(expression: &'a str) -> Self {
        Self {
            expression,
            rest: expression,
            position: 0,
        }
    }

    pub fn expression(&self) -> &'a str {
        self.expression
    }

    /// The next token and where it begins; `None` at the end.
    pub fn next(&mut self) -> Result<Option<(Token, usize)>, Error> {
        let blanks = self.rest.chars().take_while(|c| " \t\r\n".contains(*c)).count();
        self.advance(blanks);
        let start = self.position;
        let Some(first) = self.rest.chars().next() else {
            return Ok(None);
        };
        let token = match first {
            '$' => {
                let name = self.word_after(1);
                Some(Token::Data(self.take(name).to_owned()))
            }
            '\'' | '"' | '`' => self.quoted(first)?,
            ',' => {
                self.advance(1);
                Some(Token::Comma)
            }
            c if is_decimal_digit(c) => self.number()?,
            c if is_word(c) => self.word(),
            _ => self.symbol(),
        };
        let illegal = Error::IllegalCharacter {
            character: first,
            position: start,
        };
        token.map(|token| Some((token, start))).ok_or(illegal)
    }

    fn advance(&mut self, characters: usize) {
        self.take(characters);
    }

    fn take(&mut self, characters: usize) -> &'a str {
        let bytes: usize = self.rest.chars().take(characters).map(char::len_utf8).sum();
        let (taken, rest) = self.rest.split_at(bytes);
        self.rest = rest;
        self.position += characters;
        taken
    }

    /// How far word characters go after some first characters.
    fn word_after(&self, skipped: usize) -> usize {
        skipped + self.rest.chars().skip(skipped).take_while(|c| is_word(*c)).count()
    }

    /// Digits, perhaps a dot and more digits; what follows must not be part of a word.
    fn number(&mut self) -> Result<Option<Token>, Error> {
        let characters: Vec<char> = self.rest.chars().take_while(|c| *c == '.' || is_word(*c)).collect();
        let digits_from = |start: usize| {
            characters
                .iter()
                .skip(start)
                .take_while(|c| is_decimal_digit(**c))
                .count()
        };
        let ends_word = |end: usize| !characters.get(end).is_some_and(|c| is_word(*c));
        let whole = digits_from(0);
        let fraction = if characters.get(whole) == Some(&'.') {
            digits_from(whole + 1)
        } else {
            0
        };
        if fraction > 0 && ends_word(whole + 1 + fraction) {
            let float = numeral::float(self.take(whole + 1 + fraction))?;
            return Ok(Some(Token::Number(PyNumber::Float(float))));
        }
        if !ends_word(whole) {
            return Ok(None);
        }
        let integer = numeral::int(self.take(whole))?;
        Ok(Some(Token::Number(PyNumber::Int(integer))))
    }

    fn word(&mut self) -> Option<Token> {
        let length = self.word_after(0);
        let mut following = self.rest.chars().skip(length);
        if following.next() == Some('(') {
            let name = self.take(length).to_owned();
            self.advance(1);
            return Some(Token::Function(name));
        }
        if self.rest.starts_with("__") {
            return None;
        }
        let word = self.take(length);
        Some(match word {
            "true" => Token::True,
            "false" => Token::False,
            "null" => Token::Null,
            word => match WORD_OPERATORS.iter().find(|operator| **operator == word) {
                Some(operator) => Token::Operator(operator),
                None => Token::Word(word.to_owned()),
            },
        })
    }

    fn symbol(&mut self) -> Option<Token> {
        let (symbol, token) = SYMBOLS.iter().find(|(symbol, _)| self.rest.starts_with(symbol))?;
        self.advance(symbol.chars().count());
        Some(token.clone())
    }

    /// A text in quotes. A backslash protects the character after it, though not the end of a line.
    fn quoted(&mut self, quote: char) -> Result<Option<Token>, Error> {
        let mut length = 1;
        let mut characters = self.rest.chars().skip(1);
        loop {
            length += 1;
            match characters.next() {
                None => return Ok(None),
                Some('\\') => match characters.next() {
                    None | Some('\n') => return Ok(None),
                    Some(_) => length += 1,
                },
                Some(c) if c == quote => break,
                Some(_) => {}
            }
        }
        let quoted = self.take(length);
        let inner = &quoted[1..quoted.len() - 1];
        Ok(Some(Token::Text(match quote {
            '`' => inner.replace("\\`", "`"),
            _ => escapes::decoded(inner)?,
        })))
    }
}

pub(super) fn is_word(character: char) -> bool {
    character.is_alphanumeric() || character == '_'
}
