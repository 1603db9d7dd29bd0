//! The schema of a resource type as data.
//!
//! Everything here can stand in a `static`: a reader sees a type's whole schema on one screen and nothing in it is
//! computed by running code. What contradicts itself (a list without items that names keys, a constraint that makes no
//! sense for its type) does not compile.
//!
//! The lifetime is `'static` for the types of the table and shorter only for schemas that are read from a template.

use serde_json::{Map, Value};

use super::constraints::Constraint;
use super::literal::Literal;
use super::support::SupportStatus;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum PropertyType {
    String,
    Integer,
    Number,
    Boolean,
    Map,
    List,
    Any,
}

impl PropertyType {
    /// The name in error texts.
    pub const fn name(self) -> &'static str {
        match self {
            Self::String => "String",
            Self::Integer => "Integer",
            Self::Number => "Number",
            Self::Boolean => "Boolean",
            Self::Map => "Map",
            Self::List => "List",
            Self::Any => "Any",
        }
    }

    /// The name in the API's schema.
    pub const fn api_name(self) -> &'static str {
        match self {
            Self::String => "string",
            Self::Integer => "integer",
            Self::Number => "number",
            Self::Boolean => "boolean",
            Self::Map => "map",
            Self::List => "list",
            Self::Any => "any",
        }
    }
}

/// What is inside a list or a map.
#[derive(Clone, Copy, Debug)]
pub enum Inside<'s> {
    /// Not described: taken as it comes.
    Anything,
    /// Every item of the list is this.
    Items(&'s Property<'s>),
    /// The map has these keys and no others.
    Keys(&'s [Property<'s>]),
}

/// The name of a property that describes the items of a list.
pub const ITEM: &str = "*";

#[derive(Clone, Copy, Debug)]
pub struct Property<'s> {
    pub name: &'s str,
    pub kind: PropertyType,
    pub description: Option<&'s str>,
    pub default: Option<Literal<'s>>,
    pub inside: Inside<'s>,
    pub required: bool,
    pub constraints: &'s [Constraint<'s>],
    pub update_allowed: bool,
    /// An update of it is refused, where it would otherwise replace the resource.
    pub immutable: bool,
    pub implemented: bool,
    /// A list may come as comma-separated text, a map as text or list: for properties that become template parameters.
    pub allow_conversion: bool,
    pub support: SupportStatus,
}

impl<'s> Property<'s> {
    const fn new(name: &'s str, kind: PropertyType) -> Self {
        Self {
            name,
            kind,
            description: None,
            default: None,
            inside: Inside::Anything,
            required: false,
            constraints: &[],
            update_allowed: false,
            immutable: false,
            implemented: true,
            allow_conversion: false,
            support: SupportStatus::always(),
        }
    }

    pub const fn string(name: &'s str) -> Self {
        Self::new(name, PropertyType::String)
    }

    pub const fn integer(name: &'s str) -> Self {
        Self::new(name, PropertyType::Integer)
    }

    pub const fn number(name: &'s str) -> Self {
        Self::new(name, PropertyType::Number)
    }

    pub const fn boolean(name: &'s str) -> Self {
        Self::new(name, PropertyType::Boolean)
    }

    pub const fn map(name: &'s str) -> Self {
        Self::new(name, PropertyType::Map)
    }

    pub const fn list(name: &'s str) -> Self {
        Self::new(name, PropertyType::List)
    }

    pub const fn any(name: &'s str) -> Self {
        Self::new(name, PropertyType::Any)
    }

    pub const fn describe(mut self, description: &'s str) -> Self {
        self.description = Some(description);
        self
    }

    pub const fn default(mut self, default: Literal<'s>) -> Self {
        self.default = Some(default);
        self
    }

    pub const fn default_str(self, default: &'s str) -> Self {
        self.default(Literal::Text(default))
    }

    pub const fn default_int(self, default: i64) -> Self {
        self.default(Literal::Integer(default))
    }

    pub const fn default_float(self, default: f64) -> Self {
        self.default(Literal::Float(default))
    }

    pub const fn default_bool(self, default: bool) -> Self {
        self.default(Literal::Boolean(default))
    }

    pub const fn default_list(self, default: &'s [Literal<'s>]) -> Self {
        self.default(Literal::List(default))
    }

    pub const fn default_map(self, default: &'s [(&'s str, Literal<'s>)]) -> Self {
        self.default(Literal::Map(default))
    }

    /// What every item of a list is; the item's name is [`ITEM`].
    pub const fn items(mut self, item: &'s Property<'s>) -> Self {
        assert!(matches!(self.kind, PropertyType::List), "only a list has items");
        self.inside = Inside::Items(item);
        self
    }

    /// The keys that a map may have.
    pub const fn keys(mut self, keys: &'s [Property<'s>]) -> Self {
        assert!(matches!(self.kind, PropertyType::Map), "only a map has keys");
        self.inside = Inside::Keys(keys);
        self
    }

    pub const fn required(mut self) -> Self {
        self.required = true;
        self
    }

    pub const fn constrain(mut self, constraints: &'s [Constraint<'s>]) -> Self {
        let mut index = 0;
        while index < constraints.len() {
            assert!(
                constraints[index].suits(self.kind),
                "the constraint makes no sense for a value of this type"
            );
            index += 1;
        }
        self.constraints = constraints;
        self
    }

    pub const fn update_allowed(mut self) -> Self {
        assert!(!self.immutable, "what is immutable cannot be updated");
        self.update_allowed = true;
        self
    }

    pub const fn immutable(mut self) -> Self {
        assert!(!self.update_allowed, "what can be updated is not immutable");
        self.immutable = true;
        self
    }

    pub const fn not_implemented(mut self) -> Self {
        self.implemented = false;
        self
    }

    pub const fn allow_conversion(mut self) -> Self {
        self.allow_conversion = true;
        self
    }

    /// Supported since that release.
    pub const fn since(self, version: &'static str) -> Self {
        self.support(SupportStatus::since(version))
    }

    pub const fn support(mut self, support: SupportStatus) -> Self {
        self.support = support;
        self
    }

    /// The same property with another type, for schemas that depend on the value of a property.
    pub const fn retyped(mut self, kind: PropertyType) -> Self {
        self.kind = kind;
        self.inside = Inside::Anything;
        self.constraints = &[];
        self
    }

    /// As `resource_schema` shows it.
    pub fn to_api(&self) -> Value {
        let mut shown = Map::new();
        shown.insert("type".into(), self.kind.api_name().into());
        if let Some(description) = self.description {
            shown.insert("description".into(), description.into());
        }
        if let Some(default) = &self.default {
            shown.insert("default".into(), default.to_value());
        }
        match self.inside {
            Inside::Anything => {}
            Inside::Items(item) => {
                shown.insert(
                    "schema".into(),
                    Value::Object(Map::from_iter([(ITEM.to_owned(), item.to_api())])),
                );
            }
            Inside::Keys(keys) => {
                let keys = keys.iter().map(|key| (key.name.to_owned(), key.to_api()));
                shown.insert("schema".into(), Value::Object(keys.collect()));
            }
        }
        shown.insert("required".into(), self.required.into());
        if !self.constraints.is_empty() {
            let constraints = self.constraints.iter().map(Constraint::to_api);
            shown.insert("constraints".into(), Value::Array(constraints.collect()));
        }
        shown.insert("update_allowed".into(), self.update_allowed.into());
        shown.insert("immutable".into(), self.immutable.into());
        Value::Object(shown)
    }
}

/// The properties of a type as `resource_schema` shows them.
pub fn properties_to_api(properties: &[Property]) -> Value {
    let shown = properties
        .iter()
        .filter(|property| property.implemented && !property.support.is_hidden())
        .map(|property| (property.name.to_owned(), property.to_api()));
    Value::Object(shown.collect())
}

/// What is wrong with a schema that the compiler did not see: names that occur twice, defaults that are not of their
/// type or break a constraint. Empty for a sound schema.
pub fn sanity_errors(properties: &[Property<'static>]) -> Vec<String> {
    let mut errors = Vec::new();
    check_level("", properties, &mut errors);
    errors
}

fn check_level(place: &str, properties: &[Property<'static>], errors: &mut Vec<String>) {
    for (index, property) in properties.iter().enumerate() {
        let path = format!("{place}{}", property.name);
        if properties[..index].iter().any(|earlier| earlier.name == property.name) {
            errors.push(format!("{path} is there twice"));
        }
        check_default(&path, property, errors);
        let inner = format!("{path}.");
        match property.inside {
            Inside::Anything => {}
            Inside::Items(item) => check_level(&inner, std::slice::from_ref(item), errors),
            Inside::Keys(keys) => check_level(&inner, keys, errors),
        }
    }
}

fn check_default(path: &str, property: &Property, errors: &mut Vec<String>) {
    let Some(default) = property.default.map(|default| default.to_value()) else {
        return;
    };
    if property.required {
        errors.push(format!("{path} is required, and so never needs its default"));
    }
    let fits = match property.kind {
        PropertyType::String => default.is_string(),
        PropertyType::Integer => default.is_i64(),
        PropertyType::Number => default.is_number(),
        PropertyType::Boolean => default.is_boolean(),
        PropertyType::Map => default.is_object(),
        PropertyType::List => default.is_array(),
        PropertyType::Any => true,
    };
    if !fits {
        errors.push(format!("the default of {path} is no {}", property.kind.api_name()));
    }
    for constraint in property.constraints {
        if let Err(text) = constraint.check(&default, property.kind) {
            errors.push(format!("the default of {path}: {text}"));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    static CONFUSED: &[Property] = &[
        Property::string("twice"),
        Property::string("twice").required().default_str("x"),
        Property::list("list").items(
            &Property::map(ITEM).keys(&[
                Property::number("text").default_str("1"),
                Property::integer("large")
                    .default_int(9)
                    .constrain(&[Constraint::range(None, Some(3))]),
            ]),
        ),
    ];

    #[test]
    fn contradictions_are_found() {
        assert_eq!(
            sanity_errors(CONFUSED),
            [
                "twice is there twice",
                "twice is required, and so never needs its default",
                "the default of list.*.text is no number",
                "the default of list.*.large: 9 is out of range (min: None, max: 3)",
            ]
        );
    }
}
