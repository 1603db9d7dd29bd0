//! `$name`, `${name}`, `${group.name}`, `$$` and `\$` in values.

use super::error::SettingsError;

/// A piece of a value.
#[derive(Debug, PartialEq, Eq)]
pub enum Piece<'a> {
    Literal(&'a str),
    Reference(&'a str),
}

/// Cut a value at its references. A `$` that starts none stays as it is.
pub fn pieces(text: &str) -> Vec<Piece<'_>> {
    let mut pieces = Vec::new();
    let mut rest = text;
    while let Some(at) = rest.find('$') {
        let escaped_by_backslash = rest[..at].ends_with('\\');
        let literal_end = if escaped_by_backslash { at - 1 } else { at };
        push_literal(&mut pieces, &rest[..literal_end]);
        let after = &rest[at + 1..];
        if escaped_by_backslash {
            push_literal(&mut pieces, &rest[at..at + 1]);
            rest = after;
        } else if let Some(behind) = after.strip_prefix('$') {
            push_literal(&mut pieces, &rest[at..at + 1]);
            rest = behind;
        } else if let Some((name, behind)) = reference(after) {
            pieces.push(Piece::Reference(name));
            rest = behind;
        } else {
            push_literal(&mut pieces, &rest[at..at + 1]);
            rest = after;
        }
    }
    push_literal(&mut pieces, rest);
    pieces
}

fn push_literal<'a>(pieces: &mut Vec<Piece<'a>>, text: &'a str) {
    if !text.is_empty() {
        pieces.push(Piece::Literal(text));
    }
}

/// The name at the start of what follows a `$`, and what is behind it.
fn reference(after: &str) -> Option<(&str, &str)> {
    if let Some(braced) = after.strip_prefix('{') {
        let length = name_length(braced);
        let behind = braced[length..].strip_prefix('}')?;
        return (length > 0).then_some((&braced[..length], behind));
    }
    let length = name_length(after);
    (length > 0).then_some((&after[..length], &after[length..]))
}

fn name_length(text: &str) -> usize {
    let starts_well = text.starts_with(|first: char| first == '_' || first.is_ascii_alphabetic());
    if !starts_well {
        return 0;
    }
    text.find(|next: char| !(next == '_' || next == '.' || next.is_ascii_alphanumeric()))
        .unwrap_or(text.len())
}

/// `value` with every reference replaced by what `look_up` says.
pub fn substitute(
    text: &str,
    mut look_up: impl FnMut(&str) -> Result<String, SettingsError>,
) -> Result<String, SettingsError> {
    if !text.contains('$') {
        return Ok(text.to_owned());
    }
    let mut result = String::new();
    for piece in pieces(text) {
        match piece {
            Piece::Literal(literal) => result.push_str(literal),
            Piece::Reference(name) => result.push_str(&look_up(name)?),
        }
    }
    Ok(result)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn references_are_found_and_dollars_kept() {
        use Piece::{Literal, Reference};
        let cases: [(&str, &[Piece<'_>]); 7] = [
            ("plain", &[Literal("plain")]),
            ("/x/$host/y", &[Literal("/x/"), Reference("host"), Literal("/y")]),
            (
                "${database.max_retries}s",
                &[Reference("database.max_retries"), Literal("s")],
            ),
            ("5$$", &[Literal("5"), Literal("$")]),
            ("\\$host", &[Literal("$"), Literal("host")]),
            ("${open", &[Literal("$"), Literal("{open")]),
            ("$1", &[Literal("$"), Literal("1")]),
        ];
        for (text, expected) in cases {
            assert_eq!(pieces(text), expected, "{text}");
        }
    }
}
