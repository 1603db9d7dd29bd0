//! Python's `re` dialect on top of fancy-regex.
//!
//! A pattern is read as Python reads it, and refused for the same reasons in the same words; then it is written down in
//! Rust's dialect. Backtracking is bounded: patterns and texts both come from tenants.

mod build;
mod cache;
mod error;
mod escapes;
mod parser;
mod source;
mod tree;
mod writer;

use std::sync::Arc;

pub(super) use build::{SizeLimits, build};
use cache::compiled;
pub use error::RegexError;
pub use tree::Flags;
use tree::{Pattern, check};
use writer::{Repetitions, written};

/// A compiled pattern that matches as `re.match` does: from the start of the text.
#[derive(Debug, Clone)]
pub struct PythonRegex {
    compiled: Arc<fancy_regex::Regex>,
}

/// So many states, of some tens of bytes each, are never within the limits.
const LARGEST_UNROLLED: u64 = 600_000;
const LONGEST_PATTERN: usize = 64 * 1024;

impl PythonRegex {
    pub fn compile(pattern: &str) -> Result<Self, RegexError> {
        let pattern = parsed(pattern, Flags::default())?;
        let compiled = in_rust(&pattern, |written| compiled(format!("\\A{written}")))?;
        Ok(Self { compiled })
    }

    /// Where the match that starts at the beginning of the text ends, in bytes.
    pub fn match_end(&self, text: &str) -> Result<Option<usize>, RegexError> {
        self.compiled
            .find(text)
            .map(|found| found.map(|found| found.end()))
            .map_err(|error| RegexError::TooManySteps(Box::new(error)))
    }

    /// Whether the match that starts at the beginning reaches the end. (Python's `fullmatch` would try further
    /// alternatives; callers of Python's `match` who look at its end do not.)
    pub fn match_reaches_end(&self, text: &str) -> Result<bool, RegexError> {
        Ok(self.match_end(text)? == Some(text.len()))
    }
}

/// Reads a pattern.
pub(super) fn parsed(pattern: &str, flags: Flags) -> Result<Pattern, RegexError> {
    if pattern.len() > LONGEST_PATTERN {
        return Err(RegexError::TooComplex);
    }
    let pattern = parser::parse(pattern, flags)?;
    check(&pattern)?;
    Ok(pattern)
}

/// Compiles a pattern in Rust's dialect. Repetitions that would take too much memory if each time had its own part of the
/// program are counted while the pattern is matched.
pub(super) fn in_rust<T>(
    pattern: &Pattern,
    compile: impl Fn(String) -> Result<T, RegexError>,
) -> Result<T, RegexError> {
    let counted = || compile(written(pattern, Repetitions::Counted));
    // To find out takes longer than to match.
    if pattern.unrolled_size() > LARGEST_UNROLLED {
        return counted();
    }
    match compile(written(pattern, Repetitions::Unrolled)) {
        Err(RegexError::Compile(_)) => counted(),
        done => done,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn matches(pattern: &str, text: &str) -> bool {
        PythonRegex::compile(pattern).unwrap().match_reaches_end(text).unwrap()
    }

    #[test]
    fn python_semantics() {
        for (pattern, text, expected) in [
            ("[A-Z]+[0-9]*", "AB12", true),
            ("abc", "abcd", false),
            ("a|ab", "ab", false),
            ("a$", "a", true),
            ("[[a]", "[", true),
            ("[&&a]", "&", true),
            ("[]a]", "]", true),
            ("[a-]", "-", true),
            ("a{,3}", "aaa", true),
            ("a{x}", "a{x}", true),
            ("{", "{", true),
            ("(?i)ABC", "abc", true),
            ("(?P<q>.)x(?P=q)", "axa", true),
            ("(a)\\1", "aa", true),
            ("\\Aab\\Z", "ab", true),
            ("\\101", "A", true),
            ("[^\\s]+", "ab", true),
            ("a(?#note)b", "ab", true),
            ("(?<=a)b|a", "a", true),
            ("\\w+", "äö_1", true),
            ("(?a)\\w+", "ä", false),
            ("(a)?(?(1)b|c)", "c", true),
            ("[a b]+", "a b", true),
            ("\\-\\/\\.", "-/.", true),
            ("a(?=b)*c", "ac", true),
            ("a(?=b)+b", "ab", true),
            ("a(?!c){0,2}c", "ac", true),
            ("^a$", "a", true),
        ] {
            assert_eq!(matches(pattern, text), expected, "{pattern} on {text}");
        }
    }

    #[test]
    fn what_python_refuses_is_refused() {
        for pattern in [
            "\\z", "a)(b", "(\\1)", "(a)\\2", "(?(1)a)", "(?(x)a)", "(?P=x)", "a\\b*", "^{2}", "$?", "\\h", "[a", "(",
            "\\", "*a", "[\\q]", "\\x1", "a{3,2}", "(?<n>a)", "(?P<1>a)", "(?P<>a)", "(?Pa)", "\\400", "(?#a", "(?",
            "(?<a",
        ] {
            assert!(PythonRegex::compile(pattern).is_err(), "{pattern}");
        }
        assert!(PythonRegex::compile(&"(".repeat(100_000)).is_err());
        assert!(PythonRegex::compile(&format!("{}{}", "(".repeat(500), ")".repeat(500))).is_err());
    }

    /// As Python 3.11 tells them.
    #[test]
    fn reasons_are_pythons() {
        for (pattern, reason) in [
            ("|{2}", "nothing to repeat at position 1"),
            ("a**", "multiple repeat at position 2"),
            (
                "(a)(?(1)a|b|c)",
                "conditional backref with more than two branches at position 11",
            ),
            ("(?<=a|bc)x", "look-behind requires fixed-width pattern"),
            (
                "(?<=(a)\\1)",
                "cannot refer to group defined in the same lookbehind subpattern at position 9",
            ),
            ("(\\1)", "cannot refer to an open group at position 1"),
            ("(a)\\2", "invalid group reference 2 at position 4"),
            ("[a", "unterminated character set at position 0"),
            ("[b-a]", "bad character range b-a at position 1"),
            ("x(a", "missing ), unterminated subpattern at position 1"),
            ("a)", "unbalanced parenthesis at position 1"),
            ("(\\", "bad escape (end of pattern) at position 1"),
            ("a\n*b)", "unbalanced parenthesis at position 4 (line 2, column 3)"),
            (
                "a(?i)b",
                "global flags not at the start of the expression at position 1",
            ),
            (
                "(?P<a>b)(?P<a>c)",
                "redefinition of group name 'a' as group 2; was group 1 at position 12",
            ),
            ("a{4294967295}", "the repetition number is too large"),
        ] {
            let told = PythonRegex::compile(pattern).map(drop).unwrap_err().to_string();
            assert_eq!(told, reason, "{pattern}");
        }
    }

    #[test]
    fn what_is_repeated_often_is_counted() {
        let text = "a".repeat(3000);
        assert!(matches(".{1,65535}", &text));
        assert!(matches(".{1,20000}?b", &format!("{text}b")));
        assert!(matches("(?:(?:a{1,500}){1,500}){1,500}", &text));
        assert!(!matches("\\w{3001,70000}", &text));
    }

    #[test]
    fn words_are_pythons() {
        for (pattern, text, expected) in [
            ("\\B", "", false),
            ("a\\Bb", "ab", true),
            ("\\w", "²", true),
            // A mark belongs to no word.
            ("e\\b\u{301}", "e\u{301}", true),
            ("(?a)\\W", "é", true),
            ("\\ud800?a", "a", true),
            ("[^\\ud800]", "\n", true),
        ] {
            assert_eq!(matches(pattern, text), expected, "{pattern} on {text}");
        }
    }

    #[test]
    fn backtracking_is_bounded() {
        let regex = PythonRegex::compile("(?=(a+))\\1*(?:a|aa|aaa)*(?!c)b").unwrap();
        let _ = regex.match_reaches_end(&"a".repeat(2000));
    }
}
