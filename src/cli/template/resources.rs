//! The resources and outputs of a template: what they refer to, their properties, and circles among them.

use std::collections::HashSet;

use futures_util::FutureExt as _;
use indexmap::{IndexMap, IndexSet};
use serde_json::{Map, Value};

use super::checked::{Members, Nested, TypeInfo};
use super::constraints::{NobodyToAsk, validate_parameter};
use super::groups::Numbering;
use super::inputs::Inputs;
use super::names::Names;
use super::near;
use super::nested::{GivenProperties, OfflineStates, definition_with, given_properties, property_type, settled};
use super::problem::{Problem, Severity};
use super::source::Source;
use super::truths;
use crate::plugins::inventory::KnownType;
use crate::plugins::{self, update_policies};
use crate::resource::properties::{Depth, Given, Properties, PropertyError, converted};
use crate::resource::schema::{Inside, Property, PropertyType};
use crate::resource::support::Support;
use crate::stack::dependencies::{Cycle, Dependencies};
use crate::stack::validate::unknown_in_update_policy;
use crate::template::error::dotted_path;
use crate::template::parameters::{Parameter, ParameterType};
use crate::template::{
    DeletionPolicy, Expression, Fault, ResolveError, ResourceDefinition, Scope, StackDefinition, Survey, TemplateError,
};

pub struct ResourceCheck<'a> {
    pub inputs: &'a Inputs,
    pub source: &'a Source,
    pub definition: &'a StackDefinition,
    pub survey: &'a Survey,
    pub names: &'a Names<'a>,
    pub types: &'a IndexMap<String, TypeInfo>,
    pub members: &'a Members,
    /// Parameters whose values others give, so that nothing may follow from their defaults.
    pub open: HashSet<String>,
}

/// Who is given what.
pub struct GivenTo<'a> {
    pub name: &'a str,
    pub description: &'a str,
    /// As it stands in the template.
    pub written: Option<&'a Expression>,
    pub properties: GivenProperties,
    /// Of a member: how it and the groups around it are numbered.
    pub numberings: &'a [Numbering],
}

/// So many things may be wrong with the properties of one resource before the rest is left for later.
const MOST_ERRORS: usize = 20;

impl ResourceCheck<'_> {
    pub fn run(&self) -> Vec<Problem> {
        let mut problems = Vec::new();
        let states = OfflineStates(self.types);
        let scope = self.definition.scope(&states);
        for resource in self.definition.resources().values() {
            self.check_depends_on(resource, &scope, &mut problems);
            self.check_functions(resource, &scope, &mut problems);
            self.check_properties(resource, &scope, &mut problems);
        }
        self.check_outputs(&scope, &mut problems);
        self.check_circles(&scope, &mut problems);
        problems
    }

    pub fn keywords_path(&self, resource: &ResourceDefinition, part: &str) -> String {
        format!(
            "{}.{}.{part}",
            self.definition.template().keywords().resources,
            resource.name
        )
    }

    fn check_depends_on(&self, resource: &ResourceDefinition, scope: &Scope<'_>, problems: &mut Vec<Problem>) {
        let path = self.keywords_path(resource, self.definition.template().keywords().depends_on);
        // Nothing is made that could wait.
        if let Err(ResolveError {
            fault: Fault::Template(error),
            ..
        }) = resource.required_resource_names(scope)
            && matches!(error, TemplateError::InvalidExternalResourceDependency { .. })
        {
            self.refuse(problems, &path, &error);
        }
        for name in resource.depends_on() {
            // One whose condition does not hold is not waited for.
            if !self.definition.is_resource_name(name) {
                let error = TemplateError::InvalidTemplateReference {
                    resource: name.clone(),
                    key: resource.name.clone(),
                };
                self.refuse(problems, &path, &error);
            }
        }
    }

    fn check_properties(&self, resource: &ResourceDefinition, scope: &Scope<'_>, problems: &mut Vec<Problem>) {
        let Some(info) = self.types.get(&resource.name) else {
            return;
        };
        let properties = self.given(resource.properties(), scope);
        let section = self.definition.template().keywords().properties;
        let path = self.keywords_path(resource, section);
        let is_looked_at = is_judged(info);
        if is_looked_at && resource.properties().is_some_and(Expression::is_call) {
            let message =
                format!("{section} have to be a map, in which functions stand for values, and not for all of it");
            problems.push(Problem::at(self.source, Severity::Error, path, message));
            return;
        }
        if let TypeInfo::Known(known) = info
            && !takes_anything(known)
        {
            self.check_update_policy(resource, known, scope, problems);
        }
        let takes_snapshots = !is_looked_at || matches!(info, TypeInfo::Known(known) if known.takes_snapshots);
        if !takes_snapshots && resource.deletion_policy() == DeletionPolicy::Snapshot {
            let path = self.keywords_path(resource, self.definition.template().keywords().deletion_policy);
            let message = "\"Snapshot\" deletion policy not supported";
            problems.push(Problem::at(self.source, Severity::Error, path, message));
        }
        let to = GivenTo {
            name: &resource.name,
            description: &resource.description,
            written: resource.properties(),
            properties,
            numberings: &[],
        };
        self.check_given(info, to, scope, &path, problems);
    }

    pub fn given(&self, properties: Option<&Expression>, scope: &Scope<'_>) -> GivenProperties {
        GivenProperties {
            given: given_properties(properties, scope),
            foreseen: self.foreseen(properties, scope),
        }
    }

    /// Whether a type takes what a resource gives it.
    pub fn check_given(
        &self,
        info: &TypeInfo,
        to: GivenTo<'_>,
        scope: &Scope<'_>,
        path: &str,
        problems: &mut Vec<Problem>,
    ) {
        if let TypeInfo::Known(known) = info {
            self.check_members(known, &to, scope, path, problems);
        }
        let GivenProperties { given, foreseen } = to.properties;
        match info {
            TypeInfo::Known(known) => {
                if takes_anything(known) {
                    return;
                }
                self.warn_of_support(path, known.properties, &given, problems);
                self.warn_of_truths(path, known.properties, &given, problems);
                let shape = |properties: &mut Properties| plugins::rules::shape(known, properties);
                let told = self.check_against_schema(to.description, known.properties, given, shape, path, problems);
                if let Some(foreseen) = foreseen {
                    problems.extend(self.check_rules(known, to.name, foreseen, told, path));
                }
            }
            TypeInfo::Template(nested) => self.check_against_parameters(nested, &given, path, problems),
            TypeInfo::Opaque | TypeInfo::Unknown => {}
        }
    }

    fn check_update_policy(
        &self,
        resource: &ResourceDefinition,
        known: &KnownType,
        scope: &Scope<'_>,
        problems: &mut Vec<Problem>,
    ) {
        let schema = update_policies::of(known.name);
        let section = self.definition.template().keywords().update_policy;
        let path = self.keywords_path(resource, section);
        if !schema.is_empty() {
            let given = given_properties(resource.update_policy(), scope);
            self.check_against_schema("", schema, given, |_| {}, &path, problems);
            return;
        }
        // What cannot be resolved is told already.
        let Ok(Some(name)) = unknown_in_update_policy(resource, scope) else {
            return;
        };
        let help = format!("{} has nothing that an update policy could say", resource.resource_type);
        let place = format!("{path}.{name}");
        let problem = Problem::at(self.source, Severity::Error, place, format!("Unknown Property {name}"));
        problems.push(problem.with_help(Some(help)));
    }

    /// Tells one error after the other, each time leaving out the property that it is about. Gives the properties that
    /// are wrong.
    fn check_against_schema(
        &self,
        description: &str,
        schema: &'static [Property<'static>],
        given: IndexMap<String, Given>,
        shape: impl Fn(&mut Properties),
        path: &str,
        problems: &mut Vec<Problem>,
    ) -> Vec<String> {
        let written = &given;
        let mut given = given.clone();
        let mut told: Vec<String> = Vec::new();
        for _ in 0..MOST_ERRORS {
            let mut properties = Properties::new(schema, given.clone()).described(description);
            shape(&mut properties);
            for name in &told {
                properties.retype(name, PropertyType::Any);
            }
            // Nobody is asked, so nothing is waited for.
            let checked = properties.validate(Depth::Values, &NobodyToAsk).now_or_never();
            let Some(Err(error)) = checked else { break };
            let Some(name) = self.tell_property(schema, written, &error, path, problems) else {
                break;
            };
            if told.contains(&name) {
                break;
            }
            if schema.iter().any(|property| property.name == name) {
                given.insert(name.clone(), Given::Unsettled(Value::Null));
            } else {
                given.shift_remove(&name);
            }
            told.push(name);
        }
        told
    }

    /// Tells what is wrong, and which property of the resource that is about.
    fn tell_property(
        &self,
        schema: &[Property<'_>],
        written: &IndexMap<String, Given>,
        error: &PropertyError,
        path: &str,
        problems: &mut Vec<Problem>,
    ) -> Option<String> {
        // The path begins with "properties", as ours ends.
        let inner = &error.path[1.min(error.path.len())..];
        let place = dotted_path(&[vec![path.to_owned()], inner.to_vec()].concat());
        let known = schema_at(schema, inner);
        let unknown = error.message.strip_prefix("Unknown Property ");
        let missing = error
            .message
            .strip_prefix("Property ")
            .and_then(|rest| rest.strip_suffix(" not assigned"));
        let (place, help) = match unknown {
            Some(name) => {
                let names = || known.iter().map(|property| property.name);
                let listed = (1..=15)
                    .contains(&known.len())
                    .then(|| format!("there are {}", names().collect::<Vec<_>>().join(", ")));
                (format!("{place}.{name}"), near::question(name, names()).or(listed))
            }
            None => (place, None),
        };
        let is_misspelt = |name| {
            let known: Vec<&str> = known.iter().map(|property| property.name).collect();
            near::is_misspelt(name, keys_at(written, inner), &known)
        };
        if !missing.is_some_and(is_misspelt) {
            problems.push(Problem::at(self.source, Severity::Error, place, error.message.clone()).with_help(help));
        }
        inner
            .first()
            .cloned()
            .or_else(|| unknown.or(missing).map(str::to_owned))
    }

    fn warn_of_support(
        &self,
        path: &str,
        schema: &[Property<'_>],
        given: &IndexMap<String, Given>,
        problems: &mut Vec<Problem>,
    ) {
        for property in schema.iter().filter(|property| given.contains_key(property.name)) {
            if property.support.status != Support::Supported {
                let message = format!("the property {} is {}", property.name, property.support.status.as_str());
                let path = format!("{path}.{}", property.name);
                problems.push(Problem::at(self.source, Severity::Warning, path, message));
            }
        }
    }

    fn warn_of_truths(
        &self,
        path: &str,
        schema: &[Property<'_>],
        given: &IndexMap<String, Given>,
        problems: &mut Vec<Problem>,
    ) {
        for property in schema {
            if let Some(Given::Value(value) | Given::Unsettled(value)) = given.get(property.name) {
                let path = format!("{path}.{}", property.name);
                truths::warn_of_texts_in(self.source, &path, property, value, problems);
            }
        }
    }

    /// A nested template's parameters are the properties of its resource.
    fn check_against_parameters(
        &self,
        nested: &Nested,
        given: &IndexMap<String, Given>,
        path: &str,
        problems: &mut Vec<Problem>,
    ) {
        let Some(checked) = &nested.checked else { return };
        let section = checked.template.keywords().parameters;
        let Ok(defined) = checked.template.definitions(section) else {
            return;
        };
        for name in given.keys().filter(|name| !defined.contains_key(*name)) {
            let help = near::question(name, defined.keys().map(String::as_str))
                .or_else(|| Some(format!("{} has no such parameter", nested.file)));
            let message = format!("Unknown Property {name}");
            problems.push(Problem::at(self.source, Severity::Error, format!("{path}.{name}"), message).with_help(help));
        }
        let world = self.definition.world();
        let Some(definition) = definition_with(&checked.template, settled(given), world) else {
            return;
        };
        for parameter in definition.parameters().defined() {
            let name = &parameter.name;
            match given.get(name) {
                Some(Given::Value(value)) => {
                    let place = format!("{path}.{name}");
                    if parameter.schema.parameter_type == ParameterType::Text {
                        truths::warn_of_text(self.source, &place, value, problems);
                    }
                    let as_property = converted(property_type(parameter.schema.parameter_type), value.clone(), true);
                    let refused = as_property.err();
                    let refused = refused.or_else(|| Some(validate_parameter(parameter, true).err()?.to_string()));
                    problems.extend(refused.map(|message| Problem::at(self.source, Severity::Error, place, message)));
                }
                Some(_) => {}
                None if !parameter.has_value() => {
                    let known: Vec<&str> = defined.keys().map(String::as_str).collect();
                    if near::is_misspelt(name, given.keys().map(String::as_str), &known) {
                        continue;
                    }
                    let message = format!("Property {name} not assigned");
                    let help = Some(format!("{} needs it", nested.file));
                    problems.push(Problem::at(self.source, Severity::Error, path, message).with_help(help));
                }
                None => self.check_default_of_nested(nested, parameter, problems),
            }
        }
    }

    /// A default of the environment, where it is what a nested template gets.
    fn check_default_of_nested(&self, nested: &Nested, parameter: &Parameter, problems: &mut Vec<Problem>) {
        let said_in = self
            .inputs
            .environment_that_says(&["parameter_defaults", &parameter.name]);
        if let (Some(said_in), Err(error)) = (said_in, validate_parameter(parameter, true)) {
            let path = format!("parameter_defaults.{}", parameter.name);
            let help = format!("{} has this parameter", nested.file);
            problems.push(Problem::at(said_in, Severity::Error, path, error.to_string()).with_help(Some(help)));
        }
    }

    fn check_outputs(&self, scope: &Scope<'_>, problems: &mut Vec<Problem>) {
        let keywords = self.definition.template().keywords();
        for output in self.definition.outputs().into_iter().flat_map(IndexMap::values) {
            let path = format!("{}.{}.{}", keywords.outputs, output.name, keywords.value);
            self.check_output(&path, output.expression(), scope, problems);
        }
    }

    fn check_circles(&self, scope: &Scope<'_>, problems: &mut Vec<Problem>) {
        let mut graph: Dependencies<&str> = Dependencies::default();
        for resource in self.definition.resources().values() {
            graph.add(&resource.name);
            let required = resource.required_resource_names(scope).unwrap_or_default();
            for name in required {
                if let Some((name, _)) = self.definition.resources().get_key_value(&name) {
                    graph.require(&resource.name, name);
                }
            }
        }
        if let Err(Cycle(waiting)) = graph.in_order()
            && let Some(circle) = circle_among(&graph, &waiting)
        {
            let section = self.definition.template().keywords().resources;
            let path = format!("{section}.{}", circle[0]);
            let message = format!("Circular Dependency Found: {}", shown_circle(&circle));
            problems.push(Problem::at(self.source, Severity::Error, path, message));
        }
    }
}

/// A way from a node back to itself, among nodes that wait for each other.
fn circle_among<'n>(graph: &Dependencies<&'n str>, waiting: &[&'n str]) -> Option<Vec<&'n str>> {
    let mut way = IndexSet::from([*waiting.first()?]);
    let waiting: HashSet<&str> = waiting.iter().copied().collect();
    loop {
        let last = *way.last()?;
        // Who waits in vain waits for somebody who does, too.
        let next = graph.requires(&last).find(|name| waiting.contains(*name))?;
        if let Some(start) = way.get_index_of(next) {
            return Some(way.into_iter().skip(start).collect());
        }
        way.insert(next);
    }
}

/// So many members of a circle are named at each of its ends.
const SHOWN_OF_CIRCLE: usize = 8;

/// `a -> b -> a`; of a long one only both ends.
fn shown_circle(circle: &[&str]) -> String {
    let closed: Vec<&str> = circle.iter().chain(circle.first()).copied().collect();
    match closed.len().checked_sub(2 * SHOWN_OF_CIRCLE) {
        Some(others @ 1..) => {
            let (start, end) = (&closed[..SHOWN_OF_CIRCLE], &closed[closed.len() - SHOWN_OF_CIRCLE..]);
            format!(
                "{} -> … ({others} others) … -> {}",
                start.join(" -> "),
                end.join(" -> ")
            )
        }
        _ => closed.join(" -> "),
    }
}

/// Whether what a resource of that type is given is looked at before the stack is made.
pub fn is_judged(info: &TypeInfo) -> bool {
    match info {
        TypeInfo::Known(known) => !takes_anything(known),
        TypeInfo::Template(_) => true,
        TypeInfo::Opaque | TypeInfo::Unknown => false,
    }
}

/// The names that are given at a path.
fn keys_at<'g>(given: &'g IndexMap<String, Given>, path: &[String]) -> Vec<&'g str> {
    let Some((first, rest)) = path.split_first() else {
        return given.keys().map(String::as_str).collect();
    };
    let Some(Given::Value(value) | Given::Unsettled(value)) = given.get(first) else {
        return Vec::new();
    };
    let inner = rest.iter().try_fold(value, |value, step| match value {
        Value::Array(items) => items.get(step.parse::<usize>().ok()?),
        value => value.get(step),
    });
    let entries = inner.and_then(Value::as_object);
    entries.into_iter().flat_map(Map::keys).map(String::as_str).collect()
}

/// The schema in which a name at a path is looked up.
fn schema_at<'s, 'p>(schema: &'s [Property<'p>], path: &[String]) -> &'s [Property<'p>] {
    let Some((first, rest)) = path.split_first() else {
        return schema;
    };
    let Some(property) = schema.iter().find(|property| property.name == first) else {
        return &[];
    };
    match (property.inside, rest) {
        (Inside::Keys(keys), rest) => schema_at(keys, rest),
        (Inside::Items(item), [_, rest @ ..]) => match item.inside {
            Inside::Keys(keys) => schema_at(keys, rest),
            _ => &[],
        },
        _ => &[],
    }
}

/// Placeholders, of which nobody knows what they are given.
fn takes_anything(known: &KnownType) -> bool {
    known.takes_anything() || plugins::find(known.name).is_some_and(|made| made.plugin.takes_anything())
}
