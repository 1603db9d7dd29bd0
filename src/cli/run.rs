//! The default verb: be an engine until told to stop.

use crate::daemon::{self, first_steps};
use crate::settings::SettingsSources;

pub fn main(sources: SettingsSources) -> u8 {
    let reading = first_steps::read_settings(&sources);
    if !reading.problems.is_empty() {
        super::complain_of_all(reading.problems);
        return super::UNUSABLE;
    }
    match daemon::run(reading.settings, sources) {
        Ok(()) => super::DONE,
        Err(error) => {
            super::complain(error.into());
            super::FAILED
        }
    }
}
