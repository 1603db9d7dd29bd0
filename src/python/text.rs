//! What Python's `str` methods take for a blank, and how they split at blanks.

/// `str.isspace()` of one character: Unicode's white space and four separators of ASCII.
pub fn is_blank(character: char) -> bool {
    character.is_whitespace() || ('\x1c'..='\x1f').contains(&character)
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
}
