//! What stands in a file, as a map.

use serde_json::{Map, Value};

use super::problem::{Problem, Severity};
use super::source::Source;
use crate::template::reading::{Closed, Opened, ReadError, read_document};

/// The engine's `max_template_size`, unless it is configured otherwise.
pub const LARGEST_FILE: u64 = 512 * 1024;

/// The document of a file, or what is wrong with it.
pub fn read_map(
    source: &Source,
    read: Result<Value, ReadError>,
    what: &str,
) -> Result<Map<String, Value>, Box<Problem>> {
    match read {
        Ok(Value::Object(document)) => Ok(document),
        Ok(_) => {
            let problem = Problem::of_file(source, Severity::Error, format!("{what} has to be a map"));
            Err(Box::new(problem))
        }
        Err(error) => Err(Box::new(unreadable(source, &error))),
    }
}

/// What is wrong with a text, with the place where something was opened that is to blame.
fn unreadable(source: &Source, error: &ReadError) -> Problem {
    let opened = Opened::in_text(&source.text, error);
    let told = |message: String, mark| Problem::of_file(source, Severity::Error, message).with_mark(source, mark);
    let (Some(opened), Some(mark)) = (opened, error.mark()) else {
        return told(error.summary(), error.mark());
    };
    let Opened { character, .. } = opened;
    match opened.closed {
        Closed::Never => {
            let message = format!("{character} is opened here and never closed: {}", error.summary());
            told(message, Some(opened.mark))
        }
        Closed::InLine(line) => {
            let remark = format!("{character} is opened here and closed in line {}", line + 1);
            told(error.summary(), Some(mark)).with_remark(source, opened.mark, remark)
        }
        Closed::NotYet if opened.mark.line == mark.line => told(error.summary(), Some(mark)),
        Closed::NotYet => {
            let remark = format!("{character} is opened here");
            told(error.summary(), Some(mark)).with_remark(source, opened.mark, remark)
        }
    }
}

pub fn read_template_file(source: &Source) -> Result<Map<String, Value>, Box<Problem>> {
    read_map(source, read_document(&source.text), "a template")
}
