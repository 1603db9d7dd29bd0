//! The functions of a value: their arguments, what they refer to, what comes of them.

use super::names::quoted;
use super::near;
use super::problem::{Problem, Severity};
use super::resources::{ResourceCheck, is_judged};
use super::words::in_words;
use crate::template::error::dotted_path;
use crate::template::{Expression, Fault, Place, ResolveError, ResourceDefinition, Scope, TemplateError};

impl ResourceCheck<'_> {
    pub fn check_functions(&self, resource: &ResourceDefinition, scope: &Scope<'_>, problems: &mut Vec<Problem>) {
        let keywords = self.definition.template().keywords();
        let parts = [
            (keywords.properties, resource.properties()),
            (keywords.metadata, resource.metadata_expression()),
            (keywords.update_policy, resource.update_policy()),
            (keywords.external_id, resource.external_id_expression()),
        ];
        let is_external = resource.external_id_expression().is_some();
        let is_judged = !is_external && self.types.get(&resource.name).is_some_and(is_judged);
        for (part, expression) in parts {
            let path = self.keywords_path(resource, part);
            for (path, expression) in expression.into_iter().flat_map(|expression| pieces(&path, expression)) {
                let is_sound = self.check_expression(&path, expression, scope, problems);
                if is_sound && is_judged && part == keywords.properties {
                    self.check_before_anything_is_made(&path, expression, scope, problems);
                }
            }
        }
    }

    pub fn check_output(&self, path: &str, value: &Expression, scope: &Scope<'_>, problems: &mut Vec<Problem>) {
        for (path, expression) in pieces(path, value) {
            self.check_expression(&path, expression, scope, problems);
        }
    }

    /// A stack's properties are computed before anything is made, and whoever cannot do so refuses the stack.
    fn check_before_anything_is_made(
        &self,
        path: &str,
        expression: &Expression,
        scope: &Scope<'_>,
        problems: &mut Vec<Problem>,
    ) {
        // Of a template that others give values nothing follows, and zones are not known here.
        if expression.needs_no_cloud() || expression.needs_availability_zones() || !self.open.is_empty() {
            return;
        }
        if let Err(error) = expression.resolve_or_absent(scope) {
            let mut refused = Vec::new();
            self.refuse_resolving(&mut refused, &below(path, &error.path()), error);
            let why = "tried before anything is made, when each attribute is null";
            problems.extend(refused.into_iter().map(|problem| problem.with_help_unless_helped(why)));
        }
    }

    /// Tells what is wrong with the functions of a value: their arguments, what they refer to, what comes of them. Gives
    /// whether nothing is.
    fn check_expression(
        &self,
        path: &str,
        expression: &Expression,
        scope: &Scope<'_>,
        problems: &mut Vec<Problem>,
    ) -> bool {
        let steps = [path];
        let place = Place::Start(&steps);
        if let Err(error) = expression.validate(scope, &place) {
            match error {
                // The place of an attribute is told; which one it is about is in the message.
                TemplateError::StackValidationFailed { path, message, .. } => {
                    self.refuse_located(problems, &dotted_path(&path), &message);
                }
                other => self.refuse(problems, path, &other),
            }
            return false;
        }
        if let Err(error) = expression.dependencies(scope, &place) {
            self.refuse_resolving(problems, path, error);
            return false;
        }
        let resolved = expression.resolve_partly(scope);
        let is_sound = resolved.is_ok();
        if let Err(error) = resolved {
            self.refuse_resolving(problems, &below(path, &error.path()), error);
        }
        problems.extend(self.asked_of_groups(path, expression, scope));
        is_sound
    }

    /// Tells an error, unless it only follows from what has been told.
    pub fn refuse(&self, problems: &mut Vec<Problem>, path: &str, error: &TemplateError) {
        if self.follows_from_another(&error.to_string()) {
            return;
        }
        if let TemplateError::InvalidTemplateReference { resource, .. } = error
            && self.is_switched_off(resource)
        {
            // Heat shows such an output without its value.
            let is_output = path.starts_with(self.definition.template().keywords().outputs);
            let severity = if is_output { Severity::Warning } else { Severity::Error };
            problems.push(Problem::at(self.source, severity, path, switched_off(resource)));
            return;
        }
        // Where there is nothing left, everything else fails, too.
        let is_together = matches!(error, TemplateError::AllowanceExceeded { .. });
        if is_together && problems.iter().any(|problem| problem.says(&error.to_string())) {
            return;
        }
        let mut problem = self.names.problem(self.source, path, error);
        if let TemplateError::InvalidTemplateAttribute { resource, key } = error {
            problem = problem.with_help(self.attribute_help(resource, key));
        }
        problems.push(problem);
    }

    fn refuse_resolving(&self, problems: &mut Vec<Problem>, path: &str, error: ResolveError) {
        match &error.fault {
            // The parameter itself has been told missing.
            Fault::Template(TemplateError::UserParameterMissing { key })
                if self.definition.parameters().get(key).is_some() => {}
            fault if self.is_about_a_parameter(fault) => {}
            Fault::Template(TemplateError::InvalidTemplateReference { resource, key }) => {
                let error = TemplateError::InvalidTemplateReference {
                    resource: resource.clone(),
                    key: key.clone(),
                };
                let place = if key == "unknown" { path } else { key };
                self.refuse(problems, place, &error);
            }
            Fault::Template(error) => self.refuse(problems, path, error),
            fault => self.refuse_located(problems, path, &fault.to_string()),
        }
    }

    fn refuse_located(&self, problems: &mut Vec<Problem>, path: &str, message: &str) {
        if self.follows_from_another(message) {
            return;
        }
        let reference = named_reference(message).filter(|resource| self.is_switched_off(resource));
        if let Some(resource) = reference {
            problems.push(Problem::at(self.source, Severity::Error, path, switched_off(resource)));
            return;
        }
        let help = named_attribute(message).and_then(|(resource, attribute)| self.attribute_help(resource, attribute));
        let help = help.or_else(|| self.names.help(path, message));
        problems.push(Problem::at(self.source, Severity::Error, path, message).with_help(help));
    }

    fn follows_from_another(&self, message: &str) -> bool {
        // In words, since Python quotes its own names, too.
        let message = in_words(message).message;
        quoted(&message).into_iter().any(|word| self.survey.left_out(word))
    }

    /// Whether it is only the value of a parameter that makes no sense, which has been told where that is given.
    fn is_about_a_parameter(&self, fault: &Fault) -> bool {
        let mut parameters = self.definition.parameters().defined();
        parameters.any(|parameter| parameter.value().is_err_and(|error| error.fault == *fault))
    }

    /// Whether a resource makes sense, and its condition does not hold.
    fn is_switched_off(&self, resource: &str) -> bool {
        self.definition.is_resource_name(resource) && self.definition.resource(resource).is_none()
    }

    fn attribute_help(&self, resource: &str, attribute: &str) -> Option<String> {
        let info = self.types.get(resource)?;
        near::question(attribute, info.attributes()).or_else(|| {
            let names = info.attributes();
            (!names.is_empty() && names.len() <= 30).then(|| format!("it has {}", names.join(", ")))
        })
    }
}

/// The path of a part, as messages write it.
fn below(path: &str, inner: &str) -> String {
    let dot = if inner.is_empty() || inner.starts_with('[') {
        ""
    } else {
        "."
    };
    format!("{path}{dot}{inner}")
}

/// The parts of a value that can be looked at one by one.
fn pieces<'e>(path: &str, expression: &'e Expression) -> Vec<(String, &'e Expression)> {
    match expression.as_map() {
        Some(entries) if !entries.is_empty() => entries
            .iter()
            .map(|(name, expression)| (format!("{path}.{name}"), expression))
            .collect(),
        _ => vec![(path.to_owned(), expression)],
    }
}

/// Resource and attribute of the message about a wrong attribute.
fn named_attribute(message: &str) -> Option<(&str, &str)> {
    let inside = message
        .split_once("The Referenced Attribute (")?
        .1
        .strip_suffix(") is incorrect.")?;
    inside.split_once(' ')
}

/// The resource of the message about a wrong reference.
fn named_reference(message: &str) -> Option<&str> {
    let rest = message.strip_prefix("The specified reference \"")?;
    rest.split_once('"').map(|(resource, _)| resource)
}

fn switched_off(resource: &str) -> String {
    format!("the condition of \"{resource}\" does not hold, so that there is no such resource")
}
