//! What one evaluation may use, what it knows of the world, and what it has used so far.

use std::cell::{Cell, RefCell};
use std::collections::HashMap;
use std::rc::{Rc, Weak};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};

use chrono::NaiveDateTime;

use super::context::Context;
use super::error::Error;
use super::library::ordering::Ordered;
use super::library::regex::{Pattern, PatternFlags};
use super::stack::Stack;
use super::value::Value;
use crate::python::PythonError;
use crate::python::regex::Patience;

/// `[yaql]` of heat.conf. What is not positive is no limit (of the iterators: what is negative).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Limits {
    /// How many elements a collection may have.
    pub iterators: i64,
    /// How many bytes a value may take, as Python counts them.
    pub memory: i64,
}

impl Default for Limits {
    fn default() -> Self {
        Self {
            iterators: 200,
            memory: 10_000,
        }
    }
}

/// What expressions can ask about the world: it is told them beforehand.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Surroundings {
    /// In UTC.
    pub now: NaiveDateTime,
    /// How far local time is ahead of UTC, in seconds.
    pub local_offset: i32,
    /// Where random numbers start from.
    pub seed: u64,
}

/// The oracle needs some minutes for so many steps.
const MOST_STEPS: u64 = 3_000_000;
const STEPS_TOGETHER: u64 = 5 * MOST_STEPS;
/// Python ends after a thousand frames, of which each call takes six at least.
const MOST_CALLS: u32 = 200;
const MOST_ITERATORS: u32 = 1000;
/// How many values may be inside each other.
const DEEPEST_VALUE: u32 = 1000;
/// Python takes two frames for each pair of parentheses.
const MOST_PARENTHESES: u32 = 500;
/// A bound for single values where the operator has set none.
const LARGEST_VALUE: usize = 64 * 1024 * 1024;

/// What the expressions of one template may cost together, however many there are. Clones share it.
#[derive(Debug, Clone)]
pub struct Allowance {
    steps: Arc<AtomicU64>,
    pub patience: Patience,
}

impl Default for Allowance {
    fn default() -> Self {
        Self {
            steps: Arc::new(AtomicU64::new(STEPS_TOGETHER)),
            patience: Patience::default(),
        }
    }
}

pub struct Engine {
    pub limits: Limits,
    pub allowance: Allowance,
    pub surroundings: Surroundings,
    steps_left_to_all: u64,
    steps: Cell<u64>,
    calls: Cell<u32>,
    iterators: Cell<u32>,
    stack: Rc<Stack>,
    parentheses: Cell<u32>,
    random: Cell<u64>,
    patterns: RefCell<HashMap<(String, PatternFlags), Rc<Pattern>>>,
    /// What may refer to itself, to be taken apart at the end.
    defining: RefCell<Vec<Context>>,
    ordered: RefCell<Vec<Weak<Ordered>>>,
}

impl Allowance {
    #[cfg(test)]
    fn of_steps(steps: u64) -> Self {
        Self {
            steps: Arc::new(AtomicU64::new(steps)),
            ..Self::default()
        }
    }
}

impl Engine {
    pub fn new(limits: Limits, surroundings: Surroundings, allowance: &Allowance, stack: Rc<Stack>) -> Self {
        Self {
            limits,
            steps_left_to_all: allowance.steps.load(Relaxed),
            allowance: allowance.clone(),
            surroundings,
            steps: Cell::new(0),
            calls: Cell::new(0),
            iterators: Cell::new(0),
            stack,
            parentheses: Cell::new(0),
            random: Cell::new(surroundings.seed),
            patterns: RefCell::default(),
            defining: RefCell::default(),
            ordered: RefCell::default(),
        }
    }

    /// Pays for work.
    pub fn spend(&self, steps: u64) -> Result<(), Error> {
        let spent = self.steps.get().saturating_add(steps);
        self.steps.set(spent);
        if spent > MOST_STEPS {
            return Err(Error::TooManySteps(MOST_STEPS));
        }
        if spent > self.steps_left_to_all {
            return Err(Error::TooManyStepsTogether(STEPS_TOGETHER));
        }
        Ok(())
    }

    /// Goes one call deeper, until the guard is dropped.
    pub fn enter_call(&self) -> Result<Depth<'_>, Error> {
        self.deeper(&self.calls, MOST_CALLS)
    }

    /// Asks an iterator that may ask the next one.
    pub fn enter_iterator(&self) -> Result<Depth<'_>, Error> {
        self.deeper(&self.iterators, MOST_ITERATORS)
    }

    /// Goes into parentheses.
    pub fn enter_parentheses(&self) -> Result<Depth<'_>, Error> {
        self.deeper(&self.parentheses, MOST_PARENTHESES)
    }

    fn deeper<'a>(&self, depth: &'a Cell<u32>, most: u32) -> Result<Depth<'a>, Error> {
        self.spend(1)?;
        self.stack.check()?;
        if depth.get() >= most {
            return Err(Error::recursion());
        }
        depth.set(depth.get() + 1);
        Ok(Depth(depth))
    }

    /// Holds a value to the memory quota.
    pub fn check_memory(&self, value: &Value) -> Result<(), Error> {
        self.check_sizes([(1, value.size())])
    }

    /// The quota for several values, each of them so many times. It is exceeded as soon as a part of the sum is.
    pub fn check_sizes(&self, sizes: impl IntoIterator<Item = (i128, usize)>) -> Result<(), Error> {
        if self.limits.memory <= 0 {
            return Ok(());
        }
        let mut total: i128 = 0;
        for (times, size) in sizes {
            total = total.saturating_add(times.saturating_mul(size as i128));
            if total > i128::from(self.limits.memory) {
                return Err(Error::MemoryQuotaExceeded);
            }
        }
        Ok(())
    }

    /// To be asked before a value is made: one that the quota would refuse afterwards, or that no machine could hold, is
    /// refused without making it.
    pub fn check_future_size(&self, bytes: usize) -> Result<(), Error> {
        self.check_sizes([(1, bytes)])?;
        if bytes > LARGEST_VALUE {
            return Err(PythonError::too_much_memory().into());
        }
        const BYTES_A_STEP: usize = 64;
        self.spend((bytes / BYTES_A_STEP) as u64)
    }

    pub fn check_nesting(&self, value: &Value) -> Result<(), Error> {
        if value.nesting() > DEEPEST_VALUE {
            return Err(Error::recursion());
        }
        Ok(())
    }

    /// The next random number (splitmix64).
    pub fn random(&self) -> u64 {
        let state = self.random.get().wrapping_add(0x9e37_79b9_7f4a_7c15);
        self.random.set(state);
        let mixed = (state ^ (state >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        let mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        mixed ^ (mixed >> 31)
    }

    /// A regular expression; each is compiled once.
    pub fn pattern(&self, source: &str, flags: PatternFlags) -> Result<Rc<Pattern>, Error> {
        const MOST_PATTERNS: usize = 100;
        let key = (source.to_owned(), flags);
        if let Some(pattern) = self.patterns.borrow().get(&key) {
            return Ok(pattern.clone());
        }
        const STEPS_TO_COMPILE: u64 = 1000;
        self.spend(STEPS_TO_COMPILE)?;
        let pattern = Rc::new(Pattern::compile(source, flags, &self.allowance.patience)?);
        let mut patterns = self.patterns.borrow_mut();
        if patterns.len() >= MOST_PATTERNS {
            patterns.clear();
        }
        patterns.insert(key, pattern.clone());
        Ok(pattern)
    }

    /// A function that was defined keeps the context in which it was defined, and the context keeps it.
    pub fn forget_at_end(&self, context: &Context) {
        self.defining.borrow_mut().push(context.clone());
    }

    /// A selector of an ordering may see the ordering.
    pub fn forget_order_at_end(&self, ordered: &Rc<Ordered>) {
        self.ordered.borrow_mut().push(Rc::downgrade(ordered));
    }
}

impl Drop for Engine {
    fn drop(&mut self) {
        let left = self.steps_left_to_all.saturating_sub(self.steps.get());
        self.allowance.steps.fetch_min(left, Relaxed);
        for context in self.defining.take() {
            context.forget_definitions();
        }
        for ordered in self.ordered.take() {
            if let Some(ordered) = ordered.upgrade() {
                ordered.forget();
            }
        }
    }
}

pub struct Depth<'a>(&'a Cell<u32>);

impl Drop for Depth<'_> {
    fn drop(&mut self) {
        self.0.set(self.0.get() - 1);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::yaql::Statement;
    use serde_json::json;

    #[test]
    fn expressions_of_one_template_pay_together() {
        let allowance = Allowance::of_steps(2000);
        let evaluate = |expression: &str| {
            let statement = Statement::parse(expression)?;
            let (limits, surroundings) = (Limits::default(), Surroundings::default());
            statement.evaluate(&json!({}), limits, surroundings, &allowance.clone(), |_| ())
        };
        let told: Vec<_> = (0..20).map(|_| evaluate("range(100).select($ + 1).sum()")).collect();
        assert!(told[0].is_ok());
        assert!(matches!(told[19], Err(Error::TooManyStepsTogether(_))));
        // One that is refused uses up what there was.
        assert!(evaluate("1").is_err());
    }
}
