//! Resources as the template defines them, and how two definitions of one resource differ.

use indexmap::{IndexMap, IndexSet};
use serde_json::{Map, Value};

use super::conditions::ConditionScope;
use super::document::Template;
use super::error::{Fault, ResolveError, TemplateError};
use super::expression::{AttributePath, Context, Expression, ParseScope};
use super::place::Place;
use super::references::References;
use super::version::{Keywords, TemplateVersion};
use crate::python::repr::to_text;
use crate::python::value::{class_name, equals, is_true};

#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum DeletionPolicy {
    Delete,
    Retain,
    Snapshot,
}

impl DeletionPolicy {
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Delete => "Delete",
            Self::Retain => "Retain",
            Self::Snapshot => "Snapshot",
        }
    }

    fn named(name: &str, version: TemplateVersion) -> Option<Self> {
        match name {
            "Delete" => Some(Self::Delete),
            "Retain" => Some(Self::Retain),
            "Snapshot" => Some(Self::Snapshot),
            _ if version < TemplateVersion::Hot20161014 => None,
            "delete" => Some(Self::Delete),
            "retain" => Some(Self::Retain),
            "snapshot" => Some(Self::Snapshot),
            _ => None,
        }
    }
}

/// A resource of the template. Functions in it have been parsed but not resolved.
#[derive(Debug, Clone, PartialEq)]
pub struct ResourceDefinition {
    pub name: String,
    pub resource_type: String,
    pub description: String,
    properties: Option<Expression>,
    metadata: Option<Expression>,
    depends_on: Option<Vec<String>>,
    deletion_policy: Option<DeletionPolicy>,
    update_policy: Option<Expression>,
    external_id: Option<Expression>,
    condition: Option<Value>,
}

impl ResourceDefinition {
    /// A definition that is made by the engine itself.
    pub fn new(name: impl Into<String>, resource_type: impl Into<String>, properties: Option<Expression>) -> Self {
        Self {
            name: name.into(),
            resource_type: resource_type.into(),
            description: String::new(),
            properties,
            metadata: None,
            depends_on: None,
            deletion_policy: None,
            update_policy: None,
            external_id: None,
            condition: None,
        }
    }

    pub fn properties(&self) -> Option<&Expression> {
        self.properties.as_ref()
    }

    pub fn metadata_expression(&self) -> Option<&Expression> {
        self.metadata.as_ref()
    }

    pub fn update_policy(&self) -> Option<&Expression> {
        self.update_policy.as_ref()
    }

    pub fn depends_on(&self) -> &[String] {
        self.depends_on.as_deref().unwrap_or_default()
    }

    pub fn deletion_policy(&self) -> DeletionPolicy {
        self.deletion_policy.unwrap_or(DeletionPolicy::Delete)
    }

    /// The metadata; empty where none is written.
    pub fn metadata(&self, references: &dyn References) -> Result<Value, ResolveError> {
        let metadata = resolve_optional(self.metadata.as_ref(), references)?;
        Ok(Some(metadata)
            .filter(is_true)
            .unwrap_or_else(|| Value::Object(Map::new())))
    }

    pub fn external_id_expression(&self) -> Option<&Expression> {
        self.external_id.as_ref()
    }

    /// The id of an object outside of Heat that this resource stands for.
    pub fn external_id(&self, references: &dyn References) -> Result<Option<Value>, ResolveError> {
        self.external_id
            .as_ref()
            .map(|id| id.resolve(references))
            .transpose()
            .map(|id| id.filter(|id| !id.is_null()))
    }

    /// The resources that this one waits for, named or implied, whether they exist or not.
    pub fn required_resource_names(&self, references: &dyn References) -> Result<IndexSet<String>, ResolveError> {
        let mut implied = self.implied_dependencies(self.properties.as_ref(), "Properties", references)?;
        implied.extend(self.implied_dependencies(self.metadata.as_ref(), "Metadata", references)?);
        let external_id = self.external_id(references)?.filter(is_true);
        match external_id {
            Some(external_id) if !self.depends_on().is_empty() => {
                let error = TemplateError::InvalidExternalResourceDependency {
                    resource_type: self.resource_type.clone(),
                    external_id: to_text(&external_id),
                };
                Err(error.into())
            }
            Some(_) => Ok(IndexSet::new()),
            None => Ok(self.depends_on().iter().cloned().chain(implied).collect()),
        }
    }

    fn implied_dependencies(
        &self,
        section: Option<&Expression>,
        section_name: &str,
        references: &dyn References,
    ) -> Result<Vec<String>, ResolveError> {
        let place = [self.name.as_str(), section_name];
        section.map_or(Ok(Vec::new()), |section| {
            section.dependencies(references, &Place::Start(&place))
        })
    }

    /// Where other resources' attributes count as needed: in properties and metadata.
    pub(super) fn sections_with_attributes(&self) -> impl Iterator<Item = &Expression> {
        [self.properties.as_ref(), self.metadata.as_ref()].into_iter().flatten()
    }

    /// Whether the cloud's availability zones are part of any of its values.
    pub fn needs_availability_zones(&self) -> bool {
        let parts = [&self.properties, &self.metadata, &self.update_policy, &self.external_id];
        parts.into_iter().flatten().any(Expression::needs_availability_zones)
    }

    /// The attributes of other resources that properties and metadata ask for.
    pub fn attributes(&self, references: &dyn References) -> Vec<(String, AttributePath)> {
        self.sections_with_attributes()
            .flat_map(|section| section.attributes(references))
            .collect()
    }

    /// Checks the functions in all parts.
    pub fn validate(&self, template: &Template, references: &dyn References) -> Result<(), TemplateError> {
        let keywords = template.keywords();
        let parts = [
            (keywords.properties, self.properties.as_ref()),
            (keywords.metadata, self.metadata.as_ref()),
            (keywords.update_policy, self.update_policy.as_ref()),
            (keywords.external_id, self.external_id.as_ref()),
        ];
        for (part, expression) in parts {
            if let Some(expression) = expression {
                let place = [keywords.resources, &self.name, part];
                expression.validate(references, &Place::Start(&place))?;
            }
        }
        Ok(())
    }

    /// The definition with every function resolved. `properties` stands in for the template's where the resource
    /// already has stored ones.
    pub fn freeze(
        &self,
        references: &dyn References,
        properties: Option<Map<String, Value>>,
    ) -> Result<FrozenDefinition, ResolveError> {
        let properties = match properties {
            // Heat does not tell "nothing stored" from "nothing written".
            Some(stored) if stored.is_empty() && self.properties.is_none() => Value::Null,
            Some(stored) => Value::Object(stored),
            None => resolve_optional(self.properties.as_ref(), references)?,
        };
        Ok(FrozenDefinition {
            name: self.name.clone(),
            resource_type: self.resource_type.clone(),
            description: self.description.clone(),
            properties,
            metadata: resolve_optional(self.metadata.as_ref(), references)?,
            depends_on: self.depends_on().to_vec(),
            deletion_policy: self.deletion_policy(),
            update_policy: resolve_optional(self.update_policy.as_ref(), references)?,
            external_id: self.external_id(references)?,
        })
    }

    /// The definition as HOT, functions as written (of an `if`, the chosen branch).
    pub fn render_hot(&self) -> Value {
        let mut rendered = Map::new();
        let mut put = |key: &str, value: Option<Value>| {
            if let Some(value) = value {
                rendered.insert(key.to_owned(), value);
            }
        };
        put("type", Some(Value::from(self.resource_type.as_str())));
        put("properties", self.properties.as_ref().map(Expression::render));
        put("metadata", self.metadata.as_ref().map(Expression::render));
        put(
            "deletion_policy",
            self.deletion_policy.map(|policy| Value::from(policy.as_str())),
        );
        put("update_policy", self.update_policy.as_ref().map(Expression::render));
        put("depends_on", self.depends_on.clone().map(Value::from));
        put("external_id", self.external_id.as_ref().map(Expression::render));
        put("condition", self.condition.clone());
        Value::Object(rendered)
    }
}

fn resolve_optional(expression: Option<&Expression>, references: &dyn References) -> Result<Value, ResolveError> {
    expression.map_or(Ok(Value::Null), |expression| expression.resolve(references))
}

/// A definition that is only values. Null stands for a part that is not written.
#[derive(Debug, Clone, PartialEq)]
pub struct FrozenDefinition {
    pub name: String,
    pub resource_type: String,
    pub description: String,
    pub properties: Value,
    pub metadata: Value,
    pub depends_on: Vec<String>,
    pub deletion_policy: DeletionPolicy,
    pub update_policy: Value,
    pub external_id: Option<Value>,
}

impl FrozenDefinition {
    /// Whether two definitions of a resource mean the same; its name and description do not count.
    pub fn says_the_same_as(&self, other: &Self) -> bool {
        self.resource_type == other.resource_type
            && self.deletion_policy == other.deletion_policy
            && self.depends_on == other.depends_on
            && !self.changes_since(other).any()
    }

    /// What this definition changes of an earlier one.
    pub fn changes_since(&self, earlier: &Self) -> DefinitionChanges {
        DefinitionChanges {
            properties: !equals(&self.properties, &earlier.properties),
            metadata: !equals(&self.metadata, &earlier.metadata),
            update_policy: !equals(&self.update_policy, &earlier.update_policy),
        }
    }
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct DefinitionChanges {
    pub properties: bool,
    pub metadata: bool,
    pub update_policy: bool,
}

impl DefinitionChanges {
    pub fn any(self) -> bool {
        self.properties || self.metadata || self.update_policy
    }
}

pub(super) fn parse_resources(
    template: &Template,
    references: &ConditionScope<'_>,
) -> Result<IndexMap<String, ResourceDefinition>, TemplateError> {
    let keywords = template.keywords();
    let scope = ParseScope {
        version: template.version(),
        context: Context::Body,
        references,
    };
    let mut resources = IndexMap::new();
    for (name, raw) in template.definitions(keywords.resources)? {
        if let Some(definition) = parse_resource(name, raw, &scope)? {
            resources.insert(name.clone(), definition);
        }
    }
    Ok(resources)
}

/// The definition of one resource; `None` if its condition does not hold.
pub(super) fn parse_resource(
    name: &str,
    raw: &Value,
    scope: &ParseScope<'_>,
) -> Result<Option<ResourceDefinition>, TemplateError> {
    let keywords = scope.version.keywords();
    let fields = fields_of(name, raw, scope.version)?;
    let definition = DefinitionReader {
        name,
        fields,
        keywords,
        scope,
    }
    .read()?;
    let place = [keywords.resources, name, keywords.condition];
    let is_wanted = !scope.version.has_conditions() || condition_holds(fields, &place, keywords, scope)?;
    Ok(is_wanted.then_some(definition))
}

/// The fields of a definition, if all of them are known.
fn fields_of<'a>(
    name: &str,
    raw: &'a Value,
    version: TemplateVersion,
) -> Result<&'a Map<String, Value>, TemplateError> {
    let unknown = |keys: IndexSet<String>| {
        let keys: Vec<String> = keys.into_iter().collect();
        TemplateError::invalid(format!(
            "Invalid keyword(s) inside a resource definition: {}",
            keys.join(", ")
        ))
    };
    let fields = match raw {
        Value::Object(fields) => fields,
        // Python walks through texts and lists and finds no known key in them.
        Value::String(_) | Value::Array(_) if !version.is_hot() => return Err(missing_type(name, "Type")),
        Value::String(text) if text.is_empty() => return Err(missing_type(name, "type")),
        Value::String(text) => return Err(unknown(text.chars().map(String::from).collect())),
        Value::Array(items) => return Err(senseless_list(name, items, version, unknown)),
        other if version.is_hot() => {
            return Err(TemplateError::invalid(format!(
                "'{}' object is not iterable",
                class_name(other)
            )));
        }
        other => {
            return Err(TemplateError::invalid(format!(
                "argument of type '{}' is not iterable",
                class_name(other)
            )));
        }
    };
    if version.is_hot() {
        let unknown_keys: IndexSet<String> = fields
            .keys()
            .filter(|key| !has_resource_key(version, key))
            .cloned()
            .collect();
        if !unknown_keys.is_empty() {
            return Err(unknown(unknown_keys));
        }
    }
    Ok(fields)
}

/// What is wrong with a list in place of a definition: Python takes its items for keys.
fn senseless_list(
    name: &str,
    items: &[Value],
    version: TemplateVersion,
    unknown: impl Fn(IndexSet<String>) -> TemplateError,
) -> TemplateError {
    if let Some(item) = items.iter().find(|item| item.is_array() || item.is_object()) {
        return TemplateError::invalid(format!("unhashable type: '{}'", class_name(item)));
    }
    let is_key = |item: &Value| item.as_str().is_some_and(|key| has_resource_key(version, key));
    let unknown_items: IndexSet<String> = items.iter().filter(|item| !is_key(item)).map(to_text).collect();
    if !unknown_items.is_empty() {
        unknown(unknown_items)
    } else if items.iter().any(|item| item == "type") {
        TemplateError::invalid("list indices must be integers or slices, not str")
    } else {
        missing_type(name, "type")
    }
}

fn missing_type(name: &str, key: &str) -> TemplateError {
    let message = format!("Resource {name} is missing \"{key}\"");
    TemplateError::invalid(Fault::KeyError(message.into()).to_string())
}

/// Whether a definition of a resource may have such a key in a version of HOT.
pub(crate) fn has_resource_key(version: TemplateVersion, key: &str) -> bool {
    match key {
        "type" | "properties" | "metadata" | "depends_on" | "deletion_policy" | "update_policy" | "description" => true,
        "external_id" | "condition" => version.has_conditions(),
        _ => false,
    }
}

/// Whether the condition of a resource or an output, if there is one, holds.
pub(super) fn condition_holds(
    fields: &Map<String, Value>,
    place: &[&str],
    keywords: &Keywords,
    scope: &ParseScope<'_>,
) -> Result<bool, TemplateError> {
    let Some(condition) = fields.get(keywords.condition) else {
        return Ok(true);
    };
    let condition_scope = ParseScope {
        context: Context::Condition,
        ..*scope
    };
    let condition = Expression::parse(condition, &condition_scope, &Place::Start(place))?;
    let condition = condition.resolve(scope.references)?;
    scope
        .references
        .condition(&condition)
        .map_err(|error| match error.fault {
            Fault::ValueError(message) => TemplateError::invalid_at(place, message),
            _ => error.into(),
        })
}

/// What a field has to be, and how messages call that.
#[derive(Clone, Copy)]
enum Kind {
    Text,
    TextOrCall,
    MapOrCall,
}

impl Kind {
    fn accepts(self, expression: &Expression) -> bool {
        match self {
            Self::Text => expression.as_text().is_some(),
            Self::TextOrCall => expression.as_text().is_some() || expression.is_call(),
            Self::MapOrCall => expression.as_map().is_some() || expression.is_call(),
        }
    }

    fn as_str(self) -> &'static str {
        match self {
            Self::Text | Self::TextOrCall => "string",
            Self::MapOrCall => "object",
        }
    }
}

struct DefinitionReader<'a> {
    name: &'a str,
    fields: &'a Map<String, Value>,
    keywords: &'static Keywords,
    scope: &'a ParseScope<'a>,
}

impl DefinitionReader<'_> {
    /// Reads the fields in the order in which Heat does, which decides what is complained about first.
    fn read(&self) -> Result<ResourceDefinition, TemplateError> {
        let keywords = self.keywords;
        if !self.fields.contains_key(keywords.resource_type) {
            return Err(missing_type(self.name, keywords.resource_type));
        }
        let resource_type = self.field(keywords.resource_type, Kind::Text)?;
        let properties = self.field(keywords.properties, Kind::MapOrCall)?;
        let metadata = self.field(keywords.metadata, Kind::MapOrCall)?;
        let depends_on = self.depends_on()?;
        let deletion_policy = self.deletion_policy()?;
        let update_policy = self.field(keywords.update_policy, Kind::MapOrCall)?;
        let description = self.description()?;
        let has_newer_fields = self.scope.version >= TemplateVersion::Hot20161014;
        let external_id = if has_newer_fields {
            self.field(keywords.external_id, Kind::TextOrCall)?
        } else {
            None
        };
        let condition = if self.scope.version.has_conditions() {
            self.condition()?
        } else {
            None
        };
        Ok(ResourceDefinition {
            name: self.name.to_owned(),
            resource_type: resource_type
                .as_ref()
                .and_then(Expression::as_text)
                .unwrap_or_default()
                .to_owned(),
            description,
            properties,
            metadata,
            depends_on,
            // What exists outside of Heat is not Heat's to delete.
            deletion_policy: if external_id.is_some() {
                Some(DeletionPolicy::Retain)
            } else {
                deletion_policy
            },
            update_policy,
            external_id,
            condition,
        })
    }

    fn wrong_kind(&self, key: &str, kind: &str) -> TemplateError {
        TemplateError::invalid(format!("Resource {} {key} type must be {kind}", self.name))
    }

    fn field(&self, key: &str, kind: Kind) -> Result<Option<Expression>, TemplateError> {
        let Some(raw) = self.fields.get(key) else {
            return Ok(None);
        };
        let place = [self.keywords.resources, self.name, key];
        let expression = Expression::parse(raw, self.scope, &Place::Start(&place))?;
        if kind.accepts(&expression) {
            Ok(Some(expression))
        } else {
            Err(self.wrong_kind(key, kind.as_str()))
        }
    }

    fn depends_on(&self) -> Result<Option<Vec<String>>, TemplateError> {
        let key = self.keywords.depends_on;
        match self.fields.get(key) {
            None => Ok(None),
            Some(Value::String(name)) => Ok(Some(vec![name.clone()])),
            Some(Value::Array(names)) => {
                let names: Option<Vec<String>> = names.iter().map(|name| name.as_str().map(str::to_owned)).collect();
                names.map(Some).ok_or_else(|| {
                    TemplateError::invalid(format!("Resource {} {key} must be a list of strings", self.name))
                })
            }
            Some(_) => Err(self.wrong_kind(key, "list or string")),
        }
    }

    fn deletion_policy(&self) -> Result<Option<DeletionPolicy>, TemplateError> {
        let Some(policy) = self.field(self.keywords.deletion_policy, Kind::TextOrCall)? else {
            return Ok(None);
        };
        let policy = policy
            .resolve(self.scope.references)
            .map_err(|error| match error.fault {
                Fault::TypeError(_) | Fault::ValueError(_) | Fault::KeyError(_) => {
                    TemplateError::invalid(error.fault.to_string())
                }
                _ => error.into(),
            })?;
        if policy.is_null() {
            return Ok(None);
        }
        let known = policy
            .as_str()
            .and_then(|name| DeletionPolicy::named(name, self.scope.version));
        known
            .map(Some)
            .ok_or_else(|| TemplateError::invalid(format!("Invalid deletion policy \"{}\"", to_text(&policy))))
    }

    fn description(&self) -> Result<String, TemplateError> {
        match self.fields.get(self.keywords.resource_description) {
            None => Ok(String::new()),
            Some(Value::String(description)) => Ok(description.clone()),
            Some(_) => Err(self.wrong_kind(self.keywords.resource_description, "string")),
        }
    }

    /// The condition as written; whether it holds is looked at once the definition is known to be sound.
    fn condition(&self) -> Result<Option<Value>, TemplateError> {
        let key = self.keywords.condition;
        let Some(raw) = self.fields.get(key) else {
            return Ok(None);
        };
        let condition_scope = ParseScope {
            context: Context::Condition,
            ..*self.scope
        };
        let place = [self.keywords.resources, self.name, key];
        let condition = Expression::parse(raw, &condition_scope, &Place::Start(&place))?;
        let is_valid = Kind::TextOrCall.accepts(&condition) || matches!(condition, Expression::Scalar(Value::Bool(_)));
        if is_valid {
            return Ok(Some(raw.clone()));
        }
        let kind = if self.scope.version.is_hot() {
            "string_or_boolean"
        } else {
            "string or boolean"
        };
        Err(self.wrong_kind(key, kind))
    }
}
