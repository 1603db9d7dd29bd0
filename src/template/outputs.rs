//! Outputs of a stack.

use indexmap::IndexMap;
use serde_json::{Map, Value};

use super::conditions::ConditionScope;
use super::document::Template;
use super::error::{ResolveError, TemplateError};
use super::expression::{AttributePath, Context, Expression, ParseScope};
use super::place::Place;
use super::references::References;
use super::resource_definition::condition_holds;
use crate::python::repr::to_text;
use crate::python::value::class_name;

#[derive(Debug, Clone, PartialEq)]
pub struct OutputDefinition {
    pub name: String,
    value: Expression,
    description: Option<Value>,
}

impl OutputDefinition {
    pub fn description(&self) -> String {
        self.description
            .as_ref()
            .map_or_else(|| "No description given".to_owned(), to_text)
    }

    pub fn expression(&self) -> &Expression {
        &self.value
    }

    pub fn value(&self, references: &dyn References) -> Result<Value, ResolveError> {
        // In an answer there is a text of it, of twice its length where it is full of quotes, and in an envelope around
        // that each of them takes four characters.
        const TIMES_AS_TEXT: usize = 6;
        let value = self.value.resolve(references)?;
        Ok(references.allowance().keep(value, TIMES_AS_TEXT)?)
    }

    /// Checks the functions in the value; the path in the error is relative to the output (`value.…`).
    pub fn validate(&self, template: &Template, references: &dyn References) -> Result<(), TemplateError> {
        let keywords = template.keywords();
        let place = [keywords.outputs, &self.name, keywords.value];
        self.value.validate(references, &Place::Start(&place))
    }

    /// The resources that the value needs. An output that refers to what is not there needs nothing: it will not work
    /// anyway.
    pub fn required_resource_names(&self, references: &dyn References) -> Vec<String> {
        let mut names = self
            .value
            .dependencies(references, &Place::Start(&[]))
            .unwrap_or_default();
        let mut seen = std::collections::HashSet::new();
        names.retain(|name| seen.insert(name.clone()));
        names
    }

    /// The attributes of resources that the value asks for.
    pub fn attributes(&self, references: &dyn References) -> Vec<(String, AttributePath)> {
        self.value.attributes(references)
    }

    pub fn render_hot(&self) -> Value {
        let mut rendered = Map::new();
        if let Some(description) = &self.description {
            rendered.insert("description".to_owned(), description.clone());
        }
        rendered.insert("value".to_owned(), self.value.render());
        Value::Object(rendered)
    }
}

pub(super) fn parse_outputs(
    template: &Template,
    references: &ConditionScope<'_>,
) -> Result<IndexMap<String, OutputDefinition>, TemplateError> {
    let keywords = template.keywords();
    let scope = ParseScope {
        version: template.version(),
        context: Context::Body,
        references,
    };
    let mut outputs = IndexMap::new();
    for (name, raw) in template.definitions(keywords.outputs)? {
        outputs.insert(name.clone(), parse_output(name, raw, &scope)?);
    }
    Ok(outputs)
}

pub(super) fn parse_output(name: &str, raw: &Value, scope: &ParseScope<'_>) -> Result<OutputDefinition, TemplateError> {
    let keywords = scope.version.keywords();
    let invalid = |message: String| TemplateError::StackValidationFailed {
        error: "Output validation error".to_owned(),
        path: vec![keywords.outputs.to_owned(), name.to_owned()],
        message,
    };
    let Value::Object(fields) = raw else {
        return Err(invalid(format!(
            "Output definitions must be a map. Found a {} instead",
            class_name(raw)
        )));
    };
    let Some(value) = fields.get(keywords.value) else {
        return Err(invalid(format!(
            "Each output definition must contain a {} key.",
            keywords.value
        )));
    };
    let place = [keywords.outputs, name, keywords.condition];
    // Other than in resources, the place is told of a condition inside a function, too.
    let holds = || {
        condition_holds(fields, &place, keywords, scope).map_err(|error| match error {
            TemplateError::Python {
                class: "ValueError",
                message,
            } => TemplateError::invalid_at(&place, message),
            other => other,
        })
    };
    let enabled = !scope.version.has_conditions() || holds()?;
    let value = if enabled {
        Expression::parse(value, scope, &Place::Start(&[keywords.outputs, name, keywords.value]))?
    } else {
        Expression::Scalar(Value::Null)
    };
    let description = fields
        .get(keywords.description)
        .filter(|description| !description.is_null())
        .cloned();
    Ok(OutputDefinition {
        name: name.to_owned(),
        value,
        description,
    })
}
