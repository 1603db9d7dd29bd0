//! Patterns that were compiled lately. Templates come again and again, each time with the same few patterns, and to compile
//! one takes longer than all else that is done with it; Python keeps some hundred of them for the same reason.

use std::sync::{Arc, LazyLock};

use fancy_regex::Regex;
use moka::sync::Cache;

use super::build::{SizeLimits, build};
use super::error::RegexError;

/// Patterns come from tenants, and what they leave behind must not add up: it is weighed by what it may be at most, in
/// units of a mebibyte (instructions times the size of a part). What is larger than the second size is not kept.
const HEAVIEST: u64 = 128;
const SIZES: [(SizeLimits, u32); 2] = [
    (
        SizeLimits {
            instructions: 16,
            program: 64 * 1024,
            states: 64 * 1024,
        },
        1,
    ),
    (
        SizeLimits {
            instructions: 128,
            program: 256 * 1024,
            states: 64 * 1024,
        },
        32,
    ),
];

#[derive(Clone)]
struct Kept {
    regex: Arc<Regex>,
    weight: u32,
}

static COMPILED: LazyLock<Cache<(String, usize), Kept>> = LazyLock::new(|| {
    Cache::builder()
        .max_capacity(HEAVIEST)
        .weigher(|_, kept: &Kept| kept.weight)
        .build()
});

/// Compiles a pattern in Rust's dialect, or remembers it. Its matches go back as often at most.
pub(super) fn compiled(translated: &str, most_backtracks: usize) -> Result<Arc<Regex>, RegexError> {
    let key = (translated.to_owned(), most_backtracks);
    if let Some(known) = COMPILED.get(&key) {
        return Ok(known.regex);
    }
    for (limits, weight) in SIZES {
        if let Ok(regex) = build(translated, limits, most_backtracks) {
            let regex = Arc::new(regex);
            let kept = Kept {
                regex: regex.clone(),
                weight,
            };
            COMPILED.insert(key, kept);
            return Ok(regex);
        }
    }
    build(translated, SizeLimits::LARGEST, most_backtracks).map(Arc::new)
}

#[cfg(test)]
mod tests {
    use super::super::writer::{Repetitions, written};
    use super::super::{Flags, parsed};
    use super::*;

    const FEW: usize = 10;

    fn is_kept(pattern: &str) -> bool {
        COMPILED.contains_key(&(pattern.to_owned(), FEW))
    }

    #[test]
    fn what_is_small_is_compiled_once() {
        let pattern = "\\A(?:[a-z]+-what-is-small)";
        let first = compiled(pattern, FEW).expect("it is a pattern");
        let second = compiled(pattern, FEW).expect("it is a pattern");
        assert!(Arc::ptr_eq(&first, &second));
    }

    #[test]
    fn what_passwords_must_be_like_is_kept() {
        let pattern = "(?=^.{6,255}$)((?=.*\\d)(?=.*[A-Z])(?=.*[a-z])|(?=.*\\d)(?=.*[^A-Za-z0-9])(?=.*[a-z])|\
                       (?=.*[^A-Za-z0-9])(?=.*[A-Z])(?=.*[a-z])|(?=.*\\d)(?=.*[A-Z])(?=.*[^A-Za-z0-9]))^.*";
        let pattern = parsed(pattern, Flags::default()).expect("it is a pattern");
        let written = written(&pattern, Repetitions::Unrolled);
        assert!(compiled(&written, FEW).is_ok());
        assert!(is_kept(&written));
    }

    #[test]
    fn what_is_large_is_compiled_but_not_kept() {
        let pattern = "\\A(?:\\w{100}-what-is-large)";
        assert!(compiled(pattern, FEW).is_ok());
        assert!(!is_kept(pattern));
    }

    #[test]
    fn what_is_none_is_refused_each_time() {
        for _ in 0..2 {
            assert!(compiled("(", FEW).is_err());
        }
        assert!(!is_kept("("));
    }
}
