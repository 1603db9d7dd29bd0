//! Patterns that were compiled lately. Templates come again and again, each time with the same few patterns, and to compile
//! one takes longer than all else that is done with it; Python keeps some hundred of them for the same reason.

use std::sync::{Arc, LazyLock};

use fancy_regex::Regex;
use moka::sync::Cache;

use super::regex::{RegexError, SizeLimits, build};

const MOST: u64 = 64;
/// What is larger is not kept: patterns come from tenants, and what they leave behind must not add up.
const KEPT: SizeLimits = SizeLimits {
    instructions: 16,
    program: 64 * 1024,
    states: 64 * 1024,
};

static COMPILED: LazyLock<Cache<String, Arc<Regex>>> = LazyLock::new(|| Cache::new(MOST));

/// Compiles a pattern in Rust's dialect, or remembers it.
pub(super) fn compiled(translated: String) -> Result<Arc<Regex>, RegexError> {
    if let Some(known) = COMPILED.get(&translated) {
        return Ok(known);
    }
    let Ok(small) = build(&translated, KEPT) else {
        return build(&translated, SizeLimits::LARGEST).map(Arc::new);
    };
    let small = Arc::new(small);
    COMPILED.insert(translated, small.clone());
    Ok(small)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn is_kept(pattern: &str) -> bool {
        COMPILED.contains_key(pattern)
    }

    #[test]
    fn what_is_small_is_compiled_once() {
        let pattern = "\\A(?:[a-z]+-what-is-small)";
        let first = compiled(pattern.to_owned()).expect("it is a pattern");
        let second = compiled(pattern.to_owned()).expect("it is a pattern");
        assert!(Arc::ptr_eq(&first, &second));
    }

    #[test]
    fn what_is_large_is_compiled_but_not_kept() {
        let pattern = "\\A(?:\\w{100}-what-is-large)";
        assert!(compiled(pattern.to_owned()).is_ok());
        assert!(!is_kept(pattern));
    }

    #[test]
    fn what_is_none_is_refused_each_time() {
        for _ in 0..2 {
            assert!(compiled("(".to_owned()).is_err());
        }
        assert!(!is_kept("("));
    }
}
