//! The default verb: be an engine until told to stop.

use crate::daemon;
use crate::settings::{Settings, SettingsSources};

pub fn main(sources: SettingsSources) -> u8 {
    let settings = match Settings::load_for_engine(&sources) {
        Ok(settings) => settings,
        Err(error) => {
            super::complain(error.into());
            return super::UNUSABLE;
        }
    };
    match daemon::run(settings, sources) {
        Ok(()) => super::DONE,
        Err(error) => {
            super::complain(error.into());
            super::FAILED
        }
    }
}
