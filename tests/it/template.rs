//! The template language against the oracle: the same probes go through Heat's own modules and through ours.
//!
//! `tests/conformance/language` holds the probes, what each side makes of them, and the differences that are agreed. Its
//! `run` does the same with templates of a directory and with random ones.

#[path = "../conformance/language/comparison.rs"]
mod comparison;
#[path = "../conformance/language/outcome.rs"]
mod outcome;

use std::collections::HashSet;
use std::path::PathBuf;

use heat_engine::python::json_reader::loads;

use crate::lab::Lab;

#[test]
fn the_language_is_heats() {
    let directory = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("tests/conformance/language");
    let [oracle, catalogue] = ["oracle.py", "probes"].map(|name| directory.join(name).display().to_string());
    let output = Lab::get().python_file(&oracle, &[&catalogue]);
    assert!(
        output.status.success(),
        "oracle.py failed: {}",
        String::from_utf8_lossy(&output.stderr)
    );
    let results = loads(&String::from_utf8_lossy(&output.stdout)).expect("oracle.py prints JSON");
    let results = results.as_array().expect("a list of outcomes");
    let agreements = comparison::agreements();
    let mut reports = Vec::new();
    let mut seen = HashSet::new();
    for result in results {
        let (probe, expected) = (&result["probe"], &result["outcome"]);
        let name = probe["name"].as_str().unwrap_or_default();
        let ours = outcome::outcome(probe);
        let differences = comparison::differences(expected, &ours);
        if differences.is_empty() {
            continue;
        }
        match agreements.iter().find(|agreement| agreement.covers(name, &differences)) {
            Some(agreement) => drop(seen.insert(&agreement.pattern)),
            None => reports.push(format!("{name}: {}", differences.join("\n    "))),
        }
    }
    let gone = agreements
        .iter()
        .filter(|agreement| !agreement.is_for_generated() && !seen.contains(&agreement.pattern));
    reports.extend(gone.map(|agreement| {
        format!(
            "{}: listed as a difference ({}), but equal",
            agreement.pattern, agreement.reason
        )
    }));
    println!("{} probes, {} differences on purpose", results.len(), seen.len());
    assert!(
        reports.is_empty(),
        "{} differences:\n{}",
        reports.len(),
        reports.join("\n")
    );
}
