//! What tenants send must never end in a panic, nor take time or memory without end: random and damaged input through
//! everything that reads it.
//!
//! The input comes from a seed, so that a failure can be repeated: `FUZZ_SEED=7 FUZZ_ROUNDS=100000 cargo test --test it
//! language_fuzz -- --nocapture` goes on for longer, and elsewhere.

use std::sync::Arc;
use std::time::Duration;

use heat_engine::plugins::{inventory, rules};
use heat_engine::python::json_reader::loads;
use heat_engine::python::regex::{Patience, PythonRegex};
use heat_engine::resource::constraints::CustomConstraints;
use heat_engine::resource::properties::{Depth, Given, Properties};
use heat_engine::resource::rules::Facts;
use heat_engine::template::reading::{Places, read_environment, read_map};
use heat_engine::template::{
    Environment, Files, NoResources, RegisteredType, StackDefinition, StackIdentity, Survey, Template, World,
};
use heat_engine::yaql::{Allowance, Limits, Statement, Surroundings};
use indexmap::IndexMap;
use rand::rngs::StdRng;
use rand::{RngExt, SeedableRng};
use serde_json::{Map, Value, json};

fn setting(name: &str, usual: u64) -> u64 {
    std::env::var(name)
        .ok()
        .and_then(|text| text.parse().ok())
        .unwrap_or(usual)
}

/// Far more than any round needs, also on a machine that has much else to do.
const LONGEST_ROUND: Duration = Duration::from_secs(60);
/// Of the whole process, in which other tests run, too.
const MOST_MEMORY: u64 = 3 << 30;

/// Runs a check so many times, naming the round that panics, does not end or takes all memory.
fn rounds(usual: u64, check: impl Fn(&mut StdRng) + Send + 'static) {
    let seed = setting("FUZZ_SEED", 1);
    let count = setting("FUZZ_ROUNDS", usual);
    let (told, done) = std::sync::mpsc::channel();
    let worker = std::thread::spawn(move || {
        for round in 0..count {
            let mut random = StdRng::seed_from_u64(seed.wrapping_mul(1_000_003).wrapping_add(round));
            let outcome = std::panic::catch_unwind(std::panic::AssertUnwindSafe(|| check(&mut random)));
            if told.send(outcome.is_ok()).is_err() {
                return;
            }
        }
    });
    for round in 0..count {
        match done.recv_timeout(LONGEST_ROUND) {
            Ok(true) => {}
            Ok(false) => panic!("round {round} of seed {seed} panicked"),
            Err(_) => panic!("round {round} of seed {seed} does not end"),
        }
        let memory = resident_bytes();
        assert!(
            memory < MOST_MEMORY,
            "{memory} bytes are in use in round {round} of seed {seed}"
        );
    }
    worker.join().expect("the worker has ended");
}

fn resident_bytes() -> u64 {
    const PAGE: u64 = 4096;
    let text = std::fs::read_to_string("/proc/self/statm").expect("statm can be read");
    let pages = text
        .split_whitespace()
        .nth(1)
        .and_then(|pages| pages.parse::<u64>().ok());
    pages.expect("the resident pages") * PAGE
}

fn pick<'a, T>(random: &mut StdRng, choices: &'a [T]) -> &'a T {
    &choices[random.random_range(0..choices.len())]
}

/// Templates that use as much of the language as there is: `tests/conformance/language/probes` holds them.
fn seeds() -> Vec<Value> {
    let probes = loads(include_str!("../conformance/language/probes/language.json")).expect("the catalogue is JSON");
    let probes = probes.as_array().cloned().unwrap_or_default();
    let templates = probes.iter().map(|probe| match probe.get("snippet") {
        Some(snippet) => json!({
            "heat_template_version": probe.get("version").cloned().unwrap_or_else(|| "2021-04-16".into()),
            "parameters": {"text": {"type": "string", "default": "abc"}, "list": {"type": "comma_delimited_list", "default": "x,y"}},
            "conditions": {"yes": true},
            "resources": {"a": {"type": "OS::Heat::TestResource"}},
            "outputs": {"o": {"value": snippet}},
        }),
        None => probe["template"].clone(),
    });
    templates.filter(Value::is_object).collect()
}

const PIECES: [&str; 24] = [
    "&a ",
    "*a",
    "<<: *a",
    "!!",
    "!!binary ",
    "!!set ",
    ": ",
    "- ",
    "\n",
    "\t",
    "[",
    "]",
    "{",
    "}",
    "\"",
    "'",
    "|\n ",
    "%",
    "---\n",
    "\u{feff}",
    "\0",
    "\u{10ffff}",
    "? ",
    "~",
];

fn damaged(random: &mut StdRng, text: &str) -> String {
    let mut characters: Vec<char> = text.chars().collect();
    for _ in 0..random.random_range(0..6) {
        let place = random.random_range(0..=characters.len());
        match random.random_range(0..4) {
            0 if place < characters.len() => drop(characters.remove(place)),
            1 => {
                let end = random.random_range(place..=characters.len());
                let copied: Vec<char> = characters[place..end].iter().take(2000).copied().collect();
                characters.splice(place..place, copied);
            }
            _ => {
                characters.splice(place..place, pick(random, &PIECES).chars());
            }
        }
    }
    characters.into_iter().take(60_000).collect()
}

/// Changes some values of a document for others of it.
fn shuffled(random: &mut StdRng, value: &Value, others: &[Value]) -> Value {
    if random.random_bool(0.03) {
        return pick(random, others).clone();
    }
    match value {
        Value::Array(items) => items.iter().map(|item| shuffled(random, item, others)).collect(),
        Value::Object(entries) => {
            let entries = entries
                .iter()
                .map(|(key, value)| (key.clone(), shuffled(random, value, others)));
            Value::Object(entries.collect())
        }
        other => other.clone(),
    }
}

fn parts(value: &Value, found: &mut Vec<Value>) {
    found.push(value.clone());
    match value {
        Value::Array(items) => items.iter().for_each(|item| parts(item, found)),
        Value::Object(entries) => entries.values().for_each(|item| parts(item, found)),
        _ => {}
    }
}

/// Everything that is done with a template before anything is made.
fn interpret(body: Value) {
    let Ok(template) = Template::new(body, Environment::default(), Files::default()) else {
        return;
    };
    let _ = template.validate();
    let identity = StackIdentity::default();
    let world = World::still(Surroundings::default());
    let _ = Survey::of(&template, &identity, &world);
    let Ok(definition) = StackDefinition::new(Arc::new(template), &identity, &world) else {
        return;
    };
    let scope = definition.scope(&NoResources);
    let _ = definition.validate(&NoResources);
    let _ = definition.validate_outputs(&NoResources);
    let _ = definition.parameters().validate(true);
    for resource in definition.resources().values() {
        let _ = resource.validate(definition.template(), &scope);
        let _ = resource.freeze(&scope, None);
        let _ = resource.required_resource_names(&scope);
        let _ = resource
            .properties()
            .map(|properties| properties.resolve_partly(&scope));
        resource.render_hot();
    }
    for output in definition.outputs().into_iter().flat_map(IndexMap::values) {
        let _ = output.value(&scope);
    }
}

#[test]
fn damaged_texts_are_read_or_refused() {
    let seeds: Vec<String> = seeds().iter().map(Value::to_string).collect();
    let yaml: Vec<String> = loads(include_str!("../conformance/language/probes/yaml.json"))
        .expect("the catalogue is JSON")
        .as_array()
        .into_iter()
        .flatten()
        .filter_map(|probe| probe["text"].as_str().map(str::to_owned))
        .collect();
    rounds(4000, move |random| {
        let pool = if random.random_bool(0.5) { &seeds } else { &yaml };
        let seed = pick(random, pool).clone();
        let text = damaged(random, &seed);
        let _ = read_environment(&text);
        let _ = Places::of(&text).map(|places| places.find_written("resources.a[0].x"));
        if let Ok(body) = read_map(&text, None) {
            interpret(Value::Object(body));
        }
    });
}

#[test]
fn shuffled_templates_are_interpreted_or_refused() {
    let seeds = seeds();
    let mut others = Vec::new();
    seeds.iter().for_each(|seed| parts(seed, &mut others));
    rounds(4000, move |random| {
        let seed = pick(random, &seeds);
        interpret(shuffled(random, seed, &others));
    });
}

#[test]
fn shuffled_environments_are_taken_or_refused() {
    let mut others = Vec::new();
    seeds().iter().for_each(|seed| parts(seed, &mut others));
    let sections = [
        "parameters",
        "parameter_defaults",
        "resource_registry",
        "event_sinks",
        "encrypted_param_names",
        "x",
    ];
    let names = [
        "A::*",
        "A::B",
        "A::B*",
        "A*",
        "*",
        "resources",
        "hooks",
        "restricted_actions",
        "r*",
        "[",
        "x.yaml",
        "",
    ];
    let any = move |random: &mut StdRng| -> Value {
        let entries = (0..random.random_range(0..4)).map(|_| {
            let name = (*pick(random, &names)).to_owned();
            let value = if random.random_bool(0.5) {
                Value::from(*pick(random, &names))
            } else {
                pick(random, &others).clone()
            };
            (name, value)
        });
        Value::Object(entries.collect())
    };
    let mappings = move |random: &mut StdRng| -> Value {
        let entries = (0..random.random_range(0..8)).map(|_| {
            let target = Value::from(*pick(random, &names));
            ((*pick(random, &names)).to_owned(), target)
        });
        Value::Object(entries.collect())
    };
    rounds(4000, move |random| {
        let entries = (0..random.random_range(0..4)).map(|_| ((*pick(random, &sections)).to_owned(), any(random)));
        let mut environment: Map<String, Value> = entries.collect();
        if random.random_bool(0.7) {
            environment.insert("resource_registry".to_owned(), mappings(random));
        }
        let environment = Value::Object(environment);
        let Ok(mut environment) = Environment::from_value(&environment) else {
            return;
        };
        let _ = environment.load(&any(random));
        for name in names {
            let found = environment.registry.resolve(name, Some("r"), &|name| name == "A::B");
            assert!(!matches!(found, Ok(RegisteredType::Plugin(plugin)) if plugin != "A::B"));
            environment.registry.has_hook(name, "pre-create");
            environment.registry.restricted_actions(name);
            environment.registry.remember(name, "r", &|name| name == "A::B");
        }
        environment.to_stored();
    });
}

struct AllIsWell;

#[async_trait::async_trait]
impl CustomConstraints for AllIsWell {
    async fn validate(&self, _: &str, _: &Value) -> Result<(), String> {
        Ok(())
    }
}

#[test]
fn properties_of_any_shape_are_validated_or_refused() {
    let mut others = Vec::new();
    seeds().iter().for_each(|seed| parts(seed, &mut others));
    let types: Vec<_> = inventory::types().values().collect();
    let runtime = tokio::runtime::Builder::new_current_thread()
        .build()
        .expect("a runtime");
    rounds(4000, move |random| {
        let known = pick(random, &types);
        let schema = known.properties;
        if schema.is_empty() {
            return;
        }
        let given: IndexMap<String, Given> = (0..random.random_range(0..6))
            .map(|_| {
                let property = pick(random, schema);
                let value = match (property.default, random.random_bool(0.3)) {
                    (Some(default), true) => default.to_value(),
                    _ => pick(random, &others).clone(),
                };
                (property.name.to_owned(), Given::Value(value))
            })
            .collect();
        let properties = Properties::new(schema, given.clone());
        let _ = runtime.block_on(properties.validate(Depth::Values, &AllIsWell));
        let before = Properties::stored(schema, Map::new());
        let _ = properties.changed_since(&before);
        for name in given.keys() {
            let _ = properties.get(name);
        }
        let _ = Facts::of("fuzz", &properties, None).violations(rules::of(known.name));
    });
}

#[test]
fn damaged_expressions_are_evaluated_or_refused() {
    let catalogue = loads(include_str!("../conformance/yaql/catalogue.json")).expect("the catalogue is JSON");
    let groups = catalogue.as_array().cloned().unwrap_or_default();
    let seeds: Vec<(String, Value)> = groups
        .iter()
        .flat_map(|group| {
            let data = json!({"data": group.get("data")});
            let expressions = group["expressions"].as_array().into_iter().flatten();
            expressions.filter_map(move |expression| Some((expression.as_str()?.to_owned(), data.clone())))
        })
        .collect();
    let words: Vec<String> = seeds
        .iter()
        .flat_map(|(expression, _)| expression.split_inclusive(['.', '(', ',', ' ']))
        .map(str::to_owned)
        .collect();
    rounds(4000, move |random| {
        let (seed, data) = pick(random, &seeds);
        let mut expression = damaged(random, seed);
        for _ in 0..random.random_range(0..3) {
            expression.push_str(pick::<String>(random, &words));
        }
        let surroundings = Surroundings {
            seed: random.random(),
            ..Surroundings::default()
        };
        if let Ok(statement) = Statement::parse(&expression) {
            let _ = statement.evaluate(data, Limits::default(), surroundings, &Allowance::default(), |_| ());
        }
    });
}

#[test]
fn patterns_end() {
    let pieces = [
        "a", "b", "(", ")", "[", "]", "*", "+", "?", "{2,3}", "{9999}", "|", "\\", "\\1", ".", "^", "$", "(?=", "(?!",
        "(?<=", "(?P<n>", "(?i)", "-", "\\d", "\\Z", "{", "}", "\u{fc}", "(?>", "(?(1)", ":",
    ];
    rounds(4000, move |random| {
        let pattern: String = (0..random.random_range(0..12))
            .map(|_| *pick(random, &pieces))
            .collect();
        if let Ok(regex) = PythonRegex::compile(&pattern, &Patience::default()) {
            let _ = regex.match_reaches_end(&"ab".repeat(random.random_range(0..40)));
        }
    });
}
