//! `debug` and `default_log_levels`, for the modules of this program.

use tracing::level_filters::LevelFilter;
use tracing_subscriber::filter::Targets;

use super::LoggingError;
use crate::settings::LoggingSettings;

/// Python loggers and what does the same work here.
const COUNTERPARTS: &[(&str, &[&str])] = &[
    ("amqp", &["lapin", "amq_protocol", "async_io"]),
    ("oslo.messaging", &["heat_engine::messaging"]),
    ("oslo_messaging", &["heat_engine::messaging"]),
    ("sqlalchemy", &["sqlx"]),
    ("oslo_db", &["heat_engine::store"]),
    ("urllib3", &["reqwest", "hyper", "hyper_util", "h2", "rustls"]),
    (
        "urllib3.connectionpool",
        &["reqwest", "hyper", "hyper_util", "h2", "rustls"],
    ),
    ("oslo_policy", &["heat_engine::identity::policy"]),
    ("heat", &["heat_engine"]),
    ("heat.engine", &["heat_engine"]),
];

/// Libraries whose every error comes back to a caller of ours, who says it once and in context. What they say besides is
/// for whoever asks for more than errors of them (`amqp=DEBUG`).
const TOLD_BY_US: &[&str] = &["lapin", "amq_protocol", "async_io", "sqlx::pool", "sqlx_core::pool"];

/// What is logged: everything at INFO (DEBUG with `debug`), but for the modules that the list names.
pub fn targets(settings: &LoggingSettings) -> Targets {
    let everything = if settings.debug {
        LevelFilter::DEBUG
    } else {
        LevelFilter::INFO
    };
    let mut targets = Targets::new().with_default(everything);
    for target in TOLD_BY_US {
        targets = targets.with_target(*target, LevelFilter::OFF);
    }
    for entry in &settings.default_log_levels {
        let (logger, level) = entry.split_once('=').unwrap_or((entry, ""));
        let Some(level) = level_of(level.trim()) else { continue };
        for target in counterparts(logger.trim()) {
            let only_errors = level < LevelFilter::INFO;
            if only_errors && TOLD_BY_US.contains(&target.as_str()) {
                continue;
            }
            targets = targets.with_target(target, level);
        }
    }
    // It prints frames that no queue takes with all that is in them, tokens too; messaging says what there is to say.
    targets.with_target("lapin::returned_messages", LevelFilter::OFF)
}

/// Refuses an entry of `default_log_levels` that says nothing, as the oracle does.
pub fn check(settings: &LoggingSettings) -> Result<(), LoggingError> {
    let makes_sense = |entry: &&String| {
        let level = entry.split_once('=').and_then(|(_, level)| level_of(level.trim()));
        level.is_some()
    };
    match settings.default_log_levels.iter().find(|entry| !makes_sense(entry)) {
        Some(senseless) => Err(LoggingError::SenselessLevel(senseless.clone())),
        None => Ok(()),
    }
}

fn counterparts(logger: &str) -> Vec<String> {
    match COUNTERPARTS.iter().find(|(python, _)| *python == logger) {
        Some((_, targets)) => targets.iter().map(|target| (*target).to_owned()).collect(),
        // A module of this program, as its lines name it.
        None => vec![logger.to_owned()],
    }
}

/// Python's names and numbers.
fn level_of(name: &str) -> Option<LevelFilter> {
    match name.to_uppercase().as_str() {
        "CRITICAL" | "FATAL" | "ERROR" => Some(LevelFilter::ERROR),
        "WARNING" | "WARN" => Some(LevelFilter::WARN),
        "INFO" | "AUDIT" => Some(LevelFilter::INFO),
        "DEBUG" => Some(LevelFilter::DEBUG),
        "TRACE" => Some(LevelFilter::TRACE),
        number => number.parse::<u32>().ok().map(level_of_number),
    }
}

fn level_of_number(number: u32) -> LevelFilter {
    match number {
        0..10 => LevelFilter::TRACE,
        10..20 => LevelFilter::DEBUG,
        20..30 => LevelFilter::INFO,
        30..40 => LevelFilter::WARN,
        40..=50 => LevelFilter::ERROR,
        _ => LevelFilter::OFF,
    }
}

#[cfg(test)]
mod tests {
    use tracing::Level;

    use super::*;
    use crate::settings::Settings;

    fn targets_of(debug: bool, levels: &[&str]) -> Targets {
        let mut logging = Settings::defaults().logging;
        logging.debug = debug;
        logging.default_log_levels = levels.iter().map(|level| (*level).to_owned()).collect();
        targets(&logging)
    }

    #[test]
    fn debug_is_for_everything_but_what_is_named() {
        let targets = targets_of(true, &["sqlalchemy=WARN", "amqp=WARN"]);
        assert!(targets.would_enable("heat_engine::rpc", &Level::DEBUG));
        assert!(!targets.would_enable("sqlx::query", &Level::INFO));
        assert!(!targets.would_enable("lapin::channel", &Level::ERROR), "we tell of it");
        assert!(targets.would_enable("sqlx::query", &Level::WARN));
        assert!(
            !targets.would_enable("sqlx_core::pool::connection", &Level::WARN),
            "we tell of it"
        );
        let asked_for = targets_of(false, &["amqp=DEBUG"]);
        assert!(asked_for.would_enable("lapin::channel", &Level::DEBUG));
        assert!(!targets_of(false, &[]).would_enable("lapin::channels", &Level::ERROR));
    }

    #[test]
    fn names_of_this_program_and_numbers_are_understood() {
        let targets = targets_of(false, &["heat_engine::rpc=10", "heat_engine::store=TRACE"]);
        let mut logging = Settings::defaults().logging;
        assert!(check(&logging).is_ok());
        logging.default_log_levels = vec!["a=10".to_owned(), "b=LOUD".to_owned()];
        let refusal = check(&logging).expect_err("LOUD is no level").to_string();
        assert_eq!(refusal, "'b=LOUD' is no logger=LEVEL");
        assert!(targets.would_enable("heat_engine::rpc::stacks", &Level::DEBUG));
        assert!(targets.would_enable("heat_engine::store", &Level::TRACE));
        assert!(!targets.would_enable("heat_engine::stack", &Level::DEBUG));
    }
}
