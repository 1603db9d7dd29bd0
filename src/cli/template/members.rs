//! The members of groups: what they are given, and what others ask of them.

use super::checked::{TypeInfo, one_of_each_type};
use super::groups::{Asked, Group};
use super::near;
use super::nested::given_properties;
use super::problem::{Problem, Severity};
use super::resources::{GivenTo, ResourceCheck};
use crate::plugins::inventory::KnownType;
use crate::python::to_text;
use crate::template::{Expression, Scope};

/// So many attributes are listed at most.
const MOST_LISTED: usize = 30;

impl ResourceCheck<'_> {
    /// Looks at what the members of a group are given: at one of each type.
    pub fn check_members(
        &self,
        known: &KnownType,
        to: &GivenTo<'_>,
        scope: &Scope<'_>,
        path: &str,
        problems: &mut Vec<Problem>,
    ) {
        let Some(group) = Group::of_type(known.name) else {
            return;
        };
        for (place, help) in group.unknown_keys(to.written) {
            let message = "this means nothing here, and does not count";
            let problem = Problem::at(self.source, Severity::Warning, format!("{path}.{place}"), message);
            problems.push(problem.with_help(help));
        }
        if group.is_empty(&to.properties.given) {
            return;
        }
        if group.lacks_type(to.written) {
            let path = format!("{path}.{}", group.definition_place());
            problems.push(Problem::at(self.source, Severity::Error, path, "\"type\" is missing"));
        }
        let members = self.members.get(&(path.to_owned(), known.name));
        let members = members.map(Vec::as_slice).unwrap_or_default();
        problems.extend(members.iter().flat_map(|member| member.problems.clone()));
        let (Some(written), Some(numbering)) =
            (group.given_to_member(to.written), group.numbering(&to.properties.given))
        else {
            return;
        };
        let numberings: Vec<_> = to.numberings.iter().cloned().chain(numbering.clone()).collect();
        let mut properties = self.given(written, scope);
        numberings.iter().for_each(|numbering| properties.number(numbering));
        let path = format!("{path}.{}", group.place());
        for (place, member) in one_of_each_type(members.iter().enumerate()) {
            let to = GivenTo {
                name: &group.member_name(place, numbering.as_ref()),
                description: "",
                written,
                properties: properties.clone(),
                numberings: &numberings,
            };
            self.check_given(&member.info, to, scope, &path, problems);
        }
    }

    /// What an expression asks of groups that do not have it, and neither do their members.
    pub fn asked_of_groups(&self, path: &str, expression: &Expression, scope: &Scope<'_>) -> Vec<Problem> {
        let mut problems = Vec::new();
        for (resource, attribute) in expression.attributes(scope) {
            let (Some(info), Some(definition)) = (self.types.get(&resource), self.definition.resource(&resource))
            else {
                continue;
            };
            let path_of_group = self.keywords_path(definition, self.definition.template().keywords().properties);
            let further: Vec<String> = attribute.path.iter().map(to_text).collect();
            let asked: Vec<&str> = [attribute.name.as_str()]
                .into_iter()
                .chain(further.iter().map(String::as_str))
                .collect();
            let is_group = matches!(info, TypeInfo::Known(known) if Group::of_type(known.name).is_some());
            if !is_group || attribute.is_all() {
                continue;
            }
            if let Some(help) = self.missing(info, definition.properties(), &path_of_group, &asked, scope) {
                let message = format!(
                    "The Referenced Attribute ({resource} {}) is incorrect.",
                    asked.join(" ")
                );
                problems.push(Problem::at(self.source, Severity::Error, path, message).with_help(help));
            }
        }
        problems
    }

    /// What may be meant by an attribute that a resource, or a member of a group, does not have; `None`: it has it.
    fn missing(
        &self,
        info: &TypeInfo,
        written: Option<&Expression>,
        path: &str,
        asked: &[&str],
        scope: &Scope<'_>,
    ) -> Option<Option<String>> {
        let (name, further) = asked.split_first()?;
        let group = match info {
            TypeInfo::Known(known) => Group::of_type(known.name).map(|group| (group, known.name)),
            _ => None,
        };
        let Some((group, type_name)) = group else {
            let names = info.attributes();
            let listed =
                || (!names.is_empty() && names.len() <= MOST_LISTED).then(|| format!("it has {}", names.join(", ")));
            return (!info.has_attribute(name)).then(|| near::question(name, names.iter().copied()).or_else(listed));
        };
        let (member, steps) = match group.asked(name, further) {
            Asked::OfGroup => return None,
            Asked::Nothing(help) => return Some(help),
            Asked::OfMembers(member, steps) => (member, steps),
        };
        // Heat does not look at the members of such a group.
        if group.is_empty(&given_properties(written, scope)) {
            return None;
        }
        let inside = group.given_to_member(written).flatten();
        let members = self.members.get(&(path.to_owned(), type_name))?.iter().enumerate();
        let meant = members.filter(|(place, _)| member.is_none_or(|member| group.means(*place, member)));
        let path = format!("{path}.{}", group.place());
        let mut meant = one_of_each_type(meant).into_iter();
        meant.find_map(|(_, member)| self.missing(&member.info, inside, &path, &steps, scope))
    }
}
