//! The values of hidden parameters, which do not belong into the log of a build.

use serde_json::Value;

use crate::cli::secrets::Secrets;
use crate::python::to_text;
use crate::python::value::is_true;
use crate::template::Template;

/// All values that a template's hidden parameters may have, whether they are good for them or not.
pub fn values(template: &Template) -> Secrets {
    let mut secrets = Secrets::default();
    let environment = template.environment();
    let defined = template.definitions(template.keywords().parameters);
    for (name, definition) in defined.into_iter().flatten().filter(|(_, it)| is_hidden(it)) {
        let given = [&environment.parameters, &environment.parameter_defaults].map(|values| values.get(name));
        let defaults = ["default", "Default"].map(|key| definition.get(key));
        for value in given.into_iter().chain(defaults).flatten() {
            secrets.add_leaves(value);
            // Lists and JSON may be given as text.
            for part in value.as_str().into_iter().flat_map(parts) {
                secrets.add_leaves(&part);
            }
        }
    }
    secrets
}

fn parts(text: &str) -> Vec<Value> {
    match serde_json::from_str(text) {
        Ok(value) => vec![value],
        Err(_) => text.split(',').map(|item| Value::from(item.trim())).collect(),
    }
}

fn is_hidden(definition: &Value) -> bool {
    let marks = ["hidden", "NoEcho"].into_iter().filter_map(|key| definition.get(key));
    let says_no = |mark: &Value| !is_true(mark) || to_text(mark).eq_ignore_ascii_case("false");
    marks.into_iter().any(|mark| !says_no(mark))
}
