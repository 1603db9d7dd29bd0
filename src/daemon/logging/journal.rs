//! `use_journal`: journald's own protocol, with the fields of a request as fields of the entry.

use tracing_journald::{Priority, PriorityMappings};

use super::LoggingError;
use super::output::facility;
use crate::settings::LoggingSettings;

/// Whether the journal is there, if the options ask for it.
pub fn check(settings: &LoggingSettings) -> Result<(), LoggingError> {
    layer(settings).map(|_| ())
}

/// The layer, if the options ask for the journal.
pub fn layer(settings: &LoggingSettings) -> Result<Option<tracing_journald::Layer>, LoggingError> {
    if !settings.use_journal {
        return Ok(None);
    }
    let facility = facility(&settings.syslog_log_facility)?.to_string();
    let layer = tracing_journald::layer()
        .map_err(LoggingError::Journal)?
        .with_syslog_identifier("heat-engine-rs".to_owned())
        .with_custom_fields([("SYSLOG_FACILITY", facility.as_str())])
        // REQUEST_ID and PROJECT, as Python engines name them.
        .with_field_prefix(None)
        .with_priority_mappings(PriorityMappings {
            info: Priority::Informational,
            debug: Priority::Debug,
            trace: Priority::Debug,
            ..PriorityMappings::new()
        });
    Ok(Some(layer))
}
