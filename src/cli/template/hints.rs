//! What an author may have meant who wrote something that a version of the language does not have: words of other
//! versions, of the other dialect, and misspelt ones.

use serde_json::Value;

use super::near;
use super::source::Source;
use super::words::fill;
use crate::template::parameters::schema_keys;
use crate::template::{Template, TemplateVersion, VERSIONS, condition_functions, has_resource_key};

/// Functions of CloudFormation's dialect, and what does the same in HOT.
const COUNTERPARTS: [(&str, &str); 13] = [
    ("Ref", "get_param"),
    ("Ref", "get_resource"),
    ("Fn::GetAtt", "get_attr"),
    ("Fn::Join", "list_join"),
    ("Fn::Split", "str_split"),
    ("Fn::Replace", "str_replace"),
    ("Fn::ResourceFacade", "resource_facade"),
    ("Fn::If", "if"),
    ("Fn::Equals", "equals"),
    ("Fn::Not", "not"),
    ("Fn::And", "and"),
    ("Fn::Or", "or"),
    ("Fn::Select", "get_attr or get_param with a path"),
];

/// `list_join does this here`, for a function of the other dialect.
pub fn counterpart(version: TemplateVersion, function: &str) -> Option<String> {
    let known: Vec<&str> = COUNTERPARTS
        .iter()
        .filter_map(|(cfn, hot)| match version.is_hot() {
            true => (*cfn == function).then_some(*hot),
            false => (*hot == function).then_some(*cfn),
        })
        .collect();
    (!known.is_empty()).then(|| format!("{} does this here", known.join(" or ")))
}

/// The first version of the same dialect, or else of the other one, that has something.
fn version_with(version: TemplateVersion, has_it: impl Fn(TemplateVersion) -> bool) -> Option<String> {
    let first = |is_hot: bool| {
        let mut of_dialect = VERSIONS.iter().filter(|(_, _, known)| known.is_hot() == is_hot);
        of_dialect.find(|(_, _, known)| has_it(*known))
    };
    first(version.is_hot())
        .map(|(_, value, _)| format!("version {value} has it"))
        .or_else(|| first(!version.is_hot()).map(|(key, value, _)| format!("{key}: {value} has it")))
}

/// What a word that the version does not have may mean: one that it has, or one that another version has.
fn word_of_some_version<'w>(
    version: TemplateVersion,
    word: &str,
    words_of: impl Fn(TemplateVersion) -> Vec<&'w str>,
) -> Option<String> {
    // Heat knows this one, and nobody else.
    let words_of = |version| words_of(version).into_iter().filter(|word| !word.starts_with("__"));
    if let Some(question) = near::question(word, words_of(version)) {
        return Some(question);
    }
    let in_dialect = |is_hot| {
        let versions = VERSIONS.iter().filter(move |(_, _, known)| known.is_hot() == is_hot);
        versions.flat_map(|(_, _, known)| words_of(*known))
    };
    let anywhere = || in_dialect(version.is_hot()).chain(in_dialect(!version.is_hot()));
    let (meant, question) = match near::nearest(word, anywhere()) {
        _ if anywhere().any(|known| known == word) => (word, String::new()),
        Some(near) => (near, format!("is \"{near}\" meant? ")),
        None => return None,
    };
    version_with(version, |known| words_of(known).any(|known| known == meant)).map(|has_it| question + &has_it)
}

/// The words with which a resource says what it is.
pub fn resource_keywords(version: TemplateVersion) -> Vec<&'static str> {
    let definitions = version.keywords().of_definitions();
    let keys = definitions.into_iter().filter(|key| has_resource_key(version, key));
    keys.collect()
}

/// What a key in the definition of a resource may mean which the version does not have there.
pub fn for_resource_key(version: TemplateVersion, key: &str) -> Option<String> {
    word_of_some_version(version, key, resource_keywords)
}

/// A hint for a message of Heat's that is about a word which the version does not have.
pub fn for_unknown_word(version: TemplateVersion, message: &str) -> Option<String> {
    let about = |pattern: &str| {
        let start = message.find(pattern.split('{').next()?)?;
        fill(pattern, &message[start..])?.into_iter().next()
    };
    if let Some(section) = about("The template section is invalid: {}") {
        return word_of_some_version(version, &section, TemplateVersion::sections);
    }
    if let Some(key) = about("Invalid keyword(s) inside a resource definition: {}") {
        return for_resource_key(version, &key);
    }
    if let Some(key) = about("Invalid key '{}' for parameter ({})") {
        return as_constraint(version, &key).or_else(|| word_of_some_version(version, &key, schema_keys));
    }
    about("The function {} is not supported in this version of HOT.").and_then(|name| counterpart(version, &name))
}

/// What CloudFormation's parameters say beside their type is a constraint in HOT.
fn as_constraint(version: TemplateVersion, key: &str) -> Option<String> {
    let constraint = match key {
        "AllowedValues" => "allowed_values: […]",
        "AllowedPattern" => "allowed_pattern: …",
        "MinLength" | "MaxLength" => "length: {min: …, max: …}",
        "MinValue" | "MaxValue" => "range: {min: …, max: …}",
        "NoEcho" => return version.is_hot().then(|| "\"hidden\" does this here".to_owned()),
        "allowed_values" | "allowed_pattern" | "length" | "range" | "modulo" | "custom_constraint" => {
            return version
                .is_hot()
                .then(|| format!("it belongs under \"constraints\", as {key}"));
        }
        _ => return None,
    };
    version
        .is_hot()
        .then(|| format!("a constraint does this here: constraints: [{{{constraint}}}]"))
}

/// The version that has a constraint which this one takes for none.
pub fn for_constraints(version: TemplateVersion, constraints: &Value) -> Option<String> {
    let is_modulo = |constraint: &Value| constraint.get("modulo").is_some();
    let has_modulo = constraints
        .as_array()
        .is_some_and(|constraints| constraints.iter().any(is_modulo));
    // In the table of keys it has always been.
    let newer = |known| known >= TemplateVersion::Hot20170224;
    (has_modulo && !newer(version))
        .then(|| version_with(version, newer))
        .flatten()
}

/// What is misspelt in a condition, or not to be used there.
pub fn for_condition(version: TemplateVersion, condition: &Value) -> Option<String> {
    let known = condition_functions(version);
    let name = odd_function(condition, &known)?;
    near::question(name, known.iter().copied())
        .or_else(|| counterpart(version, name))
        .or_else(|| word_of_some_version(version, name, condition_functions))
        .or_else(|| Some(format!("conditions have {}", known.join(", "))))
}

/// The first name in the place of a function that is none of those.
fn odd_function<'v>(condition: &'v Value, known: &[&str]) -> Option<&'v str> {
    match condition {
        Value::Object(entries) => {
            let (name, arguments) = entries.iter().next()?;
            match known.contains(&name.as_str()) {
                true => odd_function(arguments, known),
                false => Some(name),
            }
        }
        Value::Array(items) => items.iter().find_map(|item| odd_function(item, known)),
        _ => None,
    }
}

/// The arguments that functions take by name.
const ARGUMENTS: [(&str, &[&str]); 7] = [
    ("str_replace", &["template", "params"]),
    ("str_replace_strict", &["template", "params"]),
    ("str_replace_vstrict", &["template", "params"]),
    ("repeat", &["template", "for_each", "permutations"]),
    ("yaql", &["expression", "data"]),
    (
        "make_url",
        &[
            "scheme", "username", "password", "host", "port", "path", "query", "fragment",
        ],
    ),
    ("map_replace", &["keys", "values"]),
];

/// What a misspelt argument of a function may mean; `name` and what it is called with.
pub fn for_arguments(name: &str, arguments: &Value) -> Option<String> {
    let (_, known) = ARGUMENTS.iter().find(|(function, _)| *function == name)?;
    let maps = match arguments {
        Value::Array(items) => items.iter().collect(),
        other => vec![other],
    };
    let mut given = maps
        .into_iter()
        .filter_map(Value::as_object)
        .flat_map(serde_json::Map::keys);
    given.find_map(|key| match known.contains(&key.as_str()) {
        true => None,
        false => near::question(key, known.iter().copied()),
    })
}

/// The part of a template at a path as messages write it: `resources.a.properties.list[0]`. Names may hold dots
/// themselves: the longest that fits is meant.
pub fn part_at<'t>(template: &'t Template, path: &str) -> Option<&'t Value> {
    let (part, rest) = entry_at(template.body(), path)?;
    below(part, rest)
}

fn below<'v>(part: &'v Value, path: &str) -> Option<&'v Value> {
    if path.is_empty() {
        return Some(part);
    }
    let (part, rest) = match part {
        Value::Object(entries) => entry_at(entries, path.strip_prefix('.')?)?,
        Value::Array(items) => {
            let (index, rest) = path.strip_prefix('[')?.split_once(']')?;
            (items.get(index.parse::<usize>().ok()?)?, rest)
        }
        _ => return None,
    };
    below(part, rest)
}

fn entry_at<'v, 'p>(entries: &'v serde_json::Map<String, Value>, path: &'p str) -> Option<(&'v Value, &'p str)> {
    let fitting = entries.iter().filter_map(|(key, value)| {
        let rest = path.strip_prefix(key.as_str())?;
        (rest.is_empty() || rest.starts_with(['.', '['])).then_some((key.len(), value, rest))
    });
    let (_, value, rest) = fitting.max_by_key(|(length, _, _)| *length)?;
    Some((value, rest))
}

/// What is to be known where a value does not fit, if it is a word that YAML takes for true or false.
pub fn of_truth(source: &Source, path: &str, message: &str) -> Option<String> {
    let word = source.word_for_truth(path)?;
    let is_about_it = ["true", "false", "True", "False", "a text", "string"]
        .iter()
        .any(|said| message.contains(said));
    is_about_it.then(|| format!("YAML takes {word} for true or false; in quotes, \"{word}\", it is a text"))
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;
    use crate::template::{Environment, Files};

    #[test]
    fn words_of_other_versions_are_known() {
        use TemplateVersion::{Aws20100909, Heat20121212, Hot20130523, Hot20180831};
        for (version, message, hint) in [
            (
                Hot20130523,
                "The template section is invalid: conditions",
                Some("version 2016-10-14 has it"),
            ),
            (
                Hot20130523,
                "The template section is invalid: Condition",
                Some("is \"conditions\" meant? version 2016-10-14 has it"),
            ),
            (
                Hot20180831,
                "The template section is invalid: Resources",
                Some("is \"resources\" meant?"),
            ),
            (
                Hot20180831,
                "The template section is invalid: Mappings",
                Some("AWSTemplateFormatVersion: 2010-09-09 has it"),
            ),
            (
                Heat20121212,
                "The template section is invalid: Conditions",
                Some("version 2010-09-09 has it"),
            ),
            (
                Aws20100909,
                "The template section is invalid: parameter_groups",
                Some("heat_template_version: 2013-05-23 has it"),
            ),
            (Aws20100909, "The template section is invalid: Metadata", None),
            (
                Hot20130523,
                "Invalid keyword(s) inside a resource definition: condition",
                Some("version 2016-10-14 has it"),
            ),
            (
                Hot20130523,
                "Invalid key 'tags' for parameter (a)",
                Some("version 2018-03-02 has it"),
            ),
            (
                Hot20180831,
                "Invalid key 'NoEcho' for parameter (a)",
                Some("\"hidden\" does this here"),
            ),
            (
                Hot20180831,
                "Invalid key 'MinLength' for parameter (a)",
                Some("a constraint does this here: constraints: [{length: {min: …, max: …}}]"),
            ),
            (
                Hot20180831,
                "Invalid key 'range' for parameter (a)",
                Some("it belongs under \"constraints\", as range"),
            ),
            (
                Hot20180831,
                "outputs: The function Ref is not supported in this version of HOT.",
                Some("get_param or get_resource does this here"),
            ),
        ] {
            assert_eq!(
                for_unknown_word(version, message).as_deref(),
                hint,
                "{version:?}: {message}"
            );
        }
    }

    #[test]
    fn what_is_odd_in_conditions_and_constraints_is_found() {
        let hint = |condition| for_condition(TemplateVersion::Hot20180831, &condition);
        assert_eq!(hint(json!({"equlas": [1, 2]})).as_deref(), Some("is \"equals\" meant?"));
        assert_eq!(
            hint(json!({"not": {"and": ["a", {"equlas": [1, 2]}]}})).as_deref(),
            Some("is \"equals\" meant?")
        );
        assert_eq!(
            hint(json!({"Fn::Equals": [1, 2]})).as_deref(),
            Some("equals does this here")
        );
        assert_eq!(
            hint(json!({"get_attr": ["a", "b"]})).as_deref(),
            Some("conditions have get_param, equals, not, and, or, yaql, contains")
        );
        assert_eq!(hint(json!({"not": "a"})), None);
        let modulo = json!([{"modulo": {"step": 2, "offset": 0}}]);
        assert_eq!(
            for_constraints(TemplateVersion::Hot20161014, &modulo).as_deref(),
            Some("version 2017-02-24 has it")
        );
        assert_eq!(for_constraints(TemplateVersion::Hot20170224, &modulo), None);
        assert_eq!(
            for_condition(TemplateVersion::Hot20161014, &json!({"contains": [1, [1]]})).as_deref(),
            Some("version 2017-09-01 has it")
        );
    }

    #[test]
    fn parts_are_found_by_their_paths() {
        let body = json!({"heat_template_version": "2018-08-31", "outputs": {"a": 1, "a.b": {"c": [1, {"d": 2}]}}});
        let template = Template::new(body, Environment::default(), Files::default()).unwrap();
        assert_eq!(part_at(&template, "outputs.a.b.c[1].d"), Some(&json!(2)));
        assert_eq!(part_at(&template, "outputs.a"), Some(&json!(1)));
        assert_eq!(part_at(&template, "outputs.a.b.c[7]"), None);
    }
}
