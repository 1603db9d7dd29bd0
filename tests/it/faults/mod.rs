//! Faults that operators of Heat have met, by the numbers under which they are known here. docs/compatibility.md says of each
//! where it is tested, which for many is among the tests of what it is about, or why it is not.

mod broker;
mod cancelling;
mod database;
mod engines;
mod traversals;
mod trees;

use std::collections::BTreeSet;
use std::process::Command;

const LEDGER: &str = include_str!("../../../docs/compatibility.md");

/// Engine death; sync points and locks; rollback and cancel; database; broker; size.
const KNOWN: [&[u32]; 6] = [
    &[1, 2, 4, 5, 7, 8, 10, 11],
    &[13, 14, 16, 17, 19, 20, 22, 23, 25, 26],
    &[28, 29, 31, 32, 34, 35, 37, 38],
    &[40, 41, 43, 44, 46, 47],
    &[49, 50, 52, 53, 55, 56, 58, 59],
    &[61, 62, 64, 65],
];

/// The lines of the ledger's table of faults: numbers, fault, and what it comes to here.
fn ledger() -> Vec<[&'static str; 3]> {
    let section = LEDGER
        .split("## Faults that operators of Heat have met")
        .nth(1)
        .and_then(|rest| rest.split("\n## ").next())
        .expect("the section is there");
    let rows = section.lines().filter(|line| line.starts_with("| B"));
    rows.map(|line| {
        let cells: Vec<&str> = line.trim_matches('|').split(" | ").map(str::trim).collect();
        cells.try_into().expect("three cells")
    })
    .collect()
}

#[test]
fn every_fault_is_accounted_for_once() {
    let mut answered = Vec::new();
    for [numbers, _, answer] in ledger() {
        assert!(!answer.is_empty(), "{numbers}");
        answered.extend(numbers.split(", ").map(str::to_owned));
    }
    for number in KNOWN.concat() {
        let name = format!("B{number:02}");
        let times = answered.iter().filter(|known| **known == name).count();
        assert_eq!(times, 1, "{name}");
    }
}

#[test]
fn the_tests_that_the_ledger_names_exist() {
    let program = std::env::current_exe().expect("a program");
    let listed = Command::new(program).arg("--list").output().expect("a list");
    let listed = String::from_utf8(listed.stdout).expect("text");
    // Without the cases of each.
    let tests: BTreeSet<&str> = listed
        .lines()
        .filter_map(|line| line.strip_suffix(": test"))
        .map(|name| name.find("::case_").map_or(name, |cases| &name[..cases]))
        .collect();
    let is_there = |name: &str| {
        tests
            .iter()
            .any(|test| *test == name || test.starts_with(&format!("{name}::")))
    };
    for [numbers, _, answer] in ledger() {
        let quoted = answer.split('`').skip(1).step_by(2);
        for name in quoted.filter(|text| text.contains("::") && !text.contains("OS::")) {
            assert!(is_there(name), "{numbers}: there is no {name}");
        }
    }
}
