//! Where something was opened that keeps a text from being a document: a bracket, a brace or a quote.

use super::ReadError;
use super::events::{Mark, Tokens};

/// What was opened, and what became of it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Opened {
    pub character: char,
    pub mark: Mark,
    pub closed: Closed,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Closed {
    /// Up to the end of the text.
    Never,
    /// Not where the reader gave up.
    NotYet,
    /// In another line, by a quote that was to open something.
    InLine(usize),
}

impl Opened {
    /// Looks for it in a text that is refused.
    pub fn in_text(text: &str, error: &ReadError) -> Option<Self> {
        let ReadError::Yaml(complaint) = error else {
            return None;
        };
        let mark = complaint.mark?;
        text_before(text, mark).or_else(|| {
            let (context, opening) = complaint.context.as_ref()?;
            let is_opened = ["a flow sequence", "a flow mapping", "a quoted scalar"]
                .iter()
                .any(|what| context.ends_with(what));
            let opening = opening.filter(|_| is_opened)?;
            let is_over = text.chars().skip(mark.index).all(char::is_whitespace);
            let closed = if is_over { Closed::Never } else { Closed::NotYet };
            Some(Self {
                character: text.chars().nth(opening.index)?,
                mark: opening,
                closed,
            })
        })
    }
}

/// The text in quotes and in several lines that ends just before a place.
fn text_before(text: &str, place: Mark) -> Option<Opened> {
    let before = Tokens::of(text).take_while(|token| token.end.index <= place.index);
    // What is opened and closed without a letter of the text comes between.
    let last = before.filter(|token| token.end.index > token.start.index).last()?;
    let character = text.chars().nth(last.start.index)?;
    let is_long_text = ['"', '\''].contains(&character) && last.end.line > last.start.line;
    is_long_text.then_some(Opened {
        character,
        mark: last.start,
        closed: Closed::InLine(last.end.line),
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::template::reading::read_document;

    fn opened(text: &str) -> Option<(char, usize, usize, Closed)> {
        let error = read_document(text).unwrap_err();
        let opened = Opened::in_text(text, &error)?;
        Some((opened.character, opened.mark.line, opened.mark.column, opened.closed))
    }

    #[test]
    fn what_was_opened_is_found() {
        for (text, expected) in [
            ("a: 1\nb: [x, {y: z}\n", Some(('[', 1, 3, Closed::Never))),
            ("a: 1\nb: {y: [z]\n\n", Some(('{', 1, 3, Closed::Never))),
            ("a: \"x\nb: y\n", Some(('"', 0, 3, Closed::Never))),
            ("a: 'x\nb: y\n", Some(('\'', 0, 3, Closed::Never))),
            ("a: [x, y\nb: z\n", Some(('[', 0, 3, Closed::NotYet))),
            ("{\"a\": {\"b\": 1}", Some(('{', 0, 0, Closed::Never))),
            ("a: \"x\nb: \"y\"\n", Some(('"', 0, 3, Closed::InLine(1)))),
            ("a: {b: 'x}\nc: {d: 'y'}\n", Some(('\'', 0, 7, Closed::InLine(1)))),
            ("ä: \"ü\n  x\"\nb: [c\n", Some(('[', 2, 3, Closed::Never))),
            ("a: b\n c: d\n", None),
            ("a: \"b\" c\n", None),
        ] {
            assert_eq!(opened(text), expected, "{text}");
        }
    }
}
