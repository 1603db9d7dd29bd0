//! The standard library, a file a family. A family is a table of functions; overloads are entries of one name.

mod access;
mod aggregation;
mod boolean;
mod branching;
mod comparison;
mod conversion;
mod dicts;
mod editing;
mod generation;
mod grouping;
mod lists;
mod math;
mod merging;
mod moments;
pub mod ordering;
mod queries;
pub mod regex;
mod search;
mod sets;
mod slicing;
mod strings;
mod system;

use std::collections::HashMap;
use std::sync::LazyLock;

use super::signature::Function;

/// The contexts of the library, nearest first. What is found in the first is asked first.
const CONTEXTS: [&[&[Function]]; 3] = [
    &[access::OPENED],
    &[
        access::FUNCTIONS,
        aggregation::FUNCTIONS,
        boolean::FUNCTIONS,
        branching::FUNCTIONS,
        comparison::FUNCTIONS,
        conversion::FUNCTIONS,
        dicts::FUNCTIONS,
        editing::FUNCTIONS,
        generation::FUNCTIONS,
        grouping::FUNCTIONS,
        lists::FUNCTIONS,
        math::FUNCTIONS,
        merging::FUNCTIONS,
        moments::FUNCTIONS,
        moments::PROPERTIES,
        ordering::FUNCTIONS,
        queries::FUNCTIONS,
        regex::FUNCTIONS,
        search::FUNCTIONS,
        sets::FUNCTIONS,
        slicing::FUNCTIONS,
        strings::FUNCTIONS,
        system::FUNCTIONS,
    ],
    &[access::FALLBACKS],
];

type Levels = Vec<Vec<&'static Function>>;

static BY_NAME: LazyLock<HashMap<&'static str, Levels>> = LazyLock::new(|| {
    let mut by_name: HashMap<&'static str, Levels> = HashMap::new();
    for (level, function) in all() {
        let levels = by_name.entry(function.name).or_default();
        levels.resize_with(CONTEXTS.len(), Vec::new);
        levels[level].push(function);
    }
    by_name
});

/// The functions of a name, by context.
pub(super) fn functions(name: &str) -> &'static [Vec<&'static Function>] {
    BY_NAME.get(name).map_or(&[], Vec::as_slice)
}

/// All functions, with the number of their context.
pub(super) fn all() -> impl Iterator<Item = (usize, &'static Function)> {
    CONTEXTS.iter().enumerate().flat_map(|(level, families)| {
        let functions = families.iter().flat_map(|family| family.iter());
        functions.map(move |function| (level, function))
    })
}
