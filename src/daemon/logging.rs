//! Logging as operators of OpenStack know it: oslo.log's options, its order of fields, its files.
//!
//! Everything that logs says `tracing::info!` and the like; a request's id, user and project come from the span that the
//! RPC server opens around it (fields `request_id`, `user`, `project`, …). What is written is a line for an event: control
//! characters of what tenants send are escaped, so that nobody can forge a line.

pub mod journal;
pub mod levels;
pub mod line;
pub mod output;

use std::io;
use std::path::PathBuf;
use std::sync::Arc;

use thiserror::Error;
use tracing::span::{Attributes, Id, Record};
use tracing::{Event, Subscriber, error, info};
use tracing_subscriber::filter::Targets;
use tracing_subscriber::layer::{Context, Layer, SubscriberExt};
use tracing_subscriber::registry::LookupSpan;
use tracing_subscriber::reload;
use tracing_subscriber::util::SubscriberInitExt;

use crate::settings::{LoggingSettings, Settings, SettingsSources};
use line::{Fields, LineFormat, SpanFields};
use output::Output;

#[derive(Debug, Error)]
pub enum LoggingError {
    #[error("there is no directory {}", path.display())]
    NoDirectory { path: PathBuf, option: &'static str },
    #[error("cannot open the log file {}", path.display())]
    File { path: PathBuf, source: io::Error },
    #[error("cannot reach syslog")]
    Syslog(#[source] io::Error),
    #[error("cannot reach the journal")]
    Journal(#[source] io::Error),
    #[error("no facility is called {0}")]
    UnknownFacility(String),
    #[error("'{0}' is no logger=LEVEL")]
    SenselessLevel(String),
    #[error("logging has been set up already")]
    AlreadyStarted,
}

impl LoggingError {
    /// The option of `[DEFAULT]` that it is about.
    pub fn option(&self) -> &'static str {
        match self {
            LoggingError::NoDirectory { option, .. } => option,
            LoggingError::File { .. } => "log_file",
            LoggingError::Syslog(_) => "use_syslog",
            LoggingError::Journal(_) => "use_journal",
            LoggingError::UnknownFacility(_) => "syslog_log_facility",
            LoggingError::SenselessLevel(_) => "default_log_levels",
            LoggingError::AlreadyStarted => "debug",
        }
    }
}

/// Whether logging can be set up so, without a line written.
pub fn check(settings: &LoggingSettings) -> Result<(), LoggingError> {
    output::check(settings)?;
    levels::check(settings)?;
    journal::check(settings)
}

/// What is left out of use because nobody can make sense of it, as a sentence.
pub fn unusable_part(settings: &LoggingSettings) -> Option<String> {
    let is_usable = line::is_date_format(&settings.log_date_format);
    (!is_usable)
        .then(|| "[DEFAULT] log_date_format: not a format of dates that is known here; the default is used".to_owned())
}

/// The logging of the process, to set it up anew at SIGHUP.
pub struct Logging {
    levels: reload::Handle<Targets, tracing_subscriber::Registry>,
    outputs: Arc<Vec<Output>>,
}

impl Logging {
    /// Set logging up for the whole process.
    pub fn start(settings: &Settings) -> Result<Self, LoggingError> {
        let logging = &settings.logging;
        let outputs = Arc::new(Output::all(logging)?);
        let journal = journal::layer(logging)?;
        let (levels, handle) = reload::Layer::new(levels::targets(logging));
        let lines = LineLayer {
            format: LineFormat::of(settings),
            outputs: outputs.clone(),
        };
        tracing_subscriber::registry()
            .with(levels)
            .with(lines)
            .with(journal)
            .try_init()
            .map_err(|_| LoggingError::AlreadyStarted)?;
        log_panics();
        Ok(Logging {
            levels: handle,
            outputs,
        })
    }

    /// Read the levels again and open files anew. A configuration that cannot be read changes nothing.
    pub fn reload(&self, sources: &SettingsSources) {
        for output in self.outputs.iter() {
            output.reopen();
        }
        match Settings::load(sources) {
            Ok(settings) => self.set_levels(&settings.logging),
            Err(error) => error!("configuration cannot be read, log levels stay: {error}"),
        }
    }

    fn set_levels(&self, settings: &LoggingSettings) {
        if let Err(error) = levels::check(settings) {
            error!("log levels stay: [DEFAULT] {}: {error}", error.option());
            return;
        }
        match self.levels.reload(levels::targets(settings)) {
            Ok(()) => info!("logging is set up anew, debug = {}", settings.debug),
            Err(error) => error!("log levels cannot be changed: {error}"),
        }
    }
}

/// A panic is a line in the log, not a scribble on stderr that nobody collects.
fn log_panics() {
    std::panic::set_hook(Box::new(|panic| {
        let message = panic.payload_as_str().unwrap_or("(no text)");
        let place = panic.location().map(ToString::to_string).unwrap_or_default();
        let backtrace = std::backtrace::Backtrace::force_capture();
        error!(%backtrace, "panic at {place}: {message}");
    }));
}

/// Writes a line for each event.
struct LineLayer {
    format: LineFormat,
    outputs: Arc<Vec<Output>>,
}

impl<S> Layer<S> for LineLayer
where
    S: Subscriber + for<'a> LookupSpan<'a>,
{
    fn on_new_span(&self, attributes: &Attributes<'_>, id: &Id, context: Context<'_, S>) {
        let Some(span) = context.span(id) else { return };
        let mut fields = Fields::default();
        attributes.record(&mut fields);
        span.extensions_mut().insert(SpanFields(fields));
    }

    fn on_record(&self, id: &Id, values: &Record<'_>, context: Context<'_, S>) {
        let Some(span) = context.span(id) else { return };
        if let Some(fields) = span.extensions_mut().get_mut::<SpanFields>() {
            values.record(&mut fields.0);
        }
    }

    fn on_event(&self, event: &Event<'_>, context: Context<'_, S>) {
        if self.outputs.is_empty() {
            return;
        }
        let mut spans = Fields::default();
        for span in context.event_scope(event).into_iter().flatten() {
            if let Some(fields) = span.extensions().get::<SpanFields>() {
                spans.add_missing(&fields.0);
            }
        }
        let line = self.format.line(event, spans);
        for output in self.outputs.iter() {
            output.write(*event.metadata().level(), &line);
        }
    }
}
