//! The default verb: be an engine until told to stop.

use crate::daemon::logging::output;
use crate::daemon::{self, DaemonError, first_steps};
use crate::settings::SettingsSources;

pub fn main(sources: SettingsSources) -> u8 {
    let reading = first_steps::read_settings(&sources);
    if !reading.problems.is_empty() {
        super::complain_of_all(reading.problems);
        return super::UNUSABLE;
    }
    let log_is_on_stderr = output::is_on_stderr(&reading.settings.logging);
    match daemon::run(reading.settings, sources) {
        Ok(()) => super::DONE,
        // The log has told of it.
        Err(DaemonError::Engine(_)) if log_is_on_stderr => super::FAILED,
        Err(error) => {
            super::complain(error.into());
            super::FAILED
        }
    }
}
