//! What a resource shows of itself: the schema of its attributes, what is kept of their values, and the way into one.

use indexmap::IndexMap;
use serde_json::{Map, Value};
use tracing::warn;

use super::support::SupportStatus;
use crate::python::number::PyNumber;
use crate::python::repr::{repr_tuple, to_text};
use crate::python::value::bool_from_text;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum AttributeType {
    String,
    Map,
    List,
    Integer,
    Boolean,
}

impl AttributeType {
    pub const fn name(self) -> &'static str {
        match self {
            Self::String => "String",
            Self::Map => "Map",
            Self::List => "List",
            Self::Integer => "Integer",
            Self::Boolean => "Boolean",
        }
    }

    const fn api_name(self) -> &'static str {
        match self {
            Self::String => "string",
            Self::Map => "map",
            Self::List => "list",
            Self::Integer => "integer",
            Self::Boolean => "boolean",
        }
    }
}

/// Whether a value may be kept once it was asked for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum CacheMode {
    /// Kept beside the resource until it changes.
    Local,
    /// Asked for anew each time.
    None,
}

#[derive(Clone, Copy, Debug)]
pub struct Attribute<'s> {
    pub name: &'s str,
    /// `None`: nobody knows.
    pub kind: Option<AttributeType>,
    pub description: Option<&'s str>,
    pub cache: CacheMode,
    pub support: SupportStatus,
}

/// What the service itself says about the object: every type has it.
pub static SHOW: Attribute = Attribute::map("show")
    .describe("Detailed information about resource.")
    .not_cached();

impl<'s> Attribute<'s> {
    const fn new(name: &'s str, kind: Option<AttributeType>) -> Self {
        Self {
            name,
            kind,
            description: None,
            cache: CacheMode::Local,
            support: SupportStatus::always(),
        }
    }

    pub const fn untyped(name: &'s str) -> Self {
        Self::new(name, None)
    }

    pub const fn string(name: &'s str) -> Self {
        Self::new(name, Some(AttributeType::String))
    }

    pub const fn map(name: &'s str) -> Self {
        Self::new(name, Some(AttributeType::Map))
    }

    pub const fn list(name: &'s str) -> Self {
        Self::new(name, Some(AttributeType::List))
    }

    pub const fn integer(name: &'s str) -> Self {
        Self::new(name, Some(AttributeType::Integer))
    }

    pub const fn boolean(name: &'s str) -> Self {
        Self::new(name, Some(AttributeType::Boolean))
    }

    pub const fn describe(mut self, description: &'s str) -> Self {
        self.description = Some(description);
        self
    }

    pub const fn not_cached(mut self) -> Self {
        self.cache = CacheMode::None;
        self
    }

    pub const fn since(self, version: &'static str) -> Self {
        self.support(SupportStatus::since(version))
    }

    pub const fn support(mut self, support: SupportStatus) -> Self {
        self.support = support;
        self
    }

    /// As `resource_schema` shows it.
    pub fn to_api(&self) -> Value {
        let mut shown = Map::new();
        if let Some(description) = self.description {
            shown.insert("description".into(), description.into());
        }
        if let Some(kind) = self.kind {
            shown.insert("type".into(), kind.api_name().into());
        }
        Value::Object(shown)
    }
}

/// The attributes of a type, and those that every type has, as `resource_schema` shows them.
pub fn attributes_to_api(attributes: &[Attribute]) -> Value {
    let shown = attributes
        .iter()
        .chain([&SHOW])
        .filter(|attribute| !attribute.support.is_hidden())
        .map(|attribute| (attribute.name.to_owned(), attribute.to_api()));
    Value::Object(shown.collect())
}

/// The attribute of that name, `show` included.
pub fn find<'a>(attributes: &'a [Attribute<'a>], name: &str) -> Option<&'a Attribute<'a>> {
    attributes
        .iter()
        .chain([&SHOW])
        .find(|attribute| attribute.name == name)
}

/// The names of all attributes but `show`, as "every attribute" means them.
pub fn names<'a>(attributes: &'a [Attribute<'a>]) -> impl Iterator<Item = &'a str> {
    attributes.iter().map(|attribute| attribute.name)
}

/// Attribute values that were asked for once and are kept beside the resource (`attr_data_id`).
///
/// A change of the stored properties and every state but COMPLETE empty it; it is written again only when something new
/// was learned.
#[derive(Clone, Debug, Default)]
pub struct AttributeCache {
    values: IndexMap<String, Value>,
    has_news: bool,
}

impl AttributeCache {
    /// As it was stored.
    pub fn stored(values: Map<String, Value>) -> Self {
        Self {
            values: values.into_iter().collect(),
            has_news: false,
        }
    }

    /// The kept value, where the attribute's mode lets it be kept.
    pub fn get(&self, attribute: &Attribute, name: &str) -> Option<&Value> {
        match attribute.cache {
            CacheMode::None => None,
            CacheMode::Local => self.values.get(name),
        }
    }

    /// Keeps a value that was just found. Nothing (null) is not kept: it may be there the next time.
    pub fn learn(&mut self, attribute: &Attribute, resource_name: &str, value: &Value) {
        if attribute.cache == CacheMode::None || value.is_null() {
            return;
        }
        warn_of_wrong_type(attribute, resource_name, value);
        self.values.insert(attribute.name.to_owned(), value.clone());
        self.has_news = true;
    }

    /// A kept answer of a type that answers to any name, by [`attribute_key`].
    pub fn answer(&self, key: &str) -> Option<&Value> {
        self.values.get(key)
    }

    /// Keeps such an answer; nothing (null) is an answer too.
    pub fn keep_answer(&mut self, key: String, value: &Value) {
        self.values.insert(key, value.clone());
        self.has_news = true;
    }

    /// Forgets everything; the forgetting itself is news when there was anything.
    pub fn forget(&mut self) {
        self.has_news = !self.values.is_empty();
        self.values.clear();
    }

    /// Whether it differs from what is stored.
    pub fn has_news(&self) -> bool {
        self.has_news
    }

    pub fn to_stored(&self) -> Map<String, Value> {
        self.values.clone().into_iter().collect()
    }
}

fn warn_of_wrong_type(attribute: &Attribute, resource_name: &str, value: &Value) {
    let Some(kind) = attribute.kind else { return };
    let fits = match kind {
        AttributeType::String => value.is_string(),
        AttributeType::List => value.is_array(),
        AttributeType::Map => value.is_object(),
        AttributeType::Integer => PyNumber::of(value).is_some_and(|number| !number.is_float()),
        AttributeType::Boolean => bool_from_text(&to_text(value)).is_ok(),
    };
    if !fits {
        warn!(
            resource = resource_name,
            "Attribute {} is not of type {}",
            attribute.name,
            kind.name()
        );
    }
}

/// The key of a value in tables of attribute values: the attribute's name, or name and path as a tuple.
pub fn attribute_key(name: &str, path: &[Value]) -> String {
    if path.is_empty() {
        return name.to_owned();
    }
    let steps: Vec<Value> = std::iter::once(Value::from(name)).chain(path.iter().cloned()).collect();
    format!("tuple:{}", repr_tuple(&steps))
}

/// What `get_attr` finds when it goes further into a value: nothing where the way does not exist.
pub fn select(value: &Value, path: &[Value]) -> Value {
    path.iter()
        .try_fold(value.clone(), |found, step| into(&found, step))
        .unwrap_or(Value::Null)
}

/// One step as Python's `[]` takes it: names into maps; numbers, also negative ones, into lists and text.
fn into(collection: &Value, step: &Value) -> Option<Value> {
    match (collection, step) {
        (Value::Object(entries), Value::String(name)) => entries.get(name).cloned(),
        (Value::Array(items), step) => items.get(position(step, items.len())?).cloned(),
        (Value::String(text), step) => {
            let position = position(step, text.chars().count())?;
            text.chars().nth(position).map(|character| character.to_string().into())
        }
        _ => None,
    }
}

fn position(step: &Value, length: usize) -> Option<usize> {
    let index = match step {
        Value::Bool(index) => i64::from(*index),
        Value::Number(index) => index.as_i64()?,
        _ => return None,
    };
    if index < 0 {
        length.checked_sub(usize::try_from(index.unsigned_abs()).ok()?)
    } else {
        usize::try_from(index).ok()
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn a_path_goes_into_maps_lists_and_text() {
        let value = json!({"a": [{"b": "xyz"}]});
        assert_eq!(select(&value, &[json!("a"), json!(0), json!("b")]), json!("xyz"));
        assert_eq!(
            select(&value, &[json!("a"), json!(-1), json!("b"), json!(-1)]),
            json!("z")
        );
        assert_eq!(select(&value, &[]), value);
    }

    #[test]
    fn a_way_that_does_not_exist_leads_to_nothing() {
        let value = json!({"a": [1], "1": 2});
        for path in [
            vec![json!("b")],
            vec![json!(1)],
            vec![json!("a"), json!("0")],
            vec![json!("a"), json!(1)],
            vec![json!("a"), json!(-2)],
            vec![json!("a"), json!(0), json!(0)],
        ] {
            assert_eq!(select(&value, &path), Value::Null, "{path:?}");
        }
    }

    #[test]
    fn nothing_and_what_must_be_asked_anew_are_not_kept() {
        let kept = Attribute::string("kept");
        let fresh = Attribute::string("fresh").not_cached();
        let mut cache = AttributeCache::default();
        cache.learn(&kept, "r", &Value::Null);
        cache.learn(&fresh, "r", &json!("x"));
        assert!(!cache.has_news());
        cache.learn(&kept, "r", &json!("y"));
        assert!(cache.has_news());
        assert_eq!(cache.get(&kept, "kept"), Some(&json!("y")));
        assert_eq!(cache.to_stored(), Map::from_iter([("kept".into(), json!("y"))]));
    }
}
