//! Parameter groups: how a user interface lays out the parameters.

use std::collections::HashSet;

use serde_json::{Map, Value};

use super::{Parameters, StackIdentity};
use crate::python::repr::to_text;
use crate::template::document::Template;
use crate::template::error::TemplateError;

const SECTION: &str = "parameter_groups";

/// Checks that each grouped parameter exists and belongs to one group only.
pub(crate) fn validate_groups(template: &Template) -> Result<(), TemplateError> {
    let Some(groups) = template.parameter_groups() else {
        return Ok(());
    };
    let Value::Array(groups) = groups else {
        return Err(group_error(None, format!("The {SECTION} should be a list.")));
    };
    let nothing = Map::new();
    let parameters = Parameters::new(template, &StackIdentity::default(), &nothing, &nothing)?;
    let mut grouped: HashSet<&str> = HashSet::new();
    for group in groups {
        let label = group.get("label").map(to_text).unwrap_or_default();
        let invalid = |message: String| group_error(Some(&label), message);
        let members = match group.get("parameters") {
            None | Some(Value::Null) => {
                return Err(invalid(
                    "The parameters must be provided for each parameter group.".to_owned(),
                ));
            }
            Some(Value::Array(members)) => members,
            Some(_) => {
                return Err(invalid(
                    "The parameters of parameter group should be a list.".to_owned(),
                ));
            }
        };
        for member in members {
            let name = to_text(member);
            let known = member.as_str().filter(|name| parameters.get(name).is_some());
            if known.is_some_and(|known| !grouped.insert(known)) {
                return Err(invalid(format!(
                    "The {name} parameter must be assigned to one parameter group only."
                )));
            }
            if known.is_none() {
                return Err(invalid(format!(
                    "The grouped parameter {name} does not reference a valid parameter."
                )));
            }
        }
    }
    Ok(())
}

fn group_error(label: Option<&str>, message: String) -> TemplateError {
    TemplateError::StackValidationFailed {
        error: "Parameter Groups error".to_owned(),
        path: [SECTION].into_iter().chain(label).map(str::to_owned).collect(),
        message,
    }
}
