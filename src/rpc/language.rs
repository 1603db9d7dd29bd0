//! What the template language has to offer: its versions, and the functions of each.

use serde_json::{Value, json};

use super::call::{Call, Engine};
use super::error::RequestError;
use crate::python::to_text;
use crate::template::{TemplateVersion, VERSIONS, functions_of};

pub async fn list_template_versions(_: &Engine, _: Call) -> Result<Value, RequestError> {
    Ok(versions())
}

/// Each version with the releases that are other names of it.
pub fn versions() -> Value {
    let (official, aliases): (Vec<_>, Vec<_>) = VERSIONS
        .iter()
        .partition(|(_, value, _)| value.starts_with(|first: char| first.is_ascii_digit()));
    let aliases_of = |of: TemplateVersion| -> Vec<String> {
        let named = aliases.iter().filter(|(_, _, version)| *version == of);
        named.map(|(key, value, _)| format!("{key}.{value}")).collect()
    };
    official
        .iter()
        .map(|(key, value, version)| {
            json!({
                "version": format!("{key}.{value}"),
                "type": if version.is_hot() { "hot" } else { "cfn" },
                "aliases": aliases_of(*version),
            })
        })
        .collect()
}

pub async fn list_template_functions(_: &Engine, call: Call) -> Result<Value, RequestError> {
    let wanted = to_text(call.arguments.value("template_version").unwrap_or(&Value::Null));
    functions(&wanted, call.arguments.flag("with_condition", false))
        .ok_or_else(|| RequestError::NotFound(format!("Template with version {wanted} not found")))
}

/// The functions of a version; `None` if there is no such version.
pub fn functions(wanted: &str, with_conditions: bool) -> Option<Value> {
    let (_, _, version) = VERSIONS
        .iter()
        .find(|(key, value, _)| wanted.split_once('.') == Some((*key, *value)))?;
    let functions = functions_of(*version, with_conditions).into_iter();
    Some(
        functions
            .map(|function| json!({"functions": function.name, "description": function.description}))
            .collect(),
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_release_is_another_name_of_a_version() {
        let versions = versions();
        assert_eq!(versions.as_array().map(Vec::len), Some(13));
        assert_eq!(
            versions[12],
            json!({
                "version": "heat_template_version.2021-04-16",
                "type": "hot",
                "aliases": ["heat_template_version.wallaby"],
            })
        );
        let by_name = |name| functions(name, true);
        assert_eq!(
            by_name("heat_template_version.wallaby"),
            by_name("heat_template_version.2021-04-16")
        );
        assert!(by_name("heat_template_version").is_none() && by_name("2021-04-16").is_none());
    }
}
