//! A resource's properties: what the template gives, read through the type's schema.
//!
//! Nothing is converted in advance. What is given stays as it is, because that is what gets stored
//! (`resource_properties_data`) and compared with the next template's; a reading converts, fills in defaults and
//! follows the translation rules. Services are asked before (names, [`Properties::find_names`]) or after (custom
//! constraints, [`Properties::validate`]) a reading, which is therefore plain code without waiting.

mod convert;
mod reading;

use std::borrow::Cow;
use std::collections::{BTreeSet, HashMap};

use indexmap::IndexMap;
use serde_json::{Map, Value};

use super::constraints::CustomConstraints;
use super::failure::{Failure, dotted};
use super::schema::{Property, PropertyType};
use super::translation::{Finder, NameFinder, TranslationRule};
use crate::exception::RemoteException;
use crate::python::number::PyNumber;
use crate::python::value::{equals, is_true};
pub use convert::converted;
use reading::Reading;

/// A property as the template gives it, its functions resolved as far as they can be.
#[derive(Clone, Debug, PartialEq)]
pub enum Given {
    Value(Value),
    /// A value that depends on resources that do not exist yet: its type counts, its constraints do not.
    Unsettled(Value),
    /// A function that says "as if nothing were written here".
    Absent,
    /// A function that cannot be resolved, and why.
    Failed(String),
}

/// A property that does not fit its schema.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PropertyError {
    /// `ValueError` where a value was read, `StackValidationFailed` where properties were validated.
    pub class: &'static str,
    /// `Property error`, or nothing.
    pub heading: &'static str,
    pub path: Vec<String>,
    pub message: String,
}

impl PropertyError {
    /// The same error seen from further up: `resources`, `NAME`, and then the path from here.
    pub fn below(mut self, place: &[&str]) -> Self {
        self.path.splice(0..0, place.iter().map(|part| (*part).to_owned()));
        self
    }
}

impl std::fmt::Display for PropertyError {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        for prefix in [self.heading, &dotted(&self.path)] {
            if !prefix.is_empty() {
                write!(f, "{prefix}: ")?;
            }
        }
        f.write_str(&self.message)
    }
}

impl std::error::Error for PropertyError {}

impl RemoteException for PropertyError {
    fn class_name(&self) -> &'static str {
        self.class
    }
}

impl From<PropertyError> for Failure {
    fn from(error: PropertyError) -> Self {
        Self::terminal(error.class, error.to_string())
    }
}

/// What becomes of values that name objects of a service (rules that resolve).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Names {
    /// They stay as they are: the time to ask has not come.
    #[default]
    AsGiven,
    /// The service is asked; its refusal is an error where the value is read.
    Found,
    /// The service is asked; what it refuses stays as it is. For values that were accepted before.
    FoundOrAsGiven,
}

/// Which parts of the properties a validation looks at.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Depth {
    /// Only whether the type has these properties, as for a template whose parameters are not known.
    Names,
    Values,
}

/// A question to a service: what does this value name?
type Question = (Finder, String);

#[derive(Clone, Debug)]
pub struct Properties {
    schema: Cow<'static, [Property<'static>]>,
    given: IndexMap<String, Given>,
    /// The resource's description, which stands in for a `description` that is not given.
    description: Option<String>,
    section: &'static str,
    rules: Vec<TranslationRule>,
    names: Names,
    /// What services have answered so far.
    answers: HashMap<Question, Result<Value, String>>,
}

impl Properties {
    pub fn new(schema: &'static [Property<'static>], given: IndexMap<String, Given>) -> Self {
        Self {
            schema: Cow::Borrowed(schema),
            given,
            description: None,
            section: "properties",
            rules: Vec::new(),
            names: Names::AsGiven,
            answers: HashMap::new(),
        }
    }

    /// Properties as they were stored.
    pub fn stored(schema: &'static [Property<'static>], values: Map<String, Value>) -> Self {
        let given = values.into_iter().map(|(name, value)| (name, Given::Value(value)));
        Self::new(schema, given.collect())
    }

    /// Sets the description of the resource that these properties are of.
    #[must_use]
    pub fn described(mut self, description: &str) -> Self {
        self.description = (!description.is_empty()).then(|| description.to_owned());
        self
    }

    /// Where they stand in the resource's definition, when that is not `properties`.
    #[must_use]
    pub fn in_section(mut self, section: &'static str) -> Self {
        self.section = section;
        self
    }

    /// Puts the rules into force. [`find_names`](Self::find_names) then asks what `names` allows to ask.
    pub fn translate(&mut self, rules: &[TranslationRule], names: Names) {
        self.rules.clear();
        let in_force = rules
            .iter()
            .filter(|rule| names != Names::AsGiven || !rule.asks_a_service())
            .filter(|rule| rule.when.is_none_or(|holds| holds(self)));
        self.rules = in_force.copied().collect();
        self.names = names;
    }

    /// Asks services for what the values name, as far as the rules in force say so.
    pub async fn find_names(&mut self, finder: &dyn NameFinder) {
        loop {
            let open = Reading::of(self).open_questions();
            if open.is_empty() {
                return;
            }
            for (question, name) in open {
                let answer = finder.find(&question.0, &name).await;
                self.answers.insert(question, answer);
            }
        }
    }

    /// Gives a property another type, for schemas that depend on the value of a property.
    pub fn retype(&mut self, name: &str, kind: PropertyType) {
        if let Some(property) = self.schema.to_mut().iter_mut().find(|property| property.name == name) {
            *property = property.retyped(kind);
        }
    }

    /// Drops whatever is given, for a type to which nothing matters.
    pub fn clear(&mut self) {
        self.given.clear();
    }

    /// What the template gives, before any conversion; null where it gives nothing.
    pub fn as_given(&self, name: &str) -> Value {
        match self.given.get(name) {
            Some(Given::Value(value) | Given::Unsettled(value)) => value.clone(),
            Some(Given::Absent | Given::Failed(_)) | None => Value::Null,
        }
    }

    /// Takes over what the service says the properties are, where that differs.
    pub fn adopt(&mut self, live: &Map<String, Value>) {
        let differing: Vec<(String, Given)> = self
            .schema
            .iter()
            .filter_map(|property| Some((property.name, live.get(property.name)?)))
            .filter(|(name, live)| !self.get(name).is_ok_and(|value| equals(&value, live)))
            .map(|(name, live)| (name.to_owned(), Given::Value(live.clone())))
            .collect();
        self.given.extend(differing);
    }

    pub fn schema(&self) -> &[Property<'static>] {
        &self.schema
    }

    /// Whether the template says anything about this property.
    pub fn is_given(&self, name: &str) -> bool {
        self.given.contains_key(name)
    }

    fn property(&self, name: &str) -> Option<&Property<'static>> {
        self.schema.iter().find(|property| property.name == name)
    }

    /// The value in its type: given, translated, by default, or null.
    pub fn get(&self, name: &str) -> Result<Value, PropertyError> {
        let Some(property) = self.property(name) else {
            return Err(PropertyError {
                class: "KeyError",
                heading: "",
                path: Vec::new(),
                message: format!("'Invalid Property {name}'"),
            });
        };
        Reading::of(self).value_of(property).map_err(|refusal| PropertyError {
            class: "ValueError",
            heading: "",
            path: Vec::new(),
            message: refusal.message,
        })
    }

    /// A text; an empty one counts as none.
    pub fn text(&self, name: &str) -> Result<Option<String>, PropertyError> {
        Ok(match self.get(name)? {
            Value::String(text) if !text.is_empty() => Some(text),
            _ => None,
        })
    }

    /// Whether the value is true in Python's sense.
    pub fn is_true(&self, name: &str) -> Result<bool, PropertyError> {
        Ok(is_true(&self.get(name)?))
    }

    pub fn number(&self, name: &str) -> Result<Option<f64>, PropertyError> {
        Ok(PyNumber::of(&self.get(name)?).map(|number| number.as_f64()))
    }

    pub fn integer(&self, name: &str) -> Result<Option<i64>, PropertyError> {
        Ok(self.get(name)?.as_i64())
    }

    /// The items of a list; none when there is no list.
    pub fn list(&self, name: &str) -> Result<Vec<Value>, PropertyError> {
        Ok(match self.get(name)? {
            Value::Array(items) => items,
            _ => Vec::new(),
        })
    }

    /// The entries of a map; none when there is no map.
    pub fn map(&self, name: &str) -> Result<Map<String, Value>, PropertyError> {
        Ok(match self.get(name)? {
            Value::Object(entries) => entries,
            _ => Map::new(),
        })
    }

    /// Checks everything that the schema says; the first error counts.
    pub async fn validate(&self, depth: Depth, services: &dyn CustomConstraints) -> Result<(), PropertyError> {
        let refuse = |path: Vec<String>, message: String| {
            let error = PropertyError {
                class: "StackValidationFailed",
                heading: "Property error",
                path,
                message,
            };
            error.below(&[self.section])
        };
        let (questions, outcome) = Reading::of(self).validate(depth);
        for question in questions {
            if let Err(message) = services.validate(question.constraint, &question.value).await {
                let message = question.description.map_or(message, str::to_owned);
                return Err(refuse(question.path, message));
            }
        }
        outcome.map_err(|refusal| refuse(refusal.path, refusal.message))
    }

    /// The properties whose values are not what they were. A value of before that cannot be read has changed.
    pub fn changed_since(&self, before: &Self) -> Result<BTreeSet<String>, PropertyError> {
        let mut changed = BTreeSet::new();
        for property in self.schema.iter() {
            let same = match (self.get(property.name)?, before.value_or_null(property.name)) {
                (after, Ok(before)) => equals(&after, &before),
                (_, Err(_)) => false,
            };
            if !same {
                changed.insert(property.name.to_owned());
            }
        }
        Ok(changed)
    }

    fn value_or_null(&self, name: &str) -> Result<Value, PropertyError> {
        match self.property(name) {
            Some(_) => self.get(name),
            None => Ok(Value::Null),
        }
    }

    /// Refuses a change of what is immutable.
    pub fn refuse_immutable(
        &self,
        changed: &BTreeSet<String>,
        resource_name: &str,
        type_name: &str,
    ) -> Result<(), Failure> {
        let is_immutable = |name: &&String| self.property(name).is_some_and(|property| property.immutable);
        let immutable: Vec<&str> = changed.iter().filter(is_immutable).map(String::as_str).collect();
        if immutable.is_empty() {
            return Ok(());
        }
        Err(Failure::terminal(
            "NotSupported",
            format!(
                "Update to properties {} of {resource_name} ({type_name}) is not supported.",
                immutable.join(", ")
            ),
        ))
    }

    /// Whether all of these can change without a replacement.
    pub fn can_update(&self, changed: &BTreeSet<String>) -> bool {
        changed
            .iter()
            .all(|name| self.property(name).is_some_and(|property| property.update_allowed))
    }

    /// What is stored of them: what the template gives and nothing else, before any conversion, in its order.
    pub fn to_stored(&self) -> Result<Map<String, Value>, PropertyError> {
        let mut stored = Map::new();
        for (name, given) in &self.given {
            match given {
                Given::Value(value) | Given::Unsettled(value) => {
                    stored.insert(name.clone(), value.clone());
                }
                Given::Absent => {}
                Given::Failed(message) => {
                    return Err(PropertyError {
                        class: "ValueError",
                        heading: "",
                        path: Vec::new(),
                        message: message.clone(),
                    });
                }
            }
        }
        Ok(stored)
    }
}

#[cfg(test)]
mod tests {
    use async_trait::async_trait;
    use serde_json::json;

    use super::*;
    use crate::resource::constraints::Constraint;

    static SCHEMA: &[Property] = &[
        Property::string("name").required(),
        Property::integer("size")
            .default_int(1)
            .constrain(&[Constraint::range(Some(1), None)])
            .update_allowed(),
        Property::string("network"),
    ];

    static RULES: &[TranslationRule] = &[TranslationRule::resolve(&["network"], "find")];

    struct NoServices;

    #[async_trait]
    impl CustomConstraints for NoServices {
        async fn validate(&self, _: &str, _: &Value) -> Result<(), String> {
            Ok(())
        }
    }

    #[async_trait]
    impl NameFinder for NoServices {
        async fn find(&self, _: &Finder, name: &Value) -> Result<Value, String> {
            Err(format!("nobody knows {name}"))
        }
    }

    fn given<const N: usize>(given: [(&str, Given); N]) -> Properties {
        let given = given.map(|(name, given)| (name.to_owned(), given));
        Properties::new(SCHEMA, IndexMap::from(given))
    }

    async fn validity(properties: &Properties) -> Result<(), String> {
        let validity = properties.validate(Depth::Values, &NoServices).await;
        validity.map_err(|error| error.below(&["resources", "a"]).to_string())
    }

    #[tokio::test]
    async fn what_depends_on_the_unborn_is_not_held_to_constraints() {
        let name = ("name", Given::Value(json!("a")));
        let settled = given([name.clone(), ("size", Given::Value(json!(0)))]);
        assert_eq!(
            validity(&settled).await.unwrap_err(),
            "Property error: resources.a.properties.size: 0 is out of range (min: 1, max: None)"
        );
        let unsettled = given([name.clone(), ("size", Given::Unsettled(json!(0)))]);
        assert_eq!(validity(&unsettled).await, Ok(()));
        let not_even_a_number = given([name, ("size", Given::Unsettled(json!("x")))]);
        assert_eq!(
            validity(&not_even_a_number).await.unwrap_err(),
            "Property error: resources.a.properties.size: Value 'x' is not an integer"
        );
    }

    #[tokio::test]
    async fn a_function_may_mean_nothing_or_fail() {
        let properties = given([
            ("name", Given::Absent),
            ("size", Given::Absent),
            ("network", Given::Failed("no such key".to_owned())),
        ]);
        assert_eq!(properties.get("size"), Ok(json!(1)));
        assert_eq!(properties.get("network").unwrap_err().to_string(), "no such key");
        assert!(properties.to_stored().is_err());
        assert_eq!(
            validity(&properties).await.unwrap_err(),
            "Property error: resources.a.properties: Property name not assigned"
        );
    }

    #[tokio::test]
    async fn a_name_that_nobody_knows_is_an_error_where_it_is_read() {
        let mut properties = given([
            ("name", Given::Value(json!("a"))),
            ("network", Given::Value(json!("net"))),
        ]);
        properties.translate(RULES, Names::Found);
        properties.find_names(&NoServices).await;
        assert_eq!(properties.get("name"), Ok(json!("a")));
        assert_eq!(
            validity(&properties).await.unwrap_err(),
            "Property error: resources.a.properties.network: nobody knows \"net\""
        );
        properties.translate(RULES, Names::FoundOrAsGiven);
        assert_eq!(properties.get("network"), Ok(json!("net")));
    }

    #[test]
    fn what_is_stored_is_what_was_given() {
        let properties = given([
            ("size", Given::Value(json!("3"))),
            ("network", Given::Absent),
            ("name", Given::Unsettled(Value::Null)),
        ]);
        let stored = properties.to_stored().unwrap();
        assert_eq!(Value::Object(stored).to_string(), r#"{"size":"3","name":null}"#);
    }

    #[test]
    fn reality_replaces_only_what_differs() {
        let mut properties = given([("name", Given::Value(json!("a"))), ("size", Given::Value(json!("3")))]);
        let live = json!({"name": "b", "size": 3, "network": null, "unknown": 1});
        properties.adopt(live.as_object().unwrap());
        assert_eq!(
            Value::Object(properties.to_stored().unwrap()),
            json!({"name": "b", "size": "3"})
        );
    }
}
