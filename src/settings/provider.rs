//! heat.conf as a provider of figment: every option of the reference, with its value or its default.

use std::fmt;

use figment::value::{Dict, Map, Value};
use figment::{Metadata, Profile, Provider};

use super::error::{Origin, SettingsError};
use super::layers::{Layers, RawValue};
use super::option::{DefaultValue, Kind, OptionSpec};
use super::reference::{self, GROUPS};
use super::substitution::substitute;
use super::value::OptionValue;

/// References of references are followed this far; nobody nests them deeper, and a circle ends.
const MOST_NESTED_REFERENCES: usize = 16;

const TRUSTEE: &str = "trustee";
const AUTH_SECTION: &str = "auth_section";

/// The value of an option and where it was found.
#[derive(Clone)]
pub struct ResolvedOption {
    pub group: &'static str,
    pub spec: &'static OptionSpec,
    pub value: OptionValue,
    pub origin: Origin,
}

impl ResolvedOption {
    /// The value for people: a secret stays one.
    pub fn shown(&self) -> String {
        match &self.value {
            OptionValue::Unset => String::new(),
            _ if self.spec.secret => "***".to_owned(),
            OptionValue::Boolean(truth) => truth.to_string(),
            OptionValue::Texts(texts) => texts.join(","),
            other => other.to_substitute(),
        }
    }
}

impl fmt::Debug for ResolvedOption {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(
            f,
            "[{}] {} = {} ({})",
            self.group,
            self.spec.name,
            self.shown(),
            self.origin
        )
    }
}

/// All options of the reference.
#[derive(Clone, Debug)]
pub struct ResolvedOptions(Vec<ResolvedOption>);

impl ResolvedOptions {
    /// All values, and what is wrong with some: those have their defaults.
    pub fn resolve(layers: &Layers) -> (Self, Vec<SettingsError>) {
        let (mut resolved, mut problems) = (Vec::new(), Vec::new());
        for group in GROUPS {
            for spec in group.options() {
                let option = resolve(layers, group.name, spec, 0).unwrap_or_else(|problem| {
                    problems.push(problem);
                    default_of(group.name, spec)
                });
                resolved.push(option);
            }
        }
        let mut options = ResolvedOptions(resolved);
        problems.extend(options.follow_auth_section(layers));
        (options, problems)
    }

    /// `[trustee] auth_section` names another group from which all of its options come.
    fn follow_auth_section(&mut self, layers: &Layers) -> Vec<SettingsError> {
        let section = self.get(TRUSTEE, AUTH_SECTION).map(|option| option.value.clone());
        let Some(OptionValue::Text(section)) = section.filter(|section| *section != OptionValue::Text(String::new()))
        else {
            return Vec::new();
        };
        let mut problems = Vec::new();
        for option in self.0.iter_mut().filter(|option| option.group == TRUSTEE) {
            if option.spec.name == AUTH_SECTION {
                continue;
            }
            *option = default_of(option.group, option.spec);
            let found = layers.find(&section, option.spec);
            let Some(last) = found.last() else { continue };
            match convert(layers, option.group, option.spec, &found, 0) {
                Ok(value) => {
                    option.value = value;
                    option.origin = last.origin.clone();
                }
                Err(problem) => problems.push(problem),
            }
        }
        problems
    }

    /// Gives an option its default; false if there is no such option, or if it has its default already.
    pub fn reset(&mut self, group: &str, option: &str) -> bool {
        let found = self
            .0
            .iter_mut()
            .find(|resolved| resolved.group == group && resolved.spec.name == option);
        match found {
            Some(resolved) if resolved.origin != Origin::Default => {
                *resolved = default_of(resolved.group, resolved.spec);
                true
            }
            _ => false,
        }
    }

    pub fn iter(&self) -> impl Iterator<Item = &ResolvedOption> {
        self.0.iter()
    }

    pub fn get(&self, group: &str, option: &str) -> Option<&ResolvedOption> {
        self.0
            .iter()
            .find(|resolved| resolved.group == group && resolved.spec.name == option)
    }
}

impl Provider for ResolvedOptions {
    fn metadata(&self) -> Metadata {
        Metadata::named("heat.conf")
    }

    fn data(&self) -> Result<Map<Profile, Dict>, figment::Error> {
        let mut groups = Dict::new();
        for option in &self.0 {
            let group = groups
                .entry(option.group.to_owned())
                .or_insert_with(|| Value::from(Dict::new()));
            if let Value::Dict(_, options) = group {
                options.insert(option.spec.name.to_owned(), option.value.clone().into());
            }
        }
        Ok(Profile::Default.collect(groups))
    }
}

fn resolve(
    layers: &Layers,
    group: &'static str,
    spec: &'static OptionSpec,
    depth: usize,
) -> Result<ResolvedOption, SettingsError> {
    let found = layers.find(group, spec);
    let (raw, origin) = match found.last() {
        Some(last) => (Some(found.clone()), last.origin.clone()),
        None => (defaults(spec), Origin::Default),
    };
    let value = match raw {
        None => OptionValue::Unset,
        Some(raw) => convert(layers, group, spec, &raw, depth)?,
    };
    Ok(ResolvedOption {
        group,
        spec,
        value,
        origin,
    })
}

/// Defaults refer to nothing and are sound, which a test holds.
fn default_of(group: &'static str, spec: &'static OptionSpec) -> ResolvedOption {
    let texts: Vec<String> = defaults(spec)
        .into_iter()
        .flatten()
        .map(|default| default.text)
        .collect();
    let value = match (spec.kind, texts.last()) {
        (Kind::Repeated, _) => OptionValue::Texts(texts),
        (_, None) => OptionValue::Unset,
        (kind, Some(text)) => OptionValue::from_text(kind, text).unwrap_or(OptionValue::Unset),
    };
    ResolvedOption {
        group,
        spec,
        value,
        origin: Origin::Default,
    }
}

fn defaults(spec: &OptionSpec) -> Option<Vec<RawValue>> {
    let texts = match spec.default {
        DefaultValue::Unset => return None,
        DefaultValue::Text(text) => vec![text.to_owned()],
        DefaultValue::Texts(texts) => texts.iter().map(|text| (*text).to_owned()).collect(),
        DefaultValue::Hostname => vec![hostname::get().unwrap_or_default().to_string_lossy().into_owned()],
    };
    Some(
        texts
            .into_iter()
            .map(|text| RawValue {
                text,
                origin: Origin::Default,
            })
            .collect(),
    )
}

fn convert(
    layers: &Layers,
    group: &'static str,
    spec: &OptionSpec,
    raw: &[RawValue],
    depth: usize,
) -> Result<OptionValue, SettingsError> {
    let mut texts = Vec::new();
    for value in raw {
        texts.push(substitute(&value.text, |name| {
            look_up(layers, group, spec, &value.origin, name, depth)
        })?);
    }
    if spec.kind == Kind::Repeated {
        return Ok(OptionValue::Texts(texts));
    }
    let (Some(text), Some(value)) = (texts.last(), raw.last()) else {
        return Ok(OptionValue::Unset);
    };
    OptionValue::from_text(spec.kind, text).map_err(|problem| {
        let problem = match (spec.secret, spec.kind) {
            (false, _) => problem,
            (true, Kind::HttpUrl) => {
                "its value is no http:// or https:// URL with a host that can be one (it is secret and not shown)"
                    .to_owned()
            }
            (true, _) => "its value is not possible (it is secret and not shown)".to_owned(),
        };
        bad_value(group, spec, &value.origin, problem)
    })
}

fn look_up(
    layers: &Layers,
    group: &'static str,
    spec: &OptionSpec,
    origin: &Origin,
    name: &str,
    depth: usize,
) -> Result<String, SettingsError> {
    if depth == MOST_NESTED_REFERENCES {
        return Err(bad_value(group, spec, origin, format!("${name} leads in a circle")));
    }
    let (groups, option): (Vec<&str>, &str) = match name.split_once('.') {
        // oslo.config knows DEFAULT as no group here.
        Some(("DEFAULT", option)) => (Vec::new(), option),
        Some((other_group, option)) => (vec![other_group], option),
        None => (vec![group, "DEFAULT"], name),
    };
    for candidate in groups {
        if let Some(known) = reference::group(candidate)
            && let Some(option) = known.option(option)
        {
            return Ok(resolve(layers, known.name, option, depth + 1)?.value.to_substitute());
        }
        if let Some(unknown) = layers.find_unknown(candidate, option) {
            return substitute(&unknown.text, |name| {
                look_up(layers, group, spec, &unknown.origin, name, depth + 1)
            });
        }
    }
    let problem = format!("${name} names no option (write $$ for a dollar sign)");
    Err(bad_value(group, spec, origin, problem))
}

fn bad_value(group: &str, spec: &OptionSpec, origin: &Origin, problem: String) -> SettingsError {
    SettingsError::BadValue {
        origin: origin.clone(),
        group: group.to_owned(),
        option: spec.name.to_owned(),
        problem,
    }
}
