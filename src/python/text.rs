//! What Python's texts take for a blank or a digit, and how they split at blanks.

use std::borrow::Cow;

/// `str.isspace()` of one character: Unicode's white space and four separators of ASCII.
pub fn is_blank(character: char) -> bool {
    character.is_whitespace() || ('\x1c'..='\x1f').contains(&character)
}

/// The zeros of all scripts that write decimal numbers (Unicode 14, as Python 3.11); nine digits follow on each.
const ZEROS: [u32; 66] = [
    0x30, 0x660, 0x6f0, 0x7c0, 0x966, 0x9e6, 0xa66, 0xae6, 0xb66, 0xbe6, 0xc66, 0xce6, 0xd66, 0xde6, 0xe50, 0xed0,
    0xf20, 0x1040, 0x1090, 0x17e0, 0x1810, 0x1946, 0x19d0, 0x1a80, 0x1a90, 0x1b50, 0x1bb0, 0x1c40, 0x1c50, 0xa620,
    0xa8d0, 0xa900, 0xa9d0, 0xa9f0, 0xaa50, 0xabf0, 0xff10, 0x104a0, 0x10d30, 0x11066, 0x110f0, 0x11136, 0x111d0,
    0x112f0, 0x11450, 0x114d0, 0x11650, 0x116c0, 0x11730, 0x118e0, 0x11950, 0x11c50, 0x11d50, 0x11da0, 0x16a60,
    0x16ac0, 0x16b50, 0x1d7ce, 0x1d7d8, 0x1d7e2, 0x1d7ec, 0x1d7f6, 0x1e140, 0x1e2f0, 0x1e950, 0x1fbf0,
];

/// The value of a decimal digit of any script.
fn digit_value(character: char) -> Option<u32> {
    let code = u32::from(character);
    let zero = ZEROS[..ZEROS.partition_point(|zero| *zero <= code)].last()?;
    Some(code - zero).filter(|digit| *digit < 10)
}

/// The text with the digits of all scripts written as `0` to `9`.
pub fn in_ascii_digits(text: &str) -> Cow<'_, str> {
    if text.is_ascii() {
        return Cow::Borrowed(text);
    }
    let digit = |character| digit_value(character).and_then(|value| char::from_digit(value, 10));
    Cow::Owned(
        text.chars()
            .map(|character| digit(character).unwrap_or(character))
            .collect(),
    )
}

/// The control character that Python writes as a backslash and this letter, in texts and in patterns.
pub fn control_character(letter: char) -> Option<char> {
    Some(match letter {
        'a' => '\x07',
        'b' => '\x08',
        'f' => '\x0c',
        'n' => '\n',
        'r' => '\r',
        't' => '\t',
        'v' => '\x0b',
        _ => return None,
    })
}

/// `str.strip()`.
pub fn trim(text: &str) -> &str {
    text.trim_matches(is_blank)
}

/// `text.split(None, splits)`: the words, and what is left after so many splits. No limit is `None`.
pub fn words(text: &str, splits: Option<usize>) -> Vec<&str> {
    let mut words = Vec::new();
    let mut rest = text.trim_start_matches(is_blank);
    while !rest.is_empty() {
        let end = match splits {
            Some(splits) if words.len() >= splits => rest.len(),
            _ => rest.find(is_blank).unwrap_or(rest.len()),
        };
        let (word, after) = rest.split_at(end);
        words.push(word);
        rest = after.trim_start_matches(is_blank);
    }
    words
}

/// `text.rsplit(None, splits)`.
pub fn words_from_end(text: &str, splits: Option<usize>) -> Vec<&str> {
    let mut words = Vec::new();
    let mut rest = text.trim_end_matches(is_blank);
    while !rest.is_empty() {
        let start = match splits {
            Some(splits) if words.len() >= splits => 0,
            _ => {
                let last_blank = rest.char_indices().rev().find(|(_, c)| is_blank(*c));
                last_blank.map_or(0, |(index, c)| index + c.len_utf8())
            }
        };
        let (before, word) = rest.split_at(start);
        words.push(word);
        rest = before.trim_end_matches(is_blank);
    }
    words.reverse();
    words
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_are_split_as_python_splits_them() {
        assert_eq!(words("  a b  c  ", None), ["a", "b", "c"]);
        assert_eq!(words("  a b  c  ", Some(1)), ["a", "b  c  "]);
        assert_eq!(words("  a b  c  ", Some(3)), ["a", "b", "c"]);
        assert_eq!(words(" \x1c ", Some(0)), [""; 0]);
        assert_eq!(words_from_end("  a b  c  ", Some(0)), ["  a b  c"]);
        assert_eq!(words_from_end("  a b  c  ", Some(1)), ["  a b", "c"]);
        assert_eq!(words_from_end("  a b  c  ", None), ["a", "b", "c"]);
    }

    #[test]
    fn digits_of_all_scripts_are_digits() {
        assert_eq!(in_ascii_digits("\u{661}\u{662}.\u{1d7ff}x\u{66a}"), "12.9x\u{66a}");
        assert!(ZEROS.is_sorted());
    }
}
