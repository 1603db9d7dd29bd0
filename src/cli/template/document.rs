//! What stands in a file, as a map.

use serde_json::{Map, Value};

use super::problem::{Problem, Severity};
use super::source::Source;
use crate::template::reading::{ReadError, read_document};

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
        Err(error) => {
            let problem = Problem::of_file(source, Severity::Error, error.summary());
            Err(Box::new(problem.with_mark(source, error.mark())))
        }
    }
}

pub fn read_template_file(source: &Source) -> Result<Map<String, Value>, Box<Problem>> {
    read_map(source, read_document(&source.text), "a template")
}
