//! The parameters that an environment may speak of.

use indexmap::IndexMap;
use serde_json::Value;

use super::ParameterSchema;
use crate::python::regex::Patience;
use crate::template::document::Template;
use crate::template::environment::Environment;
use crate::template::error::TemplateError;
use crate::template::files::Files;
use crate::template::reading::read_template;

/// The schemata of the template's own parameters, and before them those of the templates among the files that came with
/// it. A file that is no template is none; one that is too large or of an unknown version is refused with the whole.
pub fn all_schemata(
    template: &Template,
    files: &Files,
    largest_file: u64,
) -> Result<IndexMap<String, ParameterSchema>, TemplateError> {
    let mut schemata = IndexMap::new();
    for text in files.as_map().values().filter_map(Value::as_str) {
        let body = match read_template(text, None, largest_file) {
            Ok(body) => body,
            Err(TemplateError::Python {
                class: "ValueError", ..
            }) => continue,
            Err(error) => return Err(error),
        };
        let nested = Template::new(Value::Object(body), Environment::default(), Files::default())?;
        schemata.extend(own_schemata(&nested)?);
    }
    schemata.extend(own_schemata(template)?);
    Ok(schemata)
}

/// The schemata of the parameters that a template defines.
pub fn own_schemata(template: &Template) -> Result<IndexMap<String, ParameterSchema>, TemplateError> {
    let patience = Patience::default();
    template
        .definitions(template.keywords().parameters)?
        .iter()
        .map(|(name, definition)| {
            let schema = ParameterSchema::from_definition(template.version(), name, definition, &patience)?;
            Ok((name.clone(), schema))
        })
        .collect()
}
