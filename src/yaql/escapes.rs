//! Backslash escapes in quoted texts. What looks like none stays as it is; what looks like one and is wrong is Python's
//! error.

use super::error::Error;
use crate::python::PythonError;
use crate::python::text::control_character;

pub(super) fn decoded(text: &str) -> Result<String, Error> {
    let mut decoded = String::with_capacity(text.len());
    let mut rest = text;
    while let Some(start) = rest.find('\\') {
        decoded.push_str(&rest[..start]);
        rest = &rest[start + 1..];
        match escape(rest)? {
            Some((character, length)) => {
                decoded.push(character);
                rest = &rest[length..];
            }
            None => decoded.push('\\'),
        }
    }
    decoded.push_str(rest);
    Ok(decoded)
}

/// The character of an escape and how much of the text after the backslash belongs to it.
fn escape(after: &str) -> Result<Option<(char, usize)>, Error> {
    let Some(letter) = after.chars().next() else {
        return Ok(None);
    };
    if let Some(character) = control_character(letter) {
        return Ok(Some((character, 1)));
    }
    match letter {
        '\\' | '\'' | '"' => Ok(Some((letter, 1))),
        'x' => hexadecimal(after, 2, "\\xXX"),
        'u' => hexadecimal(after, 4, "\\uXXXX"),
        'U' => hexadecimal(after, 8, "\\UXXXXXXXX"),
        'N' => named(after),
        '0'..='7' => {
            let length = after
                .bytes()
                .take(3)
                .take_while(|byte| (b'0'..=b'7').contains(byte))
                .count();
            let code = u32::from_str_radix(&after[..length], 8).ok().and_then(char::from_u32);
            Ok(code.map(|character| (character, length)))
        }
        _ => Ok(None),
    }
}

/// A lone surrogate has no place in our texts: it becomes the replacement character.
fn hexadecimal(after: &str, digits: usize, form: &str) -> Result<Option<(char, usize)>, Error> {
    let body: Vec<char> = after.chars().skip(1).take(digits).take_while(|c| *c != '\n').collect();
    if body.len() < digits {
        return Ok(None);
    }
    let good = body.iter().take_while(|c| c.is_ascii_hexdigit()).count();
    if good < digits {
        return Err(undecodable(1 + good, &format!("truncated {form} escape")));
    }
    let text: String = body.into_iter().collect();
    match u32::from_str_radix(&text, 16) {
        Ok(code @ 0..=0x10_ffff) => {
            let character = char::from_u32(code).unwrap_or(char::REPLACEMENT_CHARACTER);
            Ok(Some((character, 1 + digits)))
        }
        _ => Err(undecodable(1 + digits, "illegal Unicode character")),
    }
}

/// `\N{NAME OF A CHARACTER}`
fn named(after: &str) -> Result<Option<(char, usize)>, Error> {
    let Some((name, _)) = after.strip_prefix("N{").and_then(|body| body.split_once('}')) else {
        return Ok(None);
    };
    if name.is_empty() {
        return Ok(None);
    }
    let length = name.len() + 3;
    let character =
        unicode_names2::character(name).ok_or_else(|| undecodable(length, "unknown Unicode character name"))?;
    Ok(Some((character, length)))
}

fn undecodable(last: usize, reason: &str) -> Error {
    PythonError::new(
        "UnicodeDecodeError",
        format!("'unicodeescape' codec can't decode bytes in position 0-{last}: {reason}"),
    )
    .into()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn escapes_are_pythons() {
        for (text, expected) in [
            (r"a\nb", "a\nb"),
            (r"\q\1\101\\n", "\\q\u{1}A\\n"),
            (r"\x41\u00e9\U0001F600", "Aé😀"),
            (r"\N{LATIN SMALL LETTER A}", "a"),
            (r"\x4", "\\x4"),
            ("end\\", "end\\"),
        ] {
            assert_eq!(decoded(text).unwrap(), expected, "{text}");
        }
        assert_eq!(
            decoded(r"\x1z").unwrap_err().to_string(),
            "'unicodeescape' codec can't decode bytes in position 0-2: truncated \\xXX escape"
        );
        assert!(decoded(r"\U00110000").is_err());
        assert!(decoded(r"\N{NO SUCH NAME}").is_err());
    }
}
