//! `--check-config`: what the daemon would understand, without starting it.

use std::fmt::Write as _;
use std::io::Write as _;

use crate::daemon::first_steps;
use crate::settings::option::Treatment;
use crate::settings::provider::ResolvedOption;
use crate::settings::{Origin, Settings, SettingsSources};

pub fn main(sources: &SettingsSources) -> u8 {
    let reading = first_steps::read_settings(sources);
    if !reading.problems.is_empty() {
        super::complain_of_all(reading.problems);
        return super::UNUSABLE;
    }
    // Whoever reads may have gone (`| head`): nothing to do about it.
    let _ = std::io::stdout().write_all(report(&reading.settings).as_bytes());
    super::DONE
}

/// The options in force in heat.conf's own format, each that is set with its place, warnings first.
fn report(settings: &Settings) -> String {
    let mut report = String::new();
    // Writing to a string cannot fail.
    for file in &settings.files {
        let _ = writeln!(report, "# read: {}", file.display());
    }
    for warning in &settings.warnings {
        let _ = writeln!(report, "# warning: {warning}");
    }
    let mut group = "";
    for option in settings.options.iter() {
        if option.group != group {
            group = option.group;
            let _ = writeln!(report, "\n[{group}]");
        }
        let _ = writeln!(report, "{}", report_line(option));
    }
    report
}

fn report_line(option: &ResolvedOption) -> String {
    let assignment = format!("{} = {}", option.spec.name, option.shown().replace('\n', "\n    "));
    match (&option.origin, option.spec.treatment) {
        (Origin::Default, _) => format!("# {assignment}"),
        (origin, Treatment::Honoured | Treatment::HandedOver) => format!("# from {origin}\n{assignment}"),
        (origin, Treatment::Instead(what)) => format!("# from {origin}; not used: {what}\n{assignment}"),
    }
}
