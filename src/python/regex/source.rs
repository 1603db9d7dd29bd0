//! The text of a pattern, taken apart as Python does: a backslash and what follows it are one piece.

use super::error::RegexError;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Piece {
    Plain(char),
    Escape(char),
}

impl Piece {
    /// How many characters it has.
    pub fn length(self) -> usize {
        match self {
            Self::Plain(_) => 1,
            Self::Escape(_) => 2,
        }
    }

    pub fn text(self) -> String {
        match self {
            Self::Plain(character) => character.to_string(),
            Self::Escape(character) => format!("\\{character}"),
        }
    }
}

pub struct Source {
    characters: Vec<char>,
    /// Where the piece that comes next ends.
    end: usize,
    next: Option<Piece>,
}

impl Source {
    pub fn new(pattern: &str) -> Result<Self, RegexError> {
        let mut source = Self {
            characters: pattern.chars().collect(),
            end: 0,
            next: None,
        };
        source.go_on()?;
        Ok(source)
    }

    fn go_on(&mut self) -> Result<(), RegexError> {
        self.next = match self.characters.get(self.end) {
            None => None,
            Some('\\') => {
                self.end += 1;
                match self.characters.get(self.end) {
                    Some(escaped) => Some(Piece::Escape(*escaped)),
                    // Told as soon as it is seen, whatever else is wrong before it.
                    None => return Err(self.error_at("bad escape (end of pattern)", self.characters.len() - 1)),
                }
            }
            Some(character) => Some(Piece::Plain(*character)),
        };
        self.end += usize::from(self.next.is_some());
        Ok(())
    }

    pub fn next(&self) -> Option<Piece> {
        self.next
    }

    pub fn is_next(&self, character: char) -> bool {
        self.next == Some(Piece::Plain(character))
    }

    /// Where the next piece begins, in characters.
    pub fn position(&self) -> usize {
        self.end - self.next.map_or(0, Piece::length)
    }

    pub fn take(&mut self) -> Result<Option<Piece>, RegexError> {
        let piece = self.next;
        self.go_on()?;
        Ok(piece)
    }

    pub fn take_if(&mut self, character: char) -> Result<bool, RegexError> {
        let is_next = self.is_next(character);
        if is_next {
            self.go_on()?;
        }
        Ok(is_next)
    }

    /// So many plain characters of a kind at most.
    pub fn take_while(&mut self, most: usize, is_wanted: impl Fn(char) -> bool) -> Result<String, RegexError> {
        let mut taken = String::new();
        for _ in 0..most {
            match self.next {
                Some(Piece::Plain(character)) if is_wanted(character) => taken.push(character),
                _ => break,
            }
            self.go_on()?;
        }
        Ok(taken)
    }

    /// The name of something, up to the character that ends it.
    pub fn take_until(&mut self, end: char, what: &str) -> Result<String, RegexError> {
        let mut taken = String::new();
        loop {
            let piece = self.take()?;
            match piece {
                None if taken.is_empty() => return Err(self.error(format!("missing {what}"))),
                None => {
                    let start = self.position() - taken.chars().count();
                    return Err(self.error_at(format!("missing {end}, unterminated name"), start));
                }
                Some(Piece::Plain(character)) if character == end => break,
                Some(piece) => taken.push_str(&piece.text()),
            }
        }
        if taken.is_empty() {
            return Err(self.error_at(format!("missing {what}"), self.position() - 1));
        }
        Ok(taken)
    }

    /// Goes back to a place.
    pub fn back_to(&mut self, position: usize) -> Result<(), RegexError> {
        self.end = position;
        self.go_on()
    }

    /// Something is wrong where the next piece begins.
    pub fn error(&self, message: impl Into<String>) -> RegexError {
        self.error_at(message, self.position())
    }

    pub fn error_at(&self, message: impl Into<String>, position: usize) -> RegexError {
        let message = message.into();
        let before = &self.characters[..position.min(self.characters.len())];
        let place = match self.characters.contains(&'\n') {
            false => format!("at position {position}"),
            true => {
                let line = 1 + before.iter().filter(|character| **character == '\n').count();
                let start = before
                    .iter()
                    .rposition(|character| *character == '\n')
                    .map_or(0, |end| end + 1);
                let column = 1 + position - start;
                format!("at position {position} (line {line}, column {column})")
            }
        };
        RegexError::Syntax(format!("{message} {place}"))
    }
}
