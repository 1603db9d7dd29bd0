//! Functions that look something up: parameters, resources, attributes, files.

use num_bigint::BigInt;
use serde_json::Value;

use super::strings::hashable;
use super::unhashable;
use crate::python::number::{PyNumber, parse_int};
use crate::python::repr::to_text;
use crate::python::value::is_true;
use crate::template::error::{Fault, ResolveError, TemplateError};
use crate::template::expression::{AttributePath, Call, Expression, Resolver};
use crate::template::place::Place;
use crate::template::references::{References, unknown_attribute};

/// What `get_attr` understands, by version.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum AttributeDialect {
    /// The attribute is asked for whole, and the path selects from its value.
    AttributeThenSelect,
    /// The path belongs to the question.
    WithPath,
    /// As before; a resource alone asks for all its attributes.
    AllAttributes,
    /// `Fn::GetAtt`: exactly resource and attribute.
    CfnPair,
}

pub(super) fn get_param(name: &str, arguments: &Expression, resolver: &Resolver<'_>) -> Result<Value, ResolveError> {
    let arguments = resolver.resolve(arguments)?;
    if !is_true(&arguments) {
        return Err(Fault::ValueError(format!("Function \"{name}\" must have arguments")).into());
    }
    let (parameter, path) = match &arguments {
        Value::String(_) => (&arguments, &[][..]),
        Value::Array(items) => (&items[0], &items[1..]),
        _ => return Err(Fault::TypeError(format!("Argument to \"{name}\" must be string or list")).into()),
    };
    let Value::String(parameter) = parameter else {
        return Err(Fault::TypeError(format!("Parameter name in \"{name}\" must be string")).into());
    };
    let value = resolver
        .references
        .parameter(parameter)?
        .ok_or_else(|| TemplateError::UserParameterMissing { key: parameter.clone() })?;
    Ok(select(value, path, TextIndex::Converted).unwrap_or_else(|| Value::from("")))
}

/// Whether the text "0" selects from a list.
#[derive(Clone, Copy, PartialEq, Eq)]
enum TextIndex {
    Converted,
    Refused,
}

/// The value at a path, or `None` where Python could not follow it.
fn select(value: Value, path: &[Value], text_index: TextIndex) -> Option<Value> {
    path.iter()
        .try_fold(value, |collection, key| select_one(&collection, key, text_index))
}

fn select_one(collection: &Value, key: &Value, text_index: TextIndex) -> Option<Value> {
    match collection {
        Value::Object(entries) => entries.get(key.as_str()?).cloned(),
        Value::Array(items) => items.get(index_of(key, items.len(), text_index)?).cloned(),
        Value::String(text) => {
            let length = text.chars().count();
            let character = text.chars().nth(index_of(key, length, text_index)?)?;
            Some(Value::from(character.to_string()))
        }
        _ => None,
    }
}

fn index_of(key: &Value, length: usize, text_index: TextIndex) -> Option<usize> {
    let index = match key {
        Value::String(text) if text_index == TextIndex::Converted => parse_int(text)?,
        Value::String(_) => return None,
        other => match PyNumber::of(other)? {
            PyNumber::Int(index) => index,
            PyNumber::Float(_) => return None,
        },
    };
    python_index(&index, length)
}

/// Python's indexing, where negative numbers count from the end.
pub(super) fn python_index(index: &BigInt, length: usize) -> Option<usize> {
    let from_start = if *index < BigInt::ZERO {
        index + length
    } else {
        index.clone()
    };
    usize::try_from(from_start).ok().filter(|index| *index < length)
}

pub(super) fn get_resource(arguments: &Expression, resolver: &Resolver<'_>) -> Result<Value, ResolveError> {
    let resource = existing_resource(arguments, resolver, &SOMEWHERE)?;
    resolver.references.resource_reference(&resource)
}

/// What messages say where nobody knows the place.
const SOMEWHERE: Place<'static> = Place::Start(&["unknown"]);

/// The name that an expression gives, if there is such a resource.
pub(super) fn existing_resource(
    name: &Expression,
    resolver: &Resolver<'_>,
    place: &Place<'_>,
) -> Result<String, ResolveError> {
    match resolver.resolve(name)? {
        Value::String(resource) if resolver.references.has_resource(&resource) => Ok(resource),
        list_or_map @ (Value::Array(_) | Value::Object(_)) => Err(unhashable(&list_or_map).into()),
        other => {
            let reference = TemplateError::InvalidTemplateReference {
                resource: to_text(&other),
                key: place.to_string(),
            };
            Err(reference.into())
        }
    }
}

pub(super) fn check_attribute(dialect: AttributeDialect, name: &str, arguments: &Expression) -> Result<(), Fault> {
    match dialect {
        AttributeDialect::AttributeThenSelect | AttributeDialect::WithPath => check_attribute_list(name, arguments),
        AttributeDialect::AllAttributes => check_optional_attribute(name, arguments),
        AttributeDialect::CfnPair => match arguments {
            Expression::List(items) if items.len() == 2 => Ok(()),
            Expression::Scalar(Value::Null | Value::Bool(_) | Value::Number(_)) | Expression::Call(_) => Err(
                Fault::TypeError(format!("cannot unpack non-iterable {} object", python_class(arguments))),
            ),
            _ => Err(Fault::ValueError(format!(
                "Arguments to \"{name}\" must be of the form [resource_name, attribute]"
            ))),
        },
    }
}

pub(super) fn python_class(arguments: &Expression) -> &'static str {
    match arguments {
        Expression::Call(_) => "Function",
        other => crate::python::value::class_name(&other.render()),
    }
}

fn check_attribute_list(name: &str, arguments: &Expression) -> Result<(), Fault> {
    let Some(items) = arguments.as_list() else {
        return Err(Fault::TypeError(format!("Argument to \"{name}\" must be a list")));
    };
    if items.len() < 2 {
        return Err(Fault::ValueError(format!(
            "Arguments to \"{name}\" must be of the form [resource_name, attribute, (path), ...]"
        )));
    }
    Ok(())
}

fn check_optional_attribute(name: &str, arguments: &Expression) -> Result<(), Fault> {
    if arguments.is_empty() {
        return Err(Fault::ValueError(format!(
            "Arguments to \"{name}\" can be of the next forms: [resource_name] or \
             [resource_name, attribute, (path), ...]"
        )));
    }
    match arguments {
        Expression::List(items) if items.len() == 1 => Ok(()),
        // Python takes a text of one character for a list of one name.
        Expression::Scalar(Value::String(text)) if text.chars().count() == 1 => Ok(()),
        _ => check_attribute_list(name, arguments),
    }
}

/// Resource, attribute and path of a call whose arguments have been checked.
struct Question<'a> {
    resource: &'a Expression,
    attribute: Option<&'a Expression>,
    path: &'a [Expression],
}

fn question(arguments: &Expression) -> Question<'_> {
    match arguments.as_list() {
        Some([resource]) => Question {
            resource,
            attribute: None,
            path: &[],
        },
        Some([resource, attribute, path @ ..]) => Question {
            resource,
            attribute: Some(attribute).filter(|attribute| !attribute.is_null()),
            path,
        },
        _ => Question {
            resource: arguments,
            attribute: None,
            path: &[],
        },
    }
}

/// The resource part of a `get_attr`.
pub(super) fn resource_asked(arguments: &Expression) -> &Expression {
    question(arguments).resource
}

pub(super) fn get_attribute(
    dialect: AttributeDialect,
    arguments: &Expression,
    resolver: &Resolver<'_>,
) -> Result<Value, ResolveError> {
    let question = question(arguments);
    let references = resolver.references;
    if question.attribute.is_none() && dialect == AttributeDialect::AllAttributes {
        let resource = existing_resource(question.resource, resolver, &SOMEWHERE)?;
        if !references.is_ready_for_all(&resource) {
            return Ok(Value::Null);
        }
        return references.all_attributes(&resource);
    }
    let attribute = question
        .attribute
        .map_or(Ok(Value::Null), |attribute| resolver.resolve(attribute))?;
    let path = resolver.resolve_list(question.path)?;
    let resource = existing_resource(question.resource, resolver, &SOMEWHERE)?;
    if !references.is_ready(&resource) {
        return Ok(Value::Null);
    }
    let Value::String(name) = attribute else {
        return Err(match attribute {
            Value::Array(_) | Value::Object(_) => unhashable(&attribute).into(),
            scalar => unknown_attribute(&resource, &to_text(&scalar)),
        });
    };
    match dialect {
        AttributeDialect::WithPath | AttributeDialect::AllAttributes => {
            path.iter().try_for_each(|key| hashable(key).map(drop))?;
            references.attribute(&resource, &AttributePath::new(name, path))
        }
        AttributeDialect::AttributeThenSelect | AttributeDialect::CfnPair => {
            let value = references.attribute(&resource, &AttributePath::new(name, Vec::new()))?;
            Ok(select(value, &path, TextIndex::Refused).unwrap_or(Value::Null))
        }
    }
}

pub(super) fn validate_attribute(call: &Call, references: &dyn References) -> Result<(), Fault> {
    let resolver = Resolver::new(references);
    let question = question(&call.arguments);
    let resource = existing_resource(question.resource, &resolver, &SOMEWHERE).map_err(|error| error.fault)?;
    let Some(attribute) = question.attribute else {
        if call.function == super::Function::GetAttribute(AttributeDialect::AllAttributes) {
            return Ok(());
        }
        return Err(unknown_attribute(&resource, "None").fault);
    };
    match resolver.resolve(attribute).map_err(|error| error.fault)? {
        Value::String(name) if references.has_attribute(&resource, &name) => Ok(()),
        list_or_map @ (Value::Array(_) | Value::Object(_)) => Err(unhashable(&list_or_map)),
        other => Err(unknown_attribute(&question.resource.to_text(), &to_text(&other)).fault),
    }
}

/// What the node of a resource has to tell those that depend on it, as far as this call goes.
pub(super) fn attribute_asked_for(
    dialect: AttributeDialect,
    arguments: &Expression,
    resolver: &Resolver<'_>,
) -> Option<(String, AttributePath)> {
    let question = question(arguments);
    let Ok(Value::String(resource)) = resolver.resolve(question.resource) else {
        return None;
    };
    let Some(attribute) = question.attribute else {
        return (dialect == AttributeDialect::AllAttributes).then(|| (resource, AttributePath::all()));
    };
    let Ok(Value::String(name)) = resolver.resolve(attribute) else {
        return None;
    };
    let path = match dialect {
        AttributeDialect::WithPath | AttributeDialect::AllAttributes => resolver.resolve_list(question.path).ok()?,
        AttributeDialect::AttributeThenSelect | AttributeDialect::CfnPair => Vec::new(),
    };
    let can_be_a_key = !path.iter().any(|key| key.is_array() || key.is_object());
    can_be_a_key.then(|| (resource, AttributePath::new(name, path)))
}

pub(super) fn get_file(name: &str, arguments: &Expression, resolver: &Resolver<'_>) -> Result<Value, ResolveError> {
    let Value::String(file) = resolver.resolve(arguments)? else {
        return Err(Fault::TypeError(format!("Argument to \"{name}\" must be a string")).into());
    };
    resolver
        .references
        .file(&file)
        .filter(|content| !content.is_null())
        .ok_or_else(|| {
            Fault::ValueError(format!(
                "No content found in the \"files\" section for {name} path: {file}"
            ))
            .into()
        })
}

pub(super) fn check_facade(cfn: bool, name: &str, arguments: &Expression) -> Result<(), Fault> {
    let allowed = if cfn {
        ["Metadata", "DeletionPolicy", "UpdatePolicy"]
    } else {
        ["metadata", "deletion_policy", "update_policy"]
    };
    if arguments.as_text().is_some_and(|text| allowed.contains(&text)) {
        return Ok(());
    }
    Err(Fault::ValueError(format!(
        "Incorrect arguments to \"{name}\" should be one of: {}",
        allowed.join(", ")
    )))
}

/// What the resource in front of a nested stack says.
pub(super) fn facade(arguments: &Expression, resolver: &Resolver<'_>) -> Result<Value, ResolveError> {
    let asked = arguments.as_text().unwrap_or_default().to_lowercase().replace('_', "");
    let facade = resolver.references.facade();
    // A stack that is not nested has none, as Python finds out the hard way.
    let missing = |attribute: &str| Fault::AttributeError(format!("'NoneType' object has no attribute '{attribute}'"));
    match asked.as_str() {
        "metadata" => Ok(facade.ok_or_else(|| missing("metadata_get"))?.metadata.clone()),
        "updatepolicy" => Ok(facade.ok_or_else(|| missing("t"))?.update_policy.clone()),
        _ => Ok(facade.ok_or_else(|| missing("t"))?.deletion_policy.as_str().into()),
    }
}
