//! RPC versions: what serves a version serves all lower minor versions of the same major version.

/// What is asked for is of another version than this program has.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("this version of the method is not served")]
pub struct Unserved;

/// Whether who serves `served` may take a request for `requested`. Methods in a namespace are served by nobody here.
pub(super) fn check(served: &str, namespace: Option<&str>, requested: &str) -> Result<(), Unserved> {
    match namespace.is_none() && is_compatible(served, requested) {
        true => Ok(()),
        false => Err(Unserved),
    }
}

/// Whether an implementation of `implemented` serves a request for `requested`. What is no version is served by none.
pub(super) fn is_compatible(implemented: &str, requested: &str) -> bool {
    let (Some(implemented), Some(requested)) = (parse(implemented), parse(requested)) else {
        return false;
    };
    requested.0 == implemented.0 && (requested.1, requested.2) <= (implemented.1, implemented.2)
}

fn parse(version: &str) -> Option<(u32, u32, u32)> {
    let mut parts = version.split('.').map(str::parse);
    let major = parts.next()?.ok()?;
    let minor = parts.next()?.ok()?;
    let revision = parts.next().unwrap_or(Ok(0)).ok()?;
    Some((major, minor, revision))
}

#[cfg(test)]
mod tests {
    use super::*;
    use rstest::rstest;

    #[rstest]
    #[case("1.36", "1.0", true)]
    #[case("1.36", "1.36", true)]
    #[case("1.36", "1.37", false)]
    #[case("1.36", "2.0", false)]
    #[case("1.36", "0.9", false)]
    #[case("1.36", "1.36.1", false)]
    #[case("1.36.2", "1.36.1", true)]
    #[case("1.36", "1.35.9", true)]
    #[case("1.36", "1", false)]
    #[case("1.36", "one.two", false)]
    #[case("1.36", "", false)]
    fn compares(#[case] implemented: &str, #[case] requested: &str, #[case] compatible: bool) {
        assert_eq!(is_compatible(implemented, requested), compatible);
    }
}
