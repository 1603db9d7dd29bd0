//! Words that YAML takes for true or false, `yes` and `off`, where texts are meant.

use serde_json::Value;

use super::problem::{Problem, Severity};
use super::source::Source;
use crate::resource::schema::{Inside, Property, PropertyType};

/// Warns of a word where Heat makes `True` or `False` of it, since a text is needed.
pub fn warn_of_text(source: &Source, path: &str, value: &Value, problems: &mut Vec<Problem>) {
    if let (Value::Bool(truth), Some(word)) = (value, source.word_for_truth(path)) {
        let text = if *truth { "True" } else { "False" };
        let message = format!("YAML takes {word} for {truth}, and this text is \"{text}\"");
        let help = Some(format!("in quotes, \"{word}\", it stays what it is"));
        problems.push(Problem::at(source, Severity::Warning, path, message).with_help(help));
    }
}

/// The same for all texts in the value of a property.
pub fn warn_of_texts_in(
    source: &Source,
    path: &str,
    property: &Property<'_>,
    value: &Value,
    problems: &mut Vec<Problem>,
) {
    match (property.inside, value) {
        (Inside::Keys(keys), Value::Object(entries)) => {
            for inner in keys {
                if let Some(value) = entries.get(inner.name) {
                    warn_of_texts_in(source, &format!("{path}.{}", inner.name), inner, value, problems);
                }
            }
        }
        (Inside::Items(item), Value::Array(items)) => {
            for (index, value) in items.iter().enumerate() {
                warn_of_texts_in(source, &format!("{path}[{index}]"), item, value, problems);
            }
        }
        _ if property.kind == PropertyType::String => warn_of_text(source, path, value, problems),
        _ => {}
    }
}
