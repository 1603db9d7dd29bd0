//! Python's `re` dialect on top of fancy-regex.
//!
//! A pattern is read as Python reads it, and refused for the same reasons in the same words; then it is written down in
//! Rust's dialect. Backtracking is bounded: patterns and texts both come from tenants.

mod build;
mod cache;
mod cost;
mod error;
mod escapes;
mod parser;
mod patience;
mod program;
mod source;
mod tree;
mod writer;

pub use error::RegexError;
pub use patience::Patience;
pub(super) use program::Program;
pub use tree::Flags;
use tree::{Pattern, check};

/// A compiled pattern that matches as `re.match` does: from the start of the text.
#[derive(Debug, Clone)]
pub struct PythonRegex {
    program: Program,
}

const LONGEST_PATTERN: usize = 64 * 1024;

impl PythonRegex {
    pub fn compile(pattern: &str, patience: &Patience) -> Result<Self, RegexError> {
        let pattern = parsed(pattern, Flags::default())?;
        let program = Program::compile(&pattern, patience, |translated| format!("\\A{translated}"))?;
        Ok(Self { program })
    }

    /// Where the match that starts at the beginning of the text ends, in bytes.
    pub fn match_end(&self, text: &str) -> Result<Option<usize>, RegexError> {
        let find = |regex: &fancy_regex::Regex| Ok(regex.find(text)?.map(|found| found.end()));
        // What it remembers of a long text goes with the clone: patterns of parameters are kept as long as their stacks.
        self.program.clone().run(text.len(), find)
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

#[cfg(test)]
mod tests {
    use super::*;

    fn compile(pattern: &str) -> Result<PythonRegex, RegexError> {
        PythonRegex::compile(pattern, &Patience::default())
    }

    fn matches(pattern: &str, text: &str) -> bool {
        compile(pattern).unwrap().match_reaches_end(text).unwrap()
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
            assert!(compile(pattern).is_err(), "{pattern}");
        }
        assert!(compile(&"(".repeat(100_000)).is_err());
        assert!(compile(&format!("{}{}", "(".repeat(500), ")".repeat(500))).is_err());
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
            let told = compile(pattern).map(drop).unwrap_err().to_string();
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
    fn what_takes_for_ever_is_refused() {
        let many = "a".repeat(200);
        let very_many = "a".repeat(400_000);
        for (pattern, text) in [
            ("(?=(a+))\\1*(?:a|aa|aaa)*(?!c)b", &many),
            ("(a|a?)+$", &format!("{many}b")),
            ("(?:(?=.*z)a)*", &very_many),
            ("(?:(?=.*)a)*", &very_many),
            ("(?:(?:(?>a?){60000}){60000}){60000}$", &String::new()),
            ("()(?:(?:\\1){60000}){60000}", &String::new()),
            ("(?:(a)?(?(1)a|){60000}){60000}", &String::new()),
        ] {
            let told = compile(pattern).unwrap().match_reaches_end(text);
            assert!(
                matches!(told, Err(RegexError::TooManySteps) | Ok(false)),
                "{pattern}: {told:?}"
            );
        }
    }

    #[test]
    fn patterns_of_one_template_share_their_patience() {
        let patience = Patience::default();
        let regex = || PythonRegex::compile("(?:a|a?)+$", &patience).unwrap();
        let dear = format!("{}b", "a".repeat(40));
        let refused = (0..100).filter(|_| regex().match_reaches_end(&dear).is_err()).count();
        assert_eq!(refused, 100);
        // Nothing is left for what takes long; of what takes hardly any time there may be much more.
        for _ in 0..10_000 {
            assert!(regex().match_reaches_end("aaa").unwrap());
        }
    }
}
