//! What a type checks beyond the schemas of its single properties: which of them go together.
//!
//! Most of it is data, as schemas are: a list of [`Rule`]s. Rules are looked at where all is known, before a stack is
//! stored, and where nothing but the template is there. Then a rule counts only if it is certain that it is broken,
//! whatever will come of functions that need a cloud.

use indexmap::IndexMap;
use serde_json::Value;

use super::failure::Failure;
use super::instance::StackFacts;
use super::properties::Properties;
use super::translation::{Source, Translate, TranslationRule};
use crate::python::number::PyNumber;
use crate::python::to_text;
use crate::python::value::equals;
use crate::template::Foreseen;

/// Something that a resource may not be.
pub enum Rule {
    /// All these conditions at once.
    Refuse(&'static [Condition], Refusal),
    /// All these properties have values.
    Exclusive(&'static [&'static str]),
    /// None of these properties has a value.
    OneOf(&'static [&'static str]),
    /// The first property has a value and the second has none.
    Requires(&'static str, &'static str),
    /// Whatever breaks one of these rules inside a property: in a map, or in an item of a list.
    Each(&'static str, &'static [Rule]),
    /// What no list of conditions can say.
    Code(fn(&Facts<'_>) -> Option<Violation>),
    /// The same of what is around this rule, in an [`Each`](Rule::Each).
    CodeInside(fn(&Facts<'_>, &Values) -> Option<Violation>),
}

/// A condition, by the names of properties. Of several names all have to fulfil it.
pub enum Condition {
    /// Has a value that is not null.
    Given(&'static [&'static str]),
    Missing(&'static [&'static str]),
    /// Is true in Python's sense.
    Set(&'static [&'static str]),
    Unset(&'static [&'static str]),
    /// Is one of these texts.
    Is(&'static str, &'static [&'static str]),
    IsNot(&'static str, &'static [&'static str]),
    /// Is yes, or is no.
    Says(&'static str, bool),
    /// Both have values, and these differ.
    Differ(&'static str, &'static str),
    /// Both are numbers, and the first is greater.
    Exceeds(&'static str, &'static str),
    /// Is a number greater than this.
    Above(&'static str, i64),
    Below(&'static str, i64),
    /// Is a list of more than so many items.
    Longer(&'static str, usize),
    /// Is a list with an item that fulfils these.
    Within(&'static str, &'static [Condition]),
    Any(&'static [Condition]),
}

/// How a resource is refused.
#[derive(Clone, Copy)]
pub enum Refusal {
    Conflict(&'static [&'static str]),
    Unspecified(&'static [&'static str]),
    /// The first cannot be without the second.
    Dependency(&'static str, &'static str),
    /// The first is for a certain value of the second only.
    ValueDependency(&'static str, &'static str, &'static str),
    Unsupported(&'static str),
    /// A text, in which `{x}` stands for the value of a property and `{}` for the name of the resource.
    Invalid(&'static str),
}

/// How a resource breaks a rule.
#[derive(Debug, PartialEq, Eq)]
pub struct Violation {
    pub class: &'static str,
    pub message: String,
    /// Where in the properties.
    pub path: Vec<String>,
}

impl Violation {
    /// About the resource as a whole.
    pub fn of_all(message: impl Into<String>) -> Self {
        Self {
            class: "StackValidationFailed",
            message: message.into(),
            path: Vec::new(),
        }
    }

    /// About a property.
    pub fn invalid(property: &str, message: impl Into<String>) -> Self {
        Self {
            path: vec![property.to_owned()],
            ..Self::of_all(message)
        }
    }
}

impl From<Violation> for Failure {
    fn from(violation: Violation) -> Self {
        Self::terminal(violation.class, violation.message)
    }
}

/// The resources of the stack.
pub trait Neighbours {
    fn has(&self, resource: &str) -> bool;
    /// As far as it is known.
    fn property(&self, resource: &str, property: &str) -> Foreseen;
    fn metadata(&self, resource: &str) -> Foreseen;
    fn requires(&self, resource: &str, other: &str) -> bool;
}

/// What is known of properties, by name.
pub type Values = IndexMap<String, Foreseen>;

/// What is known of a resource.
pub struct Facts<'a> {
    pub resource: &'a str,
    /// `None` where there is no stack yet.
    pub stack: Option<&'a StackFacts>,
    /// `None` where nobody knows them.
    pub neighbours: Option<&'a dyn Neighbours>,
    values: Values,
}

impl<'a> Facts<'a> {
    /// Of a resource all of whose properties are known.
    pub fn of(resource: &'a str, properties: &Properties, stack: Option<&'a StackFacts>) -> Self {
        let values = properties.schema().iter().map(|property| {
            let value = properties.get(property.name);
            (
                property.name.to_owned(),
                value.map_or(Foreseen::Unknown, Foreseen::from),
            )
        });
        Self {
            resource,
            stack,
            neighbours: None,
            values: values.collect(),
        }
    }

    /// Of a resource of which only so much is foreseen. The properties are those that `given` makes, null in the place of
    /// what is not known.
    pub fn foreseen(
        resource: &'a str,
        properties: &Properties,
        mut given: IndexMap<String, Foreseen>,
        translation: &[TranslationRule],
        neighbours: &'a dyn Neighbours,
    ) -> Self {
        for rule in translation {
            if rule.when.is_none_or(|holds| holds(properties)) {
                translate(&mut given, rule);
            }
        }
        let values = properties.schema().iter().map(|property| {
            let value = match (properties.get(property.name), given.get(property.name)) {
                (Err(_), _) => Foreseen::Unknown,
                (Ok(value), Some(foreseen)) => foreseen.as_read(value),
                (Ok(value), None) => value.into(),
            };
            (property.name.to_owned(), value)
        });
        Self {
            resource,
            stack: None,
            neighbours: Some(neighbours),
            values: values.collect(),
        }
    }

    pub fn get(&self, property: &str) -> &Foreseen {
        get(&self.values, property)
    }

    /// All properties of the schema.
    pub fn names(&self) -> impl Iterator<Item = &str> {
        self.values.keys().map(String::as_str)
    }

    /// Which rules are broken, in their order.
    pub fn violations(&self, rules: &[Rule]) -> Vec<Violation> {
        let mut found = Vec::new();
        self.look(rules, &self.values, &[], &mut found);
        found
    }

    fn look(&self, rules: &[Rule], values: &Values, path: &[String], found: &mut Vec<Violation>) {
        for rule in rules {
            match rule {
                Rule::Each(name, rules) => self.look_inside(name, rules, values, path, found),
                Rule::Code(code) => found.extend(code(self)),
                Rule::CodeInside(code) => found.extend(code(self, values).map(|violation| Violation {
                    path: [path, &violation.path].concat(),
                    ..violation
                })),
                rule => {
                    let names = rule.names();
                    found.extend(rule.broken_by(values).map(|refusal| Violation {
                        class: refusal.class(),
                        message: refusal.message(self, values),
                        path: place(path, &names, values),
                    }));
                }
            }
        }
    }

    fn look_inside(&self, name: &str, rules: &[Rule], values: &Values, path: &[String], found: &mut Vec<Violation>) {
        let place = [path, &[name.to_owned()]].concat();
        match get(values, name) {
            Foreseen::Map(entries) => self.look(rules, entries, &place, found),
            Foreseen::List(items) => {
                for (index, item) in items.iter().enumerate() {
                    if let Some(entries) = item.entries() {
                        self.look(rules, entries, &[&place[..], &[index.to_string()]].concat(), found);
                    }
                }
            }
            _ => {}
        }
    }
}

/// What is not in the schema at all counts as not known.
fn get<'v>(values: &'v Values, name: &str) -> &'v Foreseen {
    values.get(name).unwrap_or(&Foreseen::Unknown)
}

/// The last of the named properties that the template gives; the place around them if it gives none.
fn place(path: &[String], names: &[&'static str], values: &Values) -> Vec<String> {
    let given = names.iter().rfind(|name| get(values, name).is_null() == Some(false));
    path.iter()
        .cloned()
        .chain(given.map(|name| (*name).to_owned()))
        .collect()
}

impl Rule {
    /// Whether it is broken for certain.
    fn broken_by(&self, values: &Values) -> Option<Refusal> {
        let (is_broken, refusal) = match *self {
            Self::Refuse(conditions, refusal) => (all_hold(conditions, values), refusal),
            Self::Exclusive(names) => (Condition::Given(names).holds(values), Refusal::Conflict(names)),
            Self::OneOf(names) => (Condition::Missing(names).holds(values), Refusal::Unspecified(names)),
            Self::Requires(one, other) => {
                let conditions = [not(get(values, one).is_null()), get(values, other).is_null()];
                (all(conditions.into_iter()), Refusal::Dependency(one, other))
            }
            Self::Each(..) | Self::Code(_) | Self::CodeInside(_) => return None,
        };
        (is_broken == Some(true)).then_some(refusal)
    }

    /// Names of properties in it, each with the list around it, if any.
    #[cfg(test)]
    pub fn named(&self) -> Vec<(Option<&'static str>, &'static str)> {
        let outside = self.names().into_iter().map(|name| (None, name));
        let conditions = match *self {
            Self::Refuse(conditions, _) => conditions,
            _ => &[],
        };
        let inside = conditions.iter().flat_map(|condition| match *condition {
            Condition::Within(list, conditions) => {
                let names = conditions.iter().flat_map(Condition::names);
                names.map(|name| (Some(list), name)).collect()
            }
            _ => Vec::new(),
        });
        outside.chain(inside).collect()
    }

    /// The properties that it is about.
    fn names(&self) -> Vec<&'static str> {
        match *self {
            Self::Refuse(conditions, _) => conditions.iter().flat_map(Condition::names).collect(),
            Self::Exclusive(names) | Self::OneOf(names) => names.to_vec(),
            Self::Requires(one, other) => vec![one, other],
            Self::Each(name, _) => vec![name],
            Self::Code(_) | Self::CodeInside(_) => Vec::new(),
        }
    }
}

impl Condition {
    /// Whether it holds, if that is certain.
    fn holds(&self, values: &Values) -> Option<bool> {
        let each = |names: &[&'static str], holds: fn(&Foreseen) -> Option<bool>| {
            all(names.iter().map(|name| holds(get(values, name))))
        };
        let is_one_of = |name: &str, texts: &[&str]| {
            let value = get(values, name).scalar()?;
            Some(value.as_str().is_some_and(|text| texts.contains(&text)))
        };
        match *self {
            Self::Given(names) => each(names, |value| not(value.is_null())),
            Self::Missing(names) => each(names, Foreseen::is_null),
            Self::Set(names) => each(names, Foreseen::is_true),
            Self::Unset(names) => each(names, |value| not(value.is_true())),
            Self::Is(name, texts) => is_one_of(name, texts),
            Self::IsNot(name, texts) => not(is_one_of(name, texts)),
            Self::Says(name, expected) => Some(*get(values, name).scalar()? == Value::Bool(expected)),
            Self::Differ(one, other) => {
                let (one, other) = (get(values, one).scalar()?, get(values, other).scalar()?);
                Some(!one.is_null() && !other.is_null() && !equals(one, other))
            }
            Self::Exceeds(one, other) => compare(get(values, one), get(values, other), |one, other| one > other),
            Self::Above(name, bound) => {
                compare(get(values, name), &Value::from(bound).into(), |one, other| one > other)
            }
            Self::Below(name, bound) => {
                compare(get(values, name), &Value::from(bound).into(), |one, other| one < other)
            }
            Self::Longer(name, most) => Some(get(values, name).items()?.len() > most),
            Self::Within(name, conditions) => {
                let items = get(values, name).items()?;
                any(items.iter().map(|item| all_hold(conditions, item.entries()?)))
            }
            Self::Any(conditions) => any(conditions.iter().map(|condition| condition.holds(values))),
        }
    }

    fn names(&self) -> Vec<&'static str> {
        match *self {
            Self::Given(names) | Self::Missing(names) | Self::Set(names) | Self::Unset(names) => names.to_vec(),
            Self::Is(name, _)
            | Self::IsNot(name, _)
            | Self::Says(name, _)
            | Self::Above(name, _)
            | Self::Below(name, _)
            | Self::Longer(name, _)
            | Self::Within(name, _) => vec![name],
            Self::Differ(one, other) | Self::Exceeds(one, other) => vec![one, other],
            Self::Any(conditions) => conditions.iter().flat_map(Self::names).collect(),
        }
    }
}

fn all_hold(conditions: &[Condition], values: &Values) -> Option<bool> {
    all(conditions.iter().map(|condition| condition.holds(values)))
}

/// Numbers, which may be written as texts. What is no number is not greater than anything.
fn compare(one: &Foreseen, other: &Foreseen, holds: fn(f64, f64) -> bool) -> Option<bool> {
    let number = |value: &Value| match value {
        Value::String(text) => text.trim().parse().ok(),
        value => PyNumber::of(value).map(|number| number.as_f64()),
    };
    let (one, other) = (number(one.scalar()?), number(other.scalar()?));
    Some(one.zip(other).is_some_and(|(one, other)| holds(one, other)))
}

fn not(holds: Option<bool>) -> Option<bool> {
    holds.map(|holds| !holds)
}

/// Certain where all are, and where one does not hold for certain.
pub fn all(mut holds: impl Iterator<Item = Option<bool>>) -> Option<bool> {
    holds
        .try_fold(Some(true), |so_far, holds| match holds {
            Some(true) => Ok(so_far),
            Some(false) => Err(Some(false)),
            None => Ok(None),
        })
        .unwrap_or_else(|certain| certain)
}

pub fn any(holds: impl Iterator<Item = Option<bool>>) -> Option<bool> {
    not(all(holds.map(not)))
}

impl Refusal {
    fn class(self) -> &'static str {
        match self {
            Self::Conflict(_) => "ResourcePropertyConflict",
            Self::Unspecified(_) => "PropertyUnspecifiedError",
            Self::Dependency(..) => "ResourcePropertyDependency",
            Self::ValueDependency(..) => "ResourcePropertyValueDependency",
            Self::Unsupported(_) => "NotSupported",
            Self::Invalid(_) => "StackValidationFailed",
        }
    }

    fn message(self, facts: &Facts<'_>, values: &Values) -> String {
        match self {
            Self::Conflict(names) => format!(
                "Cannot define the following properties at the same time: {}.",
                names.join(", ")
            ),
            Self::Unspecified(names) => format!(
                "At least one of the following properties must be specified: {}.",
                names.join(", ")
            ),
            Self::Dependency(one, other) => format!("{one} cannot be specified without {other}."),
            Self::ValueDependency(one, other, value) => {
                format!("{one} property should only be specified for {other} with value {value}.")
            }
            Self::Unsupported(feature) => format!("{feature} is not supported."),
            Self::Invalid(text) => filled(text, facts.resource, values),
        }
    }
}

/// A text with the values of properties in it.
fn filled(text: &str, resource: &str, values: &Values) -> String {
    let mut filled = String::new();
    let mut rest = text;
    while let Some((before, name, after)) = rest
        .split_once('{')
        .and_then(|(before, rest)| rest.split_once('}').map(|(name, after)| (before, name, after)))
    {
        filled.push_str(before);
        match get(values, name) {
            _ if name.is_empty() => filled.push_str(resource),
            Foreseen::Value(value) | Foreseen::Reference(value) => filled.push_str(&to_text(value)),
            _ => filled.push('…'),
        }
        rest = after;
    }
    filled + rest
}

/// Does with what is foreseen what a rule of translation does with values.
fn translate(given: &mut Values, rule: &TranslationRule) {
    let Some((name, parents)) = rule.path.split_last() else {
        return;
    };
    let source: Option<Vec<&str>> = match rule.translate {
        Translate::Replace(Source::Path(path)) => Some(path.to_vec()),
        Translate::Replace(Source::Sibling(name)) => Some(vec![name]),
        Translate::Replace(Source::Inside(name, further)) => Some([&[name], further].concat()),
        Translate::Delete => None,
        _ => return,
    };
    in_each(given, parents, &mut |values| match &source {
        Some(source) => {
            if let Some(taken) = take(values, source) {
                values.insert((*name).to_owned(), taken);
            }
        }
        None => drop(values.shift_remove(*name)),
    });
}

fn in_each(values: &mut Values, parents: &[&str], change: &mut dyn FnMut(&mut Values)) {
    let Some((name, further)) = parents.split_first() else {
        return change(values);
    };
    match values.get_mut(*name) {
        Some(Foreseen::Map(entries)) => in_each(entries, further, change),
        Some(Foreseen::List(items)) => {
            for item in items {
                if let Foreseen::Map(entries) = item {
                    in_each(entries, further, change);
                }
            }
        }
        _ => {}
    }
}

fn take(values: &mut Values, path: &[&str]) -> Option<Foreseen> {
    match path {
        [] => None,
        [name] => values.shift_remove(*name),
        [name, further @ ..] => match values.get_mut(*name)? {
            Foreseen::Map(entries) => take(entries, further),
            _ => Some(Foreseen::Unknown),
        },
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::Condition::{Any, Exceeds, Given, Set, Within};
    use super::Rule::{Each, Exclusive, OneOf, Refuse, Requires};
    use super::*;
    use crate::resource::schema::{ITEM, Property};

    static SCHEMA: &[Property] = &[
        Property::string("subnet"),
        Property::string("subnet_id"),
        Property::string("port"),
        Property::integer("most").default_int(5),
        Property::integer("least"),
        Property::list("networks")
            .items(&Property::map(ITEM).keys(&[Property::string("port"), Property::string("address")])),
    ];

    static TRANSLATION: &[TranslationRule] = &[TranslationRule::replace(&["subnet"], Source::Path(&["subnet_id"]))];

    static RULES: &[Rule] = &[
        Exclusive(&["subnet", "port"]),
        OneOf(&["subnet", "port"]),
        Refuse(&[Exceeds("least", "most")], Refusal::Invalid("{}: {least} of {most}")),
        Each("networks", &[Requires("address", "port")]),
        Refuse(
            &[
                Within("networks", &[Given(&["port"])]),
                Any(&[Set(&["least"]), Set(&["port"])]),
            ],
            Refusal::Unsupported("this"),
        ),
    ];

    struct Nobody;

    impl Neighbours for Nobody {
        fn has(&self, _: &str) -> bool {
            false
        }

        fn property(&self, _: &str, _: &str) -> Foreseen {
            Foreseen::Unknown
        }

        fn metadata(&self, _: &str) -> Foreseen {
            Foreseen::Unknown
        }

        fn requires(&self, _: &str, _: &str) -> bool {
            false
        }
    }

    fn broken<const N: usize>(given: [(&str, Foreseen); N]) -> Vec<String> {
        let given: Values = given.map(|(name, value)| (name.to_owned(), value)).into();
        let values = given.iter().map(|(name, value)| (name.clone(), value.to_value()));
        let mut properties = Properties::stored(SCHEMA, values.collect());
        properties.translate(TRANSLATION, crate::resource::properties::Names::AsGiven);
        let facts = Facts::foreseen("res", &properties, given, TRANSLATION, &Nobody);
        let violations = facts.violations(RULES).into_iter();
        violations
            .map(|violation| format!("{}: {}", violation.path.join("."), violation.message))
            .collect()
    }

    const A_RESOURCE: fn() -> Foreseen = || Foreseen::Reference(json!("a"));

    #[test]
    fn references_have_a_value_by_any_name() {
        let conflict = "port: Cannot define the following properties at the same time: subnet, port.";
        let port = || ("port", Foreseen::Written);
        assert_eq!(broken([("subnet", A_RESOURCE()), port()]), [conflict]);
        assert_eq!(broken([("subnet_id", A_RESOURCE()), port()]), [conflict]);
        assert_eq!(broken([("subnet", json!("x").into()), port()]), [conflict]);
        assert_eq!(broken([port()]), [""; 0]);
    }

    #[test]
    fn what_may_not_be_written_breaks_nothing() {
        let perhaps = || ("subnet_id", Foreseen::Unknown);
        assert_eq!(broken([perhaps()]), [""; 0]);
        assert_eq!(broken([perhaps(), ("port", A_RESOURCE())]), [""; 0]);
        assert_eq!(
            broken([]),
            [": At least one of the following properties must be specified: subnet, port."]
        );
    }

    #[test]
    fn values_that_are_not_known_are_not_compared() {
        let port = || ("port", Foreseen::from(json!("p")));
        assert_eq!(broken([port(), ("least", json!("6").into())]), ["most: res: 6 of 5"]);
        assert_eq!(broken([port(), ("least", Foreseen::Written)]), [""; 0]);
        assert_eq!(
            broken([port(), ("least", json!(2).into()), ("most", Foreseen::Written)]),
            [""; 0]
        );
    }

    #[test]
    fn each_item_is_looked_at_as_far_as_it_is_known() {
        let item = |key: &str, value| Foreseen::Map([(key.to_owned(), value)].into_iter().collect());
        let items = |items| ("networks", Foreseen::List(items));
        let port = || ("port", A_RESOURCE());
        let alone = "networks.1.address: address cannot be specified without port.";
        let told = broken([
            port(),
            items(vec![Foreseen::Written, item("address", Foreseen::Written)]),
        ]);
        assert_eq!(told, [alone]);
        let told = broken([port(), items(vec![Foreseen::Written, item("port", A_RESOURCE())])]);
        assert_eq!(told, ["port: this is not supported."]);
        assert_eq!(broken([port(), ("networks", Foreseen::Written)]), [""; 0]);
    }
}
