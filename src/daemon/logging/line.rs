//! One event as a line: oslo.log's text or its JSON.

use std::fmt::{self, Write};

use chrono::{DateTime, Local, Utc};
use serde_json::{Map, Value, json};
use tracing::field::{Field, Visit};
use tracing::{Event, Level, Metadata};

use crate::clock::Clock;
use crate::exception::chain;
use crate::settings::Settings;

/// Fields of a span or an event, in the order in which they were said.
#[derive(Clone, Debug, Default)]
pub struct Fields(Vec<(&'static str, String)>);

/// Kept with a span for the events inside it.
#[derive(Debug)]
pub struct SpanFields(pub Fields);

impl Fields {
    fn set(&mut self, name: &'static str, value: String) {
        match self.0.iter_mut().find(|(existing, _)| *existing == name) {
            Some((_, old)) => *old = value,
            None => self.0.push((name, value)),
        }
    }

    /// Take over what an outer span says and an inner one does not.
    pub fn add_missing(&mut self, outer: &Fields) {
        for (name, value) in &outer.0 {
            if self.get(name).is_none() {
                self.0.push((name, value.clone()));
            }
        }
    }

    fn get(&self, name: &str) -> Option<&str> {
        self.0
            .iter()
            .find(|(existing, _)| *existing == name)
            .map(|(_, value)| value.as_str())
    }

    fn take(&mut self, name: &str) -> Option<String> {
        let at = self.0.iter().position(|(existing, _)| *existing == name)?;
        Some(self.0.remove(at).1)
    }
}

impl Visit for Fields {
    fn record_str(&mut self, field: &Field, value: &str) {
        self.set(field.name(), value.to_owned());
    }

    fn record_error(&mut self, field: &Field, value: &(dyn std::error::Error + 'static)) {
        self.set(field.name(), chain(value));
    }

    fn record_debug(&mut self, field: &Field, value: &dyn fmt::Debug) {
        self.set(field.name(), format!("{value:?}"));
    }
}

/// Who asked, as the span of the request says it: the fields of oslo.log's user identity, in its order.
const IDENTITY: [&str; 6] = [
    "user",
    "project",
    "domain",
    "system_scope",
    "user_domain",
    "project_domain",
];

pub struct LineFormat {
    clock: Clock,
    date_format: String,
    json: bool,
    color: bool,
    hostname: String,
    process: u32,
}

impl LineFormat {
    pub fn of(settings: &Settings) -> Self {
        LineFormat {
            clock: Clock::system(),
            date_format: usable_date_format(&settings.logging.log_date_format),
            json: settings.logging.use_json || settings.own.log_json,
            color: settings.logging.log_color,
            hostname: hostname::get().unwrap_or_default().to_string_lossy().into_owned(),
            process: std::process::id(),
        }
    }

    /// The line, with its end.
    pub fn line(&self, event: &Event<'_>, spans: Fields) -> String {
        let mut fields = Fields::default();
        event.record(&mut fields);
        let message = fields.take("message").unwrap_or_default();
        let now = self.clock.utc_now().and_utc();
        let mut line = if self.json {
            self.json_line(event.metadata(), now, &message, fields, spans)
        } else {
            self.text_line(event.metadata(), now, &message, fields, spans)
        };
        line.push('\n');
        line
    }

    fn text_line(
        &self,
        metadata: &Metadata<'_>,
        now: DateTime<Utc>,
        message: &str,
        mut fields: Fields,
        mut spans: Fields,
    ) -> String {
        let request = request_of(&mut spans);
        fields.add_missing(&spans);
        let mut line = String::with_capacity(160);
        let time = now.with_timezone(&Local);
        let color = if self.color { color_of(*metadata.level()) } else { "" };
        line.push_str(color);
        // Writing to a string cannot fail.
        let _ = write!(
            line,
            "{}.{:03} {} {} {} [{request}] ",
            time.format(&self.date_format),
            now.timestamp_subsec_millis(),
            self.process,
            python_level(*metadata.level()),
            metadata.target(),
        );
        push_printable(&mut line, message);
        for (name, value) in &fields.0 {
            let _ = write!(line, " {name}=");
            push_printable(&mut line, value);
        }
        if self.color {
            line.push_str("\u{1b}[00m");
        }
        line
    }

    fn json_line(
        &self,
        metadata: &Metadata<'_>,
        now: DateTime<Utc>,
        message: &str,
        fields: Fields,
        spans: Fields,
    ) -> String {
        let microseconds = now.timestamp_micros();
        let context: Map<String, Value> = spans
            .0
            .into_iter()
            .map(|(name, value)| (name.to_owned(), Value::String(value)))
            .collect();
        let extra: Map<String, Value> = fields
            .0
            .into_iter()
            .map(|(name, value)| (name.to_owned(), Value::String(value)))
            .collect();
        let path = metadata.file().unwrap_or_default();
        json!({
            "message": message,
            "asctime": now.with_timezone(&Local).format(&self.date_format).to_string(),
            "name": metadata.target(),
            "msg": message,
            "args": [],
            "levelname": python_level(*metadata.level()),
            "levelno": python_level_number(*metadata.level()),
            "pathname": path,
            "filename": path.rsplit('/').next(),
            "module": metadata.module_path(),
            "lineno": metadata.line(),
            "created": microseconds as f64 / 1e6,
            "msecs": now.timestamp_subsec_millis(),
            "process_name": "heat-engine-rs",
            "process": self.process,
            "traceback": Value::Null,
            "hostname": self.hostname,
            "error_summary": extra.get("error").cloned().unwrap_or_else(|| Value::String(String::new())),
            "context": context,
            "extra": extra,
        })
        .to_string()
    }
}

/// What stands between the brackets: `-`, or the request and who asked.
fn request_of(spans: &mut Fields) -> String {
    let Some(request_id) = spans.take("request_id").filter(|id| !id.is_empty()) else {
        return "-".to_owned();
    };
    // Python writes None here, and log collectors have patterns for it.
    let global = spans
        .take("global_request_id")
        .filter(|id| !id.is_empty())
        .unwrap_or_else(|| "None".to_owned());
    let mut request = String::new();
    push_printable(&mut request, &global);
    request.push(' ');
    push_printable(&mut request, &request_id);
    for name in IDENTITY {
        request.push(' ');
        let value = spans.take(name).filter(|value| !value.is_empty());
        push_printable(&mut request, value.as_deref().unwrap_or("-"));
    }
    request
}

/// A line stays a line, whatever a tenant calls a stack.
fn push_printable(line: &mut String, text: &str) {
    for character in text.chars() {
        if character.is_control() && character != '\t' {
            line.extend(character.escape_default());
        } else {
            line.push(character);
        }
    }
}

fn python_level(level: Level) -> &'static str {
    match level {
        Level::ERROR => "ERROR",
        Level::WARN => "WARNING",
        Level::INFO => "INFO",
        Level::DEBUG => "DEBUG",
        Level::TRACE => "TRACE",
    }
}

fn python_level_number(level: Level) -> u8 {
    match level {
        Level::ERROR => 40,
        Level::WARN => 30,
        Level::INFO => 20,
        Level::DEBUG => 10,
        Level::TRACE => 5,
    }
}

fn color_of(level: Level) -> &'static str {
    match level {
        Level::ERROR => "\u{1b}[01;31m",
        Level::WARN => "\u{1b}[01;33m",
        Level::INFO => "\u{1b}[00;36m",
        Level::DEBUG => "\u{1b}[00;32m",
        Level::TRACE => "\u{1b}[00;35m",
    }
}

/// chrono panics over a directive that it does not know, so such a format is not used.
fn usable_date_format(format: &str) -> String {
    if is_date_format(format) {
        format.to_owned()
    } else {
        "%Y-%m-%d %H:%M:%S".to_owned()
    }
}

pub fn is_date_format(format: &str) -> bool {
    use chrono::format::{Item, StrftimeItems};
    StrftimeItems::new(format).all(|item| item != Item::Error)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_request_has_the_fields_of_oslo_log() {
        let mut spans = Fields::default();
        spans.set("request_id", "req-1".to_owned());
        spans.set("project", "p".to_owned());
        spans.set("user", "u".to_owned());
        spans.set("stack", "s".to_owned());
        assert_eq!(request_of(&mut spans), "None req-1 u p - - - -");
        assert_eq!(
            spans.get("stack"),
            Some("s"),
            "other fields are left for the end of the line"
        );
        assert_eq!(request_of(&mut Fields::default()), "-");
    }

    #[test]
    fn nobody_forges_a_line() {
        let mut line = String::new();
        push_printable(&mut line, "a\n2026-11-29 14:35:03.741 1 ERROR\u{1b}[31m");
        assert_eq!(line, "a\\n2026-11-29 14:35:03.741 1 ERROR\\u{1b}[31m");
    }

    #[test]
    fn a_date_format_that_chrono_does_not_know_is_not_used() {
        assert_eq!(usable_date_format("%d.%m. %H:%M"), "%d.%m. %H:%M");
        assert_eq!(usable_date_format("%Q"), "%Y-%m-%d %H:%M:%S");
    }
}
