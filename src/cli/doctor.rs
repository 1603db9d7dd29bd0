//! `doctor`: what is wrong with an engine's surroundings, why it matters, what to do.

use std::fmt::Write as _;
use std::io::Write as _;

use clap::{Args, ValueEnum};
use serde_json::json;

use crate::daemon::{VERSION, first_steps};
use crate::doctor::{self, Area, Finding, Report, Severity};
use crate::settings::SettingsSources;

const AFTER_HELP: &str = "\
It takes no work, makes nothing and changes nothing, but for what --remove is told to.
`unseen` is what cannot be told from here; why it matters and how to look stands below it.

Exit codes:
  0  nothing keeps an engine from working; there may be warnings
  1  a problem
  2  the configuration cannot be used";

#[derive(Debug, Args)]
#[command(after_help = AFTER_HELP)]
pub struct DoctorArguments {
    /// Remove queues of engines that are gone, if they are empty
    #[arg(long)]
    remove: bool,

    /// For people or for programs
    #[arg(long, value_enum, default_value_t = Format::Text)]
    format: Format,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
enum Format {
    Text,
    Json,
}

pub fn main(sources: &SettingsSources, arguments: &DoctorArguments) -> u8 {
    let reading = first_steps::read_settings(sources);
    let is_usable = reading.problems.is_empty();
    let runtime = match tokio::runtime::Builder::new_current_thread().enable_all().build() {
        Ok(runtime) => runtime,
        Err(error) => {
            super::complain(error.into());
            return super::FAILED;
        }
    };
    let report = runtime.block_on(doctor::examine(reading, arguments.remove));
    let text = match arguments.format {
        Format::Text => as_text(&report),
        Format::Json => as_json(&report),
    };
    // Whoever reads may have gone (`| head`): nothing to do about it.
    let _ = std::io::stdout().write_all(text.as_bytes());
    match report.severity() {
        _ if !is_usable => super::UNUSABLE,
        Severity::Problem => super::FAILED,
        Severity::Fine | Severity::Unseen | Severity::Warning => super::DONE,
    }
}

/// By area, what is wrong with its reason and what to do below it.
fn as_text(report: &Report) -> String {
    let mut text = String::new();
    let mut area: Option<Area> = None;
    for finding in &report.findings {
        if area != Some(finding.area) {
            area = Some(finding.area);
            // Writing to a string cannot fail.
            let _ = writeln!(text, "{}", finding.area.as_str());
        }
        text.push_str(&lines_of(finding));
    }
    let (problems, warnings) = (report.count(Severity::Problem), report.count(Severity::Warning));
    let _ = match (problems, warnings, report.count(Severity::Unseen)) {
        (0, 0, 0) => writeln!(text, "\nAll is well."),
        (0, 0, _) => writeln!(text, "\nAll that can be seen from here is well."),
        _ => writeln!(
            text,
            "\n{}, {}.",
            number_of(problems, "problem"),
            number_of(warnings, "warning")
        ),
    };
    text
}

fn number_of(count: usize, what: &str) -> String {
    let plural = if count == 1 { "" } else { "s" };
    format!("{count} {what}{plural}")
}

fn lines_of(finding: &Finding) -> String {
    let mark = match finding.severity {
        Severity::Fine => "ok     ",
        Severity::Unseen => "unseen ",
        Severity::Warning => "WARNING",
        Severity::Problem => "PROBLEM",
    };
    let mut lines = format!("  {mark}  {}\n", finding.what);
    for (head, said) in [("why", &finding.why), ("do", &finding.advice)] {
        if !said.is_empty() {
            let _ = writeln!(lines, "           {head}: {said}");
        }
    }
    lines
}

fn as_json(report: &Report) -> String {
    let body = json!({
        "version": VERSION,
        "severity": report.severity(),
        "problems": report.count(Severity::Problem),
        "warnings": report.count(Severity::Warning),
        "unseen": report.count(Severity::Unseen),
        "findings": report.findings,
    });
    format!("{body:#}\n")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn report() -> Report {
        let mut report = Report::default();
        report.fine(Area::Database, "it answers");
        report.problem(Area::Database, "it is read-only", "nothing can change", "switch it off");
        report.warning(Area::Queues, "two are left", "they stay", "remove them");
        report
    }

    #[test]
    fn a_person_reads_what_why_and_what_to_do() {
        let expected = "database\n  ok       it answers\n  PROBLEM  it is read-only\n           why: nothing can change\n\
                        \x20          do: switch it off\nqueues\n  WARNING  two are left\n           why: they stay\n\
                        \x20          do: remove them\n\n1 problem, 1 warning.\n";
        assert_eq!(as_text(&report()), expected);
        assert!(as_text(&Report::default()).ends_with("All is well.\n"));
        let mut unseen = Report::default();
        unseen.unseen(Area::Broker, "the bindings", "they may be missing", "look at them");
        assert_eq!(
            as_text(&unseen),
            "broker\n  unseen   the bindings\n           why: they may be missing\n           do: look at them\n\n\
             All that can be seen from here is well.\n"
        );
    }

    #[test]
    fn a_program_reads_the_same() {
        let read: serde_json::Value = serde_json::from_str(&as_json(&report())).unwrap();
        assert_eq!(read["severity"], "problem");
        assert_eq!(read["findings"][1]["area"], "database");
        assert_eq!(read["findings"][2]["severity"], "warning");
    }
}
