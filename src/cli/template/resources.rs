//! The resources and outputs of a template: what they refer to, their properties, and circles among them.

use std::collections::HashSet;

use futures_util::FutureExt as _;
use indexmap::{IndexMap, IndexSet};
use serde_json::{Map, Value};

use super::checked::{Members, Nested, TypeInfo};
use super::constraints::{NobodyToAsk, validate_parameter};
use super::groups::Numbering;
use super::inputs::Inputs;
use super::names::{Names, quoted};
use super::near;
use super::nested::{GivenProperties, OfflineStates, definition_with, given_properties, property_type, settled};
use super::problem::{Problem, Severity};
use super::source::Source;
use super::truths;
use super::words::in_words;
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
    DeletionPolicy, Expression, Fault, Place, ResolveError, ResourceDefinition, Scope, StackDefinition, Survey,
    TemplateError,
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

    /// Tells an error, unless it only follows from what has been told.
    fn refuse(&self, problems: &mut Vec<Problem>, path: &str, error: &TemplateError) {
        if self.follows_from_another(&error.to_string()) {
            return;
        }
        if let TemplateError::InvalidTemplateReference { resource, .. } = error
            && self.is_switched_off(resource)
        {
            // Heat shows such an output without its value.
            let is_output = path.starts_with(self.definition.template().keywords().outputs);
            let severity = if is_output { Severity::Warning } else { Severity::Error };
            problems.push(Problem::at(self.source, severity, path, switched_off(resource)));
            return;
        }
        // Where there is nothing left, everything else fails, too.
        let is_together = matches!(error, TemplateError::AllowanceExceeded { .. });
        if is_together && problems.iter().any(|problem| problem.says(&error.to_string())) {
            return;
        }
        let mut problem = self.names.problem(self.source, path, error);
        if let TemplateError::InvalidTemplateAttribute { resource, key } = error {
            problem = problem.with_help(self.attribute_help(resource, key));
        }
        problems.push(problem);
    }

    fn follows_from_another(&self, message: &str) -> bool {
        // In words, since Python quotes its own names, too.
        let message = in_words(message).message;
        quoted(&message).into_iter().any(|word| self.survey.left_out(word))
    }

    /// Whether a resource makes sense, and its condition does not hold.
    fn is_switched_off(&self, resource: &str) -> bool {
        self.definition.is_resource_name(resource) && self.definition.resource(resource).is_none()
    }

    fn attribute_help(&self, resource: &str, attribute: &str) -> Option<String> {
        let info = self.types.get(resource)?;
        near::question(attribute, info.attributes()).or_else(|| {
            let names = info.attributes();
            (!names.is_empty() && names.len() <= 30).then(|| format!("it has {}", names.join(", ")))
        })
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

    fn check_functions(&self, resource: &ResourceDefinition, scope: &Scope<'_>, problems: &mut Vec<Problem>) {
        let keywords = self.definition.template().keywords();
        let parts = [
            (keywords.properties, resource.properties()),
            (keywords.metadata, resource.metadata_expression()),
            (keywords.update_policy, resource.update_policy()),
            (keywords.external_id, resource.external_id_expression()),
        ];
        let is_external = resource.external_id_expression().is_some();
        let is_judged = !is_external && self.types.get(&resource.name).is_some_and(is_judged);
        for (part, expression) in parts {
            let path = self.keywords_path(resource, part);
            for (path, expression) in expression.into_iter().flat_map(|expression| pieces(&path, expression)) {
                let is_sound = self.check_expression(&path, expression, scope, problems);
                if is_sound && is_judged && part == keywords.properties {
                    self.check_before_anything_is_made(&path, expression, scope, problems);
                }
            }
        }
    }

    /// A stack's properties are computed before anything is made, and whoever cannot do so refuses the stack.
    fn check_before_anything_is_made(
        &self,
        path: &str,
        expression: &Expression,
        scope: &Scope<'_>,
        problems: &mut Vec<Problem>,
    ) {
        // Of a template that others give values nothing follows, and zones are not known here.
        if expression.needs_no_cloud() || expression.needs_availability_zones() || !self.open.is_empty() {
            return;
        }
        if let Err(error) = expression.resolve_or_absent(scope) {
            let mut refused = Vec::new();
            self.refuse_resolving(&mut refused, &below(path, &error.path()), error);
            let why = "tried before anything is made, when each attribute is null";
            problems.extend(refused.into_iter().map(|problem| problem.with_help_unless_helped(why)));
        }
    }

    /// Tells what is wrong with the functions of a value: their arguments, what they refer to, what comes of them. Gives
    /// whether nothing is.
    fn check_expression(
        &self,
        path: &str,
        expression: &Expression,
        scope: &Scope<'_>,
        problems: &mut Vec<Problem>,
    ) -> bool {
        let steps = [path];
        let place = Place::Start(&steps);
        if let Err(error) = expression.validate(scope, &place) {
            match error {
                // The place of an attribute is told; which one it is about is in the message.
                TemplateError::StackValidationFailed { path, message, .. } => {
                    self.refuse_located(problems, &dotted_path(&path), &message);
                }
                other => self.refuse(problems, path, &other),
            }
            return false;
        }
        if let Err(error) = expression.dependencies(scope, &place) {
            self.refuse_resolving(problems, path, error);
            return false;
        }
        let resolved = expression.resolve_partly(scope);
        let is_sound = resolved.is_ok();
        if let Err(error) = resolved {
            self.refuse_resolving(problems, &below(path, &error.path()), error);
        }
        problems.extend(self.asked_of_groups(path, expression, scope));
        is_sound
    }

    fn refuse_located(&self, problems: &mut Vec<Problem>, path: &str, message: &str) {
        if self.follows_from_another(message) {
            return;
        }
        let reference = named_reference(message).filter(|resource| self.is_switched_off(resource));
        if let Some(resource) = reference {
            problems.push(Problem::at(self.source, Severity::Error, path, switched_off(resource)));
            return;
        }
        let help = named_attribute(message).and_then(|(resource, attribute)| self.attribute_help(resource, attribute));
        let help = help.or_else(|| self.names.help(path, message));
        problems.push(Problem::at(self.source, Severity::Error, path, message).with_help(help));
    }

    fn refuse_resolving(&self, problems: &mut Vec<Problem>, path: &str, error: ResolveError) {
        match &error.fault {
            // The parameter itself has been told missing.
            Fault::Template(TemplateError::UserParameterMissing { key })
                if self.definition.parameters().get(key).is_some() => {}
            fault if self.is_about_a_parameter(fault) => {}
            Fault::Template(TemplateError::InvalidTemplateReference { resource, key }) => {
                let error = TemplateError::InvalidTemplateReference {
                    resource: resource.clone(),
                    key: key.clone(),
                };
                let place = if key == "unknown" { path } else { key };
                self.refuse(problems, place, &error);
            }
            Fault::Template(error) => self.refuse(problems, path, error),
            fault => self.refuse_located(problems, path, &fault.to_string()),
        }
    }

    /// Whether it is only the value of a parameter that makes no sense, which has been told where that is given.
    fn is_about_a_parameter(&self, fault: &Fault) -> bool {
        let mut parameters = self.definition.parameters().defined();
        parameters.any(|parameter| parameter.value().is_err_and(|error| error.fault == *fault))
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
            for (path, expression) in pieces(&path, output.expression()) {
                self.check_expression(&path, expression, scope, problems);
            }
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

/// The path of a part, as messages write it.
fn below(path: &str, inner: &str) -> String {
    let dot = if inner.is_empty() || inner.starts_with('[') {
        ""
    } else {
        "."
    };
    format!("{path}{dot}{inner}")
}

/// Whether what a resource of that type is given is looked at before the stack is made.
fn is_judged(info: &TypeInfo) -> bool {
    match info {
        TypeInfo::Known(known) => !takes_anything(known),
        TypeInfo::Template(_) => true,
        TypeInfo::Opaque | TypeInfo::Unknown => false,
    }
}

/// The parts of a value that can be looked at one by one.
fn pieces<'e>(path: &str, expression: &'e Expression) -> Vec<(String, &'e Expression)> {
    match expression.as_map() {
        Some(entries) if !entries.is_empty() => entries
            .iter()
            .map(|(name, expression)| (format!("{path}.{name}"), expression))
            .collect(),
        _ => vec![(path.to_owned(), expression)],
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

/// Resource and attribute of the message about a wrong attribute.
fn named_attribute(message: &str) -> Option<(&str, &str)> {
    let inside = message
        .split_once("The Referenced Attribute (")?
        .1
        .strip_suffix(") is incorrect.")?;
    inside.split_once(' ')
}

/// The resource of the message about a wrong reference.
fn named_reference(message: &str) -> Option<&str> {
    let rest = message.strip_prefix("The specified reference \"")?;
    rest.split_once('"').map(|(resource, _)| resource)
}

fn switched_off(resource: &str) -> String {
    format!("the condition of \"{resource}\" does not hold, so that there is no such resource")
}

/// Placeholders, of which nobody knows what they are given.
fn takes_anything(known: &KnownType) -> bool {
    known.takes_anything() || plugins::find(known.name).is_some_and(|made| made.plugin.takes_anything())
}
