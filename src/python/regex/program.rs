//! A pattern that can be run, no longer than there is patience for it.

use std::sync::{Arc, OnceLock};

use fancy_regex::{Regex, RuntimeError};

use super::build::{SizeLimits, build};
use super::cache::compiled;
use super::error::RegexError;
use super::patience::Patience;
use super::tree::Pattern;
use super::writer::{Repetitions, written};

/// How often one attempt may go back. Nearly all patterns are content with the first; each next one costs more than all
/// before it, so that what is paid is about what is taken.
const ATTEMPTS: [usize; 6] = [16, 500, 5_000, 50_000, 200_000, 1_000_000];

/// Each time something goes back it may look through all of the text; so many bytes of it take as long as to go back.
const BYTES_A_BACKTRACK: u64 = 1024;
/// The same where the text is gone through character by character: once in each attempt, and each time where repetitions
/// are counted.
const BYTES_A_STEP: u64 = 2;

/// So many states, of some tens of bytes each, are never within the limits.
const LARGEST_UNROLLED: u64 = 600_000;

/// What a program remembers of a text while it is matched, some tens of bytes for each character, stays with the program.
/// Those that many share, and that are kept for long, see no longer texts.
const LONGEST_FOR_ALL: usize = 4096;

/// What it costs at least to compile one, in states.
const LEAST_STATES: u64 = 500;

#[derive(Debug, Clone)]
pub(in crate::python) struct Program {
    first: Arc<Regex>,
    for_long_texts: ForLongTexts,
    /// In Rust's dialect.
    translated: Arc<str>,
    states: u64,
    folded: u64,
    is_counted: bool,
    further_passes: u32,
    idle_repetitions: u64,
    patience: Patience,
}

/// A program for each attempt, gone with its owner.
#[derive(Debug, Default)]
struct ForLongTexts(Box<[OnceLock<Regex>; ATTEMPTS.len()]>);

impl Clone for ForLongTexts {
    fn clone(&self) -> Self {
        Self::default()
    }
}

impl Program {
    /// Compiles a pattern, put into its place by `around`. Repetitions that would take too much memory, or time, if each
    /// time had its own part of the program are counted while the pattern is matched.
    pub fn compile(
        pattern: &Pattern,
        patience: &Patience,
        around: impl Fn(String) -> String,
    ) -> Result<Self, RegexError> {
        let folded = pattern.folded_size();
        let states = pattern.unrolled_size().saturating_add(folded);
        let with = |repetitions| {
            let translated = around(written(pattern, repetitions));
            Ok(Self {
                first: compiled(&translated, ATTEMPTS[0])?,
                for_long_texts: ForLongTexts::default(),
                translated: translated.into(),
                states,
                folded,
                is_counted: repetitions == Repetitions::Counted,
                further_passes: pattern.further_passes(),
                idle_repetitions: pattern.idle_repetitions(),
                patience: patience.clone(),
            })
        };
        // To find out takes longer than to match.
        if states <= LARGEST_UNROLLED && patience.compile(states) {
            match with(Repetitions::Unrolled) {
                Err(RegexError::Compile(_)) => {}
                done => return done,
            }
        }
        if !patience.compile(folded) {
            return Err(RegexError::TooManySteps);
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
        for (index, backtracks) in ATTEMPTS.into_iter().enumerate() {
            let is_first = index == 0;
            let cost = self.cost(length as u64, backtracks as u64);
            if !self.patience.try_for(cost, is_first) {
                break;
            }
            let done = match (length > LONGEST_FOR_ALL, is_first) {
                (true, _) => attempt(self.for_long_texts(index)?),
                (false, true) => attempt(&self.first),
                (false, false) => attempt(&*compiled(&self.translated, backtracks)?),
            };
            match done {
                Err(fancy_regex::Error::RuntimeError(RuntimeError::BacktrackLimitExceeded)) => {}
                Err(_) => break,
                Ok(done) => return Ok(done),
            }
        }
        Err(RegexError::TooManySteps)
    }

    fn for_long_texts(&self, attempt: usize) -> Result<&Regex, RegexError> {
        let place = &self.for_long_texts.0[attempt];
        if let Some(regex) = place.get() {
            return Ok(regex);
        }
        let states = if self.is_counted { self.folded } else { self.states };
        if !self.patience.compile(states.max(LEAST_STATES)) {
            return Err(RegexError::TooManySteps);
        }
        let regex = build(&self.translated, SizeLimits::LARGEST, ATTEMPTS[attempt])?;
        Ok(place.get_or_init(|| regex))
    }

    fn cost(&self, length: u64, backtracks: u64) -> u64 {
        let step_by_step = length / BYTES_A_STEP;
        let pass = match self.is_counted {
            true => 1 + step_by_step,
            false => 1 + length / BYTES_A_BACKTRACK,
        };
        let further = match self.further_passes {
            0 => 0,
            passes => length.saturating_pow(passes).saturating_mul(pass),
        };
        let forward = step_by_step
            .saturating_add(further)
            .saturating_add(self.idle_repetitions);
        backtracks.saturating_mul(pass).saturating_add(forward)
    }
}

#[cfg(test)]
mod tests {
    use super::super::{Flags, PythonRegex, parsed};
    use super::*;

    fn has_kept(program: &Program) -> bool {
        program.for_long_texts.0.iter().any(|kept| kept.get().is_some())
    }

    #[test]
    fn patterns_of_parameters_remember_no_long_text() {
        let text = "a".repeat(10 * LONGEST_FOR_ALL);
        let pattern = parsed("(?:a|b)+$", Flags::default()).unwrap();
        let program = Program::compile(&pattern, &Patience::default(), |pattern| pattern).unwrap();
        assert!(program.run(text.len(), |regex| regex.is_match(text.as_str())).unwrap());
        assert!(has_kept(&program) && !has_kept(&program.clone()));

        let regex = PythonRegex::compile("(?:a|b)+$", &Patience::default()).unwrap();
        assert!(regex.match_reaches_end(&text).unwrap());
        assert!(!has_kept(&regex.program));
    }

    #[test]
    fn cases_of_nearly_all_letters_are_paid_for() {
        let patience = Patience::default();
        let told = (0..1000).map(|number| PythonRegex::compile(&format!("(?i)[\\w\\W]{number}"), &patience).is_ok());
        let compiled = told.filter(|is_ok| *is_ok).count();
        assert!((10..500).contains(&compiled), "{compiled}");
    }
}
