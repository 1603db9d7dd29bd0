//! Names that were meant by misspelt ones.

pub use crate::near::{nearest, question};

/// Whether a name that is missing is one that is given, but misspelt.
pub fn is_misspelt<'a>(missing: &str, given: impl IntoIterator<Item = &'a str>, known: &[&str]) -> bool {
    let mut unknown = given.into_iter().filter(|name| !known.contains(name));
    unknown.any(|name| nearest(name, known.iter().copied()) == Some(missing))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_missing_may_be_there_under_a_misspelt_name() {
        let known = ["flavor", "image", "imago"];
        assert!(is_misspelt("flavor", ["flavour", "image"], &known));
        assert!(!is_misspelt("imago", ["image"], &known), "that one is meant");
        assert!(!is_misspelt("flavor", [], &known));
    }
}
