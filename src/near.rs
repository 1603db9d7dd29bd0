//! The name that was meant by a misspelt one.

use std::sync::atomic::{AtomicUsize, Ordering};

/// Comparisons of which the misspelt names of one process may make use. Thousands of names that are all unknown, beside thousands
/// of known ones, need no hint for each.
const MOST_COMPARISONS: usize = 1_000_000;

static COMPARISONS: AtomicUsize = AtomicUsize::new(0);

/// The nearest of the known names, if it is near enough to be meant.
pub fn nearest<'a>(name: &str, known: impl IntoIterator<Item = &'a str>) -> Option<&'a str> {
    let wanted = name.to_lowercase();
    let length = wanted.chars().count();
    let most = tolerance(length);
    let best = known
        .into_iter()
        // Comparing takes time that grows with the product of the lengths, and names may be whole patterns.
        .filter(|candidate| candidate.chars().count().abs_diff(length) <= most && *candidate != name)
        .take_while(|_| COMPARISONS.fetch_add(1, Ordering::Relaxed) < MOST_COMPARISONS)
        .map(|candidate| {
            (
                strsim::damerau_levenshtein(&wanted, &candidate.to_lowercase()),
                candidate,
            )
        })
        .min_by_key(|(distance, _)| *distance)?;
    let (distance, candidate) = best;
    (distance <= most).then_some(candidate)
}

/// How many letters may be wrong in a name of that length.
fn tolerance(length: usize) -> usize {
    match length {
        0..=2 => 0,
        3..=5 => 1,
        6..=10 => 2,
        _ => 3,
    }
}

/// `is "x" meant?`, if there is such a name.
pub fn question<'a>(name: &str, known: impl IntoIterator<Item = &'a str>) -> Option<String> {
    nearest(name, known).map(|near| format!("is \"{near}\" meant?"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_what_is_near_is_meant() {
        let known = ["get_param", "get_attr", "flavor", "x"];
        assert_eq!(nearest("get_parm", known), Some("get_param"));
        assert_eq!(nearest("Flavour", known), Some("flavor"));
        assert_eq!(nearest("image", known), None);
        assert_eq!(nearest("y", known), None);
        assert_eq!(nearest("flavor", ["flavor"]), None);
    }

    #[test]
    fn what_is_far_longer_is_not_compared() {
        let pattern = "(?:".repeat(80_000);
        let begun = std::time::Instant::now();
        assert_eq!(nearest(&pattern, ["parameters"; 1000]), None);
        assert!(begun.elapsed() < std::time::Duration::from_secs(2));
    }
}
