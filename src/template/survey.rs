//! Everything that is wrong with a template, where Heat stops at the first thing: for people who write one.

use std::cell::RefCell;
use std::collections::{HashMap, HashSet};
use std::sync::Arc;

use indexmap::IndexMap;
use serde_json::{Map, Value};

use super::allowance::Allowance;
use super::conditions::{ConditionScope, Conditions, collect_texts, parse_condition};
use super::document::{Template, unknown_section};
use super::error::TemplateError;
use super::expression::{Context, ParseScope};
use super::outputs::parse_output;
use super::parameters::{ParameterSchema, Parameters, StackIdentity};
use super::references::References;
use super::resource_definition::parse_resource;
use super::stack_definition::StackDefinition;
use super::version::Keywords;
use super::world::World;
use crate::python::regex::Patience;

/// What a template says, as far as it makes sense, and what does not.
pub struct Survey {
    /// Each with its place.
    pub problems: Vec<(Vec<String>, TemplateError)>,
    /// What Heat does not find wrong, since nothing asks for it: conditions.
    pub unasked: Vec<(Vec<String>, TemplateError)>,
    /// Made of the parts that make sense.
    pub definition: Option<StackDefinition>,
    left_out: HashSet<String>,
}

impl Survey {
    pub fn of(template: &Template, identity: &StackIdentity, world: &World) -> Self {
        let mut surveyor = Surveyor {
            world: world.clone(),
            allowance: Allowance::default(),
            template: template.clone(),
            problems: Vec::new(),
            unasked: Vec::new(),
            left_out: HashSet::new(),
        };
        surveyor.sections();
        surveyor.parameters();
        match surveyor.parameters_with_values(identity) {
            Ok(parameters) => {
                let (conditions, wrong) = surveyor.conditions(&parameters);
                surveyor.resources_and_outputs(&parameters, &conditions, wrong);
            }
            Err(error) => surveyor.problems.push((Vec::new(), error)),
        }
        let Surveyor {
            template,
            mut problems,
            unasked,
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
            unasked,
            definition,
            left_out,
        }
    }

    /// Whether a parameter, a condition, a resource or an output of that name is there, but does not make sense, or stands
    /// in a section that there is not.
    pub fn left_out(&self, name: &str) -> bool {
        self.left_out.contains(name)
    }
}

struct Surveyor {
    world: World,
    allowance: Allowance,
    template: Template,
    problems: Vec<(Vec<String>, TemplateError)>,
    unasked: Vec<(Vec<String>, TemplateError)>,
    left_out: HashSet<String>,
}

/// Conditions that cannot be decided.
#[derive(Default)]
struct WrongConditions {
    /// Those whose own definitions are to blame, each with what is wrong.
    errors: IndexMap<String, TemplateError>,
    /// For each that cannot be decided the one that is to blame.
    culprits: HashMap<String, String>,
}

impl WrongConditions {
    fn culprit(&self, name: String) -> String {
        self.culprits.get(&name).cloned().unwrap_or(name)
    }
}

enum Refusal {
    For(TemplateError),
    /// What is wrong is told elsewhere.
    Following,
}

impl From<TemplateError> for Refusal {
    fn from(error: TemplateError) -> Self {
        Self::For(error)
    }
}

/// What of a definition makes sense, and what is wrong with the rest.
struct Sifted {
    kept: Option<Value>,
    refusals: Vec<Refusal>,
}

impl Sifted {
    fn sound(definition: Value) -> Self {
        Self {
            kept: Some(definition),
            refusals: Vec::new(),
        }
    }

    fn refused(refusal: Refusal) -> Self {
        Self {
            kept: None,
            refusals: vec![refusal],
        }
    }

    /// Judges the fields of a resource one by one, since whoever judges them together stops at the first that is wrong.
    /// Without its type or its properties it would be another resource, of which nothing can be said.
    fn by_field(
        definition: &Value,
        keywords: &Keywords,
        as_a_whole: Refusal,
        judge: impl Fn(&Value) -> Result<(), Refusal>,
    ) -> Self {
        let Some(fields) = definition.as_object() else {
            return Self::refused(as_a_whole);
        };
        let (of_type, others): (Vec<_>, Vec<_>) = fields.iter().partition(|(key, _)| *key == keywords.resource_type);
        let typed: Map<String, Value> = of_type
            .into_iter()
            .map(|(key, field)| (key.clone(), field.clone()))
            .collect();
        if judge(&Value::Object(typed.clone())).is_err() {
            return Self::refused(as_a_whole);
        }
        let mut refusals = Vec::new();
        let mut sound = typed.clone();
        for (key, field) in others {
            let alone = typed.clone().into_iter().chain([(key.clone(), field.clone())]);
            match judge(&Value::Object(alone.collect())) {
                Ok(()) => drop(sound.insert(key.clone(), field.clone())),
                Err(refusal) => refusals.push(refusal),
            }
        }
        let keeps_properties = fields.contains_key(keywords.properties) == sound.contains_key(keywords.properties);
        let sound = Value::Object(sound);
        if refusals.is_empty() || judge(&sound).is_err() {
            return Self::refused(as_a_whole);
        }
        Self {
            kept: keeps_properties.then_some(sound),
            refusals,
        }
    }
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
            let definitions = self.template.body().get(section).and_then(Value::as_object);
            self.left_out
                .extend(definitions.into_iter().flat_map(Map::keys).cloned());
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
    fn keep(&mut self, section: &str, check: impl Fn(&Template, &str, &Value) -> Result<(), Refusal>) {
        self.sift(section, |template, name, definition| {
            match check(template, name, definition) {
                Ok(()) => Sifted::sound(definition.clone()),
                Err(refusal) => Sifted::refused(refusal),
            }
        });
    }

    /// Puts in the place of each definition of a section what of it makes sense.
    fn sift(&mut self, section: &str, check: impl Fn(&Template, &str, &Value) -> Sifted) {
        let mut kept = Map::new();
        for (name, definition) in self.definitions(section) {
            let sifted = check(&self.template, &name, &definition);
            for refusal in sifted.refusals {
                if let Refusal::For(error) = refusal {
                    self.problems.push((vec![section.to_owned(), name.clone()], error));
                }
            }
            match sifted.kept {
                Some(sound) => drop(kept.insert(name, sound)),
                None => drop(self.left_out.insert(name)),
            }
        }
        let mut body = self.template.body().clone();
        if let Some(present) = body.get_mut(section).filter(|present| present.is_object()) {
            *present = Value::Object(kept);
            self.template = self.template.with_body(body);
        }
    }

    fn parameters(&mut self) {
        let patience = Patience::default();
        self.keep(self.template.keywords().parameters, |template, name, definition| {
            let schema = ParameterSchema::from_definition(template.version(), name, definition, &patience)?;
            Ok(schema.check(name)?)
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

    /// The conditions that can be read, and those that cannot be decided.
    fn conditions(&mut self, parameters: &Parameters) -> (Conditions, WrongConditions) {
        let mut wrong = WrongConditions::default();
        if !self.template.version().has_conditions() {
            return (Conditions::default(), wrong);
        }
        let section = self.template.keywords().conditions;
        let (world, allowance) = (self.world.clone(), self.allowance.clone());
        let undecided = Conditions::default();
        self.keep(section, |template, name, definition| {
            let scope = ParseScope {
                version: template.version(),
                context: Context::Condition,
                references: &ConditionScope::new(&undecided, parameters, template, &world, None, &allowance),
            };
            parse_condition(name, definition, &scope)?;
            Ok(())
        });
        let conditions = match Conditions::parse(&self.template, parameters, &world, &allowance) {
            Ok(conditions) => conditions,
            Err(error) => {
                self.problems.push((vec![section.to_owned()], error));
                return (Conditions::default(), wrong);
            }
        };
        self.keep(section, |template, name, _| {
            let scope = ConditionScope::new(&conditions, parameters, template, &world, None, &allowance);
            Ok(conditions.validate_one(name, &scope)?)
        });
        let scope = ConditionScope::new(&conditions, parameters, &self.template, &world, None, &allowance);
        for name in conditions.inner_first() {
            let Err(error) = scope.condition(&Value::from(name)) else {
                continue;
            };
            let culprit = scope.take_culprit().unwrap_or_else(|| name.to_owned());
            let is_about_values = error.is_about_values();
            let error = error.into();
            if !is_about_values && !self.left_out.contains(&culprit) && !names_condition(&error, &self.left_out) {
                wrong.errors.entry(culprit.clone()).or_insert(error);
            }
            wrong.culprits.insert(name.to_owned(), culprit);
        }
        (conditions, wrong)
    }

    fn resources_and_outputs(&mut self, parameters: &Parameters, conditions: &Conditions, wrong: WrongConditions) {
        let (world, allowance) = (self.world.clone(), self.allowance.clone());
        let keywords = self.template.keywords();
        let template = self.template.clone();
        let references = ConditionScope::new(conditions, parameters, &template, &world, None, &allowance);
        let scope = ParseScope {
            version: template.version(),
            context: Context::Body,
            references: &references,
        };
        let left_out = self.left_out.clone();
        let wrong = RefCell::new(wrong);
        let asked_for = RefCell::new(HashSet::new());
        let judged = |definition: &Value, checked: Result<(), TemplateError>| {
            let Err(error) = checked else { return Ok(()) };
            // Who stops at the first thing that is wrong does not get to the others.
            named_conditions(definition, &mut asked_for.borrow_mut());
            let culprit = references.take_culprit();
            if matches!(&error, TemplateError::UserParameterMissing { key } if parameters.get(key).is_some()) {
                // Whether it has to have a value already is not for a part to say.
                return Err(Refusal::Following);
            }
            match culprit {
                Some(culprit) => {
                    let culprit = wrong.borrow().culprit(culprit);
                    asked_for.borrow_mut().insert(culprit.clone());
                    if !left_out.contains(&culprit) && !names_condition(&error, &left_out) {
                        wrong.borrow_mut().errors.entry(culprit).or_insert(error);
                    }
                    Err(Refusal::Following)
                }
                // What is wrong with a condition has been said where it is defined.
                None if names_condition(&error, &left_out) => Err(Refusal::Following),
                None => Err(Refusal::For(error)),
            }
        };
        self.sift(keywords.resources, |template, name, definition| {
            let judge = |definition: &Value| {
                let checked = template.validate_one(definition);
                let checked = checked.and_then(|()| parse_resource(name, definition, &scope).map(drop));
                judged(definition, checked)
            };
            match judge(definition) {
                Ok(()) => Sifted::sound(definition.clone()),
                Err(refusal) => Sifted::by_field(definition, keywords, refusal, judge),
            }
        });
        self.keep(keywords.outputs, |_, name, definition| {
            judged(definition, parse_output(name, definition, &scope).map(drop))
        });
        let wrong = wrong.into_inner();
        let asked_for = asked_for.into_inner().into_iter();
        let asked_for: HashSet<String> = asked_for.map(|name| wrong.culprit(name)).collect();
        for (name, error) in wrong.errors {
            if asked_for.contains(&name) {
                self.refuse(keywords.conditions, &name, error);
            } else {
                self.left_out.insert(name.clone());
                self.unasked.push((vec![keywords.conditions.to_owned(), name], error));
            }
        }
    }
}

/// Whether an error is that there is no condition of one of these names.
fn names_condition(error: &TemplateError, names: &HashSet<String>) -> bool {
    let message = error.to_string();
    let name = message
        .strip_suffix('"')
        .and_then(|rest| rest.rsplit_once("Invalid condition \""));
    name.is_some_and(|(_, name)| names.contains(name))
}

/// The texts that name conditions in a definition: in its own condition, and in front of its choices.
fn named_conditions(definition: &Value, found: &mut HashSet<String>) {
    match definition {
        Value::Array(items) => items.iter().for_each(|item| named_conditions(item, found)),
        Value::Object(entries) => {
            for (key, value) in entries {
                match (key.as_str(), value) {
                    ("condition" | "Condition", condition) => collect_texts(condition, found),
                    ("if" | "Fn::If", Value::Array(items)) => {
                        items
                            .first()
                            .into_iter()
                            .for_each(|condition| collect_texts(condition, found));
                    }
                    _ => {}
                }
                named_conditions(value, found);
            }
        }
        _ => {}
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
                "resources.b",
                "resources.c",
                "outputs.p",
                "conditions.round"
            ]
        );
        let definition = survey.definition.unwrap();
        assert_eq!(definition.resources().keys().collect::<Vec<_>>(), ["a", "b", "d"]);
        assert_eq!(definition.outputs().unwrap().len(), 1);
    }

    #[test]
    fn each_field_of_a_resource_is_judged() {
        let body = json!({
            "heat_template_version": "2018-08-31",
            "paramters": {"p": {"type": "string"}},
            "resources": {
                "a": {"type": "X", "deletion_policy": "retan", "depends_on": {}, "properties": {"x": 1}},
                "b": {"type": "X", "properties": {"x": {"list_join": 5}}, "condition": "nowhere"},
                "c": {"type": 5, "condition": "nowhere"},
                "d": "X",
            },
        });
        let template = Template::new(body, Environment::default(), Files::default()).unwrap();
        let survey = Survey::of(
            &template,
            &StackIdentity::default(),
            &World::still(Surroundings::default()),
        );
        let told_of = |name: &str| {
            survey
                .problems
                .iter()
                .filter(|(place, _)| place.ends_with(&[name.to_owned()]))
                .count()
        };
        assert_eq!(["a", "b", "c", "d"].map(told_of), [2, 2, 1, 1]);
        assert_eq!(
            ["p", "a", "b", "c", "d"].map(|name| survey.left_out(name)),
            [true, false, true, true, true]
        );
        let definition = survey.definition.unwrap();
        assert!(definition.resource("a").is_some_and(|a| a.properties().is_some()));
    }

    #[test]
    fn conditions_are_wrong_where_they_are_asked_for() {
        let places = |conditions: Value, definition: Value| {
            let body = json!({
                "heat_template_version": "2018-08-31",
                "conditions": conditions,
                "resources": {"r": definition},
                "outputs": {"o": {"value": {"if": ["fine", 1, {"if": ["odd", 1, 2]}]}}},
            });
            let template = Template::new(body, Environment::default(), Files::default()).unwrap();
            let world = World::still(Surroundings::default());
            let survey = Survey::of(&template, &StackIdentity::default(), &world);
            assert!(survey.definition.is_some());
            let places = |problems: &[(Vec<String>, TemplateError)]| {
                let places = problems
                    .iter()
                    .map(|(place, error)| format!("{}: {error}", place.join(".")));
                places.collect::<Vec<_>>()
            };
            (places(&survey.problems), places(&survey.unasked))
        };
        let conditions = json!({
            "fine": {"equals": [1, 1]},
            "odd": {"not": "nowhere"},
            "behind": {"and": ["fine", "odd"]},
            "round": {"not": "circle"},
            "circle": {"not": "round"},
        });
        let odd = "conditions.odd: Invalid condition \"nowhere\"".to_owned();
        let round = "conditions.round: Condition validation error: Circular definition for condition \"circle\"";
        assert_eq!(
            places(conditions.clone(), json!({"type": "X"})),
            (vec![], vec![odd.clone(), round.to_owned()])
        );
        // The one that is to blame, once, however many ask for it.
        let asking = json!({"type": "X", "condition": "behind", "properties": {"p": {"if": ["odd", 1, 2]}}});
        assert_eq!(
            places(conditions.clone(), asking),
            (vec![odd.clone()], vec![round.to_owned()])
        );
        // What stops at one thing does not hide that another is asked for.
        let stopped = json!({"type": "X", "properties": {"p": {"list_join": 5}, "q": {"if": [{"not": "odd"}, 1, 2]}}});
        let (problems, unasked) = places(conditions, stopped);
        assert!(problems.contains(&odd) && problems.len() == 2, "{problems:?}");
        assert_eq!(unasked, [round]);
    }

    #[test]
    fn a_long_chain_of_conditions_is_told_once_and_quickly() {
        let begun = std::time::Instant::now();
        let chain = |first: Value| {
            let links = (1..5000).map(|number| (format!("c{number}"), json!({"not": format!("c{}", number - 1)})));
            let links: Map<String, Value> = [("c0".to_owned(), first)].into_iter().chain(links).collect();
            let body = json!({
                "heat_template_version": "2018-08-31",
                "conditions": links,
                "resources": {"r": {"type": "X", "condition": "c4999"}},
            });
            let template = Template::new(body, Environment::default(), Files::default()).unwrap();
            let survey = Survey::of(
                &template,
                &StackIdentity::default(),
                &World::still(Surroundings::default()),
            );
            let places = survey.problems.iter().map(|(place, _)| place.join("."));
            places.collect::<Vec<_>>()
        };
        assert_eq!(chain(json!({"not": "nowhere"})), ["conditions.c0"]);
        assert_eq!(chain(json!({"equals": [1, 1]})), ["conditions.c4999"]);
        assert!(begun.elapsed() < std::time::Duration::from_secs(5));
    }
}
