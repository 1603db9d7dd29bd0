//! Groups: resources whose members the engine makes after a definition in their properties.

use indexmap::IndexMap;
use serde_json::Value;

use super::hints;
use super::near;
use super::nested::GivenProperties;
use crate::resource::properties::Given;
use crate::template::{Expression, Foreseen, TemplateVersion};

/// A type of groups.
pub struct Group {
    type_name: &'static str,
    /// The property that holds the definition of a member, or the types of all members.
    members: &'static str,
    /// Where in the properties of the group those of its members are.
    properties: &'static [&'static str],
    /// The property that says what stands for the number of a member, and what does if it says nothing.
    index: Option<(&'static str, &'static str)>,
    /// The properties that say how many there are: the first that is given.
    count: &'static [&'static str],
    /// The version of the language in which the definition is written, where the schema of the group leaves that open.
    language: Option<TemplateVersion>,
}

static GROUPS: [Group; 3] = [
    Group {
        type_name: "OS::Heat::ResourceGroup",
        members: "resource_def",
        properties: &["resource_def", "properties"],
        index: Some(("index_var", "%index%")),
        count: &["count"],
        language: None,
    },
    Group {
        type_name: "OS::Heat::AutoScalingGroup",
        members: "resource",
        properties: &["resource", "properties"],
        index: None,
        count: &["desired_capacity", "min_size"],
        language: Some(TemplateVersion::Hot20150430),
    },
    Group {
        type_name: "OS::Heat::ResourceChain",
        members: "resources",
        properties: &["resource_properties"],
        index: None,
        count: &[],
        language: None,
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

    /// What the first member is given, of what all are; `None` where nobody knows what stands for its number.
    pub fn numbered(&self, mut member: GivenProperties, group: &IndexMap<String, Given>) -> Option<GivenProperties> {
        if let Some((property, usual)) = self.index {
            let index = match group.get(property) {
                Some(Given::Value(Value::String(index))) => index,
                None => usual,
                Some(_) => return None,
            };
            for value in member.given.values_mut() {
                if let Given::Value(value) | Given::Unsettled(value) = value {
                    number(value, index);
                }
            }
            let foreseen = member.foreseen.iter_mut().flat_map(IndexMap::values_mut);
            foreseen.for_each(|value| number_foreseen(value, index));
        }
        Some(member)
    }

    /// How the first member is called, where that is known.
    pub fn first_name(&self) -> &'static str {
        if self.index.is_some() { "0" } else { "…" }
    }
}

fn number_foreseen(value: &mut Foreseen, index: &str) {
    match value {
        Foreseen::Value(value) => number(value, index),
        Foreseen::List(items) => items.iter_mut().for_each(|item| number_foreseen(item, index)),
        Foreseen::Map(entries) => entries.values_mut().for_each(|item| number_foreseen(item, index)),
        Foreseen::Reference(_) | Foreseen::Written | Foreseen::Unknown => {}
    }
}

/// Puts the number of the first member where it belongs.
fn number(value: &mut Value, index: &str) {
    match value {
        Value::String(text) => *text = text.replace(index, "0"),
        Value::Array(items) => items.iter_mut().for_each(|item| number(item, index)),
        Value::Object(entries) => entries.values_mut().for_each(|item| number(item, index)),
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
}
