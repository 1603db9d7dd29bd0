//! The resource registry: what a user wants the types in a template to mean.
//!
//! The registry maps names to names, by exact type, by wildcard and for single resources; it also holds hooks and
//! restricted actions of resources. Which types there are is not known here.

use std::sync::Arc;

use indexmap::IndexMap;
use serde_json::{Map, Value};

use crate::python::repr::{repr_tuple, to_text};
use crate::python::value::class_name;
use crate::template::error::TemplateError;

pub const HOOK_TYPES: [&str; 6] = [
    "pre-create",
    "pre-update",
    "pre-delete",
    "post-create",
    "post-update",
    "post-delete",
];
pub const RESTRICTED_ACTIONS: [&str; 2] = ["update", "replace"];
const HOOKS: &str = "hooks";
const RESOURCES: &str = "resources";

/// What the type of a resource turns out to be.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum RegisteredType {
    /// A type that the engine has.
    Plugin(String),
    /// A template, by file name or URL.
    Template(String),
}

#[derive(Debug, Clone, PartialEq)]
enum Entry {
    /// Hooks, restricted actions.
    Setting(Value),
    /// What a type stands for.
    Mapping(Value),
    Section(IndexMap<String, Entry>),
}

#[derive(Debug, Clone, PartialEq)]
pub struct ResourceRegistry {
    entries: IndexMap<String, Entry>,
    /// The operator's registry, which holds where this one says nothing.
    global: Option<Arc<ResourceRegistry>>,
}

impl Default for ResourceRegistry {
    fn default() -> Self {
        Self {
            entries: IndexMap::from([(RESOURCES.to_owned(), Entry::Section(IndexMap::new()))]),
            global: None,
        }
    }
}

/// Who has filled a registry.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Whose {
    /// The environment of a stack.
    Stacks,
    /// The operator, in whose registry no template is known that is not entered.
    Operators,
}

/// A mapping that applies to a type.
struct Candidate<'a> {
    pattern: &'a str,
    target: &'a str,
    is_for_resource: bool,
}

impl Candidate<'_> {
    fn target_for(&self, resource_type: &str) -> String {
        match (self.pattern.strip_suffix('*'), self.target.strip_suffix('*')) {
            (Some(prefix), Some(new_prefix)) => {
                format!("{new_prefix}{}", resource_type.strip_prefix(prefix).unwrap_or_default())
            }
            _ => self.target.to_owned(),
        }
    }
}

/// A name that is mapped this often has been mapped in a circle.
const LONGEST_CHAIN: usize = 50;
/// So many types are looked up for one at most: where several patterns fit each, their number doubles from step to step.
const MOST_LOOKUPS: usize = 2000;

/// One look for what a type stands for.
struct Search<'a> {
    resource_name: Option<&'a str>,
    is_plugin: &'a dyn Fn(&str) -> bool,
    lookups_left: usize,
    /// The mappings of the stack's registry and the operator's that led to a type of the engine.
    used: Vec<(String, String)>,
}

impl<'a> Search<'a> {
    fn new(resource_name: Option<&'a str>, is_plugin: &'a dyn Fn(&str) -> bool) -> Self {
        Self {
            resource_name,
            is_plugin,
            lookups_left: MOST_LOOKUPS,
            used: Vec::new(),
        }
    }

    /// Counts a lookup. A chain that is too long is a circle, and then nothing else is tried, as in Heat.
    fn go_on(&mut self, chain: usize) -> Option<()> {
        if chain >= LONGEST_CHAIN {
            self.lookups_left = 0;
        }
        self.lookups_left = self.lookups_left.checked_sub(1)?;
        Some(())
    }
}
const DEEPEST_NESTING: usize = 20;

impl ResourceRegistry {
    /// Adds what an environment says; null takes away.
    pub fn load(&mut self, registry: &Map<String, Value>) -> Result<(), TemplateError> {
        if registry.get(RESOURCES).is_some_and(|resources| !resources.is_object()) {
            return Err(TemplateError::value_error(
                "environment section \"resource_registry\": \"resources\" must be a map",
            ));
        }
        load_section(&mut self.entries, registry, DEEPEST_NESTING)
    }

    #[must_use]
    pub fn before(mut self, global: Arc<ResourceRegistry>) -> Self {
        self.global = Some(global);
        self
    }

    /// Writes down what a type is mapped to by a pattern or by the operator, as Heat does whenever it has looked a type
    /// up: a stack keeps to its types even if the operator changes what they stand for. What is mapped for a single resource
    /// is left alone. (Heat writes that down too, and has it hold for all resources from then on.)
    pub fn remember(&mut self, resource_type: &str, resource_name: &str, is_plugin: &dyn Fn(&str) -> bool) {
        let mut search = Search::new(Some(resource_name), is_plugin);
        self.resolve_within(resource_type, Whose::Stacks, 0, &mut search);
        for (name, target) in search.used {
            self.entries.insert(name, Entry::Mapping(Value::String(target)));
        }
    }

    /// The registry of a template that stands for a type: there the type is what it was before, so that the template may
    /// use what it replaces.
    #[must_use]
    pub fn inside(&self, resource_type: &str, resource_name: Option<&str>) -> Self {
        let mut inside = self.clone();
        let mut name = resource_type.to_owned();
        for _ in 0..LONGEST_CHAIN {
            let candidates = self.candidates(&name, resource_name, Whose::Stacks);
            let Some(first) = candidates.first() else { break };
            if !is_template_name(first.target) {
                name = first.target_for(&name);
                continue;
            }
            let entries = match inside.entries.get_mut(RESOURCES) {
                Some(Entry::Section(resources)) if first.is_for_resource => {
                    resource_name.and_then(|name| match resources.get_mut(name) {
                        Some(Entry::Section(entries)) => Some(entries),
                        _ => None,
                    })
                }
                _ => Some(&mut inside.entries),
            };
            entries.and_then(|entries| entries.shift_remove(first.pattern));
            break;
        }
        inside
    }

    pub fn to_value(&self) -> Value {
        section_to_value(&self.entries)
    }

    /// The types that are mapped by their full names, for all resources or for single ones.
    pub fn type_names(&self) -> Vec<&str> {
        let sections = self.resource_sections().into_iter().flat_map(IndexMap::values);
        let sections = sections.filter_map(|entry| match entry {
            Entry::Section(entries) => Some(entries),
            _ => None,
        });
        let entries = sections.chain([&self.entries]).flatten();
        let types = entries.filter(|(name, entry)| matches!(entry, Entry::Mapping(_)) && !name.ends_with('*'));
        types.map(|(name, _)| name.as_str()).collect()
    }

    /// The type that a name stands for. `is_plugin` tells which names the engine has types for.
    pub fn resolve(
        &self,
        resource_type: &str,
        resource_name: Option<&str>,
        is_plugin: &dyn Fn(&str) -> bool,
    ) -> Result<RegisteredType, TemplateError> {
        self.resolve_within(
            resource_type,
            Whose::Stacks,
            0,
            &mut Search::new(resource_name, is_plugin),
        )
        .ok_or_else(|| TemplateError::EntityNotFound {
            entity: "Resource Type".to_owned(),
            name: resource_type.to_owned(),
        })
    }

    /// As [`resolve`](Self::resolve), for a resource that is about to be made.
    pub fn resolve_for(
        &self,
        resource_type: &str,
        resource_name: &str,
        is_plugin: &dyn Fn(&str) -> bool,
    ) -> Result<RegisteredType, TemplateError> {
        if resource_type.is_empty() {
            return Err(TemplateError::invalid(format!(
                "Resource \"{resource_name}\" has no type"
            )));
        }
        self.resolve(resource_type, Some(resource_name), is_plugin)
            .map_err(|error| TemplateError::invalid(error.to_string()))
    }

    fn resolve_within(
        &self,
        resource_type: &str,
        whose: Whose,
        chain: usize,
        search: &mut Search<'_>,
    ) -> Option<RegisteredType> {
        search.go_on(chain)?;
        let resource_name = search.resource_name;
        if self.is_unusable_for(resource_type, resource_name) {
            return None;
        }
        let own = self.candidates(resource_type, resource_name, whose).into_iter();
        let global = self.global.as_deref().into_iter();
        let global = global.flat_map(|global| {
            let candidates = global
                .candidates(resource_type, resource_name, Whose::Operators)
                .into_iter();
            candidates.map(move |candidate| (global, Whose::Operators, candidate))
        });
        for (registry, whose, candidate) in own.map(|candidate| (self, whose, candidate)).chain(global) {
            if is_template_name(candidate.target) {
                return Some(RegisteredType::Template(candidate.target.to_owned()));
            }
            // What the operator maps to is looked up among what the operator maps.
            let target = candidate.target_for(resource_type);
            let found = registry.resolve_within(&target, whose, chain + 1, search);
            if found.is_some() {
                if !candidate.is_for_resource {
                    search
                        .used
                        .push((resource_type.to_owned(), candidate.target.to_owned()));
                }
                return found;
            }
        }
        (search.lookups_left > 0 && (search.is_plugin)(resource_type))
            .then(|| RegisteredType::Plugin(resource_type.to_owned()))
    }

    /// The mappings that apply to a type, the most specific first: those for the one resource, then the others by name.
    /// The name of a template stands for that template as if it were mapped to itself, so that a pattern may come first.
    fn candidates<'a>(
        &'a self,
        resource_type: &'a str,
        resource_name: Option<&str>,
        whose: Whose,
    ) -> Vec<Candidate<'a>> {
        let for_resource = resource_name
            .and_then(|name| self.resource_sections()?.get(name))
            .and_then(|entry| match entry {
                Entry::Section(entries) => entries.get_key_value(resource_type),
                _ => None,
            });
        let general = self
            .entries
            .iter()
            .filter(|(name, entry)| name.as_str() == resource_type || applies_as_wildcard(name, entry, resource_type));
        let for_resource = for_resource.into_iter().map(|entry| (entry, true));
        let mapped = for_resource.chain(general.map(|entry| (entry, false)));
        let mapped = mapped.filter_map(|((name, entry), is_for_resource)| match entry {
            Entry::Mapping(Value::String(target)) => Some(Candidate {
                pattern: name,
                target,
                is_for_resource,
            }),
            _ => None,
        });
        let is_itself =
            whose == Whose::Stacks && is_template_name(resource_type) && !self.entries.contains_key(resource_type);
        let itself = is_itself.then_some(Candidate {
            pattern: resource_type,
            target: resource_type,
            is_for_resource: false,
        });
        let mut candidates: Vec<Candidate<'a>> = mapped.chain(itself).collect();
        candidates.sort_by_key(|candidate| (!candidate.is_for_resource, candidate.pattern));
        candidates
    }

    /// Python cannot look a type up past a section where a mapping belongs, nor past a mapping in place of a section.
    fn is_unusable_for(&self, resource_type: &str, resource_name: Option<&str>) -> bool {
        let of_resource = resource_name.and_then(|name| self.resource_sections()?.get(name));
        let mut general = self.entries.iter();
        matches!(of_resource, Some(Entry::Mapping(_)))
            || general.any(|(name, entry)| match entry {
                Entry::Section(section) => {
                    !section.is_empty() && name != RESOURCES && (name == resource_type || name.ends_with('*'))
                }
                _ => false,
            })
    }

    fn resource_sections(&self) -> Option<&IndexMap<String, Entry>> {
        match self.entries.get(RESOURCES) {
            Some(Entry::Section(resources)) => Some(resources),
            _ => None,
        }
    }

    /// The actions that may not be done to a resource.
    pub fn restricted_actions(&self, resource_name: &str) -> Vec<&str> {
        let mut actions = self.settings(resource_name, "restricted_actions");
        actions.sort_unstable();
        actions.dedup();
        actions
    }

    /// Whether a resource is to stop at a hook.
    pub fn has_hook(&self, resource_name: &str, hook: &str) -> bool {
        self.settings(resource_name, HOOKS).contains(&hook)
    }

    /// The first hook that a resource is to stop at.
    pub fn hook(&self, resource_name: &str) -> Option<&str> {
        self.settings(resource_name, HOOKS).first().copied()
    }

    /// The first hook that a resource is to stop at when it is deleted, or when it is made or changed.
    pub fn hook_of(&self, resource_name: &str, is_delete: bool) -> Option<&str> {
        let hooks = self.settings(resource_name, HOOKS);
        hooks.into_iter().find(|hook| hook.ends_with("-delete") == is_delete)
    }

    fn settings(&self, resource_name: &str, key: &str) -> Vec<&str> {
        let mut settings = Vec::new();
        for (pattern, entry) in self.resource_sections().into_iter().flatten() {
            let Entry::Section(entries) = entry else { continue };
            if !matches_wildcards(pattern, resource_name) {
                continue;
            }
            match entries.get(key) {
                Some(Entry::Setting(Value::String(one))) => settings.push(one.as_str()),
                Some(Entry::Setting(Value::Array(several))) => {
                    settings.extend(several.iter().filter_map(Value::as_str))
                }
                _ => {}
            }
        }
        settings
    }
}

fn is_template_name(name: &str) -> bool {
    name.ends_with(".yaml") || name.ends_with(".template")
}

fn applies_as_wildcard(name: &str, entry: &Entry, resource_type: &str) -> bool {
    let (Some(prefix), Entry::Mapping(Value::String(target))) = (name.strip_suffix('*'), entry) else {
        return false;
    };
    // A target that is the type itself would lead back here; templates are never meant by wildcards.
    resource_type.starts_with(prefix) && target != resource_type && !is_template_name(target)
}

fn load_section(
    section: &mut IndexMap<String, Entry>,
    registry: &Map<String, Value>,
    levels_left: usize,
) -> Result<(), TemplateError> {
    for (key, value) in registry {
        if value.is_null() {
            remove(section, key);
        } else if is_hook(key, value)? || is_restricted_action(key, value)? {
            section.insert(key.clone(), Entry::Setting(value.clone()));
        } else if let Value::Object(nested) = value {
            let levels_left = levels_left.checked_sub(1).ok_or_else(|| {
                TemplateError::value_error("environment section \"resource_registry\" is nested too deeply")
            })?;
            load_nested(section, key, nested, levels_left)?;
        } else {
            // A type whose name is that of a template stands for that template, whatever is written.
            let target = if is_template_name(key) {
                Value::from(key.as_str())
            } else if value.is_string() {
                value.clone()
            } else {
                return Err(TemplateError::value_error(format!(
                    "environment section \"resource_registry\": \"{key}\" must be the name of a type or a template, \
                     not a {}",
                    class_name(value)
                )));
            };
            section.insert(key.clone(), Entry::Mapping(target));
        }
    }
    Ok(())
}

fn load_nested(
    section: &mut IndexMap<String, Entry>,
    key: &str,
    nested: &Map<String, Value>,
    levels_left: usize,
) -> Result<(), TemplateError> {
    let mut entries = match section.get(key) {
        Some(Entry::Section(existing)) => existing.clone(),
        _ => IndexMap::new(),
    };
    load_section(&mut entries, nested, levels_left)?;
    // An empty section leaves no trace, unless there was one.
    if !entries.is_empty() || section.contains_key(key) {
        section.insert(key.to_owned(), Entry::Section(entries));
    }
    Ok(())
}

fn remove(section: &mut IndexMap<String, Entry>, key: &str) {
    match key.strip_suffix('*') {
        Some(prefix) => {
            section.retain(|name, entry| !(matches!(entry, Entry::Mapping(_)) && name.starts_with(prefix)));
        }
        None => {
            section.shift_remove(key);
        }
    }
}

/// Whether all of a value, one text or several, is among the known words.
fn names_only(value: &Value, known: &[&str]) -> bool {
    match value {
        Value::String(one) => known.contains(&one.as_str()),
        Value::Array(several) => several
            .iter()
            .all(|one| one.as_str().is_some_and(|one| known.contains(&one))),
        _ => false,
    }
}

fn tuple_of(words: &[&str]) -> String {
    let words: Vec<Value> = words.iter().map(|word| Value::from(*word)).collect();
    repr_tuple(&words)
}

fn is_hook(key: &str, value: &Value) -> Result<bool, TemplateError> {
    if key != HOOKS {
        return Ok(false);
    }
    if names_only(value, &HOOK_TYPES) {
        return Ok(true);
    }
    Err(TemplateError::InvalidBreakPointHook {
        message: format!(
            "Invalid hook type \"{}\" for resource breakpoint, acceptable hook types are: {}",
            to_text(value),
            tuple_of(&HOOK_TYPES)
        ),
    })
}

fn is_restricted_action(key: &str, value: &Value) -> Result<bool, TemplateError> {
    if key != "restricted_actions" {
        return Ok(false);
    }
    if names_only(value, &RESTRICTED_ACTIONS) {
        return Ok(true);
    }
    Err(TemplateError::InvalidRestrictedAction {
        message: format!(
            "Invalid restricted_action type \"{}\" for resource, acceptable restricted_action types are: {}",
            to_text(value),
            tuple_of(&RESTRICTED_ACTIONS)
        ),
    })
}

fn section_to_value(section: &IndexMap<String, Entry>) -> Value {
    let entries = section.iter().map(|(name, entry)| {
        let value = match entry {
            Entry::Setting(value) | Entry::Mapping(value) => value.clone(),
            Entry::Section(nested) => section_to_value(nested),
        };
        (name.clone(), value)
    });
    Value::Object(entries.collect())
}

/// Python's `fnmatchcase`: `*`, `?` and sets of characters.
fn matches_wildcards(pattern: &str, text: &str) -> bool {
    let (pattern, text): (Vec<char>, Vec<char>) = (pattern.chars().collect(), text.chars().collect());
    let (mut at_pattern, mut at_text) = (0, 0);
    let mut last_star: Option<(usize, usize)> = None;
    while at_text < text.len() {
        if pattern.get(at_pattern) == Some(&'*') {
            last_star = Some((at_pattern, at_text));
            at_pattern += 1;
            continue;
        }
        if let Some(next) = matches_one(&pattern, at_pattern, text[at_text]) {
            at_pattern = next;
            at_text += 1;
            continue;
        }
        // Let the last star take one more character.
        let Some((star, taken)) = last_star else {
            return false;
        };
        last_star = Some((star, taken + 1));
        at_pattern = star + 1;
        at_text = taken + 1;
    }
    pattern[at_pattern..].iter().all(|character| *character == '*')
}

/// Where the pattern goes on if its next part matches the character.
fn matches_one(pattern: &[char], at: usize, character: char) -> Option<usize> {
    match *pattern.get(at)? {
        '?' => Some(at + 1),
        '[' => match set_end(pattern, at + 1) {
            Some(end) => set_contains(&pattern[at + 1..end], character).then_some(end + 1),
            None => (character == '[').then_some(at + 1),
        },
        literal => (literal == character).then_some(at + 1),
    }
}

fn set_end(pattern: &[char], start: usize) -> Option<usize> {
    let mut at = start;
    if pattern.get(at) == Some(&'!') {
        at += 1;
    }
    // A bracket in the first place belongs to the set.
    let from = at + usize::from(pattern.get(at) == Some(&']'));
    (from..pattern.len()).find(|at| pattern[*at] == ']')
}

fn set_contains(set: &[char], character: char) -> bool {
    let (negated, set) = match set {
        ['!', rest @ ..] => (true, rest),
        other => (false, other),
    };
    let mut at = 0;
    let mut found = false;
    while at < set.len() {
        if at + 2 < set.len() && set[at + 1] == '-' {
            found |= (set[at]..=set[at + 2]).contains(&character);
            at += 3;
        } else {
            found |= set[at] == character;
            at += 1;
        }
    }
    found != negated
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn registry(value: Value) -> ResourceRegistry {
        let mut registry = ResourceRegistry::default();
        registry.load(value.as_object().unwrap()).unwrap();
        registry
    }

    fn is_plugin(name: &str) -> bool {
        ["OS::Heat::None", "OS::Heat::Value", "OS::Nova::Server"].contains(&name)
    }

    #[test]
    fn a_template_may_use_the_type_that_it_stands_for() {
        let registry = registry(json!({
            "OS::Heat::Value": "value.yaml",
            "My::Value": "OS::Heat::Value",
            "OS::Nova::Server": "any.yaml",
            "resources": {"special": {"OS::Heat::None": "none.yaml"}},
        }));
        let inside = |name, resource| registry.inside(name, resource).resolve(name, resource, &is_plugin);
        let plugin = |name: &str| Ok(RegisteredType::Plugin(name.to_owned()));
        assert_eq!(inside("OS::Heat::Value", None), plugin("OS::Heat::Value"));
        assert_eq!(inside("My::Value", None), plugin("OS::Heat::Value"));
        assert_eq!(inside("OS::Nova::Server", None), plugin("OS::Nova::Server"));
        assert_eq!(inside("OS::Heat::None", Some("special")), plugin("OS::Heat::None"));
        let others = registry.inside("OS::Heat::Value", None);
        assert_eq!(
            others.resolve("OS::Nova::Server", None, &is_plugin),
            Ok(RegisteredType::Template("any.yaml".to_owned()))
        );
    }

    #[test]
    fn types_are_mapped_by_name_by_wildcard_and_for_one_resource() {
        let registry = registry(json!({
            "My::*": "OS::Heat::*",
            "My::Exact": "OS::Nova::Server",
            "Loop::A": "Loop::B",
            "Loop::B": "Loop::A",
            "My::Nested": "nested.yaml",
            "resources": {"special": {"My::Exact": "OS::Heat::None"}},
        }));
        let resolve = |name: &str, resource| registry.resolve(name, resource, &is_plugin);
        let plugin = |name: &str| Ok(RegisteredType::Plugin(name.to_owned()));
        assert_eq!(resolve("My::Value", None), plugin("OS::Heat::Value"));
        assert_eq!(resolve("My::Exact", Some("other")), plugin("OS::Nova::Server"));
        assert_eq!(resolve("My::Exact", Some("special")), plugin("OS::Heat::None"));
        assert_eq!(
            resolve("My::Nested", None),
            Ok(RegisteredType::Template("nested.yaml".to_owned()))
        );
        assert_eq!(resolve("OS::Heat::None", None), plugin("OS::Heat::None"));
        assert!(resolve("Loop::A", None).is_err());
        assert_eq!(
            resolve("My::Missing", None).unwrap_err().to_string(),
            "The Resource Type (My::Missing) could not be found."
        );
    }

    #[test]
    fn a_pattern_may_come_before_the_template_that_a_type_names() {
        let resolve = |value: Value, name: &str| registry(value).resolve(name, None, &is_plugin).unwrap();
        let template = |name: &str| RegisteredType::Template(name.to_owned());
        let none = RegisteredType::Plugin("OS::Heat::None".to_owned());
        assert_eq!(resolve(json!({"nes*": "OS::Heat::None"}), "nested.yaml"), none);
        assert_eq!(
            resolve(json!({"nes*": "Not::There"}), "nested.yaml"),
            template("nested.yaml")
        );
        assert_eq!(
            resolve(json!({"nested.yaml*": "OS::Heat::None"}), "nested.yaml"),
            template("nested.yaml")
        );
        assert_eq!(
            resolve(json!({"nes*": "other.yaml"}), "nested.yaml"),
            template("nested.yaml")
        );
        assert_eq!(resolve(json!({"old/*": "new/*"}), "old/a.yaml"), template("new/a.yaml"));
        // A blank comes before the star.
        assert_eq!(resolve(json!({"*": "OS::Heat::None"}), " a.yaml"), template(" a.yaml"));

        let global = Arc::new(registry(json!({"nes*": "OS::Heat::None", "My::*": "t/*"})));
        let registry = ResourceRegistry::default().before(global);
        let resolve = |name: &str| registry.resolve(name, None, &is_plugin);
        assert_eq!(resolve("nested.yaml"), Ok(template("nested.yaml")));
        assert_eq!(resolve("My::a.yaml"), Ok(template("My::a.yaml")));
    }

    #[test]
    fn the_operators_mappings_hold_where_the_user_says_nothing() {
        let global = Arc::new(registry(
            json!({"Old::*": "OS::Heat::*", "My::A": "OS::Nova::Server", "My::T": "t.yaml"}),
        ));
        let mut registry = registry(json!({"My::A": "OS::Heat::None", "My::P*": "Old::*"})).before(global);
        let resolve = |registry: &ResourceRegistry, name: &str| registry.resolve(name, None, &is_plugin).unwrap();
        let plugin = |name: &str| RegisteredType::Plugin(name.to_owned());
        assert_eq!(resolve(&registry, "My::A"), plugin("OS::Heat::None"));
        assert_eq!(resolve(&registry, "Old::Value"), plugin("OS::Heat::Value"));
        assert_eq!(resolve(&registry, "My::PValue"), plugin("OS::Heat::Value"));
        assert_eq!(
            resolve(&registry, "My::T"),
            RegisteredType::Template("t.yaml".to_owned())
        );

        registry.remember("Old::Value", "r", &is_plugin);
        registry.remember("OS::Heat::None", "r", &is_plugin);
        registry.remember("My::T", "r", &is_plugin);
        assert_eq!(
            registry.to_value(),
            json!({"resources": {}, "My::A": "OS::Heat::None", "My::P*": "Old::*", "Old::Value": "OS::Heat::*"})
        );
        assert_eq!(resolve(&registry, "Old::Value"), plugin("OS::Heat::Value"));
    }

    #[test]
    fn hooks_apply_by_pattern() {
        let registry = registry(json!({"resources": {
            "a*": {"hooks": ["pre-create", "pre-update"]},
            "ab": {"restricted_actions": "replace"},
            "[xy]?": {"hooks": "pre-delete"},
        }}));
        assert!(registry.has_hook("abc", "pre-update"));
        assert!(!registry.has_hook("b", "pre-update"));
        assert_eq!(registry.hook("abc"), Some("pre-create"));
        assert_eq!(registry.hook_of("abc", true), None);
        assert_eq!(registry.hook("b"), None);
        assert_eq!(registry.hook_of("x1", true), Some("pre-delete"));
        assert_eq!(registry.hook_of("x1", false), None);
        assert_eq!(registry.restricted_actions("ab"), ["replace"]);
    }

    #[test]
    fn what_maps_to_no_name_is_refused() {
        let refused = [
            json!({"X::Y": 5}),
            json!({"X::Y": true}),
            json!({"X::Y": []}),
            json!({"X::Y": {"a": 5}}),
            json!({"X::*": 5}),
            json!({"base_url": 5}),
            json!({"resources": 5}),
            json!({"resources": []}),
            json!({"resources": null}),
            json!({"resources": "x"}),
            json!({"resources": {"a": 5}}),
            json!({"resources": {"a": {"OS::Heat::None": 5}}}),
        ];
        for value in refused {
            let loaded = ResourceRegistry::default().load(value.as_object().unwrap());
            let text = loaded.map_err(|error| error.to_string());
            assert!(
                text.as_ref().is_err_and(|text| text.contains("resource_registry")),
                "{value}: {text:?}"
            );
        }
        let accepted = [
            json!({"x.yaml": 5}),
            json!({"base_url": "http://x"}),
            json!({"X": {}}),
            json!({"resources": {"a": null}}),
            json!({"resources": {"a": {"hooks": []}}}),
            json!({"resources": {"hooks": "pre-create"}}),
        ];
        for value in accepted {
            registry(value);
        }
    }

    #[test]
    fn circles_and_patterns_that_fit_twice_come_to_an_end() {
        let ends = |value: Value| {
            registry(value)
                .resolve("My::A", None, &is_plugin)
                .unwrap_err()
                .to_string()
        };
        let missing = "The Resource Type (My::A) could not be found.";
        assert_eq!(ends(json!({"My::*": "My::A*", "*": "My::A"})), missing);
        let patterns = (0..40).flat_map(|step| {
            let next = format!("S{}::X", step + 1);
            [
                (format!("S{step}::*"), Value::from(next.as_str())),
                (format!("S{step}*"), next.into()),
            ]
        });
        let mut doubling: Map<String, Value> = patterns.collect();
        doubling.insert("My::A".to_owned(), "S0::X".into());
        assert_eq!(ends(Value::Object(doubling)), missing);
    }

    #[test]
    fn a_section_in_place_of_a_mapping_hides_the_type() {
        let resolves = |value: Value, name: &str| {
            let found = registry(value).resolve(name, Some("a"), &is_plugin);
            found.is_ok()
        };
        assert!(!resolves(json!({"OS::Heat::None": {"a": "b"}}), "OS::Heat::None"));
        assert!(resolves(json!({"OS::Heat::None": {"a": "b"}}), "OS::Heat::Value"));
        assert!(!resolves(json!({"X*": {"a": "b"}}), "OS::Heat::None"));
        assert!(!resolves(json!({"resources": {"a": "x"}}), "OS::Heat::None"));
        assert!(resolves(json!({"resources": {"b": "x"}}), "OS::Heat::None"));
    }

    #[test]
    fn null_takes_entries_away() {
        let mut registry = registry(json!({"A::B": "C", "A::D": "C", "E": "F"}));
        registry.load(json!({"A::*": null}).as_object().unwrap()).unwrap();
        assert_eq!(registry.to_value(), json!({"resources": {}, "E": "F"}));
    }
}
