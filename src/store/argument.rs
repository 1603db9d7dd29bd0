//! What a unit of work keeps of its arguments.
//!
//! A unit outlives a caller that goes away and may run more than once, so it owns what it was given and lends it to
//! each run in the form in which it came.

/// A type of argument: borrowed where it was called with, owned while it is kept.
pub trait Argument<'a>: Sized {
    type Kept: Send + Sync + 'static;

    fn keep(self) -> Self::Kept;
    fn lend(kept: &'a Self::Kept) -> Self;
}

impl<'a, T> Argument<'a> for &'a T
where
    T: ToOwned + ?Sized,
    T::Owned: Send + Sync + 'static,
{
    type Kept = T::Owned;

    fn keep(self) -> T::Owned {
        self.to_owned()
    }

    fn lend(kept: &'a T::Owned) -> Self {
        std::borrow::Borrow::borrow(kept)
    }
}

impl<'a> Argument<'a> for Option<&'a str> {
    type Kept = Option<String>;

    fn keep(self) -> Option<String> {
        self.map(str::to_owned)
    }

    fn lend(kept: &'a Option<String>) -> Self {
        kept.as_deref()
    }
}

macro_rules! copied {
    ($($kind:ty),* $(,)?) => { $(
        impl<'a> Argument<'a> for $kind {
            type Kept = $kind;

            fn keep(self) -> $kind {
                self
            }

            fn lend(kept: &'a $kind) -> Self {
                *kept
            }
        }
    )* };
}

copied! { bool, i64, u64, Option<i64>, chrono::NaiveDateTime, super::Deleted, super::EventLimits }
