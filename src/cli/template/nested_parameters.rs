//! The parameters of a template as `validate_template` shows them, and with `show_nested` those of the templates inside.

use serde_json::{Map, Value, json};

use super::checked::{Checked, Nested, TypeInfo};
use super::groups::{Group, Numbering};
use super::nested::GivenProperties;
use super::nested::{OfflineStates, definition_with, foreseen, given_properties};
use crate::plugins::inventory::KnownType;
use crate::template::{Expression, Scope, StackDefinition, Template};

/// The types of groups whose members are deployments: their templates have no parameters.
const OF_DEPLOYMENTS: [&str; 4] = [
    "OS::Heat::SoftwareDeploymentGroup",
    "OS::Heat::SoftwareDeployments",
    "OS::Heat::StructuredDeploymentGroup",
    "OS::Heat::StructuredDeployments",
];

/// Those of one template, with its description.
pub fn described_parameters(template: &Template, definition: Option<&StackDefinition>) -> Map<String, Value> {
    let parameters = definition.map(|definition| {
        let defined = definition.parameters().defined();
        defined
            .map(|parameter| (parameter.name.clone(), parameter.describe()))
            .collect()
    });
    let mut shown = Map::from_iter([
        ("Description".to_owned(), template.description()),
        ("Parameters".to_owned(), Value::Object(parameters.unwrap_or_default())),
    ]);
    if let Some(groups) = template.parameter_groups() {
        shown.insert("ParameterGroups".to_owned(), groups.clone());
    }
    shown
}

/// Those of nested templates, with what their resources give them, by resource; those of theirs inside.
pub fn nested_parameters(checked: &Checked, definition: &StackDefinition) -> Map<String, Value> {
    let states = OfflineStates(&checked.types);
    let scope = definition.scope(&states);
    let keywords = definition.template().keywords();
    let show = Show {
        checked,
        definition,
        scope: &scope,
    };
    let resources = definition.resources().values().filter_map(|resource| {
        let info = checked.types.get(&resource.name)?;
        let path = format!("{}.{}.{}", keywords.resources, resource.name, keywords.properties);
        let shown = show.of_type(info, resource.properties(), &[], &path)?;
        Some((resource.name.clone(), typed(&resource.resource_type, shown)))
    });
    below(resources.collect())
}

fn typed(name: &str, shown: Map<String, Value>) -> Value {
    let mut described = Map::from_iter([("Type".to_owned(), Value::from(name))]);
    described.extend(shown);
    Value::Object(described)
}

fn below(all: Map<String, Value>) -> Map<String, Value> {
    let nested = (!all.is_empty()).then(|| ("NestedParameters".to_owned(), Value::Object(all)));
    nested.into_iter().collect()
}

struct Show<'a> {
    checked: &'a Checked,
    definition: &'a StackDefinition,
    scope: &'a Scope<'a>,
}

impl Show<'_> {
    /// The template behind a resource or a member of a group, if there is one.
    fn of_type(
        &self,
        info: &TypeInfo,
        written: Option<&Expression>,
        numberings: &[Numbering],
        path: &str,
    ) -> Option<Map<String, Value>> {
        match info {
            TypeInfo::Template(nested) => self.of_template(nested, written, numberings),
            TypeInfo::Known(known) if OF_DEPLOYMENTS.contains(&known.name) => Some(of_made_template(Map::new())),
            TypeInfo::Known(known) => self.of_group(known, written, numberings, path),
            TypeInfo::Opaque | TypeInfo::Unknown => None,
        }
    }

    fn of_template(
        &self,
        nested: &Nested,
        written: Option<&Expression>,
        numberings: &[Numbering],
    ) -> Option<Map<String, Value>> {
        let inner = nested.checked.as_ref()?;
        let given = foreseen(self.given(written, numberings).given);
        let definition = definition_with(&inner.template, given, self.definition.world());
        let mut shown = described_parameters(&inner.template, definition.as_ref());
        if let Some(definition) = &definition {
            shown.extend(nested_parameters(inner, definition));
        }
        Some(shown)
    }

    /// A group is shown with one member, whatever it says of their number.
    fn of_group(
        &self,
        known: &KnownType,
        written: Option<&Expression>,
        numberings: &[Numbering],
        path: &str,
    ) -> Option<Map<String, Value>> {
        let group = Group::of_type(known.name)?;
        let given = self.given(written, numberings).given;
        let numbering = group.numbering(&given).flatten();
        let numberings: Vec<Numbering> = numberings.iter().cloned().chain(numbering.clone()).collect();
        let inside = group.given_to_member(written).flatten();
        let members = self.checked.members.get(&(path.to_owned(), known.name));
        let path = format!("{path}.{}", group.place());
        let members = members.into_iter().flatten().enumerate();
        let shown = members.filter_map(|(place, member)| {
            let shown = self.of_type(&member.info, inside, &numberings, &path)?;
            let name = group.member_name(place, numbering.as_ref());
            Some((name, typed(&member.written, shown)))
        });
        Some(of_made_template(shown.collect()))
    }

    fn given(&self, written: Option<&Expression>, numberings: &[Numbering]) -> GivenProperties {
        let mut properties = GivenProperties {
            given: given_properties(written, self.scope),
            foreseen: None,
        };
        numberings.iter().for_each(|numbering| properties.number(numbering));
        properties
    }
}

/// A template that Heat makes for a group.
fn of_made_template(members: Map<String, Value>) -> Map<String, Value> {
    let description = ("Description".to_owned(), json!("No description"));
    let parameters = ("Parameters".to_owned(), json!({}));
    [description, parameters].into_iter().chain(below(members)).collect()
}
