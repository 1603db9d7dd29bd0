//! Parameter groups: how a user interface lays out the parameters.

use std::collections::HashSet;

use serde_json::{Map, Value};

use super::{Parameters, StackIdentity};
use crate::python::repr::to_text;
use crate::template::document::Template;
use crate::template::error::TemplateError;

const SECTION: &str = "parameter_groups";

/// What is wrong with the groups of a template, each with its place: each grouped parameter has to exist, and to belong to
/// one group only.
pub(crate) fn faults_of_groups(template: &Template) -> Vec<(Vec<String>, TemplateError)> {
    let place = |steps: &[&str]| {
        let steps = [SECTION].into_iter().chain(steps.iter().copied());
        steps.map(str::to_owned).collect::<Vec<_>>()
    };
    let Some(groups) = template.parameter_groups() else {
        return Vec::new();
    };
    let Value::Array(groups) = groups else {
        let error = group_error(None, format!("The {SECTION} should be a list."));
        return vec![(place(&[]), error)];
    };
    let nothing = Map::new();
    let parameters = match Parameters::new(template, &StackIdentity::default(), &nothing, &nothing) {
        Ok(parameters) => parameters,
        Err(error) => return vec![(place(&[]), error)],
    };
    let mut found = Vec::new();
    let mut grouped: HashSet<&str> = HashSet::new();
    for (number, group) in groups.iter().enumerate() {
        let number = number.to_string();
        let label = group.get("label").map(to_text).unwrap_or_default();
        let invalid = |message: String| group_error(Some(&label), message);
        let members = match group.get("parameters") {
            None | Some(Value::Null) => {
                let message = "The parameters must be provided for each parameter group.";
                found.push((place(&[&number]), invalid(message.to_owned())));
                continue;
            }
            Some(Value::Array(members)) => members,
            Some(_) => {
                let message = "The parameters of parameter group should be a list.";
                found.push((place(&[&number, "parameters"]), invalid(message.to_owned())));
                continue;
            }
        };
        for (index, member) in members.iter().enumerate() {
            let name = to_text(member);
            let known = member.as_str().filter(|name| parameters.get(name).is_some());
            let message = match known {
                Some(known) if grouped.insert(known) => continue,
                Some(_) => format!("The {name} parameter must be assigned to one parameter group only."),
                None => format!("The grouped parameter {name} does not reference a valid parameter."),
            };
            found.push((place(&[&number, "parameters", &index.to_string()]), invalid(message)));
        }
    }
    found
}

fn group_error(label: Option<&str>, message: String) -> TemplateError {
    TemplateError::StackValidationFailed {
        error: "Parameter Groups error".to_owned(),
        path: [SECTION].into_iter().chain(label).map(str::to_owned).collect(),
        message,
    }
}
