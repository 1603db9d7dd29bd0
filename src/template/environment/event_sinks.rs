//! Where an environment wants events sent. A sink that no engine could build is refused: Heat builds the sinks whenever it
//! reads an environment, so a stack stored with a wrong one could neither be shown nor deleted.

use serde_json::Value;

use super::{EVENT_SINKS, list_section};
use crate::python::value::{class_name, is_true};
use crate::template::error::TemplateError;

pub const ZAQAR_QUEUE: &str = "zaqar-queue";
/// What a sink may say of itself.
pub const SINK_KEYS: [&str; 3] = ["type", "target", "ttl"];

pub(super) fn read(section: Option<&Value>) -> Result<Vec<Value>, TemplateError> {
    let is_nothing = |section: &Value| (section.is_object() || section.is_string()) && !is_true(section);
    let sinks = list_section(EVENT_SINKS, section.filter(|section| !is_nothing(section)))?;
    for sink in &sinks {
        if let Err(fault) = check(sink) {
            return Err(TemplateError::value_error(format!(
                "environment section \"{EVENT_SINKS}\": {fault}"
            )));
        }
    }
    Ok(sinks)
}

fn check(sink: &Value) -> Result<(), String> {
    let Value::Object(sink) = sink else {
        return Err(format!("a sink must be a map, not a {}", class_name(sink)));
    };
    match sink.get("type") {
        Some(Value::String(name)) if name == ZAQAR_QUEUE => {}
        Some(other) => return Err(format!("there is no sink type {other}")),
        None => return Err("a sink must have a type".to_owned()),
    }
    if !sink.contains_key("target") {
        return Err(format!("a {ZAQAR_QUEUE} sink must have a target"));
    }
    match sink.keys().find(|key| !SINK_KEYS.contains(&key.as_str())) {
        Some(key) => Err(format!("a {ZAQAR_QUEUE} sink has no \"{key}\"")),
        None => Ok(()),
    }
}
