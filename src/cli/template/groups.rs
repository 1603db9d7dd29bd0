//! Groups: resources whose members the engine makes after a definition in their properties.

use std::collections::HashSet;

use indexmap::IndexMap;
use serde_json::Value;

use super::hints;
use super::near;
use super::nested::GivenProperties;
use crate::python::to_text;
use crate::resource::properties::Given;
use crate::template::{Expression, Foreseen, TemplateVersion};

/// A type of groups.
pub struct Group {
    type_name: &'static str,
    /// The property that holds the definition of a member, or the types of all members.
    members: &'static str,
    /// Where in the properties of the group those of its members are.
    properties: &'static [&'static str],
    names: MemberNames,
    /// The properties that say how many there are: the first that is given.
    count: &'static [&'static str],
    /// The version of the language in which the definition is written, where the schema of the group leaves that open.
    language: Option<TemplateVersion>,
    /// Attributes of the group itself.
    own: &'static [&'static str],
    /// Attributes that give an attribute of each member, whose name stands behind.
    of_members: &'static [&'static str],
    /// Whether all other attributes are those of the members.
    asks_members: bool,
}

/// How members are called.
enum MemberNames {
    /// By number, from 0. What stands for the number in the properties of members, in this property or else in this way;
    /// this property says which numbers are left out.
    Numbers {
        index: (&'static str, &'static str),
        left_out: &'static str,
    },
    /// By their place in the list of types.
    Places,
    /// By chance.
    Chance,
}

/// What stands for the name of a member, and that name.
#[derive(Clone)]
pub struct Numbering {
    index: String,
    pub name: String,
}

/// What somebody asks of a group.
pub enum Asked<'a> {
    OfGroup,
    /// Of this member, or of each.
    OfMembers(Option<&'a str>, Vec<&'a str>),
    /// There is no such thing, and what may be meant.
    Nothing(Option<String>),
}

static GROUPS: [Group; 3] = [
    Group {
        type_name: "OS::Heat::ResourceGroup",
        members: "resource_def",
        properties: &["resource_def", "properties"],
        names: MemberNames::Numbers {
            index: ("index_var", "%index%"),
            left_out: "removal_policies",
        },
        count: &["count"],
        language: None,
        own: &["refs", "refs_map", "removed_rsrc_list", "show"],
        of_members: &["attributes"],
        asks_members: true,
    },
    Group {
        type_name: "OS::Heat::AutoScalingGroup",
        members: "resource",
        properties: &["resource", "properties"],
        names: MemberNames::Chance,
        count: &["desired_capacity", "min_size"],
        language: Some(TemplateVersion::Hot20150430),
        own: &["current_size", "refs", "refs_map", "show"],
        of_members: &["outputs", "outputs_list"],
        asks_members: false,
    },
    Group {
        type_name: "OS::Heat::ResourceChain",
        members: "resources",
        properties: &["resource_properties"],
        names: MemberNames::Places,
        count: &[],
        language: None,
        own: &["refs", "show"],
        of_members: &["attributes"],
        asks_members: true,
    },
];

impl Group {
    pub fn of_type(name: &str) -> Option<&'static Self> {
        GROUPS.iter().find(|group| group.type_name == name)
    }

    /// The types of members as they are written, each with its place in the properties of the group.
    pub fn member_types<'v>(&self, properties: &'v Value) -> Vec<(String, &'v str)> {
        let members = self.members;
        match properties.get(members) {
            Some(Value::Array(types)) => {
                let types = types.iter().enumerate();
                types
                    .filter_map(|(index, name)| Some((format!("{members}[{index}]"), name.as_str()?)))
                    .collect()
            }
            Some(definition) => {
                let name = definition.get("type").and_then(Value::as_str);
                name.map(|name| (format!("{members}.type"), name)).into_iter().collect()
            }
            None => Vec::new(),
        }
    }

    /// Whether there are no members at all, so that Heat does not look at what they would be.
    pub fn is_empty(&self, given: &IndexMap<String, Given>) -> bool {
        let count = self.count.iter().find_map(|count| given.get(*count));
        matches!(count, Some(Given::Value(count)) if *count == 0 || *count == "0")
    }

    /// The definition of a member, and the keys that it may have, where the schema of the group does not say so.
    fn free_definition<'e>(
        &self,
        properties: Option<&'e Expression>,
    ) -> Option<(&'e IndexMap<String, Expression>, Vec<&'static str>)> {
        let definition = properties?.as_map()?.get(self.members)?.as_map()?;
        Some((definition, hints::resource_keywords(self.language?)))
    }

    /// Whether the definition of a member has no type.
    pub fn lacks_type(&self, properties: Option<&Expression>) -> bool {
        let definition = self.free_definition(properties);
        definition.is_some_and(|(definition, _)| !definition.contains_key("type"))
    }

    /// The keys of the definition of a member that mean nothing: their places in the properties of the group, and what may
    /// be meant.
    pub fn unknown_keys(&self, properties: Option<&Expression>) -> Vec<(String, Option<String>)> {
        let Some((definition, known)) = self.free_definition(properties) else {
            return Vec::new();
        };
        let unknown = definition.keys().filter(|key| !known.contains(&key.as_str()));
        unknown
            .map(|key| {
                (
                    format!("{}.{key}", self.members),
                    near::question(key, known.iter().copied()),
                )
            })
            .collect()
    }

    /// Where the definition of a member is, in the properties of the group.
    pub fn definition_place(&self) -> &'static str {
        self.members
    }

    /// Where the properties of members are, in those of the group.
    pub fn place(&self) -> String {
        self.properties.join(".")
    }

    /// What members are given, if anything; `None` where that depends on more than is known.
    pub fn given_to_member<'e>(&self, properties: Option<&'e Expression>) -> Option<Option<&'e Expression>> {
        let mut part = properties?;
        for step in self.properties {
            match part.as_map()?.get(*step) {
                Some(inner) => part = inner,
                None => return Some(None),
            }
        }
        part.as_map()?;
        Some(Some(part))
    }

    /// What is written in the properties of members, as it stands in the template.
    pub fn properties_of_members<'v>(&self, properties: &'v Value) -> Option<&'v Value> {
        let steps = self.properties.iter();
        steps.into_iter().try_fold(properties, |part, step| part.get(*step))
    }

    /// How the first member is numbered, where members are; `None` where that depends on more than is known.
    pub fn numbering(&self, given: &IndexMap<String, Given>) -> Option<Option<Numbering>> {
        let MemberNames::Numbers {
            index: (property, usual),
            left_out,
        } = self.names
        else {
            return Some(None);
        };
        let index = match given.get(property) {
            Some(Given::Value(Value::String(index))) => index,
            None => usual,
            Some(_) => return None,
        };
        let left_out = match given.get(left_out) {
            Some(Given::Value(policies)) => names_left_out(policies),
            None => HashSet::new(),
            Some(_) => return None,
        };
        let name = (0..).map(|number: u64| number.to_string());
        Some(Some(Numbering {
            index: index.to_owned(),
            name: name.into_iter().find(|name| !left_out.contains(name))?,
        }))
    }

    /// The name of a member, by its place among the types of members.
    pub fn member_name(&self, place: usize, numbering: Option<&Numbering>) -> String {
        match (&self.names, numbering) {
            (MemberNames::Numbers { .. }, Some(numbering)) => numbering.name.clone(),
            (MemberNames::Numbers { .. }, None) => "0".to_owned(),
            (MemberNames::Places, _) => place.to_string(),
            (MemberNames::Chance, _) => "member".to_owned(),
        }
    }

    /// Whether a member is meant by this name, which may be one that does not exist.
    pub fn means(&self, place: usize, name: &str) -> bool {
        !matches!(self.names, MemberNames::Places) || name.parse() == Ok(place)
    }

    /// What is asked with an attribute and what stands behind it.
    pub fn asked<'a>(&self, attribute: &'a str, further: &[&'a str]) -> Asked<'a> {
        if let Some(rest) = attribute.strip_prefix("resource.") {
            let (member, attribute) = rest.split_once('.').unzip();
            let steps: Vec<&str> = attribute.into_iter().chain(further.iter().copied()).collect();
            return match steps.is_empty() {
                true => Asked::OfGroup,
                false => Asked::OfMembers(Some(member.unwrap_or(rest)), steps),
            };
        }
        if self.own.contains(&attribute) {
            return Asked::OfGroup;
        }
        if self.of_members.contains(&attribute) {
            return match further.is_empty() {
                true => Asked::Nothing(Some(format!(
                    "the name of an attribute of its members has to follow {attribute}"
                ))),
                false => Asked::OfMembers(None, further.to_vec()),
            };
        }
        if self.asks_members {
            return Asked::OfMembers(None, [&[attribute], further].concat());
        }
        let known = || self.own.iter().chain(self.of_members).copied();
        let listed = || format!("it has {}", known().collect::<Vec<_>>().join(", "));
        Asked::Nothing(near::question(attribute, known()).or_else(|| Some(listed())))
    }
}

/// The names in the lists of removal policies.
fn names_left_out(policies: &Value) -> HashSet<String> {
    let policies = policies.as_array().into_iter().flatten();
    let lists = policies.filter_map(|policy| policy.get("resource_list")?.as_array());
    lists.flatten().map(to_text).collect()
}

impl GivenProperties {
    /// Puts the name of a member where it belongs.
    pub fn number(&mut self, numbering: &Numbering) {
        for value in self.given.values_mut() {
            if let Given::Value(value) | Given::Unsettled(value) = value {
                number(value, numbering);
            }
        }
        let foreseen = self.foreseen.iter_mut().flat_map(IndexMap::values_mut);
        foreseen.for_each(|value| number_foreseen(value, numbering));
    }
}

fn number_foreseen(value: &mut Foreseen, numbering: &Numbering) {
    match value {
        Foreseen::Value(value) => number(value, numbering),
        Foreseen::List(items) => items.iter_mut().for_each(|item| number_foreseen(item, numbering)),
        Foreseen::Map(entries) => entries.values_mut().for_each(|item| number_foreseen(item, numbering)),
        Foreseen::Reference(_) | Foreseen::Written | Foreseen::Unknown => {}
    }
}

fn number(value: &mut Value, numbering: &Numbering) {
    match value {
        Value::String(text) => *text = text.replace(&numbering.index, &numbering.name),
        Value::Array(items) => items.iter_mut().for_each(|item| number(item, numbering)),
        Value::Object(entries) => entries.values_mut().for_each(|item| number(item, numbering)),
        _ => {}
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn members_have_types() {
        let types = |group: &str, properties: Value| {
            let group = Group::of_type(group).unwrap();
            let types = group.member_types(&properties).into_iter();
            types.map(|(place, name)| format!("{place} {name}")).collect::<Vec<_>>()
        };
        assert_eq!(
            types("OS::Heat::ResourceGroup", json!({"resource_def": {"type": "A"}})),
            ["resource_def.type A"]
        );
        assert_eq!(
            types("OS::Heat::ResourceChain", json!({"resources": ["A", 5, "B"]})),
            ["resources[0] A", "resources[2] B"]
        );
        assert!(types("OS::Heat::AutoScalingGroup", json!({"resource": {"get_param": "x"}})).is_empty());
    }

    #[test]
    fn members_that_are_left_out_have_no_number() {
        let group = Group::of_type("OS::Heat::ResourceGroup").unwrap();
        let first = |policies| {
            let given = IndexMap::from([("removal_policies".to_owned(), policies)]);
            group.numbering(&given).map(|numbering| numbering.unwrap().name)
        };
        let policies = json!([{"resource_list": ["0", 1]}, {"resource_list": ["3"]}, {}]);
        assert_eq!(first(Given::Value(policies)).as_deref(), Some("2"));
        assert_eq!(first(Given::Unsettled(Value::Null)), None);
    }

    #[test]
    fn attributes_are_asked_of_members_or_of_the_group() {
        let asked = |group: &str, attribute: &str, further: &[&str]| {
            let group = Group::of_type(group).unwrap();
            match group.asked(attribute, further) {
                Asked::OfGroup => "of the group".to_owned(),
                Asked::OfMembers(member, steps) => format!("{} {}", member.unwrap_or("all"), steps.join(" ")),
                Asked::Nothing(help) => help.unwrap_or_default(),
            }
        };
        let group = "OS::Heat::ResourceGroup";
        assert_eq!(asked(group, "refs", &["0"]), "of the group");
        assert_eq!(asked(group, "resource.1", &[]), "of the group");
        assert_eq!(asked(group, "resource.1", &["show", "id"]), "1 show id");
        assert_eq!(asked(group, "resource.1.resource.0.x", &[]), "1 resource.0.x");
        assert_eq!(asked(group, "first_address", &[]), "all first_address");
        assert_eq!(asked(group, "attributes", &["x"]), "all x");
        assert_eq!(
            asked(group, "attributes", &[]),
            "the name of an attribute of its members has to follow attributes"
        );
        let group = "OS::Heat::AutoScalingGroup";
        assert_eq!(asked(group, "outputs", &["x"]), "all x");
        assert_eq!(asked(group, "curent_size", &[]), "is \"current_size\" meant?");
    }
}
