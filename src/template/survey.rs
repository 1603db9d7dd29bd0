//! Everything that is wrong with a template, where Heat stops at the first thing: for people who write one.

use std::collections::HashSet;
use std::sync::Arc;

use serde_json::{Map, Value};

use super::conditions::{ConditionScope, Conditions, parse_condition};
use super::document::{Template, unknown_section};
use super::error::TemplateError;
use super::expression::{Context, ParseScope};
use super::outputs::parse_output;
use super::parameters::{ParameterSchema, Parameters, StackIdentity};
use super::references::References;
use super::resource_definition::parse_resource;
use super::stack_definition::StackDefinition;
use super::world::World;

/// What a template says, as far as it makes sense, and what does not.
pub struct Survey {
    /// Each with its place.
    pub problems: Vec<(Vec<String>, TemplateError)>,
    /// Made of the parts that make sense.
    pub definition: Option<StackDefinition>,
    left_out: HashSet<String>,
}

impl Survey {
    pub fn of(template: &Template, identity: &StackIdentity, world: &World) -> Self {
        let mut surveyor = Surveyor {
            world: world.clone(),
            template: template.clone(),
            problems: Vec::new(),
            left_out: HashSet::new(),
        };
        surveyor.sections();
        surveyor.parameters();
        match surveyor.parameters_with_values(identity) {
            Ok(parameters) => {
                surveyor.conditions(&parameters);
                surveyor.resources_and_outputs(&parameters);
            }
            Err(error) => surveyor.problems.push((Vec::new(), error)),
        }
        let Surveyor {
            template,
            mut problems,
            left_out,
            ..
        } = surveyor;
        let definition = match StackDefinition::new(Arc::new(template), identity, world) {
            Ok(definition) => Some(definition),
            Err(error) => {
                // What is wrong with the parts has been said; this is about the whole.
                if problems.is_empty() {
                    problems.push((Vec::new(), error));
                }
                None
            }
        };
        Self {
            problems,
            definition,
            left_out,
        }
    }

    /// Whether a parameter, a condition, a resource or an output of that name is there, but does not make sense.
    pub fn left_out(&self, name: &str) -> bool {
        self.left_out.contains(name)
    }
}

struct Surveyor {
    world: World,
    template: Template,
    problems: Vec<(Vec<String>, TemplateError)>,
    left_out: HashSet<String>,
}

impl Surveyor {
    fn refuse(&mut self, section: &str, name: &str, error: TemplateError) {
        self.problems.push((vec![section.to_owned(), name.to_owned()], error));
        self.left_out.insert(name.to_owned());
    }

    fn sections(&mut self) {
        let mut refused: HashSet<&str> = HashSet::new();
        for section in self.template.unknown_sections() {
            self.problems.push((vec![section.to_owned()], unknown_section(section)));
            refused.insert(section);
        }
        let keywords = self.template.keywords();
        for section in [keywords.parameters, keywords.resources, keywords.outputs] {
            if let Err(error) = self.template.definitions(section) {
                self.problems.push((vec![section.to_owned()], error));
                refused.insert(section);
            }
        }
        let mut body = self.template.body().clone();
        body.retain(|section, _| !refused.contains(section.as_str()));
        self.template = self.template.with_body(body);
    }

    fn definitions(&self, section: &str) -> Map<String, Value> {
        let definitions = self.template.body().get(section);
        definitions.and_then(Value::as_object).cloned().unwrap_or_default()
    }

    /// Leaves out of a section whatever is refused.
    fn keep(&mut self, section: &str, check: impl Fn(&Template, &str, &Value) -> Result<(), TemplateError>) {
        let mut kept = self.definitions(section);
        kept.retain(|name, definition| match check(&self.template, name, definition) {
            Ok(()) => true,
            Err(error) => {
                self.refuse(section, name, error);
                false
            }
        });
        let mut body = self.template.body().clone();
        if let Some(present) = body.get_mut(section).filter(|present| present.is_object()) {
            *present = Value::Object(kept);
            self.template = self.template.with_body(body);
        }
    }

    fn parameters(&mut self) {
        self.keep(self.template.keywords().parameters, |template, name, definition| {
            ParameterSchema::from_definition(template.version(), name, definition)?.check(name)
        });
    }

    fn parameters_with_values(&self, identity: &StackIdentity) -> Result<Parameters, TemplateError> {
        let environment = self.template.environment();
        Parameters::new(
            &self.template,
            identity,
            &environment.parameters,
            &environment.parameter_defaults,
        )
    }

    fn conditions(&mut self, parameters: &Parameters) {
        if !self.template.version().has_conditions() {
            return;
        }
        let section = self.template.keywords().conditions;
        let world = self.world.clone();
        let undecided = Conditions::default();
        self.keep(section, |template, name, definition| {
            let scope = ParseScope {
                version: template.version(),
                context: Context::Condition,
                references: &ConditionScope::new(&undecided, parameters, template, &world, None),
            };
            parse_condition(name, definition, &scope).map(drop)
        });
        let conditions = match Conditions::parse(&self.template, parameters, &world) {
            Ok(conditions) => conditions,
            Err(error) => return self.problems.push((vec![section.to_owned()], error)),
        };
        self.keep(section, |template, name, _| {
            let scope = ConditionScope::new(&conditions, parameters, template, &world, None);
            match scope.condition(&Value::from(name)) {
                Err(error) if !error.is_about_values() => Err(error.into()),
                _ => conditions.validate_one(name, &scope),
            }
        });
    }

    fn resources_and_outputs(&mut self, parameters: &Parameters) {
        let world = self.world.clone();
        let conditions = Conditions::parse(&self.template, parameters, &world).unwrap_or_default();
        let keywords = self.template.keywords();
        let left_out = self.left_out.clone();
        // What is wrong with a condition has been said where it is defined.
        let is_known = |error: &TemplateError| {
            let message = error.to_string();
            left_out
                .iter()
                .any(|name| message.ends_with(&format!("Invalid condition \"{name}\"")))
        };
        self.keep(keywords.resources, |template, name, definition| {
            template.validate_one(definition)?;
            let references = ConditionScope::new(&conditions, parameters, template, &world, None);
            let scope = ParseScope {
                version: template.version(),
                context: Context::Body,
                references: &references,
            };
            parse_resource(name, definition, &scope).map(drop)
        });
        self.keep(keywords.outputs, |template, name, definition| {
            let references = ConditionScope::new(&conditions, parameters, template, &world, None);
            let scope = ParseScope {
                version: template.version(),
                context: Context::Body,
                references: &references,
            };
            parse_output(name, definition, &scope).map(drop)
        });
        self.problems.retain(|(_, error)| !is_known(error));
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::template::{Environment, Files};
    use crate::yaql::Surroundings;
    use serde_json::json;

    #[test]
    fn all_that_is_wrong_is_told_and_the_rest_is_defined() {
        let body = json!({
            "heat_template_version": "2018-08-31",
            "paramters": {},
            "parameters": {"good": {"type": "string", "default": "x"}, "bad": {"type": "text"}},
            "conditions": {"round": {"not": "round"}, "fine": {"equals": [1, 1]}, "odd": {"get_attr": ["a", "b"]}},
            "resources": {
                "a": {"type": "X", "condition": "fine"},
                "b": {"type": "X", "properites": {}},
                "c": {"type": "X", "properties": {"x": {"list_join": 5}}},
                "d": {"type": "X", "condition": "round"},
            },
            "outputs": {"o": {"value": {"get_param": "good"}}, "p": {}},
        });
        let template = Template::new(body, Environment::default(), Files::default()).unwrap();
        let survey = Survey::of(
            &template,
            &StackIdentity::default(),
            &World::still(Surroundings::default()),
        );
        let places: Vec<String> = survey.problems.iter().map(|(place, _)| place.join(".")).collect();
        assert_eq!(
            places,
            [
                "paramters",
                "parameters.bad",
                "conditions.odd",
                "conditions.round",
                "resources.b",
                "resources.c",
                "outputs.p"
            ]
        );
        let definition = survey.definition.unwrap();
        assert_eq!(definition.resources().keys().collect::<Vec<_>>(), ["a"]);
        assert_eq!(definition.outputs().unwrap().len(), 1);
    }
}
