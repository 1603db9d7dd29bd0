//! What types check beyond their schemas, as far as it is certain before there is a cloud.

use indexmap::IndexMap;

use super::checked::TypeInfo;
use super::near;
use super::nested::OfflineStates;
use super::problem::{Problem, Severity};
use super::resources::ResourceCheck;
use crate::plugins::inventory::KnownType;
use crate::plugins::rules;
use crate::resource::rules::Neighbours;
use crate::template::error::dotted_path;
use crate::template::{Expression, Foreseen, ResourceDefinition, Scope};

impl ResourceCheck<'_> {
    /// What can be told of properties, if they can be told apart.
    pub fn foreseen(&self, properties: Option<&Expression>, scope: &Scope<'_>) -> Option<IndexMap<String, Foreseen>> {
        match properties.and_then(|properties| properties.foreseen(scope, &self.open)) {
            None => Some(IndexMap::new()),
            Some(Foreseen::Map(foreseen)) => Some(foreseen),
            Some(Foreseen::Value(value)) if value.is_null() => Some(IndexMap::new()),
            Some(_) => None,
        }
    }

    /// Tells the rules of a type that its properties break; `told` are those that are wrong in themselves.
    pub fn check_rules(
        &self,
        known: &KnownType,
        resource: &str,
        mut foreseen: IndexMap<String, Foreseen>,
        told: Vec<String>,
        path: &str,
    ) -> Vec<Problem> {
        let names = known.properties.iter().map(|property| property.name);
        for name in told {
            // The value of a misspelt property is meant for another.
            let meant = near::nearest(&name, names.clone()).filter(|_| !names.clone().any(|known| known == name));
            foreseen.extend(meant.map(|meant| (meant.to_owned(), Foreseen::Unknown)));
            foreseen.insert(name, Foreseen::Unknown);
        }
        let facts = rules::facts(known, resource, foreseen, self);
        let violations = facts.violations(rules::of(known.name)).into_iter();
        let problems = violations.map(|violation| {
            let place = [vec![path.to_owned()], violation.path].concat();
            Problem::at(self.source, Severity::Error, dotted_path(&place), violation.message)
        });
        problems.collect()
    }
}

impl Neighbours for ResourceCheck<'_> {
    /// Also what makes no sense, or is left out by a condition: that is another matter.
    fn has(&self, resource: &str) -> bool {
        let template = self.definition.template();
        let resources = template.body().get(template.keywords().resources);
        self.survey.left_out(resource) || resources.is_some_and(|resources| resources.get(resource).is_some())
    }

    fn property(&self, resource: &str, property: &str) -> Foreseen {
        let (Some(definition), Some(TypeInfo::Known(known))) =
            (self.definition.resource(resource), self.types.get(resource))
        else {
            return Foreseen::Unknown;
        };
        let states = OfflineStates(self.types);
        let scope = self.definition.scope(&states);
        match self.foreseen(definition.properties(), &scope) {
            Some(foreseen) => rules::facts(known, resource, foreseen, self).get(property).clone(),
            None => Foreseen::Unknown,
        }
    }

    fn metadata(&self, resource: &str) -> Foreseen {
        let states = OfflineStates(self.types);
        let scope = self.definition.scope(&states);
        let metadata = self
            .definition
            .resource(resource)
            .and_then(ResourceDefinition::metadata_expression);
        let foreseen = metadata.and_then(|metadata| metadata.foreseen(&scope, &self.open));
        foreseen.unwrap_or(Foreseen::Unknown)
    }

    fn requires(&self, resource: &str, other: &str) -> bool {
        let states = OfflineStates(self.types);
        let scope = self.definition.scope(&states);
        let definition = self.definition.resource(resource);
        definition.is_none_or(|definition| {
            let required = definition.required_resource_names(&scope);
            required.map_or(true, |required| required.contains(other))
        })
    }
}
