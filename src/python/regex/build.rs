//! Compiles what is written in Rust's dialect, within limits.

use fancy_regex::RegexBuilder;

use super::error::RegexError;

/// Of what a pattern is compiled to: parts that run without backtracking, and instructions that join them.
#[derive(Debug, Clone, Copy)]
pub(super) struct SizeLimits {
    pub instructions: usize,
    /// Of one part, in bytes.
    pub program: usize,
    /// Of what a search through one part remembers, in bytes.
    pub states: usize,
}

impl SizeLimits {
    pub const LARGEST: Self = Self {
        instructions: 1 << 20,
        program: 16 * 1024 * 1024,
        states: 2 * 1024 * 1024,
    };
}

pub(super) fn build(
    translated: &str,
    limits: SizeLimits,
    most_backtracks: usize,
) -> Result<fancy_regex::Regex, RegexError> {
    RegexBuilder::new(translated)
        .backtrack_limit(most_backtracks)
        .max_prog_size(limits.instructions)
        .delegate_size_limit(limits.program)
        .delegate_dfa_size_limit(limits.states)
        .build()
        .map_err(|error| RegexError::Compile(Box::new(error)))
}
