//! A pattern that can be run, no longer than there is patience for it.

use std::sync::Arc;

use fancy_regex::{Regex, RuntimeError};

use super::cache::compiled;
use super::error::RegexError;
use super::patience::Patience;
use super::tree::Pattern;
use super::writer::{Repetitions, written};

/// How often one attempt may go back. Nearly all patterns are content with the first; each next one costs more than all
/// before it, so that what is paid is about what is taken.
const ATTEMPTS: [usize; 4] = [16, 500, 20_000, 1_000_000];

/// Each time something goes back it may look through all of the text; so many bytes of it take as long as to go back.
const BYTES_A_BACKTRACK: u64 = 512;

/// So many states, of some tens of bytes each, are never within the limits.
const LARGEST_UNROLLED: u64 = 600_000;

#[derive(Debug, Clone)]
pub(in crate::python) struct Program {
    first: Arc<Regex>,
    /// In Rust's dialect.
    translated: Arc<str>,
    further_passes: u32,
    idle_repetitions: u64,
    patience: Patience,
}

impl Program {
    /// Compiles a pattern, put into its place by `around`. Repetitions that would take too much memory, or time, if each
    /// time had its own part of the program are counted while the pattern is matched.
    pub fn compile(
        pattern: &Pattern,
        patience: &Patience,
        around: impl Fn(String) -> String,
    ) -> Result<Self, RegexError> {
        let with = |repetitions| {
            let translated = around(written(pattern, repetitions));
            Ok(Self {
                first: compiled(&translated, ATTEMPTS[0])?,
                translated: translated.into(),
                further_passes: pattern.further_passes(),
                idle_repetitions: pattern.idle_repetitions(),
                patience: patience.clone(),
            })
        };
        let states = pattern.unrolled_size();
        // To find out takes longer than to match.
        if states <= LARGEST_UNROLLED && patience.compile(states) {
            match with(Repetitions::Unrolled) {
                Err(RegexError::Compile(_)) => {}
                done => return done,
            }
        }
        with(Repetitions::Counted)
    }

    /// The same with something around it.
    pub fn wrapped(&self, around: impl Fn(&str) -> String) -> Result<Self, RegexError> {
        let translated = around(&self.translated);
        Ok(Self {
            first: compiled(&translated, ATTEMPTS[0])?,
            translated: translated.into(),
            ..self.clone()
        })
    }

    pub fn group_count(&self) -> usize {
        self.first.captures_len()
    }

    /// Lets `attempt` match a text of some length, as often as it needs with more patience each time.
    pub fn run<T>(
        &self,
        length: usize,
        attempt: impl Fn(&Regex) -> Result<T, fancy_regex::Error>,
    ) -> Result<T, RegexError> {
        for backtracks in ATTEMPTS {
            let is_first = backtracks == ATTEMPTS[0];
            let cost = self.cost(length as u64, backtracks as u64);
            if !self.patience.try_for(cost, is_first) {
                break;
            }
            let done = match is_first {
                true => attempt(&self.first),
                false => attempt(&*compiled(&self.translated, backtracks)?),
            };
            match done {
                Err(fancy_regex::Error::RuntimeError(RuntimeError::BacktrackLimitExceeded)) => {}
                Err(_) => break,
                Ok(done) => return Ok(done),
            }
        }
        Err(RegexError::TooManySteps)
    }

    fn cost(&self, length: u64, backtracks: u64) -> u64 {
        let pass = 1 + length / BYTES_A_BACKTRACK;
        let further = match self.further_passes {
            0 => 0,
            passes => length.saturating_pow(passes).saturating_mul(pass),
        };
        let forward = further.saturating_add(self.idle_repetitions);
        backtracks.saturating_mul(pass).saturating_add(forward)
    }
}
