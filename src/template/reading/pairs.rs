//! Characters that are written as the two halves of a pair: `"\ud83d\ude00"`, as JSON has them.
//!
//! libyaml refuses such an escape. Heat then reads the text again with PyYAML's own scanner, which takes each half for a
//! character, and what leaves the program as JSON has the character that the pair stands for.

use super::events::Problem;

const REFUSED: &str = "found invalid Unicode character escape code";

/// So many scalars with pairs are read. Each is found by reading the text until there.
pub(super) const MOST: usize = 64;

/// The text with the pairs of the scalar that is complained of written as one escape each; `None` if there is no pair at
/// that place.
pub(super) fn joined(text: &str, problem: &Problem) -> Option<String> {
    if problem.text != REFUSED {
        return None;
    }
    // The place is behind the backslash and the letter.
    let start = problem.mark.index.checked_sub(2)?;
    let start = text.char_indices().nth(start)?.0;
    let (before, scalar) = text.split_at(start);
    pair(scalar)?;
    let mut output = String::with_capacity(text.len());
    output.push_str(before);
    let mut rest = scalar;
    while !rest.is_empty() && !rest.starts_with('"') {
        if let Some((character, behind)) = pair(rest) {
            output.push_str(&format!("\\U{:08x}", u32::from(character)));
            rest = behind;
            continue;
        }
        let length = rest
            .chars()
            .take(if rest.starts_with('\\') { 2 } else { 1 })
            .map(char::len_utf8)
            .sum();
        let (copied, behind) = rest.split_at(length);
        output.push_str(copied);
        rest = behind;
    }
    output.push_str(rest);
    Some(output)
}

/// The character of a pair of escapes, and what follows.
fn pair(text: &str) -> Option<(char, &str)> {
    let (high, text) = escape(text)?;
    let (low, text) = escape(text)?;
    let mut decoded = char::decode_utf16([high, low]);
    match (decoded.next(), decoded.next()) {
        (Some(Ok(character)), None) => Some((character, text)),
        _ => None,
    }
}

fn escape(text: &str) -> Option<(u16, &str)> {
    let digits = text.strip_prefix("\\u")?;
    let (digits, rest) = digits.split_at_checked(4)?;
    let is_hexadecimal = digits.bytes().all(|digit| digit.is_ascii_hexdigit());
    is_hexadecimal.then_some((u16::from_str_radix(digits, 16).ok()?, rest))
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::super::read_yaml;

    #[test]
    fn pairs_are_one_character_where_escapes_are_read() {
        let text = "a: \"x\\ud83d\\ude00\\\\ud83d \\\"\\uD83D\\uDE01\"\nb: '\\ud83d\\ude00'\nc: \\ud83d\\ude00\nd: \"\\ud83d\\ude02\"\n";
        let expected = json!({"a": "x😀\\ud83d \"😁", "b": "\\ud83d\\ude00", "c": "\\ud83d\\ude00", "d": "😂"});
        assert_eq!(read_yaml(text).unwrap(), Some(expected));
    }

    #[test]
    fn halves_are_refused() {
        for text in [
            "\"\\ud83d\"",
            "\"\\ud83dx\\ude00\"",
            "\"\\ude00\\ud83d\"",
            "\"\\ud83d\\n\"",
            "\"\\U00110000\"",
        ] {
            assert!(read_yaml(text).is_err(), "{text}");
        }
        let many = "- \"\\ud83d\\ude00\"\n".repeat(5000);
        assert!(read_yaml(&many).is_err());
    }
}
